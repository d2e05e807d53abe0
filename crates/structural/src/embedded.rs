//! Objects inside of objects: they have a kind, a version and metadata of their own.

use pawl_meta::object::Object;
use pawl_meta::{ErrorKind, Errors, FieldError, FieldPath, names};
use serde_json::Value;

use crate::node::{Node, Others};
use crate::place::{PathStep, Place};
use crate::problem::{MOST_TOLD, Ratcheted, shown};

/// The rules of metadata, which this crate does not know.
pub(crate) type MetadataRules<'m> = &'m dyn Fn(&Object, &FieldPath, &mut Errors);

/// What is wrong with embedded objects.
pub(crate) struct Embedded<'m> {
    rules: MetadataRules<'m>,
    is_ratcheting: bool,
    pub errors: Vec<FieldError>,
    /// Whether there was more than is told.
    pub is_truncated: bool,
    pub ratcheted: Vec<Ratcheted>,
}

impl<'m> Embedded<'m> {
    pub fn new(rules: MetadataRules<'m>, is_ratcheting: bool) -> Self {
        Self { rules, is_ratcheting, errors: Vec::new(), is_truncated: false, ratcheted: Vec::new() }
    }

    /// Looks through everything at and below a place. The object itself is not embedded in anything.
    pub fn check(&mut self, place: &Place<'_, '_>) {
        let node = place.node();
        if !node.below.embedded {
            return;
        }
        for (index, value) in place.value().array().unwrap_or_default().iter().enumerate() {
            if let Some(item) = &node.item {
                self.check(&place.below(PathStep::Index(index), item, value));
            }
        }
        let Some(members) = place.value().object() else { return };
        if node.is_embedded {
            self.object(place, members);
        }
        for (name, value) in members {
            if let Some(property) = node.property(name) {
                self.check(&place.below(PathStep::Field(name), property, value));
            } else if let Others::Schema(schema) = &node.additional {
                self.check(&place.below(PathStep::Key(name), schema, value));
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
        let place =
            place.below(PathStep::Field("metadata"), place.node().property("metadata").unwrap_or(&unknown), value);
        if self.is_ratcheting && place.is_unchanged() {
            let rule = format!("{}.x-kubernetes-embedded-resource", place.schema_path());
            let ratcheted = errors.into_iter().map(|error| Ratcheted {
                path: error.field.clone(),
                rule: rule.clone(),
                detail: error.body(),
            });
            self.ratcheted.extend(ratcheted);
            self.ratcheted.truncate(MOST_TOLD);
        } else {
            errors.into_iter().for_each(|error| self.tell(error));
        }
    }

    fn refuse(&mut self, place: &Place<'_, '_>, name: &str, kind: ErrorKind, bad: Option<&Value>, detail: String) {
        let field = format!("{}.{name}", place.path());
        self.tell(FieldError { kind, field, bad_value: bad.map(shown), detail });
    }

    fn tell(&mut self, error: FieldError) {
        self.is_truncated |= self.errors.len() >= MOST_TOLD;
        if !self.is_truncated {
            self.errors.push(error);
        }
    }
}

/// What of the objects inside of a value is named by something that is no text: the first that is found, in words.
pub(crate) fn misnamed(node: &Node, value: &Value, path: &FieldPath) -> Option<String> {
    if !node.below.embedded {
        return None;
    }
    if let (Some(items), Some(item)) = (value.as_array(), &node.item) {
        return items.iter().enumerate().find_map(|(index, value)| misnamed(item, value, &path.index(index)));
    }
    let members = value.as_object()?;
    let of_object = ["apiVersion", "kind"].into_iter().find_map(|name| {
        let wrong = members.get(name).filter(|value| node.is_embedded && !value.is_string())?;
        Some(format!("{}: Invalid value: {}: must be a string", path.child(name), shown(wrong)))
    });
    of_object.or_else(|| misnamed_below(node, members, path))
}

/// The same for what an object holds.
pub(crate) fn misnamed_below(node: &Node, members: &Object, path: &FieldPath) -> Option<String> {
    members.iter().filter(|_| node.below.embedded).find_map(|(name, value)| {
        match (node.property(name), &node.additional) {
            (Some(property), _) => misnamed(property, value, &path.child(name)),
            (None, Others::Schema(schema)) => misnamed(schema, value, &path.key(name)),
            _ => None,
        }
    })
}

/// A printed path as a path that can be extended.
fn path_of(printed: &str) -> FieldPath {
    FieldPath::of(printed)
}
