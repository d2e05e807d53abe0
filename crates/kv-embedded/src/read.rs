//! Ordered reads, of the present and of the past.
//!
//! The past is the present with what happened since taken back: every event carries what its key held before, and the
//! first event of a key after a revision (the one that replaced something not newer) tells what the key held then. A key
//! that was not written since holds what it held. A page is answered from no more than the page needs; where all that
//! changed since is little, the whole state is put together and kept for the pages that follow.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pawl_kv::{Error, Event, KeyValue, Range, RangeRequest, Result, Revision};

use crate::Shared;
use crate::state::{Index, StoredValue, select};

pub async fn range(shared: &Arc<Shared>, request: RangeRequest) -> Result<Range> {
    let (index, current, recent, written) = {
        let state = shared.state.read();
        let revision = request.revision.unwrap_or(state.revision);
        if revision > state.revision {
            return Err(Error::Future { requested: revision, current: state.revision });
        }
        if revision < state.compacted {
            return Err(Error::Compacted { requested: revision, compacted: state.compacted });
        }
        let recent = if revision < state.revision { state.window.since(revision + 1) } else { Some(Vec::new()) };
        (state.index.clone(), state.revision, recent, state.written)
    };
    let revision = request.revision.unwrap_or(current);
    let kept = if revision < current { shared.kept.find(revision) } else { Some(index.clone()) };
    let range = match (kept, recent) {
        (Some(state), _) => {
            let range = page(shared, state.clone(), BTreeMap::new(), request, revision).await?;
            if range.more {
                shared.kept.keep(revision, state, written);
            }
            range
        }
        (None, Some(batches)) => {
            let mut past = Past::new(&request, revision);
            let events = batches.iter().flat_map(|batch| batch.iter());
            events.filter(|event| event.revision > revision).for_each(|event| past.take_back(event));
            page(shared, index, past.keys, request, revision).await?
        }
        (None, None) => {
            let reading = Arc::clone(shared);
            shared.readers.run(move || from_log(&reading, index, &request, revision, current, written)).await??
        }
    };
    Ok(range)
}

/// How long keys still have to live. What was replaced since is found where its state is kept for who reads it in pages.
pub fn time_left(shared: &Shared, items: &[KeyValue], revision: Revision) -> Vec<Option<Duration>> {
    let (index, now) = (shared.state.read().index.clone(), shared.clock.now());
    let kept = shared.kept.find(revision);
    let deadline = |index: &Index, held: &KeyValue| {
        let entry = index.get(&held.key).filter(|entry| entry.mod_revision == held.mod_revision)?;
        entry.deadline
    };
    let of = |held: &KeyValue| deadline(&index, held).or_else(|| deadline(kept.as_ref()?, held));
    // One whose time has passed goes at once, but it was there.
    let left = |deadline: u64| Duration::from_millis(deadline.saturating_sub(now).max(1));
    items.iter().map(|held| of(held).map(left)).collect()
}

/// A page of what `index` held at a revision, where `past` has what was replaced since. Counting is not for whoever polls.
async fn page(
    shared: &Shared,
    index: Index,
    past: BTreeMap<Bytes, KeyValue>,
    request: RangeRequest,
    revision: Revision,
) -> Result<Range> {
    if request.count {
        shared.readers.run(move || select_page(&index, &past, &request, revision)).await
    } else {
        Ok(select_page(&index, &past, &request, revision))
    }
}

fn select_page(index: &Index, past: &BTreeMap<Bytes, KeyValue>, request: &RangeRequest, revision: Revision) -> Range {
    let limit = if request.limit == 0 { usize::MAX } else { request.limit };
    let mut unchanged = select(index, request).filter(|(_, entry)| entry.mod_revision <= revision).peekable();
    let mut changed = past.values().peekable();
    let mut items = Vec::new();
    loop {
        let from_past = match (unchanged.peek(), changed.peek()) {
            (None, None) => return Range { revision, items, more: false, remaining: request.count.then_some(0) },
            (Some((key, _)), Some(held)) => held.key < **key,
            (None, Some(_)) => true,
            (Some(_), None) => false,
        };
        if items.len() == limit {
            let remaining = request.count.then(|| unchanged.count() + changed.count());
            return Range { revision, items, more: true, remaining };
        }
        if from_past {
            items.extend(changed.next().cloned());
        } else {
            items.extend(unchanged.next().map(|(key, entry)| entry.key_value(key)));
        }
    }
}

