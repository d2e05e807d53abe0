//! Nobody grants what they do not have: the checks before a role or binding is written.

use std::collections::BTreeSet;

use pawl_meta::object::Meta;
use pawl_meta::{GroupResource, Status, go};
use serde_json::Value;

use super::{GROUP, Index, Rule, covers, quoted};
use crate::{Attributes, Authorizer, User, names};

/// A write of a role or binding that is about to happen.
#[derive(Clone, Copy)]
pub struct Write<'a> {
    pub user: &'a User,
    /// `roles`, `clusterroles`, `rolebindings` or `clusterrolebindings`.
    pub resource: &'a str,
    /// The namespace of the request; empty for the cluster's own.
    pub namespace: &'a str,
    /// The name in the request's path; empty on create.
    pub name: &'a str,
    pub old: Option<&'a Value>,
    pub new: &'a Value,
}

/// Passes a write that grants nothing new, or whose author may `escalate` roles or `bind` the role. Writes of other
/// resources pass.
pub fn check(index: &Index, authorizer: &dyn Authorizer, write: Write<'_>) -> Result<(), Status> {
    let passes = write.user.is_in(names::MASTERS) || write.old.is_some_and(|old| only_collector_fields(old, write.new));
    if passes {
        return Ok(());
    }
    match write.resource {
        "roles" | "clusterroles" => role(index, authorizer, &write),
        "rolebindings" | "clusterrolebindings" => binding(index, authorizer, &write),
        _ => Ok(()),
    }
}

fn role(index: &Index, authorizer: &dyn Authorizer, write: &Write<'_>) -> Result<(), Status> {
    let escalate = Attributes {
        name: write.name,
        namespace: write.namespace,
        ..Attributes::resource(write.user, "escalate", GROUP, write.resource)
    };
    if authorizer.authorize(&escalate).is_allowed() {
        return Ok(());
    }
    confirm(index, write, &Rule::all_of(write.new)).map_err(|why| write.forbidden(&why))?;
    let aggregates = write.resource == "clusterroles" && (aggregates(write.new) || write.old.is_some_and(aggregates));
    if aggregates && confirm(index, write, &[Rule::every_resource(), Rule::every_path()]).is_err() {
        return Err(write.forbidden("must have cluster-admin privileges to use the aggregationRule"));
    }
    Ok(())
}

fn binding(index: &Index, authorizer: &dyn Authorizer, write: &Write<'_>) -> Result<(), Status> {
    let reference = write.new.get("roleRef").unwrap_or(&Value::Null);
    let text = |field: &str| reference.get(field).and_then(Value::as_str).unwrap_or_default();
    let (kind, name) = (text("kind"), text("name"));
    let resource = match kind {
        "ClusterRole" => "clusterroles",
        "Role" => "roles",
        _ => return Err(Status::plain_error(format!("unsupported role reference kind: {}", go::quote(kind)))),
    };
    let bind = Attributes {
        name,
        namespace: write.namespace,
        ..Attributes::resource(write.user, "bind", text("apiGroup"), resource)
    };
    if authorizer.authorize(&bind).is_allowed() {
        return Ok(());
    }
    if kind == "Role" && write.namespace.is_empty() {
        return Err(Status::bad_request("Namespace parameter required."));
    }
    if name.is_empty() {
        return Err(Status::bad_request("Name parameter required."));
    }
    if let Some(why) = pawl_meta::names::path_segment(name).first() {
        return Err(Status::bad_request(format!("Name parameter invalid: {}: {why}", go::quote(name))));
    }
    // Upstream names the binding's resource here, and the role.
    let rules = index
        .role_rules(kind, name, write.namespace)
        .ok_or_else(|| Status::not_found(&GroupResource::new(GROUP, write.resource), name))?;
    confirm(index, write, &rules).map_err(|why| write.forbidden(&why))
}

/// Says what the author lacks of these rules.
fn confirm(index: &Index, write: &Write<'_>, rules: &[Rule]) -> Result<(), String> {
    let held = index.rules_for(write.user, write.namespace);
    let missing = covers::missing(&held.rules, rules).map_err(|e| e.to_string())?;
    if missing.is_empty() {
        return Ok(());
    }
    let lines: BTreeSet<String> = covers::compacted(missing).iter().map(Rule::compact).collect();
    let mut why = format!(
        "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        go::quote(&write.user.name),
        quoted(&write.user.groups),
        lines.into_iter().collect::<Vec<_>>().join("\n"),
    );
    if !held.problems.is_empty() {
        why.push_str(&format!("; resolution errors: [{}]", held.problems.join(", ")));
    }
    Err(why)
}

impl Write<'_> {
    fn forbidden(&self, why: &str) -> Status {
        Status::forbidden(&GroupResource::new(GROUP, self.resource), self.new.name(), why)
    }
}

fn aggregates(role: &Value) -> bool {
    let selectors = role.get("aggregationRule").and_then(|rule| rule.get("clusterRoleSelectors"));
    selectors.and_then(Value::as_array).is_some_and(|list| !list.is_empty())
}

/// Whether an update changes only what a garbage collector changes on its way to deleting the object.
fn only_collector_fields(old: &Value, new: &Value) -> bool {
    without_collector_fields(old) == without_collector_fields(new)
}

