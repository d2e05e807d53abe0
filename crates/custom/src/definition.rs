//! A CustomResourceDefinition read into plain data.
//!
//! Reading never fails: what is missing or of a wrong type is read as absent, as the definition was decoded and judged before.
//! Author's schemas are kept as text, as most of them are never used between two changes, and a tree of one takes ten times the room.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pawl_meta::by_priority;
use pawl_meta::object::{Meta, Object};
use pawl_structural::{Props, ScalePaths};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::fields;
use crate::status::{self, Condition};

/// What a CustomResourceDefinition says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Definition {
    pub name: String,
    pub uid: String,
    pub generation: i64,
    pub group: String,
    /// The names it asks for.
    pub names: Names,
    /// The names it was given: those under which it is served.
    pub accepted: Names,
    pub namespaced: bool,
    /// As written; see [`Definition::served`] for the order of discovery.
    pub versions: Vec<Version>,
    pub conversion: Conversion,
    /// The legacy way to keep unknown fields, for all versions.
    pub preserve_unknown: bool,
    /// The versions in which something may still be stored.
    pub stored_versions: Vec<String>,
    pub established: bool,
    /// Its instances are being deleted: nothing new is taken.
    pub terminating: bool,
}

/// What a resource is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    pub plural: String,
    pub singular: String,
    pub short: Vec<String>,
    pub kind: String,
    pub list_kind: String,
    pub categories: Vec<String>,
}

/// One version of a custom resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Version {
    pub name: String,
    pub served: bool,
    pub storage: bool,
    pub deprecated: bool,
    /// What is said to those who use a deprecated version; absent: the usual words.
    pub deprecation_warning: Option<String>,
    pub schema: Option<AuthorSchema>,
    pub has_status: bool,
    pub scale: Option<Scale>,
    pub columns: Vec<Column>,
    /// JSON paths, each with its leading dot.
    pub selectable: Vec<String>,
}

/// Where the scale of an object is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scale {
    pub spec_replicas: String,
    pub status_replicas: String,
    pub label_selector: Option<String>,
}

/// A printer column as it is declared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub kind: String,
    pub format: String,
    pub description: String,
    pub priority: i64,
    pub path: String,
}

/// How an object of one version becomes one of another.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Conversion {
    /// Only the apiVersion changes.
    #[default]
    None,
    Webhook(Webhook),
}

/// Who converts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Webhook {
    pub url: Option<String>,
    pub service: Option<Service>,
    /// PEM, as it is written: base64.
    pub ca_bundle: String,
    pub review_versions: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Service {
    pub namespace: String,
    pub name: String,
    pub path: Option<String>,
    pub port: i64,
}

/// A schema as its author wrote it, as text that everyone shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorSchema(Arc<str>);

impl AuthorSchema {
    fn of(schema: &Value) -> Self {
        Self(schema.to_string().into())
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    pub fn value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    pub fn props(&self) -> Props {
        Props::parse(&self.value())
    }
}

impl Definition {
    pub fn read(object: &Object) -> Self {
        let spec = fields::within(object, "spec");
        let status = fields::within(object, "status");
        let condition = |kind| status::is_true(status, kind);
        Self {
            name: object.name().to_owned(),
            uid: object.uid().to_owned(),
            generation: object.generation(),
            group: fields::string(spec, "group"),
            names: Names::read(fields::within(spec, "names")),
            accepted: Names::read(fields::within(status, "acceptedNames")),
            namespaced: fields::text(spec, "scope") == "Namespaced",
            versions: fields::each(spec, "versions").map(Version::read).collect(),
            conversion: Conversion::read(fields::within(spec, "conversion")),
            preserve_unknown: fields::truth(spec, "preserveUnknownFields"),
            stored_versions: fields::strings(status, "storedVersions"),
            established: condition(Condition::ESTABLISHED),
            terminating: condition(Condition::TERMINATING),
        }
    }

    pub fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// The version in which objects are stored.
    pub fn storage_version(&self) -> Option<&Version> {
        self.versions.iter().find(|version| version.storage)
    }

