//! The Lease by which one of many controllers leads. Times of others are not compared with one's own clock: a lease is over when
//! nobody has renewed it for as long as it lasts, watched from here.

use std::time::Duration;

use kube::api::PostParams;
use kube::{Api, Client};
use pawl_meta::object::{Meta, Object, at};
use pawl_meta::time;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::endpoint::Health;
use crate::object::{Whole, resource};

/// How long a lease lasts, after how long its holder gives up, and how often it is looked at.
const LASTS: Duration = Duration::from_secs(15);
const GIVE_UP: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_secs(2);

pub struct Lease {
    api: Api<Whole>,
    name: &'static str,
    holder: String,
}

/// What was seen of somebody else's lease, and since when it has not changed.
type Seen = Option<(String, Instant)>;

impl Lease {
    pub fn new(client: &Client, namespace: &str, name: &'static str) -> Self {
        let resource = resource("coordination.k8s.io", "Lease", "leases");
        let api = Api::namespaced_with(client.clone(), namespace, &resource);
        let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "pawl".to_owned());
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let holder = format!("{host}_{}_{:x}", std::process::id(), since.as_nanos());
        Self { api, name, holder }
    }

    /// Waits until it is ours.
    pub async fn acquire(&self) {
        let mut seen: Seen = None;
        loop {
            match self.attempt(&mut seen).await {
                Ok(true) => return,
                Ok(false) => {}
                Err(why) => tracing::warn!(lease = self.name, %why, "cannot be acquired now"),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Keeps it; says why that ended.
    pub async fn renew(&self, health: &Health) -> String {
        let mut renewed = Instant::now();
        loop {
            tokio::time::sleep(PAUSE).await;
            match self.attempt(&mut None).await {
                Ok(true) => renewed = Instant::now(),
                Ok(false) => return "somebody else leads".to_owned(),
                Err(why) if renewed.elapsed() > GIVE_UP => return format!("the lease could not be renewed: {why}"),
                Err(why) => tracing::warn!(lease = self.name, %why, "cannot be renewed now"),
            }
            health.set(renewed.elapsed() < GIVE_UP);
        }
    }

    /// Lets somebody else lead at once.
    pub async fn release(&self) {
        if let Ok(Some(kept)) = self.api.get_opt(self.name).await
            && holder(&kept.object) == self.holder
        {
            let mut object = kept.object;
            set(&mut object, "holderIdentity", json!(""));
            let _ = self.api.replace(self.name, &PostParams::default(), &Whole::new(object)).await;
        }
    }

    /// Takes or renews the lease, if it is ours, nobody's, or over.
    async fn attempt(&self, seen: &mut Seen) -> Result<bool, kube::Error> {
        let now = time::now_micro();
        let Some(kept) = self.api.get_opt(self.name).await? else {
            let mut object = Object::new();
            object.insert("apiVersion".to_owned(), json!("coordination.k8s.io/v1"));
            object.insert("kind".to_owned(), json!("Lease"));
            object.insert("metadata".to_owned(), json!({"name": self.name}));
            self.take(&mut object, &now, 0);
            return settled(self.api.create(&PostParams::default(), &Whole::new(object)).await);
        };
        let mut object = kept.object;
        let others = holder(&object) != self.holder;
        if others && !holder(&object).is_empty() {
            let version = object.resource_version().to_owned();
            match seen {
                Some((before, since)) if *before == version => {
                    if since.elapsed() < LASTS {
                        return Ok(false);
                    }
                }
                _ => {
                    *seen = Some((version, Instant::now()));
                    return Ok(false);
                }
            }
        }
        if others {
            let before = at(&object, "spec.leaseTransitions").and_then(Value::as_i64).unwrap_or(0);
            self.take(&mut object, &now, before.saturating_add(1));
        }
        set(&mut object, "renewTime", json!(now));
        settled(self.api.replace(self.name, &PostParams::default(), &Whole::new(object)).await)
    }

    fn take(&self, object: &mut Object, now: &str, transitions: i64) {
        set(object, "holderIdentity", json!(self.holder));
        set(object, "leaseDurationSeconds", json!(LASTS.as_secs()));
        set(object, "acquireTime", json!(now));
        set(object, "renewTime", json!(now));
        set(object, "leaseTransitions", json!(transitions));
    }
}

/// Whether the write came first.
fn settled(result: Result<Whole, kube::Error>) -> Result<bool, kube::Error> {
    match result {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
        Err(why) => Err(why),
    }
}

fn holder(lease: &Object) -> &str {
    at(lease, "spec.holderIdentity").and_then(Value::as_str).unwrap_or_default()
}

fn set(lease: &mut Object, field: &str, value: Value) {
    let spec = lease.entry("spec").or_insert_with(|| json!({}));
    if let Value::Object(spec) = spec {
        spec.insert(field.to_owned(), value);
    }
}
