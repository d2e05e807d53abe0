//! Issuing tokens: what `serviceaccounts/<name>/token` answers.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pawl_meta::object::Meta;
use pawl_meta::{Errors, GroupKind, GroupResource, GroupVersion, Status, go, time};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Map, Value, json};

use super::keys::SigningKey;
use super::service_account::{Audience, BoundKind, Claims, Kubernetes, Reference, Seconds, credential_id};
use crate::names;

const GROUP: &str = "authentication.k8s.io";
const DEFAULT_SECONDS: i64 = 3600;
const LEAST_SECONDS: i64 = 600;
const MOST_SECONDS: i64 = 1 << 32;
/// What kubelets ask for on behalf of pods that may not know that tokens expire.
const EXTENDED_WHEN: i64 = 3607;
const EXTENDED_SECONDS: i64 = 365 * 24 * 3600;

/// Signs tokens.
pub struct TokenIssuer {
    pub issuer: String,
    pub key: SigningKey,
    /// The server's own audiences, for requests that name none.
    pub audiences: Vec<String>,
    /// Longer requests are shortened to this; zero means as long as one likes.
    pub max_seconds: i64,
    /// Whether tokens of pods live for a year while the audit log tells which are used past their hour.
    pub extend: bool,
}

/// What a request wants its token to be bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundReference<'r> {
    pub kind: BoundKind,
    pub name: &'r str,
    uid: &'r str,
}

/// A token that was issued.
#[derive(Clone, Debug, PartialEq)]
pub struct Issued {
    /// The TokenRequest with its status.
    pub object: Value,
    pub warnings: Vec<String>,
    /// For the audit annotation `authentication.kubernetes.io/issued-credential-id`.
    pub credential_id: String,
}

/// The object that has to be fetched before the token can be issued.
pub fn bound_reference(request: &Value) -> Result<Option<BoundReference<'_>>, Status> {
    let Some(reference) = request.pointer("/spec/boundObjectRef").filter(|r| !r.is_null()) else { return Ok(None) };
    let text = |field: &str| reference.get(field).and_then(Value::as_str).unwrap_or_default();
    let version = GroupVersion::parse(text("apiVersion")).unwrap_or_default();
    let kind = match (version.group.as_str(), text("kind")) {
        ("", "Pod") => BoundKind::Pod,
        ("", "Secret") => BoundKind::Secret,
        ("", "Node") => BoundKind::Node,
        (group, kind) => {
            let printed = GroupVersion::new(group, version.version.as_str()).with_kind(kind);
            // Upstream prints the core group with its slash.
            let slash = if group.is_empty() { "/" } else { "" };
            return Err(Status::bad_request(format!("cannot bind token to object of type {slash}{printed}")));
        }
    };
    Ok(Some(BoundReference { kind, name: text("name"), uid: text("uid") }))
}

impl TokenIssuer {
    /// Answers a request for a token of this account. `bound` is the object that `bound_reference` named, if it is there,
    /// and `node` the node of a bound pod.
    pub fn issue(
        &self,
        request: &Value,
        account: &Value,
        bound: Option<&Value>,
        node: Option<&Value>,
    ) -> Result<Issued, Status> {
        self.issue_at(request, account, bound, node, time::unix_now(), random_uuid()?)
    }

    fn issue_at(
        &self,
        request: &Value,
        account: &Value,
        bound: Option<&Value>,
        node: Option<&Value>,
        now: i64,
        jti: String,
    ) -> Result<Issued, Status> {
        check_names(request, account)?;
        let mut seconds = request.pointer("/spec/expirationSeconds").and_then(Value::as_i64).unwrap_or(DEFAULT_SECONDS);
        check_seconds(seconds)?;
        let audiences = request.pointer("/spec/audiences").and_then(Value::as_array).into_iter().flatten();
        let mut audiences: Vec<String> = audiences.filter_map(Value::as_str).map(str::to_owned).collect();
        if audiences.is_empty() {
            audiences.clone_from(&self.audiences);
        }
        let reference = bound_reference(request)?;
        let mut claims = Kubernetes {
            namespace: account.namespace().to_owned(),
            serviceaccount: Reference::to(account),
            ..Kubernetes::default()
        };
        if let Some(reference) = reference {
            let bound = bound.ok_or_else(|| reference.not_found())?;
            bind(&mut claims, reference, bound, node)?;
        }
        let mut warnings = Vec::new();
        if self.max_seconds > 0 && seconds > self.max_seconds {
            let shorter = self.max_seconds;
            warnings.push(format!("requested expiration of {seconds} seconds shortened to {shorter} seconds"));
            seconds = shorter;
        }
        let mut expires = now.saturating_add(seconds);
        let own = audiences.iter().all(|audience| self.audiences.contains(audience));
        if self.extend && own && seconds == EXTENDED_WHEN && claims.pod.is_some() {
            claims.warnafter = Some(Seconds(expires));
            expires = now.saturating_add(EXTENDED_SECONDS);
        }
        let credential_id = credential_id(&jti);
        let claims = Claims {
            aud: Audience::Many(audiences.clone()),
            exp: Some(Seconds(expires)),
            iat: Some(Seconds(now)),
            iss: self.issuer.clone(),
            jti,
            kubernetes: claims,
            nbf: Some(Seconds(now)),
            sub: names::service_account(account.namespace(), account.name()),
        };
        let status = json!({
            "token": self.sign(&claims)?,
            "expirationTimestamp": time::seconds(now.saturating_add(seconds)),
        });
        Ok(Issued { object: answer(request, account, now, (&audiences, seconds), status), warnings, credential_id })
    }

