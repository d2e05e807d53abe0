//! Patches: what they say is worked out here, then the result goes the way of every update.

use std::sync::LazyLock;

use pawl_apply::{FieldSet, PatchError, Typed, Writer, json_patch, merge_patch, strategic};
use pawl_meta::object::{Meta, Object, metadata_mut};
use pawl_meta::{Cause, Details, Errors, GroupKind, GroupVersion, Status, go, time};
use pawl_schema::{DecodeError, Finding, ObjectRef, Type, decode_json, decode_value, decode_value_of, yaml};
use serde_json::{Map, Value};

use crate::decoding::{FieldValidation, in_order, report, warn};
use crate::update::{Mutation, PatchChange, nameless};
use crate::{Context, Registry, Served, UpdateRequest, Updated};

/// The kinds of patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    Json,
    Merge,
    Strategic,
    Apply,
}

pub struct PatchRequest<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
    pub subresource: &'a str,
    pub kind: PatchKind,
    pub body: &'a [u8],
    pub validation: FieldValidation,
    /// Takes over fields that others own.
    pub force: bool,
    /// Why the user may not create the object, when that is so.
    pub create_refused: Option<Status>,
}

/// Unknown fields of a JSON patch beyond so many are not told.
const MOST_FINDINGS: usize = 100;

/// A patch that has been read.
pub(crate) enum Patch {
    Json(json_patch::Patch),
    Merge(Value),
    Strategic(Value),
    Apply(Object),
}

impl Registry {
    pub async fn patch(&self, cx: &Context, served: &Served, request: PatchRequest<'_>) -> Result<Updated, Status> {
        let apply = request.kind == PatchKind::Apply;
        let (patch, found) = match apply {
            true => (Patch::Apply(read_intent(cx, served, &request)?), Vec::new()),
            false => read_patch(request.kind, request.body)?,
        };
        let update = UpdateRequest {
            guards: Vec::new(),
            namespace: request.namespace,
            name: request.name,
            subresource: request.subresource,
            creates: apply && request.subresource.is_empty(),
            create_refused: request.create_refused.clone(),
            change: Mutation::Patch(PatchChange { request: &request, patch, found }),
        };
        self.update(cx, served, update).await
    }

    /// What a patch makes of an object, or of nothing.
    pub(crate) fn patch_object(
        &self,
        cx: &Context,
        served: &Served,
        change: &PatchChange<'_>,
        old: Option<&Object>,
    ) -> Result<Object, Status> {
        let PatchChange { request, patch, found } = change;
        match patch {
            Patch::Apply(intent) => self.applied(cx, served, request, intent.clone(), old),
            patch => self.patched(cx, served, request, patch, found, old),
        }
    }

    /// The object with a patch in it, decoded anew: what does not belong there is found.
    fn patched(
        &self,
        cx: &Context,
        served: &Served,
        request: &PatchRequest<'_>,
        patch: &Patch,
        found: &[Finding],
        old: Option<&Object>,
    ) -> Result<Object, Status> {
        let Some(old) = old else {
            return Err(Status::not_found(&served.resource.group_resource(), request.name));
        };
        let mut patched = patch.outcome(&typed(served), Value::Object(old.clone()))?;
        // Only errors show it, and most patches are right: then it is worked out once more.
        let shown = || match patch {
            Patch::Strategic(patch) => go::print_map(&without_unmatched_nulls(patch.clone(), Some(old))),
            _ => {
                let before = Value::Object(old.clone());
                let again = patch.outcome(&typed(served), before.clone()).unwrap_or_default();
                match served.resource.facts.custom {
                    true => go::json(&again),
                    false => served.resource.object_type().as_ref().print_patched(&again, &before),
                }
            }
        };
        let wrong = |why: &str| {
            let mut errors = Errors::new();
            errors.invalid(&"patch", shown(), why);
            Status::invalid(&GroupKind::default(), "", &errors)
        };
        let typing = self.typing(served, request, &mut patched)?;
        if matches!(patch, Patch::Strategic(_))
            && let Some(why) = typing.of.as_ref().conversion_error(&patched)
        {
            return Err(wrong(&why));
        }
        let decoded = decode_value_of(typing.of.as_ref(), patched, request.body).map_err(|error| match error {
            DecodeError::Syntax(why) | DecodeError::Type(why) => wrong(&why),
            DecodeError::TooLarge(..) => Status::too_large(error.to_string()),
        })?;
        if let Some(why) = typing.refusal {
            return Err(wrong(&why));
        }
        let mut decoded = decoded;
        if served.resource.facts.custom {
            in_order(&mut decoded.findings);
        }
        report_patch(cx, request.validation, patch, found.to_vec(), decoded.findings, wrong)?;
        let mut object = served.in_this_form(decoded.object);
        if let Some(former) = &typing.former {
            set_former_defaults(former, &mut object);
        }
        self.set_defaults(served, &mut object).map_err(|why| wrong(&why))?;
        Ok(object)
    }

