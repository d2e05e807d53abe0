//! Liens: which there are, adding and removing one, and a deletion in spite of them.

use serde_json::{Value, json};

use crate::Ended;
use crate::change::Change;
use crate::everything::everything;
use crate::look::{put_by, text, words};
use crate::resources::{Named, Resources};
use crate::screen::{Format, Screen};
use crate::server::Server;
use crate::table::table;

/// Somebody else may write in the same moment; then one looks again, so often.
const ATTEMPTS: usize = 8;

/// `pawl liens [TYPE]`: in the namespace, or everywhere.
pub async fn liens(server: &Server, screen: &Screen, given: &[String], everywhere: bool) -> Result<Ended, String> {
    let resources = Resources::of(server).await?;
    let asked = match given {
        [] => resources.listed().filter(|resource| everywhere || resource.namespaced).collect(),
        [meant] => vec![resources.find(meant)?],
        _ => return Err("give one type, or none".to_owned()),
    };
    let place = if everywhere { "" } else { server.namespace.as_str() };
    let mut missing = Vec::new();
    let mut found = Vec::new();
    for (resource, items) in everything(server, asked.into_iter(), place, &mut missing).await {
        for item in items {
            for lien in words(&item, "/metadata/liens") {
                let by = put_by(&item, "liens", &lien).unwrap_or_default();
                found.push(json!({"resource": resource.plural_typed(), "object": format!("{}/{}", resource.typed(), text(&item, "/metadata/name")),
                    "namespace": text(&item, "/metadata/namespace"), "name": text(&item, "/metadata/name"), "lien": lien, "by": by}));
            }
        }
    }
    for what in &missing {
        screen.tell(&format!("Warning: {what}"));
    }
    show(screen, &found);
    Ok(Ended::Well)
}

fn show(screen: &Screen, found: &[Value]) {
    let answer = json!({"kind": "LienList", "apiVersion": "tools.pawl.dev/v1", "items": found});
    let cell = |item: &Value, field: &str| text(item, &format!("/{field}")).to_owned();
    let said = screen.format.of_value(&answer).unwrap_or_else(|| match screen.format {
        Format::Name => found.iter().map(|item| format!("{}\n", cell(item, "object"))).collect(),
        _ if found.is_empty() => "no liens\n".to_owned(),
        _ => {
            let rows: Vec<_> =
                found.iter().map(|i| ["namespace", "object", "lien", "by"].map(|f| cell(i, f)).to_vec()).collect();
            table(&["NAMESPACE", "OBJECT", "LIEN", "BY"], &rows)
        }
    });
    screen.say(&said);
}

/// What is to happen to a lien.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LienChange {
    Add,
    Remove,
}

/// `pawl lien add|remove TYPE/NAME KEY`.
pub async fn change_lien(
    server: &Server,
    screen: &Screen,
    change: LienChange,
    given: &[String],
) -> Result<Ended, String> {
    let [object @ .., key] = given else { return Err("give an object and a lien: TYPE/NAME KEY".to_owned()) };
    if object.is_empty() {
        return Err("give an object and a lien: TYPE/NAME KEY".to_owned());
    }
    let named = Resources::of(server).await?.named(object, &server.namespace)?;
    let done = put(server, &named, change, key, false).await?;
    let said = match (change, done) {
        (LienChange::Add, true) => format!("the lien {key} is on it"),
        (LienChange::Add, false) => format!("the lien {key} was on it already"),
        (LienChange::Remove, true) => format!("the lien {key} is gone"),
        (LienChange::Remove, false) => format!("there is no lien {key}"),
    };
    Change::of(&named, said).changing(done).show(screen);
    Ok(Ended::Well)
}

/// Changes one lien of an object as it is, and no other. Answers whether there was something to change.
pub async fn put(server: &Server, named: &Named, change: LienChange, key: &str, dry_run: bool) -> Result<bool, String> {
    let path = if dry_run { format!("{}?dryRun=All", named.path()) } else { named.path() };
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        let object = server.get(&named.path()).await?;
        let Some(steps) = steps(&object, change, key) else { return Ok(false) };
        match server.patch(&path, &steps).await {
            Ok(answer) => {
                let there = words(&answer.body, "/metadata/liens").iter().any(|lien| lien == key);
                return match there == (change == LienChange::Add) {
                    true => Ok(true),
                    false => Err("the server has no liens: it dropped the field".to_owned()),
                };
            }
            // It was changed since we looked.
            Err(refused) if refused.code() == 409 || is_failed_test(&refused.to_string()) => last = refused.to_string(),
            Err(refused) => return Err(refused.to_string()),
        }
    }
    Err(format!("it changes too often: {last}"))
}

