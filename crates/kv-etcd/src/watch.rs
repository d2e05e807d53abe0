//! Watches: etcd's, made into the contract's.
//!
//! Owns how far a watch has come, and how it learns that nothing happened. Members that report progress truly (from 3.4.31,
//! 3.5.13 and 3.6 on) are asked for it when the store is known to be further. From older ones, whose answer may overtake
//! events, the whole key space is followed and what is not wanted is dropped here: every revision has an event there.
//! A conversation with etcd begins when the watch is first read and ends with it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::channel::mpsc;
use futures::stream::{self, StreamExt};
use pawl_kv::{Error, Event, KeyValue, Result, Revision, Watch, WatchMessage};
use tonic::Streaming;

use crate::messages::{
    self, EventKind, StatusRequest, StatusResponse, WatchCreateRequest, WatchOperation, WatchProgressRequest,
    WatchRequest, WatchResponse,
};
use crate::{PATIENCE, Shared, faults, key_value, revision, signed};

/// How often progress is asked for while the store is known to be further. Members do not answer while they are behind.
const ASK_AGAIN: Duration = Duration::from_millis(50);
/// A message is closed at this size, so that thousands of them can be under way.
const MESSAGE_BYTES: usize = 64 << 10;
const MESSAGE_EVENTS: usize = 512;

/// A watch of what happens to a prefix after a revision, which is known to be there.
pub fn begin(shared: Arc<Shared>, prefix: Bytes, after: Revision) -> Watch {
    let cursor = Cursor { shared, prefix, through: after, link: None, parts: Vec::new(), ready: VecDeque::new() };
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
    prefix: Bytes,
    /// Everything up to here has been delivered or is ready to be.
    through: Revision,
    link: Option<Link>,
    /// Events of an answer that etcd sends in several pieces.
    parts: Vec<messages::Event>,
    ready: VecDeque<WatchMessage>,
}

/// A conversation with a member.
struct Link {
    seat: usize,
    answers: Streaming<WatchResponse>,
    questions: mpsc::UnboundedSender<WatchRequest>,
    /// Whether the member is asked for progress; else everything is followed.
    asks: bool,
}

impl Cursor {
    async fn advance(&mut self) -> Result<WatchMessage> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Ok(message);
            }
            let link = match &mut self.link {
                Some(link) => link,
                none => none.insert(open(&self.shared, &self.prefix, self.through).await?),
            };
            let answer = link.next(&self.shared, self.through).await;
            let taken = answer.and_then(|answer| self.take(answer));
            if let (Err(Error::Unavailable(_)), Some(link)) = (&taken, &self.link) {
                self.shared.members.turn_from(link.seat);
            }
            taken?;
        }
    }

    fn take(&mut self, answer: WatchResponse) -> Result<()> {
        if answer.compact_revision > 0 {
            let compacted = revision(answer.compact_revision);
            return Err(Error::Compacted { requested: self.through, compacted });
        }
        if answer.canceled {
            return Err(Error::Unavailable(format!("etcd ended a watch: {}", answer.cancel_reason)));
        }
        let asks = self.link.as_ref().is_some_and(|link| link.asks);
        if answer.events.is_empty() && self.parts.is_empty() {
            let reached = answer.header.as_ref().map_or(0, |header| revision(header.revision));
            if asks && !answer.created && reached > self.through {
                self.through = reached;
                self.ready.push_back(WatchMessage::Progress(reached));
                if let Some(observer) = &self.shared.observer {
                    observer.progressed(&self.prefix);
                }
            }
            return Ok(());
        }
        self.parts.extend(answer.events);
        if answer.fragment {
            return Ok(());
        }
        self.deliver()
    }

    /// Makes messages of a whole answer: it ends between revisions.
    fn deliver(&mut self) -> Result<()> {
        let parts = std::mem::take(&mut self.parts);
        let last = parts.iter().filter_map(|event| event.kv.as_ref()).map(|kv| revision(kv.mod_revision)).max();
        let mut events = Vec::new();
        for part in parts {
            events.extend(self.event(part)?);
        }
        let delivered = events.last().map(|event: &Event| event.revision);
        self.ready.extend(cut(events));
        self.through = last.unwrap_or(self.through);
        if last.is_some() && delivered != last {
            self.ready.push_back(WatchMessage::Progress(self.through));
        }
        Ok(())
    }

    /// What an event means, unless it is of a key that is not followed.
    fn event(&self, event: messages::Event) -> Result<Option<Event>> {
        let Some(kv) = event.kv else { return Ok(None) };
        let key = self.shared.names.here(&kv.key);
        let at = revision(kv.mod_revision);
        if !key.starts_with(&self.prefix) || at <= self.through || self.shared.names.is_foreign(&kv.key) {
            return Ok(None);
        }
        if let Some(observer) = &self.shared.observer {
            observer.heard(&key);
        }
        let deleted = event.kind == EventKind::Delete as i32;
        let previous = event.prev_kv.map(|held| KeyValue { key: key.clone(), ..key_value(&self.shared.names, held) });
        if previous.is_none() && (deleted || kv.create_revision != kv.mod_revision) {
            // What was there before has been compacted away since: what led here cannot be told any more.
            return Err(Error::Compacted { requested: self.through, compacted: at });
        }
        Ok(Some(Event { revision: at, key, value: (!deleted).then_some(kv.value), previous }))
    }
}

