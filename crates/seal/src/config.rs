//! The configuration file: `EncryptionConfiguration`, read strictly and validated in upstream's words.
//!
//! What comes out can be used: keys have their lengths, names their form, and no rule is hidden by an earlier one. Texts of
//! errors name fields and keys by their names; no value that might be a key is ever in one.

mod endpoint;
mod shape;
mod validation;

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use pawl_meta::{Errors, GroupResource, go};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::secret::Secret;

/// What a file says, ready for use.
#[derive(Debug)]
pub struct Config {
    pub(crate) entries: Vec<ResourceEntry>,
    hash: String,
}

/// Some resources, and who seals and opens their values: the first provider seals, all open.
#[derive(Debug)]
pub(crate) struct ResourceEntry {
    pub resources: Vec<GroupResource>,
    pub providers: Vec<Provider>,
}

#[derive(Debug)]
pub(crate) enum Provider {
    Identity,
    AesGcm(Vec<Key>),
    AesCbc(Vec<Key>),
    Secretbox(Vec<Key>),
    Kms(Service),
}

#[derive(Debug)]
pub(crate) struct Key {
    pub name: String,
    pub secret: Secret,
}

/// A key service behind a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    pub name: String,
    /// The path of the socket; `@name` for one that has no file.
    pub socket: String,
    pub timeout: Duration,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("error while parsing file: error while loading file: error reading encryption provider configuration file {}: {why}", go::quote(.path))]
    Read { path: String, why: std::io::Error },
    #[error("error while parsing file: error while loading file: encryption provider configuration file {} is empty", go::quote(.0))]
    Empty(String),
    #[error("error while parsing file: error decoding encryption provider configuration file {}: {why}", go::quote(.path))]
    Decode { path: String, why: String },
    #[error("error while parsing file: {}", .0.message())]
    Invalid(Errors),
    #[error("error while building transformers: {0}")]
    Build(String),
}

impl Config {
    /// Reads a file. With `reload`, names of key services are unique whatever their version, as upstream has it.
    pub fn load(path: &Path, reload: bool) -> Result<Self, ConfigError> {
        Self::parse(&path.display().to_string(), &read(path)?, reload)
    }

    /// Reads the text of a file; `path` is what errors call it.
    pub fn parse(path: &str, text: &[u8], reload: bool) -> Result<Self, ConfigError> {
        if text.is_empty() {
            return Err(ConfigError::Empty(path.to_owned()));
        }
        let decode = |why| ConfigError::Decode { path: path.to_owned(), why };
        let entries = shape::decode(text).map_err(decode)?;
        let mut errors = Errors::new();
        let entries = validation::check(entries, reload, &mut errors);
        if !errors.is_empty() {
            return Err(ConfigError::Invalid(errors));
        }
        let entries = entries.into_iter().map(build).collect::<Result<Vec<_>, _>>().map_err(ConfigError::Build)?;
        refuse_masked(&entries)?;
        Ok(Self { entries, hash: hash(text) })
    }

    /// Names the content of the file without telling it: `sha256:…`.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Whether a key service is in use.
    pub fn uses_kms(&self) -> bool {
        self.entries.iter().flat_map(|entry| &entry.providers).any(|p| matches!(p, Provider::Kms(_)))
    }
}

/// No configuration is larger.
const MOST_BYTES: u64 = 1 << 20;

/// The content of a file, in a buffer that is wiped. Only of a file: others may name the path, and what never ends, or waits for
/// somebody to write, must not be read.
pub(crate) fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, ConfigError> {
    let failed = |why| ConfigError::Read { path: path.display().to_string(), why };
    let refused = |why: &str| failed(std::io::Error::other(why));
    let found = std::fs::metadata(path).map_err(failed)?;
    if !found.is_file() {
        return Err(refused("not a regular file"));
    }
    // Room for all of it at once: a buffer that grows leaves copies behind.
    let mut text = Zeroizing::new(Vec::with_capacity(usize::try_from(found.len().min(MOST_BYTES)).unwrap_or(0) + 1));
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(MOST_BYTES + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(refused("larger than 1 MiB"));
    }
    Ok(text)
}

pub(crate) fn hash(text: &[u8]) -> String {
    hex(&Sha256::digest(text))
}

/// A hash as metrics show it; empty for nothing.
pub(crate) fn hash_of_name(name: &str) -> String {
    if name.is_empty() { String::new() } else { hash(name.as_bytes()) }
}

fn hex(digest: &[u8]) -> String {
    let mut text = String::with_capacity(7 + digest.len() * 2);
    text.push_str("sha256:");
    for byte in digest {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// `secrets`, `deployments.apps`, `*.apps`, `*.` and `*.*`, as a resource and its group.
pub(crate) fn parse_resource(text: &str) -> GroupResource {
    let (resource, group) = text.split_once('.').unwrap_or((text, ""));
    GroupResource::new(group, resource)
}

/// How a file writes it.
fn written(resource: &GroupResource) -> String {
    if resource.group.is_empty() && resource.resource == "*" { "*.".to_owned() } else { resource.to_string() }
}

fn build(checked: validation::Checked) -> Result<ResourceEntry, String> {
    const KMS_V1: &str = "KMSv1 is deprecated and is not supported by this server. Use KMSv2 instead (apiVersion: v2).";
    let providers = checked.providers.into_iter().map(|provider| provider.ok_or_else(|| KMS_V1.to_owned()));
    Ok(ResourceEntry {
        resources: checked.resources.iter().map(|text| parse_resource(text)).collect(),
        providers: providers.collect::<Result<_, _>>()?,
    })
}

/// A rule behind a wildcard that takes all it could match would never be used.
fn refuse_masked(entries: &[ResourceEntry]) -> Result<(), ConfigError> {
    let mut wildcards: Vec<GroupResource> = Vec::new();
    for resource in entries.iter().flat_map(|entry| &entry.resources) {
        for wildcard in [GroupResource::new(resource.group.as_str(), "*"), GroupResource::new("*", "*")] {
            if wildcards.contains(&wildcard) {
                let (rule, earlier) = (go::quote(&written(resource)), go::quote(&written(&wildcard)));
                return Err(ConfigError::Build(format!("resource {rule} is masked by earlier rule {earlier}")));
            }
        }
        if resource.resource == "*" {
            wildcards.push(resource.clone());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
