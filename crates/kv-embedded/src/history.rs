//! History for watchers who are behind: what the log says after a revision, in small pieces.
//!
//! Owns the pieces that were read lately, so that many watchers who resume at about the same place cost one of them. Only
//! what a prefix selects is ever made into events. Nothing is kept for a watcher.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use pawl_kv::{Error, Event, Result, Revision};

use crate::Shared;
use crate::segment::Block;
use crate::state::cost;

/// How much log is read in one turn of a reader, when nothing in it is of the prefix.
const TURN: u64 = 4 << 20;

/// What one block of the log says of a prefix.
pub struct Chapter {
    /// They may begin before the revision that was asked for.
    pub events: Arc<[Event]>,
    /// Everything up to this revision has been read.
    pub through: Revision,
}

/// Reads on from `first`, not past `last`. There may be no event in a chapter.
pub async fn read(shared: &Arc<Shared>, prefix: &Bytes, first: Revision, last: Revision) -> Result<Chapter> {
    if let Some(chapter) = turn(shared, prefix, first, last, |_| Ok(None))? {
        return Ok(chapter);
    }
    let (reading, prefix) = (Arc::clone(shared), prefix.clone());
    let read = shared.readers.run(move || {
        let read = |block: &Block| reading.chapters.read(&reading, block, &prefix).map(Some);
        turn(&reading, &prefix, first, last, read)
    });
    read.await?.and_then(|chapter| chapter.ok_or(Error::Lagged))
}

/// Goes over the blocks from `first` on until one has events. What is not remembered comes from `read`; `None` when that
/// has nothing either.
fn turn(
    shared: &Shared,
    prefix: &Bytes,
    mut first: Revision,
    last: Revision,
    read: impl Fn(&Block) -> Result<Option<Arc<[Event]>>>,
) -> Result<Option<Chapter>> {
    let mut seen = 0;
    loop {
        let block = shared.segments.locate(first).ok_or(Error::Lagged)?;
        let remembered = shared.chapters.remembered(&block, prefix);
        let Some(events) = remembered.map_or_else(|| read(&block), |events| Ok(Some(events)))? else {
            return Ok(None);
        };
        let through = (block.next_revision - 1).min(last);
        seen += block.end - block.start;
        let has_news = events.iter().any(|event| (first..=last).contains(&event.revision));
        if has_news || through == last || seen >= TURN {
            return Ok(Some(Chapter { events, through }));
        }
        first = through + 1;
    }
}

/// The chapters that were read lately, up to a number of bytes.
#[derive(Default)]
pub struct Chapters(Mutex<Shelf>);

#[derive(Default)]
struct Shelf {
    chapters: HashMap<Place, (Arc<[Event]>, usize)>,
    /// The oldest first.
    order: VecDeque<Place>,
    bytes: usize,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Place {
    segment: u64,
    start: u64,
    end: u64,
    prefix: Bytes,
}

impl Place {
    fn of(block: &Block, prefix: &Bytes) -> Self {
        Self { segment: block.segment, start: block.start, end: block.end, prefix: prefix.clone() }
    }
}

impl Chapters {
    const MOST: usize = 16 << 20;

    fn remembered(&self, block: &Block, prefix: &Bytes) -> Option<Arc<[Event]>> {
        self.0.lock().chapters.get(&Place::of(block, prefix)).map(|(events, _)| Arc::clone(events))
    }

    fn read(&self, shared: &Shared, block: &Block, prefix: &Bytes) -> Result<Arc<[Event]>> {
        let mut events = Vec::new();
        block.read(&*shared.disk, |revision, operation| {
            if operation.key.starts_with(prefix) {
                events.push(operation.event(revision)?);
            }
            Some(())
        })?;
        let events: Arc<[Event]> = events.into();
        self.0.lock().put(Place::of(block, prefix), Arc::clone(&events));
        Ok(events)
    }
}

impl Shelf {
    fn put(&mut self, place: Place, events: Arc<[Event]>) {
        /// What a chapter without events costs.
        const OVERHEAD: usize = 256;
        let bytes = OVERHEAD + events.iter().map(cost).sum::<usize>();
        if self.chapters.insert(place.clone(), (events, bytes)).is_some() {
            return;
        }
        self.order.push_back(place);
        self.bytes += bytes;
        // The newest one stays whatever its size: its reader comes back for the rest of it.
        while self.bytes > Chapters::MOST
            && self.order.len() > 1
            && let Some(oldest) = self.order.pop_front()
        {
            let dropped = self.chapters.remove(&oldest);
            self.bytes -= dropped.map_or(0, |(_, bytes)| bytes);
        }
    }
}
