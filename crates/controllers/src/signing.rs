//! Certificates for signing requests that somebody has approved, from the server's own authority.
//!
//! Owns which signers of Kubernetes it answers for, and what each of them certifies. A request that its signer does not certify is
//! marked as failed, once; requests to other signers are left to those. The key is not seen here: see [`Signer`].

mod request;
mod rules;

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use pawl_meta::object::{Meta, Object};
use pawl_meta::{Status, read, time};
use serde_json::{Value, json};

use crate::actor::{Actor, Outcome, object};
use crate::counters::Tally;
use crate::informer::{Batch, Followed, Informer};
use crate::tasks::{Reconciler, Tasks};
use crate::workqueue::{Reconciled, WorkQueue};

pub use request::{OtherName, SigningRequest};

const GROUP: &str = "certificates.k8s.io";
const REQUESTS: &str = "certificatesigningrequests";

/// Who has the key of an authority.
pub trait Signer: std::fmt::Debug + Send + Sync {
    /// The certificate for an order, as PEM.
    fn certify(&self, order: &Order) -> Result<String, Unsigned>;
}

/// Why there is no certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsigned {
    /// For a fault of the request: no signature will ever be under it.
    Request(String),
    /// For a fault of the authority, which may pass.
    Authority(String),
}

/// A certificate that is wanted, and may be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub request: SigningRequest,
    /// What it may be used for, in the API's words.
    pub usages: Vec<String>,
    /// How long it should live, if that was said.
    pub seconds: Option<i64>,
}

pub fn start(tasks: &mut Tasks, actor: Actor, signer: Arc<dyn Signer>, tally: Arc<Tally>) {
    let informer = Informer::of(&actor, &[(GROUP, REQUESTS)]);
    tasks.run(Arc::new(Signing { actor, signer, tally, queue: WorkQueue::default() }), informer, 1);
}

struct Signing {
    actor: Actor,
    signer: Arc<dyn Signer>,
    tally: Arc<Tally>,
    queue: WorkQueue<String>,
}

/// What is to be done about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SigningVerdict {
    Leave,
    Sign(Order),
    /// The signer certifies no such thing.
    Refuse(String),
}

fn plan(request: &Object) -> SigningVerdict {
    let Some(spec) = read::map(request, "spec").filter(|_| is_waiting(request)) else { return SigningVerdict::Leave };
    let Some(rule) = rules::of_signer(read::text(spec, "signerName")) else { return SigningVerdict::Leave };
    let usages = read::texts(spec, "usages");
    let request = SigningRequest::read(&BASE64.decode(read::text(spec, "request")).unwrap_or_default());
    match request.and_then(|request| rule.check(&request, &usages).map(|()| request)) {
        Ok(request) => SigningVerdict::Sign(Order {
            request,
            usages: usages.into_iter().map(str::to_owned).collect(),
            seconds: spec.get("expirationSeconds").and_then(Value::as_i64),
        }),
        Err(why) => SigningVerdict::Refuse(why),
    }
}

/// Whether a request was approved and has had no answer.
fn is_waiting(request: &Object) -> bool {
    let Some(status) = read::map(request, "status") else { return false };
    let has = |kind: &str| read::each(status, "conditions").any(|condition| read::text(condition, "type") == kind);
    let failed = |condition: &Object| {
        read::text(condition, "type") == "Failed" && matches!(read::text(condition, "status"), "" | "True")
    };
    !request.is_deleting()
        && read::text(status, "certificate").is_empty()
        && has("Approved")
        && !has("Denied")
        && !read::each(status, "conditions").any(failed)
}

impl Reconciler for Signing {
    type Key = String;

    fn queue(&self) -> &WorkQueue<String> {
        &self.queue
    }

    fn enqueue(&self, Batch { changes, .. }: Batch) {
        for change in &changes {
            if let Followed::Seen(entry) = change {
                self.queue.add(entry.name().to_owned());
            }
        }
    }

