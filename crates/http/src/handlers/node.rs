//! What only a node can do: logs, exec, attach, port-forward, proxy. Whoever asks is told what upstream tells as long as no
//! node is needed; with one there is nobody to ask.

use std::sync::Arc;

use http::Response;
use pawl_meta::object::{Object, at};
use pawl_meta::{Errors, GroupKind, Status, go};
use pawl_registry::Served;
use serde_json::Value;

use crate::api::{Api, Call};
use crate::body::Body;
use crate::query::Query;
use crate::respond;

pub(super) async fn answer(api: &Api, served: &Arc<Served>, call: &Call) -> Result<Response<Body>, Status> {
    let (subresource, name) = (call.info.subresource.as_str(), call.info.name.as_str());
    if matches!(subresource, "exec" | "attach" | "portforward") {
        api.access.may_connect(&call.cx.user, served, &call.info)?;
    }
    if subresource == "log" {
        check_log_options(name, &call.query)?;
    }
    let entry = api.registry.get(served, &call.info.namespace, name, None).await?;
    let object = entry.readable().map(|r| r.object(entry.revision)).unwrap_or_default();
    if served.resource.facts.kind == "Pod" {
        if matches!(subresource, "log" | "exec" | "attach") {
            check_container(name, &object, call.query.get("container").unwrap_or_default())?;
        }
        let node = at(&object, "spec.nodeName").and_then(Value::as_str).unwrap_or_default();
        if node.is_empty() && subresource == "log" {
            return Ok(respond::bare(204));
        }
        if node.is_empty() {
            return Err(Status::bad_request(format!("pod {name} does not have a host assigned")));
        }
        let nodes = api.registry.table().find("", "v1", "nodes").cloned();
        let is_there = nodes.is_some_and(|nodes| nodes.stored.weight_of("", node).is_some());
        if !is_there && subresource != "proxy" {
            return Err(Status::not_found(&served.resource.group_resource(), node));
        }
    }
    Err(Status::not_implemented(format!("{subresource} needs a node to answer, and this server has none")))
}

fn check_log_options(name: &str, query: &Query) -> Result<(), Status> {
    let mut errors = Errors::new();
    let number = |field: &str| match query.get(field).filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => text
            .parse::<i64>()
            .map(Some)
            .map_err(|_| Status::bad_request(format!("strconv.ParseInt: parsing {}: invalid syntax", go::quote(text)))),
    };
    if let Some(lines) = number("tailLines")?.filter(|lines| *lines < 0) {
        errors.invalid(&"tailLines", lines, "must be greater than or equal to 0");
    }
    if let Some(bytes) = number("limitBytes")?.filter(|bytes| *bytes < 1) {
        errors.invalid(&"limitBytes", bytes, "must be greater than 0");
    }
    let since = number("sinceSeconds")?;
    if since.is_some() && query.get("sinceTime").is_some_and(|text| !text.is_empty()) {
        errors.forbidden(&"", "at most one of `sinceTime` or `sinceSeconds` may be specified");
    } else if let Some(seconds) = since.filter(|seconds| *seconds < 1) {
        errors.invalid(&"sinceSeconds", seconds, "must be greater than 0");
    }
    let kind = GroupKind { group: String::new(), kind: "PodLogOptions".to_owned() };
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid(&kind, name, &errors)) }
}

/// The container must be one of the pod's, and be named where there are several.
fn check_container(pod: &str, object: &Object, container: &str) -> Result<(), Status> {
    let names = |field: &str| -> Vec<&str> {
        let list = object.get("spec").and_then(|spec| spec.get(field)).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|c| c.get("name")?.as_str()).collect()
    };
    let all = [names("initContainers"), names("containers"), names("ephemeralContainers")].concat();
    if !container.is_empty() && !all.contains(&container) {
        return Err(Status::bad_request(format!("container {container} is not valid for pod {pod}")));
    }
    if container.is_empty() && names("containers").len() != 1 {
        let choice = all.join(" ");
        let message = format!("a container name must be specified for pod {pod}, choose one of: [{choice}]");
        return Err(Status::bad_request(message));
    }
    Ok(())
}
