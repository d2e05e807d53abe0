//! What upstream refuses in a configuration, in its words and its order. Repeated names of keys are refused by us.

use std::collections::BTreeSet;
use std::time::Duration;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use pawl_meta::{Errors, FieldPath, GroupResource};
use serde_json::Value;

use super::shape::{self, Kms};
use super::{Key, Provider, Service, endpoint, parse_resource};
use crate::secret::Secret;

const AES_LENGTHS: &[usize] = &[16, 24, 32];
const SECRETBOX_LENGTHS: &[usize] = &[32];
/// Go takes encodings whose last bits are not zero.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

const OVERLAP: &str = "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked";
const EVENTS: &str = "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file";
const EXTENSIONS: &str = "'extensions' group has been removed and cannot be used for encryption";
const STAR: &str = "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources";
const NOT_REST: &str = "resources which do not have REST API/s cannot be encrypted";
const CAPITALS: &str = "resource name should not contain capital letters";
const ACROSS_GROUPS: &str = "encrypting the same resource across groups is not supported";
const DUPLICATE: &str = "the same resource cannot be specified multiple times";
const NO_PROVIDER: &str =
    "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity";
const TWO_PROVIDERS: &str =
    "more than one provider specified in a single element, should split into different list elements";

/// An entry that passed, as far as no error was noted. A provider is `None` where it is a key service of version 1.
pub(super) struct Checked {
    pub resources: Vec<String>,
    pub providers: Vec<Option<Provider>>,
}

pub(super) fn check(entries: Vec<shape::ResourceEntry>, reload: bool, errors: &mut Errors) -> Vec<Checked> {
    let root = FieldPath::of("resources");
    if entries.is_empty() {
        errors.required(&root, "at least one resources is required");
    }
    let mut services = BTreeSet::new();
    let mut checked = Vec::with_capacity(entries.len());
    for (i, entry) in entries.into_iter().enumerate() {
        let (r, p) = (root.index(i).child("resources"), root.index(i).child("providers"));
        if entry.resources.is_empty() {
            errors.required(&r, format!("at least one {r} is required"));
        }
        overlaps(&entry.resources, &r, errors);
        for (j, name) in entry.resources.iter().enumerate() {
            if let Some(why) = wrong_name(name) {
                errors.invalid(&r.index(j), name.as_str(), why);
            }
        }
        if entry.providers.is_empty() {
            errors.required(&p, format!("at least one {p} is required"));
        }
        let mut providers = Vec::with_capacity(entry.providers.len());
        for (j, given) in entry.providers.into_iter().enumerate() {
            providers.push(provider(given, &p.index(j), &mut services, reload, errors));
        }
        checked.push(Checked { resources: entry.resources, providers });
    }
    checked
}

fn overlaps(names: &[String], path: &FieldPath, errors: &mut Errors) {
    let resources: Vec<GroupResource> = names.iter().map(|name| parse_resource(name)).collect();
    let others = |i: usize| resources.iter().enumerate().filter(move |(j, _)| *j != i).map(|(_, other)| other);
    let everything = GroupResource::new("*", "*");
    let mut duplicate = false;
    let mut overlap = false;
    for (i, one) in resources.iter().enumerate() {
        for other in others(i) {
            // The first pair of equals is only that; what is equal again may overlap, too.
            if one == other && !duplicate {
                duplicate = true;
                continue;
            }
            let wildcard = one.resource == "*" || other.resource == "*";
            overlap |= *one == everything || one.group == other.group && wildcard;
        }
    }
    let shown = || Value::from(names.to_vec());
    if duplicate {
        errors.invalid(path, shown(), DUPLICATE);
    }
    if overlap {
        errors.invalid(path, shown(), OVERLAP);
    }
}

fn wrong_name(name: &str) -> Option<&'static str> {
    if name.to_lowercase() != name {
        return Some(CAPITALS);
    }
    match name {
        "*" => return Some(STAR),
        "apiserveripinfo" | "serviceipallocations" | "servicenodeportallocations" => return Some(NOT_REST),
        _ => {}
    }
    let parsed = parse_resource(name);
    match parsed.group.as_str() {
        "events.k8s.io" => Some(EVENTS),
        "extensions" => Some(EXTENSIONS),
        "*" if parsed.resource != "*" => Some(ACROSS_GROUPS),
        _ => None,
    }
}

