//! `/scale`: the one number of an object that autoscalers and people change most, under one shape for every kind.

use pawl_apply::scale::{Replicas, to_parent, to_scale};
use pawl_apply::{FieldSet, Typed, Writer, json_patch, merge_patch, strategic, track_update};
use pawl_meta::object::{Meta, Object, metadata_mut};
use pawl_meta::{Errors, FieldPath, GroupKind, GroupVersion, Status, go, time};
use pawl_schema::{Finding, decode_json, decode_value, yaml};
use serde_json::{Map, Value, json};

use crate::decoding::{Wanted, report};
use crate::patch::{PatchKind, apply_error, refused};
use crate::update::check_name;
use crate::wire::api_type;
use crate::{Context, Encoding, FieldValidation, Registry, Served, UpdateRequest};

const API_VERSION: &str = "autoscaling/v1";

/// What upstream says of a body that is no Scale, below what users defined.
const NO_SCALE: &str = "no kind is registered for the type v1.Scale in scheme \"k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781\"";

/// A new Scale, or a patch of the present one.
pub enum ScaleChange<'a> {
    Replace { encoding: Encoding, body: &'a [u8], validation: FieldValidation },
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
        let request = UpdateRequest {
            namespace,
            name,
            subresource: "scale",
            creates: false,
            create_refused: None,
            tracked: true,
            replaces: false,
            change: Box::new(|old| match old {
                Some(old) => changed(self, cx, served, old, &change),
                None => Err(Status::not_found(&served.resource.group_resource(), name)),
            }),
        };
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
fn changed(
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
        ScaleChange::Patch { kind: PatchKind::Apply, body, force, .. } => {
            let intent = yaml::parse(&String::from_utf8_lossy(body)).map_err(Status::bad_request)?.value;
            let Value::Object(intent) = intent else {
                return Err(Status::bad_request("error decoding YAML: not an object"));
            };
            pawl_apply::apply(&typed, Some(&before), intent, &writer, *force, &FieldSet::new()).map_err(failed)?.object
        }
        change => {
            let mut scale = decode(cx, &typed, &before, change)?;
            if matches!(change, ScaleChange::Replace { .. }) {
                let text = |field: &str| scale.get(field).and_then(Value::as_str).unwrap_or_default();
                let wanted = Wanted { version: GroupVersion::parse(API_VERSION).unwrap_or_default(), kind: "Scale" };
                let checked = registry.check_kind(&wanted, text("apiVersion"), text("kind"));
                checked.map_err(|wrong| match served.resource.facts.custom {
                    true => Status::bad_request(NO_SCALE),
                    false => wrong.into_status(&Status::bad_request),
                })?;
            }
            track_update(&typed, Some(&before), &mut scale, &writer, &FieldSet::new()).map_err(failed)?;
            scale
        }
    };
    check_name(&scale, old.name())?;
    let replicas = pawl_meta::object::at(&scale, "spec.replicas").and_then(Value::as_i64).unwrap_or(0);
    // What users defined says itself what is wrong with it.
    if replicas < 0 && !served.resource.facts.custom {
        let mut errors = Errors::new();
        errors.invalid(&FieldPath::of("spec").child("replicas"), replicas, "must be greater than or equal to 0");
        let kind = GroupKind { group: "autoscaling".to_owned(), kind: "Scale".to_owned() };
        return Err(Status::invalid(&kind, old.name(), &errors));
    }
    let scale_owners = metadata_mut(&mut scale).get("managedFields").cloned();
    let mut new = old.clone();
    set_replicas(&mut new, &path, replicas);
    let metadata = metadata_mut(&mut new);
    match to_parent(owners, scale_owners.as_ref(), &own_version, place).map_err(failed)? {
        Some(owners) => metadata.insert("managedFields".to_owned(), owners),
        None => metadata.remove("managedFields"),
    };
    // A version in the Scale is a condition on the object.
    metadata.insert("resourceVersion".to_owned(), json!(scale.resource_version()));
    Ok(new)
}

/// Writes the number to its place, where the objects around it are.
fn set_replicas(object: &mut Object, path: &[&str], replicas: i64) {
    let Some((last, outer)) = path.split_last() else { return };
    let inner = outer.iter().try_fold(object, |at, field| at.get_mut(*field)?.as_object_mut());
    if let Some(inner) = inner {
        inner.insert((*last).to_owned(), json!(replicas));
    }
}

fn decode(cx: &Context, typed: &Typed<'_>, before: &Object, change: &ScaleChange<'_>) -> Result<Object, Status> {
    let document = || Value::Object(before.clone());
    let (value, validation) = match change {
        ScaleChange::Replace { encoding: Encoding::Protobuf, body, .. } => {
            let decoded =
                pawl_protobuf::open(body).and_then(|envelope| crate::protobuf().decode(typed.of, envelope.raw));
            return decoded.map(|d| d.object).map_err(|e| Status::bad_request(e.to_string()));
        }
        ScaleChange::Replace { encoding, body, validation } => {
            let decoded = match encoding {
                Encoding::Yaml => {
                    let parsed = yaml::parse(&String::from_utf8_lossy(body)).map_err(Status::bad_request)?;
                    decode_value(typed.of, parsed.value)
                }
                _ => decode_json(typed.of, body),
            };
            let decoded = decoded.map_err(|e| Status::bad_request(e.to_string()))?;
            let refuse = |texts: &str| {
                let why = format!("strict decoding error: {texts}");
                Status::bad_request(format!("Scale in version \"v1\" cannot be handled as a Scale: {why}"))
            };
            report(cx, *validation, messages(&decoded.findings), &decoded.findings, refuse)?;
            return Ok(decoded.object);
        }
        ScaleChange::Patch { kind: PatchKind::Json, body, validation, .. } => {
            (json_patch::apply(document(), body).map_err(refused)?, validation)
        }
        ScaleChange::Patch { kind, body, validation, .. } => {
            let patch: Value = serde_json::from_slice(body).map_err(|_| {
                Status::bad_request(format!("error decoding patch: {}", pawl_schema::syntax_error(body)))
            })?;
            let patched = match kind {
                PatchKind::Strategic => strategic::apply(typed, document(), patch).map_err(refused)?,
                _ => merge_patch::apply(document(), patch),
            };
            (patched, validation)
        }
    };
    let shown = typed.of.print_patched(&value, &document());
    let wrong = |why: &str| {
        let mut errors = Errors::new();
        errors.invalid(&"patch", shown.as_str(), why);
        Status::invalid(&GroupKind::default(), "", &errors)
    };
    let decoded = decode_value(typed.of, value).map_err(|e| wrong(&e.to_string()))?;
    let texts = messages(&decoded.findings);
    report(cx, *validation, texts, &decoded.findings, |texts| wrong(&format!("strict decoding error: {texts}")))?;
    Ok(decoded.object)
}

fn messages(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(Finding::message).collect()
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
