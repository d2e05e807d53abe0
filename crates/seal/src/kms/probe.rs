//! Whether a key service is well, and which of its keys new values are sealed under.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::RwLock;
use tokio::time::Instant;

use super::client::worded;
use super::data_key::DataKey;
use super::envelope::{Envelope, SEED, validate_key_id};
use super::messages::{EncryptRequest, StatusResponse};
use super::provider::{Kms, Writing};
use crate::config::hash_of_name;
use crate::metrics::{FROM_STORAGE, TO_STORAGE};
use crate::seal::Seal;

/// What was last heard of a service.
#[derive(Default)]
pub(crate) struct Probe {
    /// One at a time asks; it also keeps the version that the service named first.
    turn: tokio::sync::Mutex<Option<String>>,
    last: RwLock<Option<Heard>>,
}

#[derive(Clone)]
struct Heard {
    at: Instant,
    outcome: Result<(), String>,
}

impl Kms {
    pub fn is_well(&self) -> bool {
        self.probe.last.read().as_ref().is_some_and(|heard| heard.outcome.is_ok())
    }

    /// What was heard not too long ago, or is heard now.
    pub async fn health(&self) -> Result<(), String> {
        let last = self.probe.last.read().clone();
        match last.filter(|heard| heard.at.elapsed() < self.pace.fresh) {
            Some(heard) => heard.outcome,
            None => self.probe().await,
        }
    }

    /// Asks the service how it is, and follows the key id that it names.
    pub async fn probe(&self) -> Result<(), String> {
        let mut version = self.probe.turn.lock().await;
        let suspect = self.suspect.swap(false, Ordering::AcqRel);
        let known = self.writing.load().as_ref().map(|writing| writing.key_id.clone());
        let outcome = self.examine(&mut version).await;
        let before = self.probe.last.write().replace(Heard { at: Instant::now(), outcome: outcome.clone() });
        let was_well = before.as_ref().is_none_or(|heard| heard.outcome.is_ok());
        match &outcome {
            Ok(()) => {
                let now = self.writing.load().as_ref().map(|writing| writing.key_id.clone());
                let rotated = known.is_some() && known != now;
                if rotated {
                    tracing::info!(provider = %self.name, "the key service changed the key that new values are sealed under");
                }
                if !was_well {
                    tracing::info!(provider = %self.name, "the key service is there again");
                }
                if rotated || !was_well || suspect {
                    self.worth_asking_again();
                }
            }
            Err(error) => {
                self.suspect.fetch_or(suspect, Ordering::AcqRel);
                if was_well {
                    tracing::warn!(provider = %self.name, %error, "the key service is away");
                }
            }
        }
        outcome
    }

    async fn examine(&self, version: &mut Option<String>) -> Result<(), String> {
        let name = &self.name;
        let status = self.client.status().await.map_err(|status| {
            let why = worded(&status);
            format!("failed to perform status section of the healthz check for KMS Provider {name}, error: {why}")
        })?;
        let mut wrong = Vec::new();
        if status.healthz != "ok" {
            wrong.push(format!("got unexpected healthz status: {}", status.healthz));
        }
        wrong.extend(check_version(&status, version));
        match validate_key_id(&status.key_id) {
            Ok(()) => {
                self.metrics.key_id_told(name, &status.key_id);
                wrong.extend(self.confirm(&status.key_id).await.err());
            }
            Err((error, why)) => {
                self.metrics.key_id_refused(name, error);
                let hash = hash_of_name(&status.key_id);
                wrong.push(format!("got invalid KMSv2 KeyID hash {hash:?}: {why}"));
            }
        }
        match wrong.as_slice() {
            [] => Ok(()),
            [one] => Err(format!("kmsv2 Provider {name} is not healthy, error: {one}")),
            many => Err(format!("kmsv2 Provider {name} is not healthy, error: [{}]", many.join(", "))),
        }
    }

    /// Keeps the data key in use while its key id is the service's, and makes another when it is not. One that cannot be
    /// replaced goes on until it was unconfirmed for too long.
    async fn confirm(&self, key_id: &str) -> Result<(), String> {
        let until = Instant::now() + self.pace.confirmed;
        let writing = self.writing.load_full();
        if let Some(writing) = writing.as_ref().filter(|writing| &*writing.key_id == key_id) {
            let Writing { key, key_id, uses, tail, .. } = &**writing;
            let (key, key_id, uses, tail) = (key.clone(), key_id.clone(), uses.clone(), tail.clone());
            self.writing.store(Some(Arc::new(Writing { key, key_id, uses, tail, until })));
            return Ok(());
        }
        let uid = uuid::Uuid::new_v4().to_string();
        let known = writing.as_ref().map(|writing| hash_of_name(&writing.key_id)).unwrap_or_default();
        let failed = |why: String, used: &str| {
            let (told, used) = (hash_of_name(key_id), hash_of_name(used));
            format!(
                "failed to rotate DEK uid={uid:?}, errGen={why}, statusKeyIDHash={told:?}, encryptKeyIDHash={used:?}, stateKeyIDHash={known:?}"
            )
        };
        let made = self.generate(&uid, until).await.map_err(|why| failed(why, ""))?;
        if &*made.key_id != key_id {
            return Err(failed("<nil>".to_owned(), &made.key_id));
        }
        self.writing.store(Some(Arc::new(made)));
        Ok(())
    }

    /// Makes a seed and has the service encrypt it.
    async fn generate(&self, uid: &str, until: Instant) -> Result<Writing, String> {
        let began = std::time::Instant::now();
        let seed = DataKey::seed();
        self.metrics.data_key_made(seed.is_ok().then_some(began));
        let seed = seed.map_err(|_| "unable to read sufficient random bytes".to_owned())?;
        let request = EncryptRequest { plaintext: seed.expose().to_vec(), uid: uid.to_owned() };
        let response = self
            .client
            .encrypt(request)
            .await
            .map_err(|status| format!("failed to encrypt DEK, error: {}", worded(&status)))?;
        let envelope = Envelope {
            data: &[],
            key_id: &response.key_id,
            source: &response.ciphertext,
            annotations: response.annotations.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect(),
            kind: SEED,
        };
        envelope.validate_source()?;
        let key_id: Arc<str> = response.key_id.as_str().into();
        let seal = Arc::new(Seal::kms(self.prefix.clone(), self.name.clone(), &key_id, SEED));
        let read = self.metrics.uses(FROM_STORAGE, &self.name, &key_id);
        let key = Arc::new(DataKey::new(SEED, seed, seal, read)?);
        self.remember(envelope.id(), key.clone());
        let uses = Arc::new(self.metrics.uses(TO_STORAGE, &self.name, &key_id));
        Ok(Writing { key, key_id, uses, tail: envelope.tail().into(), until })
    }
}

fn check_version(status: &StatusResponse, first: &mut Option<String>) -> Option<String> {
    let given = &status.version;
    if given != "v2" && given != "v2beta1" {
        return Some(format!("expected KMSv2 API version v2, got {given}"));
    }
    let first = first.get_or_insert_with(|| given.clone());
    (first != given).then(|| {
        format!("KMSv2 API version should not change after the initial status response version {first}, got {given}")
    })
}