fn without_collector_fields(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["ownerReferences", "finalizers", "selfLink", "managedFields"] {
            metadata.remove(field);
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rbac::Kind;
    use serde_json::json;

    fn index() -> Index {
        let index = Index::new();
        let put = |kind, object: Value| index.apply(kind, None, Some(&object));
        let rules = json!([
            {"apiGroups": [GROUP], "resources": ["roles", "rolebindings"], "verbs": ["create"]},
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]},
        ]);
        put(Kind::Role, json!({"metadata": {"name": "r", "namespace": "ns"}, "rules": rules}));
        let binding = |role: &str, user: &str| {
            json!({
                "metadata": {"name": role, "namespace": "ns"},
                "roleRef": {"kind": "Role", "name": role, "apiGroup": GROUP},
                "subjects": [{"kind": "User", "name": user}],
            })
        };
        put(Kind::RoleBinding, binding("r", "alice"));
        let free = json!([{"apiGroups": [GROUP], "resources": ["roles"], "verbs": ["escalate", "bind"]}]);
        put(Kind::Role, json!({"metadata": {"name": "free", "namespace": "ns"}, "rules": free}));
        put(Kind::RoleBinding, binding("free", "bob"));
        let all = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
        put(Kind::ClusterRole, json!({"metadata": {"name": "all"}, "rules": all}));
        put(
            Kind::ClusterRoleBinding,
            json!({
                "metadata": {"name": "all"},
                "roleRef": {"kind": "ClusterRole", "name": "all"},
                "subjects": [{"kind": "User", "name": "nearly"}],
            }),
        );
        index
    }

    fn write(user: &str, resource: &str, old: Option<&Value>, new: &Value) -> Result<(), String> {
        let user = User::named(user).with_groups(["system:authenticated"]);
        let namespace = if resource.starts_with("cluster") { "" } else { "ns" };
        let index = index();
        check(&index, &index, Write { user: &user, resource, namespace, name: "", old, new }).map_err(|e| e.message)
    }

    fn role(rules: Value) -> Value {
        json!({"metadata": {"name": "more"}, "rules": rules})
    }

    #[test]
    fn roles_grant_only_what_their_author_has() {
        let fine = role(json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]));
        assert_eq!(write("alice", "roles", None, &fine), Ok(()));
        let more = role(json!([
            {"apiGroups": [""], "resources": ["secrets", "pods"], "verbs": ["get", "list", "watch"]},
            {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["*"]},
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"], "resourceNames": ["x"]},
        ]));
        let text = concat!(
            r#"roles.rbac.authorization.k8s.io "more" is forbidden: user "alice" (groups=["system:authenticated"]) "#,
            "is attempting to grant RBAC permissions not currently held:\n",
            r#"{APIGroups:[""], Resources:["pods"], Verbs:["get" "list" "watch"]}"#,
            "\n",
            r#"{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list" "watch"]}"#,
            "\n",
            r#"{APIGroups:["apps"], Resources:["deployments"], Verbs:["*"]}"#,
        );
        assert_eq!(write("alice", "roles", None, &more), Err(text.to_owned()));
        assert_eq!(write("bob", "roles", None, &more), Ok(()));
    }

    #[test]
    fn a_collector_may_touch_its_fields() {
        let old = role(json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]));
        let mut new = old.clone();
        new["metadata"]["finalizers"] = json!(["x"]);
        assert_eq!(write("alice", "roles", Some(&old), &new), Ok(()));
        new["metadata"]["labels"] = json!({"a": "b"});
        assert!(write("alice", "roles", Some(&old), &new).is_err());
    }

    #[test]
    fn aggregation_takes_everything() {
        let mut role = role(json!([]));
        role["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]});
        let text = concat!(
            r#"clusterroles.rbac.authorization.k8s.io "more" is forbidden: "#,
            "must have cluster-admin privileges to use the aggregationRule"
        );
        // Everything but the paths is not everything. `nearly` may escalate by its star, so look at alice.
        assert_eq!(write("alice", "clusterroles", None, &role), Err(text.to_owned()));
        assert_eq!(write("nearly", "clusterroles", None, &role), Ok(()));
    }

    #[test]
    fn bindings_need_the_role_or_the_verb() {
        let bind = |kind: &str, name: &str| json!({"metadata": {"name": "b"}, "roleRef": {"kind": kind, "name": name, "apiGroup": GROUP}});
        assert_eq!(write("alice", "rolebindings", None, &bind("Role", "r")), Ok(()));
        assert!(write("alice", "rolebindings", None, &bind("ClusterRole", "all")).is_err());
        assert_eq!(write("bob", "rolebindings", None, &bind("Role", "anything")), Ok(()));
        for (resource, kind, name, why) in [
            ("rolebindings", "Role", "gone", r#"rolebindings.rbac.authorization.k8s.io "gone" not found"#),
            (
                "clusterrolebindings",
                "ClusterRole",
                "gone",
                r#"clusterrolebindings.rbac.authorization.k8s.io "gone" not found"#,
            ),
            ("clusterrolebindings", "Role", "gone", "Namespace parameter required."),
            ("rolebindings", "Role", "", "Name parameter required."),
            ("rolebindings", "Role", "a/b", r#"Name parameter invalid: "a/b": may not contain '/'"#),
            ("rolebindings", "User", "", r#"unsupported role reference kind: "User""#),
        ] {
            assert_eq!(write("alice", resource, None, &bind(kind, name)), Err(why.to_owned()), "{kind} {name}");
        }
    }
}
