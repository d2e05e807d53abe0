//! Watches: from a revision on, first what the log remembers, then what comes.
//!
//! Owns a watcher's cursor. Watchers pull; nothing is kept for them. One that falls behind the window of recent events
//! reads the log, and one that falls behind the log is told that it lagged.

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use pawl_kv::{Error, Event, Result, Revision, Watch, WatchMessage};
use tokio::sync::watch;

use crate::committer::closed;
use crate::state::State;
use crate::{Shared, on_thread};

/// Begins a watch of what happens after `after`.
pub fn begin(shared: Arc<Shared>, visible: watch::Receiver<Revision>, prefix: Bytes, after: Revision) -> Watch {
    let cursor = Cursor { shared, visible, prefix, next: after.max(State::EMPTY) + 1, progress: None };
    stream::unfold(Some(cursor), |cursor| async move {
        let mut cursor = cursor?;
        match cursor.advance().await {
            Ok(message) => Some((Ok(message), Some(cursor))),
            Err(error) => Some((Err(error), None)),
        }
    })
    .boxed()
}

struct Cursor {
    shared: Arc<Shared>,
    visible: watch::Receiver<Revision>,
    prefix: Bytes,
    /// The first revision that has not been looked at.
    next: Revision,
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
    /// How much log is read at a time.
    const CHAPTER: u64 = 1 << 20;

    async fn advance(&mut self) -> Result<WatchMessage> {
        loop {
            if let Some(revision) = self.progress.take() {
                return Ok(WatchMessage::Progress(revision));
            }
            self.visible.borrow_and_update();
            let (source, current) = self.source()?;
            let (events, through) = match source {
                Source::Nothing => {
                    self.visible.changed().await.map_err(|_| closed())?;
                    continue;
                }
                Source::Window(batches) => (self.pick(&batches), current),
                Source::Log => self.read(current).await?,
            };
            self.next = through + 1;
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

    fn pick(&self, batches: &[Arc<[Event]>]) -> Vec<Event> {
        let events = batches.iter().flat_map(|batch| batch.iter());
        events.filter(|event| event.revision >= self.next && event.key.starts_with(&self.prefix)).cloned().collect()
    }

    async fn read(&self, last: Revision) -> Result<(Vec<Event>, Revision)> {
        let (shared, first) = (Arc::clone(&self.shared), self.next);
        let mut chapter = on_thread(move || shared.segments.read(&*shared.disk, first, last, Self::CHAPTER)).await??;
        chapter.events.retain(|event| event.key.starts_with(&self.prefix));
        Ok((chapter.events, chapter.through))
    }
}
