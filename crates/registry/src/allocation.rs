//! Addresses and node ports of services: taken when a service is written, given back when it goes.
//!
//! What is taken is read from the caches: an IPAddress object stands for every address, and services carry their ports.
//! A write that is under way holds what it took in a set of reservations until the caches show it, so two writes never
//! get the same. Where several servers share a store, it decides: an address object is made by one of them only, and a
//! service with new ports is written only if no other was meanwhile. What a service gets is planned purely ([`plan`]); this module makes the plan true.

mod plan;
mod pool;
mod ports;
mod ranges;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use pawl_deletion::DeleteOptions;
use pawl_kv::Guard;
use pawl_meta::object::{Meta, Object};
use pawl_meta::{Status, time};
use serde_json::{Value, json};

use plan::{Plan, Refusal, Taken};
pub use ranges::{AddressRange, PortRange, ServiceRanges};

use crate::{Context, CreateRequest, DeleteRequest, Registry, Served};

const MANAGED_BY: &str = "ipallocator.k8s.io";
const MANAGED_BY_LABEL: &str = "ipaddress.kubernetes.io/managed-by";
const FAMILY_LABEL: &str = "ipaddress.kubernetes.io/ip-family";

/// What is older than this belongs to no write that is still under way on another server.
const UNDER_WAY_SECONDS: i64 = 60;

/// What writes that are under way have taken.
#[derive(Debug, Default)]
pub(crate) struct Reservations {
    taken: Arc<Mutex<Taken>>,
    /// A write was given up half way: addresses and services may disagree.
    interrupted: Arc<AtomicBool>,
}

/// A write that has begun and not ended.
#[derive(Debug)]
pub(crate) struct PendingWrite {
    interrupted: Arc<AtomicBool>,
    finished: bool,
}

impl PendingWrite {
    /// The write ended. One that failed in a way that leaves its outcome open counts as given up.
    pub(crate) fn ended<T>(mut self, result: &Result<T, Status>) {
        self.finished = result.as_ref().err().is_none_or(|status| status.code < 500);
    }
}

impl Drop for PendingWrite {
    fn drop(&mut self) {
        if !self.finished {
            self.interrupted.store(true, Ordering::Release);
        }
    }
}

/// What one write has taken; others may have it again when this goes and the caches do not show it.
#[derive(Debug, Default)]
pub(crate) struct Held {
    plan: Plan,
    reservations: Option<Arc<Mutex<Taken>>>,
    /// Where other servers give out ports too: no service has been written since they were looked at.
    guard: Option<Guard>,
}

impl Held {
    pub(crate) fn is_empty(&self) -> bool {
        self.plan == Plan::default()
    }

    /// What must hold when the object is written.
    pub(crate) fn guard(&self) -> Option<Guard> {
        self.guard.clone()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(reservations) = &self.reservations {
            let mut taken = reservations.lock().unwrap_or_else(PoisonError::into_inner);
            taken.addresses.retain(|address| !self.plan.addresses.contains(address));
            taken.ports.retain(|port| !self.plan.ports.contains(port));
        }
    }
}

impl Registry {
    /// Takes what a new object needs. `given` is the object before the server filled in anything.
    pub(crate) fn allocate_create(
        &self,
        cx: &Context,
        served: &Served,
        given: &Object,
        object: &mut Object,
    ) -> Result<Held, Status> {
        if !served.resource.facts.allocates {
            return Ok(Held::default());
        }
        let families = pawl_meta::object::at(given, "spec.ipFamilies").and_then(Value::as_array).map_or(0, Vec::len);
        let name = object.name().to_owned();
        self.allocate(cx, served, object, |spec, ranges, taken| plan::create(&name, spec, families, ranges, taken))
    }

    /// Takes what a changed object needs beyond what it had.
    pub(crate) fn allocate_update(
        &self,
        cx: &Context,
        served: &Served,
        subresource: &str,
        new: &mut Object,
        old: &Object,
    ) -> Result<Held, Status> {
        let before = old.get("spec").and_then(Value::as_object);
        let (true, true, Some(before)) = (served.resource.facts.allocates, subresource.is_empty(), before) else {
            return Ok(Held::default());
        };
        let name = new.name().to_owned();
        self.allocate(cx, served, new, |spec, ranges, taken| plan::update(&name, spec, before, ranges, taken))
    }