    fn sign(&self, claims: &Claims) -> Result<String, Status> {
        let header = json!({"alg": self.key.public().algorithm(), "kid": self.key.public().id()}).to_string();
        let failed = |e: &dyn std::fmt::Display| Status::internal(format!("failed to generate token: {e}"));
        let claims = serde_json::to_vec(claims).map_err(|e| failed(&e))?;
        let mut token = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
        let signature = self.key.sign(token.as_bytes()).map_err(|e| failed(&e))?;
        token.push('.');
        token.push_str(&URL_SAFE_NO_PAD.encode(signature));
        Ok(token)
    }
}

impl BoundReference<'_> {
    fn not_found(&self) -> Status {
        let resource = match self.kind {
            BoundKind::Pod => "pods",
            BoundKind::Secret => "secrets",
            BoundKind::Node => "nodes",
            BoundKind::ServiceAccount => "serviceaccounts",
        };
        Status::not_found(&GroupResource::new("", resource), self.name)
    }
}

impl Reference {
    fn to(object: &Value) -> Self {
        Self { name: object.name().to_owned(), uid: object.uid().to_owned() }
    }
}

fn check_names(request: &Value, account: &Value) -> Result<(), Status> {
    let kind = GroupKind { group: GROUP.to_owned(), kind: "TokenRequest".to_owned() };
    for (field, given, own) in
        [("name", request.name(), account.name()), ("namespace", request.namespace(), account.namespace())]
    {
        if !given.is_empty() && given != own {
            let mut errors = Errors::new();
            let detail = format!("must match the service account {field} if specified");
            errors.invalid(&format!("metadata.{field}"), given, detail);
            return Err(Status::invalid(&kind, account.name(), &errors));
        }
    }
    let (given, own) = (request.uid(), account.uid());
    if !given.is_empty() && given != own {
        let why =
            format!("the UID in the token request ({given}) does not match the UID of the service account ({own})");
        return Err(Status::conflict(&GroupResource::new(GROUP, "TokenRequest"), account.name(), why));
    }
    Ok(())
}

fn check_seconds(seconds: i64) -> Result<(), Status> {
    let wrong = if seconds < LEAST_SECONDS {
        "may not specify a duration less than 10 minutes"
    } else if seconds > MOST_SECONDS {
        "may not specify a duration larger than 2^32 seconds"
    } else {
        return Ok(());
    };
    let mut errors = Errors::new();
    errors.invalid(&"spec.expirationSeconds", seconds, wrong);
    Err(Status::invalid(&GroupKind { group: GROUP.to_owned(), kind: "TokenRequest".to_owned() }, "", &errors))
}

/// Writes into the claims what the token depends on.
fn bind(
    claims: &mut Kubernetes,
    reference: BoundReference<'_>,
    bound: &Value,
    node: Option<&Value>,
) -> Result<(), Status> {
    let (target, kind) = match reference.kind {
        BoundKind::Pod => {
            let spec =
                |field: &str| bound.pointer(&format!("/spec/{field}")).and_then(Value::as_str).unwrap_or_default();
            let account = &claims.serviceaccount.name;
            if spec("serviceAccountName") != account {
                let account = go::quote(account);
                return Err(Status::bad_request(format!(
                    "cannot bind token for serviceaccount {account} to pod running with different serviceaccount name."
                )));
            }
            let node_name = spec("nodeName");
            if !node_name.is_empty() {
                let unknown = || Reference { name: node_name.to_owned(), uid: String::new() };
                claims.node = Some(node.map_or_else(unknown, Reference::to));
            }
            (&mut claims.pod, "Pod")
        }
        BoundKind::Secret => (&mut claims.secret, "Secret"),
        BoundKind::Node => (&mut claims.node, "Node"),
        // References name no accounts.
        BoundKind::ServiceAccount => return Ok(()),
    };
    if !reference.uid.is_empty() && reference.uid != bound.uid() {
        let why = format!(
            "the UID in the bound object reference ({}) does not match the UID in record. \
             The object might have been deleted and then recreated",
            reference.uid
        );
        return Err(Status::conflict(&GroupResource::new("", kind), reference.name, why));
    }
    *target = Some(Reference::to(bound));
    Ok(())
}

/// The request as it was understood, with its status.
fn answer(request: &Value, account: &Value, now: i64, spec: (&[String], i64), status: Value) -> Value {
    let mut object = request.as_object().cloned().unwrap_or_default();
    let metadata = pawl_meta::object::metadata_mut(&mut object);
    metadata.insert("name".to_owned(), json!(account.name()));
    metadata.insert("namespace".to_owned(), json!(account.namespace()));
    metadata.insert("uid".to_owned(), json!(account.uid()));
    metadata.insert("creationTimestamp".to_owned(), json!(time::seconds(now)));
    let bound = request.pointer("/spec/boundObjectRef").cloned().unwrap_or(Value::Null);
    let fields = [("audiences", json!(spec.0)), ("expirationSeconds", json!(spec.1)), ("boundObjectRef", bound)];
    let spec: Map<String, Value> = fields.into_iter().map(|(field, value)| (field.to_owned(), value)).collect();
    object.insert("spec".to_owned(), Value::Object(spec));
    object.insert("status".to_owned(), status);
    Value::Object(object)
}

/// A random UUID (version 4).
fn random_uuid() -> Result<String, Status> {
    let mut bytes = [0_u8; 16];
    SystemRandom::new().fill(&mut bytes).map_err(|_| Status::internal("no randomness"))?;
    let mut text = String::with_capacity(36);
    for (i, byte) in bytes.into_iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let byte = match i {
            6 => byte & 0x0f | 0x40,
            8 => byte & 0x3f | 0x80,
            _ => byte,
        };
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

#[cfg(test)]
pub(super) mod tests;