    /// The versions that are served, the preferred one first.
    pub fn served(&self) -> Vec<&Version> {
        let mut served: Vec<&Version> = self.versions.iter().filter(|version| version.served).collect();
        served.sort_by(|a, b| by_priority(&a.name, &b.name));
        served
    }

    /// The storage prefix of its objects, below `/registry/`.
    pub fn storage_key(&self) -> String {
        format!("{}/{}", self.group, self.names.plural)
    }

    /// What discovery says of the version that is stored; nothing when that version is not served.
    pub fn storage_version_hash(&self) -> Option<String> {
        let version = self.storage_version().filter(|version| version.served)?;
        let digest = Sha256::digest(format!("{}/{}/{}", self.group, version.name, self.names.kind));
        Some(BASE64.encode(digest.get(..8)?))
    }

    /// What may be done with its objects. What is being taken away takes no new ones.
    pub fn verbs(&self) -> &'static [&'static str] {
        if self.terminating {
            &["delete", "deletecollection", "get", "list", "watch"]
        } else {
            &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
        }
    }

    /// What is said to whoever uses a version, when it is deprecated: the author's words, or where to go instead.
    pub fn deprecation(&self, version: &Version) -> Option<String> {
        if !version.deprecated {
            return None;
        }
        if let Some(warning) = &version.deprecation_warning {
            return Some(warning.clone());
        }
        let of = |version: &Version| format!("{}/{} {}", self.group, version.name, self.names.kind);
        let better = |other: &&Version| !other.deprecated && by_priority(&other.name, &version.name).is_lt();
        let instead = self.served().into_iter().find(better).map(|other| format!("; use {}", of(other)));
        Some(format!("{} is deprecated{}", of(version), instead.unwrap_or_default()))
    }
}

impl Names {
    pub(crate) fn read(names: &Object) -> Self {
        Self {
            plural: fields::string(names, "plural"),
            singular: fields::string(names, "singular"),
            short: fields::strings(names, "shortNames"),
            kind: fields::string(names, "kind"),
            list_kind: fields::string(names, "listKind"),
            categories: fields::strings(names, "categories"),
        }
    }
}

impl Version {
    pub(crate) fn read(version: &Object) -> Self {
        let subresources = fields::map(version, "subresources");
        Self {
            name: fields::string(version, "name"),
            served: fields::truth(version, "served"),
            storage: fields::truth(version, "storage"),
            deprecated: fields::truth(version, "deprecated"),
            deprecation_warning: fields::optional(version, "deprecationWarning"),
            schema: author_schema(version).map(AuthorSchema::of),
            has_status: subresources.is_some_and(|sub| fields::map(sub, "status").is_some()),
            scale: subresources.and_then(|sub| fields::map(sub, "scale")).map(Scale::read),
            columns: fields::each(version, "additionalPrinterColumns").map(Column::read).collect(),
            selectable: fields::each(version, "selectableFields")
                .map(|field| fields::string(field, "jsonPath"))
                .collect(),
        }
    }
}

/// The schema of a version, as it is written.
pub(crate) fn author_schema(version: &Object) -> Option<&Value> {
    fields::map(version, "schema")?.get("openAPIV3Schema").filter(|schema| schema.is_object())
}

impl Scale {
    pub(crate) fn read(scale: &Object) -> Self {
        Self {
            spec_replicas: fields::string(scale, "specReplicasPath"),
            status_replicas: fields::string(scale, "statusReplicasPath"),
            label_selector: fields::optional(scale, "labelSelectorPath"),
        }
    }

    /// The paths as the engine of instances takes them.
    pub fn paths(&self) -> ScalePaths {
        ScalePaths {
            spec_replicas: self.spec_replicas.clone(),
            status_replicas: self.status_replicas.clone(),
            label_selector: self.label_selector.clone(),
        }
    }
}

