//! One key service: the keys it gave, and the one in use for writing.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use arc_swap::ArcSwapOption;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;
use tokio::time::Instant;
use tonic::Status;

use super::client::{Client, code_name, is_away, is_final, worded};
use super::data_key::DataKey;
use super::envelope::{Envelope, Id};
use super::messages::DecryptRequest;
use super::probe::Probe;
use crate::config::Service;
use crate::metrics::{FROM_STORAGE, Metrics, Uses};
use crate::opened::{Away, Failure, Reason, SealError};
use crate::pace::Pace;
use crate::seal::Seal;
use crate::secret::{Fingerprint, Secret};

/// What a service said when it was asked for a data key.
type Answer = Result<Arc<DataKey>, Failure>;

pub(crate) struct Kms {
    pub service: Service,
    /// `k8s:enc:kms:v2:NAME:`.
    pub prefix: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) client: Client,
    pub(super) pace: Pace,
    pub(super) metrics: Arc<Metrics>,
    /// The data keys of values that were read or written. They stay: what was readable stays so without the service.
    keys: RwLock<HashMap<Id, Arc<DataKey>>>,
    /// Questions under way: who needs the same data key waits for the same answer.
    asking: Mutex<HashMap<Id, Shared<BoxFuture<'static, Answer>>>>,
    pub(super) writing: ArcSwapOption<Writing>,
    pub(super) probe: Probe,
    /// A question was left without an answer since the service was last heard.
    pub(super) suspect: AtomicBool,
    /// Grows when what was refused or left open before is worth asking again.
    epoch: AtomicU64,
    wake: Arc<Notify>,
    news: Arc<dyn Fn() + Send + Sync>,
}

/// The data key that seals values, for as long as the service confirms its key id.
pub(crate) struct Writing {
    pub key: Arc<DataKey>,
    pub key_id: Arc<str>,
    pub uses: Arc<Uses>,
    /// What stands behind the ciphertext in every value.
    pub tail: Arc<[u8]>,
    pub until: Instant,
}

/// Whether a data key is at hand.
pub(crate) enum Lookup {
    Found(Arc<DataKey>),
    Ask(Question),
}

/// A data key that only the service can give.
pub(crate) struct Question {
    id: Id,
    kind: i32,
    request: DecryptRequest,
}

impl Kms {
    /// Starts to look after a service, and hears it once; that it does not answer is no error. `news` is called when what
    /// was left open or refused is worth asking again.
    pub async fn start(
        service: Service,
        pace: Pace,
        metrics: Arc<Metrics>,
        news: Arc<dyn Fn() + Send + Sync>,
    ) -> Arc<Self> {
        let kms = Arc::new(Self {
            prefix: format!("k8s:enc:kms:v2:{}:", service.name).into(),
            name: service.name.as_str().into(),
            client: Client::new(&service, metrics.clone()),
            service,
            pace,
            metrics,
            keys: RwLock::default(),
            asking: Mutex::default(),
            writing: ArcSwapOption::empty(),
            probe: Probe::default(),
            suspect: AtomicBool::new(false),
            epoch: AtomicU64::new(0),
            wake: Arc::default(),
            news,
        });
        let _ = kms.probe().await;
        tokio::spawn(keep(Arc::downgrade(&kms), kms.wake.clone(), pace));
        kms
    }

    /// Tells services apart that have the same name.
    pub fn print(&self) -> Fingerprint {
        Fingerprint::of(&[self.prefix.as_bytes(), self.service.socket.as_bytes()])
    }

    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    pub(super) fn worth_asking_again(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        (self.news)();
    }

    /// Whether a value sealed so would be sealed otherwise today. Unknown is no: nothing can be written then anyway.
    pub fn is_stale(&self, seal: &Seal) -> bool {
        self.writing.load().as_ref().is_some_and(|writing| writing.key.seal.print() != seal.print())
    }

    pub fn look(&self, envelope: &Envelope<'_>) -> Lookup {
        let id = envelope.id();
        if let Some(key) = self.keys.read().get(&id) {
            return Lookup::Found(key.clone());
        }
        let annotations: BTreeMap<String, Vec<u8>> =
            envelope.annotations.iter().map(|(name, value)| ((*name).to_owned(), value.to_vec())).collect();
        let request = DecryptRequest {
            ciphertext: envelope.source.to_vec(),
            uid: uuid::Uuid::new_v4().to_string(),
            key_id: envelope.key_id.to_owned(),
            annotations,
        };
        Lookup::Ask(Question { id, kind: envelope.kind, request })
    }