    fn allocate(
        &self,
        cx: &Context,
        served: &Served,
        object: &mut Object,
        plan: impl FnOnce(&mut Object, &ServiceRanges, &Taken) -> Result<Plan, Refusal>,
    ) -> Result<Held, Status> {
        let name = object.name().to_owned();
        let Some(Value::Object(spec)) = object.get_mut("spec") else { return Ok(Held::default()) };
        // Looked at first: the caches have at least this.
        let through = self.storage().applied();
        let mut reserved = self.reservations.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = reserved.clone();
        self.add_shown(served, ports::has_node_ports(spec), &mut taken);
        let plan = plan(spec, &self.settings.services, &taken).map_err(|refusal| match refusal {
            Refusal::Invalid(errors) => self.invalid(served, &name, &errors),
            Refusal::Failed(why) => Status::internal(why),
        })?;
        if cx.dry_run {
            return Ok(Held::default());
        }
        reserved.addresses.extend(&plan.addresses);
        reserved.ports.extend(&plan.ports);
        let prefix = || served.stored.prefix.clone().into();
        let guarded = self.storage().kv().is_shared() && !plan.ports.is_empty();
        let guard = guarded.then(|| Guard::Unwritten { prefix: prefix(), through });
        Ok(Held { plan, reservations: Some(Arc::clone(&self.reservations.taken)), guard })
    }

    /// Adds what the caches show as taken; ports only where they are needed.
    fn add_shown(&self, served: &Served, with_ports: bool, taken: &mut Taken) {
        if let Some(addresses) = self.find("networking.k8s.io", "ipaddresses") {
            taken
                .addresses
                .extend(addresses.stored.cache.objects().keys().filter_map(|key| key.parse::<IpAddr>().ok()));
        }
        let select = served.stored.select.iter().position(|field| field == "spec.clusterIP");
        for entry in served.stored.cache.objects().values() {
            let Some(readable) = entry.readable() else { continue };
            let address = select.and_then(|at| readable.field(at));
            taken.addresses.extend(address.and_then(|address| address.parse::<IpAddr>().ok()));
            if with_ports && mentions_ports(readable.value()) {
                let object = readable.object(entry.revision);
                let spec = object.get("spec").and_then(Value::as_object);
                taken.ports.extend(spec.into_iter().flat_map(ports::of));
            }
        }
    }

