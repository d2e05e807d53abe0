//! GET of `history` below an object: what the store remembers of it. Whoever may read the object may not therefore read this.

use http::Response;
use pawl_meta::Status;
use pawl_registry::{Moment, PastAsked, Served};
use serde_json::{Value, json};

use crate::api::{Api, Call};
use crate::body::Body;

pub(crate) async fn answer(api: &Api, served: &Served, call: &Call) -> Result<Response<Body>, Status> {
    let after = match call.query.get("after") {
        None | Some("") => None,
        Some(text) => {
            let why = || Status::bad_request(format!("after: {text:?} is no resourceVersion"));
            Some(text.parse().map_err(|_| why())?)
        }
    };
    let all_uids = match call.query.get("uid") {
        None | Some("") => false,
        Some("all") => true,
        Some(other) => return Err(Status::bad_request(format!("uid: {other:?} is not \"all\""))),
    };
    let (namespace, name) = (call.info.namespace.as_str(), call.info.name.as_str());
    let past = api.registry.past(served, namespace, name, PastAsked { after, all_uids }).await?;
    let items: Vec<Value> = past.moments.iter().map(moment).collect();
    call.reply(
        200,
        json!({"kind": "History", "apiVersion": "history.pawl.dev/v1",
            "metadata": {"name": name, "namespace": namespace, "resourceVersion": past.through.to_string()},
            "from": past.from.to_string(), "cut": past.is_cut, "items": items}),
    )
}

fn moment(moment: &Moment) -> Value {
    json!({"resourceVersion": moment.revision.to_string(), "verb": moment.verb, "readable": moment.object.is_some(),
        "object": moment.object})
}
