//! What a server serves, by discovery, and which of it somebody means: by plural, singular, kind or short name, with a group or
//! without.

use pawl_meta::nearest::nearest;
use serde_json::{Value, json};

use crate::server::{Server, escaped};

/// One resource in the version that the server prefers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource {
    pub group: String,
    pub version: String,
    pub plural: String,
    pub singular: String,
    pub kind: String,
    pub short: Vec<String>,
    pub namespaced: bool,
    pub verbs: Vec<String>,
}

/// Everything that is served.
pub struct Resources(Vec<Resource>);

/// One object, by name.
#[derive(Clone, Debug)]
pub struct Named {
    pub resource: Resource,
    /// Empty where the resource is in none.
    pub namespace: String,
    pub name: String,
}

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

impl Resources {
    pub async fn of(server: &Server) -> Result<Self, String> {
        let mut all = Vec::new();
        for path in ["/api", "/apis"] {
            let document = server.get_as(path, AGGREGATED).await?;
            if document.get("kind").and_then(Value::as_str) != Some("APIGroupDiscoveryList") {
                return Err("the server has no aggregated discovery: Kubernetes 1.30 or later has".to_owned());
            }
            all.extend(document.get("items").and_then(Value::as_array).into_iter().flatten().flat_map(of_group));
        }
        Ok(Self(all))
    }

    /// What somebody means by a type: `secret`, `secrets`, `Secret`, `deploy`, `deployments.apps`, `deployments.v1.apps`.
    pub fn find(&self, meant: &str) -> Result<&Resource, String> {
        let (name, group) = meant.split_once('.').unwrap_or((meant, ""));
        let group = group.to_lowercase();
        let fits = |resource: &&Resource| {
            resource.is_called(name)
                && (group.is_empty()
                    || resource.group.starts_with(&group)
                    || format!("{}.{}", resource.version, resource.group) == group)
        };
        self.0.iter().find(fits).ok_or_else(|| {
            let known = self.0.iter().flat_map(|r| [r.plural.as_str(), r.singular.as_str()]);
            let near = nearest(&name.to_lowercase(), known).map(|near| format!(", did you mean {near:?}?"));
            format!("the server has no resource type {meant:?}{}", near.unwrap_or_default())
        })
    }

    pub fn by_kind(&self, api_version: &str, kind: &str) -> Option<&Resource> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        self.0.iter().find(|resource| resource.group == group && resource.kind == kind)
    }

    /// What can be listed, without what only repeats others.
    pub fn listed(&self) -> impl Iterator<Item = &Resource> {
        let own = |resource: &&Resource| {
            resource.can("list") && resource.group != "storage.pawl.dev" && resource.group != "metrics.k8s.io"
        };
        let events = |r: &&Resource| r.plural != "events" && r.plural != "componentstatuses";
        self.0.iter().filter(own).filter(events)
    }

    /// The object that `TYPE/NAME` or `TYPE NAME` means.
    pub fn named(&self, words: &[String], namespace: &str) -> Result<Named, String> {
        let (meant, name) = match words {
            [both] => both.split_once('/').ok_or_else(|| format!("{both:?}: give TYPE/NAME"))?,
            [meant, name] => (meant.as_str(), name.as_str()),
            _ => return Err("give one object: TYPE/NAME".to_owned()),
        };
        if name.is_empty() || name.contains('/') {
            return Err(format!("{name:?} is no name: give TYPE/NAME"));
        }
        let resource = self.find(meant)?.clone();
        let namespace = if resource.namespaced { namespace.to_owned() } else { String::new() };
        Ok(Named { resource, namespace, name: name.to_owned() })
    }
}

/// What a word that is being typed may become: `secret/`, or behind the slash the names that there are.
pub async fn objects(server: &Server, begun: &str) -> Result<Vec<String>, String> {
    let resources = Resources::of(server).await?;
    let Some((meant, _)) = begun.split_once('/') else {
        let types = resources.0.iter().filter(|resource| resource.can("get")).map(|r| format!("{}/", r.singular));
        return Ok(types.filter(|word| word.starts_with(begun)).collect());
    };
    let resource = resources.find(meant)?;
    let place = if resource.namespaced { server.namespace.as_str() } else { "" };
    let items = server.list(&resource.path(place), true).await?;
    let names = items.iter().filter_map(|item| item.pointer("/metadata/name").and_then(Value::as_str));
    Ok(names.map(|name| format!("{meant}/{name}")).filter(|word| word.starts_with(begun)).collect())
}

impl Resource {
    fn is_called(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.plural == name || self.singular == name || self.kind.to_lowercase() == name || self.short.contains(&name)
    }

