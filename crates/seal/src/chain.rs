//! The providers of a resource, in order: the first one seals, each whose prefix a value has tries to open it.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use crate::config;
use crate::kms::{DataKey, Envelope, Kms, Lookup, Question};
use crate::local::Cipher;
use crate::metrics::{FROM_STORAGE, Meter, Metrics, TO_STORAGE};
use crate::opened::{Failure, Opened, SealError, outcome};
use crate::seal::{SEALED, Seal};
use crate::secret::Fingerprint;
use crate::value::Plain;

#[derive(Default)]
pub(crate) struct Chain {
    /// Empty where no rule matches: values are stored as they are.
    providers: Vec<Arc<Provider>>,
}

pub(crate) enum Provider {
    Identity,
    Local(Local),
    Kms(Arc<Kms>),
}

pub(crate) struct Local {
    /// `k8s:enc:aesgcm:v1:`.
    prefix: &'static str,
    /// What upstream says when no key has the name that a value names.
    no_key: &'static str,
    keys: Vec<Key>,
}

struct Key {
    /// The name with the colon behind it.
    name: Box<str>,
    cipher: Cipher,
    seal: Arc<Seal>,
}

impl Provider {
    /// `None` for keys that do not fit: validation refuses them.
    pub fn local(given: &config::Provider) -> Option<Self> {
        const NO_AES_KEY: &str = "no matching key was found for the provided AES transformer";
        const NO_BOX_KEY: &str = "no matching key was found for the provided Secretbox transformer";
        type Make = fn(&[u8]) -> Option<Cipher>;
        let (name, prefix, keys, no_key, make): (_, _, _, _, Make) = match given {
            config::Provider::AesGcm(keys) => ("aesgcm", "k8s:enc:aesgcm:v1:", keys, NO_AES_KEY, Cipher::gcm),
            config::Provider::AesCbc(keys) => ("aescbc", "k8s:enc:aescbc:v1:", keys, NO_AES_KEY, Cipher::cbc),
            config::Provider::Secretbox(keys) => {
                ("secretbox", "k8s:enc:secretbox:v1:", keys, NO_BOX_KEY, Cipher::secretbox)
            }
            config::Provider::Identity => return Some(Self::Identity),
            config::Provider::Kms(_) => return None,
        };
        let key = |key: &config::Key| {
            let full: Arc<str> = format!("{prefix}{}:", key.name).into();
            let seal = Arc::new(Seal::local(name, full, &key.name, key.secret.expose()));
            Some(Key { name: format!("{}:", key.name).into(), cipher: make(key.secret.expose())?, seal })
        };
        let keys = keys.iter().map(key).collect::<Option<Vec<_>>>()?;
        (!keys.is_empty()).then_some(Self::Local(Local { prefix, no_key, keys }))
    }

    /// The prefix as metrics show it.
    fn label(&self, direction: &str) -> &str {
        match self {
            // Upstream has it so.
            Self::Identity => {
                if direction == FROM_STORAGE {
                    "identity"
                } else {
                    ""
                }
            }
            Self::Local(local) => local.prefix,
            Self::Kms(kms) => &kms.prefix,
        }
    }
}

impl Chain {
    pub fn append(&mut self, providers: &[Arc<Provider>]) {
        self.providers.extend_from_slice(providers);
    }

    /// Everything that can open values: the prefix of the values, and what tells the key apart.
    pub fn openers(&self) -> Vec<(Arc<str>, Fingerprint)> {
        let none = Seal::none();
        let mut openers = Vec::new();
        for provider in &self.providers {
            match &**provider {
                Provider::Identity => openers.push((none.prefix().into(), none.print())),
                Provider::Local(local) => {
                    openers.extend(local.keys.iter().map(|key| (key.seal.prefix().into(), key.seal.print())));
                }
                Provider::Kms(kms) => openers.push((kms.prefix.clone(), kms.print())),
            }
        }
        if self.providers.is_empty() {
            openers.push((none.prefix().into(), none.print()));
        }
        openers
    }