    /// What apply makes of the object, or of nothing.
    fn applied(
        &self,
        cx: &Context,
        served: &Served,
        request: &PatchRequest<'_>,
        intent: Object,
        old: Option<&Object>,
    ) -> Result<Object, Status> {
        if old.is_none() && !intent.uid().is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {}, and no existing object was found",
                intent.uid()
            );
            return Err(Status::conflict(&served.resource.group_resource(), request.name, why));
        }
        let now = time::now();
        let api_version = served.resource.group_version().to_string();
        let writer =
            Writer { manager: &cx.manager, api_version: &api_version, subresource: request.subresource, time: &now };
        let reset = reset_fields(served, request.subresource);
        // What is there has its name already.
        let is_nameless = old.is_none() && intent.name().is_empty();
        let subject = pawl_apply::subject(&intent);
        let applied = pawl_apply::apply(&typed(served), old, intent, &writer, request.force, &reset)
            .map_err(|error| apply_error(served, error))?;
        if is_nameless {
            return Err(nameless(request.name));
        }
        let (of, mut made) = (served.resource.object_type().as_ref(), applied.object);
        // Written a moment ago, by ourselves: there is nothing to find in it.
        let owners = metadata_mut(&mut made).remove("managedFields");
        let made = Value::Object(made);
        if !served.resource.facts.custom
            && let Some(why) = of.conversion_error(&made)
        {
            return Err(Status::plain_error(format!(
                "failed to convert new object ({subject}) to proper version: unable to convert unstructured object to \
                 {api_version}, Kind={}: {why}",
                served.resource.facts.kind
            )));
        }
        let decoded = decode_value(of, made).map_err(|error| Status::plain_error(error.to_string()))?;
        let mut object = decoded.object;
        let metadata = metadata_mut(&mut object);
        metadata.extend(owners.map(|owners| ("managedFields".to_owned(), owners)));
        if old.is_none() {
            metadata.remove("resourceVersion");
        }
        served.resource.behaviour.set_defaults_of_applied(&mut object).map_err(Status::plain_error)?;
        served.settle_form(&mut object);
        Ok(object)
    }

    /// Finds out what a patched document says it is. A strategic merge patch has no say in this.
    fn typing(&self, served: &Served, request: &PatchRequest<'_>, patched: &mut Value) -> Result<Typing, Status> {
        let (expected, wanted) = (served.resource.group_version(), &served.resource.facts.kind);
        let of = || served.resource.object_type().clone();
        let own = |refusal| Ok(Typing { of: of(), refusal, former: None });
        let Some(document) = patched.as_object_mut() else { return own(None) };
        let text = |field: &str| match document.get(field) {
            None | Some(Value::Null) => Some(""),
            Some(value) => value.as_str(),
        };
        let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else {
            // No text: decoding says so.
            return own(None);
        };
        if request.kind == PatchKind::Strategic {
            name_kind(document, served);
            return own(None);
        }
        if api_version.is_empty() {
            return Err(nameless(request.name));
        }
        let kind = if kind.is_empty() { wanted.as_str() } else { kind };
        let Some(given) = GroupVersion::parse(api_version) else {
            return own(Some(format!("unexpected GroupVersion string: {api_version}")));
        };
        let table = self.table();
        let other = table.by_kind(&given.group, &given.version, kind).map(|other| other.resource.object_type().clone());
        let forms = served.resource.behaviour.forms();
        let is_form = kind == wanted.as_str() && forms.is_some_and(|forms| forms.type_of(api_version).is_some());
        let is_same = kind == wanted.as_str() && (given == expected || is_former_version(&given, &expected));
        let typing = match other {
            Some(of) if is_form => {
                document.insert("kind".to_owned(), wanted.as_str().into());
                return Ok(Typing { of, refusal: None, former: None });
            }
            _ if is_same => Ok(Typing { of: of(), refusal: None, former: (given != expected).then_some(given) }),
            Some(of) => {
                let refusal = Some(self.why_not(&served.wanted(), &given, kind));
                Ok(Typing { of, refusal, former: None })
            }
            None => own(Some(self.why_not(&served.wanted(), &given, kind))),
        };
        name_kind(document, served);
        typing
    }
}

