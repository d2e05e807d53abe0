//! Who sent a request: credentials are put before authenticators in turn until one knows them.
//!
//! A credential that nobody knows is refused, also where no credential would have been needed: a wrong token is a 401 on
//! `/healthz` too. Only a request without any credential is anonymous. What is wrong is for the log, never for the client.

mod authorities;
mod bearer;
mod certificate;
mod csv;
mod der;
mod discovery;
mod keys;
mod service_account;
mod static_tokens;
mod token_request;

pub use authorities::{Authorities, AuthorityError, PeerCertificates};
pub use bearer::{Presented, WEBSOCKET_TOKEN, authorization_token, is_padded, websocket_token};
pub use certificate::{ClientCertificates, user_from_certificate};
pub use csv::CsvError;
pub use discovery::{Discovery, DiscoveryError};
pub use keys::{KeyError, PublicKey, SigningKey, public_keys};
pub use service_account::{BoundKind, BoundObject, Objects, ServiceAccountTokens};
pub use static_tokens::{StaticTokens, TokenFileError};
pub use token_request::{BoundReference, Issued, TokenIssuer, bound_reference};

use std::collections::BTreeMap;

use crate::User;

/// One thing that a client shows to say who it is.
#[derive(Clone, Copy)]
pub enum Credential<'r> {
    /// What the peer showed; the TLS layer has verified that it holds the key, and nothing else.
    Certificate(&'r PeerCertificates),
    Token(&'r str),
}

/// Somebody who is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub user: User,
    /// The audiences that the credential is good for, among those that were asked for; empty if it does not say.
    pub audiences: Vec<String>,
    /// What the audit log should know of the credential.
    pub annotations: BTreeMap<&'static str, String>,
}

/// What an authenticator makes of a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Known(Box<Identity>),
    /// Not a credential of this authenticator; another may know it.
    NotMine,
    /// A credential of this authenticator that does not hold.
    Refused(String),
}

/// Somebody who knows users by one kind of credential.
pub trait Authenticator: Send + Sync {
    /// `audiences` are those that a token must be good for; empty where the server has none.
    fn authenticate(&self, credential: &Credential<'_>, audiences: &[String]) -> Outcome;
}

/// Nobody knows the credentials of a request. The text is for logs and token reviews.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unauthenticated(String);

/// All authenticators of a server.
pub struct Authentication {
    authenticators: Vec<Box<dyn Authenticator>>,
    anonymous: bool,
    audiences: Vec<String>,
}

impl Authentication {
    /// `audiences` are the server's own. Whether requests without credentials pass as `system:anonymous` is a choice.
    pub fn new(authenticators: Vec<Box<dyn Authenticator>>, anonymous: bool, audiences: Vec<String>) -> Self {
        Self { authenticators, anonymous, audiences }
    }

    /// The server's own audiences.
    pub fn audiences(&self) -> &[String] {
        &self.audiences
    }

    /// Finds out who sent a request from what it carried.
    pub fn request(&self, presented: &Presented<'_>) -> Result<Identity, Unauthenticated> {
        let mut refusals = Vec::new();
        if let Some(certificate) = presented.certificate
            && let Some(identity) = self.first(&Credential::Certificate(certificate), &self.audiences, &mut refusals)
        {
            return Ok(identity);
        }
        let websocket = websocket_token(presented.websocket_protocols.iter().copied()).unwrap_or_else(|refusal| {
            refusals.push(refusal.to_owned());
            None
        });
        let bearer = presented.authorization.and_then(authorization_token);
        for token in bearer.into_iter().chain(websocket.as_deref()) {
            match self.token(token, &self.audiences) {
                Ok(identity) => return Ok(identity),
                Err(refusal) => refusals.push(refusal.0),
            }
        }
        match refusals.is_empty() {
            true if self.anonymous => Ok(Identity {
                user: User::anonymous(),
                audiences: self.audiences.clone(),
                annotations: BTreeMap::new(),
            }),
            true => Err(Unauthenticated("no credentials".to_owned())),
            false => Err(Unauthenticated(aggregated(refusals))),
        }
    }

    /// Finds out whom a token stands for.
    pub fn token(&self, token: &str, audiences: &[String]) -> Result<Identity, Unauthenticated> {
        let mut refusals = Vec::new();
        let found = self.first(&Credential::Token(token), audiences, &mut refusals);
        if found.is_none() && refusals.is_empty() {
            refusals.push("invalid bearer token".to_owned());
        }
        found.ok_or_else(|| Unauthenticated(aggregated(refusals)))
    }

    fn first(&self, credential: &Credential<'_>, audiences: &[String], refusals: &mut Vec<String>) -> Option<Identity> {
        for authenticator in &self.authenticators {
            match authenticator.authenticate(credential, audiences) {
                Outcome::NotMine => {}
                Outcome::Refused(why) => refusals.push(why),
                Outcome::Known(mut identity) => {
                    identity.user.mark_authenticated();
                    let fits = audiences.is_empty()
                        || identity.audiences.is_empty()
                        || identity.audiences.iter().any(|a| audiences.contains(a));
                    if fits {
                        return Some(*identity);
                    }
                    refusals.push("unable to match the audience".to_owned());
                }
            }
        }
        None
    }
}

/// Those of the first list that are in the second too.
fn intersection(some: &[String], others: &[String]) -> Vec<String> {
    some.iter().filter(|item| others.contains(item)).cloned().collect()
}

/// Several errors in one text, equal ones once.
fn aggregated(refusals: Vec<String>) -> String {
    let mut distinct: Vec<String> = Vec::with_capacity(refusals.len());
    for refusal in refusals {
        if !distinct.contains(&refusal) {
            distinct.push(refusal);
        }
    }
    match distinct.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

#[cfg(test)]
mod tests;
