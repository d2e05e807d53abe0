//! The protobuf codec of everything built in.

use std::sync::OnceLock;

use pawl_protobuf::Codec;
use pawl_schema::NodeId;

/// The codec, made on first use.
pub fn protobuf() -> &'static Codec<'static> {
    static CODEC: OnceLock<Codec<'static>> = OnceLock::new();
    CODEC.get_or_init(|| Codec::new(pawl_kinds::schema(), type_of))
}

/// The type of a document by its apiVersion and kind: objects of resources, and what the API itself says.
pub fn type_of(api_version: &str, kind: &str) -> Option<NodeId> {
    let resources = pawl_kinds::builtin().iter();
    let found = resources.filter(|r| r.facts.kind == kind).find(|r| r.group_version().to_string() == api_version);
    if let Some(resource) = found {
        return Some(resource.root);
    }
    let schema = pawl_kinds::schema();
    match (api_version, kind) {
        ("v1", kind) => schema.named(&format!("meta.v1.{kind}")),
        ("meta.k8s.io/v1", kind) => schema.named(&format!("meta.v1.{kind}")),
        ("autoscaling/v1", "Scale") => schema.named("autoscaling.v1.Scale"),
        ("policy/v1", "Eviction") => schema.named("policy.v1.Eviction"),
        ("authentication.k8s.io/v1", "TokenRequest") => schema.named("authentication.v1.TokenRequest"),
        _ => None,
    }
}