fn is_failed_test(message: &str) -> bool {
    message.contains("testing") || message.contains("test failed")
}

/// A patch that holds only for what was looked at.
fn steps(object: &Value, change: LienChange, key: &str) -> Option<Value> {
    let liens = words(object, "/metadata/liens");
    let at = liens.iter().position(|lien| lien == key);
    let version = text(object, "/metadata/resourceVersion");
    match (change, at) {
        (LienChange::Add, None) => {
            let test = json!({"op": "test", "path": "/metadata/resourceVersion", "value": version});
            Some(match liens.is_empty() {
                true => json!([test, {"op": "add", "path": "/metadata/liens", "value": [key]}]),
                false => json!([test, {"op": "add", "path": "/metadata/liens/-", "value": key}]),
            })
        }
        (LienChange::Remove, Some(at)) => {
            let path = format!("/metadata/liens/{at}");
            Some(json!([{"op": "test", "path": path, "value": key}, {"op": "remove", "path": path}]))
        }
        _ => None,
    }
}

/// How somebody wants something deleted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deletion {
    pub ignore_liens: bool,
    pub yes: bool,
    pub dry_run: bool,
}

/// `pawl delete TYPE/NAME`: exactly the object that was looked at, in spite of its liens where that is meant.
pub async fn delete(server: &Server, screen: &Screen, given: &[String], how: Deletion) -> Result<Ended, String> {
    let named = Resources::of(server).await?.named(given, &server.namespace)?;
    let object = server.get(&named.path()).await?;
    let liens = words(&object, "/metadata/liens");
    if how.ignore_liens && !liens.is_empty() && !how.yes && !how.dry_run {
        screen.tell(&format!("{} is held by {} lien(s):", named.told(), liens.len()));
        for lien in &liens {
            let by = put_by(&object, "liens", lien).map(|by| format!(", {by}")).unwrap_or_default();
            screen.tell(&format!("  {lien}{by}"));
        }
        if !screen.confirms("Whoever put them relies on it. Delete it all the same? Type yes:", "yes") {
            screen.tell("nothing was deleted");
            return Ok(Ended::Declined);
        }
    }
    let mut options = json!({"kind": "DeleteOptions", "apiVersion": "v1",
        "preconditions": {"uid": text(&object, "/metadata/uid")}});
    if let Value::Object(fields) = &mut options {
        if how.ignore_liens {
            fields.insert("ignoreLiens".to_owned(), json!(true));
        }
        if how.dry_run {
            fields.insert("dryRun".to_owned(), json!(["All"]));
        }
    }
    let answer = server.delete(&named.path(), &options).await.map_err(|refused| match refused.code() {
        409 => format!("{refused}\nwhy: kubectl pawl why {}", named.argument()),
        _ => refused.to_string(),
    })?;
    screen.warn(&answer.warnings);
    let waits = !text(&answer.body, "/metadata/deletionTimestamp").is_empty();
    let done = if how.dry_run {
        "would be deleted"
    } else if waits {
        "is being deleted"
    } else {
        "deleted"
    };
    Change::of(&named, done).dry(how.dry_run).show(screen);
    Ok(Ended::Well)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_touches_one_lien_of_what_was_looked_at() {
        let object = |liens: Value| json!({"metadata": {"resourceVersion": "5", "liens": liens}});
        let test = json!({"op": "test", "path": "/metadata/resourceVersion", "value": "5"});
        assert_eq!(
            steps(&object(json!(null)), LienChange::Add, "a.b/c"),
            Some(json!([test, {"op": "add", "path": "/metadata/liens", "value": ["a.b/c"]}]))
        );
        assert_eq!(
            steps(&object(json!(["d.e/f"])), LienChange::Add, "a.b/c"),
            Some(json!([test, {"op": "add", "path": "/metadata/liens/-", "value": "a.b/c"}]))
        );
        assert_eq!(
            steps(&object(json!(["d.e/f", "a.b/c"])), LienChange::Remove, "a.b/c"),
            Some(json!([{"op": "test", "path": "/metadata/liens/1", "value": "a.b/c"},
                {"op": "remove", "path": "/metadata/liens/1"}]))
        );
        assert_eq!(steps(&object(json!(["a.b/c"])), LienChange::Add, "a.b/c"), None);
        assert_eq!(steps(&object(json!([])), LienChange::Remove, "a.b/c"), None);
    }
}
