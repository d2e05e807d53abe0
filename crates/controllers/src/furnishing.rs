//! What every active namespace is furnished with: the account `default`, and the ConfigMap `kube-root-ca.crt`.
//!
//! Each is made when a namespace appears and made again when it is deleted; the certificates are put right when somebody
//! changes them. A namespace that goes away gets nothing.

use std::sync::Arc;

use pawl_meta::Status;
use pawl_meta::object::{Meta, Object};
use serde_json::{Value, json};

use crate::actor::{Actor, Outcome, object};
use crate::counters::Tally;
use crate::feed::{Batch, Feed};
use crate::queue::{Queue, Step};
use crate::work::{Crew, Handler};

const WORKERS: usize = 4;

pub fn service_accounts(crew: &mut Crew, actor: Actor, tally: Arc<Tally>) {
    let feed = Feed::of(&actor, &[("", "namespaces"), ("", "serviceaccounts")]);
    let wanted = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
    let furnisher = Furnisher { actor, tally, plural: "serviceaccounts", wanted, queue: Queue::default() };
    crew.hire(Arc::new(furnisher), feed, WORKERS);
}

pub fn root_certificates(crew: &mut Crew, actor: Actor, certificates: &str, tally: Arc<Tally>) {
    let feed = Feed::of(&actor, &[("", "namespaces"), ("", "configmaps")]);
    let about = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such \
                 as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across \
                 distributions of Kubernetes clusters.";
    let wanted = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kube-root-ca.crt", "annotations": {"kubernetes.io/description": about}},
        "data": {"ca.crt": certificates},
    });
    let furnisher = Furnisher { actor, tally, plural: "configmaps", wanted, queue: Queue::default() };
    crew.hire(Arc::new(furnisher), feed, WORKERS);
}

/// Keeps one object in every active namespace.
struct Furnisher {
    actor: Actor,
    tally: Arc<Tally>,
    plural: &'static str,
    wanted: Value,
    queue: Queue<String>,
}

/// What is to be done in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Leave,
    Create,
    /// It is there, but its data is not what it should be.
    Restore,
}

fn plan(namespace: Option<&Object>, wanted: &Value, found: Option<&Object>) -> Verdict {
    let phase = namespace.and_then(|n| pawl_meta::object::at(n, "status.phase")).and_then(Value::as_str);
    if phase != Some("Active") || namespace.is_none_or(Meta::is_deleting) {
        return Verdict::Leave;
    }
    match (found, wanted.get("data")) {
        (None, _) => Verdict::Create,
        (Some(found), Some(data)) if found.get("data") != Some(data) => Verdict::Restore,
        (Some(_), _) => Verdict::Leave,
    }
}

impl Handler for Furnisher {
    type Key = String;

    fn queue(&self) -> &Queue<String> {
        &self.queue
    }

    fn hear(&self, Batch { served, changes }: Batch) {
        use crate::feed::Change::{Gone, Seen};
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

    async fn handle(&self, namespace: String) -> Step {
        match self.furnish(&namespace).await {
            Ok(()) => Step::Done,
            Err(status) => {
                tracing::debug!(controller = %self.actor.name, %namespace, %status, "tried again");
                self.tally.retries.add(1);
                Step::Retry
            }
        }
    }
}

impl Furnisher {
    async fn furnish(&self, name: &str) -> Result<(), Status> {
        let (Some(namespaces), Some(served)) =
            (self.actor.served("", "namespaces"), self.actor.served("", self.plural))
        else {
            return Ok(());
        };
        let namespace = self.actor.read(&namespaces, "", name).await?.as_deref().and_then(object);
        let found = self.actor.read(&served, name, self.wanted.name()).await?.as_deref().and_then(object);
        let outcome = match plan(namespace.as_ref(), &self.wanted, found.as_ref()) {
            Verdict::Leave => return Ok(()),
            Verdict::Create => match self.actor.create(&served, name, &self.wanted).await {
                Err(status) if is_terminating(&status) => return Ok(()),
                outcome => outcome?,
            },
            Verdict::Restore => {
                let data = self.wanted.get("data").cloned().unwrap_or_default();
                let uid = found.as_ref().map(|found| found.uid().to_owned()).unwrap_or_default();
                let edit = |object: &mut Object| {
                    object.insert("data".to_owned(), data.clone());
                };
                self.actor.change(&served, (name, self.wanted.name()), "", &uid, edit).await?
            }
        };
        if outcome == Outcome::Done {
            self.tally.furnished.add(1);
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
        let check = |namespace: Value, wanted: Value, found: Value, expect: Verdict| {
            assert_eq!(plan(namespace.as_object(), &wanted, found.as_object()), expect, "{namespace} {found}");
        };
        let active = json!({"status": {"phase": "Active"}});
        let data = json!({"data": {"a": "b"}});
        check(active.clone(), json!({}), Value::Null, Verdict::Create);
        check(active.clone(), json!({}), json!({}), Verdict::Leave);
        check(active.clone(), data.clone(), data.clone(), Verdict::Leave);
        check(active, data, json!({"data": {"a": "c"}}), Verdict::Restore);
        check(json!({"status": {"phase": "Terminating"}}), json!({}), Value::Null, Verdict::Leave);
        check(Value::Null, json!({}), Value::Null, Verdict::Leave);
    }
}
