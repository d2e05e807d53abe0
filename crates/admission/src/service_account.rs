//! Every pod runs as a service account of its namespace, and carries that account's token and pull secrets.
//!
//! Mirror pods, which a kubelet has already started, run as nobody and may use nothing of the API.

mod secrets;
mod token_volume;

use std::time::Duration;

use pawl_meta::object::{Meta, Object};
use pawl_meta::{GroupResource, Status, read};
use rand::Rng;
use serde_json::{Value, json};

use crate::{AdmissionVerdict, Attributes, Operation, Plugin};

const DEFAULT: &str = "default";
const MIRROR: &str = "kubernetes.io/config.mirror";
const ENFORCE_MOUNTABLE: &str = "kubernetes.io/enforce-mountable-secrets";
/// How often the account `default` is looked for: a controller makes it soon after its namespace.
const DEFAULT_ATTEMPTS: usize = 10;

pub struct ServiceAccount;

impl Plugin for ServiceAccount {
    fn name(&self) -> &'static str {
        "ServiceAccount"
    }

    fn looks_at_others(&self, resource: &GroupResource) -> bool {
        (resource.group.as_str(), resource.resource.as_str()) == ("", "pods")
    }

    fn mutate<'a>(&'a self, attributes: &'a Attributes<'a>, object: &'a mut Object) -> AdmissionVerdict<'a> {
        Box::pin(async move {
            if attributes.operation != Operation::Create || !attributes.is("", "pods") {
                return Ok(());
            }
            if !is_mirror(object) {
                complete(attributes, object).await?;
            }
            check_new(attributes, object).await
        })
    }

    fn validate<'a>(&'a self, attributes: &'a Attributes<'a>, object: Option<&'a Object>) -> AdmissionVerdict<'a> {
        Box::pin(async move {
            let Some(pod) = object else { return Ok(()) };
            match attributes.operation {
                Operation::Create if attributes.is("", "pods") => check_new(attributes, pod).await,
                Operation::Update if attributes.is_of("", "pods", "ephemeralcontainers") => {
                    check_ephemeral(attributes, pod).await
                }
                _ => Ok(()),
            }
        })
    }
}

/// Gives a pod its account and what comes with it.
async fn complete(attributes: &Attributes<'_>, pod: &mut Object) -> Result<(), Status> {
    let name = match account_name(pod) {
        "" => DEFAULT.to_owned(),
        name => name.to_owned(),
    };
    let account = account(attributes, pod, &name).await?;
    let Some(spec) = read::map_mut(pod, "spec") else { return Ok(()) };
    // The older name of the field always tells the same.
    for field in ["serviceAccountName", "serviceAccount"] {
        spec.insert(field.to_owned(), json!(name));
    }
    if mounts_token(&account, spec) {
        token_volume::mount(spec);
    }
    if read::each(spec, "imagePullSecrets").next().is_none() {
        let secrets = read::each(&account, "imagePullSecrets");
        let secrets: Vec<Value> = secrets.map(|secret| json!({"name": read::text(secret, "name")})).collect();
        if !secrets.is_empty() {
            spec.insert("imagePullSecrets".to_owned(), Value::Array(secrets));
        }
    }
    Ok(())
}

async fn check_new(attributes: &Attributes<'_>, pod: &Object) -> Result<(), Status> {
    let forbid = |why: String| attributes.forbidden(Some(pod), why);
    if is_mirror(pod) {
        return check_mirror(pod).map_err(|why| forbid(why.to_owned()));
    }
    let account = required_account(attributes, pod).await?;
    if enforces_mountable(&account) { secrets::limit(&account, pod).map_err(forbid) } else { Ok(()) }
}

fn check_mirror(pod: &Object) -> Result<(), &'static str> {
    if !account_name(pod).is_empty() {
        return Err("a mirror pod may not reference service accounts");
    }
    if secrets::any(pod) {
        return Err("a mirror pod may not reference secrets");
    }
    if token_volume::is_projected(pod) {
        return Err("a mirror pod may not use ServiceAccountToken volume projections");
    }
    Ok(())
}

async fn check_ephemeral(attributes: &Attributes<'_>, pod: &Object) -> Result<(), Status> {
    let account = required_account(attributes, pod).await?;
    if !enforces_mountable(&account) {
        return Ok(());
    }
    // Upstream passes this one on as it is, without calling it forbidden.
    secrets::limit_ephemeral(&account, pod).map_err(Status::plain_error)
}

async fn required_account(attributes: &Attributes<'_>, pod: &Object) -> Result<Object, Status> {
    match account_name(pod) {
        "" => {
            let why = format!("no service account specified for pod {}/{}", attributes.namespace, pod.name());
            Err(attributes.forbidden(Some(pod), why))
        }
        name => account(attributes, pod, name).await,
    }
}

async fn account(attributes: &Attributes<'_>, pod: &Object, name: &str) -> Result<Object, Status> {
    let namespace = attributes.namespace;
    let attempts = if name == DEFAULT { DEFAULT_ATTEMPTS } else { 1 };
    let pause = Duration::from_millis(rand::rng().random_range(100..200));
    for attempt in 0..attempts {
        if attempt > 0 {
            tokio::time::sleep(pause).await;
        }
        if let Some(account) = attributes.objects.find("", "serviceaccounts", namespace, name).await {
            return Ok(account);
        }
    }
    let missing = Status::not_found(&GroupResource::new("", "serviceaccount"), name);
    let why = format!("error looking up service account {namespace}/{name}: {missing}");
    Err(attributes.forbidden(Some(pod), why))
}

fn account_name(pod: &Object) -> &str {
    read::deep_text(pod, "spec", "serviceAccountName")
}

fn is_mirror(pod: &Object) -> bool {
    pod.annotation(MIRROR).is_some()
}

/// The pod decides, then the account.
fn mounts_token(account: &Object, spec: &Object) -> bool {
    let choice = |object: &Object| object.get("automountServiceAccountToken").and_then(Value::as_bool);
    choice(spec).or_else(|| choice(account)).unwrap_or(true)
}

/// Whether pods of the account may use only the secrets that the account lists.
fn enforces_mountable(account: &Object) -> bool {
    matches!(account.annotation(ENFORCE_MOUNTABLE), Some("1" | "t" | "T" | "TRUE" | "true" | "True"))
}

#[cfg(test)]
mod tests;
