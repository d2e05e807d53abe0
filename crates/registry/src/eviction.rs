//! `/eviction`: a deletion that disruption budgets have a say in. Liens hold against it as against any deletion.

mod budget;

use pawl_deletion::{DeleteOptions, DeletionVerdict, Preconditions, judge};
use pawl_meta::object::{Meta, Object};
use pawl_meta::{Status, time};
use serde_json::Value;

use crate::rewrite::{remove_condition, set_true};
use crate::{Context, DeleteRequest, Mutation, Registry, Served, UpdateRequest};

/// The condition of a pod that is evicted, and its reason.
const TARGET: &str = "DisruptionTarget";
const EVICTED: &str = "EvictionByEvictionAPI";

/// Conflicts with those who change the pod or the budget are tried again.
const ATTEMPTS: usize = 20;

/// What the budgets make of an eviction.
enum Permission {
    Granted,
    /// Granted to the pod as it is: not to one that has become ready meanwhile.
    GrantedAsItIs {
        budget: String,
    },
    /// Counted against a budget, and given back if the pod stays.
    Counted {
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
            let pod = self.pod(pods, namespace, name).await?;
            let Some(pinned) = exempt(&pod) else { break };
            let pin = (pinned && options.preconditions.resource_version.is_none()).then(|| pod.resource_version());
            match self.remove_evicted(cx, pods, (namespace, name), options, pin).await {
                Err(status) if status.reason == "Conflict" && options.preconditions.resource_version.is_none() => {}
                result => return result,
            }
        }
        let pod = self.pod(pods, namespace, name).await?;
        let permission = self.ask_budgets(cx, &pod).await?;
        let pin = matches!(permission, Permission::GrantedAsItIs { .. }).then(|| pod.resource_version());
        let result = self.remove_evicted(cx, pods, (namespace, name), options, pin).await;
        match (result, permission) {
            (Err(status), Permission::GrantedAsItIs { budget })
                if status.reason == "Conflict" && options.preconditions.resource_version.is_none() =>
            {
                Err(budget::still_processed(&budget))
            }
            (Err(status), Permission::Counted { budget }) => {
                self.give_back(namespace, &budget, name).await;
                Err(status)
            }
            (result, _) => result,
        }
    }

    async fn pod(&self, pods: &Served, namespace: &str, name: &str) -> Result<Object, Status> {
        let entry = self.get(pods, namespace, name, None).await?;
        Ok(entry.readable().map(|readable| readable.object(entry.revision)).unwrap_or_default())
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
            let budget = found.name().to_owned();
            if budget::spares_unready(&found, pod) {
                return Ok(Permission::GrantedAsItIs { budget });
            }
            let status = budget::spend(&found, pod.name(), &time::now())?;
            if cx.dry_run {
                return Ok(Permission::Granted);
            }
            let mut spent = found.clone();
            spent.insert("status".to_owned(), Value::Object(status));
            let place = (found.namespace(), budget.as_str());
            let request = UpdateRequest::new(place, "status", Mutation::own(|_| Ok(spent.clone())));
            match self.update(&Context::own(), &budgets, request).await {
                Err(status) if status.reason == "Conflict" => {}
                result => return result.map(|_| Permission::Counted { budget }),
            }
        }
        Err(Status::timeout("Timeout: couldn't update PodDisruptionBudget due to conflicts"))
    }

    /// Gives back what was counted for a pod that stays. Whoever keeps the budget counts anew where this fails.
    async fn give_back(&self, namespace: &str, budget: &str, pod: &str) {
        let Some(budgets) = self.find("policy", "poddisruptionbudgets") else { return };
        let change = Mutation::own(|found| {
            let mut found = found.clone();
            budget::give_back(&mut found, pod);
            Ok(found)
        });
        let request = UpdateRequest::new((namespace, budget), "status", change);
        if let Err(status) = self.update(&Context::own(), &budgets, request).await {
            tracing::warn!(namespace, budget, pod, message = status.message, "an eviction was not given back");
        }
    }

    /// Notes in the pod why it goes, and deletes it; with a version, only that one. A pod that stays loses the note again.
    async fn remove_evicted(
        &self,
        cx: &Context,
        pods: &Served,
        (namespace, name): (&str, &str),
        options: &DeleteOptions,
        pin: Option<&str>,
    ) -> Result<(), Status> {
        let mut conditions = options.preconditions.clone();
        if let Some(version) = pin {
            conditions.resource_version = Some(version.to_owned());
        }
        if cx.dry_run {
            let options = DeleteOptions { preconditions: conditions, ..options.clone() };
            return self.delete(cx, pods, DeleteRequest { namespace, name, options: &options }).await.map(drop);
        }
        for _ in 0..ATTEMPTS {
            let mut is_new = false;
            let mut note = |pod: &mut Object| {
                check(pods, &conditions, pod)?;
                // What holds the pod by now keeps it as it is.
                let unconditional = DeleteOptions { preconditions: Preconditions::default(), ..options.clone() };
                if let DeletionVerdict::Refuse(status) = judge(&self.deletion(pods, &unconditional), pod.clone()) {
                    return Err(status);
                }
                is_new = set_true(pod, TARGET, EVICTED, "Eviction API: evicting");
                Ok(())
            };
            let noted = self.rewrite(cx, pods, namespace, name, &mut note).await?;
            let exactly =
                Preconditions { resource_version: Some(noted.revision.to_string()), ..options.preconditions.clone() };
            let pinned = DeleteOptions { preconditions: exactly, ..options.clone() };
            match self.delete(cx, pods, DeleteRequest { namespace, name, options: &pinned }).await {
                Ok(_) => return Ok(()),
                // Somebody changed the pod in between: what it is now is looked at again, unless one pod alone was meant.
                Err(status) if status.reason == "Conflict" => {
                    if is_new {
                        self.withdraw(cx, pods, namespace, name).await;
                    }
                    if conditions.resource_version.is_some() {
                        return Err(status);
                    }
                }
                Err(status) => {
                    if is_new {
                        self.withdraw(cx, pods, namespace, name).await;
                    }
                    return Err(status);
                }
            }
        }
        let why = "the pod was changed too often while it was being evicted";
        Err(Status::conflict(&pods.group_resource, name, why))
    }

    /// Takes the note of an eviction that did not happen out of a pod.
    async fn withdraw(&self, cx: &Context, pods: &Served, namespace: &str, name: &str) {
        let mut clear = |pod: &mut Object| {
            if !pod.is_deleting() {
                remove_condition(pod, TARGET, EVICTED);
            }
            Ok(())
        };
        if let Err(status) = self.rewrite(cx, pods, namespace, name, &mut clear).await
            && status.code != 404
        {
            tracing::warn!(namespace, name, message = status.message, "the note of an eviction was not taken back");
        }
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