/// Reads back what happened since a revision and answers from that. It may take a while.
fn from_log(
    shared: &Shared,
    index: Index,
    request: &RangeRequest,
    revision: Revision,
    current: Revision,
    written: u64,
) -> Result<Range> {
    let mut past = Past::new(request, revision);
    let mut all = Some(All::default());
    let mut next = revision + 1;
    while next <= current {
        let forgotten = || Error::Compacted { requested: revision, compacted: shared.state.read().compacted };
        let block = shared.segments.locate(next).ok_or_else(forgotten)?;
        let read = block.read(&*shared.disk, |at, operation| {
            if (next..=current).contains(&at) {
                let wanted = past.wants(operation.key, operation.previous_revision());
                if wanted || all.is_some() {
                    let event = operation.event(at)?;
                    past.take_back(&event);
                    all = all.take().and_then(|all| all.take_back(&event, revision));
                }
            }
            Some(())
        });
        read.map_err(|error| if error == Error::Lagged { forgotten() } else { error })?;
        next = block.next_revision;
    }
    let Some(all) = all else { return Ok(select_page(&index, &past.keys, request, revision)) };
    let state = all.undo(index);
    let range = select_page(&state, &BTreeMap::new(), request, revision);
    if range.more {
        shared.kept.keep(revision, state, written);
    }
    Ok(range)
}

/// What keys of a page held at an earlier revision, as far as they were written since.
struct Past {
    start: Bytes,
    /// Exclusive, empty for no end. It moves down when more than the page needs lies below it.
    end: Bytes,
    revision: Revision,
    most: usize,
    keys: BTreeMap<Bytes, KeyValue>,
}

impl Past {
    fn new(request: &RangeRequest, revision: Revision) -> Self {
        // One more than the page tells that there is more; who counts needs all.
        let most = if request.limit == 0 || request.count { usize::MAX } else { request.limit + 1 };
        Self { start: request.start.clone(), end: request.end.clone(), revision, most, keys: BTreeMap::new() }
    }

    fn wants(&self, key: &[u8], previous: Option<Revision>) -> bool {
        previous.is_some_and(|previous| previous <= self.revision)
            && *key >= *self.start
            && (self.end.is_empty() || *key < *self.end)
    }

    fn take_back(&mut self, event: &Event) {
        let Some(previous) = &event.previous else { return };
        if !self.wants(&event.key, Some(previous.mod_revision)) {
            return;
        }
        self.keys.insert(event.key.clone(), previous.clone());
        if self.keys.len() > self.most
            && let Some((last, _)) = self.keys.pop_last()
        {
            self.end = last;
        }
    }
}

/// What every key held that was written since, as long as that is not much.
#[derive(Default)]
struct All {
    keys: HashMap<Bytes, Option<KeyValue>>,
    bytes: usize,
}

impl All {
    const MOST: usize = 64 << 20;

    fn take_back(mut self, event: &Event, revision: Revision) -> Option<Self> {
        const OVERHEAD: usize = 160;
        let held = event.previous.as_ref().filter(|previous| previous.mod_revision <= revision);
        if !self.keys.contains_key(&event.key) {
            self.bytes += OVERHEAD + event.key.len() + held.map_or(0, |held| held.value.len());
            self.keys.insert(event.key.clone(), held.cloned());
        }
        (self.bytes <= Self::MOST).then_some(self)
    }

    /// The state before all that.
    fn undo(self, mut index: Index) -> Index {
        for (key, held) in self.keys {
            match held {
                Some(KeyValue { value, create_revision, mod_revision, .. }) => {
                    index.insert(key, StoredValue { value, create_revision, mod_revision, deadline: None });
                }
                None => {
                    index.remove(&key);
                }
            }
        }
        index
    }
}
