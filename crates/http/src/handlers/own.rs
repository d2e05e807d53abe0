//! POST to `storage.pawl.dev` of what is done or answered and not stored: sealing values anew, what another encryption
//! configuration would make unreadable, and a snapshot of everything.

use futures::stream;
use http::Response;
use pawl_meta::Status;
use pawl_registry::{Served, Snapshot};
use serde_json::{Map, Value, json};

use super::update::sent;
use crate::api::{Api, Call};
use crate::body::Body;
use crate::health::Stopping;
use crate::options::WriteOptions;
use crate::respond;

/// How many values are sealed anew by one request that does not say.
const MOST: u64 = 500;

pub(crate) async fn answer(api: &Api, served: &Served, call: &mut Call) -> Result<Response<Body>, Status> {
    let body = api.body(call).await?;
    let options = WriteOptions::read(api, call, "CreateOptions")?;
    let mut object = api.registry.decode(&call.cx, served, sent(call, &body, options.field_validation)?)?;
    let spec = object.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
    let status = match served.resource.facts.plural.as_str() {
        "rewrites" if options.dry_run => json!({}),
        "rewrites" => rewrite(api, &spec).await?,
        "encryptionchecks" => check(api, &spec).await?,
        "snapshots" if options.dry_run => json!({}),
        "snapshots" => return snapshot(api).await,
        other => return Err(Status::not_implemented(format!("{other} is not served yet"))),
    };
    object.insert("status".to_owned(), status);
    call.reply(201, Value::Object(object))
}

/// Everything that is stored, as it is stored. A stream that ends early is no snapshot: its trailer is missing.
async fn snapshot(api: &Api) -> Result<Response<Body>, Status> {
    let snapshot = api.registry.snapshot().await?;
    tracing::info!(revision = snapshot.revision(), "a snapshot of everything is being taken");
    let pieces = stream::unfold((Some(snapshot), api.health.stopping()), next_piece);
    Ok(respond::with(200, "application/vnd.pawl.snapshot", Body::Stream(Box::pin(pieces))))
}

async fn next_piece(
    (snapshot, mut stop): (Option<Snapshot>, Stopping),
) -> Option<(bytes::Bytes, (Option<Snapshot>, Stopping))> {
    let mut snapshot = snapshot?;
    tokio::select! {
        biased;
        () = stop.wait() => Some((snapshot.give_up("the server is stopping"), (None, stop))),
        bytes = snapshot.next() => Some((bytes?, (Some(snapshot), stop))),
    }
}

async fn rewrite(api: &Api, spec: &Map<String, Value>) -> Result<Value, Status> {
    let most = spec.get("limit").and_then(Value::as_u64).filter(|most| *most > 0).unwrap_or(MOST);
    let done = api.registry.reseal(usize::try_from(most).unwrap_or(usize::MAX)).await?;
    if spec.get("forgetHistory") == Some(&json!(true)) {
        api.registry.forget_history().await?;
    }
    Ok(json!({"rewritten": done.rewritten, "remaining": done.remaining, "unreadable": done.unreadable}))
}

async fn check(api: &Api, spec: &Map<String, Value>) -> Result<Value, Status> {
    let path = spec.get("path").and_then(Value::as_str).unwrap_or_default();
    let lost = (api.check_encryption)(path.into()).await.map_err(Status::bad_request)?;
    let lost: Vec<Value> = lost.iter().map(|(name, count)| json!({"resource": name, "objects": count})).collect();
    Ok(json!({"unreadable": lost}))
}
