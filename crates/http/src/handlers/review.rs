//! POST of what is answered and not stored: reviews of access and identity, tokens of service accounts.

use std::sync::Arc;

use http::Response;
use pawl_auth::authn::{BoundKind, bound_reference};
use pawl_auth::reviews::{AccessReview, review_access, review_rules, review_self, review_token};
use pawl_meta::object::Meta;
use pawl_meta::{Errors, FieldPath, GroupKind, Status};
use pawl_registry::{ApiKind, Served};
use serde_json::{Value, json};

use super::update::sent;
use crate::api::{Api, Call};
use crate::body::Body;
use crate::options::{WriteOptions, manager};

pub(crate) async fn answer(api: &Api, served: &Served, call: &mut Call) -> Result<Response<Body>, Status> {
    if served.resource.facts.group == pawl_registry::GROUP {
        return super::own::answer(api, served, call).await;
    }
    if served.resource.facts.plural == "bindings" {
        return super::binding::answer(api, call).await;
    }
    let body = api.body(call).await?;
    let options = WriteOptions::read(api, call, "CreateOptions")?;
    call.cx.manager = manager(call, &options.field_manager);
    let mut object = api.registry.decode(&call.cx, served, sent(call, &body, options.field_validation)?)?;
    api.registry.settle_review(&call.cx, served, &call.info.namespace, &mut object)?;
    let review = Value::Object(object);
    let (user, namespace) = (&call.cx.user, call.info.namespace.as_str());
    let shown = |metadata: &Value| {
        let of = pawl_registry::api_type("meta.v1.ObjectMeta");
        of.map_or_else(|| metadata.to_string(), |of| of.print(metadata))
    };
    let access = |kind| review_access(kind, &review, user, namespace, &*api.access.chain, &shown);
    let answered = match served.resource.facts.plural.as_str() {
        "subjectaccessreviews" => access(AccessReview::Subject)?,
        "localsubjectaccessreviews" => access(AccessReview::Local)?,
        "selfsubjectaccessreviews" => access(AccessReview::SelfSubject)?,
        "selfsubjectrulesreviews" => review_rules(&review, user, &api.access.chain)?,
        "selfsubjectreviews" => review_self(user),
        "tokenreviews" => review_token(&review, &api.access.authentication)?,
        other => return Err(Status::not_implemented(format!("{other} is not served yet"))),
    };
    call.reply(201, answered)
}

/// POST to `serviceaccounts/NAME/token`.
pub(crate) async fn token(api: &Api, served: &Arc<Served>, call: &mut Call) -> Result<Response<Body>, Status> {
    let Some(issuer) = &api.access.issuer else {
        return Err(Status::not_implemented("this server has no key to sign service-account tokens with"));
    };
    let body = api.body(call).await?;
    let options = WriteOptions::read(api, call, "CreateOptions")?;
    let sent = sent(call, &body, options.field_validation)?;
    let mut request = Value::Object(api.registry.decode_as(&call.cx, &ApiKind::TOKEN_REQUEST, sent)?);
    name_request(&mut request, call)?;
    let account = api.registry.get(served, &call.info.namespace, &call.info.name, None).await?;
    let account = account.readable().map(|r| r.object(account.revision)).unwrap_or_default();
    if let Some(Value::Object(request)) = Some(&mut request) {
        pawl_registry::set_defaults("authentication.v1.TokenRequest", request);
        let mut errors = Errors::new();
        pawl_registry::validate("authentication.v1.TokenRequest", "TokenRequest", request, &mut errors);
        if !errors.is_empty() {
            return Err(Status::invalid(&token_request(), "", &errors));
        }
    }
    let fetch = |resource: &'static str, namespace: String, name: String| async move {
        let table = api.registry.table();
        let served = table.preferred("", resource).ok_or_else(Status::no_such_resource)?;
        let entry = api.registry.get(served, &namespace, &name, None).await?;
        Ok::<Value, Status>(Value::Object(entry.readable().map(|r| r.object(entry.revision)).unwrap_or_default()))
    };
    let mut bound = None;
    let mut node = None;
    if let Some(reference) = bound_reference(&request)? {
        let namespace = call.info.namespace.clone();
        let object = match reference.kind {
            BoundKind::Pod => fetch("pods", namespace, reference.name.to_owned()).await?,
            BoundKind::Secret => fetch("secrets", namespace, reference.name.to_owned()).await?,
            BoundKind::Node => fetch("nodes", String::new(), reference.name.to_owned()).await?,
            BoundKind::ServiceAccount => return Err(Status::bad_request("a token is not bound to a service account")),
        };
        let node_name = object.pointer("/spec/nodeName").and_then(Value::as_str).unwrap_or_default().to_owned();
        if reference.kind == BoundKind::Pod && !node_name.is_empty() {
            node = fetch("nodes", String::new(), node_name).await.ok();
        }
        bound = Some(object);
    }
    let issued = issuer.issue(&request, &Value::Object(account), bound.as_ref(), node.as_ref())?;
    issued.warnings.iter().for_each(|text| call.cx.warn(text.clone()));
    let mut object = issued.object;
    if options.dry_run {
        set(&mut object, &["status", "token"], json!(""));
    }
    call.reply(201, object)
}

fn token_request() -> GroupKind {
    GroupKind { group: "authentication.k8s.io".to_owned(), kind: "TokenRequest".to_owned() }
}

/// The account in the body must be the one in the URL.
fn name_request(request: &mut Value, call: &Call) -> Result<(), Status> {
    let mut errors = Errors::new();
    let (name, namespace) = (request.name(), request.namespace());
    if !namespace.is_empty() && namespace != call.info.namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    if !name.is_empty() && name != call.info.name {
        let at = FieldPath::of("metadata").child("name");
        errors.invalid(&at, name, "must match the service account name if specified");
        return Err(Status::invalid(&token_request(), &call.info.name, &errors));
    }
    set(request, &["metadata", "name"], json!(call.info.name));
    set(request, &["metadata", "namespace"], json!(call.info.namespace));
    set(request, &["kind"], json!("TokenRequest"));
    set(request, &["apiVersion"], json!("authentication.k8s.io/v1"));
    Ok(())
}

/// Sets a field, making the objects on the way to it.
fn set(value: &mut Value, path: &[&str], to: Value) {
    match path {
        [] => *value = to,
        [field, rest @ ..] => {
            if !value.is_object() {
                *value = json!({});
            }
            if let Value::Object(map) = value {
                set(map.entry(*field).or_insert(Value::Null), rest, to);
            }
        }
    }
}
