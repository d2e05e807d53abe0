//! Keys that change under a running server: what they open is tried again, and nothing else.
//!
//! Objects are known by the key that sealed them; those whose key is gone are tried again, and of those that could not be read
//! the ones whose key has come. A value whose key service does not answer is tried for as long as that lasts. Nobody who
//! reads or writes other things waits for any of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use pawl_kv::Error;
use pawl_seal::{Mark, Sealed, Seals, Touched};

use crate::Registry;
use crate::entry::{CacheEntry, Readability};
use crate::storage::Storage;
use crate::table::{Stored, Table};
use crate::turning::Turned;

/// How many values are tried at once. Questions to a key service about the same key are one.
const AT_ONCE: usize = 256;
/// How often a key service that does not answer is asked again for the keys of values.
const AGAIN: Duration = Duration::from_secs(1);
/// How long a start waits for key services.
const PATIENCE: Duration = Duration::from_secs(2);

/// The keys in use.
pub(crate) struct Keys {
    pub seals: Seals,
    /// What everything in the caches was opened with.
    mark: tokio::sync::Mutex<Mark>,
}

impl Keys {
    pub fn new(seals: Seals) -> Self {
        let mark = tokio::sync::Mutex::new(seals.mark());
        Self { seals, mark }
    }
}

impl Registry {
    /// Tries again what a change of keys concerns, for as long as it is polled.
    pub async fn follow_keys(&self) {
        let Some(keys) = &self.keys else { return };
        let mut news = keys.seals.news();
        // Others may have come between the start and now.
        news.mark_changed();
        loop {
            tokio::select! {
                changed = news.changed() => if changed.is_err() { return },
                () = self.storage.turning.asked() => {}
                () = tokio::time::sleep(AGAIN), if self.away().next().is_some() => {}
            }
            self.try_again(keys).await;
            // Other keys may come while a service takes its time.
            let table = self.table();
            tokio::select! {
                turned = answered(&table) => self.announce(turned).await,
                _ = news.changed() => news.mark_changed(),
            }
        }
    }

    /// Tries what a change of keys concerns, as far as nobody has to be asked.
    async fn try_again(&self, keys: &Keys) {
        let mut mark = keys.mark.lock().await;
        let now = keys.seals.mark();
        let table = self.table();
        let turned = async {
            // What the feed opened with the keys of before is in the caches then.
            self.storage.catch_up().await.map_err(|status| status.message)?;
            let touched = |stored: &Stored| now.since(&mark, &stored.group_resource);
            reopened(&self.storage, &table, touched).await.map_err(|error| error.to_string())
        };
        match turned.await {
            Ok(turned) => {
                *mark = now;
                self.announce(turned).await;
            }
            // What is in use stays unknown to the caches for now; the next attempt compares with the same mark.
            Err(why) => {
                tracing::warn!(%why, "values cannot be tried with other keys now");
                self.storage.turning.ask();
                tokio::time::sleep(AGAIN).await;
            }
        }
    }

    /// While this is held no other keys are tried: what is opened meanwhile is tried with them afterwards.
    pub(crate) async fn hold_keys(&self) -> Option<tokio::sync::MutexGuard<'_, Mark>> {
        match &self.keys {
            Some(keys) => Some(keys.mark.lock().await),
            None => None,
        }
    }

    async fn announce(&self, turned: Vec<Turned>) {
        if !turned.is_empty() {
            tell(&turned);
            self.storage.announce(&self.table(), turned).await;
        }
    }

    /// How many objects of which resources would not be readable any more with other keys than those in use.
    pub fn lost_with(&self, now: &Mark, other: &Mark) -> BTreeMap<String, usize> {
        let mut lost = BTreeMap::new();
        for stored in self.table().stored() {
            let resource = &stored.group_resource;
            let touched = other.since(now, resource);
            if touched.lost.is_empty() {
                continue;
            }
            let objects = stored.cache.objects();
            let seals = objects.values().filter_map(|entry| entry.readable()).map(|readable| readable.seal());
            let count = seals.filter(|seal| touched.closes(seal) && !other.opens(resource, seal)).count();
            if count > 0 {
                lost.insert(resource.to_string(), count);
            }
        }
        lost
    }

    /// The resources of which objects wait for a key service, and what is said of that.
    pub fn away(&self) -> impl Iterator<Item = (String, String)> {
        let table = self.table();
        let found: Vec<_> = table
            .stored()
            .filter_map(|stored| {
                let closed = stored.cache.closed();
                let away = closed.values().find_map(|entry| match &entry.state {
                    Readability::Away(closed) => Some(closed.away.to_string()),
                    _ => None,
                });
                Some((stored.group_resource.to_string(), away?))
            })
            .collect();
        found.into_iter()
    }
}

