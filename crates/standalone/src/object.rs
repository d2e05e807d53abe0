//! Objects as they came: published types drop fields that they do not know, and liens are one.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::{ApiResource, DynamicResourceScope};
use pawl_meta::object::Object;
use pawl_usage::{Used, User};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// An object, whole or only its metadata.
#[derive(Clone, Debug)]
pub struct Kept<const HEAD: bool> {
    metadata: ObjectMeta,
    pub object: Object,
}

pub type Whole = Kept<false>;
pub type Head = Kept<true>;

impl Whole {
    pub fn new(object: Object) -> Self {
        Self { metadata: ObjectMeta::default(), object }
    }
}

impl<'de, const HEAD: bool> Deserialize<'de> for Kept<HEAD> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Object::deserialize(deserializer)?;
        let metadata = object.get("metadata").cloned().unwrap_or(Value::Null);
        let metadata = Option::<ObjectMeta>::deserialize(metadata).map_err(D::Error::custom)?.unwrap_or_default();
        Ok(Self { metadata, object })
    }
}

impl<const HEAD: bool> Serialize for Kept<HEAD> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.object.serialize(serializer)
    }
}

impl<const HEAD: bool> Resource for Kept<HEAD> {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(of: &ApiResource) -> Cow<'_, str> {
        of.kind.as_str().into()
    }

    fn group(of: &ApiResource) -> Cow<'_, str> {
        of.group.as_str().into()
    }

    fn version(of: &ApiResource) -> Cow<'_, str> {
        of.version.as_str().into()
    }

    fn api_version(of: &ApiResource) -> Cow<'_, str> {
        of.api_version.as_str().into()
    }

    fn plural(of: &ApiResource) -> Cow<'_, str> {
        of.plural.as_str().into()
    }

    fn metadata_api() -> bool {
        HEAD
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// The resource of a kind of users, in the version that every server of today has.
pub fn resource_of(user: User) -> ApiResource {
    let (group, plural) = user.resource();
    resource(group, user.kind(), plural)
}

/// The resource of what is protected.
pub fn resource_used(used: Used) -> ApiResource {
    if used == Used::Secret { resource("", "Secret", "secrets") } else { resource("", "ConfigMap", "configmaps") }
}

pub fn resource(group: &str, kind: &str, plural: &str) -> ApiResource {
    let api_version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
    ApiResource {
        group: group.to_owned(),
        version: "v1".to_owned(),
        api_version,
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pawl_meta::object::Meta;
    use serde_json::json;

    #[test]
    fn liens_are_kept() {
        let object = json!({"metadata": {"name": "s", "liens": ["a.b/c"]}, "data": {"a": "eA=="}});
        let kept: Head = serde_json::from_value(object.clone()).unwrap();
        assert_eq!(kept.object.meta_strings("liens"), ["a.b/c"]);
        assert_eq!(kept.meta().name.as_deref(), Some("s"));
        assert_eq!(serde_json::to_value(&kept).unwrap(), object);
    }
}