    /// Makes the objects that stand for the addresses that were taken: before the service is written, so that a crash
    /// in between leaves an address too many and never one twice.
    pub(crate) fn settle<'a>(&'a self, held: &'a Held, service: &'a Object) -> BoxFuture<'a, Result<(), Status>> {
        Box::pin(async move {
            if held.plan.addresses.is_empty() {
                return Ok(());
            }
            for (done, address) in held.plan.addresses.iter().enumerate() {
                if let Err(status) = self.create_address(address, service).await {
                    self.release(held.plan.addresses.get(..done).unwrap_or_default()).await;
                    return Err(status);
                }
            }
            // After a write of our own: what was under way when somebody gave up has come to its end before it.
            if self.reservations.interrupted.swap(false, Ordering::AcqRel) {
                self.repair_addresses().await;
            }
            Ok(())
        })
    }

    /// Ends a write: what was taken stays when it was done and goes when it was not; what it left goes when it was done.
    pub(crate) async fn keep_or_release(&self, held: Held, done: bool) {
        self.release(if done { &held.plan.left } else { &held.plan.addresses }).await;
    }

    /// Gives back the addresses of an object that is gone.
    pub(crate) async fn release_all(&self, served: &Served, gone: &Object) {
        if served.resource.facts.allocates
            && let Some(spec) = gone.get("spec").and_then(Value::as_object)
        {
            self.release(&plan::addresses(spec)).await;
        }
    }

    /// Makes the address objects agree with the services: what an interrupted write left behind goes, what is missing comes.
    /// What writes under way have reserved is theirs; who has given up a reservation is seen in the caches.
    pub async fn repair_addresses(&self) {
        let (Some(services), Some(addresses)) =
            (self.find("", "services"), self.find("networking.k8s.io", "ipaddresses"))
        else {
            return;
        };
        for entry in addresses.stored.cache.objects().values() {
            let (Some(readable), Ok(address)) = (entry.readable(), entry.name().parse::<IpAddr>()) else { continue };
            let ours = readable.label(MANAGED_BY_LABEL) == Some(MANAGED_BY);
            let object = readable.object(entry.revision);
            if ours
                && !self.is_reserved(&address)
                && !self.may_be_under_way(&object)
                && !has_parent(&services, &object, address)
            {
                self.release(&[address]).await;
            }
        }
        for entry in services.stored.cache.objects().values() {
            let Some(readable) = entry.readable() else { continue };
            let service = readable.object(entry.revision);
            let own = service.get("spec").and_then(Value::as_object).map(plan::addresses).unwrap_or_default();
            for address in own {
                let missing = addresses.stored.cache.get(&address.to_string()).is_none();
                let still = services.stored.cache.get(&entry.key).is_some_and(|now| now.revision == entry.revision);
                if missing
                    && still
                    && !self.is_reserved(&address)
                    && let Err(status) = self.create_address(&address, &service).await
                {
                    tracing::warn!(%address, message = status.message, "a service's address has no object");
                }
            }
        }
    }

    /// Whether another server may be about to write the service of an address: its object comes first.
    fn may_be_under_way(&self, address: &Object) -> bool {
        let made = time::parse(address.meta_str("creationTimestamp"));
        self.storage().kv().is_shared() && made.is_none_or(|made| time::unix_now() - made < UNDER_WAY_SECONDS)
    }

    fn is_reserved(&self, address: &IpAddr) -> bool {
        let reserved = self.reservations.taken.lock().unwrap_or_else(PoisonError::into_inner);
        reserved.addresses.contains(address)
    }

    /// Looks after the addresses of an object while it is written: when that is given up half way, they are put right
    /// when the next ones are given out.
    pub(crate) fn begin_write(&self, served: &Served) -> Option<PendingWrite> {
        let interrupted = &self.reservations.interrupted;
        served.resource.facts.allocates.then(|| PendingWrite { interrupted: Arc::clone(interrupted), finished: false })
    }

    async fn create_address(&self, address: &IpAddr, service: &Object) -> Result<(), Status> {
        let Some(served) = self.find("networking.k8s.io", "ipaddresses") else { return Ok(()) };
        let object = json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "IPAddress",
            "metadata": {
                "name": address.to_string(),
                "labels": {FAMILY_LABEL: ranges::family_of(address), MANAGED_BY_LABEL: MANAGED_BY},
            },
            "spec": {"parentRef": {
                "resource": "services", "namespace": service.namespace(), "name": service.name(),
            }},
        });
        let Value::Object(object) = object else { return Ok(()) };
        let request = CreateRequest { namespace: String::new(), object, tracked: false };
        self.create(&Context::own(), &served, request).await.map(drop)
    }

    fn release<'a>(&'a self, addresses: &'a [IpAddr]) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Some(served) = self.find("networking.k8s.io", "ipaddresses") else { return };
            let options = DeleteOptions { ignore_liens: true, ..DeleteOptions::default() };
            for address in addresses {
                let name = address.to_string();
                let request = DeleteRequest { namespace: "", name: &name, options: &options };
                if let Err(status) = self.delete(&Context::own(), &served, request).await
                    && status.code != 404
                {
                    tracing::warn!(%address, message = status.message, "an address was not given back");
                }
            }
        })
    }
}

/// Whether the service that an address object names has the address. One that cannot be read may have it.
fn has_parent(services: &Served, object: &Object, address: IpAddr) -> bool {
    let parent = |field: &str| {
        let parent = pawl_meta::object::at(object, "spec.parentRef");
        parent.and_then(|parent| parent.get(field)).and_then(Value::as_str).unwrap_or_default()
    };
    let Some(entry) = services.stored.cache.get(&services.stored.key(parent("namespace"), parent("name"))) else {
        return false;
    };
    let Some(readable) = entry.readable() else { return true };
    let service = readable.object(entry.revision);
    service.get("spec").and_then(Value::as_object).is_some_and(|spec| plan::addresses(spec).contains(&address))
}

/// Whether the bytes of a service name a port on nodes at all: most do not, and need not be parsed.
fn mentions_ports(value: &[u8]) -> bool {
    const NAMES: [&[u8]; 2] = [b"\"nodePort\":", b"\"healthCheckNodePort\":"];
    NAMES.iter().any(|name| value.windows(name.len()).any(|window| window == *name))
}
