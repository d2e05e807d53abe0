//! Users by service-account token: a JWT that this server signed, for an account that is still there.
//!
//! Tokens of the old kind, without expiry and kept in Secrets, have another issuer and are not known here.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pawl_meta::{go, time};
use ring::digest;
use serde::{Deserialize, Serialize};

use super::keys::PublicKey;
use super::{Authenticator, Credential, Identity, Outcome, aggregated, intersection};
use crate::rbac::quoted;
use crate::{User, names};

/// How far clocks may differ, and how long a token outlives what it is bound to.
const LEEWAY: i64 = 60;
/// How many tokens are remembered as rightly signed.
const REMEMBERED: usize = 4096;

/// The kinds of objects that a token depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundKind {
    ServiceAccount,
    Pod,
    Secret,
    Node,
}

/// What a token needs to know of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundObject {
    pub uid: String,
    /// `metadata.deletionTimestamp` in seconds, once it is being deleted.
    pub deleted_at: Option<i64>,
}

/// Somebody who knows which objects exist. Nodes have no namespace.
pub trait Objects: Send + Sync {
    fn find(&self, kind: BoundKind, namespace: &str, name: &str) -> Option<BoundObject>;
}

/// Knows service accounts by their tokens.
pub struct ServiceAccountTokens {
    issuers: Vec<String>,
    keys: Vec<PublicKey>,
    audiences: Vec<String>,
    objects: Arc<dyn Objects>,
    /// Claims by the hash of a token whose signature has been verified: verifying is the expensive part, and keys do not
    /// change while the server runs. Times and objects are looked at every time.
    verified: RwLock<HashMap<[u8; 32], Arc<Claims>>>,
}

