//! The store as one would write it with nothing to lose: a list of events, replayed for every question.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::{Change, Error, Event, Expect, Guard, KeyValue, Outcome, Range, RangeRequest, Result, Revision, Write};

/// A store that remembers everything from the revision it began with.
#[derive(Debug)]
pub struct Model {
    begin: Revision,
    compacted: Revision,
    events: Vec<Event>,
}

impl Model {
    pub fn new(begin: Revision) -> Self {
        Self { begin, compacted: 0, events: Vec::new() }
    }

    pub fn revision(&self) -> Revision {
        self.begin + self.events.len() as u64
    }

    pub fn begin(&self) -> Revision {
        self.begin
    }

    pub fn compacted(&self) -> Revision {
        self.compacted
    }

    pub fn get(&self, key: &Bytes) -> Option<KeyValue> {
        self.at(self.revision()).remove(key)
    }

    pub fn write(&mut self, write: &Write) -> Outcome {
        let previous = self.get(&write.key);
        let holds = match write.expect {
            Expect::Absent => previous.is_none(),
            Expect::Revision(expected) => previous.as_ref().is_some_and(|held| held.mod_revision == expected),
        };
        let state = self.at(self.revision());
        let guarded = write.guards.iter().all(|guard| match guard {
            Guard::Unwritten { prefix, through } => {
                let mut held = state.values().filter(|held| held.key.starts_with(prefix));
                held.all(|held| held.mod_revision <= *through)
            }
            Guard::Same { key, revision } => state.get(key).is_some_and(|held| held.mod_revision == *revision),
        });
        if !holds || !guarded {
            return Outcome::Conflict { current: previous };
        }
        let revision = self.revision() + 1;
        let value = match &write.change {
            Change::Put { value, .. } => Some(value.clone()),
            Change::Delete => None,
        };
        self.events.push(Event { revision, key: write.key.clone(), value, previous });
        Outcome::Applied { revision }
    }

    pub fn compact(&mut self, revision: Revision) {
        self.compacted = self.compacted.max(revision);
    }

    pub fn range(&self, request: &RangeRequest) -> Result<Range> {
        let current = self.revision();
        let revision = request.revision.unwrap_or(current);
        if revision > current {
            return Err(Error::Future { requested: revision, current });
        }
        if revision < self.compacted {
            return Err(Error::Compacted { requested: revision, compacted: self.compacted });
        }
        let inside = |key: &Bytes| *key >= request.start && (request.end.is_empty() || *key < request.end);
        let all: Vec<KeyValue> = self.at(revision).into_values().filter(|held| inside(&held.key)).collect();
        let more = request.limit > 0 && all.len() > request.limit;
        let limit = if request.limit == 0 { usize::MAX } else { request.limit };
        let remaining = request.count.then(|| all.len().saturating_sub(limit));
        Ok(Range { revision, items: all.into_iter().take(limit).collect(), more, remaining })
    }

    /// The events that a watch must deliver.
    pub fn events(&self, prefix: &Bytes, after: Revision) -> Vec<Event> {
        let wanted = |event: &&Event| event.revision > after && event.key.starts_with(prefix);
        self.events.iter().filter(wanted).cloned().collect()
    }

    fn at(&self, revision: Revision) -> BTreeMap<Bytes, KeyValue> {
        let mut state: BTreeMap<Bytes, KeyValue> = BTreeMap::new();
        for event in self.events.iter().take_while(|event| event.revision <= revision) {
            match &event.value {
                Some(value) => {
                    let created = state.get(&event.key).map_or(event.revision, |held| held.create_revision);
                    let held = KeyValue {
                        key: event.key.clone(),
                        value: value.clone(),
                        create_revision: created,
                        mod_revision: event.revision,
                    };
                    state.insert(event.key.clone(), held);
                }
                None => {
                    state.remove(&event.key);
                }
            }
        }
        state
    }
}
