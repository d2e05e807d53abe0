//! Kinds that are served in versions of different shapes: what one form looks like in the other.
//!
//! Each such kind is stored in one of its forms. A conversion is pure, loses nothing that the other form can carry, and
//! leaves metadata alone but for the annotations that carry what a form has no fields for.

mod autoscaler;
mod event;

use pawl_schema::TypeRef;
use serde_json::{Map, Value};

use crate::{Forms, types};

/// The two forms of a kind.
#[derive(Debug)]
struct TwoForms {
    stored: Form,
    other: Form,
    to_stored: fn(Map<String, Value>) -> Map<String, Value>,
    to_other: fn(Map<String, Value>) -> Map<String, Value>,
    /// Selectable fields of the other form by their names in the stored one, where they differ.
    fields: &'static [(&'static str, &'static str)],
}

/// One form of a kind.
#[derive(Debug)]
struct Form {
    api_version: &'static str,
    type_name: &'static str,
}

static FORMS: [TwoForms; 2] = [
    TwoForms {
        stored: Form { api_version: "autoscaling/v2", type_name: "autoscaling.v2.HorizontalPodAutoscaler" },
        other: Form { api_version: "autoscaling/v1", type_name: "autoscaling.v1.HorizontalPodAutoscaler" },
        to_stored: autoscaler::to_v2,
        to_other: autoscaler::to_v1,
        fields: &[],
    },
    TwoForms {
        stored: Form { api_version: "v1", type_name: "core.v1.Event" },
        other: Form { api_version: "events.k8s.io/v1", type_name: "events.v1.Event" },
        to_stored: event::to_core,
        to_other: event::to_events,
        fields: event::SELECTABLE,
    },
];

/// The forms of the kind that a type is one of; `None` for types of one form only.
pub(crate) fn forms(type_name: &str) -> Option<&'static dyn Forms> {
    let found = FORMS.iter().find(|forms| [forms.stored.type_name, forms.other.type_name].contains(&type_name));
    found.map(|forms| forms as &dyn Forms)
}

impl Forms for TwoForms {
    fn stored(&self) -> &str {
        self.stored.api_version
    }

    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        types::schema().named(self.form(api_version)?.type_name)
    }

    fn convert(&self, object: Map<String, Value>, api_version: &str) -> Option<Map<String, Value>> {
        let is_stored = object.get("apiVersion").and_then(Value::as_str) == Some(self.stored.api_version);
        let mut converted = match self.form(api_version)?.api_version == self.stored.api_version {
            wanted if wanted == is_stored => return Some(object),
            true => (self.to_stored)(object),
            false => (self.to_other)(object),
        };
        converted.insert("apiVersion".to_owned(), Value::from(api_version));
        Some(converted)
    }

    fn stored_field<'f>(&'f self, field: &'f str) -> &'f str {
        self.fields.iter().find(|(other, _)| *other == field).map_or(field, |(_, stored)| stored)
    }
}

impl TwoForms {
    fn form(&self, api_version: &str) -> Option<&Form> {
        [&self.stored, &self.other].into_iter().find(|form| form.api_version == api_version)
    }
}

/// Brings fields in line with a type: what it does not write goes, what it always writes comes.
fn fit(type_name: &str, fields: &mut Map<String, Value>) {
    let Some(object) = types::schema().named(type_name).and_then(TypeRef::object) else { return };
    fields.retain(|name, value| object.field(name).is_some_and(|field| !field.is_omitted(value)));
    object.complete(fields);
}

/// Moves fields from their names in one form to those in the other.
fn rename(fields: &mut Map<String, Value>, names: impl Iterator<Item = (&'static str, &'static str)>) {
    for (from, to) in names {
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_has_its_type_and_its_resource() {
        for forms in &FORMS {
            for form in [&forms.stored, &forms.other] {
                assert!(forms.type_of(form.api_version).is_some(), "{form:?}");
                let resource = crate::builtin().iter().find(|r| r.facts.type_name == form.type_name).unwrap();
                assert_eq!(resource.group_version().to_string(), form.api_version);
                let storage = resource.facts.storage.as_deref().unwrap_or(form.api_version);
                assert_eq!(storage, forms.stored.api_version);
            }
        }
        let converted = crate::builtin().iter().filter(|r| r.facts.storage.is_some());
        assert!(converted.into_iter().all(|r| forms(&r.facts.type_name).is_some()));
    }
}