    pub fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|can| can == verb)
    }

    /// Where its objects are: in a namespace, or everywhere for an empty one.
    pub fn path(&self, namespace: &str) -> String {
        let root = match self.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        match namespace {
            "" => format!("{root}/{}", self.plural),
            namespace => format!("{root}/namespaces/{}/{}", escaped(namespace), self.plural),
        }
    }

    /// How one writes it for kubectl, with its group where one is needed.
    pub fn typed(&self) -> String {
        match self.group.as_str() {
            "" => self.singular.clone(),
            group => format!("{}.{group}", self.singular),
        }
    }

    /// How one writes all of them.
    pub fn plural_typed(&self) -> String {
        match self.group.as_str() {
            "" => self.plural.clone(),
            group => format!("{}.{group}", self.plural),
        }
    }
}

impl Named {
    pub fn path(&self) -> String {
        format!("{}/{}", self.resource.path(&self.namespace), escaped(&self.name))
    }

    /// `TYPE/NAME`, and its namespace behind it, as an argument.
    pub fn argument(&self) -> String {
        match self.namespace.as_str() {
            "" => format!("{}/{}", self.resource.typed(), self.name),
            namespace => format!("{}/{} -n {namespace}", self.resource.typed(), self.name),
        }
    }

    /// What it is, for scripts.
    pub fn value(&self) -> Value {
        let Resource { group, version, plural, kind, .. } = &self.resource;
        json!({"group": group, "version": version, "resource": plural, "kind": kind, "namespace": self.namespace,
            "name": self.name})
    }

    /// `TYPE/NAME in NAMESPACE`, for people.
    pub fn told(&self) -> String {
        match self.namespace.as_str() {
            "" => format!("{}/{}", self.resource.typed(), self.name),
            namespace => format!("{}/{} in {namespace}", self.resource.typed(), self.name),
        }
    }
}

/// The resources of a group: each in the first version that has it.
fn of_group(group: &Value) -> Vec<Resource> {
    let name = group.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let mut found: Vec<Resource> = Vec::new();
    for version in group.get("versions").and_then(Value::as_array).into_iter().flatten() {
        let text = version.get("version").and_then(Value::as_str).unwrap_or_default();
        for resource in version.get("resources").and_then(Value::as_array).into_iter().flatten() {
            let resource = of_entry(name, text, resource);
            if !found.iter().any(|other| other.plural == resource.plural) {
                found.push(resource);
            }
        }
    }
    found
}

fn of_entry(group: &str, version: &str, entry: &Value) -> Resource {
    let text = |at: &str| entry.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
    let texts = |field: &str| {
        let all = entry.get(field).and_then(Value::as_array).into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    let kind = text("/responseKind/kind");
    let singular = Some(text("/singularResource")).filter(|singular| !singular.is_empty());
    Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        plural: text("/resource"),
        singular: singular.unwrap_or_else(|| kind.to_lowercase()),
        kind,
        short: texts("shortNames"),
        namespaced: text("/scope") == "Namespaced",
        verbs: texts("verbs"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resources() -> Resources {
        let core = json!({"metadata": {}, "versions": [{"version": "v1", "resources": [
            {"resource": "secrets", "singularResource": "secret", "responseKind": {"kind": "Secret"}, "scope": "Namespaced",
                "verbs": ["get", "list"]}]}]});
        let apps = json!({"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": [
            {"resource": "deployments", "singularResource": "deployment", "responseKind": {"kind": "Deployment"},
                "shortNames": ["deploy"], "scope": "Namespaced", "verbs": ["get"]}]}]});
        Resources(of_group(&core).into_iter().chain(of_group(&apps)).collect())
    }

    #[test]
    fn types_are_found_by_every_name_that_they_have() {
        let all = resources();
        for meant in ["deploy", "deployment", "deployments", "Deployment", "deployments.apps", "deployments.v1.apps"] {
            assert_eq!(all.find(meant).map(|found| found.typed()), Ok("deployment.apps".to_owned()), "{meant}");
        }
        assert_eq!(
            all.find("secert").unwrap_err(),
            "the server has no resource type \"secert\", did you mean \"secret\"?"
        );
        assert!(all.find("secrets.apps").is_err());
    }

    #[test]
    fn objects_are_named_in_one_word_or_two() {
        let all = resources();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        for given in [words(&["secret/db"]), words(&["secrets", "db"])] {
            let named = all.named(&given, "n").unwrap();
            assert_eq!(named.path(), "/api/v1/namespaces/n/secrets/db");
            assert_eq!(named.argument(), "secret/db -n n");
        }
        for given in
            [words(&[]), words(&["secret"]), words(&["secret/"]), words(&["secret", "a/b"]), words(&["a", "b", "c"])]
        {
            assert!(all.named(&given, "n").is_err(), "{given:?}");
        }
    }
}
