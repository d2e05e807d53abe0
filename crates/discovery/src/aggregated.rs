//! Discovery in one document: every group, version, resource and subresource at once.
//!
//! Only `apidiscovery.k8s.io/v2` is written: a server of this version no longer offers v2beta1, and answers who asks for
//! it with the first form.

use pawl_kinds::Resource;
use serde::Serialize;

use crate::table;

/// The part of discovery a document is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// `/api`: the core group.
    Core,
    /// `/apis`: every other group.
    Groups,
}

/// An `APIGroupDiscoveryList`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupDiscoveryList<'r> {
    kind: &'static str,
    api_version: &'static str,
    metadata: Metadata<'r>,
    items: Vec<GroupDiscovery<'r>>,
}

#[derive(Debug, Default, Serialize)]
struct Metadata<'r> {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'r str,
}

#[derive(Debug, Serialize)]
struct GroupDiscovery<'r> {
    metadata: Metadata<'r>,
    versions: Vec<VersionDiscovery<'r>>,
}

#[derive(Debug, Serialize)]
struct VersionDiscovery<'r> {
    version: &'r str,
    resources: Vec<ResourceDiscovery<'r>>,
    freshness: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceDiscovery<'r> {
    resource: &'r str,
    response_kind: ResponseKind<'r>,
    scope: &'static str,
    singular_resource: &'r str,
    verbs: &'r [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    short_names: &'r [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    categories: &'r [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subresources: Vec<SubresourceDiscovery<'r>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SubresourceDiscovery<'r> {
    subresource: &'r str,
    response_kind: ResponseKind<'r>,
    verbs: &'r [String],
}

/// Group and version are empty where they are the surrounding ones.
#[derive(Debug, Serialize)]
struct ResponseKind<'r> {
    group: &'r str,
    version: &'r str,
    kind: &'r str,
}

/// The document of one root.
pub fn document<'r>(resources: &[&'r Resource], root: Root) -> GroupDiscoveryList<'r> {
    let groups = table::groups(resources).into_iter().filter(|g| g.name.is_empty() == (root == Root::Core));
    GroupDiscoveryList {
        kind: "APIGroupDiscoveryList",
        api_version: "apidiscovery.k8s.io/v2",
        metadata: Metadata::default(),
        items: groups.map(group).collect(),
    }
}

fn group(group: table::Group<'_>) -> GroupDiscovery<'_> {
    let versions = group.versions.into_iter().map(|version| VersionDiscovery {
        version: version.name,
        resources: version.resources.into_iter().map(resource).collect(),
        freshness: "Current",
    });
    GroupDiscovery { metadata: Metadata { name: group.name }, versions: versions.collect() }
}

fn resource(resource: &Resource) -> ResourceDiscovery<'_> {
    let facts = &resource.facts;
    let subresources = facts.sub.iter().filter(|sub| !sub.hidden).map(|sub| SubresourceDiscovery {
        subresource: &sub.name,
        response_kind: ResponseKind { group: &sub.group, version: &sub.version, kind: &sub.kind },
        verbs: &sub.verbs,
    });
    ResourceDiscovery {
        resource: &facts.plural,
        response_kind: ResponseKind { group: "", version: "", kind: &facts.kind },
        scope: if facts.namespaced { "Namespaced" } else { "Cluster" },
        singular_resource: &facts.singular,
        verbs: &facts.verbs,
        short_names: &facts.short,
        categories: &facts.categories,
        subresources: subresources.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn check(root: Root) -> Value {
        let table: Vec<&Resource> = pawl_kinds::builtin().iter().collect();
        serde_json::to_value(document(&table, root)).unwrap()
    }

    #[test]
    fn the_core_group_has_no_name() {
        let list = check(Root::Core);
        assert_eq!(list["kind"], "APIGroupDiscoveryList");
        assert_eq!(list["apiVersion"], "apidiscovery.k8s.io/v2");
        assert_eq!(list["metadata"], json!({}));
        assert_eq!(list["items"].as_array().unwrap().len(), 1);
        assert_eq!(list["items"][0]["metadata"], json!({}));
        assert_eq!(list["items"][0]["versions"][0]["freshness"], "Current");
    }

    #[test]
    fn a_resource_carries_its_subresources() {
        let list = check(Root::Groups);
        let items = list["items"].as_array().unwrap();
        assert_eq!(items.len(), 21);
        let apps = items.iter().find(|g| g["metadata"]["name"] == "apps").unwrap();
        let resources = apps["versions"][0]["resources"].as_array().unwrap();
        let deployments = resources.iter().find(|r| r["resource"] == "deployments").unwrap();
        let own = json!({"group": "", "version": "", "kind": "Deployment"});
        assert_eq!(
            *deployments,
            json!({"resource": "deployments", "responseKind": own, "scope": "Namespaced",
                "singularResource": "deployment", "shortNames": ["deploy"], "categories": ["all"],
                "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
                "subresources": [
                    {"subresource": "scale", "verbs": ["get", "patch", "update"],
                     "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"}},
                    {"subresource": "status", "verbs": ["get", "patch", "update"], "responseKind": own}]})
        );
    }

    #[test]
    fn versions_keep_the_order_of_the_table() {
        let list = check(Root::Groups);
        let autoscaling = list["items"].as_array().unwrap().iter().find(|g| g["metadata"]["name"] == "autoscaling");
        let versions = autoscaling.unwrap()["versions"].as_array().unwrap();
        assert_eq!(versions.iter().map(|v| v["version"].as_str().unwrap()).collect::<Vec<_>>(), ["v2", "v1"]);
    }
}
