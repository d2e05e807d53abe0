//! The past of one object, as the store remembers it: for who asks what happened to it.
//!
//! Owns how far back one looks and how much of it is told. It decides nothing about who may ask; what must not be told of
//! Secrets is masked here, so that nobody above can forget it.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use futures::StreamExt;
use pawl_kinds::{Resource, Subresource};
use pawl_kv::{Error, Revision, WatchMessage};
use pawl_meta::Status;
use pawl_meta::object::{Meta, Object};
use pawl_seal::Sealed;
use serde_json::{Value, json};

use crate::entry::CacheEntry;
use crate::storage::store_error;
use crate::{Registry, Served};

/// No more is told at once; of more, what is newest.
const MOST: usize = 500;
const MOST_BYTES: usize = 16 << 20;
/// History that is there is read in far less.
const PATIENCE: Duration = Duration::from_secs(10);
/// What kubectl leaves of what was applied: the values of a Secret are in it, too.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What somebody wants to know of the past.
#[derive(Clone, Copy, Debug, Default)]
pub struct PastAsked {
    /// Only what came after this.
    pub after: Option<Revision>,
    /// Objects that had the name before, too.
    pub all_uids: bool,
}

/// One state of an object, and what led to it.
#[derive(Clone, Debug)]
pub struct Moment {
    pub revision: Revision,
    pub verb: &'static str,
    /// The state; after a deletion the last one. Nothing where it cannot be read.
    pub object: Option<Object>,
}

/// What is remembered of an object.
#[derive(Clone, Debug)]
pub struct Past {
    pub moments: Vec<Moment>,
    /// What came after this is known.
    pub from: Revision,
    /// The store as it was read.
    pub through: Revision,
    /// Whether older moments were left out because there are too many.
    pub is_cut: bool,
}

/// A resource with its history below its objects. Upstream has nothing like it, and discovery does not show it.
pub(crate) fn with_history(resource: &mut Resource) {
    let facts = &mut resource.facts;
    if !facts.is_virtual && facts.verbs.iter().any(|verb| verb == "get") {
        facts.sub.push(Subresource {
            name: "history".to_owned(),
            kind: "History".to_owned(),
            verbs: vec!["get".to_owned()],
            hidden: true,
            ..Subresource::default()
        });
    }
}

impl Registry {
    /// What the store remembers of an object: of the one that has the name, or had it last, unless all are asked for.
    pub async fn past(&self, served: &Served, namespace: &str, name: &str, asked: PastAsked) -> Result<Past, Status> {
        let key = served.stored.key(namespace, name);
        let read = self.read_past(served, &key, asked.after.unwrap_or_default());
        let waited = tokio::time::timeout(PATIENCE, read).await;
        let mut past = waited
            .unwrap_or_else(|_| Err(Error::Unavailable("reading history takes too long".to_owned())))
            .map_err(|error| store_error(&error))?;
        let present =
            self.storage().kv().get(served.stored.full_key(&key).into()).await.map_err(|e| store_error(&e))?;
        if past.moments.is_empty() && asked.after.is_none() {
            // Nobody has written it since the store forgot: what it is now is all that is known.
            let Some(present) = present else { return Err(Status::not_found(&served.group_resource, name)) };
            let entry = served.stored.open_asking(&key, present.mod_revision, Sealed::stored(present.value)).await;
            past.moments.push(moment(&entry, "known"));
        }
        if !asked.all_uids {
            let uid = past.moments.iter().rev().find_map(|moment| Some(moment.object.as_ref()?.uid().to_owned()));
            past.moments.retain(|moment| match (&moment.object, &uid) {
                (Some(object), Some(uid)) => object.uid() == uid,
                _ => true,
            });
        }
        if served.group_resource.group.is_empty() && served.group_resource.resource == "secrets" {
            mask(&mut past.moments);
        }
        Ok(past)
    }