/// What a token says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Claims {
    pub aud: Audience,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exp: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iat: Option<Seconds>,
    pub iss: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub jti: String,
    #[serde(rename = "kubernetes.io")]
    pub kubernetes: Kubernetes,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nbf: Option<Seconds>,
    pub sub: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Kubernetes {
    pub namespace: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Reference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<Reference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<Reference>,
    pub serviceaccount: Reference,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnafter: Option<Seconds>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reference {
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

/// One audience may stand alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Audience {
    Many(Vec<String>),
    One(String),
}

/// A time in seconds; others may write it with a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "f64", into = "i64")]
pub(super) struct Seconds(pub i64);

#[derive(Default, Deserialize)]
#[serde(default)]
struct Header {
    alg: String,
    kid: String,
    /// Extensions that must be understood: none are.
    crit: Option<serde_json::Value>,
}

impl ServiceAccountTokens {
    /// `audiences` are the server's own, for tokens and requests that name none.
    pub fn new(issuers: Vec<String>, keys: Vec<PublicKey>, audiences: Vec<String>, objects: Arc<dyn Objects>) -> Self {
        Self { issuers, keys, audiences, objects, verified: RwLock::default() }
    }

    fn check(&self, token: &str, audiences: &[String], now: i64) -> Outcome {
        let claims = match self.verified(token) {
            Ok(Some(claims)) => claims,
            Ok(None) => return Outcome::NotMine,
            Err(why) => return Outcome::Refused(why),
        };
        let mut annotations = BTreeMap::new();
        let mut of_token = claims.aud.list().to_vec();
        if of_token.is_empty() {
            annotations.insert("authentication.k8s.io/legacy-token", claims.sub.clone());
            of_token.clone_from(&self.audiences);
        }
        let requested = if audiences.is_empty() { &self.audiences } else { audiences };
        let shared = intersection(&of_token, requested);
        if shared.is_empty() && !self.audiences.is_empty() {
            let (of_token, requested) = (quoted(&of_token), quoted(requested));
            let why = format!("token audiences {of_token} is invalid for the target audiences {requested}");
            return Outcome::Refused(why);
        }
        if let Err(why) = claims.check_times(now).and_then(|()| self.check_objects(&claims.kubernetes, now)) {
            return Outcome::Refused(why);
        }
        if let Some(Seconds(warn)) = claims.kubernetes.warnafter.filter(|warn| warn.0 != 0 && now > warn.0) {
            let stale = format!("subject: {}, seconds after warning threshold: {}", claims.sub, now - warn);
            annotations.insert("authentication.k8s.io/stale-token", stale);
        }
        Outcome::Known(Box::new(Identity { user: claims.user(), audiences: shared, annotations }))
    }

    /// The claims of a token that one of the keys signed. `None` when it is not a token of one of the issuers.
    fn verified(&self, token: &str) -> Result<Option<Arc<Claims>>, String> {
        let Some((signed, signature)) = token.rsplit_once('.') else { return Ok(None) };
        let Some((header, payload)) = signed.split_once('.').filter(|(_, payload)| !payload.contains('.')) else {
            return Ok(None);
        };
        let mut hash = [0; 32];
        hash.copy_from_slice(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
        if let Some(known) = self.verified.read().unwrap_or_else(PoisonError::into_inner).get(&hash) {
            return Ok(Some(Arc::clone(known)));
        }
        let Some(claims) = decoded::<Claims>(payload).filter(|claims| self.issuers.contains(&claims.iss)) else {
            return Ok(None);
        };
        let (Some(header), Ok(signature)) = (decoded::<Header>(header), URL_SAFE_NO_PAD.decode(signature)) else {
            return Ok(None);
        };
        self.check_signature(&header, signed.as_bytes(), &signature)?;
        let claims = Arc::new(claims);
        let mut verified = self.verified.write().unwrap_or_else(PoisonError::into_inner);
        if verified.len() >= REMEMBERED {
            verified.clear();
        }
        verified.insert(hash, Arc::clone(&claims));
        Ok(Some(claims))
    }

    fn check_signature(&self, header: &Header, signed: &[u8], signature: &[u8]) -> Result<(), String> {
        let mut refusals = Vec::new();
        for key in self.keys.iter().filter(|key| header.kid.is_empty() || header.kid == key.id()) {
            // The key chooses the algorithm, never the token.
            if header.crit.is_none() && header.alg == key.algorithm() && key.verifies(signed, signature) {
                return Ok(());
            }
            refusals.push("go-jose/go-jose: error in cryptographic primitive".to_owned());
        }
        if refusals.is_empty() { Err("invalid signature, no keys found".to_owned()) } else { Err(aggregated(refusals)) }
    }

    /// The account, and what the token is bound to, must still be the very ones.
    fn check_objects(&self, claims: &Kubernetes, now: i64) -> Result<(), String> {
        let (namespace, account) = (claims.namespace.as_str(), &claims.serviceaccount);
        let gone = |object: &BoundObject| object.deleted_at.is_some_and(|at| at < now - LEEWAY);
        let found = self
            .objects
            .find(BoundKind::ServiceAccount, namespace, &account.name)
            .ok_or_else(|| format!("serviceaccounts {} not found", go::quote(&account.name)))?;
        if found.uid != account.uid {
            return Err(format!("service account UID ({}) does not match claim ({})", found.uid, account.uid));
        }
        if gone(&found) {
            return Err(format!("service account {namespace}/{} has been deleted", account.name));
        }
        // The node of a pod-bound token is only told, not checked.
        let node = claims.node.as_ref().filter(|_| claims.pod.is_none());
        for (kind, word, namespace, bound) in [
            (BoundKind::Secret, "secret", namespace, claims.secret.as_ref()),
            (BoundKind::Pod, "pod", namespace, claims.pod.as_ref()),
            (BoundKind::Node, "node", "", node),
        ] {
            let Some(bound) = bound else { continue };
            let invalidated = || "service account token has been invalidated".to_owned();
            let found = self.objects.find(kind, namespace, &bound.name).ok_or_else(invalidated)?;
            if found.uid != bound.uid {
                let (is, was) = (&found.uid, &bound.uid);
                return Err(format!("{word} UID ({is}) does not match service account {word} ref claim ({was})"));
            }
            if gone(&found) {
                return Err(invalidated());
            }
        }
        Ok(())
    }
}

impl Authenticator for ServiceAccountTokens {
    fn authenticate(&self, credential: &Credential<'_>, audiences: &[String]) -> Outcome {
        match credential {
            Credential::Token(token) => self.check(token, audiences, time::unix_now()),
            Credential::Certificate(_) => Outcome::NotMine,
        }
    }
}

impl Claims {
    fn check_times(&self, now: i64) -> Result<(), String> {
        let later = |at: Option<Seconds>| at.is_some_and(|at| now.saturating_add(LEEWAY) < at.0);
        let wrong = if later(self.nbf) {
            "service account token is not valid yet"
        } else if self.exp.is_some_and(|at| now.saturating_sub(LEEWAY) > at.0) {
            "service account token has expired"
        } else if later(self.iat) {
            "service account token is issued in the future"
        } else {
            return Ok(());
        };
        Err(wrong.to_owned())
    }

    fn user(&self) -> User {
        let Kubernetes { namespace, serviceaccount: account, pod, node, .. } = &self.kubernetes;
        let mut extra = BTreeMap::new();
        let mut put = |key: &str, value: &str| extra.insert(key.to_owned(), vec![value.to_owned()]);
        if let Some(pod) = pod.as_ref().filter(|pod| !pod.name.is_empty() && !pod.uid.is_empty()) {
            put(names::POD_NAME, &pod.name);
            put(names::POD_UID, &pod.uid);
        }
        if !self.jti.is_empty() {
            put(names::CREDENTIAL_ID, &credential_id(&self.jti));
        }
        if let Some(node) = node.as_ref().filter(|node| !node.name.is_empty()) {
            put(names::NODE_NAME, &node.name);
            if !node.uid.is_empty() {
                put(names::NODE_UID, &node.uid);
            }
        }
        User {
            name: names::service_account(namespace, &account.name),
            uid: account.uid.clone(),
            groups: names::service_account_groups(namespace),
            extra,
        }
    }
}

/// How a token is named in the extra fields of its user and in the audit log.
pub(super) fn credential_id(jti: &str) -> String {
    format!("JTI={jti}")
}

impl Audience {
    pub fn list(&self) -> &[String] {
        match self {
            Self::Many(list) => list,
            Self::One(one) => std::slice::from_ref(one),
        }
    }
}

impl Default for Audience {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl From<f64> for Seconds {
    #[expect(clippy::cast_possible_truncation, reason = "a float that is too large saturates, which is far away too")]
    fn from(seconds: f64) -> Self {
        Self(seconds as i64)
    }
}

impl From<Seconds> for i64 {
    fn from(seconds: Seconds) -> Self {
        seconds.0
    }
}

/// A part of a token: base64url of JSON.
fn decoded<T: for<'de> Deserialize<'de>>(part: &str) -> Option<T> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

#[cfg(test)]
mod tests;