/// At the start: key services are asked for a while, so that what they have the keys of is there from the beginning.
pub(crate) async fn begin(storage: &Storage, table: &Table) -> Result<(), Error> {
    for (stored, entries) in tokio::time::timeout(PATIENCE, answered(table)).await.unwrap_or_default() {
        let (_, revision) = stored.cache.snapshot();
        stored.cache.turn(entries, revision);
    }
    storage.show(table, storage.applied());
    storage.begin_turning(table).await
}

/// Opens what waits for key services, once they have answered.
async fn answered(table: &Table) -> Vec<Turned> {
    let resources = table.stored().filter(|stored| stored.transform.is_some()).map(|stored| async move {
        let closed = stored.cache.closed();
        let waiting = closed.values().filter_map(|entry| match &entry.state {
            Readability::Away(closed) => Some((Arc::clone(entry), closed.value.clone())),
            _ => None,
        });
        let opened = waiting.map(|(entry, value)| async move {
            let now = stored.open_asking(&entry.key, entry.revision, value).await;
            tokio::task::yield_now().await;
            (!matches!(now.state, Readability::Away(_))).then(|| Arc::new(now))
        });
        let opened = futures::stream::iter(opened.collect::<Vec<_>>()).buffer_unordered(AT_ONCE);
        (Arc::clone(stored), opened.filter_map(std::future::ready).collect::<Vec<_>>().await)
    });
    let turned = futures::future::join_all(resources).await;
    turned.into_iter().filter(|(_, entries)| !entries.is_empty()).collect()
}

/// Opens again what a change concerns, as far as nobody has to be asked. Returns what came out otherwise than before.
async fn reopened(
    storage: &Storage,
    table: &Table,
    touched: impl Fn(&Stored) -> Touched,
) -> Result<Vec<Turned>, Error> {
    let mut turned = Vec::new();
    for stored in table.stored().filter(|stored| stored.transform.is_some()) {
        let touched = touched(stored);
        // Only a key that is gone concerns what can be read.
        let among = if touched.lost.is_empty() { stored.cache.closed() } else { stored.cache.objects() };
        let mut entries = Vec::new();
        for entry in among.values().filter(|entry| is_concerned(entry, &touched)) {
            entries.extend(reopen(storage, stored, entry).await?);
            // Many of them must not keep others from their turn.
            tokio::task::yield_now().await;
        }
        if !entries.is_empty() {
            turned.push((Arc::clone(stored), entries));
        }
    }
    Ok(turned)
}

fn is_concerned(entry: &CacheEntry, touched: &Touched) -> bool {
    match &entry.state {
        Readability::Readable(readable) => touched.closes(readable.seal()),
        Readability::Unreadable(unreadable) => {
            touched.may_open(&unreadable.value) || unreadable.seal.as_ref().is_some_and(|seal| touched.closes(seal))
        }
        Readability::Away(_) => false,
    }
}

/// Opens one value; `None` when nothing is new about it.
async fn reopen(storage: &Storage, stored: &Stored, entry: &CacheEntry) -> Result<Option<Arc<CacheEntry>>, Error> {
    let value = match &entry.state {
        Readability::Unreadable(unreadable) => unreadable.value.clone(),
        Readability::Away(closed) => closed.value.clone(),
        Readability::Readable(_) => {
            let held = storage.kv().get(Bytes::from(stored.full_key(&entry.key))).await?;
            match held.filter(|held| held.mod_revision == entry.revision) {
                Some(held) => Sealed::stored(held.value),
                // Somebody has written meanwhile: the feed brings it.
                None => return Ok(None),
            }
        }
    };
    let now = stored.open(&entry.key, entry.revision, value);
    let same = match (&entry.state, &now.state) {
        // Nothing is known to be lost.
        (Readability::Readable(_), Readability::Away(_)) => true,
        (Readability::Unreadable(before), Readability::Unreadable(now)) => {
            before.reason == now.reason && before.why == now.why
        }
        _ => false,
    };
    Ok((!same).then(|| Arc::new(now)))
}

fn tell(turned: &[Turned]) {
    for (stored, entries) in turned {
        let readable = entries.iter().filter(|entry| entry.readable().is_some()).count();
        let unreadable = entries.iter().filter(|entry| entry.unreadable().is_some()).count();
        let away = entries.len() - readable - unreadable;
        tracing::info!(resource = %stored.group_resource, readable, unreadable, away, "keys changed what can be read");
    }
}
