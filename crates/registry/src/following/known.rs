//! What a listener knows of a resource, so that a watch that starts anew can tell the difference.
//!
//! Who follows a million objects must not hold a list of them: what is known is a snapshot that the cache shares, and the few
//! objects of which something else was told since. When these are many, a newer snapshot takes the place of the old one,
//! as soon as everything up to its revision has been told.

use std::collections::HashMap;
use std::sync::Arc;

use pawl_kv::Revision;

use super::Followed;
use crate::cache::{Cache, Objects};
use crate::entry::{CacheEntry, Readable};

/// How many objects, and how many bytes of objects that are no longer so, a snapshot may be behind what was told.
const MOST_CHANGES: usize = 256;
const MOST_BYTES: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Known {
    base: Base,
    next: Option<Next>,
    /// While a watch tells what is there.
    beginning: Option<Beginning>,
}

/// A snapshot, and what was told that is not in it.
#[derive(Default)]
struct Base {
    objects: Objects,
    /// The object as it was told last; `None` when it is gone.
    since: HashMap<Arc<str>, Option<Arc<CacheEntry>>>,
    /// The bytes of objects that only the snapshot still holds.
    outdated: usize,
}

/// A newer snapshot, which is right once everything up to its revision has been told.
struct Next {
    revision: Revision,
    base: Base,
}

struct Beginning {
    /// All that is there; it is told in its order.
    objects: Objects,
    last_told: Option<Arc<str>>,
}

/// How far a watch has told what happened.
#[derive(Clone, Copy)]
pub(crate) struct Position {
    pub revision: Revision,
    /// The changes of keys that it knows of.
    pub turns: u64,
}

impl Known {
    /// A watch begins to tell these. One that began before and did not get through has told a part.
    pub(super) fn begin(&mut self, objects: Objects) {
        self.next = None;
        if let Some(Beginning { objects, last_told: Some(last) }) = self.beginning.take() {
            for (key, entry) in objects.range(..=last) {
                self.base.told(key, Some(entry));
            }
        }
        self.beginning = Some(Beginning { objects, last_told: None });
    }

    pub(super) fn is_beginning(&self) -> bool {
        self.beginning.is_some()
    }

    pub(super) fn seen(&mut self, entry: Arc<CacheEntry>, changes: &mut Vec<Followed>) {
        if let Some(beginning) = &mut self.beginning {
            beginning.last_told = Some(Arc::clone(&entry.key));
            match self.base.get(&entry.key) {
                // Nothing was written, and nothing has changed about whether it can be read.
                Some(before) if before.revision == entry.revision && is_readable(before) == is_readable(&entry) => {
                    return;
                }
                // Another object of the same name came while nobody looked. One that cannot be read is nobody else.
                Some(before) if is_another(before, &entry) => changes.push(Followed::Gone(Arc::clone(before))),
                _ => {}
            }
        } else {
            self.told(&entry, Some(&entry));
        }
        changes.push(Followed::Seen(entry));
    }

    pub(super) fn gone(&mut self, entry: Arc<CacheEntry>, changes: &mut Vec<Followed>) {
        self.told(&entry, None);
        changes.push(Followed::Gone(entry));
    }

    fn told(&mut self, at: &CacheEntry, now: Option<&Arc<CacheEntry>>) {
        self.base.told(&at.key, now);
        if let Some(next) = &mut self.next
            && at.revision > next.revision
        {
            next.base.told(&at.key, now);
        }
    }

    /// All that is there has been told: what is not there any more is gone.
    pub(super) fn complete(&mut self, changes: &mut Vec<Followed>) {
        let Some(Beginning { objects, .. }) = self.beginning.take() else { return };
        let before = std::mem::replace(&mut self.base, Base { objects, ..Base::default() });
        let missing = before.into_objects().filter(|entry| !self.base.objects.contains_key(&entry.key));
        changes.extend(missing.map(Followed::Gone));
    }

    /// Lets go of a snapshot that has become old.
    pub(super) fn settle(&mut self, position: Option<Position>, cache: &Cache) {
        let Some(position) = position.filter(|_| !self.is_beginning()) else { return };
        if self.next.is_none() && self.base.is_old() {
            let (objects, revision) = cache.snapshot();
            // After the snapshot: one that shows what keys have turned since is no place that the watch will come to.
            if cache.turns() == position.turns {
                self.next = Some(Next { revision, base: Base { objects, ..Base::default() } });
            }
        }
        if let Some(next) = self.next.take_if(|next| next.revision <= position.revision) {
            self.base = next.base;
        }
    }

    pub(super) fn into_objects(mut self) -> impl Iterator<Item = Arc<CacheEntry>> {
        if self.is_beginning() {
            self.begin(Objects::new());
        }
        self.base.into_objects()
    }
}

impl Base {
    fn get(&self, key: &str) -> Option<&Arc<CacheEntry>> {
        match self.since.get(key) {
            Some(told) => told.as_ref(),
            None => self.objects.get(key),
        }
    }

    fn told(&mut self, key: &Arc<str>, now: Option<&Arc<CacheEntry>>) {
        if self.since.insert(Arc::clone(key), now.cloned()).is_none() {
            self.outdated += self.objects.get(&**key).map_or(0, |before| before.weight());
        }
    }

    fn is_old(&self) -> bool {
        self.since.len() >= MOST_CHANGES || self.outdated >= MOST_BYTES
    }

    fn into_objects(self) -> impl Iterator<Item = Arc<CacheEntry>> {
        let Self { objects, since, .. } = self;
        let told: Vec<Arc<CacheEntry>> = since.values().flatten().cloned().collect();
        let untouched = objects.into_iter().filter(move |(key, _)| !since.contains_key(key));
        untouched.map(|(_, entry)| entry).chain(told)
    }
}

