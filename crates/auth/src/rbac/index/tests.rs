use serde_json::json;

use super::*;

fn role(namespace: &str, name: &str, rules: Value) -> Value {
    json!({"metadata": {"name": name, "namespace": namespace}, "rules": rules})
}

fn binding(namespace: &str, name: &str, role: (&str, &str), subjects: Value) -> Value {
    json!({
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"kind": role.0, "name": role.1},
        "subjects": subjects,
    })
}

fn index() -> Index {
    let index = Index::new();
    let read = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}]);
    let all = json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]);
    index.apply(Kind::Role, None, Some(&role("ns", "r", read)));
    index.apply(Kind::ClusterRole, None, Some(&role("", "all", all)));
    let alice = json!([{"kind": "Group", "name": "none"}, {"kind": "User", "name": "alice"}]);
    index.apply(Kind::RoleBinding, None, Some(&binding("ns", "r", ("Role", "r"), alice)));
    let accounts = json!([{"kind": "ServiceAccount", "name": "sa"}]);
    index.apply(Kind::RoleBinding, None, Some(&binding("ns", "s", ("ClusterRole", "all"), accounts.clone())));
    index.apply(Kind::ClusterRoleBinding, None, Some(&binding("", "s", ("ClusterRole", "all"), accounts)));
    let ops = json!([{"kind": "Group", "name": "ops"}]);
    index.apply(Kind::ClusterRoleBinding, None, Some(&binding("", "ops", ("ClusterRole", "all"), ops)));
    let lost = json!([{"kind": "User", "name": "lost"}]);
    index.apply(Kind::ClusterRoleBinding, None, Some(&binding("", "l", ("ClusterRole", "gone"), lost.clone())));
    index.apply(Kind::RoleBinding, None, Some(&binding("ns", "l", ("Role", "gone"), lost)));
    index
}

fn check(index: &Index, user: &User, verb: &str, namespace: &str, expect: &str) {
    let asked = Attributes { namespace, ..Attributes::resource(user, verb, "", "configmaps") };
    let decision = index.authorize(&asked);
    let said = match &decision {
        Decision::Allow { reason } => format!("yes {reason}"),
        Decision::Deny { reason } => format!("never {reason}"),
        Decision::NoOpinion { reason } => format!("no {reason}"),
    };
    assert_eq!(said, expect, "{} {verb} in {namespace:?}", user.name);
}

#[test]
fn decisions_name_their_binding() {
    let index = index();
    let alice = User::named("alice");
    check(&index, &alice, "get", "ns", r#"yes RBAC: allowed by RoleBinding "r/ns" of Role "r" to User "alice""#);
    check(&index, &alice, "delete", "ns", "no ");
    check(&index, &alice, "get", "other", "no ");
    check(&index, &alice, "get", "", "no ");
    let account = User::named("system:serviceaccount:ns:sa");
    let by = r#"yes RBAC: allowed by RoleBinding "s/ns" of ClusterRole "all" to ServiceAccount "sa/ns""#;
    check(&index, &account, "get", "ns", by);
    check(&index, &account, "get", "", "no ");
    let op = User::named("x").with_groups(["dev", "ops"]);
    let by = r#"yes RBAC: allowed by ClusterRoleBinding "ops" of ClusterRole "all" to Group "ops""#;
    check(&index, &op, "get", "ns", by);
    check(&index, &op, "watch", "", by);
}

#[test]
fn missing_roles_are_named() {
    let index = index();
    let lost = User::named("lost");
    check(&index, &lost, "get", "", r#"no RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found"#);
    let both = concat!(
        r#"no RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, "#,
        r#"role.rbac.authorization.k8s.io "gone" not found]"#
    );
    check(&index, &lost, "get", "ns", both);
    assert_eq!(index.rules_for(&lost, "ns").problems.len(), 2);
}

#[test]
fn events_change_decisions() {
    let index = index();
    let alice = User::named("alice");
    let old = binding("ns", "r", ("Role", "r"), json!([{"kind": "User", "name": "alice"}]));
    let new = binding("ns", "r", ("Role", "r"), json!([{"kind": "User", "name": "bob"}]));
    index.apply(Kind::RoleBinding, Some(&old), Some(&new));
    check(&index, &alice, "get", "ns", "no ");
    let by = r#"yes RBAC: allowed by RoleBinding "r/ns" of Role "r" to User "bob""#;
    check(&index, &User::named("bob"), "get", "ns", by);
    index.apply(Kind::Role, Some(&role("ns", "r", json!([]))), Some(&role("ns", "r", json!([]))));
    check(&index, &User::named("bob"), "get", "ns", "no ");
    index.apply(Kind::Role, Some(&role("ns", "r", json!([]))), None);
    check(&index, &User::named("bob"), "get", "ns", r#"no RBAC: role.rbac.authorization.k8s.io "r" not found"#);
    index.apply(Kind::RoleBinding, Some(&new), None);
    check(&index, &User::named("bob"), "get", "ns", "no ");
}

#[test]
fn rules_come_by_name_of_the_binding_and_once() {
    let index = index();
    let user = User::named("alice").with_groups(["ops"]);
    let rules = index.rules_for(&user, "ns").rules;
    assert_eq!(rules.len(), 2);
    assert_eq!(rules[0], Rule::every_resource());
    assert_eq!(index.rules_for(&user, "").rules.len(), 1);
    let all = index.role_rules("ClusterRole", "all", "ns");
    assert_eq!(all, Some(vec![Rule::every_resource()]));
    assert_eq!(index.role_rules("Role", "all", ""), None);
}

#[test]
fn a_subject_listed_twice_is_indexed_once_and_leaves_nothing_behind() {
    let index = Index::new();
    let twice = json!([{"kind": "User", "name": "a"}, {"kind": "User", "name": "a"}, {"kind": "Robot", "name": "a"}]);
    let object = binding("ns", "b", ("Role", "r"), twice);
    index.apply(Kind::RoleBinding, None, Some(&object));
    index.apply(Kind::RoleBinding, Some(&object), None);
    assert!(index.read().scopes.is_empty());
}

#[test]
fn a_rule_that_spells_out_too_much_is_kept_whole_and_decides_the_same() {
    let index = Index::new();
    let many: Vec<String> = (0..100).map(|i| format!("x{i}")).collect();
    let rules = json!([{"verbs": many, "apiGroups": many, "resources": many}]);
    index.apply(Kind::ClusterRole, None, Some(&role("", "big", rules)));
    let subjects = json!([{"kind": "User", "name": "alice"}]);
    index.apply(Kind::ClusterRoleBinding, None, Some(&binding("", "big", ("ClusterRole", "big"), subjects)));
    let alice = User::named("alice");
    assert!(index.authorize(&Attributes::resource(&alice, "x1", "x2", "x99")).is_allowed());
    assert!(!index.authorize(&Attributes::resource(&alice, "x1", "x2", "pods")).is_allowed());
}
