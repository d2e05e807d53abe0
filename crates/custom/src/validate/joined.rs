//! The form in which a definition is judged: what is the same in all versions is moved up and judged once.
//!
//! Upstream's own form is so for the sake of older versions of its API, and errors are reported in it: a schema that all
//! versions share is at `spec.validation`.

use pawl_meta::object::Object;
use pawl_structural::Props;
use serde_json::Value;

use crate::definition::author_schema;
use crate::fields;

/// What versions may share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Schema,
    Subresources,
    Columns,
    Selectable,
}

impl Part {
    fn field(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::Subresources => "subresources",
            Self::Columns => "additionalPrinterColumns",
            Self::Selectable => "selectableFields",
        }
    }

    fn of(self, version: &Object) -> Option<&Value> {
        version.get(self.field()).filter(|value| !is_nothing(value))
    }
}

/// The spec of a definition.
pub struct Joined<'o> {
    pub spec: &'o Object,
    pub versions: Vec<&'o Object>,
    shared: Vec<Part>,
    /// Of each version; only the first one's when all are the same.
    schemas: Vec<Option<Props>>,
}

impl<'o> Joined<'o> {
    pub fn of(object: &'o Object) -> Self {
        let spec = fields::within(object, "spec");
        let versions: Vec<&Object> = fields::each(spec, "versions").collect();
        let shared: Vec<Part> = [Part::Schema, Part::Subresources, Part::Columns, Part::Selectable]
            .into_iter()
            .filter(|part| {
                versions.first().is_some_and(|first| versions.iter().all(|v| same(part.of(v), part.of(first))))
            })
            .collect();
        let written = if shared.contains(&Part::Schema) { versions.get(..1) } else { versions.get(..) };
        let schemas =
            written.unwrap_or_default().iter().map(|version| author_schema(version).map(Props::parse)).collect();
        Self { spec, versions, shared, schemas }
    }

    /// What all versions share.
    pub fn top(&self, part: Part) -> Option<&'o Value> {
        self.versions.first().filter(|_| self.shared.contains(&part)).and_then(|first| part.of(first))
    }

    /// What a version has for itself.
    pub fn own(&self, version: &'o Object, part: Part) -> Option<&'o Value> {
        if self.shared.contains(&part) { None } else { part.of(version) }
    }

    /// What a version of a name has, whoever else does; absent names have what all share.
    pub fn any(&self, name: &str, part: Part) -> Option<&'o Value> {
        if self.shared.contains(&part) {
            return self.top(part);
        }
        self.versions.iter().find(|version| fields::text(version, "name") == name).and_then(|version| part.of(version))
    }

    /// The schema that all versions share.
    pub fn top_schema(&self) -> Option<&Props> {
        self.schemas.first().filter(|_| self.shared.contains(&Part::Schema)).and_then(Option::as_ref)
    }

    /// The schema that the version at an index has for itself.
    pub fn own_schema(&self, index: usize) -> Option<&Props> {
        self.schemas.get(index).filter(|_| !self.shared.contains(&Part::Schema)).and_then(Option::as_ref)
    }

    /// Every schema once.
    pub fn schemas(&self) -> impl Iterator<Item = &Props> {
        self.schemas.iter().flatten()
    }

    pub fn every_version_has_a_schema(&self) -> bool {
        self.versions.iter().all(|version| author_schema(version).is_some())
    }

    pub fn preserves_unknown(&self) -> bool {
        fields::truth(self.spec, "preserveUnknownFields")
    }
}

/// Whether two parts of a definition say the same: what Go decodes to a zero value may as well be absent.
pub fn same(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            keys.into_iter().all(|key| same_member(key, a.get(key), b.get(key)))
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(Some(a), Some(b)))
        }
        (Some(Value::Number(a)), Some(Value::Number(b))) => a == b || a.as_f64() == b.as_f64(),
        (a, b) => a == b,
    }
}

fn same_member(key: &str, a: Option<&Value>, b: Option<&Value>) -> bool {
    // Pointers in Go: that a zero value is there means something.
    let kept = [
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
        "$ref",
        "additionalProperties",
        "additionalItems",
    ];
    let maps = ["properties", "patternProperties", "definitions", "dependencies"];
    let zero = |value: &&Value| match value {
        Value::Null => true,
        Value::Bool(false) => !kept.contains(&key),
        Value::String(text) => text.is_empty() && !kept.contains(&key),
        Value::Object(map) => map.is_empty() && maps.contains(&key),
        value => is_nothing(value),
    };
    match key {
        "default" | "example" | "enum" => a.filter(|a| !a.is_null()) == b.filter(|b| !b.is_null()),
        _ => match (a.filter(|a| !zero(a)), b.filter(|b| !zero(b))) {
            (None, None) => true,
            (a, b) => same(a, b),
        },
    }
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}
