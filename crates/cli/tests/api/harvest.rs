//! The objects that a server answered in recorded conversations, made ready to be created again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use pawl_kinds::Resource;
use pawl_schema::decode_value;
use serde_json::Value;

/// What a recording says in place of values that differ from run to run.
const PLACEHOLDERS: [&str; 6] = ["<uid>", "<rv", "<clusterIP>", "<nodePort>", "<any>", "<unset>"];
/// What stands for times: every type of time reads it.
const TIME: &str = "2026-01-02T03:04:05.000000Z";

/// One object that can be created.
pub struct Recorded {
    pub resource: &'static Resource,
    pub object: Value,
    pub status: Option<Value>,
}

impl Recorded {
    pub fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap()
    }

    pub fn namespace(&self) -> Option<&str> {
        self.object["metadata"]["namespace"].as_str()
    }

    /// The object with its status, in its one form.
    pub fn whole(&self) -> Value {
        let mut object = self.object.clone();
        if let Some(status) = &self.status {
            object["status"] = status.clone();
        }
        Value::Object(decode_value(self.resource.object_type().as_ref(), object).unwrap().object)
    }

    fn within(mut self, namespace: &str) -> Self {
        self.object["metadata"]["namespace"] = namespace.into();
        self
    }

    /// Where objects of its kind are created.
    pub fn collection(&self) -> String {
        let facts = &self.resource.facts;
        let root = if facts.group.is_empty() { "/api" } else { "/apis" };
        let namespace = self.namespace().map(|name| format!("/namespaces/{name}")).unwrap_or_default();
        format!("{root}/{}{namespace}/{}", self.resource.group_version(), facts.plural)
    }
}

/// Where the recordings lie: where `PAWL_GOLDEN` says, or beside the repository.
pub fn place() -> Option<PathBuf> {
    let beside = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../../shared/golden");
    let place = std::env::var_os("PAWL_GOLDEN").filter(|place| !place.is_empty()).map_or(beside, PathBuf::from);
    if place.join("record.py").is_file() {
        return Some(place);
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "no recordings at {}: set PAWL_GOLDEN", place.display());
    println!("skipped: no recordings (set PAWL_GOLDEN)");
    None
}

/// Objects of kinds that nobody recorded and no server starts with.
pub fn others() -> Vec<Recorded> {
    let objects: Vec<Value> = serde_json::from_str(include_str!("others.json")).unwrap();
    let others = objects.into_iter().map(|object| {
        let recorded = creatable(object).unwrap();
        if recorded.resource.facts.namespaced { recorded.within("n") } else { recorded }
    });
    others.collect()
}

/// Every object of a built-in kind that was answered, once for each content.
pub fn objects(place: &Path) -> Vec<Recorded> {
    let mut files = Vec::new();
    find(place, &mut files);
    files.sort();
    let (mut contents, mut names) = (BTreeSet::new(), BTreeSet::new());
    let mut found = Vec::new();
    for file in files {
        let scenario: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        for object in answered(&scenario) {
            let Some(mut recorded) = creatable(object) else { continue };
            if contents.insert(content(&recorded)) && named(&mut recorded, &mut names) {
                found.push(recorded);
            }
        }
    }
    found
}

fn find(place: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(place).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
}

/// The objects in good answers and in events, those of lists too.
fn answered(scenario: &Value) -> Vec<Value> {
    let steps = scenario["steps"].as_array().into_iter().flatten().map(|step| &step["response"]);
    let mut found = Vec::new();
    for response in steps {
        let events = response["events"].as_array().into_iter().flatten();
        found.extend(events.map(|event| event["object"].clone()));
        if !matches!(response["status"].as_u64(), Some(200..300)) {
            continue;
        }
        let body = &response["body"];
        found.push(body.clone());
        for item in body["items"].as_array().into_iter().flatten().filter(|item| item.is_object()) {
            let mut item = item.clone();
            item["apiVersion"] = body["apiVersion"].clone();
            item["kind"] = body["kind"].as_str().unwrap_or_default().trim_end_matches("List").into();
            found.push(item);
        }
    }
    found
}

/// An object without what the server adds to it; `None` for what is not an object of a built-in kind.
fn creatable(mut object: Value) -> Option<Recorded> {
    let resource = pawl_kinds::builtin().iter().find(|resource| {
        object["kind"] == *resource.facts.kind && object["apiVersion"] == resource.group_version().to_string()
    })?;
    if !["create", "list"].iter().all(|verb| resource.facts.verbs.iter().any(|known| known == verb)) {
        return None;
    }
    let metadata = object.get_mut("metadata")?.as_object_mut()?;
    metadata
        .retain(|name, _| matches!(&**name, "name" | "namespace" | "labels" | "annotations" | "finalizers" | "liens"));
    let name = metadata.get("name")?.as_str()?.replace("<gen>", "gen");
    metadata.insert("name".to_owned(), name.into());
    if let Some(Value::Object(labels)) = metadata.get_mut("labels") {
        labels.remove("kubernetes.io/metadata.name");
    }
    scrub(&mut object);
    let status = object.as_object_mut()?.remove("status");
    Some(Recorded {
        resource,
        object,
        status: status.filter(|status| status.as_object().is_some_and(|s| !s.is_empty())),
    })
}

/// Removes what holds a placeholder, and gives times.
fn scrub(value: &mut Value) {
    let is_placeholder =
        |value: &Value| value.as_str().is_some_and(|text| PLACEHOLDERS.iter().any(|known| text.contains(known)));
    match value {
        Value::Array(items) => {
            items.retain(|item| !is_placeholder(item));
            items.iter_mut().for_each(scrub);
        }
        Value::Object(fields) => {
            fields.retain(|_, field| !is_placeholder(field));
            fields.values_mut().for_each(scrub);
        }
        Value::String(text) if text == "<time>" => *text = TIME.to_owned(),
        _ => {}
    }
}

/// What makes an object different from others but for its name.
fn content(recorded: &Recorded) -> String {
    let mut object = recorded.whole();
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.retain(|name, _| !matches!(&**name, "name" | "namespace"));
    }
    object.to_string()
}

/// Gives an object a name that none has yet, where its kind leaves it free.
fn named(recorded: &mut Recorded, names: &mut BTreeSet<String>) -> bool {
    let place = format!("{}/{}", recorded.collection(), recorded.name());
    if names.insert(place.clone()) {
        return true;
    }
    let number = names.len();
    recorded.object["metadata"]["name"] = format!("{}-{number}", recorded.name()).into();
    names.insert(format!("{place}-{number}")) && recorded.resource.facts.kind != "CustomResourceDefinition"
}
