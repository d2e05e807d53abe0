//! Objects inside of objects: they have a kind, a version and metadata of their own.

use pawl_meta::object::Object;
use pawl_meta::{ErrorKind, Errors, FieldError, FieldPath, names};
use serde_json::Value;

use crate::node::{Node, Others};
use crate::place::{Place, Step};
use crate::problem::{Ratcheted, shown};

/// The rules of metadata, which this crate does not know.
pub(crate) type MetadataRules<'m> = &'m dyn Fn(&Object, &FieldPath, &mut Errors);

/// What is wrong with embedded objects.
pub(crate) struct Embedded<'m> {
    pub rules: MetadataRules<'m>,
    pub is_ratcheting: bool,
    pub errors: Vec<FieldError>,
    pub ratcheted: Vec<Ratcheted>,
}

impl Embedded<'_> {
    /// Looks through everything at and below a place. The object itself is not embedded in anything.
    pub fn check(&mut self, place: &Place<'_, '_>) {
        let node = place.node();
        if !node.below.embedded {
            return;
        }
        for (index, value) in place.value().array().unwrap_or_default().iter().enumerate() {
            if let Some(item) = &node.item {
                self.check(&place.below(Step::Index(index), item, value));
            }
        }
        let Some(members) = place.value().object() else { return };
        if node.is_embedded {
            self.object(place, members);
        }
        for (name, value) in members {
            if let Some(property) = node.property(name) {
                self.check(&place.below(Step::Field(name), property, value));
            } else if let Others::Schema(schema) = &node.additional {
                self.check(&place.below(Step::Key(name), schema, value));
            }
        }
    }

    fn object<'v>(&mut self, place: &Place<'_, 'v>, members: &'v Object) {
        for name in ["apiVersion", "kind"] {
            if !members.contains_key(name) {
                self.refuse(place, name, ErrorKind::Required, None, String::new());
            }
        }
        for (name, value) in members {
            match (name.as_str(), value) {
                ("apiVersion" | "kind", Value::String(text)) if text.is_empty() => {
                    self.refuse(place, name, ErrorKind::Invalid, Some(value), "must not be empty".to_owned());
                }
                ("apiVersion", Value::String(text)) if text.matches('/').count() > 1 => {
                    let detail = format!("unexpected GroupVersion string: {text}");
                    self.refuse(place, name, ErrorKind::Invalid, Some(value), detail);
                }
                ("kind", Value::String(text)) => {
                    let wrong = names::dns1035_label(&text.to_lowercase());
                    if !wrong.is_empty() {
                        let detail = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
                        self.refuse(place, name, ErrorKind::Invalid, Some(value), detail);
                    }
                }
                ("apiVersion", Value::String(_)) => {}
                ("apiVersion" | "kind", other) => {
                    self.refuse(place, name, ErrorKind::Invalid, Some(other), "must be a string".to_owned());
                }
                ("metadata", value) => self.metadata(place, members, value),
                _ => {}
            }
        }
    }

    /// What is wrong with metadata stays as it was only when all of the metadata did.
    fn metadata<'v>(&mut self, place: &Place<'_, 'v>, members: &Object, value: &'v Value) {
        let mut errors = Errors::new();
        (self.rules)(members, &path_of(&format!("{}.metadata", place.path())), &mut errors);
        if errors.is_empty() {
            return;
        }
        let unknown = Node::default();
        let place = place.below(Step::Field("metadata"), place.node().property("metadata").unwrap_or(&unknown), value);
        if self.is_ratcheting && place.is_unchanged() {
            let rule = format!("{}.x-kubernetes-embedded-resource", place.schema_path());
            let ratcheted = errors.into_iter().map(|error| Ratcheted {
                path: error.field.clone(),
                rule: rule.clone(),
                detail: error.body(),
            });
            self.ratcheted.extend(ratcheted);
        } else {
            self.errors.extend(errors);
        }
    }

    fn refuse(&mut self, place: &Place<'_, '_>, name: &str, kind: ErrorKind, bad: Option<&Value>, detail: String) {
        let field = format!("{}.{name}", place.path());
        self.errors.push(FieldError { kind, field, bad_value: bad.map(shown), detail });
    }
}

/// A printed path as a path that can be extended.
fn path_of(printed: &str) -> FieldPath {
    FieldPath::of(printed)
}
