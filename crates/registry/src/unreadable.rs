//! Values that cannot be read: why, and how a client is told.
//!
//! Owns the words. A value whose key service does not answer is not among them: nothing is known of it, and it is told apart
//! everywhere.

use std::sync::Arc;
use std::time::SystemTime;

use pawl_kv::Revision;
use pawl_meta::{Cause, Details, Status};
use pawl_seal::{Away, Seal, Sealed};

use crate::entry::{CacheEntry, Readability, Readable};
use crate::table::Stored;

/// Why a value cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// No key in use is the one that the value names.
    NoKey,
    /// The key of that name does not open it.
    WrongKey,
    /// It has not the form of a sealed value.
    Damaged,
    /// It opens, and what is inside is no object of its resource.
    NotDecodable,
}

impl Reason {
    pub const ALL: [Self; 4] = [Self::NoKey, Self::WrongKey, Self::Damaged, Self::NotDecodable];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoKey => "no key",
            Self::WrongKey => "wrong key",
            Self::Damaged => "damaged",
            Self::NotDecodable => "not decodable",
        }
    }
}

impl From<pawl_seal::Reason> for Reason {
    fn from(reason: pawl_seal::Reason) -> Self {
        match reason {
            pawl_seal::Reason::NoKey => Self::NoKey,
            pawl_seal::Reason::WrongKey => Self::WrongKey,
            pawl_seal::Reason::Damaged => Self::Damaged,
        }
    }
}

/// A value that cannot be read.
#[derive(Clone, Debug)]
pub struct Unreadable {
    pub reason: Reason,
    /// In upstream's words.
    pub why: String,
    /// The provider and the key that sealed it, as far as it says so.
    pub provider: Box<str>,
    pub key: Box<str>,
    pub since: SystemTime,
    /// What is stored.
    pub(crate) value: Sealed,
    /// The key that opened it, where it opened.
    pub(crate) seal: Option<Arc<Seal>>,
}

impl Unreadable {
    pub(crate) fn sealed(value: Sealed, why: pawl_seal::Unreadable) -> Self {
        let pawl_seal::Unreadable { reason, message, provider, key } = why;
        Self { reason: reason.into(), why: message, provider, key, since: SystemTime::now(), value, seal: None }
    }

    pub(crate) fn not_decodable(value: Sealed, seal: Option<Arc<Seal>>, why: String) -> Self {
        let of = seal.as_deref().unwrap_or(Seal::none());
        let (provider, key) = (of.provider().into(), of.key().into());
        Self { reason: Reason::NotDecodable, why, provider, key, since: SystemTime::now(), value, seal }
    }

    /// How many bytes are stored.
    pub fn size(&self) -> usize {
        self.value.as_slice().len()
    }

    /// What the store says of it.
    pub fn message(&self, revision: Revision) -> String {
        match self.reason {
            Reason::NotDecodable => format!("object not decodable revision={revision}: {}", self.why),
            _ => format!("data from the storage is not transformable revision=0: {}", self.why),
        }
    }
}

/// A value whose key service does not answer.
#[derive(Clone, Debug)]
pub struct Closed {
    pub away: Away,
    pub(crate) value: Sealed,
}

/// How many objects an error names.
const MOST: usize = 100;
/// Clients are asked to try again after this many seconds.
const RETRY_AFTER: u32 = 1;

impl CacheEntry {
    /// The object, or the error that says why it cannot be read.
    pub(crate) fn must_be_readable(&self, stored: &Stored) -> Result<&Readable, Status> {
        match &self.state {
            Readability::Readable(readable) => Ok(readable),
            Readability::Unreadable(unreadable) => Err(of_one(stored, self, unreadable)),
            Readability::Away(closed) => Err(away(&closed.away)),
        }
    }
}

/// Who has the key does not answer.
pub(crate) fn away(away: &Away) -> Status {
    Status::unavailable(away.to_string())
        .with_details(Details { retry_after_seconds: RETRY_AFTER, ..Details::default() })
}

/// One object was to be read.
pub(crate) fn of_one(stored: &Stored, entry: &CacheEntry, unreadable: &Unreadable) -> Status {
    let full_key = stored.full_key(&entry.key);
    let short = full_key.strip_prefix("/registry").unwrap_or(&full_key);
    let message = corrupt(short, &unreadable.message(entry.revision));
    let cause =
        Cause { reason: "UnexpectedServerResponse".to_owned(), message: message.clone(), field: full_key.clone() };
    read_error(stored, format!("Internal error occurred: {message}"), full_key, vec![cause])
}

/// Many were to be read, all below a prefix: whatever cannot be is named, up to a number.
pub(crate) fn of_many(stored: &Stored, prefix: &str, entries: &[Arc<CacheEntry>]) -> Result<(), Status> {
    let mut bad = entries.iter().filter(|entry| entry.readable().is_none());
    let Some(first) = bad.next() else { return Ok(()) };
    let mut causes: Vec<Cause> = Vec::new();
    let mut follow = false;
    for entry in std::iter::once(first).chain(bad) {
        match &entry.state {
            Readability::Readable(_) => {}
            Readability::Away(closed) => return Err(away(&closed.away)),
            Readability::Unreadable(_) if causes.len() == MOST => follow = true,
            Readability::Unreadable(unreadable) => {
                let field = stored.full_key(&entry.key);
                let message = corrupt(&field, &unreadable.message(entry.revision));
                causes.push(Cause { reason: "UnexpectedServerResponse".to_owned(), message, field });
            }
        }
    }
    let mut paths = causes.iter().map(|cause| cause.field.as_str()).collect::<Vec<_>>().join(", ");
    if follow {
        paths.push_str(", ...");
        causes.push(Cause {
            reason: "FieldValueTooMany".to_owned(),
            message: "too many errors, the list is truncated".to_owned(),
            field: String::new(),
        });
    }
    let message = format!("failed to read one or more {} from the storage: {paths}", stored.group_resource);
    Err(read_error(stored, message, stored.full_key(prefix), causes))
}

/// What a watcher is told of an object that cannot be read any more, or that was removed while it could not.
pub(crate) fn of_watched(stored: &Stored, entry: &CacheEntry, deleted: bool) -> Status {
    match &entry.state {
        Readability::Unreadable(unreadable) => {
            let mut status = of_one(stored, entry, unreadable);
            if deleted {
                status.message = format!("corrupt object has been deleted - {}", unreadable.message(entry.revision));
            }
            status
        }
        Readability::Away(closed) => away(&closed.away),
        Readability::Readable(_) => Status::internal("the object can be read"),
    }
}

fn corrupt(key: &str, why: &str) -> String {
    format!("StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {why}")
}

fn read_error(stored: &Stored, message: String, name: String, causes: Vec<Cause>) -> Status {
    let resource = &stored.group_resource;
    Status::new(500, "StorageReadError", message).with_details(Details {
        name,
        group: resource.group.clone(),
        kind: resource.resource.clone(),
        causes,
        ..Details::default()
    })
}
