//! What the values of one resource go through on their way to and from the store. It follows the keys in use by itself.

use std::sync::Arc;

use arc_swap::ArcSwap;
use pawl_meta::GroupResource;

use crate::chain::{Bound, Progress};
use crate::kms::{Kms, Question};
use crate::live::Shared;
use crate::opened::{Opened, SealError};
use crate::seal::Seal;
use crate::value::{Plain, Sealed};

/// Seals and opens the values of a resource.
pub struct Transform {
    shared: Arc<Shared>,
    resource: GroupResource,
    /// The chain of the keys that were in use when it was last asked for.
    known: ArcSwap<Known>,
}

struct Known {
    generation: u64,
    bound: Arc<Bound>,
}

impl std::fmt::Debug for Transform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Transform({})", self.resource)
    }
}

/// How far a value was opened at once.
pub enum Opening {
    Done(Opened),
    /// A key service has to be asked first; nobody should wait for it who serves others.
    Asking(Asking),
}

/// A value that opens when a key service has answered.
pub struct Asking {
    bound: Arc<Bound>,
    place: Box<str>,
    value: Sealed,
    at: usize,
    kms: Arc<Kms>,
    question: Question,
}

impl Transform {
    pub(crate) fn new(shared: Arc<Shared>, resource: GroupResource) -> Self {
        let known = ArcSwap::new(Arc::new(bind(&shared, &resource)));
        Self { shared, resource, known }
    }

    pub fn resource(&self) -> &GroupResource {
        &self.resource
    }

    /// Seals a value. `place` is its full storage key, to which some providers bind it. Never waits.
    pub fn seal(&self, place: &str, plain: &Plain) -> Result<Sealed, SealError> {
        self.bound().seal(place, plain.bytes()).map(Sealed::stored)
    }

    /// Opens a value. Never waits: what needs an answer of a key service comes back as a question.
    pub fn open(&self, place: &str, value: Sealed) -> Opening {
        let bound = self.bound();
        match bound.open(place, value.bytes(), None) {
            Progress::Done(opened) => Opening::Done(opened),
            Progress::Ask(at, kms, question) => {
                Opening::Asking(Asking { bound, place: place.into(), value, at, kms, question })
            }
        }
    }

    /// Whether a value sealed so would be sealed otherwise today.
    pub fn is_stale(&self, seal: &Seal) -> bool {
        self.bound().chain.is_stale(seal)
    }

    fn bound(&self) -> Arc<Bound> {
        let known = self.known.load();
        if known.generation == self.shared.generation() {
            return known.bound.clone();
        }
        let fresh = Arc::new(bind(&self.shared, &self.resource));
        self.known.store(fresh.clone());
        fresh.bound.clone()
    }
}

fn bind(shared: &Shared, resource: &GroupResource) -> Known {
    let mark = shared.mark();
    let bound = Bound::new(mark.keys.chain(resource).clone(), &shared.metrics, &resource.to_string());
    Known { generation: mark.generation, bound: Arc::new(bound) }
}

impl Opening {
    /// The value, whether at once or when the key service has answered.
    pub async fn finish(self) -> Opened {
        match self {
            Self::Done(opened) => opened,
            Self::Asking(asking) => asking.answer().await,
        }
    }
}

impl Asking {
    /// The name of the key service that is asked.
    pub fn provider(&self) -> &str {
        &self.kms.service.name
    }

    /// Waits for the service, at most as long as its configuration allows.
    pub async fn answer(self) -> Opened {
        let Self { bound, place, value, at, kms, question } = self;
        let asked = (at, kms.ask(question).await);
        match bound.open(&place, value.bytes(), Some(&asked)) {
            Progress::Done(opened) => opened,
            // Names of services are unique: no other one can have the prefix.
            Progress::Ask(_, kms, _) => {
                let message = "it has to be asked again".to_owned();
                Opened::Away(crate::Away { provider: kms.service.name.as_str().into(), message })
            }
        }
    }
}
