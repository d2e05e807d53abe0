//! `/scale`: the one number of an object that autoscalers and people change most, under one shape for every kind.

use pawl_apply::scale::{Replicas, to_parent, to_scale};
use pawl_apply::{FieldSet, Typed, Writer, track_update};
use pawl_meta::object::{Meta, Object, metadata_mut};
use pawl_meta::{Errors, FieldPath, GroupKind, GroupResource, Status, go, time};
use pawl_schema::decode_value;
use serde_json::{Map, Value, json};

use crate::create::settle_namespace;
use crate::metadata::validate_whole;
use crate::patch::{PatchKind, apply_error, parse_intent, read_patch, report_patch};
use crate::update::{Mutation, Place, check_name, precondition_failed};
use crate::wire::api_type;
use crate::{ApiKind, Context, FieldValidation, Registry, Sent, Served, UpdateRequest};

const API_VERSION: &str = "autoscaling/v1";

/// A new Scale, or a patch of the present one.
pub enum ScaleChange<'a> {
    Replace(Sent<'a>),
    Patch { kind: PatchKind, body: &'a [u8], force: bool, validation: FieldValidation },
}

impl Registry {
    pub async fn get_scale(&self, served: &Served, namespace: &str, name: &str) -> Result<Object, Status> {
        let entry = self.get(served, namespace, name, None).await?;
        let object = entry.readable().map(|r| served.judged_object(r, entry.revision)).unwrap_or_default();
        if served.resource.facts.custom && replicas(served, &object).is_none() {
            let path = &served.resource.facts.scale.spec_replicas;
            return Err(Status::internal(format!("the spec replicas field \".{path}\" does not exist")));
        }
        Ok(scale_of(served, &object))
    }

    pub async fn update_scale(
        &self,
        cx: &Context,
        served: &Served,
        namespace: &str,
        name: &str,
        change: ScaleChange<'_>,
    ) -> Result<Object, Status> {
        let request = UpdateRequest::new((namespace, name), "scale", Mutation::Scale(change));
        let updated = self.update(cx, served, request).await?;
        let entry = &updated.entry;
        let object = entry.readable().map(|r| served.judged_object(r, entry.revision)).unwrap_or_default();
        Ok(scale_of(served, &object))
    }
}

fn replicas(served: &Served, object: &Object) -> Option<i64> {
    pawl_meta::object::at(object, &served.resource.facts.scale.spec_replicas)?.as_i64()
}

/// The Scale of an object.
fn scale_of(served: &Served, object: &Object) -> Object {
    let paths = &served.resource.facts.scale;
    let mut metadata = Map::new();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        metadata.extend(object.metadata().and_then(|m| m.get(field)).map(|v| (field.to_owned(), v.clone())));
    }
    let number = |path: &str| pawl_meta::object::at(object, path).and_then(Value::as_i64).unwrap_or(0);
    let mut spec = Map::new();
    let replicas = number(&paths.spec_replicas);
    if replicas != 0 {
        spec.insert("replicas".to_owned(), json!(replicas));
    }
    let mut status = Map::new();
    status.insert("replicas".to_owned(), json!(number(&paths.status_replicas)));
    let selector = paths.selector.as_deref().and_then(|path| pawl_meta::object::at(object, path));
    let selector = selector_text(selector);
    if !selector.is_empty() {
        status.insert("selector".to_owned(), json!(selector));
    }
    let mut scale = Object::new();
    scale.insert("kind".to_owned(), json!("Scale"));
    scale.insert("apiVersion".to_owned(), json!(API_VERSION));
    scale.insert("metadata".to_owned(), Value::Object(metadata));
    scale.insert("spec".to_owned(), Value::Object(spec));
    scale.insert("status".to_owned(), Value::Object(status));
    scale
}

/// The object after its Scale was changed.
pub(crate) fn changed(
    registry: &Registry,
    cx: &Context,
    served: &Served,
    old: &Object,
    change: &ScaleChange<'_>,
) -> Result<Object, Status> {
    let own_version = served.resource.group_version().to_string();
    let path: Vec<&str> = served.resource.facts.scale.spec_replicas.split('.').collect();
    let place = |_: &str| Replicas::At(&path);
    let owners = old.metadata().and_then(|m| m.get("managedFields"));
    let failed = |error| apply_error(served, error);
    let mut before = scale_of(served, old);
    if let Some(owners) = to_scale(owners, place).map_err(failed)? {
        metadata_mut(&mut before).insert("managedFields".to_owned(), owners);
    }
    let now = time::now();
    let writer = Writer { manager: &cx.manager, api_version: API_VERSION, subresource: "scale", time: &now };
    let typed = scale_type()?;
    let mut scale = match change {
        ScaleChange::Patch { kind: PatchKind::Apply, body, force, validation } => {
            let intent = parse_intent(cx, body, *validation)?;
            pawl_apply::apply(&typed, Some(&before), intent, &writer, *force, &FieldSet::new()).map_err(failed)?.object
        }
        change => {
            let mut scale = match change {
                ScaleChange::Replace(sent) => replaced(registry, cx, served, *sent)?,
                ScaleChange::Patch { kind, body, validation, .. } => {
                    patched(cx, &typed, &before, (*kind, body), *validation)?
                }
            };
            track_update(&typed, Some(&before), &mut scale, &writer, &FieldSet::new()).map_err(failed)?;
            scale
        }
    };
    check_name(&scale, old.name())?;
    check_conditions((cx, served, old.namespace()), change, &mut scale, old)?;
    let replicas = pawl_meta::object::at(&scale, "spec.replicas").and_then(Value::as_i64).unwrap_or(0);
    // What users defined says itself what is wrong with it.
    if !served.resource.facts.custom {
        check(&scale, replicas)?;
    }
    let scale_owners = metadata_mut(&mut scale).get("managedFields").cloned();
    let mut new = old.clone();
    set_replicas(&mut new, &path, replicas, served.resource.facts.custom);
    let metadata = metadata_mut(&mut new);
    match to_parent(owners, scale_owners.as_ref(), &own_version, place).map_err(failed)? {
        Some(owners) => metadata.insert("managedFields".to_owned(), owners),
        None => metadata.remove("managedFields"),
    };
    // A version in the Scale is a condition on the object.
    metadata.insert("resourceVersion".to_owned(), json!(scale.resource_version()));
    Ok(new)
}

