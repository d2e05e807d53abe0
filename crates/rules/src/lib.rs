//! The engine that interprets rules: defaults, preparation, validation, update rules and warnings, written in lines. And the
//! formats of texts, which lines, hooks and structural schemas ask alike.
//!
//! Lines are read once into plans: per type the lines in order and the children worth visiting; whatever has no rules at or
//! below it is never walked. Paths of errors are built when there is an error. The engine knows no kind: the text, the types
//! and the functions that lines call by name are handed in. It knows nothing of requests or storage.

mod at;
mod check;
mod compile;
mod condition;
mod equal;
mod fill;
pub mod formats;
mod hooks;
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

pub use check::{Check, Names};
pub use equal::equal;
pub use hooks::{CheckHook, FillHook, Hooks, KeepHook, UpdateHook, WarnHook};
pub use kind::KindRules;
pub use pawl_meta::{Errors, FieldPath};
use pawl_schema::Schema;
pub use prepare::Prepare;
pub use shown::object as shown;
pub use validate::{MetadataCheck, MetadataPass};

/// Everything that a text of rules says, ready to be used.
#[derive(Default)]
pub struct Rules {
    kinds: HashMap<&'static str, KindRules>,
    plans: Vec<plan::Plan>,
    fills: Vec<fill::Fill>,
    gates: Vec<fill::Gates>,
}

/// A kind that rules may be about.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// The name of its type.
    pub type_name: &'static str,
    /// The fields that only its status subresource may change.
    pub status: &'static [String],
}

impl Rules {
    /// Reads rules about the types of a schema; or says what in them makes no sense.
    pub fn compile(
        texts: &[&'static str],
        schema: &'static Schema,
        subjects: &[Subject],
        hooks: Hooks,
    ) -> Result<Self, Vec<String>> {
        compile::Compiler::run(texts, schema, subjects, hooks)
    }

    /// What applies to a kind by the name of its type, or to an update through one of its subresources.
    pub fn of(&self, type_name: &str, subresource: &str) -> Option<&KindRules> {
        if subresource.is_empty() {
            return self.kinds.get(type_name);
        }
        self.kinds.get(format!("{type_name}/{subresource}").as_str())
    }

    /// How many kinds and types there are rules of.
    pub fn count(&self) -> (usize, usize) {
        (self.kinds.len(), self.plans.len())
    }
}

impl std::fmt::Debug for Rules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rules").field("kinds", &self.kinds.len()).finish_non_exhaustive()
    }
}
