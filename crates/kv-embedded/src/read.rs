//! Ordered reads, of the present and of the past.
//!
//! The past is the present with what happened since taken back: every event carries what its key held before, so the
//! first event of a key after a revision tells what the key held at that revision.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use pawl_kv::{Error, Event, KeyValue, Range, RangeRequest, Result, Revision};

use crate::state::{Index, select};
use crate::{Shared, on_thread};

/// How much log is read at a time.
const CHAPTER: u64 = 1 << 20;

pub async fn range(shared: &Arc<Shared>, request: RangeRequest) -> Result<Range> {
    let (index, current, recent) = {
        let state = shared.state.read();
        let revision = request.revision.unwrap_or(state.revision);
        if revision > state.revision {
            return Err(Error::Future { requested: revision, current: state.revision });
        }
        if revision < state.compacted {
            return Err(Error::Compacted { requested: revision, compacted: state.compacted });
        }
        let recent = if revision < state.revision { state.window.since(revision + 1) } else { Some(Vec::new()) };
        (state.index.clone(), state.revision, recent)
    };
    let revision = request.revision.unwrap_or(current);
    let past = match recent {
        Some(batches) => {
            let mut past = Past::new(&request);
            let events = batches.iter().flat_map(|batch| batch.iter());
            events.filter(|event| event.revision > revision).for_each(|event| past.take_back(event));
            past
        }
        None => {
            let (shared, request) = (Arc::clone(shared), request.clone());
            on_thread(move || Past::from_log(&shared, &request, revision, current)).await??
        }
    };
    Ok(past.select(&index, &request, revision))
}

/// What keys of a range held at an earlier revision, as far as they were written since.
struct Past {
    start: Bytes,
    end: Bytes,
    keys: BTreeMap<Bytes, Option<KeyValue>>,
}

impl Past {
    fn new(request: &RangeRequest) -> Self {
        Self { start: request.start.clone(), end: request.end.clone(), keys: BTreeMap::new() }
    }

    fn from_log(shared: &Shared, request: &RangeRequest, revision: Revision, current: Revision) -> Result<Self> {
        let mut past = Self::new(request);
        let mut next = revision + 1;
        while next <= current {
            let chapter = shared.segments.read(&*shared.disk, next, current, CHAPTER).map_err(|error| match error {
                Error::Lagged => Error::Compacted { requested: revision, compacted: shared.state.read().compacted },
                other => other,
            })?;
            chapter.events.iter().for_each(|event| past.take_back(event));
            next = chapter.through + 1;
        }
        Ok(past)
    }

    fn take_back(&mut self, event: &Event) {
        if event.key >= self.start && (self.end.is_empty() || event.key < self.end) {
            self.keys.entry(event.key.clone()).or_insert_with(|| event.previous.clone());
        }
    }

    fn select(self, index: &Index, request: &RangeRequest, revision: Revision) -> Range {
        let limit = if request.limit == 0 { usize::MAX } else { request.limit };
        let mut unchanged = select(index, request).filter(|(key, _)| !self.keys.contains_key(*key)).peekable();
        let mut changed = self.keys.values().filter_map(Option::as_ref).peekable();
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
}
