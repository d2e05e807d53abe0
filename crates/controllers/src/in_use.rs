//! The controllers of KEP-2639: a Secret or ConfigMap that asks for it has a lien as long as something uses it.
//!
//! Owns the liens `kubernetes.io/secret-protection` and `kubernetes.io/configmap-protection`, and no other. What is to be done
//! is `Protection::plan`; here it is heard of (an object changed, or who uses it did), put into one of two queues, and done
//! after a look at what is there now. A lien goes only if nobody has come to use its object since that look. In a server with a
//! controller, what is used cannot be deleted even before its lien is there (`Usage::keep`).

use std::ops::Bound;
use std::sync::Arc;

use pawl_meta::Status;
use pawl_meta::object::{Meta, Object, metadata_mut};
use pawl_registry::{CacheEntry, Served, UsageNews};
use pawl_usage::{Changed, Plan, Protection, Target, Used};
use serde_json::json;

use crate::actor::{Actor, Outcome, keep};
use crate::counters::Liens;
use crate::informer::{Batch, Followed, Informer};
use crate::tasks::{Reconciler, Tasks};
use crate::workqueue::{Reconciled, WorkQueue};

/// For each queue.
const WORKERS: usize = 8;

pub fn start(tasks: &mut Tasks, actor: Actor, protection: Protection, liens: Liens) {
    // Where liens do not hold, none can be added.
    if !actor.registry.liens_hold() {
        return;
    }
    let resources: &'static [_] = match protection.used {
        Used::ConfigMap => &[("", "configmaps")],
        _ => &[("", "secrets")],
    };
    let informer = Informer::of(&actor, resources);
    let news = actor.registry.usage().listen();
    // Until the end of the server: requests are answered for a moment longer than controllers work.
    actor.registry.usage().keep(protection);
    let [(group, plural)] = resources else { return };
    let controller =
        Arc::new(Controller { actor, protection, resource: (group, plural), liens, queues: Default::default() });
    let listener = Arc::clone(&controller);
    tasks.until_stop(async move { listener.listen(&news).await });
    tasks.run(Arc::new(Side { controller: Arc::clone(&controller), does: Plan::Add }), informer, WORKERS);
    tasks.add_workers(&Arc::new(Side { controller, does: Plan::Remove }), WORKERS);
}

struct Controller {
    actor: Actor,
    protection: Protection,
    resource: (&'static str, &'static str),
    liens: Liens,
    /// Liens to add, liens to remove.
    queues: [WorkQueue<Target>; 2],
}

/// Those who add liens, or those who remove them.
struct Side {
    controller: Arc<Controller>,
    does: Plan,
}

impl Reconciler for Side {
    type Key = Target;

    fn queue(&self) -> &WorkQueue<Target> {
        let [add, remove] = &self.controller.queues;
        if self.does == Plan::Add { add } else { remove }
    }

    fn enqueue(&self, Batch { changes, .. }: Batch) {
        for change in &changes {
            if let Followed::Seen(entry) = change {
                self.controller.consider(entry);
            }
        }
    }

    async fn reconcile(&self, target: Target) -> Reconciled {
        let Controller { actor, liens, .. } = &*self.controller;
        match self.controller.attend(self.does, &target).await {
            Ok(step) => step,
            Err(status) => {
                tracing::debug!(controller = %actor.name, key = %target.key, %status, "tried again");
                liens.retried();
                Reconciled::Retry
            }
        }
    }
}

impl Controller {
    async fn listen(&self, news: &UsageNews) {
        loop {
            for changed in news.next().await {
                let Some(served) = self.served() else { continue };
                match changed {
                    Changed::Target(target) if target.used == self.protection.used => {
                        served.stored.cache.get(&target.key).iter().for_each(|entry| self.consider(entry));
                    }
                    Changed::Target(_) => {}
                    Changed::Namespace(namespace) => {
                        let prefix = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
                        let from = Bound::Included(Arc::<str>::from(prefix.as_str()));
                        let objects = served.stored.cache.objects();
                        let concerned = objects.range::<_, Arc<str>>((from, Bound::Unbounded));
                        let concerned = concerned.take_while(|(key, _)| key.starts_with(&prefix));
                        concerned.for_each(|(_, entry)| self.consider(entry));
                    }
                }
            }
        }
    }

    fn served(&self) -> Option<Arc<Served>> {
        self.actor.served(self.resource.0, self.resource.1)
    }

    /// Puts an object in line for what is to be done about it.
    fn consider(&self, entry: &CacheEntry) {
        let [add, remove] = &self.queues;
        let Some(readable) = entry.readable() else { return };
        if !Protection::may_concern(readable.metadata()) {
            return;
        }
        let target = Target::new(self.protection.used, entry.namespace(), entry.name());
        match self.plan(&readable.head(entry.revision), &target) {
            Plan::Add => add.add(target),
            Plan::Remove => remove.add(target),
            Plan::Leave => {}
        }
    }

    fn plan(&self, object: &Object, target: &Target) -> Plan {
        self.protection.plan(object, self.actor.registry.usage().is_used(target))
    }

    /// Looks at what is there now, and does it if it is still to be done.
    async fn attend(&self, does: Plan, target: &Target) -> Result<Reconciled, Status> {
        let Some(served) = self.served() else { return Ok(Reconciled::Done) };
        let place = (target.namespace(), target.name());
        let Some(entry) = self.actor.read(&served, place.0, place.1).await? else { return Ok(Reconciled::Done) };
        let Some(uid) = crate::actor::uid(&entry) else { return Ok(Reconciled::Done) };
        let Some(object) = crate::actor::object(&entry) else { return Ok(Reconciled::Done) };
        // Looked at before the index: whoever is not in it by then is newer.
        let through = self.actor.registry.storage().applied();
        if self.plan(&object, target) != does {
            // Both queues may have it: the other one looks by itself.
            return Ok(Reconciled::Done);
        }
        let protection = self.protection;
        let used = does == Plan::Add;
        // The object may be another by the time that it is written; who uses it is guarded.
        let edit = |object: &mut Object| match protection.plan(object, used) {
            Plan::Add => add_lien(object, protection.lien),
            Plan::Remove => keep(object, "liens", |item| item.as_str() != Some(protection.lien)),
            Plan::Leave => {}
        };
        let guarded = !used && protection.is_wanted(&object);
        let guards = if guarded { self.actor.registry.guards(target, through) } else { Vec::new() };
        let outcome = self.actor.change_guarded(&served, place, &uid, guards, edit).await?;
        match outcome {
            Outcome::Done => self.liens.changed(does),
            Outcome::Changed => return Ok(Reconciled::Retry),
            Outcome::Gone | Outcome::Held(_) => {}
        }
        Ok(Reconciled::Done)
    }
}

fn add_lien(object: &mut Object, lien: &str) {
    let mut liens: Vec<String> = object.meta_strings("liens").into_iter().map(str::to_owned).collect();
    liens.push(lien.to_owned());
    metadata_mut(object).insert("liens".to_owned(), json!(liens));
}