impl Column {
    pub(crate) fn read(column: &Object) -> Self {
        Self {
            name: fields::string(column, "name"),
            kind: fields::string(column, "type"),
            format: fields::string(column, "format"),
            description: fields::string(column, "description"),
            priority: column.get("priority").and_then(Value::as_i64).unwrap_or_default(),
            path: fields::string(column, "jsonPath"),
        }
    }
}

impl Conversion {
    fn read(conversion: &Object) -> Self {
        if fields::text(conversion, "strategy") != "Webhook" {
            return Self::None;
        }
        let webhook = fields::within(conversion, "webhook");
        let client = fields::within(webhook, "clientConfig");
        Self::Webhook(Webhook {
            url: fields::optional(client, "url"),
            service: fields::map(client, "service").map(|service| Service {
                namespace: fields::string(service, "namespace"),
                name: fields::string(service, "name"),
                path: fields::optional(service, "path"),
                port: service.get("port").and_then(Value::as_i64).unwrap_or_default(),
            }),
            ca_bundle: fields::string(client, "caBundle"),
            review_versions: fields::strings(webhook, "conversionReviewVersions"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn definition() -> Definition {
        let object = json!({
            "metadata": {"name": "widgets.crd-discovery.example.com", "uid": "u", "generation": 3},
            "spec": {
                "group": "crd-discovery.example.com",
                "scope": "Namespaced",
                "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
                "versions": [
                    {"name": "v1alpha1", "served": true, "storage": false, "deprecated": true},
                    {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}},
                     "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.r", "statusReplicasPath": ".status.r"}}},
                    {"name": "v2beta1", "served": true, "storage": false, "deprecated": true, "deprecationWarning": "use v1"},
                    {"name": "v3", "served": false, "storage": false},
                ],
                "conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
                    "clientConfig": {"service": {"namespace": "n", "name": "s", "port": 443}}}},
            },
            "status": {"acceptedNames": {"plural": "widgets", "kind": "Widget"}, "storedVersions": ["v1"],
                       "conditions": [{"type": "Established", "status": "True"}]},
        });
        Definition::read(object.as_object().expect("an object"))
    }

    #[test]
    fn a_definition_is_read_whole() {
        let read = definition();
        assert!(read.established && !read.terminating && read.namespaced);
        assert_eq!(read.storage_key(), "crd-discovery.example.com/widgets");
        let version = read.storage_version().expect("a version");
        assert!(version.has_status && version.scale.is_some());
        assert_eq!(version.schema.as_ref().map(AuthorSchema::text), Some(r#"{"type":"object"}"#));
        assert!(matches!(&read.conversion, Conversion::Webhook(hook) if hook.service.is_some()));
    }

    #[test]
    fn the_hash_is_that_of_the_stored_version_if_it_is_served() {
        let mut read = definition();
        assert_eq!(read.storage_version_hash().as_deref(), Some("TOhU8eWyIiM="));
        read.versions.iter_mut().for_each(|version| version.served = false);
        assert_eq!(read.storage_version_hash(), None);
    }

    #[test]
    fn deprecated_versions_say_where_to_go() {
        let read = definition();
        let said = |name: &str| read.version(name).and_then(|version| read.deprecation(version));
        assert_eq!(said("v1"), None);
        assert_eq!(said("v2beta1").as_deref(), Some("use v1"));
        let group = "crd-discovery.example.com";
        let text = format!("{group}/v1alpha1 Widget is deprecated; use {group}/v1 Widget");
        assert_eq!(said("v1alpha1"), Some(text));
    }

    #[test]
    fn versions_come_in_kubernetes_order() {
        let mut names =
            ["foo10", "v11alpha2", "v3beta1", "v10beta3", "v1", "v2", "foo1", "v12alpha1", "v11beta2", "v10", "v1x"];
        names.sort_by(|a, b| by_priority(a, b));
        assert_eq!(
            names,
            ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10", "v1x"]
        );
        let read = definition();
        let served: Vec<&str> = read.served().iter().map(|version| version.name.as_str()).collect();
        assert_eq!(served, ["v1", "v2beta1", "v1alpha1"]);
    }
}
