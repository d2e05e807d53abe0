//! Discovery in its first form: `/api`, `/apis`, and a document for each group and each group version.

use pawl_kinds::Resource;
use serde::Serialize;

use crate::table;

/// `/api`
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiVersions<'r> {
    kind: &'static str,
    versions: Vec<&'r str>,
    #[serde(rename = "serverAddressByClientCIDRs")]
    server_address_by_client_cidrs: [ServerAddress<'r>; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ServerAddress<'r> {
    #[serde(rename = "clientCIDR")]
    client_cidr: &'static str,
    server_address: &'r str,
}

/// `/apis`
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiGroupList<'r> {
    kind: &'static str,
    api_version: &'static str,
    groups: Vec<ApiGroup<'r>>,
}

/// `/apis/GROUP`, and an item of `/apis`, where it does not name its kind.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiGroup<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<&'static str>,
    name: &'r str,
    versions: Vec<GroupVersion<'r>>,
    preferred_version: Option<GroupVersion<'r>>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct GroupVersion<'r> {
    group_version: String,
    version: &'r str,
}

/// `/api/VERSION`, `/apis/GROUP/VERSION`
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiResourceList<'r> {
    kind: &'static str,
    /// Absent in the core group, whose list is older than the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    api_version: Option<&'static str>,
    group_version: String,
    resources: Vec<ApiResource<'r>>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiResource<'r> {
    name: String,
    singular_name: &'r str,
    namespaced: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    group: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    version: &'r str,
    kind: &'r str,
    verbs: &'r [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    short_names: &'r [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    categories: &'r [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    storage_version_hash: Option<&'r str>,
}

/// The versions of the core group, and where clients reach the server.
pub fn api_versions<'r>(resources: &[&'r Resource], server_address: &'r str) -> ApiVersions<'r> {
    let core = table::groups(resources).into_iter().find(|g| g.name.is_empty());
    ApiVersions {
        kind: "APIVersions",
        versions: core.map(|g| g.versions.iter().map(|v| v.name).collect()).unwrap_or_default(),
        server_address_by_client_cidrs: [ServerAddress { client_cidr: "0.0.0.0/0", server_address }],
    }
}

/// Every group but the core one.
pub fn group_list<'r>(resources: &[&'r Resource]) -> ApiGroupList<'r> {
    let groups = table::groups(resources);
    let named = groups.iter().filter(|g| !g.name.is_empty());
    ApiGroupList { kind: "APIGroupList", api_version: "v1", groups: named.map(api_group).collect() }
}

/// One group; none where the table has no such group. The core group has no such document.
pub fn group<'r>(resources: &[&'r Resource], name: &str) -> Option<ApiGroup<'r>> {
    let groups = table::groups(resources);
    let found = groups.iter().find(|g| !g.name.is_empty() && g.name == name)?;
    Some(ApiGroup { kind: Some("APIGroup"), api_version: Some("v1"), ..api_group(found) })
}

/// What a group version serves; none where the table has nothing of it.
pub fn resource_list<'r>(resources: &[&'r Resource], group: &str, version: &str) -> Option<ApiResourceList<'r>> {
    let resources = table::of_version(resources, group, version);
    (!resources.is_empty()).then(|| ApiResourceList {
        kind: "APIResourceList",
        api_version: (!group.is_empty()).then_some("v1"),
        group_version: table::group_version(group, version),
        resources: resources.into_iter().flat_map(entries).collect(),
    })
}

fn api_group<'r>(group: &table::Group<'r>) -> ApiGroup<'r> {
    let versions: Vec<GroupVersion> = group
        .versions
        .iter()
        .map(|v| GroupVersion { group_version: table::group_version(v.group, v.name), version: v.name })
        .collect();
    ApiGroup { kind: None, api_version: None, name: group.name, preferred_version: versions.first().cloned(), versions }
}

