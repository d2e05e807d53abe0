//! The APIService of each version that is served: what an aggregator knows of it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::definition::Definition;

/// The label of those that come and go by themselves.
pub const MANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";

/// What has to be there for these definitions, by name. It is local: this server answers for it.
pub fn api_services<'d>(definitions: impl IntoIterator<Item = &'d Definition>) -> BTreeMap<String, Value> {
    let mut services = BTreeMap::new();
    for definition in definitions {
        for version in definition.versions.iter().filter(|version| version.served) {
            let name = format!("{}.{}", version.name, definition.group);
            let service = json!({
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": name, "labels": {MANAGED: "true"}},
                "spec": {
                    "group": definition.group,
                    "version": version.name,
                    "groupPriorityMinimum": 1000,
                    "versionPriority": 100,
                },
            });
            services.insert(name, service);
        }
    }
    services
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Version;

    #[test]
    fn versions_that_are_served_are_registered_once() {
        let version = |name: &str, served| Version { name: name.to_owned(), served, ..Version::default() };
        let one = Definition {
            group: "example.com".to_owned(),
            versions: vec![version("v1", true), version("v2", false)],
            ..Definition::default()
        };
        let other = Definition { versions: vec![version("v1", true), version("v3", true)], ..one.clone() };
        let services = api_services([&one, &other]);
        assert_eq!(services.keys().collect::<Vec<_>>(), ["v1.example.com", "v3.example.com"]);
        let spec =
            json!({"group": "example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 100});
        assert_eq!(services["v1.example.com"]["spec"], spec);
    }
}
