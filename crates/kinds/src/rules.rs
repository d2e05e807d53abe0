//! The engine that interprets `facts/rules`: defaults, preparation, validation, update rules and warnings of built-in kinds.
//!
//! The text is read once, on first use, into plans: per type the lines in order and the children worth visiting; whatever
//! has no rules at or below it is never walked. Paths of errors are built when there is an error. The engine knows no
//! kind by name, and nothing of requests or storage; what lines cannot say is in `hooks`.

mod at;
mod check;
mod compile;
mod condition;
mod fill;
mod judge;
mod kind;
mod labels;
mod line;
mod place;
mod plan;
mod prepare;
mod primitive;
mod shown;
mod texts;
mod validate;
mod words;

use std::collections::HashMap;
use std::sync::OnceLock;

pub use check::{Check, Names};
use pawl_meta::GroupKind;
pub use pawl_meta::{Errors, FieldPath};
pub(crate) use place::is_zero;
pub use prepare::{Prepare, prepare_create, prepare_update};
use serde_json::{Map, Value};
pub use validate::{MetadataCheck, MetadataPass, validate_create, validate_new, validate_update, warnings};

use crate::Resource;

/// Everything that the facts say, ready to be used.
#[derive(Default)]
struct Rules {
    kinds: HashMap<&'static str, kind::Kind>,
    plans: Vec<plan::Plan>,
    fills: Vec<fill::Fill>,
    gates: Vec<fill::Gates>,
}

fn rules() -> &'static Rules {
    static RULES: OnceLock<Rules> = OnceLock::new();
    RULES.get_or_init(|| compile::Compiler::run().0)
}

impl Rules {
    /// What applies to a kind, or to an update through one of its subresources.
    fn of(type_name: &str, subresource: &str) -> Option<&'static kind::Kind> {
        if subresource.is_empty() {
            return rules().kinds.get(type_name);
        }
        rules().kinds.get(format!("{type_name}/{subresource}").as_str())
    }
}

/// Fills in the defaults of a resource.
pub fn set_defaults(resource: &Resource, object: &mut Map<String, Value>) {
    set_defaults_of(&resource.facts.type_name, object);
}

/// Fills in the defaults of a type: also of the bodies of subresources, which are no resources.
pub fn set_defaults_of(type_name: &str, object: &mut Map<String, Value>) {
    let Some(kind) = Rules::of(type_name, "") else { return };
    for line in &kind.defaults {
        line.apply(object);
    }
    if let Some(fill) = kind.fill {
        rules().fill(fill, object);
    }
}

/// An object of a type as messages show it: fields in the order of their declaration.
pub(crate) fn shown(type_name: &str, fields: &Map<String, Value>) -> String {
    shown::object(crate::types::schema().named(type_name), fields)
}

/// The kind as errors name it: here and there not the object's own.
pub fn error_kind(resource: &Resource) -> GroupKind {
    let own = resource.group_kind();
    let Some(rules) = Rules::of(&resource.facts.type_name, "") else { return own };
    GroupKind {
        group: rules.error_group.map_or(own.group, str::to_owned),
        kind: rules.error_kind.map_or(own.kind, str::to_owned),
    }
}

/// The top-level fields that a subresource may change, where that is not the status.
pub fn owned_fields(resource: &Resource, subresource: &str) -> Option<&'static [&'static str]> {
    Rules::of(&resource.facts.type_name, subresource)?.owns.as_deref()
}

/// Whether finalizers need be neither standard nor qualified names (`meta plain`).
pub fn plain_finalizers(resource: &Resource) -> bool {
    Rules::of(&resource.facts.type_name, "").is_some_and(|kind| kind.plain_metadata)
}

/// What in the rules makes no sense.
pub(crate) fn problems() -> Vec<String> {
    compile::Compiler::run().1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_rules_of_many_kinds() {
        assert!(rules().kinds.len() > 80 && rules().plans.len() > 200);
    }
}
