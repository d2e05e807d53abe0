//! Requests below an object: its status, its scale, who uses it, its past, and what a node would have to do.

use std::sync::Arc;

use http::Response;
use pawl_meta::Status;
use pawl_meta::object::metadata_mut;
use pawl_registry::{ScaleChange, Served};
use serde_json::Value;

use super::{binding, eviction, get, history, node, patch, review, update, usedby};
use crate::api::{Api, Call};
use crate::body::Body;
use crate::options::{WriteOptions, manager};
use crate::request::Verb;

pub(crate) async fn answer(api: &Api, served: &Arc<Served>, call: &mut Call) -> Result<Response<Body>, Status> {
    match (call.info.subresource.as_str(), &call.info.verb) {
        ("scale", _) => scale(api, served, call).await,
        _ if call.info.leads_to_node() => node::answer(api, served, call).await,
        ("status" | "finalize" | "approval" | "ephemeralcontainers" | "resize", verb) => match verb {
            Verb::Get => get::answer(api, served, call).await,
            Verb::Update => update::answer(api, served, call).await,
            Verb::Patch => patch::answer(api, served, call).await,
            _ => Err(Status::method_not_allowed()),
        },
        ("invalidobjects", _) => invalid_objects(api, served, call).await,
        ("binding", _) => binding::answer(api, call).await,
        ("restore", _) => restore(api, served, call).await,
        ("eviction", _) => eviction::answer(api, served, call).await,
        ("history", _) => history::answer(api, served, call).await,
        ("usedby", _) => usedby::answer(api, served, call).await,
        ("token", _) => review::token(api, served, call).await,
        (name, _) => Err(Status::not_implemented(format!("the subresource {name:?} is not served yet"))),
    }
}

/// The stored objects that a definition refuses; nothing is changed by asking.
async fn invalid_objects(api: &Api, served: &Arc<Served>, call: &mut Call) -> Result<Response<Body>, Status> {
    let candidate = match call.info.verb {
        Verb::Create => {
            let body = api.body(call).await?;
            let options = WriteOptions::read(api, call, "CreateOptions")?;
            let sent = update::sent(call, &body, options.field_validation)?;
            let mut candidate = api.registry.decode(&call.cx, served, sent)?;
            metadata_mut(&mut candidate).insert("name".to_owned(), call.info.name.as_str().into());
            Some(candidate)
        }
        _ => None,
    };
    call.reply(200, api.documents.invalid_objects(&call.info.name, candidate.as_ref())?)
}

async fn scale(api: &Api, served: &Arc<Served>, call: &mut Call) -> Result<Response<Body>, Status> {
    let (namespace, name) = (call.info.namespace.clone(), call.info.name.clone());
    let scale = match &call.info.verb {
        Verb::Get => api.registry.get_scale(served, &namespace, &name).await?,
        verb => {
            let replace = *verb == Verb::Update;
            let kind = if replace { None } else { Some(patch::kind(served, call)?) };
            let body = api.body(call).await?;
            let options = match kind {
                Some(kind) => WriteOptions::of_patch(api, call, kind)?,
                None => WriteOptions::read(api, call, "UpdateOptions")?,
            };
            call.cx.dry_run = options.dry_run;
            call.cx.manager = manager(call, &options.field_manager);
            let validation = options.field_validation;
            let change = match kind {
                None => ScaleChange::Replace(update::sent(call, &body, validation)?),
                Some(kind) => {
                    ScaleChange::Patch { kind, body: &body, force: options.force.unwrap_or(false), validation }
                }
            };
            api.registry.update_scale(&call.cx, served, &namespace, &name, change).await?
        }
    };
    call.reply(200, Value::Object(scale))
}

/// Brings back what was removed unread. The answer is what was kept of it.
async fn restore(api: &Api, served: &Arc<Served>, call: &mut Call) -> Result<Response<Body>, Status> {
    // Nothing in the body means anything, as in a deletion.
    api.body(call).await?;
    call.cx.dry_run = WriteOptions::read(api, call, "CreateOptions")?.dry_run;
    let entry = api.registry.restore(&call.cx, &call.info.name).await?;
    api.object(call, served, &entry, 201)
}
