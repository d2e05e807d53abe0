//! DELETE of one object.

use bytes::Bytes;
use http::Response;
use pawl_deletion::DeleteOptions;
use pawl_meta::{GroupVersion, Status, go};
use pawl_registry::{DeleteRequest, Deleted, Encoding, Entry, Readable, Served, api_type, body_kind, protobuf};
use pawl_schema::{DecodeError, Decoded, decode_json, decode_value, yaml};
use serde_json::{Map, Value, json};

use crate::api::{Api, Call};
use crate::body::Body;
use crate::negotiation::{Media, body_media};
use crate::options::delete_query;

pub(crate) async fn answer(api: &Api, served: &Served, call: &mut Call) -> Result<Response<Body>, Status> {
    let body = api.body(call).await?;
    let options = read_options(call, &body)?;
    check_verbs(api, served, call, &options)?;
    call.cx.dry_run = options.dry_run;
    let request = DeleteRequest { namespace: &call.info.namespace, name: &call.info.name, options: &options };
    match api.registry.delete(&call.cx, served, request).await? {
        Deleted::Gone(entry) if !served.resource.facts.returns_deleted => Ok(call.document(&success(served, &entry))),
        Deleted::Gone(entry) | Deleted::Waiting(entry) => api.object(call, served, &entry, 200),
    }
}

/// Options that are only for some have verbs of their own.
pub(crate) fn check_verbs(api: &Api, served: &Served, call: &Call, options: &DeleteOptions) -> Result<(), Status> {
    if options.ignore_liens {
        api.access.may_ignore_liens(&call.cx.user, &call.info)?;
    }
    if options.ignore_read_errors {
        api.access.may_delete_unreadable(&call.cx.user, served, &call.info)?;
    }
    Ok(())
}

/// The options in the body joined with those in the query.
pub(crate) fn read_options(call: &Call, body: &Bytes) -> Result<DeleteOptions, Status> {
    let in_body = if body.is_empty() { Map::new() } else { decode(body_media(&call.headers)?, body)? };
    let joined = DeleteOptions::join(&in_body, &delete_query(call)?)?;
    DeleteOptions::read(&joined)
}

fn decode(media: Media, body: &[u8]) -> Result<Map<String, Value>, Status> {
    let of = api_type("meta.v1.DeleteOptions");
    let of = of.ok_or_else(|| Status::internal("no type for delete options"))?;
    let decoded = match media {
        Media::Json => decode_json(of, body),
        Media::Yaml => {
            let parsed = yaml::parse(&String::from_utf8_lossy(body)).map_err(Status::bad_request)?;
            decode_value(of, parsed.value)
        }
        Media::Protobuf => {
            let envelope = pawl_protobuf::open(body).map_err(|e| Status::bad_request(e.to_string()))?;
            let decoded = protobuf().decode(of, envelope.raw).map_err(|e| Status::bad_request(e.to_string()))?;
            let mut object = decoded.object;
            object.insert("apiVersion".to_owned(), json!(envelope.api_version));
            object.insert("kind".to_owned(), json!(envelope.kind));
            Ok(Decoded { object, findings: Vec::new() })
        }
    };
    let object = match decoded {
        Ok(decoded) => decoded.object,
        Err(DecodeError::Syntax(why)) => {
            return Err(Status::bad_request(format!("couldn't get version/kind; json parse error: {why}")));
        }
        Err(error @ DecodeError::TooLarge(..)) => return Err(Status::too_large(error.to_string())),
        Err(DecodeError::Type(why)) => {
            let encoding = if media == Media::Yaml { Encoding::Yaml } else { Encoding::Json };
            return Err(Status::bad_request(body_kind(encoding, body).err().unwrap_or(why)));
        }
    };
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let version = GroupVersion::parse(api_version);
    if version.is_none() || !matches!(kind, "" | "DeleteOptions") {
        return Err(Status::bad_request(format!(
            "no kind {} is registered for version {} in scheme \"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27\"",
            go::quote(kind),
            go::quote(api_version)
        )));
    }
    Ok(object)
}

fn success(served: &Served, entry: &Entry) -> Value {
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
