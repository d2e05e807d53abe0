//! What a kind does beside what all kinds do: the one seam between kinds that are built in and those that users define.
//!
//! Everything that is the same for all of them (decoding, metadata, ownership of fields, storage, the cache, watches,
//! deletion, how answers look) is written once, elsewhere, and asks here. What is plain data is no method: it stands in
//! [`crate::Facts`].

use std::cmp::Ordering;
use std::fmt::Debug;

use pawl_meta::object::Object;
use pawl_rules::{Errors, MetadataCheck, Prepare};
use pawl_schema::TypeRef;
use serde_json::Value;

use crate::print::Column;

/// What a kind does with its objects. Objects are in the form in which they are stored, but for `set_defaults`.
pub trait Behaviour: Debug + Send + Sync {
    /// Fills in what a client left out. The object is in the form of the request.
    fn set_defaults(&self, object: &mut Object);

    /// Drops, keeps or fills in what is not the client's to say, before validation.
    fn prepare(&self, write: Write<'_>, object: &mut Object, by: &Prepare);

    /// Says what is wrong with an object. `metadata` is called when it is the metadata's turn, so that errors stand in
    /// upstream's order.
    fn validate(&self, write: Write<'_>, object: &Object, metadata: MetadataCheck<'_>, errors: &mut Errors);

    /// What deserves a warning about an object that is valid.
    fn warnings(&self, write: Write<'_>, object: &Object) -> Vec<String>;

    /// What tables show.
    fn columns(&self) -> &dyn Columns;

    /// The versions of the kind, where they differ in shape.
    fn forms(&self) -> Option<&dyn Forms>;
}

/// A write: through which subresource (empty for the resource itself), and what was there before.
#[derive(Clone, Copy)]
pub struct Write<'a> {
    pub subresource: &'a str,
    /// `None` for a new object.
    pub old: Option<&'a Object>,
}

impl Write<'static> {
    pub const CREATE: Self = Self { subresource: "", old: None };
}

impl<'a> Write<'a> {
    pub fn update(subresource: &'a str, old: &'a Object) -> Self {
        Self { subresource, old: Some(old) }
    }
}

/// The columns of a kind's table.
pub trait Columns: Debug + Send + Sync {
    /// What each column is called and is.
    fn definitions(&self) -> &[Column];

    /// The cells of an object's row.
    fn row(&self, object: &Value, now_unix: i64) -> Vec<Value>;

    /// The conditions of an object's row: whether it is a thing that has run to its end.
    fn row_conditions(&self, _object: &Value) -> Vec<Value> {
        Vec::new()
    }

    /// Whether rows have an order of their own, which few kinds' have.
    fn is_sorted(&self) -> bool {
        false
    }

    /// What the order of rows depends on.
    fn sort_key(&self, _object: &Value) -> Vec<Option<Value>> {
        Vec::new()
    }

    /// Which of two rows comes first, by what their order depends on.
    fn order(&self, _one: &[Option<Value>], _other: &[Option<Value>]) -> Ordering {
        Ordering::Equal
    }

    /// Nobody said what to show of this kind: an empty table has no rows at all, as upstream's.
    fn is_fallback(&self) -> bool {
        false
    }
}

/// The versions of a kind that differ in shape. Objects are stored in one of them.
pub trait Forms: Debug + Send + Sync {
    /// The apiVersion in which objects are stored.
    fn stored(&self) -> &str;

    /// What a version looks like; `None` where the kind has no such version.
    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>>;

    /// An object of any version in another one, `apiVersion` included; `None` where there is no way.
    fn convert(&self, object: Object, api_version: &str) -> Option<Object>;

    /// What a selectable field is called in the stored form.
    fn stored_field<'f>(&'f self, field: &'f str) -> &'f str;
}
