//! SubjectAccessReview, LocalSubjectAccessReview, SelfSubjectAccessReview and SelfSubjectRulesReview.

use std::collections::BTreeMap;

use pawl_meta::object::Meta;
use pawl_meta::selector::{FieldSelector, LabelSelector};
use pawl_meta::{Errors, FieldPath, GroupKind, Status, names};
use serde_json::{Map, Value, json};

use crate::modes::Chain;
use crate::rbac::Rule;
use crate::{Attributes, Authorizer, Decision, User};

const GROUP: &str = "authorization.k8s.io";

/// The kinds of questions about one permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessReview {
    /// About anybody.
    Subject,
    /// About anybody, in one namespace.
    Local,
    /// About the one who asks.
    SelfSubject,
}

/// How messages show metadata.
pub type ShowMetadata<'a> = &'a dyn Fn(&Value) -> String;

/// Answers whether somebody may do something. `namespace` is that of the request's path.
pub fn review_access(
    kind: AccessReview,
    review: &Value,
    asker: &User,
    namespace: &str,
    authorizer: &dyn Authorizer,
    shown: ShowMetadata<'_>,
) -> Result<Value, Status> {
    let spec = review.get("spec").unwrap_or(&Value::Null);
    let errors = validate(kind, review, spec, shown);
    if !errors.is_empty() {
        // Upstream asks an object that has lost its kind by then.
        let nameless = GroupKind { group: GROUP.to_owned(), kind: String::new() };
        return Err(Status::invalid(&nameless, "", &errors));
    }
    if kind == AccessReview::Local && review.namespace() != namespace {
        let message = format!("spec.resourceAttributes.namespace must match namespace: {namespace}");
        return Err(Status::bad_request(message));
    }
    let subject;
    let user = match kind {
        AccessReview::SelfSubject => asker,
        AccessReview::Subject | AccessReview::Local => {
            subject = subject_of(spec);
            &subject
        }
    };
    let (decision, problems) = decide(spec, user, authorizer);
    let mut status = Map::new();
    status.insert("allowed".to_owned(), json!(decision.is_allowed()));
    if matches!(decision, Decision::Deny { .. }) {
        status.insert("denied".to_owned(), json!(true));
    }
    for (field, text) in [("reason", decision.reason()), ("evaluationError", &problems)] {
        if !text.is_empty() {
            status.insert(field.to_owned(), json!(text));
        }
    }
    Ok(with_status(review, Value::Object(status)))
}

/// Lists what the asker may do in a namespace.
pub fn review_rules(review: &Value, asker: &User, chain: &Chain) -> Result<Value, Status> {
    let namespace = text(review.get("spec").unwrap_or(&Value::Null), "namespace");
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    let found = chain.rules_for(asker, namespace);
    let resources: Vec<Value> = found.rules.iter().filter(|r| !r.resources.is_empty()).map(resource_rule).collect();
    let paths = found.rules.iter().filter(|r| !r.non_resource_urls.is_empty());
    let paths: Vec<Value> = paths.map(|r| json!({"verbs": r.verbs, "nonResourceURLs": r.non_resource_urls})).collect();
    let mut status = json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false});
    if let (Some(status), false) = (status.as_object_mut(), found.problems.is_empty()) {
        status.insert("evaluationError".to_owned(), json!(joined(&found.problems)));
    }
    Ok(json!({
        "kind": "SelfSubjectRulesReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": {},
        "status": status,
    }))
}

fn resource_rule(rule: &Rule) -> Value {
    Rule { non_resource_urls: Vec::new(), ..rule.clone() }.to_value()
}