impl Link {
    /// What the member says next. It is reminded while it is known to be behind.
    async fn next(&mut self, shared: &Shared, through: Revision) -> Result<WatchResponse> {
        let Self { answers, questions, asks, .. } = self;
        let remind = async {
            if !*asks {
                return std::future::pending().await;
            }
            let mut newest = shared.newest.subscribe();
            loop {
                if newest.wait_for(|newest| *newest > through).await.is_err() {
                    return std::future::pending().await;
                }
                let question = WatchOperation::Progress(WatchProgressRequest {});
                // One that cannot be sent means that the conversation is over, and the answer says why.
                let _ = questions.unbounded_send(WatchRequest { operation: Some(question) });
                tokio::time::sleep(ASK_AGAIN).await;
            }
        };
        let answer = tokio::select! {
            biased;
            answer = answers.message() => answer,
            never = remind => never,
        };
        match answer {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => Err(Error::Unavailable("etcd ended the watch".to_owned())),
            Err(status) => Err(faults::of_read(&status)),
        }
    }
}

async fn open(shared: &Shared, prefix: &Bytes, after: Revision) -> Result<Link> {
    shared.intact()?;
    let failed = |status| faults::of_read(&status);
    let seat = shared.members.seat();
    let status: StatusResponse =
        shared.members.once(seat, messages::STATUS, StatusRequest {}, PATIENCE).await.map_err(failed)?;
    let asks = reports_progress_truly(&status.version);
    let everything = Bytes::new();
    let (key, range_end) = shared.names.prefix(if asks { prefix } else { &everything });
    let create =
        WatchCreateRequest { key, range_end, start_revision: signed(after.max(1)) + 1, prev_kv: true, fragment: true };
    let (questions, asked) = mpsc::unbounded();
    let first = WatchRequest { operation: Some(WatchOperation::Create(create)) };
    questions.unbounded_send(first).map_err(|error| Error::Unavailable(error.to_string()))?;
    let answers = shared.members.converse(seat, messages::WATCH, asked, PATIENCE).await.map_err(failed)?;
    Ok(Link { seat, answers, questions, asks })
}

/// Whether progress that was asked for is only reported when all events before it have been sent (etcd issue 15220).
fn reports_progress_truly(version: &str) -> bool {
    let mut numbers = version.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    match (numbers.next(), numbers.next(), numbers.next()) {
        (Some(3), Some(4), Some(patch)) => patch >= 31,
        (Some(3), Some(5), Some(patch)) => patch >= 13,
        (Some(3), Some(minor), Some(_)) => minor >= 6,
        (Some(major), Some(_), Some(_)) => major > 3,
        _ => false,
    }
}

/// Messages of bounded size, each of which ends between revisions.
fn cut(events: Vec<Event>) -> Vec<WatchMessage> {
    let (mut messages, mut message, mut bytes) = (Vec::new(), Vec::new(), 0);
    for event in events {
        let full = bytes >= MESSAGE_BYTES || message.len() >= MESSAGE_EVENTS;
        if full && message.last().is_some_and(|last: &Event| last.revision != event.revision) {
            messages.push(WatchMessage::Events(std::mem::take(&mut message)));
            bytes = 0;
        }
        bytes += weight(&event);
        message.push(event);
    }
    if !message.is_empty() {
        messages.push(WatchMessage::Events(message));
    }
    messages
}

fn weight(event: &Event) -> usize {
    let previous = event.previous.as_ref().map_or(0, |held| held.value.len());
    event.key.len() + event.value.as_ref().map_or(0, Bytes::len) + previous
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_report_progress_truly() {
        for version in ["3.4.31", "3.4.40", "3.5.13", "3.6.0", "3.7.1-rc.0", "4.0.0"] {
            assert!(reports_progress_truly(version), "{version}");
        }
        for version in ["3.4.30", "3.4.23", "3.5.12", "3.3.99", "2.3.8", "", "3.6", "unknown"] {
            assert!(!reports_progress_truly(version), "{version}");
        }
    }

    #[test]
    fn messages_end_between_revisions() {
        let event = |revision| Event { revision, key: Bytes::new(), value: Some(Bytes::new()), previous: None };
        let events: Vec<Event> = (0..600_u64).map(|number| event(number / 100)).collect();
        let sizes: Vec<usize> = cut(events)
            .into_iter()
            .map(|message| if let WatchMessage::Events(events) = message { events.len() } else { 0 })
            .collect();
        assert_eq!(sizes, [600]);
        let sizes: Vec<usize> = cut((0..1300_u64).map(|number| event(number / 100)).collect())
            .into_iter()
            .map(|message| if let WatchMessage::Events(events) = message { events.len() } else { 0 })
            .collect();
        assert_eq!(sizes, [600, 600, 100]);
        let large = |revision| Event { value: Some(vec![0; MESSAGE_BYTES].into()), ..event(revision) };
        assert_eq!(cut(vec![large(1), large(2), large(2), large(3)]).len(), 3);
    }
}
