//! The facts about every kind, read from `facts/every_kind.facts`, and objects with a part taken out.

pub mod life;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use pawl_kinds::{Resource, builtin};
use serde_json::{Value, json};

/// A resource, the least object of it, and samples of all that its objects may say.
pub struct Kind {
    pub resource: &'static Resource,
    pub least: Value,
    pub samples: Vec<Sample>,
}

/// A valid object, and by path what is wrong when that part is missing.
pub struct Sample {
    pub object: Value,
    pub demands: BTreeMap<String, Errors>,
}

/// What is wrong with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Errors {
    /// Fields and reasons; none: it is accepted.
    At(BTreeSet<(String, String)>),
    /// The answer has this code and names no fields.
    Code(u16),
    /// Upstream gave no answer.
    Unknown,
}

impl Default for Errors {
    fn default() -> Self {
        Self::At(BTreeSet::new())
    }
}

impl Errors {
    fn read(path: &str, text: &str) -> Self {
        if text == "-" {
            return Self::Unknown;
        }
        if let Ok(code) = text.parse() {
            return Self::Code(code);
        }
        let one = |error: &str| match error.rsplit_once(' ') {
            Some((field, reason)) => (field.to_owned(), reason.to_owned()),
            None => (path.to_owned(), error.to_owned()),
        };
        Self::At(text.split(", ").map(one).collect())
    }
}

impl Kind {
    /// Where objects of the kind are created: events that say no other namespace must be in `default`.
    pub fn collection(&self) -> String {
        let facts = &self.resource.facts;
        let group = if facts.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", facts.group) };
        let namespace = match (facts.namespaced, facts.kind.as_str()) {
            (false, _) => "",
            (true, "Event") => "/namespaces/default",
            (true, _) => "/namespaces/t",
        };
        format!("{group}/{}{namespace}/{}", facts.version, facts.plural)
    }

    /// An object of the facts, with its kind.
    pub fn whole(&self, object: &Value) -> Value {
        let mut object = object.clone();
        object["apiVersion"] = json!(self.resource.group_version().to_string());
        object["kind"] = json!(self.resource.facts.kind);
        object
    }
}

pub fn read() -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    let text = include_str!("../../facts/every_kind.facts");
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        if let Some(demand) = line.strip_prefix("    ") {
            let (path, errors) = demand.split_once(": ").unwrap();
            let sample = kinds.last_mut().unwrap().samples.last_mut().unwrap();
            sample.demands.insert(path.to_owned(), Errors::read(path, errors));
        } else if let Some(object) = line.strip_prefix("  least ") {
            kinds.last_mut().unwrap().least = serde_json::from_str(object).unwrap();
        } else if let Some(object) = line.strip_prefix("  given ") {
            let object = serde_json::from_str(object).unwrap();
            kinds.last_mut().unwrap().samples.push(Sample { object, demands: BTreeMap::new() });
        } else {
            let (version, plural) = line.split_once(' ').unwrap();
            let resource = builtin()
                .iter()
                .find(|r| r.facts.plural == plural && r.group_version().to_string() == version)
                .unwrap_or_else(|| panic!("no such resource: {line}"));
            kinds.push(Kind { resource, least: Value::Null, samples: Vec::new() });
        }
    }
    kinds
}

/// The way to a part of an object, written as errors write it.
#[derive(Clone)]
pub struct Path(Vec<Step>);

#[derive(Clone)]
enum Step {
    Field(String),
    Item(usize),
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            match step {
                Step::Item(item) => write!(f, "[{item}]")?,
                Step::Field(name) if name.contains(['.', '/']) => write!(f, "[{name}]")?,
                Step::Field(name) if index == 0 => f.write_str(name)?,
                Step::Field(name) => write!(f, ".{name}")?,
            }
        }
        Ok(())
    }
}

/// Every part of a value, outer ones first.
pub fn paths(value: &Value) -> Vec<Path> {
    let mut found = Vec::new();
    collect(value, &Path(Vec::new()), &mut found);
    found
}

fn collect(value: &Value, at: &Path, found: &mut Vec<Path>) {
    let parts: Vec<(Step, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (Step::Field(name.clone()), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, value)| (Step::Item(index), value)).collect(),
        _ => Vec::new(),
    };
    for (step, value) in parts {
        let mut path = at.clone();
        path.0.push(step);
        found.push(path.clone());
        collect(value, &path, found);
    }
}

/// The value with a part taken out.
pub fn without(value: &Value, path: &Path) -> Value {
    let mut value = value.clone();
    let (last, outer) = path.0.split_last().unwrap();
    let owner = outer.iter().fold(&mut value, |value, step| match step {
        Step::Field(name) => &mut value[name],
        Step::Item(index) => &mut value[*index],
    });
    match last {
        Step::Field(name) => drop(owner.as_object_mut().unwrap().remove(name)),
        Step::Item(index) => drop(owner.as_array_mut().unwrap().remove(*index)),
    }
    value
}