/// The decision, and which selectors could not be read.
fn decide(spec: &Value, user: &User, authorizer: &dyn Authorizer) -> (Decision, String) {
    let Some(resource) = given(spec, "resourceAttributes") else {
        let path = given(spec, "nonResourceAttributes").unwrap_or(&Value::Null);
        let asked = Attributes::path(user, text(path, "verb"), text(path, "path"));
        return (authorizer.authorize(&asked), String::new());
    };
    let mut problems = Vec::new();
    let (fields, problem) = field_selector(resource);
    problems.extend(problem);
    let (labels, problem) = label_selector(resource);
    problems.extend(problem);
    let version = text(resource, "version");
    let asked = Attributes {
        api_version: if version.is_empty() { "*" } else { version },
        subresource: text(resource, "subresource"),
        name: text(resource, "name"),
        namespace: text(resource, "namespace"),
        field_selector: fields.as_ref(),
        label_selector: labels.as_ref(),
        ..Attributes::resource(user, text(resource, "verb"), text(resource, "group"), text(resource, "resource"))
    };
    (authorizer.authorize(&asked), problems.join(", "))
}

/// Terms that cannot be read are left out: the question is then about more than was meant, never about less.
fn field_selector(resource: &Value) -> (Option<FieldSelector>, Option<String>) {
    let Some(given) = given(resource, "fieldSelector") else { return (None, None) };
    let raw = text(given, "rawSelector");
    let mut broken = false;
    let mut selector = FieldSelector::default();
    if !raw.is_empty() {
        match FieldSelector::parse(raw) {
            Ok(parsed) => selector = parsed,
            Err(_) => broken = true,
        }
    }
    for requirement in list(given, "requirements") {
        let values = strings(requirement, "values");
        let negated = match text(requirement, "operator") {
            "In" => false,
            "NotIn" => true,
            _ => {
                broken = true;
                continue;
            }
        };
        match values.as_slice() {
            [value] => selector.requirements.push(pawl_meta::selector::FieldRequirement {
                field: text(requirement, "key").to_owned(),
                value: value.clone(),
                negated,
            }),
            _ => broken = true,
        }
    }
    let problem = broken.then(|| ignored("fieldSelector", selector.is_empty()));
    ((!selector.is_empty()).then_some(selector), problem)
}

fn label_selector(resource: &Value) -> (Option<LabelSelector>, Option<String>) {
    let Some(given) = given(resource, "labelSelector") else { return (None, None) };
    let raw = text(given, "rawSelector");
    let mut broken = false;
    let mut selector = LabelSelector::default();
    let terms =
        if raw.is_empty() { list(given, "requirements").filter_map(term).collect() } else { vec![raw.to_owned()] };
    broken |= raw.is_empty() && terms.len() < list(given, "requirements").count();
    for term in terms {
        match LabelSelector::parse(&term) {
            Ok(parsed) => selector.requirements.extend(parsed.requirements),
            Err(_) => broken = true,
        }
    }
    let problem = broken.then(|| ignored("labelSelector", selector.is_empty()));
    ((!selector.is_empty()).then_some(selector), problem)
}

/// A label requirement in the syntax of selectors. `None` for an operator that is not known.
fn term(requirement: &Value) -> Option<String> {
    let key = text(requirement, "key");
    let values = || strings(requirement, "values").join(",");
    Some(match text(requirement, "operator") {
        "In" => format!("{key} in ({})", values()),
        "NotIn" => format!("{key} notin ({})", values()),
        "Exists" => key.to_owned(),
        "DoesNotExist" => format!("!{key}"),
        _ => return None,
    })
}

fn ignored(field: &str, wholly: bool) -> String {
    let partially = if wholly { "" } else { "partially " };
    format!("spec.resourceAttributes.{field} {partially}ignored due to parse error")
}