    async fn read_past(&self, served: &Served, key: &str, after: Revision) -> Result<Past, Error> {
        let _turn = self.storage().history().turn().await?;
        let kv = self.storage().kv();
        let through = kv.revision().await?;
        let full_key = served.stored.full_key(key);
        let mut from = after.min(through);
        let mut watch = match kv.watch(full_key.clone().into(), from).await {
            Err(Error::Compacted { compacted, .. }) => {
                from = compacted;
                kv.watch(full_key.clone().into(), from).await?
            }
            watch => watch?,
        };
        let mut kept = Kept::default();
        let mut reached = from;
        while reached < through {
            let message = match watch.next().await {
                // Etcd says only now that the beginning is gone.
                Some(Err(Error::Compacted { compacted, .. })) if reached == from && compacted > from => {
                    (from, reached) = (compacted, compacted);
                    watch = kv.watch(full_key.clone().into(), from).await?;
                    continue;
                }
                Some(message) => message?,
                None => return Err(Error::Unavailable("the watch ended".to_owned())),
            };
            let events = match message {
                WatchMessage::Progress(revision) => {
                    reached = reached.max(revision);
                    continue;
                }
                WatchMessage::Events(events) => events,
            };
            for event in events {
                reached = reached.max(event.revision);
                // The key is a prefix of others.
                if event.key == full_key.as_bytes() {
                    kept.push(event, after == 0);
                }
            }
        }
        let mut moments = Vec::new();
        for (revision, verb, value) in kept.values {
            let entry = served.stored.open_asking(key, revision, Sealed::stored(value)).await;
            moments.push(moment(&entry, verb));
        }
        Ok(Past { moments, from, through, is_cut: kept.is_cut })
    }
}

/// What was read and is not too much.
#[derive(Default)]
struct Kept {
    values: VecDeque<(Revision, &'static str, bytes::Bytes)>,
    bytes: usize,
    is_cut: bool,
}

impl Kept {
    /// Keeps an event; of the first also what was there before, where that is wanted.
    fn push(&mut self, event: pawl_kv::Event, with_before: bool) {
        let before = event.previous;
        let values = match (event.value, before) {
            (Some(value), None) => vec![(event.revision, "create", value)],
            (Some(value), Some(before)) if with_before && self.values.is_empty() && !self.is_cut => {
                vec![(before.mod_revision, "known", before.value), (event.revision, "update", value)]
            }
            (Some(value), Some(_)) => vec![(event.revision, "update", value)],
            (None, Some(before)) => vec![(event.revision, "delete", before.value)],
            (None, None) => Vec::new(),
        };
        for value in values {
            self.bytes += value.2.len();
            self.values.push_back(value);
        }
        while (self.values.len() > MOST || self.bytes > MOST_BYTES)
            && let Some((_, _, oldest)) = self.values.pop_front()
        {
            self.bytes -= oldest.len();
            self.is_cut = true;
        }
    }
}

fn moment(entry: &CacheEntry, verb: &'static str) -> Moment {
    let object = entry.readable().map(|readable| readable.object(entry.revision));
    Moment { revision: entry.revision, verb, object }
}

/// Hides the values of a Secret: one sees that a value changed, and never what it is or was.
fn mask(moments: &mut [Moment]) {
    let mut seen: HashMap<String, Vec<Value>> = HashMap::new();
    let mut masked = |name: &str, value: &Value| {
        let values = seen.entry(name.to_owned()).or_default();
        let at = values.iter().position(|seen| seen == value).unwrap_or_else(|| {
            values.push(value.clone());
            values.len() - 1
        });
        json!(format!("(masked, value {})", at + 1))
    };
    for object in moments.iter_mut().filter_map(|moment| moment.object.as_mut()) {
        for field in ["data", "stringData"] {
            for (name, value) in object.get_mut(field).and_then(Value::as_object_mut).into_iter().flatten() {
                *value = masked(&format!("{field}.{name}"), value);
            }
        }
        let annotations = object.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations"));
        if let Some(applied) = annotations.and_then(|annotations| annotations.get_mut(LAST_APPLIED)) {
            *applied = masked(LAST_APPLIED, applied);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secrets_are_never_told_and_their_changes_are() {
        let moment = |value: &str| {
            let object = json!({"metadata": {"annotations": {LAST_APPLIED: format!("{{\"data\":\"{value}\"}}"), "a": "b"}},
                "data": {"password": value}, "stringData": {"other": value}});
            Moment { revision: 1, verb: "update", object: object.as_object().cloned() }
        };
        let mut moments = vec![moment("hunter1"), moment("hunter2"), moment("hunter1")];
        mask(&mut moments);
        let told = |at: usize| Value::Object(moments[at].object.clone().unwrap());
        assert!((0..3).all(|at| !told(at).to_string().contains("hunter")));
        assert_eq!(told(0), told(2), "what is the same looks the same");
        assert_eq!(told(1)["data"]["password"], "(masked, value 2)");
        assert_eq!(told(0)["metadata"]["annotations"]["a"], "b");
    }
}
