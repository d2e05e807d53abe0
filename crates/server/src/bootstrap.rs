//! What is there from the start: namespaces, the service `kubernetes`, priority levels, roles. Made when it is missing,
//! put right when it must not differ, and left alone otherwise: a restart writes nothing.

mod certificates;
mod placeholders;
mod roles;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use pawl_admission::Objects;
use pawl_kinds::bootstrap::{Keep, Starter, starters};
use pawl_meta::object::{Meta, Object, metadata_mut};
use pawl_meta::{GroupVersion, Status};
use pawl_registry::{
    Context, CreateRequest, FieldValidation, Mutation, PatchKind, PatchRequest, Registry, Sent, Served, UpdateRequest,
};
use serde_json::{Value, json};

pub use placeholders::Placeholders;

/// The annotation by which a flow-control object says whether it is kept up to date.
const AUTO_UPDATE: &str = "apf.kubernetes.io/autoupdate-spec";

/// Makes what is missing where these feature gates are on: namespaces first, for what is in them, then everything at once. What
/// cannot be made is told and does not keep the server from starting.
pub async fn run(registry: &Registry, placeholders: &Placeholders, is_on: impl Fn(&str) -> bool) {
    registry.repair_addresses().await;
    let (namespaces, rest): (Vec<_>, Vec<_>) = starters()
        .iter()
        .filter(|starter| placeholders.fits(&starter.object))
        .partition(|starter| starter.object.get("kind").is_some_and(|kind| kind == "Namespace"));
    join_all(namespaces.into_iter().map(|starter| ensure(registry, placeholders, starter))).await;
    let roles = pawl_auth::rbac::bootstrap::objects(is_on);
    let starters = join_all(rest.into_iter().map(|starter| ensure(registry, placeholders, starter)));
    futures::join!(starters, join_all(roles.iter().map(|role| roles::ensure(registry, role))));
}

/// Makes the service `kubernetes` lead to these servers.
pub async fn lead_to(registry: &Registry, placeholders: &Placeholders, servers: &[IpAddr]) {
    let placeholders = Placeholders { servers: servers.to_vec(), ..placeholders.clone() };
    for starter in starters().iter().filter(|starter| placeholders::is_endpoints(&starter.object)) {
        ensure(registry, &placeholders, starter).await;
    }
}

/// How often a starting object is looked at again because another server, which starts too, was faster.
const ATTEMPTS: usize = 10;
const PAUSE: Duration = Duration::from_millis(20);

async fn ensure(registry: &Registry, placeholders: &Placeholders, starter: &Starter) {
    if let Err(status) = beside_others(registry, || Box::pin(try_ensure(registry, placeholders, starter))).await {
        tracing::error!(name = starter.object.name(), message = status.message, "a starting object was not made");
    }
}

/// Whether somebody else was faster: the object has changed, or the address that it is to have is taken, by the same object.
fn was_slower(status: &Status) -> bool {
    status.code == 409 || (status.code == 422 && status.message.ends_with("provided IP is already allocated"))
}

/// Does something about an object, again where somebody else was faster.
async fn beside_others<'a>(
    registry: &'a Registry,
    act: impl Fn() -> BoxFuture<'a, Result<(), Status>>,
) -> Result<(), Status> {
    let mut done = act().await;
    for _ in 1..ATTEMPTS {
        if !done.as_ref().is_err_and(was_slower) {
            break;
        }
        // Who has taken an address may not have written its object yet.
        tokio::time::sleep(PAUSE).await;
        registry.storage().catch_up().await?;
        done = act().await;
    }
    done
}

