//! POST of an Eviction below a pod.

use std::sync::Arc;

use http::Response;
use pawl_deletion::DeleteOptions;
use pawl_meta::{Errors, FieldPath, GroupKind, Status, go};
use pawl_registry::{ApiKind, Served};
use serde_json::{Value, json};

use super::binding::{check_name, decode, success};
use super::delete::check_verbs;
use super::update::sent;
use crate::api::{Api, Call};
use crate::body::Body;
use crate::options::WriteOptions;

pub(crate) async fn answer(api: &Api, pods: &Arc<Served>, call: &mut Call) -> Result<Response<Body>, Status> {
    let body = api.body(call).await?;
    let options = WriteOptions::read(api, call, "CreateOptions")?;
    let sent = sent(call, &body, options.field_validation)?;
    let eviction = decode(api, call, &ApiKind::EVICTION, sent)?;
    check_name(call, &eviction, "Eviction")?;
    check_dry_run(call, eviction.get("deleteOptions"))?;
    let deletion = read_options(call, eviction.get("deleteOptions"))?;
    check_verbs(api, pods, call, &deletion)?;
    call.cx.dry_run = options.dry_run || deletion.dry_run;
    let (namespace, name) = (call.info.namespace.clone(), call.info.name.clone());
    api.registry.evict(&call.cx, pods, (&namespace, &name), eviction, &deletion).await?;
    Ok(success(call))
}

/// The request and the options in its body say the same, where both say something.
fn check_dry_run(call: &Call, given: Option<&Value>) -> Result<(), Status> {
    let in_body = given.and_then(|given| given.get("dryRun")).and_then(Value::as_array);
    let in_query: Vec<Value> = call.query.all("dryRun").map(Value::from).collect();
    match in_body {
        Some(in_body) if !in_body.is_empty() && !in_query.is_empty() && *in_body != in_query => {
            let (query, body) = (go::print_map(&Value::Array(in_query)), go::print_map(&Value::Array(in_body.clone())));
            let why = format!("Non-matching dry-run options in request and content: {query} and {body}");
            Err(Status::plain_error(why))
        }
        _ => Ok(()),
    }
}

fn read_options(call: &Call, given: Option<&Value>) -> Result<DeleteOptions, Status> {
    const UNREADABLE: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";
    let Some(Value::Object(given)) = given else { return Ok(DeleteOptions::default()) };
    if given.get(UNREADABLE) == Some(&json!(true)) {
        let mut errors = Errors::new();
        let detail = "can not be set for pod eviction, try after removing the option";
        errors.invalid(&FieldPath::of("deleteOptions").child(UNREADABLE), true, detail);
        let kind = GroupKind { group: "policy".to_owned(), kind: "Eviction".to_owned() };
        return Err(Status::invalid(&kind, &call.info.name, &errors));
    }
    DeleteOptions::read(given)
}
