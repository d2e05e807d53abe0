//! Manifests that are applied before the server is ready: a file, or a directory of them.
//!
//! Applied by server-side apply in an order that lets the later stand on the earlier: namespaces, definitions, identities,
//! what workloads use, then everything else. Nothing here is special about a kind: it is the way of every apply.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pawl_meta::object::Meta;
use pawl_meta::{GroupVersion, Status};
use pawl_registry::{Context, FieldValidation, PatchKind, PatchRequest, Registry};
use serde_json::Value;

use crate::Error;

/// How long a kind that a manifest defines may take until it is served.
const PATIENCE: Duration = Duration::from_secs(10);
const FIRST: [&str; 12] = [
    "Namespace",
    "CustomResourceDefinition",
    "StorageClass",
    "PriorityClass",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "Secret",
    "ConfigMap",
    "PersistentVolume",
];

/// A document of a manifest, and where it stands.
#[derive(Clone, Debug)]
pub struct Manifest {
    object: Value,
    from: String,
}

/// Reads all manifests (`.yaml`, `.yml`, `.json`) of a file, or of a directory and those below it, in their order.
pub fn read(path: &Path) -> Result<Vec<Manifest>, Error> {
    let mut manifests = Vec::new();
    for file in files(path)? {
        let text = std::fs::read_to_string(&file).map_err(Error::file(&file))?;
        for (i, document) in documents(&text).into_iter().enumerate() {
            let from = format!("{}, document {}", file.display(), i + 1);
            let value = pawl_schema::yaml::parse(&document).map_err(|why| Error::Seed(format!("{from}: {why}")))?.value;
            manifests.extend(objects(value).into_iter().map(|object| Manifest { object, from: from.clone() }));
        }
    }
    manifests.sort_by_key(|manifest| FIRST.iter().position(|kind| *kind == manifest.kind()).unwrap_or(FIRST.len()));
    Ok(manifests)
}

fn files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(Error::file(path))?;
    let mut entries: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>().map_err(Error::file(path))?;
    entries.sort();
    let mut found = Vec::new();
    for entry in entries {
        if entry.is_dir() {
            found.extend(files(&entry)?);
        } else if entry.extension().is_some_and(|ending| ["yaml", "yml", "json"].iter().any(|known| ending == *known)) {
            found.push(entry);
        }
    }
    Ok(found)
}

/// The documents of a text, between lines that are `---`.
fn documents(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        if line == "---" || line.starts_with("--- ") {
            documents.push(String::new());
        } else if let Some(last) = documents.last_mut() {
            last.extend([line, "\n"]);
        }
    }
    documents
}

/// The objects of a document: a List holds several, an empty document none.
fn objects(value: Value) -> Vec<Value> {
    match value {
        Value::Object(mut object) if object.get("kind").is_some_and(|kind| kind == "List") => {
            match object.remove("items") {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            }
        }
        Value::Null => Vec::new(),
        other => vec![other],
    }
}

impl Manifest {
    fn kind(&self) -> &str {
        self.object.get("kind").and_then(Value::as_str).unwrap_or_default()
    }
}

/// Applies manifests. What is wrong with one ends it.
pub async fn apply(registry: &Registry, manifests: &[Manifest]) -> Result<(), Error> {
    for manifest in manifests {
        let until = Instant::now() + PATIENCE;
        loop {
            match apply_one(registry, &manifest.object).await {
                Ok(()) => break,
                // The kind may come of a definition that was applied a moment ago.
                Err(status) if status.code == 404 && Instant::now() < until => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                Err(status) => return Err(Error::Seed(format!("{}: {}", manifest.from, status.message))),
            }
        }
    }
    Ok(())
}

async fn apply_one(registry: &Registry, object: &Value) -> Result<(), Status> {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let version = GroupVersion::parse(text("apiVersion")).unwrap_or_default();
    let table = registry.table();
    let served = table.by_kind(&version.group, &version.version, text("kind")).ok_or_else(|| {
        let message = format!("no matches for kind {:?} in version {:?}", text("kind"), text("apiVersion"));
        Status::new(404, "NotFound", message)
    })?;
    let named = object.as_object().map(|object| (object.namespace(), object.name()));
    let (namespace, name) = named.ok_or_else(|| Status::bad_request("this is no object"))?;
    let namespace = if namespace.is_empty() && served.resource.facts.namespaced { "default" } else { namespace };
    let mut cx = Context::own();
    "pawl-seed".clone_into(&mut cx.manager);
    let body = object.to_string();
    let request = PatchRequest {
        namespace,
        name,
        subresource: "",
        kind: PatchKind::Apply,
        body: body.as_bytes(),
        validation: FieldValidation::Strict,
        force: true,
        create_refused: None,
    };
    registry.patch(&cx, served, request).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_come_in_an_order_that_works() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
        write("a.yaml", "kind: Deployment\n---\nkind: Secret\n---\n# nothing\n");
        write("b.json", r#"{"kind":"List","items":[{"kind":"Widget"},{"kind":"Namespace"}]}"#);
        write("c.txt", "kind: Lost");
        let kinds: Vec<String> = read(directory.path()).unwrap().iter().map(|m| m.kind().to_owned()).collect();
        assert_eq!(kinds, ["Namespace", "Secret", "Deployment", "Widget"]);
        write("d.yml", "kind: [");
        assert!(read(directory.path()).unwrap_err().to_string().contains("d.yml, document 1"));
    }
}