    pub fn services(&self) -> impl Iterator<Item = &Arc<Kms>> {
        self.providers.iter().filter_map(|provider| match &**provider {
            Provider::Kms(kms) => Some(kms),
            _ => None,
        })
    }

    /// Whether a value sealed so would be sealed otherwise today.
    pub fn is_stale(&self, seal: &Seal) -> bool {
        match self.providers.first().map(|provider| &**provider) {
            None | Some(Provider::Identity) => seal.print() != Seal::none().print(),
            Some(Provider::Local(local)) => local.keys.first().is_some_and(|key| key.seal.print() != seal.print()),
            Some(Provider::Kms(kms)) => seal.prefix() != &*kms.prefix || kms.is_stale(seal),
        }
    }
}

/// A chain in use for one resource, with what counts its work.
pub(crate) struct Bound {
    pub chain: Arc<Chain>,
    from: Vec<Meters>,
    to: Option<Meters>,
    unknown: Meter,
}

/// Upstream counts a provider, and below it the key.
struct Meters {
    provider: Meter,
    keys: Vec<Meter>,
}

/// How far a value was opened without waiting.
pub(crate) enum Progress {
    Done(Opened),
    /// The provider at this place has to ask.
    Ask(usize, Arc<Kms>, Question),
}

/// What the provider at a place was answered.
pub(crate) type Asked = (usize, Result<Arc<DataKey>, Failure>);

/// A value that a provider opened: the bytes, which of its keys did it, and whether that one is not its first.
struct Found {
    bytes: Bytes,
    seal: Arc<Seal>,
    stale: bool,
}

enum Attempt {
    Found(Found),
    Failed(Failure),
    Ask(Question),
    /// It is not for this provider.
    Pass,
}

impl Bound {
    pub fn new(chain: Arc<Chain>, metrics: &Arc<Metrics>, resource: &str) -> Self {
        let meters = |provider: &Provider, direction: &str| {
            let names: &[Key] = if let Provider::Local(local) = provider { &local.keys } else { &[] };
            Meters {
                provider: Meter::new(metrics, resource, direction, provider.label(direction)),
                keys: names.iter().map(|key| Meter::new(metrics, resource, direction, &key.name)).collect(),
            }
        };
        Self {
            from: chain.providers.iter().map(|provider| meters(provider, FROM_STORAGE)).collect(),
            to: chain.providers.first().map(|provider| meters(provider, TO_STORAGE)),
            unknown: Meter::new(metrics, resource, FROM_STORAGE, "unknown"),
            chain,
        }
    }

    /// Opens a value, as far as that needs no answer of a service, or with the answer that there is.
    pub fn open(&self, place: &str, value: &Bytes, asked: Option<&Asked>) -> Progress {
        if self.chain.providers.is_empty() {
            return Progress::Done(open_unruled(value));
        }
        let began = Instant::now();
        let mut failures = Vec::new();
        for (at, (provider, meters)) in self.chain.providers.iter().zip(&self.from).enumerate() {
            let answer = asked.filter(|(place, _)| *place == at).map(|(_, answer)| answer);
            match try_open(provider, meters, place, value, answer, began) {
                Attempt::Pass => {}
                Attempt::Found(Found { bytes, seal, stale }) => {
                    meters.provider.succeeded(began);
                    return Progress::Done(Opened::Plain { bytes: Plain::new(bytes), seal, stale: stale || at != 0 });
                }
                Attempt::Failed(failure) => {
                    meters.provider.failed(failure.code);
                    failures.push(failure);
                }
                Attempt::Ask(question) => {
                    if let Provider::Kms(kms) = &**provider {
                        return Progress::Ask(at, kms.clone(), question);
                    }
                }
            }
        }
        if failures.is_empty() {
            self.unknown.failed("unknown-non-grpc");
        }
        Progress::Done(outcome(value, failures))
    }

