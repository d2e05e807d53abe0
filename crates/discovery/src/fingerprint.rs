//! Hashes of documents that need not be built for it.
//!
//! A document follows from the version of this crate, the built-in types, the group versions of the table, and the
//! resources it is about: a hash over these changes whenever the document does.

use std::collections::HashSet;
use std::io::Write;
use std::sync::OnceLock;

use pawl_kinds::Resource;
use pawl_schema::{NodeId, NodeKind, Schema};
use sha2::{Digest, Sha512};

use crate::{hexadecimal, names, operations, table};

/// What the documents of one table have in common.
pub(crate) struct Fingerprint {
    common: Sha512,
}

impl Fingerprint {
    pub fn new(resources: &[&Resource]) -> Self {
        let mut common = Sha512::new();
        common.update(env!("CARGO_PKG_VERSION"));
        common.update(builtin_types());
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
        let path = format!("/{key}");
        for resource in resources {
            if operations::root(&resource.facts.group, &resource.facts.version) == path {
                feed(&mut hash, &resource.facts);
                if names::is_custom(resource) {
                    Walk { schema: resource.schema, hash: &mut hash, seen: HashSet::new() }.node(resource.root);
                }
            }
        }
        hexadecimal(&hash.finalize())
    }
}

/// The hash of every built-in type, taken once.
fn builtin_types() -> &'static [u8] {
    static HASH: OnceLock<Vec<u8>> = OnceLock::new();
    HASH.get_or_init(|| {
        let schema = pawl_kinds::schema();
        let mut types: Vec<(&str, NodeId)> = schema.types().collect();
        types.sort_unstable();
        let mut hash = Sha512::new();
        let mut walk = Walk { schema, hash: &mut hash, seen: HashSet::new() };
        for (name, id) in types {
            feed(walk.hash, name);
            walk.node(id);
        }
        hash.finalize().to_vec()
    })
}

/// Feeds everything below a node to a hash, each node once.
struct Walk<'h> {
    schema: &'h Schema,
    hash: &'h mut Sha512,
    seen: HashSet<NodeId>,
}

impl Walk<'_> {
    fn node(&mut self, id: NodeId) {
        feed(self.hash, id);
        if !self.seen.insert(id) {
            return;
        }
        let schema = self.schema;
        let node = schema.node(id);
        feed(self.hash, (&node.go, &node.list, &node.patch));
        feed(self.hash, (node.atomic, node.preserve_unknown, node.embedded, node.nullable, node.wrapped));
        match &node.kind {
            NodeKind::Object(object) => {
                for field in &object.fields {
                    feed(self.hash, field);
                    self.node(field.node);
                }
            }
            NodeKind::List(inner) | NodeKind::Map(inner) => {
                feed(self.hash, matches!(node.kind, NodeKind::List(_)));
                self.node(*inner);
            }
            NodeKind::Scalar(scalar) => feed(self.hash, scalar),
            NodeKind::Any => {}
        }
    }
}

fn feed(hash: &mut Sha512, value: impl std::fmt::Debug) {
    // A hash takes whatever it is given.
    write!(hash, "{value:?};").ok();
}