fn name_kind(document: &mut Object, served: &Served) {
    document.insert("apiVersion".to_owned(), served.api_version.as_str().into());
    document.insert("kind".to_owned(), served.resource.facts.kind.as_str().into());
}

/// What a patched document is decoded as.
struct Typing {
    of: Type,
    /// Why it is not what it should be.
    refusal: Option<String>,
    /// The version that it names, which is served no longer.
    former: Option<GroupVersion>,
}

/// The defaults that a version had when it was served and that its successor has not: labels come from the template.
fn set_former_defaults(former: &GroupVersion, object: &mut Object) {
    let labels = pawl_meta::object::at(object, "spec.template.metadata.labels")
        .filter(|_| former.group == "apps" && former.version == "v1beta1" && object.labels().is_none_or(Map::is_empty));
    if let Some(labels) = labels.cloned() {
        metadata_mut(object).insert("labels".to_owned(), labels);
    }
}

/// Versions that are no longer served and differ from what is served in nothing but their name and some defaults: a patch
/// may name them.
pub(crate) fn is_former_version(given: &GroupVersion, expected: &GroupVersion) -> bool {
    const FORMER: [(&str, &[&str]); 16] = [
        ("authentication.k8s.io", &["v1alpha1", "v1beta1"]),
        ("authorization.k8s.io", &["v1beta1"]),
        ("admissionregistration.k8s.io", &["v1alpha1", "v1beta1"]),
        ("apps", &["v1beta1", "v1beta2"]),
        ("batch", &["v1beta1"]),
        ("certificates.k8s.io", &["v1beta1"]),
        ("coordination.k8s.io", &["v1beta1"]),
        ("discovery.k8s.io", &["v1beta1"]),
        ("flowcontrol.apiserver.k8s.io", &["v1beta1", "v1beta2", "v1beta3"]),
        ("networking.k8s.io", &["v1beta1"]),
        ("node.k8s.io", &["v1alpha1", "v1beta1"]),
        ("policy", &["v1beta1"]),
        ("rbac.authorization.k8s.io", &["v1alpha1", "v1beta1"]),
        ("resource.k8s.io", &["v1alpha3", "v1beta1", "v1beta2"]),
        ("scheduling.k8s.io", &["v1beta1"]),
        ("storage.k8s.io", &["v1alpha1", "v1beta1"]),
    ];
    let is_former = |(group, versions): &(&str, &[&str])| *group == given.group && versions.contains(&&*given.version);
    given.group == expected.group && FORMER.iter().any(is_former)
}

impl Patch {
    /// What a patch makes of a document.
    pub(crate) fn outcome(&self, typed: &Typed<'_>, document: Value) -> Result<Value, Status> {
        match self {
            Self::Json(patch) => patch.clone().apply(document).map_err(refused),
            Self::Merge(patch) => Ok(merge_patch::apply(document, patch.clone())),
            Self::Strategic(patch) => {
                let mut outcome = strategic::apply(typed, document, patch.clone()).map_err(refused)?;
                // Nothing is merged with an empty list; of liens it says that they should go, as everywhere.
                if patch.pointer("/metadata/liens").and_then(Value::as_array).is_some_and(Vec::is_empty)
                    && let Some(Value::Object(metadata)) = outcome.get_mut("metadata")
                {
                    metadata.insert("liens".to_owned(), Value::Array(Vec::new()));
                }
                Ok(outcome)
            }
            Self::Apply(_) => Ok(document),
        }
    }
}