/// The entry of a resource and those of its subresources.
fn entries(resource: &Resource) -> Vec<ApiResource<'_>> {
    let facts = &resource.facts;
    let mut entries = vec![ApiResource {
        name: facts.plural.clone(),
        singular_name: &facts.singular,
        namespaced: facts.namespaced,
        kind: &facts.kind,
        verbs: &facts.verbs,
        short_names: &facts.short,
        categories: &facts.categories,
        storage_version_hash: facts.hash.as_deref(),
        ..ApiResource::default()
    }];
    entries.extend(facts.sub.iter().filter(|sub| !sub.hidden).map(|sub| ApiResource {
        name: format!("{}/{}", facts.plural, sub.name),
        namespaced: facts.namespaced,
        group: &sub.group,
        version: &sub.version,
        kind: &sub.kind,
        verbs: &sub.verbs,
        ..ApiResource::default()
    }));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn table() -> Vec<&'static Resource> {
        pawl_kinds::builtin().iter().collect()
    }

    fn value(document: impl Serialize) -> Value {
        serde_json::to_value(document).unwrap()
    }

    fn entry(group: &str, version: &str, name: &str) -> Value {
        let list = value(resource_list(&table(), group, version).unwrap());
        list["resources"].as_array().unwrap().iter().find(|r| r["name"] == name).unwrap().clone()
    }

    #[test]
    fn the_core_group_names_its_versions_and_the_server() {
        let expected = json!({"kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "10.0.0.1:6443"}]});
        assert_eq!(value(api_versions(&table(), "10.0.0.1:6443")), expected);
    }

    #[test]
    fn groups_come_in_the_order_of_the_table() {
        let list = value(group_list(&table()));
        let names: Vec<&str> = list["groups"].as_array().unwrap().iter().map(|g| g["name"].as_str().unwrap()).collect();
        let expected = "apiregistration.k8s.io apps events.k8s.io authentication.k8s.io authorization.k8s.io autoscaling \
            batch certificates.k8s.io networking.k8s.io policy rbac.authorization.k8s.io storage.k8s.io \
            admissionregistration.k8s.io apiextensions.k8s.io scheduling.k8s.io coordination.k8s.io node.k8s.io \
            discovery.k8s.io resource.k8s.io flowcontrol.apiserver.k8s.io storagemigration.k8s.io";
        assert_eq!(names.join(" "), expected.split_whitespace().collect::<Vec<_>>().join(" "));
        assert!(list["groups"][0].get("kind").is_none());
    }

    #[test]
    fn the_first_version_of_a_group_is_preferred() {
        let expected = json!({"kind": "APIGroup", "apiVersion": "v1", "name": "autoscaling",
            "versions": [{"groupVersion": "autoscaling/v2", "version": "v2"},
                         {"groupVersion": "autoscaling/v1", "version": "v1"}],
            "preferredVersion": {"groupVersion": "autoscaling/v2", "version": "v2"}});
        assert_eq!(value(group(&table(), "autoscaling").unwrap()), expected);
        assert!(group(&table(), "").is_none());
        assert!(group(&table(), "nope").is_none());
    }

    #[test]
    fn the_core_list_has_no_api_version() {
        let list = value(resource_list(&table(), "", "v1").unwrap());
        assert_eq!((&list["kind"], &list["groupVersion"]), (&json!("APIResourceList"), &json!("v1")));
        assert!(list.get("apiVersion").is_none());
        assert_eq!(value(resource_list(&table(), "apps", "v1").unwrap())["apiVersion"], "v1");
        assert!(resource_list(&table(), "apps", "v9").is_none());
    }

    #[test]
    fn resources_and_subresources_say_what_they_are() {
        let verbs = json!(["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]);
        assert_eq!(
            entry("", "v1", "configmaps"),
            json!({"name": "configmaps", "singularName": "configmap", "namespaced": true, "kind": "ConfigMap",
                "verbs": verbs, "shortNames": ["cm"], "storageVersionHash": "qFsyl6wFWjQ="})
        );
        assert_eq!(
            entry("", "v1", "pods/eviction"),
            json!({"name": "pods/eviction", "singularName": "", "namespaced": true, "group": "policy",
                "version": "v1", "kind": "Eviction", "verbs": ["create"]})
        );
        assert_eq!(
            entry("apps", "v1", "deployments/scale"),
            json!({"name": "deployments/scale", "singularName": "", "namespaced": true, "group": "autoscaling",
                "version": "v1", "kind": "Scale", "verbs": ["get", "patch", "update"]})
        );
    }

    #[test]
    fn every_resource_and_subresource_is_listed_once() {
        let resources = table();
        let entries: usize = table::groups(&resources)
            .iter()
            .flat_map(|g| &g.versions)
            .map(|v| resource_list(&resources, v.group, v.name).unwrap().resources.len())
            .sum();
        assert_eq!(entries, resources.iter().map(|r| 1 + r.facts.sub.len()).sum::<usize>());
    }
}
