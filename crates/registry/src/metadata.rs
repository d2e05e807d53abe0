//! What every object's metadata must look like, whatever its kind. Three passes look at it, each reporting on its own: the
//! kind's, and two common ones around it; a finding may so stand in the causes several times, as clients know it.

use std::collections::HashSet;

use pawl_kinds::{NameRule, Resource};
use pawl_meta::object::{Meta, Object, metadata_mut};
use pawl_meta::{Errors, FieldPath, GroupVersion, go, names};
use serde_json::Value;

use crate::Context;
use crate::wire::api_type;

/// All annotations together may be this large.
const ANNOTATIONS_MAX: usize = 256 * 1024;

/// Who looks: the kind with its own rules, or the checks common to all kinds.
#[derive(Clone, Copy)]
pub struct Pass {
    namespaced: bool,
    name: NameRule,
    /// Finalizers must be standard or qualified names.
    strict_finalizers: bool,
    /// An earlier pass found nothing wrong in what all of them look at alike: this one need not look again.
    skips_common: bool,
}

impl Pass {
    pub fn of_kind(resource: &Resource) -> Self {
        Self {
            namespaced: resource.facts.namespaced,
            name: resource.facts.name,
            strict_finalizers: !resource.facts.plain_finalizers,
            skips_common: false,
        }
    }

    pub fn common(resource: &Resource) -> Self {
        let namespaced = resource.facts.namespaced;
        Self { namespaced, name: NameRule::PathSegment, strict_finalizers: false, skips_common: false }
    }

    /// The same pass after another one over the same object.
    pub fn after(self, found: &Errors) -> Self {
        Self { skips_common: found.is_empty(), ..self }
    }

    /// What metadata must be.
    pub fn meta(self, object: &Object, errors: &mut Errors) {
        let path = || FieldPath::of("metadata");
        let generate = object.meta_str("generateName");
        if !generate.is_empty() {
            for wrong in self.name.check(generate, true) {
                errors.invalid(&path().child("generateName"), generate, wrong);
            }
        }
        let name = object.name();
        if name.is_empty() {
            errors.required(&path().child("name"), "name or generateName is required");
        } else {
            for wrong in self.name.check(name, false) {
                errors.invalid(&path().child("name"), name, wrong);
            }
        }
        let namespace = object.namespace();
        if !self.namespaced {
            if !namespace.is_empty() {
                errors.forbidden(&path().child("namespace"), "not allowed on this type");
            }
        } else if namespace.is_empty() {
            errors.required(&path().child("namespace"), "");
        } else {
            for wrong in names::dns1123_label(namespace) {
                errors.invalid(&path().child("namespace"), namespace, wrong);
            }
        }
        if object.generation() < 0 {
            errors.invalid(&path().child("generation"), object.generation(), "must be greater than or equal to 0");
        }
        if !self.skips_common {
            labels(object, errors);
            annotations(object, errors);
            owners(object, errors);
            finalizer_names(object, errors);
            managed_fields(object, errors);
        }
        self.finalizers(object, errors);
    }

    /// What may change of metadata.
    pub fn update(self, new: &Object, old: &Object, errors: &mut Errors) {
        let path = || FieldPath::of("metadata");
        if old.is_deleting() {
            let before = old.meta_strings("finalizers");
            let mut added: Vec<String> =
                new.meta_strings("finalizers").into_iter().filter(|f| !before.contains(f)).map(go::quote).collect();
            added.sort();
            if !added.is_empty() {
                let list = added.join(", ");
                errors.forbidden(
                    &path().child("finalizers"),
                    format!("no new finalizers can be added if the object is being deleted, found new finalizers []string{{{list}}}"),
                );
            }
        }
        if new.generation() < old.generation() {
            errors.invalid(&path().child("generation"), new.generation(), "must not be decremented");
        }
        for field in
            ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"]
        {
            let (now, before) = (meta_field(new, field), meta_field(old, field));
            if now != before {
                errors.invalid(&path().child(field), now.clone(), "field is immutable");
            }
        }
        if !self.skips_common {
            labels(new, errors);
            annotations(new, errors);
            owners(new, errors);
            managed_fields(new, errors);
        }
        self.finalizers(new, errors);
    }

