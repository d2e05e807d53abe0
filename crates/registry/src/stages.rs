//! The stages of a write that depend on the kind: defaults, preparation, validation, ownership of fields.

use pawl_meta::object::Object;
use pawl_meta::{Errors, Status};
use serde_json::json;

use crate::{Context, Registry, Served};

impl Registry {
    /// Notes who owns which fields.
    pub(crate) fn track(
        &self,
        _cx: &Context,
        _served: &Served,
        _old: Option<&Object>,
        _new: &mut Object,
    ) -> Result<(), Status> {
        Ok(())
    }

    pub(crate) fn set_defaults(&self, served: &Served, object: &mut Object) {
        if served.resource.facts.kind == "Namespace" {
            let metadata = pawl_meta::object::metadata_mut(object);
            let name = metadata.get("name").cloned();
            let labels = metadata.entry("labels").or_insert_with(|| json!({}));
            if let (Some(name), Some(labels)) = (name, labels.as_object_mut()) {
                labels.insert("kubernetes.io/metadata.name".to_owned(), name);
            }
        }
    }

    pub(crate) fn prepare_kind_create(&self, served: &Served, object: &mut Object) {
        let facts = &served.resource.facts;
        if !facts.status_on_create {
            for field in &facts.status {
                object.remove(field);
            }
        }
        if facts.kind == "Namespace" {
            object.insert("spec".into(), json!({"finalizers": ["kubernetes"]}));
            object.insert("status".into(), json!({"phase": "Active"}));
        }
    }

    pub(crate) fn prepare_kind_update(&self, _served: &Served, _subresource: &str, _new: &mut Object, _old: &Object) {}

    pub(crate) fn prepare_kind_deletion(&self, served: &Served, object: &mut Object) {
        if served.resource.facts.deferred {
            object.insert("status".into(), json!({"phase": "Terminating"}));
        }
    }

    pub(crate) fn validate(&self, _served: &Served, _new: &Object, _old: Option<&Object>, _errors: &mut Errors) {}
}
