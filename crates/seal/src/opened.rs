//! What comes out when a value is opened.

use std::borrow::Cow;
use std::sync::Arc;

use crate::seal::{Header, SEALED, Seal};
use crate::value::Plain;

/// A value after an attempt to open it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    /// `stale` when another key would seal it today: it is worth writing again, even unchanged.
    Plain { bytes: Plain, seal: Arc<Seal>, stale: bool },
    /// It will not open with the keys there are.
    Unreadable(Unreadable),
    /// The one who has the key does not answer: nothing is known about the value.
    Away(Away),
}

/// Why a value does not open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    pub reason: Reason,
    /// In upstream's words.
    pub message: String,
    /// The provider and the key that the value names; empty where it names none.
    pub provider: Box<str>,
    pub key: Box<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// No key in use is the one that the value names.
    NoKey,
    /// The value has not the form that a sealed value has, or a key that is certainly right does not open it.
    Damaged,
    /// The key of that name does not open it: it is another key, or the value was changed or moved.
    WrongKey,
}

impl Reason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoKey => "no key",
            Self::Damaged => "damaged",
            Self::WrongKey => "wrong key",
        }
    }
}

/// A key service that does not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("KMS provider {provider} is away: {message}")]
pub struct Away {
    pub provider: Arc<str>,
    pub message: String,
}

/// Why a value could not be sealed. Nothing is ever stored unsealed instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    #[error(transparent)]
    Away(#[from] Away),
    #[error("{0}")]
    Failed(&'static str),
}

/// Why one key did not open a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    verdict: OpeningFailure,
    message: Cow<'static, str>,
    /// Its name in metrics.
    pub code: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum OpeningFailure {
    Refused(Reason),
    /// The service of that name does not answer.
    Away(Arc<str>),
}

/// What metrics call errors that no key service answered.
const NO_CALL: &str = "unknown-non-grpc";

impl Failure {
    pub fn new(reason: Reason, message: impl Into<Cow<'static, str>>) -> Self {
        Self { verdict: OpeningFailure::Refused(reason), message: message.into(), code: NO_CALL }
    }

    pub fn damaged(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Reason::Damaged, message)
    }

    pub fn wrong_key(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Reason::WrongKey, message)
    }

    pub fn no_key(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Reason::NoKey, message)
    }

    pub fn away(provider: Arc<str>, message: String, code: &'static str) -> Self {
        Self { verdict: OpeningFailure::Away(provider), message: message.into(), code }
    }

    pub fn with_code(self, code: &'static str) -> Self {
        Self { code, ..self }
    }

    /// This and another, told together.
    pub fn and(self, other: &Self) -> Self {
        let (OpeningFailure::Refused(one), OpeningFailure::Refused(two)) = (&self.verdict, &other.verdict) else {
            return self;
        };
        let verdict = OpeningFailure::Refused(*one.max(two));
        if self.message == other.message {
            return Self { verdict, ..self };
        }
        let told = self.message.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        let message = format!("[{}, {}]", told.unwrap_or(&self.message), other.message).into();
        Self { verdict, message, code: self.code }
    }

    /// The same, but certainly not for want of the right key.
    pub fn into_damage(self) -> Self {
        match self.verdict {
            OpeningFailure::Refused(_) => Self { verdict: OpeningFailure::Refused(Reason::Damaged), ..self },
            OpeningFailure::Away(_) => self,
        }
    }

    #[cfg(test)]
    pub fn told(&self) -> (Option<Reason>, &str) {
        match self.verdict {
            OpeningFailure::Refused(reason) => (Some(reason), &self.message),
            OpeningFailure::Away(_) => (None, &self.message),
        }
    }
}

/// What all keys that were tried say together. One that might still open the value outweighs all that do not.
pub(crate) fn outcome(value: &[u8], failures: Vec<Failure>) -> Opened {
    let mut messages: Vec<Cow<'static, str>> = Vec::new();
    let mut worst = Reason::NoKey;
    for Failure { verdict, message, .. } in failures {
        match verdict {
            OpeningFailure::Away(provider) => return Opened::Away(Away { provider, message: message.into_owned() }),
            OpeningFailure::Refused(reason) => worst = worst.max(reason),
        }
        if !messages.contains(&message) {
            messages.push(message);
        }
    }
    let message = match messages.as_slice() {
        [] => "no matching prefix found".to_owned(),
        [one] => one.clone().into_owned(),
        many => format!("[{}]", many.join(", ")),
    };
    let header = Header::of(value);
    if worst == Reason::NoKey && header.is_none() && value.starts_with(SEALED) {
        worst = Reason::Damaged;
    }
    let (provider, key) = header.map_or_else(Default::default, |h| (h.provider.into(), h.key.into()));
    Opened::Unreadable(Unreadable { reason: worst, message, provider, key })
}