async fn try_ensure(registry: &Registry, placeholders: &Placeholders, starter: &Starter) -> Result<(), Status> {
    let wanted = placeholders.complete(&starter.object);
    let emptied =
        starter.keep == Keep::Merged && wanted.get("data").and_then(Value::as_object).is_none_or(Object::is_empty);
    if starter.keep == Keep::Allocated || emptied {
        return Ok(());
    }
    let table = registry.table();
    let served = served(&table, &wanted).ok_or_else(Status::no_such_resource)?;
    let (namespace, name) = (wanted.namespace().to_owned(), wanted.name().to_owned());
    let group_resource = served.resource.group_resource();
    let existing = Objects::get(registry, &group_resource.group, &group_resource.resource, &namespace, &name);
    let cx = context(&starter.manager);
    let body = Value::Object(wanted).to_string();
    let wanted = registry.decode(&cx, served, Sent::own(body.as_bytes()))?;
    let Some(existing) = existing else {
        create(registry, &cx, served, wanted).await?;
        return set_status(registry, placeholders, starter, served, (&namespace, &name)).await;
    };
    if starter.status.is_some() && pawl_meta::object::at(&existing, "status.conditions").is_none() {
        set_status(registry, placeholders, starter, served, (&namespace, &name)).await?;
    }
    match corrected(starter.keep, &existing, &wanted) {
        Some(corrected) => update(registry, &cx, served, corrected).await,
        None => Ok(()),
    }
}

/// The existing object as it should be; `None` when it is, or may be as it is.
fn corrected(keep: Keep, existing: &Object, wanted: &Object) -> Option<Object> {
    match keep {
        Keep::Present | Keep::PresentAtStart | Keep::Allocated => return None,
        Keep::EqualUnlessOptedOut => match existing.annotation(AUTO_UPDATE) {
            Some("false") => return None,
            None if existing.generation() > 1 => return None,
            _ => {}
        },
        Keep::Equal | Keep::Merged => {}
    }
    let mut corrected = existing.clone();
    for (field, value) in wanted {
        if !matches!(field.as_str(), "apiVersion" | "kind" | "metadata" | "status") {
            let value =
                if keep == Keep::Merged { certificates::merged(existing.get(field), value) } else { value.clone() };
            corrected.insert(field.clone(), value);
        }
    }
    (corrected != *existing).then_some(corrected)
}

async fn create(registry: &Registry, cx: &Context, served: &Served, object: Object) -> Result<(), Status> {
    let namespace = object.namespace().to_owned();
    match registry.create(cx, served, CreateRequest { namespace, object, tracked: false }).await {
        Err(status) if status.reason != "AlreadyExists" => Err(status),
        _ => Ok(()),
    }
}

async fn update(registry: &Registry, cx: &Context, served: &Served, object: Object) -> Result<(), Status> {
    change(registry, cx, served, "", (object.namespace(), object.name()), &object).await
}

async fn change(
    registry: &Registry,
    cx: &Context,
    served: &Served,
    subresource: &str,
    place: (&str, &str),
    object: &Object,
) -> Result<(), Status> {
    let request = UpdateRequest::new(place, subresource, Mutation::own(|_| Ok(object.clone())));
    registry.update(cx, served, request).await.map(drop)
}

/// Writes the status that a new object has.
async fn set_status(
    registry: &Registry,
    placeholders: &Placeholders,
    starter: &Starter,
    served: &Served,
    (namespace, name): (&str, &str),
) -> Result<(), Status> {
    let Some(given) = &starter.status else { return Ok(()) };
    let cx = context(&given.manager);
    let status = placeholders.fill(&given.status).unwrap_or(Value::Null);
    if !given.apply {
        let entry = registry.get(served, namespace, name, None).await?;
        let mut object = entry.readable().map(|readable| readable.object(entry.revision)).unwrap_or_default();
        object.insert("status".to_owned(), status);
        return change(registry, &cx, served, "status", (namespace, name), &object).await;
    }
    let mut intent = Object::new();
    for field in ["apiVersion", "kind"] {
        intent.extend(starter.object.get(field).map(|value| (field.to_owned(), value.clone())));
    }
    metadata_mut(&mut intent).insert("name".to_owned(), json!(name));
    intent.insert("status".to_owned(), status);
    let body = Value::Object(intent).to_string();
    let request = PatchRequest {
        namespace,
        name,
        subresource: "status",
        kind: PatchKind::Apply,
        body: body.as_bytes(),
        validation: FieldValidation::Ignore,
        force: true,
        create_refused: None,
    };
    registry.patch(&cx, served, request).await.map(drop)
}

fn served<'t>(table: &'t pawl_registry::Table, object: &Object) -> Option<&'t std::sync::Arc<Served>> {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let version = GroupVersion::parse(text("apiVersion"))?;
    table.by_kind(&version.group, &version.version, text("kind"))
}

fn context(manager: &str) -> Context {
    let mut cx = Context::own();
    manager.clone_into(&mut cx.manager);
    cx
}