    pub fn seal(&self, place: &str, plain: &Bytes) -> Result<Bytes, SealError> {
        let (Some(provider), Some(meters)) = (self.chain.providers.first(), &self.to) else { return Ok(plain.clone()) };
        let began = Instant::now();
        let sealed = match &**provider {
            Provider::Identity => Ok(plain.clone()),
            Provider::Local(local) => local.seal(place, plain).map(Bytes::from),
            Provider::Kms(kms) => kms.seal(place, plain).map(Bytes::from),
        };
        match &sealed {
            Ok(_) => {
                meters.provider.succeeded(began);
                if let Some(key) = meters.keys.first() {
                    key.succeeded(began);
                }
            }
            Err(_) => meters.provider.failed("unknown-non-grpc"),
        }
        sealed
    }
}

fn open_unruled(value: &Bytes) -> Opened {
    if value.starts_with(SEALED) {
        let failure = Failure::no_key("identity transformer tried to read encrypted data");
        return outcome(value, vec![failure]);
    }
    Opened::Plain { bytes: Plain::new(value.clone()), seal: Seal::none().clone(), stale: false }
}

fn try_open(
    provider: &Provider,
    meters: &Meters,
    place: &str,
    value: &Bytes,
    answer: Option<&Result<Arc<DataKey>, Failure>>,
    began: Instant,
) -> Attempt {
    match provider {
        // What is sealed is left to those behind it.
        Provider::Identity if value.starts_with(SEALED) => Attempt::Pass,
        Provider::Identity => Attempt::Found(Found { bytes: value.clone(), seal: Seal::none().clone(), stale: false }),
        Provider::Local(local) => match value.strip_prefix(local.prefix.as_bytes()) {
            None => Attempt::Pass,
            Some(rest) => local.open(meters, place, rest, began),
        },
        Provider::Kms(kms) => match value.strip_prefix(kms.prefix.as_bytes()) {
            None => Attempt::Pass,
            Some(rest) => open_envelope(kms, place, rest, answer),
        },
    }
}

fn open_envelope(kms: &Kms, place: &str, data: &[u8], answer: Option<&Result<Arc<DataKey>, Failure>>) -> Attempt {
    let envelope = match Envelope::parse(data) {
        Ok(envelope) => envelope,
        Err(why) => return Attempt::Failed(Failure::damaged(why)),
    };
    let key = match answer {
        Some(Err(failure)) => return Attempt::Failed(failure.clone()),
        Some(Ok(key)) => key.clone(),
        None => match kms.look(&envelope) {
            Lookup::Found(key) => key,
            Lookup::Ask(question) => return Attempt::Ask(question),
        },
    };
    key.uses.count();
    match key.open(place, envelope.data) {
        Ok(plain) => {
            let stale = kms.is_stale(&key.seal);
            Attempt::Found(Found { bytes: plain.into(), seal: key.seal.clone(), stale })
        }
        Err(failure) => Attempt::Failed(failure),
    }
}

impl Local {
    /// All keys of the name are tried; a name may be the beginning of another.
    fn open(&self, meters: &Meters, place: &str, value: &[u8], began: Instant) -> Attempt {
        let mut failure: Option<Failure> = None;
        for (at, (key, meter)) in self.keys.iter().zip(&meters.keys).enumerate() {
            let Some(data) = value.strip_prefix(key.name.as_bytes()) else { continue };
            match key.cipher.open(place, data) {
                Ok(plain) => {
                    meter.succeeded(began);
                    return Attempt::Found(Found { bytes: plain.into(), seal: key.seal.clone(), stale: at != 0 });
                }
                Err(other) => {
                    meter.failed(other.code);
                    failure = Some(failure.map_or_else(|| other.clone(), |failure| failure.and(&other)));
                }
            }
        }
        Attempt::Failed(failure.unwrap_or_else(|| Failure::no_key(self.no_key)))
    }

    fn seal(&self, place: &str, plain: &[u8]) -> Result<Vec<u8>, SealError> {
        let key = self.keys.first().ok_or(SealError::Failed("there is no key to seal with"))?;
        let prefix = key.seal.prefix();
        let mut out = Vec::with_capacity(prefix.len() + plain.len() + key.cipher.overhead());
        out.extend_from_slice(prefix.as_bytes());
        key.cipher.seal(place, plain, &mut out)?;
        Ok(out)
    }
}