/// Tells or refuses what is odd about a patch (`found`) and about what came of it.
pub(crate) fn report_patch(
    cx: &Context,
    validation: FieldValidation,
    patch: &Patch,
    mut found: Vec<Finding>,
    findings: Vec<Finding>,
    wrong: impl Fn(&str) -> Status,
) -> Result<(), Status> {
    let of_patch = |finding: &Finding| match patch {
        Patch::Json(_) => format!("json patch {}", finding.message()),
        _ => finding.message(),
    };
    let texts: Vec<String> = found.iter().map(of_patch).chain(findings.iter().map(Finding::message)).collect();
    found.extend(findings);
    report(cx, validation, texts, &found, |texts| {
        let mut status = wrong(&format!("strict decoding error: {texts}"));
        status.details = None;
        status
    })
}

/// Reads a patch that is not applied, and what is odd about its text.
pub(crate) fn read_patch(kind: PatchKind, body: &[u8]) -> Result<(Patch, Vec<Finding>), Status> {
    let findings = match decode_json(ANY.as_ref(), body) {
        Ok(decoded) => Ok(decoded.findings),
        Err(error @ DecodeError::TooLarge(..)) => return Err(Status::too_large(error.to_string())),
        // A JSON patch is a list, and says itself what is wrong with it.
        Err(_) if kind == PatchKind::Json => Ok(Vec::new()),
        Err(error) => Err(error),
    };
    if kind == PatchKind::Json {
        let mut findings = findings.unwrap_or_default();
        let patch = json_patch::Patch::decode(body).map_err(refused)?;
        let unknown = patch.unknown_fields().into_iter().take(MOST_FINDINGS);
        findings.extend(unknown.map(|path| Finding::Unknown { path, suggestion: None }));
        return Ok((Patch::Json(patch), findings));
    }
    // Upstream words the same errors in two ways.
    let prefix = if kind == PatchKind::Merge { "error decoding patch: " } else { "" };
    let findings = findings.map_err(|error| Status::bad_request(format!("{prefix}{error}")))?;
    // Only what is odd about it was kept: the value itself is read as it stands.
    let value = match pawl_schema::read_json(body) {
        Ok(value @ Value::Object(_)) => value,
        Ok(Value::Null) if kind == PatchKind::Merge => return Err(Status::bad_request("Invalid JSON Patch")),
        Ok(Value::Null) => Value::Object(Object::new()),
        Ok(other) => {
            return Err(Status::bad_request(format!(
                "{prefix}json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                go::json_kind(&other)
            )));
        }
        Err(why) => return Err(Status::bad_request(format!("{prefix}{why}"))),
    };
    let patch = if kind == PatchKind::Merge { Patch::Merge(value) } else { Patch::Strategic(in_whole_numbers(value)) };
    Ok((patch, findings))
}

/// A patch as upstream shows it once it was merged: what has no counterpart has lost its nulls.
fn without_unmatched_nulls(patch: Value, original: Option<&Object>) -> Value {
    match (patch, original) {
        (Value::Object(patch), Some(original)) => {
            let shown = patch.into_iter().map(|(key, value)| {
                let value = match (original.get(&key), value) {
                    (Some(Value::Object(inner)), value @ Value::Object(_)) => {
                        without_unmatched_nulls(value, Some(inner))
                    }
                    (Some(was), value) if go::json_kind(was) == go::json_kind(&value) => value,
                    (_, value) => without_unmatched_nulls(value, None),
                };
                (key, value)
            });
            Value::Object(shown.collect())
        }
        (Value::Object(patch), None) => {
            let left = patch.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(left.map(|(key, value)| (key, without_unmatched_nulls(value, None))).collect())
        }
        (Value::Array(items), None) => items.into_iter().map(|item| without_unmatched_nulls(item, None)).collect(),
        (other, _) => other,
    }
}

/// Where upstream converts instead of decoding, a float without a fraction is a whole number.
fn in_whole_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => go::json_float(number.as_f64().unwrap_or_default()),
        Value::Array(items) => items.into_iter().map(in_whole_numbers).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, in_whole_numbers(value))).collect(),
        other => other,
    }
}

/// Reads the text of what a client wants to see applied.
pub(crate) fn parse_intent(cx: &Context, body: &[u8], validation: FieldValidation) -> Result<Object, Status> {
    let decoding = |what: &str, why: &str| Status::bad_request(format!("error {what} YAML: {why}"));
    let parsed =
        yaml::read(body).map_err(|why| decoding("decoding", &format!("error converting YAML to JSON: {why}")))?;
    if !parsed.duplicates.is_empty() {
        match validation {
            FieldValidation::Ignore => {}
            FieldValidation::Warn => warn(cx, parsed.duplicates.clone()),
            FieldValidation::Strict => {
                let list = parsed.duplicates.join("\n  ");
                let why = format!("error converting YAML to JSON: yaml: unmarshal errors:\n  {list}");
                return Err(decoding("strict decoding", &why));
            }
        }
    }
    match parsed.value {
        Value::Object(object) => Ok(object),
        Value::Null => Ok(Object::new()),
        other => Err(decoding(
            "decoding",
            &format!(
                "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                go::json_kind(&other)
            ),
        )),
    }
}

