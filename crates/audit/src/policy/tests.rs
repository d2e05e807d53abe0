use pawl_auth::User;
use serde_json::json;

use super::*;

fn policy(rules: Value) -> Policy {
    Policy::from_value(&json!({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules})).unwrap()
}

/// One rule at level Metadata against one request.
fn check(rule: Value, asked: &Attributes<'_>, expect: bool) {
    let mut rule = rule;
    rule["level"] = json!("Metadata");
    let level = policy(json!([rule])).evaluate(asked).level;
    assert_eq!(level == Level::Metadata, expect, "{rule}");
}

#[test]
fn rules_match_who_and_what() {
    let user = User::named("alice").with_groups(["devs"]);
    let get = Attributes { namespace: "ns", name: "n", ..Attributes::resource(&user, "get", "", "pods") };
    check(json!({}), &get, true);
    check(json!({"users": ["alice"]}), &get, true);
    check(json!({"users": ["bob"]}), &get, false);
    check(json!({"userGroups": ["ops", "devs"]}), &get, true);
    check(json!({"userGroups": ["ops"]}), &get, false);
    check(json!({"verbs": ["get"]}), &get, true);
    check(json!({"verbs": ["list"]}), &get, false);
    check(json!({"namespaces": ["ns"]}), &get, true);
    check(json!({"namespaces": [""]}), &get, false);
    check(json!({"namespaces": [""]}), &Attributes { namespace: "", ..get }, true);
    check(json!({"nonResourceURLs": ["*"]}), &get, false);
}

#[test]
fn rules_match_resources() {
    let user = User::named("alice");
    let on = |resources: Value, asked: &str, expect: bool| {
        let (resource, subresource) = asked.split_once('/').unwrap_or((asked, ""));
        let asked = Attributes { subresource, name: "n", ..Attributes::resource(&user, "get", "g", resource) };
        check(json!({"resources": [resources]}), &asked, expect);
    };
    on(json!({"group": "g"}), "pods/log", true);
    on(json!({"group": "*"}), "pods", true);
    on(json!({}), "pods", false);
    on(json!({"group": "g", "resources": ["pods"]}), "pods", true);
    on(json!({"group": "g", "resources": ["pods"]}), "pods/log", false);
    on(json!({"group": "g", "resources": ["pods/log"]}), "pods/log", true);
    on(json!({"group": "g", "resources": ["*/log"]}), "pods/log", true);
    on(json!({"group": "g", "resources": ["*/log"]}), "log", false);
    on(json!({"group": "g", "resources": ["pods/*"]}), "pods/log", true);
    on(json!({"group": "g", "resources": ["pods/*"]}), "pods", true);
    on(json!({"group": "g", "resources": ["*"]}), "pods/log", true);
    on(json!({"group": "g", "resources": ["pods"], "resourceNames": ["n"]}), "pods", true);
    on(json!({"group": "g", "resources": ["pods"], "resourceNames": ["m"]}), "pods", false);
}

#[test]
fn rules_match_paths() {
    let user = User::named("alice");
    let on = |url: &str, path: &str, expect: bool| {
        check(json!({"nonResourceURLs": [url]}), &Attributes::path(&user, "get", path), expect);
    };
    on("*", "/x", true);
    on("/healthz*", "/healthz/etcd", true);
    on("/healthz", "/healthz/etcd", false);
    check(json!({"resources": [{"group": "*"}]}), &Attributes::path(&user, "get", "/x"), false);
}

#[test]
fn the_first_match_decides_level_stages_and_managed_fields() {
    let user = User::named("alice");
    let document = json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "omitManagedFields": true,
        "rules": [
            {"level": "None", "verbs": ["watch"]},
            {"level": "RequestResponse", "verbs": ["create"], "omitStages": ["Panic"], "omitManagedFields": false},
            {"level": "Metadata"},
        ],
    });
    let policy = Policy::from_value(&document).unwrap();
    let verdict = |verb: &str| policy.evaluate(&Attributes::resource(&user, verb, "", "pods"));
    assert_eq!(verdict("watch").level, Level::None);
    assert!(!verdict("watch").records(Stage::ResponseComplete));
    let create = verdict("create");
    assert_eq!((create.level, create.omit_managed_fields), (Level::RequestResponse, false));
    let stages = [Stage::RequestReceived, Stage::ResponseStarted, Stage::ResponseComplete, Stage::Panic];
    assert_eq!(stages.map(|stage| create.records(stage)), [false, true, true, false]);
    assert!(verdict("get").omit_managed_fields);
    assert!(verdict("get").records(Stage::Panic));
}

#[test]
fn bad_policies_are_refused_as_upstream_does() {
    let refuse = |document: Value, expect: &str| {
        assert_eq!(Policy::from_value(&document).unwrap_err().to_string(), expect);
    };
    refuse(json!({"kind": "Policy"}), "unknown group version field , Kind=Policy in policy");
    let with = |rule: Value| json!({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [rule]});
    refuse(json!({"apiVersion": "audit.k8s.io/v1", "kind": "Policy"}), "loaded illegal policy with 0 rules");
    refuse(with(json!({})), "rules[0].level: Required value");
    refuse(
        with(json!({"level": "All"})),
        "rules[0].level: Unsupported value: \"All\": supported values: \"None\", \"Metadata\", \"Request\", \"RequestResponse\"",
    );
    refuse(
        with(json!({"level": "None", "nonResourceURLs": ["x"], "namespaces": ["n"]})),
        "[rules[0].nonResourceURLs[0]: Invalid value: \"x\": non-resource URL rules must begin with a '/' character, \
         rules[0].nonResourceURLs: Invalid value: [\"x\"]: rules cannot apply to both regular resources and non-resource URLs]",
    );
    refuse(
        with(json!({"level": "None", "omitStages": ["X"]})),
        "rules[0].omitStages[0]: Invalid value: \"X\": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic",
    );
    refuse(
        with(json!({"level": "None", "resources": [{"resourceNames": ["a"]}]})),
        "rules[0].resources.resourceNames: Invalid value: [\"a\"]: using resourceNames requires at least one resource",
    );
    refuse(with(json!({"level": 1})), "failed decoding: invalid type: integer `1`, expected a string");
}

proptest::proptest! {
    /// Whatever is in a policy file: a policy or an error, and a verdict for every request.
    #[test]
    fn policies_never_panic(
        level in "(None|Metadata|Request|RequestResponse|x?)",
        lists in proptest::collection::vec("[a-z/*.]{0,5}", 0..4),
        field in proptest::sample::select(&["users", "verbs", "namespaces", "nonResourceURLs", "omitStages", "resources"][..]),
    ) {
        let document = json!({
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "rules": [{"level": level, field: lists}, {"level": level, "resources": [{"group": "*", "resources": lists}]}],
        });
        if let Ok(policy) = Policy::from_value(&document) {
            let user = User::named("a");
            policy.evaluate(&Attributes { subresource: "log", ..Attributes::resource(&user, "get", "", "pods") });
            policy.evaluate(&Attributes::path(&user, "get", "/"));
        }
    }
}
