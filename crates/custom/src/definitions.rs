//! What the kind CustomResourceDefinition does beside what every built-in kind does.

use std::sync::Arc;

use pawl_kinds::{
    Behaviour, Columns, Findings, Forms, MetadataCheck, MetadataPass, Prepare, Resource, Subresource, Write,
};
use pawl_meta::object::{Meta, Object, metadata_mut};
use pawl_meta::{Errors, FieldPath, time};
use pawl_schema::Type;
use serde_json::{Value, json};

use crate::plan::{CLEANUP_FINALIZER, Deletion, terminating};
use crate::prepare::Gates;
use crate::survey::AtRest;
use crate::{conform, prepare, validate};

pub const GROUP: &str = "apiextensions.k8s.io";
pub const PLURAL: &str = "customresourcedefinitions";
/// The subresource that lists stored objects that a schema refuses: the definition's own, or one that is posted.
pub const INVALID_OBJECTS: &str = "invalidobjects";

/// The built-in resources, with what this crate knows of definitions in its place.
pub fn with_definitions(builtin: &[Resource], gates: Gates, at_rest: &AtRest) -> Vec<Resource> {
    let completed = |resource: &Resource| {
        let mut resource = resource.clone();
        if resource.facts.group == GROUP && resource.facts.plural == PLURAL {
            resource.facts.plain_finalizers = true;
            resource.behaviour = Arc::new(Definitions { builtin: resource.behaviour, gates, at_rest: at_rest.clone() });
            resource.facts.sub.push(Subresource {
                name: INVALID_OBJECTS.to_owned(),
                kind: "InvalidObjectList".to_owned(),
                verbs: vec!["get".to_owned(), "create".to_owned()],
                hidden: true,
                ..Subresource::default()
            });
        }
        resource
    };
    builtin.iter().map(completed).collect()
}

#[derive(Debug)]
struct Definitions {
    /// What its facts say.
    builtin: Arc<dyn Behaviour>,
    gates: Gates,
    at_rest: AtRest,
}

impl Behaviour for Definitions {
    fn object_type(&self) -> &Type {
        self.builtin.object_type()
    }

    fn set_defaults(&self, object: &mut Object) -> Result<(), String> {
        conform(object)?;
        prepare::set_defaults(object);
        self.builtin.set_defaults(object)
    }

    fn prepare(&self, write: Write<'_>, object: &mut Object, by: &Prepare) {
        self.builtin.prepare(write, object, by);
        match (write.old, write.subresource) {
            (None, _) => prepare::create(object, self.gates),
            (Some(old), "status") => prepare::update_status(object, old),
            (Some(old), _) => prepare::update(object, old, self.gates),
        }
    }

    fn validate(&self, write: Write<'_>, object: &Object, metadata: MetadataCheck<'_>, found: &mut Findings) {
        // Of a change of metadata upstream asks only what a change may do, where it is a definition's.
        let is_update = write.old.is_some();
        let mut metadata = |pass, errors: &mut Errors| {
            if !(is_update && pass == MetadataPass::Meta) {
                metadata(pass, errors);
            }
        };
        self.builtin.validate(write, object, &mut metadata, found);
        if write.old.is_none() {
            let at = FieldPath::of("metadata");
            for field in ["generateName", "name"] {
                let name = object.meta_str(field);
                if let Some(wrong) = validate::name(name, object).filter(|_| !name.is_empty()) {
                    found.errors.invalid(&at.child(field), name, wrong);
                }
            }
        }
        found.errors.append(match (write.old, write.subresource) {
            (None, _) => validate::create(object),
            (Some(_), "status") => validate::update_status(object),
            (Some(old), _) => validate::update(object, old),
        });
    }

    fn warnings(&self, write: Write<'_>, object: &Object) -> Vec<String> {
        let mut warnings = self.builtin.warnings(write, object);
        warnings.extend(validate::warnings(object, write.old));
        if write.dry_run && write.old.is_some_and(|old| old.get("spec") != object.get("spec")) {
            // Who tries a change out wants to know what it does to what is there.
            let survey = self.at_rest.look(object);
            warnings.extend(survey.map(|survey| format!("the new schema would refuse {}", survey.text())));
        }
        warnings
    }

    fn begin_deletion(&self, object: &mut Object) {
        if let Some(status) = terminating(object, &Deletion::Pending, &time::now()) {
            object.insert("status".to_owned(), Value::Object(status));
        }
        let metadata = metadata_mut(object);
        let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
        if let Value::Array(finalizers) = finalizers
            && !finalizers.iter().any(|finalizer| finalizer == CLEANUP_FINALIZER)
        {
            finalizers.push(json!(CLEANUP_FINALIZER));
        }
    }

    fn columns(&self) -> &dyn Columns {
        self.builtin.columns()
    }

    fn forms(&self) -> Option<&dyn Forms> {
        self.builtin.forms()
    }
}
