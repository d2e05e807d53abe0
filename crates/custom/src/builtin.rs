//! What this crate asks of the built-in kinds: types, texts and how ages are written.

use pawl_schema::{Type, TypeRef};

pub const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
pub const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
/// What every list and every object has is described here.
pub const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
/// An object as most are.
pub const CONFIG_MAP: &str = "io.k8s.api.core.v1.ConfigMap";

/// The type of a level of an author's schema.
pub fn schema_level() -> Option<TypeRef<'static>> {
    pawl_kinds::kinds().named("apiextensions.v1.JSONSchemaProps")
}

/// The type of metadata, or anything where there is none.
pub fn object_meta() -> Type {
    let named = Type::named(pawl_kinds::kinds().schema(), "meta.v1.ObjectMeta");
    named.unwrap_or_else(|| Type::any("ObjectMeta"))
}

/// What a field of a type is for; types go by the name under which OpenAPI publishes them.
pub fn description(openapi_name: &str, field: &str) -> &'static str {
    pawl_kinds::kinds().field_description(openapi_name, field).unwrap_or_default()
}

/// A span of seconds as people read it.
pub fn age(seconds: i64) -> String {
    pawl_kinds::print::human_duration(seconds)
}
