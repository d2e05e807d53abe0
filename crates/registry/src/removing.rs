//! Removing what cannot be read. Nothing inside of it is known, so nothing inside of it counts: liens, finalizers, owners.
//!
//! It removes exactly what was found unreadable: a value that was replaced meanwhile, or that opens after all, stays. No
//! admission sees it, but for the namespaces that stay whatever is asked.

use std::sync::Arc;

use pawl_kv::Expect;
use pawl_meta::{Errors, GroupKind, Status};

use crate::entry::{CacheEntry, Readability};
use crate::showing::{GROUP, QUARANTINED};
use crate::storage::Written;
use crate::unreadable::{self, Unreadable};
use crate::{Context, Deleted, Registry, Served};

/// What is said of the option where it does not apply.
const OPTION: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";
const ONLY_UNREADABLE: &str = "is exclusively used to delete corrupt object(s), try again by removing this option";

impl Registry {
    pub(crate) async fn remove_unreadable(
        &self,
        cx: &Context,
        served: &Served,
        namespace: &str,
        name: &str,
    ) -> Result<Deleted, Status> {
        let resource = served.resource.group_resource();
        if resource.group.is_empty() && resource.resource == "namespaces" && pawl_admission::is_immortal(name) {
            return Err(Status::forbidden(&resource, name, "this namespace may not be deleted"));
        }
        let key = served.stored.key(namespace, name);
        self.storage().catch_up().await?;
        let found = served.stored.cache.get(&key).ok_or_else(|| only_for_unreadable(served, name))?;
        let now = self.read_again(served, &found).await;
        let unreadable = match &now.state {
            Readability::Readable(_) => return Err(only_for_unreadable(served, name)),
            Readability::Away(closed) => return Err(unreadable::away(&closed.away)),
            Readability::Unreadable(unreadable) => unreadable,
        };
        self.warn_of_removal(cx, served, name);
        if cx.dry_run {
            return Ok(Deleted::Removed);
        }
        let kept = self.keep(cx, &served.stored, &now, unreadable).await?;
        match self.storage().write(&served.stored, &key, Expect::Revision(found.revision), None).await? {
            Written::Applied(_) => {
                if let Some(kept) = kept {
                    cx.warn(format!("it is kept for a while: {QUARANTINED}.{GROUP} {kept:?} brings it back (restore)"));
                }
                Ok(Deleted::Removed)
            }
            Written::Conflict(_) => {
                if let Some(kept) = kept {
                    self.let_go(&kept).await?;
                }
                let why = "the object was replaced after it was found unreadable; nothing was deleted";
                Err(Status::conflict(&resource, name, why))
            }
        }
    }

    /// The entry as it opens at this moment: the cache follows changes of keys a little later.
    async fn read_again(&self, served: &Served, found: &Arc<CacheEntry>) -> Arc<CacheEntry> {
        match found.unreadable() {
            Some(Unreadable { value, .. }) => {
                let (key, revision) = (&found.key, found.revision);
                Arc::new(served.stored.open_asking(key, revision, value.clone()).await)
            }
            None => Arc::clone(found),
        }
    }

    /// Whoever removes something unread is told what that may break.
    fn warn_of_removal(&self, cx: &Context, served: &Served, name: &str) {
        cx.warn("the object cannot be read: its liens, finalizers and owner references, if it has any, do not count");
        let resource = served.resource.group_resource();
        let table = self.table();
        let stranded = match (resource.group.as_str(), resource.resource.as_str()) {
            ("", "namespaces") => {
                let prefix = format!("{name}/");
                let within = table.stored().filter(|stored| stored.namespaced);
                let count = within.map(|stored| stored.cache.count_below(&prefix)).sum();
                Some((count, "in this namespace"))
            }
            ("apiextensions.k8s.io", "customresourcedefinitions") => {
                let of = name.split_once('.').and_then(|(plural, group)| table.preferred(group, plural));
                Some((of.map_or(0, |of| of.stored.cache.len()), "of this definition"))
            }
            _ => None,
        };
        if let Some((count, place)) = stranded.filter(|(count, _)| *count > 0) {
            cx.warn(format!("{count} objects {place} stay behind without it"));
        }
    }
}

/// The option is for what cannot be read, and for nothing else.
fn only_for_unreadable(served: &Served, name: &str) -> Status {
    let mut errors = Errors::new();
    errors.invalid(&OPTION, true, ONLY_UNREADABLE);
    let resource = served.resource.group_resource();
    Status::invalid(&GroupKind { group: resource.group, kind: resource.resource }, name, &errors)
}