/// Reads the object that a client wants to see applied.
fn read_intent(cx: &Context, served: &Served, request: &PatchRequest<'_>) -> Result<Object, Status> {
    let intent = parse_intent(cx, request.body, request.validation)?;
    let field = |name: &str| intent.get(name).and_then(Value::as_str).unwrap_or_default();
    let version = GroupVersion::parse(field("apiVersion")).unwrap_or_default();
    let facts = &served.resource.facts;
    if version != served.resource.group_version() || field("kind") != facts.kind {
        return Err(Status::bad_request(format!(
            "invalid object type: {}/{}, Kind={}",
            version.group,
            version.version,
            field("kind")
        )));
    }
    Ok(intent)
}

/// What a resource looks like to apply.
pub(crate) fn typed(served: &Served) -> Typed<'_> {
    Typed::new(served.resource.object_type().as_ref()).with_versions(served)
}

/// Fields that a write through this way cannot change.
pub(crate) fn reset_fields(served: &Served, subresource: &str) -> FieldSet<'static> {
    let facts = &served.resource.facts;
    if subresource.is_empty() {
        let fields = facts.status.iter().chain(&facts.unowned).map(String::as_str);
        return FieldSet::of_fields(fields.collect::<Vec<_>>()).into_owned();
    }
    let unowned = served.resource.subresource(subresource).map(|sub| sub.unowned.clone()).unwrap_or_default();
    let owned = served.resource.owned_fields(subresource);
    let is_owned = |name: &str| match owned {
        Some(owned) => owned.iter().any(|field| field == name),
        None => facts.status.iter().any(|status| status == name),
    };
    let fields = served.resource.object_type().as_ref().object().into_iter().flat_map(ObjectRef::fields);
    let fields = fields.map(|field| &*field.get().name);
    let paths = fields.filter(|name| !is_owned(name) && !matches!(*name, "metadata" | "kind" | "apiVersion"));
    let paths = paths.map(str::to_owned);
    // Nobody comes to own through a subresource what it leaves as it was.
    let kept: &[String] = if subresource == "status" { &facts.status_keeps } else { &[] };
    let metadata = kept.iter().map(|field| match field.as_str() {
        "*" => "metadata".to_owned(),
        field => format!("metadata.{field}"),
    });
    let all: Vec<String> = paths.chain(metadata).chain(unowned).chain(["metadata.liens".to_owned()]).collect();
    FieldSet::of_fields(all.iter().map(String::as_str)).into_owned()
}

pub(crate) fn apply_error(served: &Served, error: pawl_apply::Error) -> Status {
    let message = error.to_string();
    match error {
        pawl_apply::Error::Conflicts(conflicts) => {
            let causes = conflicts.0.iter().map(|conflict| Cause {
                reason: "FieldManagerConflict".to_owned(),
                message: conflict.cause(),
                field: conflict.path.clone(),
            });
            Status::new(409, "Conflict", message)
                .with_details(Details { causes: causes.collect(), ..Details::default() })
        }
        pawl_apply::Error::ManagedFieldsSet => Status::bad_request(message),
        _ => {
            tracing::debug!(resource = %served.stored.group_resource, %message, "apply failed");
            Status::plain_error(message)
        }
    }
}

pub(crate) fn refused(error: PatchError) -> Status {
    match error {
        PatchError::Malformed(why) => Status::bad_request(why),
        PatchError::TooLarge(why) => Status::too_large(why),
        PatchError::Inapplicable(_) => {
            Status::new(422, "Invalid", "the server rejected our request due to an error in our request")
                .with_details(Details::default())
        }
        PatchError::Failed(why) => Status::plain_error(why),
    }
}

/// A type of which nothing is known: only duplicates are found in it.
static ANY: LazyLock<Type> = LazyLock::new(|| Type::any("map[string]interface {}"));
