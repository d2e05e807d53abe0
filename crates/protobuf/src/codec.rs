//! A schema made ready for transcoding.

use pawl_schema::{Schema, TypeRef};

use crate::table::Table;

/// Transcodes objects of the types of one schema. It is made once and shared. Types of other schemas have no messages.
pub struct Codec<'s> {
    pub(crate) table: Table<'s>,
    pub(crate) kinds: Box<Kinds<'s>>,
}

/// The type of a kind, by apiVersion and kind.
pub(crate) type Kinds<'s> = dyn Fn(&str, &str) -> Option<TypeRef<'s>> + Send + Sync + 's;

impl<'s> Codec<'s> {
    /// `kinds` finds the type of an object that is nested in another one as a sealed message (`runtime.RawExtension`), by its
    /// apiVersion and kind.
    pub fn new(schema: &'s Schema, kinds: impl Fn(&str, &str) -> Option<TypeRef<'s>> + Send + Sync + 's) -> Self {
        Self { table: Table::new(schema), kinds: Box::new(kinds) }
    }

    /// The type of a document by its apiVersion and kind; `None` where it is not known.
    pub fn type_of(&self, api_version: &str, kind: &str) -> Option<TypeRef<'s>> {
        (self.kinds)(api_version, kind)
    }
}

impl std::fmt::Debug for Codec<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Codec").finish_non_exhaustive()
    }
}

/// A codec of everything built in.
#[cfg(test)]
pub(crate) fn builtin() -> Codec<'static> {
    Codec::new(pawl_kinds::schema(), |api_version, kind| {
        let resources = pawl_kinds::builtin().iter();
        let mut found = resources.filter(|r| r.group_version().to_string() == api_version && r.facts.kind == kind);
        found.next().map(|resource| resource.object_type().as_ref())
    })
}
