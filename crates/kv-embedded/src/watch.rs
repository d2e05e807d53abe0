//! Watches: from a revision on, first what the log remembers, then what comes.
//!
//! Owns a watcher's cursor. Watchers pull; nothing is kept for them but the history that they have not read yet, for as
//! long as the log may hold it. One that falls behind the window of recent events reads the log, and one that falls behind
//! the log is told that it lagged.

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use pawl_kv::{Error, Event, Result, Revision, Watch, WatchMessage};
use tokio::sync::watch;

use crate::Shared;
use crate::history;
use crate::keep::Pin;
use crate::state::{StoreState, cost};

/// Begins a watch of what happens after `after`.
pub fn begin(
    shared: &Arc<Shared>,
    visible: watch::Receiver<Revision>,
    prefix: Bytes,
    after: Revision,
) -> Result<Watch> {
    let next = after.max(StoreState::EMPTY) + 1;
    let pin = {
        // Under one lock, so that compaction cannot pass between the look and the pin.
        let state = shared.state.read();
        if after > state.revision {
            return Err(Error::Future { requested: after, current: state.revision });
        }
        if after < state.compacted {
            return Err(Error::Compacted { requested: after, compacted: state.compacted });
        }
        shared.pins.pin(next)
    };
    let cursor = Cursor { shared: Arc::clone(shared), visible, prefix, next, pin, progress: None };
    let watch = stream::unfold(Some(cursor), |cursor| async move {
        let mut cursor = cursor?;
        match cursor.advance().await {
            Ok(message) => Some((Ok(message), Some(cursor))),
            Err(error) => Some((Err(error), None)),
        }
    });
    Ok(watch.boxed())
}

struct Cursor {
    shared: Arc<Shared>,
    visible: watch::Receiver<Revision>,
    prefix: Bytes,
    /// The first revision that has not been looked at.
    next: Revision,
    pin: Pin,
    /// Owed to the watcher: how far the events before reached.
    progress: Option<Revision>,
}

/// Where the next events are.
enum Source {
    Nothing,
    Window(Vec<Arc<[Event]>>),
    Log,
}

impl Cursor {
    /// A message is closed at this size, so that thousands of them can be under way.
    const MESSAGE_BYTES: usize = 64 << 10;
    const MESSAGE_EVENTS: usize = 512;

    async fn advance(&mut self) -> Result<WatchMessage> {
        loop {
            if let Some(revision) = self.progress.take() {
                return Ok(WatchMessage::Progress(revision));
            }
            self.visible.borrow_and_update();
            let (source, current) = self.source()?;
            let (events, through) = match source {
                Source::Nothing => {
                    self.visible.changed().await.map_err(|_| Error::Closed)?;
                    continue;
                }
                Source::Window(batches) => self.pick(batches.iter().flat_map(|batch| batch.iter()), current),
                Source::Log => {
                    let chapter = history::read(&self.shared, &self.prefix, self.next, current).await?;
                    self.pick(chapter.events.iter(), chapter.through)
                }
            };
            self.next = through + 1;
            self.pin.advance(self.next);
            let last = events.last().map(|event| event.revision);
            if through == current && last != Some(through) {
                self.progress = Some(through);
            }
            if !events.is_empty() {
                return Ok(WatchMessage::Events(events));
            }
        }
    }

    fn source(&self) -> Result<(Source, Revision)> {
        let state = self.shared.state.read();
        let source = if self.next > state.revision {
            Source::Nothing
        } else if let Some(batches) = state.window.since(self.next) {
            Source::Window(batches)
        } else if self.next <= state.compacted {
            return Err(Error::Lagged);
        } else {
            Source::Log
        };
        Ok((source, state.revision))
    }

    /// The events for this watcher, as many as a message takes, and how far they reach when it takes all of them.
    fn pick<'a>(&self, events: impl Iterator<Item = &'a Event>, through: Revision) -> (Vec<Event>, Revision) {
        let (mut picked, mut bytes) = (Vec::new(), 0);
        let wanted =
            |event: &&Event| (self.next..=through).contains(&event.revision) && event.key.starts_with(&self.prefix);
        for event in events.filter(wanted) {
            if (bytes >= Self::MESSAGE_BYTES || picked.len() >= Self::MESSAGE_EVENTS)
                && let Some(last) = picked.last().map(|last: &Event| last.revision)
                && last != event.revision
            {
                return (picked, last);
            }
            bytes += cost(event);
            picked.push(event.clone());
        }
        (picked, through)
    }
}