    fn finalizers(self, object: &Object, errors: &mut Errors) {
        if !self.strict_finalizers {
            return;
        }
        let path = || FieldPath::of("metadata").child("finalizers");
        for (i, finalizer) in object.meta_strings("finalizers").into_iter().enumerate() {
            let standard = matches!(finalizer, pawl_deletion::ORPHAN | pawl_deletion::FOREGROUND | "kubernetes");
            if !finalizer.contains('/') && !standard {
                let detail = "name is neither a standard finalizer name nor is it fully qualified";
                errors.invalid(&path().index(i), finalizer, detail);
            }
        }
    }
}

/// What the metadata of something with the name of an object must be.
pub fn validate_whole(object: &Object, errors: &mut Errors) {
    let namespaced = !object.namespace().is_empty();
    let pass = Pass { namespaced, name: NameRule::PathSegment, strict_finalizers: true, skips_common: false };
    pass.meta(object, errors);
}

/// What the metadata of an object within another one must be, which may be of any kind; `path` is that of the metadata.
pub fn validate_embedded(object: &Object, path: &FieldPath, errors: &mut Errors) {
    let namespaced = !object.namespace().is_empty();
    let pass = Pass { namespaced, name: NameRule::PathSegment, strict_finalizers: false, skips_common: false };
    let mut found = Errors::new();
    pass.meta(object, &mut found);
    for mut error in found {
        // What is within another object need not have a name.
        if error.kind == pawl_meta::ErrorKind::Required {
            continue;
        }
        let rest = error.field.strip_prefix("metadata").unwrap_or_default();
        error.field = format!("{path}{rest}");
        errors.push(error);
    }
}

fn meta_field<'o>(object: &'o Object, field: &str) -> &'o Value {
    object.metadata().and_then(|m| m.get(field)).unwrap_or(&Value::Null)
}

/// Of owner references that are the same, one is enough; the client is told, in other words where it patched.
pub fn dedup_owners(cx: &Context, object: &mut Object, patched: bool) {
    let Some(Value::Array(owners)) = metadata_mut(object).get_mut("ownerReferences") else { return };
    let mut seen = HashSet::new();
    let is_new: Vec<bool> = owners.iter().map(|owner| seen.insert(owner)).collect();
    let mut repeated: Vec<String> = Vec::new();
    let mut is_new = is_new.into_iter();
    owners.retain(|owner| {
        let kept = is_new.next().unwrap_or(true);
        if !kept {
            repeated.extend(owner.get("uid").and_then(Value::as_str).map(str::to_owned));
        }
        kept
    });
    if !repeated.is_empty() {
        let when = if patched { " after mutating admission happens" } else { "" };
        cx.warn(format!(
            ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            repeated.join(", ")
        ));
    }
}

/// Takes away an explicit empty list of liens. Says whether there was one.
pub fn take_empty_liens(object: &mut Object) -> bool {
    let metadata = metadata_mut(object);
    let empty = metadata.get("liens").is_some_and(|l| l.as_array().is_none_or(Vec::is_empty));
    if empty {
        metadata.remove("liens");
    }
    empty
}

fn labels(object: &Object, errors: &mut Errors) {
    let path = || FieldPath::of("metadata").child("labels");
    for (key, value) in object.labels().into_iter().flatten() {
        for wrong in names::qualified_name(key) {
            errors.invalid(&path(), key.as_str(), wrong);
        }
        for wrong in names::label_value(value.as_str().unwrap_or_default()) {
            errors.invalid(&path(), value.clone(), wrong);
        }
    }
}

