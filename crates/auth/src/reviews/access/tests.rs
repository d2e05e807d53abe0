use std::sync::Arc;

use super::*;
use crate::modes::Mode;
use crate::rbac::{Index, Kind};

fn chain() -> Chain {
    let index = Index::new();
    let role = json!({
        "metadata": {"name": "r", "namespace": "ns"},
        "rules": [
            {"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]},
            {"verbs": ["get"], "nonResourceURLs": ["/x"]},
        ],
    });
    index.apply(Kind::Role, None, Some(&role));
    let binding = json!({
        "metadata": {"name": "r", "namespace": "ns"},
        "roleRef": {"kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "alice"}],
    });
    index.apply(Kind::RoleBinding, None, Some(&binding));
    Chain::new(vec![Mode::Rbac], Arc::new(index))
}

fn check(kind: AccessReview, review: Value, expect: Value) {
    let got = review_access(kind, &review, &User::named("alice"), "ns", &chain(), &Value::to_string);
    let got = got.map_or_else(|e| json!({"message": e.message, "code": e.code}), |answer| answer["status"].clone());
    assert_eq!(got, expect, "{review}");
}

#[test]
fn access_is_answered() {
    let allowed =
        json!({"allowed": true, "reason": r#"RBAC: allowed by RoleBinding "r/ns" of Role "r" to User "alice""#});
    let get = json!({"verb": "get", "resource": "configmaps", "namespace": "ns"});
    check(AccessReview::SelfSubject, json!({"spec": {"resourceAttributes": get}}), allowed.clone());
    check(AccessReview::Subject, json!({"spec": {"user": "alice", "resourceAttributes": get}}), allowed.clone());
    let local = json!({"metadata": {"namespace": "ns"}, "spec": {"user": "alice", "resourceAttributes": get}});
    check(AccessReview::Local, local, allowed);
    let denied = json!({"allowed": false});
    check(AccessReview::Subject, json!({"spec": {"user": "bob", "resourceAttributes": get}}), denied.clone());
    let path = json!({"spec": {"nonResourceAttributes": {"verb": "get", "path": "/y"}}});
    check(AccessReview::SelfSubject, path, denied);
    let raw = json!({"verb": "get", "resource": "secrets", "fieldSelector": {"rawSelector": "broken"}});
    check(
        AccessReview::SelfSubject,
        json!({"spec": {"resourceAttributes": raw}}),
        json!({
            "allowed": false,
            "evaluationError": "spec.resourceAttributes.fieldSelector ignored due to parse error",
        }),
    );
    let labels = json!([{"key": "a", "operator": "In", "values": ["b"]}, {"key": "a", "operator": "Near"}]);
    let some = json!({"verb": "get", "resource": "secrets", "labelSelector": {"requirements": labels}});
    check(
        AccessReview::SelfSubject,
        json!({"spec": {"resourceAttributes": some}}),
        json!({
            "allowed": false,
            "evaluationError": "spec.resourceAttributes.labelSelector partially ignored due to parse error",
        }),
    );
}

#[test]
fn bad_questions_are_refused_as_upstream_does() {
    let refuse = |kind, review: Value, wrong: &str| {
        let message = format!(".authorization.k8s.io \"\" is invalid: {wrong}");
        check(kind, review, json!({"message": message, "code": 422}));
    };
    refuse(
        AccessReview::SelfSubject,
        json!({"spec": {}}),
        "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
    );
    refuse(
        AccessReview::SelfSubject,
        json!({"spec": {"resourceAttributes": {"verb": "get"}, "nonResourceAttributes": {"path": "/"}}}),
        "spec.nonResourceAttributes: Invalid value: {\"Path\":\"/\",\"Verb\":\"\"}: cannot be specified in combination with resourceAttributes",
    );
    refuse(
        AccessReview::Subject,
        json!({"spec": {"resourceAttributes": {"verb": "get"}}}),
        "spec.user: Invalid value: \"\": at least one of user or group must be specified",
    );
    refuse(
        AccessReview::Subject,
        json!({"metadata": {"name": "n", "managedFields": []}, "spec": {"user": "u", "resourceAttributes": {}}}),
        "metadata: Invalid value: {\"managedFields\":[],\"name\":\"n\"}: must be empty",
    );
    refuse(
        AccessReview::Local,
        json!({"metadata": {"namespace": "ns"}, "spec": {"user": "a", "resourceAttributes": {"namespace": "other"}}}),
        "spec.resourceAttributes.namespace: Invalid value: \"other\": must match metadata.namespace",
    );
    refuse(
        AccessReview::SelfSubject,
        json!({"spec": {"resourceAttributes": {"fieldSelector": {}}}}),
        "spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector \
         is specified, requirements or rawSelector is required",
    );
}

#[test]
fn rules_are_listed() {
    let alice = User::named("alice");
    let answer = review_rules(&json!({"spec": {"namespace": "ns"}}), &alice, &chain()).unwrap();
    assert_eq!(
        answer["status"],
        json!({
            "resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}],
            "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}],
            "incomplete": false,
        })
    );
    let refused = review_rules(&json!({}), &alice, &chain()).unwrap_err();
    assert_eq!((refused.code, refused.message.as_str()), (400, "no namespace on request"));
}
