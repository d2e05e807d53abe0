//! The fields of a custom resource that selectors may name, and their values in an object.

use serde_json::Value;

use crate::columns::print;
use crate::json_path::JsonPath;

/// The selectable fields of one version, compiled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selectable {
    fields: Vec<(Box<str>, Option<JsonPath>)>,
}

impl Selectable {
    /// From JSON paths, each with its leading dot.
    pub fn compile(paths: &[String]) -> Self {
        let name = |path: &String| path.strip_prefix('.').unwrap_or(path).into();
        Self { fields: paths.iter().map(|path| (name(path), JsonPath::parse(path))).collect() }
    }

    /// What selectors call the fields.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| &**name)
    }

    /// Each field with its value as text; empty where an object has none.
    pub fn values<'s>(&'s self, object: &Value) -> Vec<(&'s str, String)> {
        let value =
            |path: &Option<JsonPath>| path.as_ref()?.only(object).filter(|value| !value.is_null()).map(|v| print(&v));
        self.fields.iter().map(|(name, path)| (&**name, value(path).unwrap_or_default())).collect()
    }
}
