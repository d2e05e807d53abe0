//! Strategic merge patches on objects like Deployments and Services.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod schemas;

use pawl_apply::{PatchError, strategic};
use schemas::Kinds;
use serde_json::{Value, json};

fn patch(kind: &str, doc: Value, patch: Value) -> Result<Value, PatchError> {
    let kinds = Kinds::new();
    strategic::apply(&kinds.of(kind), doc, patch)
}

#[track_caller]
fn check(kind: &str, doc: Value, patched: Value, expect: Value) {
    assert_eq!(patch(kind, doc, patched).unwrap(), expect);
}

#[track_caller]
fn pod(doc: Value, patched: Value, expect: Value) {
    check("PodSpec", doc, patched, expect);
}

#[test]
fn items_merge_by_key_and_new_ones_stand_where_the_patch_has_them() {
    pod(
        json!({
            "containers": [
                {"name": "a", "image": "ia", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}],
                 "ports": [{"containerPort": 80, "name": "http", "protocol": "TCP"}]},
                {"name": "b", "image": "ib"},
            ],
            "tolerations": [{"key": "k1"}],
            "volumes": [{"name": "v", "emptyDir": {}}],
        }),
        json!({
            "containers": [
                {"name": "a", "env": [{"name": "Y", "value": "22"}, {"name": "Z", "value": "3"}],
                 "ports": [{"containerPort": 80, "name": "web"}, {"containerPort": 81}]},
                {"name": "c", "image": "ic"},
            ],
            "tolerations": [{"key": "k2"}],
            "volumes": [{"name": "w", "emptyDir": {}}],
        }),
        json!({
            "containers": [
                {"name": "a", "image": "ia",
                 "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "22"}, {"name": "Z", "value": "3"}],
                 "ports": [{"containerPort": 80, "name": "web", "protocol": "TCP"}, {"containerPort": 81}]},
                {"name": "c", "image": "ic"},
                {"name": "b", "image": "ib"},
            ],
            "tolerations": [{"key": "k2"}],
            "volumes": [{"name": "w", "emptyDir": {}}, {"name": "v", "emptyDir": {}}],
        }),
    );
}

#[test]
fn services_merge_ports_by_number_alone() {
    let two =
        json!({"ports": [{"port": 53, "protocol": "UDP", "name": "u"}, {"port": 53, "protocol": "TCP", "name": "t"}]});
    check(
        "ServiceSpec",
        two.clone(),
        json!({"ports": [{"port": 80, "name": "http"}]}),
        json!({"ports": [{"port": 80, "name": "http"}, {"port": 53, "protocol": "UDP", "name": "u"}, {"port": 53, "protocol": "TCP", "name": "t"}]}),
    );
    check(
        "ServiceSpec",
        two.clone(),
        json!({"ports": [{"port": 53, "protocol": "TCP", "name": "t2"}]}),
        json!({"ports": [{"port": 53, "protocol": "TCP", "name": "t2"}, {"port": 53, "protocol": "TCP", "name": "t"}]}),
    );
    check("ServiceSpec", two, json!({"ports": [{"port": 53, "$patch": "delete"}]}), json!({"ports": []}));
}

#[test]
fn directives_replace_and_delete_maps() {
    let meta = json!({"labels": {"a": "1", "b": "2"}});
    let labels = |patch: Value, expect: Value| check("ObjectMeta", meta.clone(), json!({"labels": patch}), expect);
    labels(json!({"$patch": "replace", "c": "3"}), json!({"labels": {"c": "3"}}));
    labels(json!({"$patch": "delete"}), json!({"labels": {}}));
    labels(json!({"a": null, "c": "3"}), json!({"labels": {"b": "2", "c": "3"}}));
    labels(json!(null), json!({}));
    assert_eq!(
        patch("ObjectMeta", meta.clone(), json!({"labels": {"$patch": "bogus"}})),
        Err(PatchError::Failed("unknown patch type: bogus in map: map[$patch:bogus]".to_owned()))
    );
    // Where there is nothing to merge into, a directive only goes.
    check("ObjectMeta", json!({}), json!({"labels": {"$patch": "bogus"}}), json!({}));
    check("ObjectMeta", json!({}), json!({"labels": {"a": null, "b": "1"}}), json!({"labels": {"b": "1"}}));
}

