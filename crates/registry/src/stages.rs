//! The stages of a write that depend on the kind: defaults, preparation, validation, ownership of fields.

use pawl_admission::{Attributes, Operation};
use pawl_apply::Writer;
use pawl_kinds::{Findings, Mark, MetadataPass, Prepare, Write};
use pawl_meta::object::{Object, metadata_mut};
use pawl_meta::{Errors, Status, time};
use serde_json::{Map, Value, json};

use crate::create::settle_namespace;
use crate::metadata::Pass;
use crate::patch::{reset_fields, typed};
use crate::{Context, Registry, Served};

/// The annotation of the audit log that names what is wrong with an object and was let pass.
const RATCHETED: &str = "apiextensions.k8s.io/ratcheted";

impl Registry {
    /// Notes who owns which fields. Of an object that cannot be told apart by its fields (list items without their keys)
    /// nobody owns any.
    pub(crate) fn track(
        &self,
        cx: &Context,
        served: &Served,
        subresource: &str,
        old: Option<&Object>,
        new: &mut Object,
    ) {
        let now = time::now();
        let api_version = served.resource.group_version().to_string();
        let writer = Writer { manager: &cx.manager, api_version: &api_version, subresource, time: &now };
        let reset = reset_fields(served, subresource);
        if let Err(error) = pawl_apply::track_update(&typed(served), old, new, &writer, &reset) {
            tracing::debug!(%error, kind = served.resource.facts.kind, "owners of fields cannot be told");
            metadata_mut(new).remove("managedFields");
        }
    }

    /// Notes where an object that is answered and not stored was sent to, and who sent it.
    pub fn settle_review(
        &self,
        cx: &Context,
        served: &Served,
        namespace: &str,
        object: &mut Object,
    ) -> Result<(), Status> {
        settle_namespace(served, namespace, object)?;
        self.track(cx, served, "", None, object);
        Ok(())
    }

    /// Lets admission see what is posted below an object.
    pub(crate) async fn admit_below(
        &self,
        cx: &Context,
        served: &Served,
        (subresource, kind): (&str, &str),
        (namespace, name): (&str, &str),
        object: &mut Object,
    ) -> Result<(), Status> {
        let attributes =
            Attributes { kind, ..self.attributes(cx, served, Operation::Create, (subresource, namespace, name), None) };
        self.settings.admission.mutate(&attributes, object).await?;
        self.settings.admission.validate(&attributes, Some(object)).await
    }

    /// The error is what is wrong with an object that its type could not see.
    pub(crate) fn set_defaults(&self, served: &Served, object: &mut Object) -> Result<(), String> {
        served.resource.behaviour.set_defaults(object)?;
        served.settle_form(object);
        Ok(())
    }

    pub(crate) fn prepare_kind_create(&self, cx: &Context, served: &Served, object: &mut Object) {
        served.resource.prepare_create(object, &prepare(cx));
    }

    pub(crate) fn prepare_kind_update(
        &self,
        cx: &Context,
        served: &Served,
        subresource: &str,
        new: &mut Object,
        old: &Object,
    ) {
        served.resource.prepare_update(subresource, new, old, &prepare(cx));
    }

    pub(crate) fn prepare_kind_deletion(&self, served: &Served, object: &mut Object) {
        if served.resource.facts.deferred {
            let status = object.entry("status").or_insert_with(|| json!({}));
            if let Value::Object(status) = status {
                status.insert("phase".to_owned(), json!("Terminating"));
            }
        }
    }

    pub(crate) fn validate_create(&self, cx: &Context, served: &Served, object: &Object) -> Findings {
        let resource = &served.resource;
        let mut found = Findings::default();
        let mut metadata = |_: MetadataPass, errors: &mut Errors| {
            Pass::of_kind(resource).meta(object, errors);
            pawl_deletion::validate_liens(object, None, self.settings.liens, errors);
        };
        resource.behaviour.validate(Write::CREATE, object, &mut metadata, &mut found);
        if found.errors.is_empty() {
            Pass::common(resource).meta(object, &mut found.errors);
        }
        if found.errors.is_empty() {
            resource.behaviour.warnings(Write::CREATE, object).into_iter().for_each(|text| cx.warn(text));
        }
        tell(cx, &mut found);
        found
    }

    pub(crate) fn validate_update(
        &self,
        cx: &Context,
        served: &Served,
        subresource: &str,
        (new, old): (&Object, &Object),
        valid_before: Option<Mark>,
    ) -> Findings {
        let resource = &served.resource;
        let mut found = Findings::default();
        let errors = &mut found.errors;
        Pass::common(resource).meta(new, errors);
        // A later pass repeats what is wrong, as clients know it; what is right needs to be looked at once.
        let common = Pass::common(resource).after(errors);
        let of_kind = Pass::of_kind(resource).after(errors);
        common.update(new, old, errors);
        pawl_deletion::validate_liens(new, Some(old), self.settings.liens, errors);
        let mut metadata = |pass: MetadataPass, errors: &mut Errors| match pass {
            MetadataPass::Meta => of_kind.meta(new, errors),
            MetadataPass::Update => of_kind.update(new, old, errors),
        };
        let write = Write { valid_before, dry_run: cx.dry_run, ..Write::update(subresource, old) };
        resource.behaviour.validate(write, new, &mut metadata, &mut found);
        if found.errors.is_empty() {
            resource.behaviour.warnings(write, new).into_iter().for_each(|text| cx.warn(text));
        }
        tell(cx, &mut found);
        found
    }

    /// How errors name the kind.
    pub(crate) fn invalid(&self, served: &Served, name: &str, errors: &Errors) -> Status {
        Status::invalid(&served.resource.error_kind(), name, errors)
    }
}

/// Tells the client what it should know whatever becomes of the write, and the audit log what was let pass.
fn tell(cx: &Context, found: &mut Findings) {
    std::mem::take(&mut found.warnings).into_iter().for_each(|text| cx.warn(text));
    if found.errors.is_empty() {
        for passed in &found.let_pass {
            cx.note(RATCHETED, &format!("{} ({}): {}", passed.path, passed.rule, passed.detail));
        }
    }
}

fn prepare(cx: &Context) -> Prepare {
    let extra: Map<String, Value> = cx.user.extra.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
    Prepare {
        user: cx.user.name.clone(),
        uid: cx.user.uid.clone(),
        groups: cx.user.groups.clone(),
        extra,
        now: time::now(),
    }
}
