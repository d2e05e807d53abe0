//! Structural schemas of custom resources: what is pruned, what is filled in, what is refused, and what is let pass because
//! it was there before.
//!
//! [`Props`] is a schema as its author wrote it; [`schema_errors`] says what is wrong with it as part of a definition.
//! [`Structural`] is a schema ready for use, compiled once and shared: its [shape](Structural::shape) is a type like those of
//! built-in kinds, so that decoding, apply and printing are the same for both; [`Structural::prune`] and
//! [`Structural::default`] bring an object into form; [`Structural::validate`] judges a write and returns an [`Outcome`].
//!
//! Everything here is synchronous and does no IO. It refuses to know requests, storage, metadata rules and which definition a
//! schema belongs to.

mod changes;
mod check;
mod embedded;
mod equality;
mod fill;
mod formats;
mod lists;
mod node;
mod numbers;
mod paths;
mod place;
mod problem;
mod props;
mod prune;
mod rules;
mod scale;
mod shape;
mod validate;
mod values;
mod view;

use pawl_meta::FieldPath;
use pawl_meta::object::Object;
use pawl_schema::{Type, TypeRef};

pub use check::{Checks, schema_errors, structural_errors};
pub use formats::unrecognized_formats;
pub use paths::field_path;
pub use problem::Ratcheted;
pub use props::{Additional, Dependency, Foreign, Items, Props, RuleProps};
pub use scale::ScalePaths;
pub use validate::{Mark, Outcome, Part, Write};

/// A schema of one version of a resource, ready for use.
#[derive(Debug)]
pub struct Structural {
    /// Absent where the version has no schema: then everything is kept and nothing refused.
    root: Option<node::Node>,
    scale: Option<ScalePaths>,
    shape: Type,
}

impl Structural {
    /// Compiles a schema that was accepted, rules included. `meta` is the type of metadata.
    pub fn compile(schema: Option<&Props>, scale: Option<ScalePaths>, meta: TypeRef<'_>) -> Structural {
        let root = schema.map(|schema| node::Node::compile(schema, true));
        let shape = shape::build(root.as_ref(), meta);
        Structural { root, scale, shape }
    }

    /// The type of the resource. The decoder prunes by it, and keeps values of wrong types for validation.
    pub fn shape(&self) -> &Type {
        &self.shape
    }

    /// Drops what the schema does not declare, and says where it was. Doing it twice changes nothing.
    pub fn prune(&self, object: &mut Object) -> Vec<String> {
        self.root.as_ref().map(|root| prune::prune_resource(root, object)).unwrap_or_default()
    }

    /// What names an object inside of this one and is no text, in words.
    pub fn misnamed(&self, object: &Object) -> Option<String> {
        embedded::misnamed_below(self.root.as_ref()?, object, &FieldPath::root())
    }

    /// Fills in defaults and drops nulls that are no values. Doing it twice changes nothing.
    pub fn default(&self, object: &mut Object) {
        if let Some(root) = &self.root {
            fill::fill_members(root, object);
        }
    }

    /// Whether an object has all of its own fields that have a default.
    pub fn has_defaults_of_fields(&self, object: &Object) -> bool {
        let Some(root) = &self.root else { return true };
        let has = |(name, node): &(Box<str>, node::Node)| node.default.is_none() || object.contains_key(&**name);
        !root.below.defaults || root.properties.iter().all(has)
    }

    /// The same as [`Structural::default`] but for nulls that are no values: they stay, to be refused.
    pub fn default_keeping_nulls(&self, object: &mut Object) {
        if let Some(root) = &self.root {
            fill::fill_keeping_nulls(root, object);
        }
    }

    /// Whether there are rules at all.
    pub fn has_rules(&self) -> bool {
        self.root.as_ref().is_some_and(|root| root.below.rules)
    }
}