fn annotations(object: &Object, errors: &mut Errors) {
    let path = || FieldPath::of("metadata").child("annotations");
    let annotations = object.metadata().and_then(|m| m.get("annotations")).and_then(Value::as_object);
    let mut size = 0;
    for (key, value) in annotations.into_iter().flatten() {
        for wrong in names::qualified_name(&key.to_lowercase()) {
            errors.invalid(&path(), key.as_str(), wrong);
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > ANNOTATIONS_MAX {
        errors.too_long(&path(), "", ANNOTATIONS_MAX);
    }
}

fn owners(object: &Object, errors: &mut Errors) {
    let path = || FieldPath::of("metadata").child("ownerReferences");
    let Some(Value::Array(owners)) = object.metadata().and_then(|m| m.get("ownerReferences")) else { return };
    let mut controller: Option<String> = None;
    for owner in owners {
        let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
        let version = GroupVersion::parse(text("apiVersion")).unwrap_or_default();
        if version.version.is_empty() {
            errors.invalid(&path().child("apiVersion"), text("apiVersion"), "version must not be empty");
        }
        for field in ["kind", "name", "uid"] {
            if text(field).is_empty() {
                errors.invalid(&path().child(field), "", "must not be empty");
            }
        }
        if version.group.is_empty() && text("kind") == "Event" {
            let shown = shown_owners(std::slice::from_ref(owner));
            let shown = shown.trim_start_matches('[').trim_end_matches(']');
            errors.invalid_shown(&path(), shown, "/v1, Kind=Event is disallowed from being an owner");
        }
        if owner.get("controller").and_then(Value::as_bool) == Some(true) {
            let name = format!("{}/{}", text("kind"), text("name"));
            match &controller {
                Some(first) => errors.invalid_shown(
                    &path(),
                    shown_owners(owners),
                    format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {name}"
                    ),
                ),
                None => controller = Some(name),
            }
        }
    }
}

/// References as Go prints them: fields in the order of their declaration.
fn shown_owners(owners: &[Value]) -> String {
    let of = api_type("meta.v1.ObjectMeta").and_then(|meta| meta.at("ownerReferences"));
    let list = Value::Array(owners.to_vec());
    of.map_or_else(|| list.to_string(), |of| of.print(&list))
}

fn finalizer_names(object: &Object, errors: &mut Errors) {
    let path = || FieldPath::of("metadata").child("finalizers");
    let finalizers = object.meta_strings("finalizers");
    for finalizer in &finalizers {
        for wrong in names::qualified_name(finalizer) {
            errors.invalid(&path(), *finalizer, wrong);
        }
    }
    if finalizers.contains(&pawl_deletion::ORPHAN) && finalizers.contains(&pawl_deletion::FOREGROUND) {
        let list = finalizers.iter().map(|f| Value::from(*f)).collect();
        errors.invalid(&path(), Value::Array(list), "finalizer orphan and foregroundDeletion cannot be both set");
    }
}

fn managed_fields(object: &Object, errors: &mut Errors) {
    const MANAGER_MAX: usize = 128;
    const SUBRESOURCE_MAX: usize = 256;
    let path = || FieldPath::of("metadata").child("managedFields");
    let entries = object.metadata().and_then(|m| m.get("managedFields")).and_then(Value::as_array);
    for (i, entry) in entries.into_iter().flatten().enumerate() {
        let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
        if !matches!(text("operation"), "Apply" | "Update") {
            errors.invalid(&path().index(i).child("operation"), text("operation"), "must be `Apply` or `Update`");
        }
        if !matches!(text("fieldsType"), "" | "FieldsV1") {
            errors.invalid(&path().index(i).child("fieldsType"), text("fieldsType"), "must be `FieldsV1`");
        }
        if text("manager").len() > MANAGER_MAX {
            errors.too_long(&path().index(i).child("manager"), "", MANAGER_MAX);
        }
        if let Some((at, c)) = text("manager").chars().enumerate().find(|(_, c)| c.is_control()) {
            let detail = format!("invalid character U+{:04X} (at position {at})", c as u32);
            errors.invalid(&path().index(i).child("manager"), text("manager"), detail);
        }
        if text("subresource").len() > SUBRESOURCE_MAX {
            errors.too_long(&path().index(i).child("subresource"), "", SUBRESOURCE_MAX);
        }
    }
}
