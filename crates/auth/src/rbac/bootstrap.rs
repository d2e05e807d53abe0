//! The roles and bindings that every cluster has from the start, read from a table of facts.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{GROUP, Rule};

/// All of them that are there where these feature gates are on, as objects ready to be created: cluster roles, cluster role
/// bindings, roles, role bindings.
pub fn objects(is_on: impl Fn(&str) -> bool) -> Vec<Value> {
    let facts = &*FACTS;
    let controller_roles = || facts.controller_roles.iter().filter(|role| role.gate.as_deref().is_none_or(&is_on));
    let mut objects = Vec::new();
    for role in facts.cluster_roles.iter().chain(controller_roles()) {
        objects.push(facts.role("ClusterRole", role));
    }
    objects.extend(facts.cluster_role_bindings.iter().map(|b| facts.binding("ClusterRoleBinding", "ClusterRole", b)));
    objects.extend(controller_roles().map(|role| facts.controller_binding(role)));
    objects.extend(facts.roles.iter().map(|role| facts.role("Role", role)));
    objects.extend(facts.role_bindings.iter().map(|b| facts.binding("RoleBinding", "Role", b)));
    objects
}

/// The user that a controller inside the server acts as, in its own role.
pub fn controller_user(name: &str) -> crate::User {
    let namespace = CONTROLLER_NAMESPACE;
    let mut user = crate::User::named(crate::names::service_account(namespace, name))
        .with_groups(crate::names::service_account_groups(namespace));
    user.mark_authenticated();
    user
}

const CONTROLLER_NAMESPACE: &str = "kube-system";
const CONTROLLER_PREFIX: &str = "system:controller:";