    async fn reconcile(&self, name: String) -> Reconciled {
        match self.answer(&name).await {
            Ok(()) => Reconciled::Done,
            Err(status) => {
                tracing::debug!(controller = %self.actor.name, name, %status, "tried again");
                self.tally.retries.add(1);
                Reconciled::Retry
            }
        }
    }
}

impl Signing {
    async fn answer(&self, name: &str) -> Result<(), Status> {
        let Some(served) = self.actor.served(GROUP, REQUESTS) else { return Ok(()) };
        let Some(request) = self.actor.read(&served, "", name).await?.as_deref().and_then(object) else {
            return Ok(());
        };
        let signed = match plan(&request) {
            SigningVerdict::Leave => return Ok(()),
            SigningVerdict::Sign(order) => self.signer.certify(&order),
            SigningVerdict::Refuse(why) => Err(Unsigned::Request(why)),
        };
        let (field, value) = match signed {
            Ok(certificate) => ("certificate", json!(BASE64.encode(certificate))),
            Err(Unsigned::Request(why)) => ("conditions", failure(&why)),
            Err(Unsigned::Authority(why)) => {
                tracing::warn!(controller = %self.actor.name, name, why, "an approved request is not signed");
                return Err(Status::internal(why));
            }
        };
        let edit = |object: &mut Object| {
            // Somebody may have been faster.
            if is_waiting(object)
                && let Some(status) = read::map_mut(object, "status")
            {
                match (status.get_mut(field), &value) {
                    (Some(Value::Array(conditions)), Value::Object(_)) => conditions.push(value.clone()),
                    _ => drop(status.insert(field.to_owned(), value.clone())),
                }
            }
        };
        match self.actor.change(&served, ("", name), "status", request.uid(), edit).await? {
            Outcome::Done => self.tally.published.add(1),
            Outcome::Changed => self.queue.add(name.to_owned()),
            Outcome::Gone | Outcome::Held(_) => {}
        }
        Ok(())
    }
}

/// The condition of a request that its signer refuses.
fn failure(why: &str) -> Value {
    json!({"type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": why, "lastUpdateTime": time::now()})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(signer: &str, conditions: Value) -> Object {
        let request = json!({
            "metadata": {"name": "r", "uid": "u"},
            "spec": {"signerName": signer, "request": BASE64.encode(request::tests::request("system:node:one", "system:nodes", &[])), "usages": ["client auth"], "expirationSeconds": 600},
            "status": {"conditions": conditions},
        });
        request.as_object().unwrap().clone()
    }

    #[test]
    fn only_what_was_approved_and_not_answered_is_signed() {
        let is_signed = |request: &Object| matches!(plan(request), SigningVerdict::Sign(_));
        let of = |conditions: Value| request("kubernetes.io/kube-apiserver-client", conditions);
        let approved = json!({"type": "Approved", "status": "True"});
        assert!(is_signed(&of(json!([approved]))));
        assert!(!is_signed(&of(json!([]))));
        assert!(!is_signed(&of(json!([approved, {"type": "Denied", "status": "True"}]))));
        assert!(!is_signed(&of(json!([approved, {"type": "Failed", "status": "True"}]))));
        assert!(!is_signed(&of(json!([approved, {"type": "Failed"}]))));
        assert!(is_signed(&of(json!([approved, {"type": "Failed", "status": "False"}]))));
        assert!(!is_signed(&request("example.com/own", json!([approved]))));
        let mut answered = of(json!([approved]));
        answered["status"]["certificate"] = json!("Zm9v");
        assert!(!is_signed(&answered));
        let mut deleted = of(json!([approved]));
        deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert!(!is_signed(&deleted));
    }

    #[test]
    fn an_order_says_what_was_asked_for() {
        let approved = json!([{"type": "Approved", "status": "True"}]);
        let SigningVerdict::Sign(order) = plan(&request("kubernetes.io/legacy-unknown", approved.clone())) else {
            panic!()
        };
        assert_eq!((order.usages, order.seconds), (vec!["client auth".to_owned()], Some(600)));
        let refused = plan(&request("kubernetes.io/kubelet-serving", approved));
        assert_eq!(refused, SigningVerdict::Refuse("DNS or IP subjectAltName is required".to_owned()));
    }
}
