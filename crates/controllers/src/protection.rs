//! The protection controllers: what is in use keeps its finalizer, what is not loses it once it is being deleted.
//!
//! Owns the three finalizers of claims, volumes and volume attributes classes. An object that lacks its finalizer and is
//! not being deleted gets it, as it would have at admission. In doubt an object is in use.

mod uses;

use std::sync::Arc;

use pawl_meta::Status;
use pawl_meta::object::{Meta, Object, metadata_mut};
use pawl_usage::{Target, Used, User};
use serde_json::json;

use crate::actor::{Actor, drop_finalizer, object};
use crate::counters::Tally;
use crate::informer::{Batch, Followed, Informer};
use crate::selection::ControllerName;
use crate::tasks::{Reconciler, Tasks};
use crate::workqueue::{Reconciled, WorkQueue};

const WORKERS: usize = 4;

pub fn start(tasks: &mut Tasks, actor: Actor, name: ControllerName, tally: Arc<Tally>) {
    let kind = match name {
        ControllerName::VolumeProtection => Protected::Volumes,
        ControllerName::ClassProtection => Protected::Classes,
        _ => Protected::Claims,
    };
    let informer = Informer::of(&actor, kind.follows());
    tasks.run(Arc::new(Protection { actor, kind, tally, queue: WorkQueue::default() }), informer, WORKERS);
}

/// What one controller protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protected {
    Claims,
    Volumes,
    Classes,
}

impl Protected {
    fn finalizer(self) -> &'static str {
        match self {
            Self::Claims => "kubernetes.io/pvc-protection",
            Self::Volumes => "kubernetes.io/pv-protection",
            Self::Classes => "kubernetes.io/vac-protection",
        }
    }

    fn resource(self) -> (&'static str, &'static str) {
        match self {
            Self::Claims => ("", "persistentvolumeclaims"),
            Self::Volumes => ("", "persistentvolumes"),
            Self::Classes => ("storage.k8s.io", "volumeattributesclasses"),
        }
    }

    fn follows(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Claims => &[("", "persistentvolumeclaims"), ("", "pods")],
            Self::Volumes => &[("", "persistentvolumes")],
            Self::Classes => &[
                ("storage.k8s.io", "volumeattributesclasses"),
                ("", "persistentvolumes"),
                ("", "persistentvolumeclaims"),
            ],
        }
    }
}

/// What is to be done about a protected object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProtectionVerdict {
    Leave,
    /// It gets its finalizer.
    Protect,
    /// It loses its finalizer, unless it is in use.
    ReleaseIfUnused,
}

fn plan(object: &Object, finalizer: &str) -> ProtectionVerdict {
    match (object.is_deleting(), object.meta_strings("finalizers").contains(&finalizer)) {
        (true, true) => ProtectionVerdict::ReleaseIfUnused,
        (false, false) => ProtectionVerdict::Protect,
        _ => ProtectionVerdict::Leave,
    }
}

struct Protection {
    actor: Actor,
    kind: Protected,
    tally: Arc<Tally>,
    queue: WorkQueue<(String, String)>,
}

impl Reconciler for Protection {
    type Key = (String, String);

    fn queue(&self) -> &WorkQueue<Self::Key> {
        &self.queue
    }

    fn enqueue(&self, Batch { served, changes }: Batch) {
        let facts = &served.resource.facts;
        let is_protected = (facts.group.as_str(), facts.plural.as_str()) == self.kind.resource();
        for change in &changes {
            let (Followed::Seen(entry) | Followed::Gone(entry)) = change;
            if is_protected {
                if matches!(change, Followed::Seen(_)) {
                    self.queue.add((entry.namespace().to_owned(), entry.name().to_owned()));
                }
            } else if self.kind == Protected::Classes {
                // There are few classes, and fewer that are being deleted: each looks for its users again.
                self.queue.extend(self.candidates());
            } else if let Some(pod) = object(entry) {
                let claims = uses::claims_of(&pod).into_iter().map(|claim| claim.name);
                self.queue.extend(claims.map(|claim| (entry.namespace().to_owned(), claim)));
            }
        }
    }

    async fn reconcile(&self, (namespace, name): Self::Key) -> Reconciled {
        match self.attend(&namespace, &name).await {
            Ok(()) => Reconciled::Done,
            Err(status) => {
                tracing::debug!(controller = %self.actor.name, %namespace, %name, %status, "tried again");
                self.tally.retries.add(1);
                Reconciled::Retry
            }
        }
    }
}

