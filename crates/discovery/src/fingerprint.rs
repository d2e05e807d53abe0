//! Hashes of documents that need not be built for it.
//!
//! A document follows from the version of this crate, the built-in types, the group versions of the table, and the
//! resources it is about: a hash over these changes whenever the document does.

use std::collections::HashMap;
use std::io::Write;
use std::sync::OnceLock;

use pawl_kinds::{Kinds, Resource};
use pawl_schema::{TypeKind, TypeRef};
use sha2::{Digest, Sha512};

use crate::{Source, hexadecimal, names, table};

/// What the documents of one table have in common.
pub(crate) struct Fingerprint {
    common: Sha512,
}

impl Fingerprint {
    pub fn new(source: Source, resources: &[&Resource]) -> Self {
        let mut common = Sha512::new();
        common.update(env!("CARGO_PKG_VERSION"));
        common.update(builtin_types(source.builtin));
        feed(&mut common, source.without);
        for version in table::groups(resources).iter().flat_map(|g| &g.versions) {
            if version.is_builtin() {
                feed(&mut common, (version.group, version.name));
            }
        }
        Self { common }
    }

    /// The hash of one document.
    pub fn of(&self, resources: &[&Resource], key: &str) -> String {
        let mut hash = self.common.clone();
        feed(&mut hash, key);
        let (group, version) = named(key);
        for resource in resources {
            if resource.facts.group == group && resource.facts.version == version {
                feed(&mut hash, &resource.facts);
                if let Some(published) = resource.behaviour.published() {
                    feed(&mut hash, published.source());
                } else if names::is_custom(resource) {
                    Walk { hash: &mut hash, seen: HashMap::new() }.below(resource.object_type().as_ref());
                }
            }
        }
        hexadecimal(&hash.finalize())
    }
}

/// The group and version that a key names, if it does.
fn named(key: &str) -> (&str, &str) {
    match key.strip_prefix("apis/").and_then(|rest| rest.split_once('/')) {
        Some(named) => named,
        None => ("", key.strip_prefix("api/").unwrap_or("?")),
    }
}

/// The hash of every built-in type, taken once.
fn builtin_types(builtin: &'static Kinds) -> &'static [u8] {
    static HASH: OnceLock<Vec<u8>> = OnceLock::new();
    HASH.get_or_init(|| {
        let mut types: Vec<(&str, TypeRef<'_>)> = builtin.schema().types().collect();
        types.sort_unstable_by_key(|(name, _)| *name);
        let mut hash = Sha512::new();
        let mut walk = Walk { hash: &mut hash, seen: HashMap::new() };
        for (name, of) in types {
            feed(walk.hash, name);
            walk.below(of);
        }
        hash.finalize().to_vec()
    })
}

/// Feeds everything below a type to a hash, each type once.
struct Walk<'h, 's> {
    hash: &'h mut Sha512,
    /// Which was the how many-eth.
    seen: HashMap<TypeRef<'s>, usize>,
}

impl<'s> Walk<'_, 's> {
    fn below(&mut self, of: TypeRef<'s>) {
        let count = self.seen.len();
        let number = *self.seen.entry(of).or_insert(count);
        feed(self.hash, number);
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

fn feed(hash: &mut Sha512, value: impl std::fmt::Debug) {
    // A hash takes whatever it is given.
    write!(hash, "{value:?};").ok();
}
