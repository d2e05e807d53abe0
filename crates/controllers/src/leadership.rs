//! Which of several servers runs the controllers: the one that holds a Lease.
//!
//! Owns the Lease `kube-system/pawl-controllers`. Clocks of other machines are not believed: a Lease has run out when this
//! server has seen no change of it for as long as it lasts. Who cannot renew it in time stops before another may begin; who
//! stops in order gives it back.
//!
//! That is about time, and time proves nothing: a process that was halted, or a write that the network held back, comes late.
//! So who wins the Lease first writes its name at [`FENCE`], and every write of its controllers is conditional on that key
//! being as it left it. What comes later than the next leader's name is refused by the store.

use std::sync::Arc;
use std::time::Duration;

use pawl_kv::{Guard, Revision};
use pawl_meta::object::{Meta, Object};
use pawl_meta::{Status, time};
use pawl_registry::{Context, CreateRequest, Mutation, Registry, UpdateRequest};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::Handle;

const NAMESPACE: &str = "kube-system";
const NAME: &str = "pawl-controllers";
/// Who leads, written once by each who begins to.
const FENCE: &str = "/registry/pawl.dev/leader";
/// How long others wait after the last sign of life. These numbers are kube-controller-manager's.
const LASTS: Duration = Duration::from_secs(15);
/// Who has not renewed it for this long stops: before the others lose patience.
const DEADLINE: Duration = Duration::from_secs(10);
const EVERY: Duration = Duration::from_secs(2);

/// A server that runs the controllers while it leads. Dropping it does not stop it.
pub struct Leadership {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Leadership {
    /// Tries for the Lease from now on, under a name that no other server has; `begin` starts the controllers
    /// behind a fence.
    pub fn start(
        registry: Arc<Registry>,
        identity: String,
        begin: impl Fn(Guard) -> Result<Handle, String> + Send + 'static,
    ) -> Self {
        let (stop, stopping) = watch::channel(false);
        let candidate = Candidate { registry, identity, seen: None };
        Self { stop, task: tokio::spawn(candidate.run(begin, stopping)) }
    }

    /// Ends the controllers, if they run here, and lets another server begin at once.
    pub async fn stop(self) {
        let _ = self.stop.send(true);
        let _ = self.task.await;
    }
}

struct Candidate {
    registry: Arc<Registry>,
    identity: String,
    /// The Lease as it was when it changed last, and when that was noticed.
    seen: Option<(String, Instant)>,
}

/// How a try for the Lease ended.
enum Found {
    /// This server leads from now on: the fence is its own.
    Won(Guard),
    /// It leads as before.
    Held,
    Others,
}

/// What a look at the Lease means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    Renew,
    /// It is free, or nobody has renewed it for too long.
    Take,
    Wait,
}

impl Candidate {
    async fn run(mut self, begin: impl Fn(Guard) -> Result<Handle, String>, mut stopping: watch::Receiver<bool>) {
        let mut leading: Option<(Handle, Instant)> = None;
        loop {
            let began = Instant::now();
            let patience = leading.as_ref().map_or(DEADLINE, |(_, renewed)| {
                DEADLINE.saturating_sub(renewed.elapsed()).max(Duration::from_millis(1))
            });
            let tried = tokio::select! {
                tried = tokio::time::timeout(patience, self.look(leading.is_some())) => tried,
                _ = stopping.wait_for(|stop| *stop) => break,
            };
            leading = match (tried, leading) {
                (Ok(Ok(Found::Held)), Some((handle, _))) => Some((handle, began)),
                (Ok(Ok(Found::Won(fence))), None) => {
                    tracing::info!(identity = self.identity, "this server leads: its controllers begin");
                    let begun = begin(fence).inspect_err(|why| tracing::error!(why, "the controllers cannot begin"));
                    begun.ok().map(|handle| (handle, began))
                }
                (Ok(Ok(Found::Others)), Some((handle, _))) => {
                    tracing::warn!("another server leads: the controllers end here");
                    handle.stop().await;
                    None
                }
                (_, Some((handle, renewed))) if renewed.elapsed() >= DEADLINE => {
                    tracing::warn!("the lease could not be renewed: the controllers end here");
                    handle.stop().await;
                    None
                }
                (_, leading) => leading,
            };
            let pause = tokio::time::sleep(EVERY);
            tokio::select! {
                () = pause => {}
                _ = stopping.wait_for(|stop| *stop) => break,
            }
        }
        if let Some((handle, _)) = leading {
            handle.stop().await;
            if let Err(status) = self.give_back().await {
                tracing::info!(message = status.message, "the lease was not given back");
            }
        }
    }

    /// Renews the Lease, or tries to win it.
    async fn look(&mut self, leading: bool) -> Result<Found, Status> {
        match self.try_once().await? {
            None => Ok(Found::Others),
            Some(_) if leading => Ok(Found::Held),
            Some(since) => self.fence(since).await.map(|fence| fence.map_or(Found::Others, Found::Won)),
        }
    }

    /// Writes this server's name at the fence, unless the Lease has changed since it was won. From then on nothing that an
    /// earlier leader has under way is written any more.
    async fn fence(&self, since: Revision) -> Result<Option<Guard>, Status> {
        let table = self.registry.table();
        let leases = table.preferred("coordination.k8s.io", "leases").ok_or_else(Status::no_such_resource)?;
        let lease = leases.stored.full_key(&leases.stored.key(NAMESPACE, NAME));
        let won = Guard::Unwritten { prefix: lease.into(), through: since };
        self.registry.storage().raise_fence(FENCE, &self.identity, won).await
    }

