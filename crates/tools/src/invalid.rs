//! Stored objects that a schema refuses: today's, or one that is not applied yet.

use std::path::Path;

use serde_json::{Value, json};

use crate::Ended;
use crate::look::{list, text};
use crate::resources::Resources;
use crate::screen::{Format, Screen};
use crate::server::{Server, escaped};
use crate::table::table;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// `pawl invalid [CRD] [--with FILE]`.
pub async fn invalid(server: &Server, screen: &Screen, given: &[String], with: Option<&Path>) -> Result<Ended, String> {
    let candidate = with.map(read).transpose()?;
    let definitions = match (given, &candidate) {
        ([], Some(candidate)) => vec![text(candidate, "/metadata/name").to_owned()],
        ([], None) => {
            let all = server.list(DEFINITIONS, true).await?;
            all.iter().map(|item| text(item, "/metadata/name").to_owned()).collect()
        }
        ([meant], _) => vec![definition(server, meant).await?],
        _ => return Err("give one definition, or none".to_owned()),
    };
    let (mut rows, mut looked_at, mut complete) = (Vec::new(), 0, true);
    for name in &definitions {
        let path = format!("{DEFINITIONS}/{}/invalidobjects", escaped(name));
        let answer = match &candidate {
            Some(candidate) => server.post(&path, candidate).await.map(|answer| answer.body),
            None => server.get(&path).await,
        };
        let answer = answer.map_err(|refused| match refused.is_unknown_path() {
            true => "this server does not say what a schema refuses: it is not Pawl".to_owned(),
            false => refused.to_string(),
        })?;
        looked_at += answer.get("lookedAt").and_then(Value::as_u64).unwrap_or_default();
        complete &= answer.get("complete") != Some(&Value::Bool(false));
        rows.extend(list(&answer, "/items").map(|item| of_definition(name, item)));
    }
    if !complete {
        screen.tell("Warning: there are too many to look at all of them");
    }
    show(screen, &rows, looked_at, complete);
    Ok(Ended::found(!rows.is_empty()))
}

fn of_definition(name: &str, item: &Value) -> Value {
    json!({"definition": name, "namespace": text(item, "/namespace"), "name": text(item, "/name"),
        "problems": item.get("problems").cloned().unwrap_or_default()})
}

fn show(screen: &Screen, items: &[Value], looked_at: u64, complete: bool) {
    let answer = json!({"kind": "InvalidObjectList", "apiVersion": "tools.pawl.dev/v1", "items": items,
        "lookedAt": looked_at, "complete": complete});
    let said = screen.format.of_value(&answer).unwrap_or_else(|| match screen.format {
        Format::Name => items.iter().map(|i| format!("{}/{}\n", text(i, "/definition"), text(i, "/name"))).collect(),
        _ if items.is_empty() => format!("none of {looked_at} stored objects is refused\n"),
        _ => {
            let mut rows = Vec::new();
            for item in items {
                for problem in list(item, "/problems") {
                    let object = format!("{}/{}", text(item, "/definition"), text(item, "/name"));
                    let cells = [text(item, "/namespace"), &object, text(problem, "/field"), text(problem, "/message")];
                    rows.push(cells.map(str::to_owned).to_vec());
                }
            }
            let told = format!("{} of {looked_at} stored objects are refused\n", items.len());
            format!("{}{told}", table(&["NAMESPACE", "OBJECT", "FIELD", "PROBLEM"], &rows))
        }
    });
    screen.say(&said);
}

/// The name of the definition that is meant: its own, or a type that it defines.
async fn definition(server: &Server, meant: &str) -> Result<String, String> {
    if server.get(&format!("{DEFINITIONS}/{}", escaped(meant))).await.is_ok() {
        return Ok(meant.to_owned());
    }
    let resources = Resources::of(server).await?;
    let resource = resources.find(meant)?;
    let name = format!("{}.{}", resource.plural, resource.group);
    match server.get(&format!("{DEFINITIONS}/{}", escaped(&name))).await {
        Ok(_) => Ok(name),
        Err(refused) if refused.code() == 404 => Err(format!("{meant:?} is no custom resource")),
        Err(refused) => Err(refused.to_string()),
    }
}

/// A definition from a file.
fn read(path: &Path) -> Result<Value, String> {
    let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let bytes = std::fs::read(path).map_err(|why| failed(&why))?;
    let value = pawl_schema::yaml::read(&bytes).map_err(|why| failed(&why))?.value;
    match (text(&value, "/kind"), text(&value, "/metadata/name")) {
        ("CustomResourceDefinition", name) if !name.is_empty() => Ok(value),
        _ => Err(failed(&"not one CustomResourceDefinition with a name")),
    }
}
