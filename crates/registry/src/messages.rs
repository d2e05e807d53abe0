//! Protobuf encodings of objects, kept for a while: an event that many watch and a list that is read again are encoded once.
//!
//! Owns a bounded number of bytes of them; the oldest go first. What is too much to be kept pays nothing and is refused by
//! who asks ([`Messages::are_kept`]).

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use pawl_kv::Revision;

/// What may be kept of all resources together.
const MOST_BYTES: usize = 32 << 20;
/// What a message costs beside its bytes.
const OVERHEAD: usize = 200;

/// The stored bytes that a message was made of, by their address, and the revision that is written into it.
type Id = (usize, Revision);

#[derive(Debug, Default)]
pub struct Messages(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// With the stored bytes: as long as they are held, their address means them and nothing else.
    messages: HashMap<Id, (Bytes, Bytes)>,
    order: VecDeque<Id>,
    bytes: usize,
}

impl Messages {
    /// Whether messages of objects of this size all together are worth keeping: a list that would push out its own
    /// beginning is not.
    pub fn are_kept(stored_bytes: usize) -> bool {
        stored_bytes <= MOST_BYTES
    }

    /// The message of stored bytes at a revision; made when it is not there.
    pub fn get_or_make<E>(
        &self,
        value: &Bytes,
        revision: Revision,
        keep: bool,
        make: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {
        let id = (value.as_ptr() as usize, revision);
        if let Some((_, message)) = self.lock().messages.get(&id) {
            return Ok(message.clone());
        }
        let message = make()?;
        if keep {
            self.lock().keep(id, value.clone(), message.clone());
        }
        Ok(message)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn keep(&mut self, id: Id, value: Bytes, message: Bytes) {
        let cost = message.len() + OVERHEAD;
        if self.messages.insert(id, (value, message)).is_some() {
            return;
        }
        self.order.push_back(id);
        self.bytes += cost;
        while self.bytes > MOST_BYTES
            && let Some(oldest) = self.order.pop_front()
        {
            let gone = self.messages.remove(&oldest).map_or(0, |(_, message)| message.len() + OVERHEAD);
            self.bytes = self.bytes.saturating_sub(gone);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn ask(messages: &Messages, value: &Bytes, revision: Revision, keep: bool) -> bool {
        let mut made = false;
        let message = messages.get_or_make(value, revision, keep, || {
            made = true;
            Ok::<_, Infallible>(Bytes::from(vec![revision as u8; 1 << 20]))
        });
        assert_eq!(message.unwrap()[0], revision as u8);
        made
    }

    #[test]
    fn a_message_is_made_once_for_the_same_bytes_and_revision() {
        let messages = Messages::default();
        let (one, other) = (Bytes::from(vec![1]), Bytes::from(vec![1]));
        assert!(ask(&messages, &one, 1, true));
        assert!(!ask(&messages, &one, 1, true));
        assert!(!ask(&messages, &one, 1, false));
        // A deletion shows the same bytes at another revision, a selector that stops to match other bytes at the same.
        assert!(ask(&messages, &one, 2, true));
        assert!(ask(&messages, &other, 1, true));
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_oldest_goes_first() {
        let messages = Messages::default();
        let values: Vec<Bytes> = (0..100).map(|i| Bytes::from(vec![i])).collect();
        for value in &values {
            assert!(ask(&messages, value, 7, true));
        }
        {
            let kept = messages.lock();
            assert!(kept.bytes <= MOST_BYTES && kept.messages.len() == kept.order.len());
        }
        assert!(!ask(&messages, &values[99], 7, true));
        assert!(ask(&messages, &values[0], 7, false));
        assert!(ask(&messages, &values[0], 7, true));
    }
}
