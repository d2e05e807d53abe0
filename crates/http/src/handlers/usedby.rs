//! GET of `usedby` below an object: who uses it, by field. What the sender may not read is counted.

use http::Response;
use pawl_meta::Status;
use pawl_registry::{Served, UserShown};
use pawl_usage::{Target, Used};
use serde_json::{Value, json};

use crate::api::{Api, Call};
use crate::body::Body;

/// How many users are named.
const MOST: usize = 1000;

pub(crate) async fn answer(api: &Api, served: &Served, call: &Call) -> Result<Response<Body>, Status> {
    let (namespace, name) = (call.info.namespace.as_str(), call.info.name.as_str());
    let entry = api.registry.get(served, namespace, name, None).await?;
    let used = Used::of(&served.group_resource.group, &served.group_resource.resource);
    let used = used.ok_or_else(Status::no_such_resource)?;
    let shown = api.registry.users_shown(&call.cx, &Target::new(used, namespace, name), MOST, |_| true);
    let metadata = placed(namespace, json!({"name": entry.name(), "resourceVersion": entry.revision.to_string()}));
    let users: Vec<Value> = shown.users.iter().map(user).collect();
    call.reply(
        200,
        json!({"kind": "UsedBy", "apiVersion": "usage.pawl.dev/v1", "metadata": metadata, "users": users,
            "others": shown.others}),
    )
}

fn user(user: &UserShown) -> Value {
    let shown = json!({"apiVersion": user.api_version, "kind": user.who.user.kind(), "name": user.who.name(),
        "uid": user.uid, "fields": user.fields, "protects": user.protects});
    placed(user.who.namespace(), shown)
}

/// With the namespace, for what is in one.
fn placed(namespace: &str, mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value
        && !namespace.is_empty()
    {
        fields.insert("namespace".to_owned(), json!(namespace));
    }
    value
}
