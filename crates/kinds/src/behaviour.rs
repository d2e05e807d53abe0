//! What a kind does beside what all kinds do: the one seam between kinds that are built in and those that users define.
//!
//! Everything that is the same for all of them (decoding, metadata, ownership of fields, storage, the cache, watches,
//! deletion, how answers look) is written once, elsewhere, and asks here. What is plain data is no method: it stands in
//! [`crate::ResourceFacts`].

use std::cmp::Ordering;
use std::fmt::Debug;
use std::time::Duration;

use pawl_meta::object::Object;
use pawl_rules::{Errors, MetadataCheck, Prepare};
use pawl_schema::{Type, TypeRef};
use serde_json::Value;

use crate::print::Column;

/// What a kind does with its objects. Objects are in the form in which they are judged, but for `set_defaults`.
pub trait Behaviour: Debug + Send + Sync {
    /// What its objects are.
    fn object_type(&self) -> &Type;

    /// Fills in what a client left out. The object is in the form of the request, and decoded; the error is what its type
    /// could not see.
    fn set_defaults(&self, object: &mut Object) -> Result<(), String>;

    /// The same for what apply made. Upstream does not read it as it reads a body.
    fn set_defaults_of_applied(&self, object: &mut Object) -> Result<(), String> {
        self.set_defaults(object)
    }

    /// Drops, keeps or fills in what is not the client's to say, before validation.
    fn prepare(&self, write: Write<'_>, object: &mut Object, by: &Prepare);

    /// Says what is wrong with an object. `metadata` is called when it is the metadata's turn, so that errors stand in
    /// upstream's order.
    fn validate(&self, write: Write<'_>, object: &Object, metadata: MetadataCheck<'_>, found: &mut Findings);

    /// What deserves a warning about an object that is valid.
    fn warnings(&self, write: Write<'_>, object: &Object) -> Vec<String>;

    /// What the first request for its deletion leaves in an object of a kind that goes in steps ([`crate::ResourceFacts::cleanup`]).
    fn begin_deletion(&self, _object: &mut Object) {}

    /// What tables show.
    fn columns(&self) -> &dyn Columns;

    /// The versions of the kind, where they differ in shape.
    fn forms(&self) -> Option<&dyn Forms>;

    /// What OpenAPI publishes, where the kind's author said it.
    fn published(&self) -> Option<&dyn Published> {
        None
    }
}

/// What OpenAPI publishes of a kind that users defined.
pub trait Published {
    /// What the documents follow from: they change only when this does.
    fn source(&self) -> String;

    /// The schemas of objects and of lists, for OpenAPI 3 or for OpenAPI 2.
    fn schemas(&self, v3: bool) -> [Value; 2];
}

/// A write: through which subresource (empty for the resource itself), and what was there before.
#[derive(Clone, Copy)]
pub struct Write<'a> {
    pub subresource: &'a str,
    /// `None` for a new object.
    pub old: Option<&'a Object>,
    /// What is known of the old object, where it was wholly valid.
    pub valid_before: Option<Mark>,
    /// Nothing is written: somebody wants to know what would happen.
    pub dry_run: bool,
}

impl Write<'static> {
    pub const CREATE: Self = Self { subresource: "", old: None, valid_before: None, dry_run: false };
}

impl<'a> Write<'a> {
    pub fn update(subresource: &'a str, old: &'a Object) -> Self {
        Self { subresource, old: Some(old), valid_before: None, dry_run: false }
    }
}

/// An object was wholly valid by some rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Which rules these were: whoever makes marks knows.
    pub rules: u64,
    /// What it cost to find out.
    pub cost: u64,
}

/// What a look at an object brought to light.
#[derive(Debug, Default)]
pub struct Findings {
    pub errors: Errors,
    /// What the client is told, whatever becomes of the write.
    pub warnings: Vec<String>,
    /// What is wrong and was let pass because it was there before: where, by which rule, and how.
    pub let_pass: Vec<Passed>,
    /// How long it took to compare with what was there before.
    pub compared: Duration,
    /// The object is wholly valid.
    pub mark: Option<Mark>,
}

/// A problem that was let pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    pub path: String,
    pub rule: String,
    pub detail: String,
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

    /// Where stored objects must be brought into form before they are shown, whatever their version: a number that says
    /// how, never the same for two ways.
    fn rendering(&self) -> Option<u64> {
        None
    }

    /// Whether an object that was judged in the stored version comes out of the store as it went in. What is dropped from it
    /// after its defaults were filled in takes its default again when it is read.
    fn is_in_form(&self, _object: &Object) -> bool {
        true
    }

    /// What a version looks like; `None` where the kind has no such version.
    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>>;

    /// An object of any version in another one, `apiVersion` included; `None` where there is no way.
    fn convert(&self, object: Object, api_version: &str) -> Option<Object>;

    /// What a selectable field is called in the stored form.
    fn stored_field<'f>(&'f self, field: &'f str) -> &'f str;

    /// The values of the selectable fields of a rendered object, in the order of the facts.
    fn selected(&self, _object: &Object) -> Vec<String> {
        Vec::new()
    }
}
