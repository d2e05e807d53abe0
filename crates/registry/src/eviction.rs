//! `/eviction`: a deletion that disruption budgets have a say in. Liens hold against it as against any deletion.

mod budget;

use pawl_deletion::{DeleteOptions, Preconditions};
use pawl_meta::object::{Meta, Object};
use pawl_meta::{Status, time};
use serde_json::Value;

use crate::rewrite::set_true;
use crate::{Context, DeleteRequest, Registry, Served, UpdateRequest};

/// Conflicts with those who change the pod or the budget are tried again.
const ATTEMPTS: usize = 20;

/// What the budgets make of an eviction.
enum Permission {
    Granted,
    /// Granted to the pod as it is: not to one that has become ready meanwhile.
    GrantedAsItIs {
        budget: String,
    },
}

impl Registry {
    /// Evicts a pod: deletes it if its budget allows.
    pub async fn evict(
        &self,
        cx: &Context,
        pods: &Served,
        (namespace, name): (&str, &str),
        mut eviction: Object,
        options: &DeleteOptions,
    ) -> Result<(), Status> {
        self.admit_below(cx, pods, ("eviction", "Eviction"), (namespace, name), &mut eviction).await?;
        // What refuses the deletion must do so before anything is noted anywhere.
        let mut trial = Context::new(cx.user.clone());
        trial.dry_run = true;
        self.delete(&trial, pods, DeleteRequest { namespace, name, options }).await?;
        for _ in 0..ATTEMPTS {
            let entry = self.get(pods, namespace, name, None).await?;
            let pod = entry.readable().map(|readable| readable.object(entry.revision)).unwrap_or_default();
            let Some(pinned) = exempt(&pod) else { break };
            let pin = (pinned && options.preconditions.resource_version.is_none()).then(|| pod.resource_version());
            match self.remove_evicted(cx, pods, (namespace, name), options, pin).await {
                Err(status) if status.reason == "Conflict" && options.preconditions.resource_version.is_none() => {}
                result => return result,
            }
        }
        let entry = self.get(pods, namespace, name, None).await?;
        let pod = entry.readable().map(|readable| readable.object(entry.revision)).unwrap_or_default();
        match self.ask_budgets(cx, &pod).await? {
            Permission::Granted => self.remove_evicted(cx, pods, (namespace, name), options, None).await,
            Permission::GrantedAsItIs { budget } => {
                let pin = Some(pod.resource_version());
                let result = self.remove_evicted(cx, pods, (namespace, name), options, pin).await;
                result.map_err(|status| match status.reason {
                    "Conflict" if options.preconditions.resource_version.is_none() => budget::still_processed(&budget),
                    _ => status,
                })
            }
        }
    }

    /// Counts an eviction against the one budget that covers the pod.
    async fn ask_budgets(&self, cx: &Context, pod: &Object) -> Result<Permission, Status> {
        let Some(budgets) = self.find("policy", "poddisruptionbudgets") else { return Ok(Permission::Granted) };
        for _ in 0..ATTEMPTS {
            self.storage().catch_up().await?;
            let all = pawl_admission::Objects::list(self, "policy", "poddisruptionbudgets", pod.namespace());
            let mut covering = all.into_iter().filter(|budget| budget::covers(budget, pod));
            let Some(found) = covering.next() else { return Ok(Permission::Granted) };
            if covering.next().is_some() {
                let message =
                    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
                return Err(Status::plain_error(message));
            }
            if budget::spares_unready(&found, pod) {
                return Ok(Permission::GrantedAsItIs { budget: found.name().to_owned() });
            }
            let status = budget::spend(&found, pod.name(), &time::now())?;
            if cx.dry_run {
                return Ok(Permission::Granted);
            }
            let mut spent = found.clone();
            spent.insert("status".to_owned(), Value::Object(status));
            let place = (found.namespace(), found.name());
            let request = UpdateRequest::new(place, "status", |_| Ok(spent.clone()));
            match self.update(&Context::own(), &budgets, request).await {
                Err(status) if status.reason == "Conflict" => {}
                result => return result.map(|_| Permission::Granted),
            }
        }
        Err(Status::timeout("Timeout: couldn't update PodDisruptionBudget due to conflicts"))
    }

    /// Notes in the pod why it goes, and deletes it; with a version, only that one.
    async fn remove_evicted(
        &self,
        cx: &Context,
        pods: &Served,
        (namespace, name): (&str, &str),
        options: &DeleteOptions,
        pin: Option<&str>,
    ) -> Result<(), Status> {
        let mut options = options.clone();
        if let Some(version) = pin {
            options.preconditions.resource_version = Some(version.to_owned());
        }
        if !cx.dry_run {
            let conditions = options.preconditions.clone();
            let mut note = |pod: &mut Object| {
                check(pods, &conditions, pod)?;
                set_true(pod, "DisruptionTarget", "EvictionByEvictionAPI", "Eviction API: evicting");
                Ok(())
            };
            let noted = self.rewrite(cx, pods, namespace, name, &mut note).await?;
            if options.preconditions.resource_version.is_some() {
                options.preconditions.resource_version = Some(noted.revision.to_string());
            }
        }
        self.delete(cx, pods, DeleteRequest { namespace, name, options: &options }).await.map(drop)
    }
}

/// Whether a pod may go whatever its budget says; and if so, whether only as it is.
fn exempt(pod: &Object) -> Option<bool> {
    match pawl_meta::object::at(pod, "status.phase").and_then(Value::as_str) {
        _ if pod.is_deleting() => Some(false),
        Some("Succeeded" | "Failed") => Some(false),
        Some("Pending") => Some(true),
        _ => None,
    }
}

fn check(pods: &Served, conditions: &Preconditions, pod: &Object) -> Result<(), Status> {
    let refuse = |what: &str, wanted: &str, found: &str, ending: &str| {
        let why = format!(
            "the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). The object might have been {ending}"
        );
        let kind = pawl_meta::GroupResource::new("", pods.resource.facts.kind.clone());
        Err(Status::conflict(&kind, pod.name(), why))
    };
    match (&conditions.uid, &conditions.resource_version) {
        (Some(uid), _) if uid != pod.uid() => refuse("UID", uid, pod.uid(), "deleted and then recreated"),
        (_, Some(version)) if version != pod.resource_version() => {
            refuse("ResourceVersion", version, pod.resource_version(), "modified")
        }
        _ => Ok(()),
    }
}