    /// The revision at which this server has taken or renewed the Lease; none while it is another's.
    async fn try_once(&mut self) -> Result<Option<Revision>, Status> {
        let table = self.registry.table();
        let leases = table.preferred("coordination.k8s.io", "leases").ok_or_else(Status::no_such_resource)?;
        let cx = Context::own();
        let found = match self.registry.get(leases, NAMESPACE, NAME, None).await {
            Ok(entry) => entry.readable().map(|readable| readable.object(entry.revision)).unwrap_or_default(),
            Err(status) if status.code == 404 => {
                let spec = self.spec(None);
                let metadata = json!({"name": NAME, "namespace": NAMESPACE});
                let (version, kind) = ("coordination.k8s.io/v1", "Lease");
                let object = json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec});
                let Value::Object(object) = object else { return Ok(None) };
                let request = CreateRequest { namespace: NAMESPACE.to_owned(), object, tracked: false };
                return match self.registry.create(&cx, leases, request).await {
                    Ok(entry) => Ok(Some(entry.revision)),
                    Err(status) if status.reason == "AlreadyExists" => Ok(None),
                    Err(status) => Err(status),
                };
            }
            Err(status) => return Err(status),
        };
        let version = found.resource_version().to_owned();
        if self.seen.as_ref().is_none_or(|(seen, _)| *seen != version) {
            self.seen = Some((version.clone(), Instant::now()));
        }
        let quiet = self.seen.as_ref().map_or(Duration::ZERO, |(_, since)| since.elapsed());
        if plan(&found, &self.identity, quiet) == Plan::Wait {
            return Ok(None);
        }
        let change = Mutation::own(|now| {
            // What was decided was decided about this version.
            if now.resource_version() != version {
                return Err(Status::conflict(&leases.group_resource, NAME, "another server was faster"));
            }
            let mut renewed = now.clone();
            renewed.insert("spec".to_owned(), self.spec(Some(now)));
            Ok(renewed)
        });
        match self.registry.update(&cx, leases, UpdateRequest::new((NAMESPACE, NAME), "", change)).await {
            Ok(updated) => Ok(Some(updated.entry.revision)),
            Err(status) if status.code == 409 => Ok(None),
            Err(status) => Err(status),
        }
    }

    async fn give_back(&self) -> Result<(), Status> {
        let table = self.registry.table();
        let leases = table.preferred("coordination.k8s.io", "leases").ok_or_else(Status::no_such_resource)?;
        let change = Mutation::own(|now| {
            if holder(now) != self.identity {
                return Err(Status::conflict(&leases.group_resource, NAME, "another server leads"));
            }
            let mut free = now.clone();
            if let Some(Value::Object(spec)) = free.get_mut("spec") {
                spec.remove("holderIdentity");
                spec.insert("leaseDurationSeconds".to_owned(), json!(1));
            }
            Ok(free)
        });
        let request = UpdateRequest::new((NAMESPACE, NAME), "", change);
        self.registry.update(&Context::own(), leases, request).await.map(drop)
    }

    /// The Lease as this server holds it, after what it was before.
    fn spec(&self, before: Option<&Object>) -> Value {
        let now = time::now_micro();
        let was = |field: &str| before.and_then(|lease| lease.get("spec")?.get(field));
        let ours = before.is_some_and(|lease| holder(lease) == self.identity);
        let transitions = was("leaseTransitions").and_then(Value::as_i64).unwrap_or(0);
        json!({
            "holderIdentity": self.identity,
            "leaseDurationSeconds": LASTS.as_secs(),
            "acquireTime": if ours { was("acquireTime").cloned().unwrap_or(json!(now)) } else { json!(now) },
            "renewTime": now,
            "leaseTransitions": if ours || before.is_none() { transitions } else { transitions + 1 },
        })
    }
}

/// What to do about a Lease that has not changed for so long.
fn plan(lease: &Object, identity: &str, quiet: Duration) -> Plan {
    match holder(lease) {
        "" => Plan::Take,
        held if held == identity => Plan::Renew,
        _ if quiet >= LASTS => Plan::Take,
        _ => Plan::Wait,
    }
}

fn holder(lease: &Object) -> &str {
    lease.get("spec").and_then(|spec| spec.get("holderIdentity")?.as_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_taken_when_it_is_free_or_nobody_renews_it() {
        let held = |by: &str| match json!({"spec": {"holderIdentity": by}}) {
            Value::Object(lease) => lease,
            _ => Object::new(),
        };
        assert_eq!(plan(&held("b"), "a", Duration::from_secs(14)), Plan::Wait);
        assert_eq!(plan(&held("b"), "a", LASTS), Plan::Take);
        assert_eq!(plan(&held("a"), "a", Duration::ZERO), Plan::Renew);
        assert_eq!(plan(&held(""), "a", Duration::ZERO), Plan::Take);
        assert_eq!(plan(&Object::new(), "a", Duration::ZERO), Plan::Take);
        assert!(DEADLINE + EVERY < LASTS, "who cannot renew must have ended before others begin");
    }
}