fn validate(kind: AccessReview, review: &Value, spec: &Value, shown: ShowMetadata<'_>) -> Errors {
    let mut errors = Errors::new();
    let (resource, path) = (given(spec, "resourceAttributes"), given(spec, "nonResourceAttributes"));
    match (resource, path) {
        (Some(_), Some(path)) => errors.invalid(
            &"spec.nonResourceAttributes",
            internal(path),
            "cannot be specified in combination with resourceAttributes",
        ),
        (None, None) => errors.invalid(
            &"spec.resourceAttributes",
            Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        ),
        _ => {}
    }
    if kind != AccessReview::SelfSubject && text(spec, "user").is_empty() && list(spec, "groups").next().is_none() {
        errors.invalid(&"spec.user", "", "at least one of user or group must be specified");
    }
    if let Some(resource) = resource {
        validate_selectors(resource, &mut errors);
    }
    let local = kind == AccessReview::Local;
    let mut metadata = review.metadata().into_iter().flatten();
    let unexpected = |(field, value): (&String, &Value)| {
        !(field == "managedFields" || local && field == "namespace" || is_empty(value))
    };
    if metadata.any(unexpected) {
        let detail = if local { "must be empty except for namespace" } else { "must be empty" };
        errors.invalid_shown(&"metadata", review.get("metadata").map(shown).unwrap_or_default(), detail);
    }
    if local {
        let namespace = resource.map(|r| text(r, "namespace"));
        if let Some(namespace) = namespace.filter(|n| *n != review.namespace()) {
            errors.invalid(&"spec.resourceAttributes.namespace", namespace, "must match metadata.namespace");
        }
        if let Some(path) = path {
            errors.invalid(&"spec.nonResourceAttributes", internal(path), "disallowed on this kind of request");
        }
    }
    errors
}

fn validate_selectors(resource: &Value, errors: &mut Errors) {
    for field in ["fieldSelector", "labelSelector"] {
        let Some(selector) = given(resource, field) else { continue };
        let at = FieldPath::of("spec.resourceAttributes").child(field);
        let raw = text(selector, "rawSelector");
        let mut requirements = list(selector, "requirements").peekable();
        match (raw.is_empty(), requirements.peek().is_none()) {
            (false, false) => {
                errors.invalid(&at.child("rawSelector"), raw, "may not specified at the same time as requirements");
            }
            (true, true) => errors.required(
                &at.child("requirements"),
                format!("when {at} is specified, requirements or rawSelector is required"),
            ),
            _ => {}
        }
        for (i, requirement) in requirements.enumerate() {
            validate_requirement(field, requirement, &at.child("requirements").index(i), errors);
        }
    }
}

fn validate_requirement(field: &str, requirement: &Value, at: &FieldPath, errors: &mut Errors) {
    let key = text(requirement, "key");
    if field == "fieldSelector" && key.is_empty() {
        errors.required(&at.child("key"), "must be specified");
    }
    let values = strings(requirement, "values");
    match text(requirement, "operator") {
        "In" | "NotIn" if values.is_empty() => {
            errors.required(&at.child("values"), "must be specified when `operator` is 'In' or 'NotIn'");
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            errors.forbidden(&at.child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        }
        _ => {}
    }
    if field == "labelSelector" {
        for wrong in names::qualified_name(key) {
            errors.invalid(&at.child("key"), key, wrong);
        }
        for (i, value) in values.iter().enumerate() {
            for wrong in names::label_value(value) {
                errors.invalid(&at.child("values").index(i), value.as_str(), wrong);
            }
        }
    }
}

/// The attributes of a path as upstream's internal type prints.
fn internal(path: &Value) -> Value {
    json!({"Path": text(path, "path"), "Verb": text(path, "verb")})
}

fn subject_of(spec: &Value) -> User {
    let extra = spec.get("extra").and_then(Value::as_object).into_iter().flatten();
    let extra: BTreeMap<_, _> = extra.map(|(key, _)| (key.clone(), strings(&spec["extra"], key))).collect();
    User {
        name: text(spec, "user").to_owned(),
        uid: text(spec, "uid").to_owned(),
        groups: strings(spec, "groups"),
        extra,
    }
}

pub(super) fn with_status(review: &Value, status: Value) -> Value {
    let mut answer = review.as_object().cloned().unwrap_or_default();
    answer.insert("status".to_owned(), status);
    Value::Object(answer)
}

fn joined(problems: &[String]) -> String {
    match problems {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

fn given<'v>(value: &'v Value, field: &str) -> Option<&'v Value> {
    value.get(field).filter(|v| !v.is_null())
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn list<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    value.get(field).and_then(Value::as_array).into_iter().flatten()
}

fn strings(value: &Value, field: &str) -> Vec<String> {
    list(value, field).filter_map(Value::as_str).map(str::to_owned).collect()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests;
