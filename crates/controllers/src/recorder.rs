//! Events that say why something is not done: written like every object, in the namespace of what they are about.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use pawl_meta::time;
use serde_json::{Map, Value, json};

use crate::actor::{Actor, Outcome};
use crate::counters::Tally;

/// The object that an event is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct About {
    pub api_version: Arc<str>,
    pub kind: Arc<str>,
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    pub uid: Arc<str>,
}

pub struct Recorder {
    actor: Arc<Actor>,
    tally: Arc<Tally>,
    /// What has been said lately, and in which event: saying it again counts that one up.
    said: Mutex<HashMap<Said, String>>,
}

type Said = (About, &'static str, String);

/// How much is remembered of what has been said.
const REMEMBERED: usize = 4096;

impl Recorder {
    pub fn new(actor: Arc<Actor>, tally: Arc<Tally>) -> Self {
        Self { actor, tally, said: Mutex::default() }
    }

    /// Warns about an object. An event that cannot be written is not worth failing for.
    pub async fn warn(&self, about: &About, reason: &'static str, message: &str) {
        let Some(served) = self.actor.served("", "events") else { return };
        // What lives in no namespace is told of in the default one.
        let namespace = if about.namespace.is_empty() { "default" } else { &*about.namespace };
        let said = (about.clone(), reason, message.to_owned());
        let before = self.said().get(&said).cloned();
        if let Some(name) = before
            && let Ok(Some(entry)) = self.actor.read(&served, namespace, &name).await
            && let Some(uid) = crate::actor::uid(&entry)
        {
            let again = self.actor.change(&served, (namespace, &name), "", &uid, |event| {
                let count = event.get("count").and_then(Value::as_i64).unwrap_or(1);
                event.insert("count".to_owned(), json!(count.saturating_add(1)));
                event.insert("lastTimestamp".to_owned(), json!(time::now()));
            });
            if matches!(again.await, Ok(Outcome::Done)) {
                return;
            }
        }
        let (name, event) = self.event(about, namespace, reason, message);
        match self.actor.create(&served, namespace, &event).await {
            Ok(_) => {
                self.tally.events.add(1);
                let mut remembered = self.said();
                if remembered.len() >= REMEMBERED {
                    remembered.clear();
                }
                remembered.insert(said, name);
            }
            Err(status) => tracing::debug!(%reason, %message, %status, "an event was not recorded"),
        }
    }

    fn event(&self, about: &About, namespace: &str, reason: &str, message: &str) -> (String, Value) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{}.{:x}", about.name, since.as_nanos());
        let now = time::now();
        let component = self.actor.name.as_str();
        let named = [
            ("apiVersion", &about.api_version),
            ("kind", &about.kind),
            ("namespace", &about.namespace),
            ("name", &about.name),
            ("uid", &about.uid),
        ];
        let named = named.into_iter().filter(|(_, text)| !text.is_empty());
        let involved: Map<String, Value> = named.map(|(field, text)| (field.to_owned(), json!(&**text))).collect();
        let event = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "type": "Warning",
            "source": {"component": component},
            "reportingComponent": component,
            "reportingInstance": "",
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        });
        (name, event)
    }

    fn said(&self) -> MutexGuard<'_, HashMap<Said, String>> {
        self.said.lock().unwrap_or_else(|e| e.into_inner())
    }
}