impl Protection {
    async fn attend(&self, namespace: &str, name: &str) -> Result<(), Status> {
        let (group, plural) = self.kind.resource();
        let Some(served) = self.actor.served(group, plural) else { return Ok(()) };
        // The caches are as new as every write before, so a user that is not in them is not there.
        let Some(entry) = self.actor.read(&served, namespace, name).await? else { return Ok(()) };
        let Some(protected) = object(&entry) else { return Ok(()) };
        let finalizer = self.kind.finalizer();
        let uid = protected.uid();
        match plan(&protected, finalizer) {
            ProtectionVerdict::Leave => {}
            ProtectionVerdict::Protect => {
                let add = |object: &mut Object| {
                    // Nothing may be added to what is being deleted by now.
                    if plan(object, finalizer) == ProtectionVerdict::Protect {
                        let mut finalizers: Vec<String> =
                            object.meta_strings("finalizers").into_iter().map(str::to_owned).collect();
                        finalizers.push(finalizer.to_owned());
                        metadata_mut(object).insert("finalizers".to_owned(), json!(finalizers));
                    }
                };
                self.actor.change(&served, (namespace, name), "", uid, add).await?;
            }
            ProtectionVerdict::ReleaseIfUnused if self.is_used(&protected) => {}
            ProtectionVerdict::ReleaseIfUnused => {
                let edit = |object: &mut Object| drop_finalizer(object, finalizer);
                self.actor.change(&served, (namespace, name), "", uid, edit).await?;
                self.tally.released.add(1);
            }
        }
        Ok(())
    }

    fn is_used(&self, protected: &Object) -> bool {
        match self.kind {
            Protected::Volumes => uses::is_bound(protected),
            Protected::Claims => self.is_claim_used(protected),
            Protected::Classes => {
                let name = protected.name();
                self.any("", "persistentvolumes", |volume| uses::volume_uses_class(volume, name))
                    || self.any("", "persistentvolumeclaims", |claim| uses::claim_uses_class(claim, name))
            }
        }
    }

    /// Whether one of the pods that name a claim keeps it; one that cannot be read may.
    fn is_claim_used(&self, claim: &Object) -> bool {
        let Some(pods) = self.actor.served("", "pods") else { return false };
        let target = Target::new(Used::Claim, claim.namespace(), claim.name());
        let users = self.actor.registry.usage().users(&target);
        let mut pods = users
            .iter()
            .filter(|(who, _)| who.user == User::Pod)
            .filter_map(|(who, _)| pods.stored.cache.get(&who.key));
        pods.any(|entry| object(&entry).is_none_or(|pod| uses::pod_uses_claim(&pod, claim)))
    }

    /// Whether some object of a resource is as asked; one that cannot be read may be.
    fn any(&self, group: &str, plural: &str, asked: impl Fn(&Object) -> bool) -> bool {
        let Some(served) = self.actor.served(group, plural) else { return false };
        let objects = served.stored.cache.objects();
        objects.values().any(|entry| object(entry).is_none_or(|object| asked(&object)))
    }

    /// The protected objects that are being deleted.
    fn candidates(&self) -> Vec<(String, String)> {
        let (group, plural) = self.kind.resource();
        let Some(served) = self.actor.served(group, plural) else { return Vec::new() };
        let objects = served.stored.cache.objects();
        let deleting = objects.iter().filter(|(_, entry)| object(entry).is_some_and(|o| o.is_deleting()));
        deleting.map(|(_, entry)| (entry.namespace().to_owned(), entry.name().to_owned())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn only_what_is_being_deleted_is_released() {
        let check = |metadata: Value, expect: ProtectionVerdict| {
            let object = json!({"metadata": metadata});
            assert_eq!(plan(object.as_object().unwrap(), "a.b/c"), expect, "{object}");
        };
        check(json!({"finalizers": ["a.b/c"]}), ProtectionVerdict::Leave);
        check(json!({"finalizers": ["a.b/d"]}), ProtectionVerdict::Protect);
        check(json!({"finalizers": ["a.b/c"], "deletionTimestamp": "t"}), ProtectionVerdict::ReleaseIfUnused);
        check(json!({"finalizers": ["a.b/d"], "deletionTimestamp": "t"}), ProtectionVerdict::Leave);
    }
}