#[expect(clippy::expect_used, reason = "the table is part of the binary and a test reads it")]
static FACTS: LazyLock<BootstrapFacts> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../facts/bootstrap-roles.json")).expect("the table of roles is well-formed")
});

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct BootstrapFacts {
    #[serde(rename = "about")]
    _about: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    cluster_roles: Vec<Role>,
    controller_roles: Vec<Role>,
    cluster_role_bindings: Vec<Binding>,
    roles: Vec<Role>,
    role_bindings: Vec<Binding>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Role {
    #[serde(default)]
    namespace: String,
    name: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    /// The labels that select the roles whose rules make up this one.
    #[serde(default)]
    aggregate: Vec<BTreeMap<String, String>>,
    #[serde(default)]
    rules: Vec<ShortRule>,
    /// The feature gate that it waits for: of controllers only.
    gate: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShortRule {
    #[serde(default, rename = "g")]
    api_groups: Vec<String>,
    #[serde(default, rename = "r")]
    resources: Vec<String>,
    #[serde(rename = "v")]
    verbs: Vec<String>,
    #[serde(default, rename = "n")]
    resource_names: Vec<String>,
    #[serde(default, rename = "u")]
    non_resource_urls: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Binding {
    #[serde(default)]
    namespace: String,
    name: String,
    role: String,
    #[serde(default)]
    subjects: Vec<Subject>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Subject {
    kind: String,
    name: String,
    #[serde(default)]
    namespace: String,
}

impl BootstrapFacts {
    fn role(&self, kind: &str, role: &Role) -> Value {
        let mut object = self.object(kind, &role.namespace, &role.name, &role.labels);
        if role.aggregate.is_empty() {
            let rules = role.rules.iter().map(|rule| rule.expand().to_value()).collect();
            object.insert("rules".to_owned(), Value::Array(rules));
        } else {
            let selectors: Vec<Value> = role.aggregate.iter().map(|labels| json!({"matchLabels": labels})).collect();
            object.insert("aggregationRule".to_owned(), json!({"clusterRoleSelectors": selectors}));
            // Filled by aggregation; the API writes a role without rules as null.
            object.insert("rules".to_owned(), Value::Null);
        }
        Value::Object(object)
    }

    fn binding(&self, kind: &str, role_kind: &str, binding: &Binding) -> Value {
        let subjects = binding.subjects.iter().map(Subject::to_value).collect();
        self.bind(kind, &binding.namespace, &binding.name, (role_kind, &binding.role), subjects)
    }

    fn controller_binding(&self, role: &Role) -> Value {
        let name = role.name.strip_prefix(CONTROLLER_PREFIX).unwrap_or(&role.name).to_owned();
        let account = Subject { kind: "ServiceAccount".to_owned(), name, namespace: CONTROLLER_NAMESPACE.to_owned() };
        self.bind("ClusterRoleBinding", "", &role.name, ("ClusterRole", &role.name), vec![account.to_value()])
    }

    fn bind(&self, kind: &str, namespace: &str, name: &str, role: (&str, &str), subjects: Vec<Value>) -> Value {
        let mut object = self.object(kind, namespace, name, &BTreeMap::new());
        if !subjects.is_empty() {
            object.insert("subjects".to_owned(), Value::Array(subjects));
        }
        object.insert("roleRef".to_owned(), json!({"apiGroup": GROUP, "kind": role.0, "name": role.1}));
        Value::Object(object)
    }

    fn object(&self, kind: &str, namespace: &str, name: &str, own: &BTreeMap<String, String>) -> Map<String, Value> {
        let labels: BTreeMap<_, _> = self.labels.iter().chain(own).collect();
        let metadata = match namespace {
            "" => json!({"name": name, "labels": labels, "annotations": self.annotations}),
            _ => json!({"name": name, "namespace": namespace, "labels": labels, "annotations": self.annotations}),
        };
        let fields = [("apiVersion", json!(format!("{GROUP}/v1"))), ("kind", json!(kind)), ("metadata", metadata)];
        fields.into_iter().map(|(field, value)| (field.to_owned(), value)).collect()
    }
}

impl ShortRule {
    fn expand(&self) -> Rule {
        Rule {
            verbs: self.verbs.clone(),
            api_groups: self.api_groups.clone(),
            resources: self.resources.clone(),
            resource_names: self.resource_names.clone(),
            non_resource_urls: self.non_resource_urls.clone(),
        }
    }
}

impl Subject {
    fn to_value(&self) -> Value {
        match self.kind.as_str() {
            "ServiceAccount" => json!({"kind": self.kind, "name": self.name, "namespace": self.namespace}),
            _ => json!({"kind": self.kind, "apiGroup": GROUP, "name": self.name}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pawl_meta::object::Meta;

    fn find(kind: &str, namespace: &str, name: &str) -> Value {
        let found = |o: &Value| o["kind"] == kind && o.namespace() == namespace && o.name() == name;
        objects(|_| true).into_iter().find(found).unwrap_or_else(|| panic!("{kind} {namespace}/{name}"))
    }

    #[test]
    fn the_table_becomes_objects() {
        assert_eq!(
            find("ClusterRole", "", "cluster-admin"),
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": {
                    "name": "cluster-admin",
                    "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
                    "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
                },
                "rules": [
                    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
                    {"verbs": ["*"], "nonResourceURLs": ["*"]},
                ],
            })
        );
        let binding = find("ClusterRoleBinding", "", "cluster-admin");
        assert_eq!(binding["roleRef"], json!({"apiGroup": GROUP, "kind": "ClusterRole", "name": "cluster-admin"}));
        assert_eq!(binding["subjects"], json!([{"kind": "Group", "apiGroup": GROUP, "name": "system:masters"}]));
        let admin = find("ClusterRole", "", "admin");
        assert!(admin["aggregationRule"]["clusterRoleSelectors"][0]["matchLabels"].is_object());
    }

    #[test]
    fn some_roles_wait_for_a_gate() {
        let names = |on: bool| -> Vec<String> { objects(|_| on).iter().map(|o| o.name().to_owned()).collect() };
        let role = "system:controller:storage-version-migrator-controller".to_owned();
        assert_eq!(names(true).iter().filter(|name| **name == role).count(), 2, "the role and its binding");
        assert!(!names(false).contains(&role) && names(false).len() + 2 == names(true).len());
    }

    #[test]
    fn every_binding_binds_a_role_that_is_there() {
        let mut bindings = 0;
        for binding in objects(|_| true).iter().filter(|o| o["kind"].as_str().is_some_and(|k| k.ends_with("Binding"))) {
            let role = &binding["roleRef"];
            let namespace = if role["kind"] == "Role" { binding.namespace() } else { "" };
            let (kind, name) = (role["kind"].as_str().unwrap(), role["name"].as_str().unwrap());
            find(kind, namespace, name);
            bindings += 1;
        }
        assert!(bindings > 40, "{bindings}");
    }

    #[test]
    fn controllers_act_in_their_own_role() {
        let role = find("ClusterRole", "", "system:controller:namespace-controller");
        let binding = find("ClusterRoleBinding", "", role.name());
        let user = controller_user("namespace-controller");
        assert_eq!(user.name, "system:serviceaccount:kube-system:namespace-controller");
        assert_eq!(binding["subjects"][0]["name"], "namespace-controller");
    }
}