    /// Asks the service for a data key. A reader that goes away leaves the answer to the others.
    pub async fn ask(self: &Arc<Self>, question: Question) -> Answer {
        let answer = {
            let mut asking = self.asking.lock();
            match asking.get(&question.id) {
                Some(answer) => answer.clone(),
                None => {
                    let (id, kms) = (question.id, self.clone());
                    let task = tokio::spawn(async move {
                        let answer = kms.fetch(question).await;
                        kms.asking.lock().remove(&id);
                        answer
                    });
                    let name = self.name.clone();
                    let lost = move || Failure::away(name, "the call was given up".to_owned(), "Canceled");
                    let answer = task.map(move |answer| answer.unwrap_or_else(|_| Err(lost()))).boxed().shared();
                    asking.insert(id, answer.clone());
                    answer
                }
            }
        };
        answer.await
    }

    async fn fetch(&self, question: Question) -> Answer {
        let Question { id, kind, request } = question;
        self.metrics.misses.inc();
        let key_id = request.key_id.clone();
        let mut response = match self.client.decrypt(request).await {
            Ok(response) => response,
            Err(status) => return Err(self.judge(&status).await),
        };
        let secret = Secret::new(std::mem::take(&mut response.plaintext));
        let seal = Arc::new(Seal::kms(self.prefix.clone(), self.name.clone(), &key_id, kind));
        let uses = self.metrics.uses(FROM_STORAGE, &self.name, &key_id);
        let key = Arc::new(DataKey::new(kind, secret, seal, uses).map_err(Failure::damaged)?);
        self.remember(id, key.clone());
        Ok(key)
    }

    /// What a failed call says about the value. Services word a key they do not have in many ways, and use the same codes
    /// for troubles of their own: only one that says it is well, and names no other cause, has refused the value.
    async fn judge(&self, status: &Status) -> Failure {
        let message = format!("failed to decrypt DEK, error: {}", worded(status));
        let code = code_name(status.code());
        let refused = !is_away(status)
            && (is_final(status) || self.client.status().await.is_ok_and(|status| status.healthz == "ok"));
        if refused {
            return Failure::new(Reason::NoKey, message).with_code(code);
        }
        self.suspect.store(true, Ordering::Release);
        self.wake.notify_one();
        Failure::away(self.name.clone(), message, code)
    }

    pub(super) fn remember(&self, id: Id, key: Arc<DataKey>) {
        let count = {
            let mut keys = self.keys.write();
            keys.insert(id, key);
            keys.len()
        };
        self.metrics.data_keys(&self.name, count);
    }

    /// Seals a value with the data key in use.
    pub fn seal(&self, place: &str, plain: &[u8]) -> Result<Vec<u8>, SealError> {
        let writing = self.writing.load();
        let Some(writing) = writing.as_ref().filter(|writing| Instant::now() <= writing.until) else {
            self.wake.notify_one();
            let message = match writing.as_ref() {
                None => "there is no key to write with yet".to_owned(),
                Some(_) => format!("it did not confirm the key to write with for {:?}", self.pace.confirmed),
            };
            return Err(Away { provider: self.name.clone(), message }.into());
        };
        /// A key and a length of up to ten bytes.
        const FIELD: usize = 11;
        let len = self.prefix.len() + FIELD + DataKey::overhead() + plain.len() + writing.tail.len();
        let mut out = Vec::with_capacity(len);
        out.extend_from_slice(self.prefix.as_bytes());
        writing.key.seal(place, plain, &mut out)?;
        out.extend_from_slice(&writing.tail);
        writing.uses.count();
        Ok(out)
    }
}

/// Nothing of a service is shown but its name.
impl fmt::Debug for Kms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kms({:?})", self.name)
    }
}

impl Drop for Kms {
    fn drop(&mut self) {
        self.wake.notify_one();
    }
}

/// Hears the service for as long as somebody uses it: seldom while it is well, often while it is not.
async fn keep(kms: Weak<Kms>, wake: Arc<Notify>, pace: Pace) {
    loop {
        let Some(well) = kms.upgrade().map(|kms| kms.is_well()) else { return };
        let wait = if well { pace.confirm } else { pace.retry };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            // Many may find it away at once: they are answered by one question.
            () = wake.notified() => tokio::time::sleep(pace.retry / 4).await,
        }
        let Some(kms) = kms.upgrade() else { return };
        let _ = kms.probe().await;
    }
}
