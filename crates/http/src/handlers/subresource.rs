//! Requests below an object: its status, its scale, and what a node would have to do.

use std::sync::Arc;

use http::Response;
use pawl_meta::Status;
use pawl_registry::{ScaleChange, Served};
use serde_json::Value;

use super::{binding, eviction, get, node, patch, review, update};
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
        ("binding", _) => binding::answer(api, call).await,
        ("eviction", _) => eviction::answer(api, served, call).await,
        ("token", _) => review::token(api, served, call).await,
        (name, _) => Err(Status::not_implemented(format!("the subresource {name:?} is not served yet"))),
    }
}

async fn scale(api: &Api, served: &Arc<Served>, call: &mut Call) -> Result<Response<Body>, Status> {
    let (namespace, name) = (call.info.namespace.clone(), call.info.name.clone());
    let scale = match &call.info.verb {
        Verb::Get => api.registry.get_scale(served, &namespace, &name).await?,
        verb => {
            let replace = *verb == Verb::Update;
            let kind = if replace { None } else { Some(patch::kind(call)?) };
            let body = api.body(call).await?;
            let options = WriteOptions::read(api, call, if replace { "UpdateOptions" } else { "PatchOptions" })?;
            call.cx.dry_run = options.dry_run;
            call.cx.manager = manager(call, &options.field_manager);
            let validation = options.field_validation;
            let change = match kind {
                None => ScaleChange::Replace(update::sent(call, &body, validation)?),
                Some(kind) => {
                    patch::check(kind, &options)?;
                    ScaleChange::Patch { kind, body: &body, force: options.force.unwrap_or(false), validation }
                }
            };
            api.registry.update_scale(&call.cx, served, &namespace, &name, change).await?
        }
    };
    call.reply(200, Value::Object(scale))
}
