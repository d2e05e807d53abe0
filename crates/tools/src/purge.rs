//! What cannot be read: naming it, removing it unread, and bringing back what was removed so.

use serde_json::{Value, json};

use crate::Ended;
use crate::change::Change;
use crate::look::{ago, text};
use crate::resources::Resources;
use crate::screen::{Colour, Format, Screen};
use crate::server::{Refused, Server, escaped};
use crate::table::table;

const OWN: &str = "/apis/storage.pawl.dev/v1";

/// The objects of a resource that only Pawl has.
async fn own(server: &Server, plural: &str) -> Result<Vec<Value>, String> {
    server.list(&format!("{OWN}/{plural}"), false).await.map_err(|refused| match refused.code() {
        404 => format!("this server has no {plural}.storage.pawl.dev: it is not Pawl"),
        _ => refused.to_string(),
    })
}

fn show(screen: &Screen, kind: &str, items: &[Value], nothing: &str, columns: &[(&str, &str)]) {
    let answer = json!({"kind": kind, "apiVersion": "storage.pawl.dev/v1", "items": items});
    let said = screen.format.of_value(&answer).unwrap_or_else(|| match screen.format {
        Format::Name => items.iter().map(|item| format!("{}\n", text(item, "/metadata/name"))).collect(),
        _ if items.is_empty() => format!("{nothing}\n"),
        _ => {
            let cell = |item: &Value, at: &str| match item.pointer(at) {
                Some(Value::String(text)) => ago(text).unwrap_or_else(|| text.clone()),
                Some(other) => other.to_string(),
                None => String::new(),
            };
            let rows: Vec<Vec<String>> =
                items.iter().map(|item| columns.iter().map(|(_, at)| cell(item, at)).collect()).collect();
            table(&columns.iter().map(|(heading, _)| *heading).collect::<Vec<_>>(), &rows)
        }
    });
    screen.say(&said);
}

/// `pawl unreadable`.
pub async fn unreadable(server: &Server, screen: &Screen) -> Result<Ended, String> {
    let items = own(server, "unreadableobjects").await?;
    let columns = [
        ("RESOURCE", "/spec/resource"),
        ("NAMESPACE", "/spec/namespace"),
        ("NAME", "/spec/name"),
        ("REASON", "/spec/reason"),
        ("PROVIDER", "/spec/provider"),
        ("KEY", "/spec/key"),
        ("SINCE", "/spec/since"),
    ];
    show(screen, "UnreadableObjectList", &items, "everything can be read", &columns);
    if !items.is_empty() && matches!(screen.format, Format::Plain | Format::Wide) {
        screen.tell("bring back the key, or remove one unread: kubectl pawl purge RESOURCE/NAME -n NAMESPACE");
    }
    Ok(Ended::found(!items.is_empty()))
}

/// `pawl quarantine list`.
pub async fn quarantine_list(server: &Server, screen: &Screen) -> Result<Ended, String> {
    let items = own(server, "quarantinedobjects").await?;
    let columns = [
        ("NAME", "/metadata/name"),
        ("REASON", "/spec/reason"),
        ("SIZE", "/spec/size"),
        ("BY", "/spec/removedBy"),
        ("REMOVED", "/spec/removed"),
    ];
    show(screen, "QuarantinedObjectList", &items, "nothing is in quarantine", &columns);
    Ok(Ended::Well)
}

/// `pawl quarantine restore NAME`.
pub async fn quarantine_restore(server: &Server, screen: &Screen, name: &str, dry_run: bool) -> Result<Ended, String> {
    let dry = if dry_run { "?dryRun=All" } else { "" };
    let path = format!("{OWN}/quarantinedobjects/{}/restore{dry}", escaped(name));
    let answer = server.post(&path, &json!({})).await.map_err(|refused| match refused.is_unknown_path() {
        true => "this server has no quarantinedobjects.storage.pawl.dev: it is not Pawl".to_owned(),
        false => refused.to_string(),
    })?;
    screen.warn(&answer.warnings);
    let said = if dry_run { "would be brought back" } else { "brought back, as unreadable as it was" };
    let object = json!({"group": "storage.pawl.dev", "version": "v1", "resource": "quarantinedobjects",
        "kind": "QuarantinedObject", "namespace": "", "name": name});
    let (name, told) = (format!("quarantinedobject.storage.pawl.dev/{name}"), name.to_owned());
    Change { name, told, object, said: said.to_owned(), changed: true, dry_run }.show(screen);
    Ok(Ended::Well)
}

/// How somebody wants something purged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Purge {
    pub yes: bool,
    pub dry_run: bool,
}

/// `pawl purge TYPE/NAME`: the unsafe delete of what cannot be read.
pub async fn purge(server: &Server, screen: &Screen, given: &[String], how: Purge) -> Result<Ended, String> {
    let named = Resources::of(server).await?.named(given, &server.namespace)?;
    let why = match server.get(&named.path()).await {
        Ok(_) => return Err(format!("{} can be read: kubectl delete {}", named.told(), named.argument())),
        Err(Refused::Status { reason, message, .. }) if reason == "StorageReadError" => message,
        Err(refused) => return Err(refused.to_string()),
    };
    screen.tell(&screen.paint(Colour::Red, &format!("{} cannot be read: {why}", named.told())));
    screen.tell(
        "Removing it unread runs no finalizer, asks no lien and no admission, and tells nobody what it was.\n\
         What it stood for outside (volumes, machines, addresses) may stay behind, and what it owns is collected.\n\
         If its key may come back, bring back the key instead.",
    );
    if !how.yes
        && !how.dry_run
        && !screen.confirms(&format!("Type its name ({}) to remove it:", named.name), &named.name)
    {
        screen.tell("nothing was removed");
        return Ok(Ended::Declined);
    }
    let mut options = json!({"kind": "DeleteOptions", "apiVersion": "v1",
        "ignoreStoreReadErrorWithClusterBreakingPotential": true});
    if let (true, Value::Object(fields)) = (how.dry_run, &mut options) {
        fields.insert("dryRun".to_owned(), json!(["All"]));
    }
    let answer = server.delete(&named.path(), &options).await?;
    screen.warn(&answer.warnings);
    let said = if how.dry_run { "would be removed unread" } else { "removed unread" };
    Change::of(&named, said).dry(how.dry_run).show(screen);
    Ok(Ended::Well)
}