fn is_readable(entry: &CacheEntry) -> bool {
    entry.readable().is_some()
}

fn is_another(before: &CacheEntry, entry: &CacheEntry) -> bool {
    matches!((uid(before), uid(entry)), (Some(before), Some(now)) if before != now)
}

fn uid(entry: &CacheEntry) -> Option<String> {
    entry.readable().and_then(Readable::uid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Readability;
    use crate::cache::Incoming;

    fn entry(key: &str, uid: &str, revision: u64) -> Arc<CacheEntry> {
        let value = format!(r#"{{"kind":"K","apiVersion":"v1","metadata":{{"name":"{key}","uid":"{uid}"}}}}"#);
        let readable = Readable::cut(pawl_seal::Plain::new(value), None, &[]).unwrap();
        Arc::new(CacheEntry { key: key.into(), revision, state: Readability::Readable(readable) })
    }

    fn objects(entries: &[(&str, &str, u64)]) -> Objects {
        entries.iter().map(|(key, uid, revision)| (Arc::from(*key), entry(key, uid, *revision))).collect()
    }

    fn shown(changes: &[Followed]) -> Vec<String> {
        let show = |change: &Followed| match change {
            Followed::Seen(entry) => format!("{}@{}", entry.key, entry.revision),
            Followed::Gone(entry) => format!("-{}@{}", entry.key, entry.revision),
        };
        changes.iter().map(show).collect()
    }

    /// A watch that begins and gets as far as it is told, or through.
    fn tell(known: &mut Known, entries: &[(&str, &str, u64)], most: Option<usize>) -> Vec<String> {
        let mut changes = Vec::new();
        let objects = objects(entries);
        known.begin(objects.clone());
        for entry in objects.values().take(most.unwrap_or(usize::MAX)) {
            known.seen(Arc::clone(entry), &mut changes);
        }
        if most.is_none() {
            known.complete(&mut changes);
        }
        shown(&changes)
    }

    #[test]
    fn a_watch_that_starts_anew_tells_what_it_missed() {
        let known = &mut Known::default();
        assert_eq!(tell(known, &[("a", "1", 1), ("b", "2", 2), ("c", "3", 3)], None), ["a@1", "b@2", "c@3"]);
        let after = [("b", "4", 5), ("c", "3", 6), ("d", "5", 7)];
        assert_eq!(tell(known, &after, None), ["-b@2", "b@5", "c@6", "d@7", "-a@1"]);
        assert_eq!(tell(known, &after, None), [""; 0]);
    }

    #[test]
    fn a_watch_that_broke_off_has_told_a_part() {
        let known = &mut Known::default();
        assert_eq!(tell(known, &[("a", "1", 1), ("b", "2", 2), ("c", "3", 3)], Some(2)), ["a@1", "b@2"]);
        assert_eq!(tell(known, &[("b", "2", 2), ("c", "3", 3)], None), ["c@3", "-a@1"]);
        assert_eq!(tell(known, &[("b", "9", 8), ("c", "3", 3)], Some(1)), ["-b@2", "b@8"]);
        let mut left: Vec<_> =
            std::mem::take(known).into_objects().map(|e| format!("{}@{}", e.key, e.revision)).collect();
        left.sort();
        assert_eq!(left, ["b@8", "c@3"]);
    }

    /// Against a plain map: whatever is written, told late, or begun anew in between, the listener's picture is the cache's.
    #[test]
    fn what_was_told_adds_up_to_what_is_there() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..20 {
            let cache = Cache::new(0);
            let mut known = Known::default();
            let mut picture: HashMap<Arc<str>, u64> = HashMap::new();
            let mut late: Vec<(u64, Arc<CacheEntry>, bool)> = Vec::new();
            let mut revision = 0;
            tell(&mut known, &[], None);
            for _ in 0..3000 {
                revision += 1;
                let key = format!("k{}", random.u32(..600));
                let there = cache.get(&key);
                let deleted = there.is_some() && random.u32(..3) == 0;
                let now = entry(&key, "1", revision);
                cache.apply([Incoming { revision, key: &key, entry: (!deleted).then(|| Arc::clone(&now)) }]);
                if !deleted || there.is_some() {
                    late.push((revision, now, deleted));
                }
                let mut changes = Vec::new();
                match random.u32(..200) {
                    0 => {
                        late.clear();
                        let (objects, _) = cache.snapshot();
                        known.begin(objects.clone());
                        objects.values().for_each(|entry| known.seen(Arc::clone(entry), &mut changes));
                        known.complete(&mut changes);
                    }
                    1..40 => {
                        let some = late.len() - random.usize(..=late.len() / 2);
                        let told: Vec<_> = late.drain(..some).collect();
                        let upto = told.last().map_or(0, |(revision, ..)| *revision);
                        for (_, entry, deleted) in told {
                            if deleted { known.gone(entry, &mut changes) } else { known.seen(entry, &mut changes) }
                        }
                        known.settle(Some(Position { revision: upto, turns: cache.turns() }), &cache);
                    }
                    _ => {}
                }
                for change in changes {
                    match change {
                        Followed::Seen(entry) => drop(picture.insert(Arc::clone(&entry.key), entry.revision)),
                        Followed::Gone(entry) => drop(picture.remove(&entry.key)),
                    }
                }
            }
            assert!(known.base.since.len() < 3 * MOST_CHANGES, "old snapshots go");
            let told: HashMap<_, _> = known.into_objects().map(|e| (Arc::clone(&e.key), e.revision)).collect();
            assert_eq!(told, picture);
        }
    }
}
