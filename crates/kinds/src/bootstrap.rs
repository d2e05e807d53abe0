//! Objects that are there from the start, read from `facts/bootstrap.json` (which explains its fields).

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

/// An object to make, with placeholders in it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Starter {
    pub keep: Keep,
    /// Who writes it.
    pub manager: String,
    pub object: Map<String, Value>,
    pub status: Option<StarterStatus>,
}

/// What is done about an object that exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    Present,
    PresentAtStart,
    Equal,
    EqualUnlessOptedOut,
    Allocated,
    Merged,
}

/// The status of a new object, a write of its own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StarterStatus {
    pub manager: String,
    #[serde(default)]
    pub apply: bool,
    pub status: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BootstrapFacts {
    #[serde(rename = "about")]
    _about: Vec<String>,
    objects: Vec<Starter>,
}

/// All of them, in the order of the facts.
#[expect(clippy::expect_used, reason = "the table is part of the binary and a test reads it")]
pub fn starters() -> &'static [Starter] {
    static FACTS: LazyLock<BootstrapFacts> = LazyLock::new(|| {
        serde_json::from_str(include_str!("../facts/bootstrap.json")).expect("the starting objects are well-formed")
    });
    &FACTS.objects
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_starting_object_is_of_a_kind_that_is_served() {
        assert!(starters().len() > 20);
        for starter in starters() {
            let text = |field: &str| starter.object.get(field).and_then(Value::as_str).unwrap();
            let served = crate::builtin().iter().any(|resource| {
                resource.facts.kind == text("kind") && resource.group_version().to_string() == text("apiVersion")
            });
            assert!(served, "{}", text("kind"));
        }
    }
}
