//! Who may come in and do what, put together from flags: certificates, tokens, service accounts, RBAC.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use pawl_admission::{NoEscalation, NoPrivilegedContainers};
use pawl_auth::Authorizer;
use pawl_auth::authn::{
    Authentication, Authenticator, Authorities, BoundKind, BoundObject, ClientCertificates, Discovery, KeyError,
    Objects, PublicKey, ServiceAccountTokens, SigningKey, StaticTokens, TokenIssuer, public_keys,
};
use pawl_auth::impersonation::Impersonation;
use pawl_auth::modes::{Chain, Mode};
use pawl_auth::rbac::Index;
use pawl_http::Access;
use pawl_meta::object::Meta;
use pawl_meta::time;
use pawl_registry::Registry;

use crate::{Error, Settings};

const DEFAULT_ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// What the files that flags name say of users and their tokens.
pub struct Credentials {
    issuers: Vec<String>,
    audiences: Vec<String>,
    tokens: Option<StaticTokens>,
    /// What tokens of service accounts are verified by; none where the key that signs them says it.
    keys: Vec<PublicKey>,
    /// `None` where the server makes one for itself.
    signing: Option<SigningKey>,
}

impl Credentials {
    pub fn read(settings: &Settings) -> Result<Self, Error> {
        let accounts = &settings.service_accounts;
        let issuers =
            if accounts.issuers.is_empty() { vec![DEFAULT_ISSUER.to_owned()] } else { accounts.issuers.clone() };
        let audiences = if accounts.audiences.is_empty() { issuers.clone() } else { accounts.audiences.clone() };
        let tokens = settings.token_file.as_ref().map(|path| static_tokens(path, &audiences)).transpose()?;
        let mut keys: Vec<PublicKey> = Vec::new();
        for path in &accounts.key_files {
            let text = fs::read_to_string(path).map_err(Error::file(path))?;
            keys.extend(public_keys(&text).map_err(wrong(path))?);
        }
        let signing = accounts.signing_key_file.as_ref().map(|path| signing_key(path)).transpose()?;
        Ok(Self { issuers, audiences, tokens, keys, signing })
    }
}

/// Everything that decides about users: whom certificates are trusted by, and what else shows who somebody is.
pub fn build(
    settings: &Settings,
    registry: &Arc<Registry>,
    chain: Arc<Chain>,
    authorities: Arc<Authorities>,
    credentials: Credentials,
) -> Result<Access, Error> {
    let accounts = &settings.service_accounts;
    let Credentials { issuers, audiences, tokens, mut keys, signing } = credentials;
    let signing = signing.map_or_else(|| own_signing_key(settings), Ok)?;
    if keys.is_empty() {
        keys.push(signing.public().clone());
    }
    let issuer = issuers.first().cloned().unwrap_or_default();
    let openid = Discovery::new(&issuer, "", &settings.advertised(), &keys).ok();
    let mut authenticators: Vec<Box<dyn Authenticator>> = vec![Box::new(ClientCertificates(authorities))];
    if let Some(tokens) = tokens {
        authenticators.push(Box::new(tokens));
    }
    let objects: Arc<dyn Objects> = Arc::new(BoundObjects(Arc::clone(registry)));
    authenticators.push(Box::new(ServiceAccountTokens::new(issuers, keys, audiences.clone(), objects)));
    Ok(Access {
        authentication: Authentication::new(authenticators, settings.anonymous, audiences.clone()),
        chain,
        issuer: Some(TokenIssuer {
            issuer,
            key: signing,
            audiences,
            max_seconds: accounts.max_expiration.as_secs().try_into().unwrap_or(i64::MAX),
            extend: accounts.extend_expiration,
        }),
        openid,
        impersonation: Impersonation::new(),
    })
}

/// The authorizers that the flag names, in their order.
pub fn chain(settings: &Settings, index: Arc<Index>) -> Result<Arc<Chain>, Error> {
    let modes = Mode::parse_all(&settings.authorization_modes).map_err(|e| Error::Flag(e.to_string()))?;
    Ok(Arc::new(Chain::new(modes, index)))
}

/// The admission plugins that the flags choose, and the one that guards roles.
pub fn admission(settings: &Settings, authorizers: &Arc<Chain>) -> Result<pawl_admission::Chain, Error> {
    let dependencies = pawl_admission::Dependencies {
        authorizer: Arc::clone(authorizers) as Arc<dyn Authorizer>,
        not_ready_toleration_seconds: settings.toleration_seconds.0,
        unreachable_toleration_seconds: settings.toleration_seconds.1,
    };
    let chain = pawl_admission::chain(&settings.enable_admission, &settings.disable_admission, dependencies);
    let mut chain = chain.map_err(Error::Flag)?;
    if !settings.allow_privileged {
        chain = chain.with(Arc::new(NoPrivilegedContainers));
    }
    Ok(chain.with(Arc::new(NoEscalation { chain: Arc::clone(authorizers) })))
}

fn static_tokens(path: &Path, audiences: &[String]) -> Result<StaticTokens, Error> {
    let text = fs::read_to_string(path).map_err(Error::file(path))?;
    let tokens = StaticTokens::parse(&path.display().to_string(), &text).map_err(|e| Error::Flag(e.to_string()))?;
    for warning in tokens.warnings() {
        tracing::warn!("{warning}");
    }
    Ok(tokens.with_audiences(audiences.to_vec()))
}

/// The key that signs service-account tokens, where none is given: made once and kept.
fn own_signing_key(settings: &Settings) -> Result<SigningKey, Error> {
    let path = settings.data_dir.join("pki").join("sa.key");
    if !path.exists() {
        let pem = SigningKey::generate_pem().map_err(wrong(&path))?;
        crate::certificates::write_private(&path, &pem)?;
    }
    signing_key(&path)
}

fn signing_key(path: &Path) -> Result<SigningKey, Error> {
    let text = fs::read_to_string(path).map_err(Error::file(path))?;
    SigningKey::from_pem(&text).map_err(wrong(path))
}

fn wrong(path: &Path) -> impl Fn(KeyError) -> Error {
    let path = path.display().to_string();
    move |error| Error::Flag(format!("{path}: {error}"))
}

/// The objects that tokens are bound to, as the caches have them.
struct BoundObjects(Arc<Registry>);

impl Objects for BoundObjects {
    fn find(&self, kind: BoundKind, namespace: &str, name: &str) -> Option<BoundObject> {
        let (resource, namespace) = match kind {
            BoundKind::ServiceAccount => ("serviceaccounts", namespace),
            BoundKind::Pod => ("pods", namespace),
            BoundKind::Secret => ("secrets", namespace),
            BoundKind::Node => ("nodes", ""),
        };
        let object = pawl_admission::Objects::get(&*self.0, "", resource, namespace, name)?;
        Some(BoundObject {
            uid: object.uid().to_owned(),
            deleted_at: time::parse(object.meta_str("deletionTimestamp")),
        })
    }
}