#[test]
fn directives_replace_and_delete_items() {
    let doc = json!({"containers": [{"name": "a", "image": "1"}, {"name": "b"}]});
    pod(
        doc.clone(),
        json!({"containers": [{"$patch": "replace"}, {"name": "only", "image": "i"}]}),
        json!({"containers": [{"name": "only", "image": "i"}]}),
    );
    pod(
        doc.clone(),
        json!({"containers": [{"name": "a", "$patch": "delete"}]}),
        json!({"containers": [{"name": "b"}]}),
    );
    let refused = |items: Value| patch("PodSpec", doc.clone(), json!({"containers": items})).unwrap_err().to_string();
    assert_eq!(
        refused(json!([{"$patch": "delete"}])),
        "map: map[$patch:delete] does not contain declared merge key: name"
    );
    assert_eq!(refused(json!([{"image": "x"}])), "map: map[image:x] does not contain declared merge key: name");
    assert_eq!(refused(json!([{"$patch": "merge"}])), "merging lists cannot yet be specified in the patch");
    assert_eq!(refused(json!([{"$patch": "bogus"}])), "unknown patch type: bogus in map: map[$patch:bogus]");
}

#[test]
fn retained_keys_are_all_that_stay() {
    let doc = json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}});
    let strategy = |patch_: Value| patch("DeploymentSpec", doc.clone(), json!({"strategy": patch_}));
    assert_eq!(
        strategy(json!({"$retainKeys": ["type"], "type": "Recreate"})).unwrap(),
        json!({"strategy": {"type": "Recreate"}})
    );
    assert_eq!(
        strategy(json!({"$retainKeys": ["type"], "rollingUpdate": null, "type": "Recreate"})).unwrap(),
        json!({"strategy": {"type": "Recreate"}})
    );
    let malformed = Err(PatchError::Malformed("invalid patch format of retainKeys".to_owned()));
    assert_eq!(strategy(json!({"$retainKeys": ["rollingUpdate"], "type": "Recreate"})), malformed);
    assert_eq!(strategy(json!({"$retainKeys": "type"})), malformed);
    pod(
        json!({"containers": [], "volumes": [{"name": "v", "emptyDir": {}}]}),
        json!({"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}]}),
        json!({"containers": [], "volumes": [{"name": "v", "hostPath": {"path": "/"}}]}),
    );
}

#[test]
fn the_order_of_items_can_be_set() {
    let doc = json!({"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]});
    pod(
        doc.clone(),
        json!({"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}]}),
        json!({"containers": [{"name": "b"}, {"name": "c"}, {"name": "a"}]}),
    );
    pod(
        doc.clone(),
        json!({"$setElementOrder/containers": [{"name": "d"}, {"name": "a"}], "containers": [{"name": "d"}, {"name": "a", "image": "x"}]}),
        json!({"containers": [{"name": "d"}, {"name": "a", "image": "x"}, {"name": "b"}, {"name": "c"}]}),
    );
    let refused = |patch_: Value| patch("PodSpec", doc.clone(), patch_).unwrap_err();
    assert_eq!(
        refused(json!({"$setElementOrder": []})),
        PatchError::Malformed("invalid patch format of setElementOrder list".to_owned())
    );
    assert_eq!(
        refused(json!({"$setElementOrder/containers": {}})),
        PatchError::Failed("expected a []interface {}, but received a map[string]interface {}".to_owned())
    );
    let wrong = json!({"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "d"}]});
    assert!(refused(wrong).to_string().starts_with("The order in patch list:\n[map[name:d]]\n doesn't match"));
}

#[test]
fn lists_of_scalars_merge_as_sets() {
    let doc = json!({"finalizers": ["a", "b"]});
    let meta = |patch: Value, expect: Value| check("ObjectMeta", doc.clone(), patch, json!({"finalizers": expect}));
    meta(json!({"finalizers": ["c", "a"]}), json!(["c", "a", "b"]));
    meta(json!({"$deleteFromPrimitiveList/finalizers": ["a"]}), json!(["b"]));
    meta(json!({"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["z"]}), json!(["z", "b"]));
    meta(json!({"$setElementOrder/finalizers": ["b", "a"]}), json!(["b", "a"]));
    assert_eq!(
        patch("ObjectMeta", doc.clone(), json!({"$deleteFromPrimitiveListfinalizers": ["a"]})),
        Err(PatchError::Malformed("invalid patch format of primitive list".to_owned()))
    );
    assert_eq!(
        patch("ObjectMeta", doc.clone(), json!({"finalizers": [1]})).unwrap_err().to_string(),
        "list element types are not identical: [[a b] [1]]"
    );
    assert_eq!(
        patch("ObjectMeta", json!({"finalizers": [[]]}), json!({"finalizers": [[1]]})),
        Err(PatchError::Inapplicable("lists of lists are not supported".to_owned()))
    );
}

#[test]
fn a_patch_is_an_object() {
    assert_eq!(
        patch("ConfigMap", json!({}), json!([])).unwrap_err().to_string(),
        "json: cannot unmarshal array into Go value of type map[string]interface {}"
    );
    check("ConfigMap", json!({"data": {"a": "1"}}), json!(null), json!({"data": {"a": "1"}}));
}