/// A namespace and a uid in the Scale are conditions.
fn check_conditions(
    place: Place<'_>,
    change: &ScaleChange<'_>,
    scale: &mut Object,
    old: &Object,
) -> Result<(), Status> {
    let (_, served, namespace) = place;
    settle_namespace(served, namespace, scale)?;
    let (uid, found) = (scale.uid(), old.uid());
    if uid.is_empty() || uid == found {
        return Ok(());
    }
    let why = format!("UID in precondition: {uid}, UID in object meta: {found}");
    Err(match change {
        ScaleChange::Replace(_) => precondition_failed(place, old.name(), &why),
        ScaleChange::Patch { .. } => {
            let resource = format!("{}/scale", served.group_resource.resource);
            let below = GroupResource::new(served.group_resource.group.clone(), resource);
            Status::conflict(&below, old.name(), format!("Precondition failed: {why}"))
        }
    })
}

/// What a Scale must be.
fn check(scale: &Object, replicas: i64) -> Result<(), Status> {
    let mut errors = Errors::new();
    validate_whole(scale, &mut errors);
    if replicas < 0 {
        errors.invalid(&FieldPath::of("spec").child("replicas"), replicas, "must be greater than or equal to 0");
    }
    let kind = GroupKind { group: "autoscaling".to_owned(), kind: "Scale".to_owned() };
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid(&kind, scale.name(), &errors)) }
}

/// The Scale that a client sends whole. Below what users defined upstream knows no other kind at all.
fn replaced(registry: &Registry, cx: &Context, served: &Served, sent: Sent<'_>) -> Result<Object, Status> {
    const UNKNOWN: &str = "no kind is registered for the type v1.Scale in scheme \
                           \"k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781\"";
    let is_other = |status: &Status| status.message.contains(": unknown conversion");
    registry.decode_as(cx, &ApiKind::SCALE, sent).map_err(|status| match served.resource.facts.custom {
        true if is_other(&status) => Status::bad_request(UNKNOWN),
        _ => status,
    })
}

/// Writes the number to its place. Objects around it are made where users defined what they are.
fn set_replicas(object: &mut Object, path: &[&str], replicas: i64, make: bool) {
    let Some((last, outer)) = path.split_last() else { return };
    let inner = outer.iter().try_fold(object, |at, field| {
        if make {
            at.entry(*field).or_insert_with(|| json!({}));
        }
        at.get_mut(*field)?.as_object_mut()
    });
    if let Some(inner) = inner {
        inner.insert((*last).to_owned(), json!(replicas));
    }
}

/// The Scale with a patch in it.
fn patched(
    cx: &Context,
    typed: &Typed<'_>,
    before: &Object,
    (kind, body): (PatchKind, &[u8]),
    validation: FieldValidation,
) -> Result<Object, Status> {
    let (patch, found) = read_patch(kind, body)?;
    let document = Value::Object(before.clone());
    let value = patch.outcome(typed, document.clone())?;
    let shown = typed.of.print_patched(&value, &document);
    let wrong = |why: &str| {
        let mut errors = Errors::new();
        errors.invalid(&"patch", shown.as_str(), why);
        Status::invalid(&GroupKind::default(), "", &errors)
    };
    let decoded = decode_value(typed.of, value).map_err(|e| wrong(&e.to_string()))?;
    report_patch(cx, validation, &patch, found, decoded.findings, wrong)?;
    Ok(decoded.object)
}

fn scale_type() -> Result<Typed<'static>, Status> {
    api_type("autoscaling.v1.Scale").map(Typed::new).ok_or_else(|| Status::internal("no type for Scale"))
}

/// A selector as one line: `app=a,tier in (x,y)`.
pub(crate) fn selector_text(selector: Option<&Value>) -> String {
    let selector = match selector {
        Some(Value::Object(selector)) => selector,
        Some(Value::String(text)) => return text.clone(),
        _ => return String::new(),
    };
    let nested = selector.contains_key("matchLabels") || selector.contains_key("matchExpressions");
    let labels = if nested { selector.get("matchLabels").and_then(Value::as_object) } else { Some(selector) };
    let mut terms: Vec<(String, String)> = labels
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.clone(), format!("{key}={}", value.as_str().unwrap_or_default())))
        .collect();
    for expression in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
        let key = expression.get("key").and_then(Value::as_str).unwrap_or_default();
        let mut values: Vec<String> =
            expression.get("values").and_then(Value::as_array).into_iter().flatten().map(go::print_map).collect();
        values.sort();
        let values = values.join(",");
        let text = match expression.get("operator").and_then(Value::as_str).unwrap_or_default() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        };
        terms.push((key.to_owned(), text));
    }
    terms.sort();
    terms.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
}
