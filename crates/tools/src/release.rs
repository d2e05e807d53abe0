//! The clean-up after the controllers of things in use are undeployed: only their key, of all namespaces.

use crate::Ended;
use crate::liens::{LienChange, put};
use crate::look::{text, words};
use crate::resources::{Named, Resources};
use crate::screen::Screen;
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
    let (mut done, of) = (0, held.len() as u64);
    let mut failed = Vec::new();
    for item in held {
        let named = Named {
            resource: resource.clone(),
            namespace: text(item, "/metadata/namespace").to_owned(),
            name: text(item, "/metadata/name").to_owned(),
        };
        match put(server, &named, LienChange::Remove, key, how.dry_run).await {
            Ok(_) => done += 1,
            Err(why) if why.contains("answers 404") => {}
            Err(why) => failed.push(format!("{}: {why}", named.told())),
        }
        progress(done, of);
    }
    for why in &failed {
        screen.tell(why);
    }
    let verb = if how.dry_run { "would be released" } else { "released" };
    screen.say(&format!("{done} of {} {meant} {verb} from {key}\n", items.len()));
    match failed.is_empty() {
        true => Ok(Ended::Well),
        false => Err(format!("{} could not be released; what is done stays done, say it again", failed.len())),
    }
}