fn provider(
    given: shape::Provider,
    path: &FieldPath,
    services: &mut BTreeSet<String>,
    reload: bool,
    errors: &mut Errors,
) -> Option<Provider> {
    let shape::Provider { aesgcm, aescbc, secretbox, identity, kms } = given;
    let found = [aesgcm.is_some(), aescbc.is_some(), secretbox.is_some(), identity, kms.is_some()];
    // The element is not shown, as upstream would: it may hold keys.
    match found.iter().filter(|found| **found).count() {
        0 => errors.invalid_omitted(path, NO_PROVIDER),
        1 => {}
        _ => errors.invalid_omitted(path, TWO_PROVIDERS),
    }
    let mut local = |given, name: &str, lengths| keys(given, &path.child(name).child("keys"), lengths, errors);
    if let Some(given) = kms {
        let checked = service(&given, &path.child("kms"), services, reload, errors);
        services.insert(given.name);
        return checked.map(Provider::Kms);
    }
    if let Some(given) = aesgcm {
        return Some(Provider::AesGcm(local(given, "aesgcm", AES_LENGTHS)));
    }
    if let Some(given) = aescbc {
        return Some(Provider::AesCbc(local(given, "aescbc", AES_LENGTHS)));
    }
    if let Some(given) = secretbox {
        return Some(Provider::Secretbox(local(given, "secretbox", SECRETBOX_LENGTHS)));
    }
    Some(Provider::Identity)
}

fn keys(given: Vec<shape::Key>, path: &FieldPath, lengths: &[usize], errors: &mut Errors) -> Vec<Key> {
    if given.is_empty() {
        errors.required(path, "at least one keys is required");
    }
    let mut names = BTreeSet::new();
    let mut keys = Vec::with_capacity(given.len());
    for (i, key) in given.into_iter().enumerate() {
        let path = path.index(i);
        if key.name.is_empty() {
            errors.required(&path.child("name"), "name is a mandatory field for a key");
        } else if !names.insert(key.name.clone()) {
            errors.duplicate(&path.child("name"), key.name.as_str());
        }
        if let Some(secret) = secret(&key.secret, &path.child("secret"), lengths, errors) {
            keys.push(Key { name: key.name, secret });
        }
    }
    keys
}

fn secret(given: &str, path: &FieldPath, lengths: &[usize], errors: &mut Errors) -> Option<Secret> {
    if given.is_empty() {
        errors.required(path, "secret is a mandatory field for a key");
        return None;
    }
    // Go skips line breaks.
    let text = zeroize::Zeroizing::new(given.replace(['\n', '\r'], ""));
    let Ok(bytes) = BASE64.decode(text.as_bytes()) else {
        errors.invalid(path, "REDACTED", "secrets must be base64 encoded");
        return None;
    };
    let secret = Secret::new(bytes);
    let len = secret.expose().len();
    if !lengths.contains(&len) {
        let expected: Vec<String> = lengths.iter().map(usize::to_string).collect();
        let expected = expected.join(" ");
        let detail = format!("secret is not of the expected length, got {len}, expected one of [{expected}]");
        errors.invalid(path, "REDACTED", detail);
    }
    Some(secret)
}

/// `None` for version 1, which is validated like upstream does and then refused as a whole.
fn service(
    given: &Kms,
    path: &FieldPath,
    services: &BTreeSet<String>,
    reload: bool,
    errors: &mut Errors,
) -> Option<Service> {
    let v1 = given.api_version == "v1";
    let (at, name) = (path.child("name"), given.name.as_str());
    if name.is_empty() {
        errors.required(&at, "name is a mandatory field for a provider");
    }
    if !v1 && name.contains(':') {
        errors.invalid(&at, name, format!("invalid KMS provider name {name}, must not contain ':'"));
    }
    if (reload || !v1) && services.contains(name) {
        errors.invalid(&at, name, format!("duplicate KMS provider name {name}, names must be unique"));
    }
    if given.timeout <= 0 {
        let shown = pawl_meta::duration::format(given.timeout);
        errors.invalid(&path.child("timeout"), shown, "timeout should be a positive value");
    }
    let mut socket = String::new();
    if given.endpoint.is_empty() {
        errors.invalid(&path.child("endpoint"), "", "endpoint is a mandatory field for a kms");
    } else {
        match endpoint::parse(&given.endpoint) {
            Ok(path) => socket = path,
            Err(why) => errors.invalid(&path.child("endpoint"), given.endpoint.as_str(), why),
        }
    }
    match given.cache_size {
        Some(size) if !v1 => errors.invalid(&path.child("cachesize"), size, "cachesize is not supported in v2"),
        Some(0) => {
            errors.invalid(&path.child("cachesize"), 0, "cachesize should be a positive value, or negative to disable")
        }
        _ => {}
    }
    if !v1 && given.api_version != "v2" {
        // Upstream names the field in place of its value.
        let detail = "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported";
        errors.invalid(&path.child("apiVersion"), given.api_version.as_str(), detail);
    }
    let timeout = Duration::from_nanos(u64::try_from(given.timeout).unwrap_or_default());
    (!v1).then(|| Service { name: name.to_owned(), socket, timeout })
}
