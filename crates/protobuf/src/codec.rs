//! A schema made ready for transcoding.

use pawl_schema::{NodeId, Schema};

use crate::table::Table;

/// Transcodes objects of the types of one schema. It is made once and shared.
pub struct Codec<'s> {
    pub(crate) schema: &'s Schema,
    pub(crate) table: Table<'s>,
    pub(crate) kinds: Box<Kinds<'s>>,
}

/// The type of a kind, by apiVersion and kind.
pub(crate) type Kinds<'s> = dyn Fn(&str, &str) -> Option<NodeId> + Send + Sync + 's;

impl<'s> Codec<'s> {
    /// `kinds` finds the type of an object that is nested in another one as a sealed message (`runtime.RawExtension`), by its
    /// apiVersion and kind.
    pub fn new(schema: &'s Schema, kinds: impl Fn(&str, &str) -> Option<NodeId> + Send + Sync + 's) -> Self {
        Self { schema, table: Table::new(schema), kinds: Box::new(kinds) }
    }
}

/// A codec of everything built in.
#[cfg(test)]
pub(crate) fn builtin() -> Codec<'static> {
    let schema = pawl_kinds::schema();
    Codec::new(schema, |api_version, kind| {
        let resources = pawl_kinds::builtin().iter();
        let mut found = resources.filter(|r| r.group_version().to_string() == api_version && r.facts.kind == kind);
        found.next().map(|resource| resource.root)
    })
}
