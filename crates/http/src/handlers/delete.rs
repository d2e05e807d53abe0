//! DELETE of one object.

use bytes::Bytes;
use http::Response;
use pawl_deletion::{DeleteOptions, IGNORE_READ_ERRORS};
use pawl_meta::{GroupVersion, Status, go};
use pawl_registry::{
    BodyError, CacheEntry, DeleteRequest, Deleted, FieldValidation, Opened, Readable, Sent, Served, api_type, open_body,
};
use serde_json::{Map, Value, json};

use super::update::sent;
use crate::api::{Api, Call};
use crate::body::Body;
use crate::options::delete_query;

pub(crate) async fn answer(api: &Api, served: &Served, call: &mut Call) -> Result<Response<Body>, Status> {
    let body = api.body(call).await?;
    let options = read_options(api, call, &body)?;
    check_verbs(api, served, call, &options)?;
    call.cx.dry_run = options.dry_run;
    let request = DeleteRequest { namespace: &call.info.namespace, name: &call.info.name, options: &options };
    match api.registry.delete(&call.cx, served, request).await? {
        Deleted::Gone(entry) if !served.resource.facts.returns_deleted => Ok(call.document(&success(served, &entry))),
        Deleted::Gone(entry) | Deleted::Waiting(entry) => api.object(call, served, &entry, 200),
        Deleted::Removed => Ok(call.document(&removed(served, &call.info.name))),
    }
}

/// Options that are only for some have verbs of their own.
pub(crate) fn check_verbs(api: &Api, served: &Served, call: &Call, options: &DeleteOptions) -> Result<(), Status> {
    if options.ignore_liens && api.registry.liens_hold() {
        api.access.may_ignore_liens(&call.cx.user, &call.info)?;
    }
    if options.ignore_read_errors {
        api.access.may_delete_unreadable(&call.cx.user, served, &call.info)?;
    }
    Ok(())
}

/// The options in the body joined with those in the query.
pub(crate) fn read_options(api: &Api, call: &Call, body: &Bytes) -> Result<DeleteOptions, Status> {
    let in_body = if body.is_empty() { Map::new() } else { decode(sent(call, body, FieldValidation::Ignore)?)? };
    let mut joined = DeleteOptions::join(&in_body, &delete_query(call)?)?;
    if !api.unsafe_deletion {
        joined.remove(IGNORE_READ_ERRORS);
    }
    if joined.get(IGNORE_READ_ERRORS) == Some(&json!(true)) {
        // Whatever becomes of it.
        call.cx.note(UNSAFE_DELETE, "");
    }
    DeleteOptions::read(&joined)
}

/// The annotation of the audit log for who asks to delete what cannot be read.
const UNSAFE_DELETE: &str = "apiserver.k8s.io/unsafe-delete-ignore-read-error";

fn decode(sent: Sent<'_>) -> Result<Map<String, Value>, Status> {
    let of = api_type("meta.v1.DeleteOptions");
    let of = of.ok_or_else(|| Status::internal("no type for delete options"))?;
    let Opened { mut object, api_version, kind, .. } = open_body(of, sent).map_err(|error| match error {
        BodyError::Unrecognized(why) | BodyError::Wrong { why, .. } => Status::bad_request(why),
        BodyError::TooLarge(why) => Status::too_large(why),
    })?;
    let version = GroupVersion::parse(&api_version);
    if version.is_none() || !matches!(kind.as_str(), "" | "DeleteOptions") {
        return Err(Status::bad_request(format!(
            "no kind {} is registered for version {} in scheme \"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27\"",
            go::quote(&kind),
            go::quote(&api_version)
        )));
    }
    object.insert("apiVersion".to_owned(), json!(api_version));
    object.insert("kind".to_owned(), json!(kind));
    Ok(object)
}

fn success(served: &Served, entry: &CacheEntry) -> Value {
    let facts = &served.resource.facts;
    let uid = entry.readable().and_then(Readable::uid);
    let mut details = Map::new();
    details.insert("name".to_owned(), json!(entry.name()));
    if !facts.group.is_empty() {
        details.insert("group".to_owned(), json!(facts.group));
    }
    details.insert("kind".to_owned(), json!(facts.plural));
    details.extend(uid.map(|uid| ("uid".to_owned(), json!(uid))));
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

fn removed(served: &Served, name: &str) -> Value {
    let facts = &served.resource.facts;
    let mut details = Map::new();
    details.insert("name".to_owned(), json!(name));
    if !facts.group.is_empty() {
        details.insert("group".to_owned(), json!(facts.group));
    }
    details.insert("kind".to_owned(), json!(facts.kind));
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details, "code": 200})
}
