//! One rule of a role: which verbs on what.

use pawl_meta::go;
use serde_json::{Map, Value, json};

use crate::Attributes;

/// Verbs on resources (by group, resource and perhaps name) or on paths. An empty list of names means every name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rule {
    pub verbs: Vec<String>,
    pub api_groups: Vec<String>,
    pub resources: Vec<String>,
    pub resource_names: Vec<String>,
    pub non_resource_urls: Vec<String>,
}

impl Rule {
    /// Reads a rule; what is missing is empty.
    pub fn from_value(value: &Value) -> Self {
        Self {
            verbs: strings(value, "verbs"),
            api_groups: strings(value, "apiGroups"),
            resources: strings(value, "resources"),
            resource_names: strings(value, "resourceNames"),
            non_resource_urls: strings(value, "nonResourceURLs"),
        }
    }

    /// The rules of a Role or ClusterRole.
    pub fn all_of(role: &Value) -> Vec<Self> {
        role.get("rules").and_then(Value::as_array).into_iter().flatten().map(Self::from_value).collect()
    }

    /// The rule as objects carry it: empty lists are left out, except for verbs.
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("verbs".to_owned(), json!(self.verbs));
        for (field, list) in [
            ("apiGroups", &self.api_groups),
            ("resources", &self.resources),
            ("resourceNames", &self.resource_names),
            ("nonResourceURLs", &self.non_resource_urls),
        ] {
            if !list.is_empty() {
                map.insert(field.to_owned(), json!(list));
            }
        }
        Value::Object(map)
    }

    /// Every verb on every resource of every group.
    pub fn every_resource() -> Self {
        let all = || vec!["*".to_owned()];
        Self { verbs: all(), api_groups: all(), resources: all(), ..Self::default() }
    }

    /// Every verb on every path.
    pub fn every_path() -> Self {
        Self { verbs: vec!["*".to_owned()], non_resource_urls: vec!["*".to_owned()], ..Self::default() }
    }

    pub fn allows(&self, asked: &Attributes<'_>) -> bool {
        if !has_or_star(&self.verbs, asked.verb) {
            return false;
        }
        if !asked.is_resource {
            return self.non_resource_urls.iter().any(|url| path_covers(url, asked.path));
        }
        has_or_star(&self.api_groups, asked.api_group)
            && self.resources.iter().any(|r| resource_matches(r, asked.resource, asked.subresource))
            && (self.resource_names.is_empty() || self.resource_names.iter().any(|n| n == asked.name))
    }

    /// The rule as escalation errors print it.
    pub fn compact(&self) -> String {
        let parts: Vec<String> = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ]
        .into_iter()
        .filter(|(_, list)| !list.is_empty())
        .map(|(name, list)| format!("{name}:{}", quoted(list)))
        .collect();
        format!("{{{}}}", parts.join(", "))
    }
}

/// A list of strings as Go's `%q` prints it: `["a" "b"]`.
pub(crate) fn quoted(list: &[String]) -> String {
    format!("[{}]", list.iter().map(|s| go::quote(s)).collect::<Vec<_>>().join(" "))
}

/// Whether a path of a rule, perhaps ending in `*`, takes in a path.
pub(crate) fn path_covers(rule: &str, path: &str) -> bool {
    rule == path || rule.ends_with('*') && path.starts_with(rule.trim_end_matches('*'))
}

fn has_or_star(list: &[String], wanted: &str) -> bool {
    list.iter().any(|item| item == wanted || item == "*")
}

/// `*`, the resource itself, `resource/subresource` or `*/subresource`.
fn resource_matches(rule: &str, resource: &str, subresource: &str) -> bool {
    if rule == "*" {
        return true;
    }
    if subresource.is_empty() {
        return rule == resource;
    }
    let parent = rule.strip_suffix(subresource).and_then(|rest| rest.strip_suffix('/'));
    parent.is_some_and(|parent| parent == resource || parent == "*")
}

fn strings(value: &Value, field: &str) -> Vec<String> {
    let list = value.get(field).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::User;

    fn rule(value: Value) -> Rule {
        Rule::from_value(&value)
    }

    #[test]
    fn resources_match() {
        let user = User::named("u");
        let check = |resources: &str, asked: &str, expect: bool| {
            let rule = rule(json!({"verbs": ["get"], "apiGroups": ["g"], "resources": [resources]}));
            let (resource, subresource) = asked.split_once('/').unwrap_or((asked, ""));
            let attributes = Attributes { subresource, ..Attributes::resource(&user, "get", "g", resource) };
            assert_eq!(rule.allows(&attributes), expect, "{resources} on {asked}");
        };
        check("*", "pods", true);
        check("*", "pods/log", true);
        check("pods", "pods", true);
        check("pods", "pods/log", false);
        check("pods/log", "pods/log", true);
        check("pods/log", "pods", false);
        check("*/scale", "deployments/scale", true);
        check("*/scale", "scale", false);
        check("*/scale", "deployments/rescale", false);
        check("*/*", "pods/log", false);
        check("pods/*", "pods/log", false);
    }

    #[test]
    fn verbs_groups_and_names_match() {
        let user = User::named("u");
        let pods = Attributes::resource(&user, "get", "", "pods");
        let named = rule(json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]}));
        assert!(!named.allows(&pods));
        assert!(named.allows(&Attributes { name: "a", ..pods }));
        assert!(!named.allows(&Attributes { name: "b", ..pods }));
        assert!(!named.allows(&Attributes { name: "a", verb: "list", ..pods }));
        assert!(!named.allows(&Attributes { name: "a", api_group: "x", ..pods }));
        assert!(Rule::every_resource().allows(&pods));
        assert!(!Rule::every_path().allows(&pods));
        assert!(!Rule::default().allows(&pods));
    }

    #[test]
    fn paths_match() {
        let user = User::named("u");
        let check = |url: &str, path: &str, expect: bool| {
            let rule = rule(json!({"verbs": ["get"], "nonResourceURLs": [url]}));
            assert_eq!(rule.allows(&Attributes::path(&user, "get", path)), expect, "{url} on {path}");
        };
        check("*", "/x", true);
        check("/healthz", "/healthz", true);
        check("/healthz", "/healthz/etcd", false);
        check("/api/*", "/api/v1", true);
        check("/api/*", "/api", false);
        check("/api*", "/apis", true);
    }

    #[test]
    fn a_rule_prints_compactly() {
        let rule = rule(json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}));
        assert_eq!(rule.compact(), r#"{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}"#);
        assert_eq!(rule.to_value(), json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}));
    }
}
