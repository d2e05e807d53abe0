//! What every active namespace is published with: the account `default`, and the ConfigMap `kube-root-ca.crt`.
//!
//! Each is made when a namespace appears and made again when it is deleted; the certificates are put right when somebody
//! changes them. A namespace that goes away gets nothing.

use std::sync::Arc;

use pawl_meta::Status;
use pawl_meta::object::{Meta, Object};
use serde_json::{Value, json};

use crate::actor::{Actor, Outcome, object};
use crate::counters::Tally;
use crate::informer::{Batch, Informer};
use crate::tasks::{Reconciler, Tasks};
use crate::workqueue::{Reconciled, WorkQueue};

const WORKERS: usize = 4;

pub fn service_accounts(tasks: &mut Tasks, actor: Actor, tally: Arc<Tally>) {
    let informer = Informer::of(&actor, &[("", "namespaces"), ("", "serviceaccounts")]);
    let wanted = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
    let publisher = Publisher { actor, tally, plural: "serviceaccounts", wanted, queue: WorkQueue::default() };
    tasks.run(Arc::new(publisher), informer, WORKERS);
}

pub fn root_certificates(tasks: &mut Tasks, actor: Actor, certificates: &str, tally: Arc<Tally>) {
    let informer = Informer::of(&actor, &[("", "namespaces"), ("", "configmaps")]);
    let about = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such \
                 as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across \
                 distributions of Kubernetes clusters.";
    let wanted = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kube-root-ca.crt", "annotations": {"kubernetes.io/description": about}},
        "data": {"ca.crt": certificates},
    });
    let publisher = Publisher { actor, tally, plural: "configmaps", wanted, queue: WorkQueue::default() };
    tasks.run(Arc::new(publisher), informer, WORKERS);
}

/// Keeps one object in every active namespace.
struct Publisher {
    actor: Actor,
    tally: Arc<Tally>,
    plural: &'static str,
    wanted: Value,
    queue: WorkQueue<String>,
}

/// What is to be done in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Publication {
    Leave,
    Create,
    /// It is there, but its data is not what it should be.
    Restore,
}

fn plan(namespace: Option<&Object>, wanted: &Value, found: Option<&Object>) -> Publication {
    let phase = namespace.and_then(|n| pawl_meta::object::at(n, "status.phase")).and_then(Value::as_str);
    if phase != Some("Active") || namespace.is_none_or(Meta::is_deleting) {
        return Publication::Leave;
    }
    match (found, wanted.get("data")) {
        (None, _) => Publication::Create,
        (Some(found), Some(data)) if found.get("data") != Some(data) => Publication::Restore,
        (Some(_), _) => Publication::Leave,
    }
}

impl Reconciler for Publisher {
    type Key = String;

    fn queue(&self) -> &WorkQueue<String> {
        &self.queue
    }

    fn enqueue(&self, Batch { served, changes }: Batch) {
        use crate::informer::Followed::{Gone, Seen};
        for change in &changes {
            let (Seen(entry) | Gone(entry)) = change;
            if !served.resource.facts.namespaced {
                if matches!(change, Seen(_)) {
                    self.queue.add(entry.name().to_owned());
                }
            } else if entry.name() == self.wanted.name() {
                self.queue.add(entry.namespace().to_owned());
            }
        }
    }

    async fn reconcile(&self, namespace: String) -> Reconciled {
        match self.publish(&namespace).await {
            Ok(()) => Reconciled::Done,
            Err(status) => {
                tracing::debug!(controller = %self.actor.name, %namespace, %status, "tried again");
                self.tally.retries.add(1);
                Reconciled::Retry
            }
        }
    }
}

impl Publisher {
    async fn publish(&self, name: &str) -> Result<(), Status> {
        let (Some(namespaces), Some(served)) =
            (self.actor.served("", "namespaces"), self.actor.served("", self.plural))
        else {
            return Ok(());
        };
        let namespace = self.actor.read(&namespaces, "", name).await?.as_deref().and_then(object);
        let found = self.actor.read(&served, name, self.wanted.name()).await?.as_deref().and_then(object);
        let outcome = match plan(namespace.as_ref(), &self.wanted, found.as_ref()) {
            Publication::Leave => return Ok(()),
            Publication::Create => match self.actor.create(&served, name, &self.wanted).await {
                Err(status) if is_terminating(&status) => return Ok(()),
                outcome => outcome?,
            },
            Publication::Restore => {
                let data = self.wanted.get("data").cloned().unwrap_or_default();
                let uid = found.as_ref().map(|found| found.uid().to_owned()).unwrap_or_default();
                let edit = |object: &mut Object| {
                    object.insert("data".to_owned(), data.clone());
                };
                self.actor.change(&served, (name, self.wanted.name()), "", &uid, edit).await?
            }
        };
        if outcome == Outcome::Done {
            self.tally.published.add(1);
        }
        Ok(())
    }
}

/// The namespace went away meanwhile.
fn is_terminating(status: &Status) -> bool {
    status.code == 404 || status.details.iter().flat_map(|d| &d.causes).any(|c| c.reason == "NamespaceTerminating")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_active_namespaces_are_furnished() {
        let check = |namespace: Value, wanted: Value, found: Value, expect: Publication| {
            assert_eq!(plan(namespace.as_object(), &wanted, found.as_object()), expect, "{namespace} {found}");
        };
        let active = json!({"status": {"phase": "Active"}});
        let data = json!({"data": {"a": "b"}});
        check(active.clone(), json!({}), Value::Null, Publication::Create);
        check(active.clone(), json!({}), json!({}), Publication::Leave);
        check(active.clone(), data.clone(), data.clone(), Publication::Leave);
        check(active, data, json!({"data": {"a": "c"}}), Publication::Restore);
        check(json!({"status": {"phase": "Terminating"}}), json!({}), Value::Null, Publication::Leave);
        check(Value::Null, json!({}), Value::Null, Publication::Leave);
    }
}
