//! The clean-up after the controllers of things in use are undeployed: only their key, of all namespaces.

use serde_json::json;

use crate::Ended;
use crate::change::Change;
use crate::liens::{LienChange, put};
use crate::look::{text, words};
use crate::resources::{Named, Resources};
use crate::screen::{Format, Screen};
use crate::server::Server;

/// Whose liens go, and whether they do.
#[derive(Clone, Debug)]
pub struct Release {
    pub controller: String,
    pub dry_run: bool,
}

/// `pawl release-liens`. What was released stays so: it may be stopped and repeated.
pub async fn release(
    server: &Server,
    screen: &Screen,
    how: &Release,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Ended, String> {
    let (meant, key) = match how.controller.as_str() {
        "secret-protection" => ("secrets", "kubernetes.io/secret-protection"),
        "configmap-protection" => ("configmaps", "kubernetes.io/configmap-protection"),
        "" => return Err("--controller says whose liens go: secret-protection or configmap-protection".to_owned()),
        other => return Err(format!("--controller={other}: secret-protection or configmap-protection")),
    };
    let resource = Resources::of(server).await?.find(meant)?.clone();
    let items = server.list(&resource.path(""), true).await?;
    let held: Vec<_> =
        items.iter().filter(|item| words(item, "/metadata/liens").iter().any(|lien| lien == key)).collect();
    let of = held.len() as u64;
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    let verb = if how.dry_run { "would be released" } else { "released" };
    for item in held {
        let named = Named {
            resource: resource.clone(),
            namespace: text(item, "/metadata/namespace").to_owned(),
            name: text(item, "/metadata/name").to_owned(),
        };
        match put(server, &named, LienChange::Remove, key, how.dry_run).await {
            Ok(changed) => {
                done.push(Change::of(&named, format!("{verb} from {key}")).changing(changed).dry(how.dry_run));
            }
            Err(why) if why.contains("answers 404") => {}
            Err(why) => failed.push(format!("{}: {why}", named.told())),
        }
        progress(done.len() as u64, of);
    }
    for why in &failed {
        screen.tell(why);
    }
    let value = json!({"kind": "ChangeList", "apiVersion": "tools.pawl.dev/v1", "lookedAt": items.len(),
        "items": done.iter().map(Change::value).collect::<Vec<_>>(), "failed": failed});
    screen.say(&match screen.format {
        Format::Name => done.iter().map(|change| format!("{}\n", change.name)).collect(),
        Format::Wide => done.iter().map(|change| format!("{}: {}\n", change.told, change.said)).collect(),
        format => format
            .of_value(&value)
            .unwrap_or_else(|| format!("{} of {} {meant} {verb} from {key}\n", done.len(), items.len())),
    });
    match failed.is_empty() {
        true => Ok(Ended::Well),
        false => Err(format!("{} could not be released; what is done stays done, say it again", failed.len())),
    }
}
