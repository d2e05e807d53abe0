//! Hashes of documents that need not be built for it.
//!
//! A document follows from the version of this crate, the built-in types, the group versions of the table, and the
//! resources it is about: a hash over these changes whenever the document does.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use pawl_kinds::Resource;
use pawl_schema::{TypeKind, TypeRef};
use sha2::{Digest, Sha512};

use crate::{Source, hexadecimal, names, table};

/// What the documents of one table have in common.
pub(crate) struct Fingerprint {
    common: Feed,
}

/// What is hashed goes into the digest as it is.
#[derive(Clone)]
struct Feed(Sha512);

impl Hasher for Feed {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Nobody asks for it: the digest is longer.
    fn finish(&self) -> u64 {
        0
    }
}

impl Fingerprint {
    pub fn new(source: Source, resources: &[&Resource]) -> Self {
        let mut common = Feed(Sha512::new());
        (env!("CARGO_PKG_VERSION"), source.builtin.text_of_types(), source.without).hash(&mut common);
        for version in table::groups(resources).iter().flat_map(|g| &g.versions) {
            if version.is_builtin() {
                (version.group, version.name).hash(&mut common);
            }
        }
        Self { common }
    }

    /// The hash of one document.
    pub fn of(&self, resources: &[&Resource], key: &str) -> String {
        let mut hash = self.common.clone();
        key.hash(&mut hash);
        let (group, version) = named(key);
        for resource in resources {
            if resource.facts.group == group && resource.facts.version == version {
                resource.facts.hash(&mut hash);
                if let Some(published) = resource.behaviour.published() {
                    published.source().hash(&mut hash);
                } else if names::is_custom(resource) {
                    Walk { hash: &mut hash, seen: HashMap::new() }.below(resource.object_type().as_ref());
                }
            }
        }
        hexadecimal(&hash.0.finalize())
    }
}

/// The group and version that a key names, if it does.
fn named(key: &str) -> (&str, &str) {
    match key.strip_prefix("apis/").and_then(|rest| rest.split_once('/')) {
        Some(named) => named,
        None => ("", key.strip_prefix("api/").unwrap_or("?")),
    }
}

/// Feeds everything below a type to a hash, each type once.
struct Walk<'h, 's> {
    hash: &'h mut Feed,
    /// Which was the how many-eth.
    seen: HashMap<TypeRef<'s>, usize>,
}

impl<'s> Walk<'_, 's> {
    fn below(&mut self, of: TypeRef<'s>) {
        let count = self.seen.len();
        let number = *self.seen.entry(of).or_insert(count);
        number.hash(self.hash);
        if number < count {
            return;
        }
        let node = of.node();
        feed(self.hash, (&node.go, &node.list, &node.patch));
        feed(self.hash, (node.atomic, node.preserve_unknown, node.embedded, node.nullable, node.wrapped));
        match of.kind() {
            TypeKind::Object(object) => {
                for field in object.fields() {
                    feed(self.hash, field.get());
                    self.below(field.of());
                }
            }
            TypeKind::List(inner) | TypeKind::Map(inner) => {
                feed(self.hash, matches!(of.kind(), TypeKind::List(_)));
                self.below(inner);
            }
            TypeKind::Scalar(scalar) => feed(self.hash, scalar),
            TypeKind::Any => {}
        }
    }
}

/// What has no hash of its own is fed as it is shown.
fn feed(hash: &mut Feed, value: impl std::fmt::Debug) {
    format!("{value:?}").hash(hash);
}
