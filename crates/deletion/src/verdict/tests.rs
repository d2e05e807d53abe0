use super::*;
use crate::UsedBy;
use crate::is_held;

const NOW: i64 = 1_700_000_000;

fn object(value: Value) -> Object {
    value.as_object().unwrap().clone()
}

fn options(value: Value) -> DeleteOptions {
    DeleteOptions::read(&object(value)).unwrap()
}

fn judge_it(target: Value, opts: Value, traits: Traits, liens_hold: bool) -> DeletionVerdict {
    let resource = GroupResource::new("", "configmaps");
    let (target, options) = (object(target), options(opts));
    let deletion = Deletion {
        resource: &resource,
        kind: "ConfigMap",
        kind_group: "",
        options: &options,
        traits,
        in_use: None,
        liens_hold,
        now: NOW,
    };
    let verdict = judge(&deletion, target.clone());
    if let DeletionVerdict::Remove { object, changed } = &verdict {
        assert_eq!(*changed, *object != target);
    }
    verdict
}

/// What a verdict comes to, in one line.
fn told(verdict: DeletionVerdict) -> String {
    let terms = |o: &Object| {
        let seconds = o.metadata().and_then(|m| m.get("deletionGracePeriodSeconds")).map(Value::to_string);
        format!("grace={} finalizers={:?}", seconds.unwrap_or_else(|| "-".to_owned()), o.meta_strings("finalizers"))
    };
    match verdict {
        DeletionVerdict::Remove { object, .. } => format!("remove {}", terms(&object)),
        DeletionVerdict::Mark(o) => format!("mark {}", terms(&o)),
        DeletionVerdict::Underway => "underway".to_owned(),
        DeletionVerdict::Refuse(status) => format!("refuse {} {}", status.code, status.reason),
    }
}

fn check(target: Value, opts: Value, expect: &str) {
    assert_eq!(told(judge_it(target.clone(), opts.clone(), Traits::default(), true)), expect, "{target} {opts}");
}

fn check_pod(target: Value, opts: Value, expect: &str) {
    let traits = Traits { grace: Some(Grace::Pod), ..Traits::default() };
    assert_eq!(told(judge_it(target.clone(), opts.clone(), traits, true)), expect, "{target} {opts}");
}

#[test]
fn finalizers_and_propagation() {
    let plain = json!({"metadata": {"name": "c"}});
    check(plain.clone(), json!({}), "remove grace=- finalizers=[]");
    check(plain.clone(), json!({"propagationPolicy": "Background"}), "remove grace=- finalizers=[]");
    check(
        plain.clone(),
        json!({"propagationPolicy": "Foreground"}),
        "mark grace=0 finalizers=[\"foregroundDeletion\"]",
    );
    check(plain.clone(), json!({"propagationPolicy": "Orphan"}), "mark grace=0 finalizers=[\"orphan\"]");
    check(plain.clone(), json!({"orphanDependents": true}), "mark grace=0 finalizers=[\"orphan\"]");
    check(plain, json!({"orphanDependents": false}), "remove grace=- finalizers=[]");
    let finalized = json!({"metadata": {"name": "c", "finalizers": ["a.b/c", "orphan"]}});
    check(finalized.clone(), json!({}), "mark grace=0 finalizers=[\"a.b/c\", \"orphan\"]");
    check(finalized, json!({"propagationPolicy": "Background"}), "mark grace=0 finalizers=[\"a.b/c\"]");
}

#[test]
fn a_deletion_that_has_begun() {
    let deleting = json!({"metadata": {"name": "c", "finalizers": ["a.b/c"], "liens": ["x.y/z"],
        "deletionTimestamp": "2023-11-14T22:13:20Z", "deletionGracePeriodSeconds": 0}});
    check(deleting.clone(), json!({}), "underway");
    check(deleting, json!({"propagationPolicy": "Orphan"}), "mark grace=0 finalizers=[\"a.b/c\", \"orphan\"]");
}

#[test]
fn liens_stop_a_deletion_from_starting() {
    let held = json!({"metadata": {"name": "c", "liens": ["example.com/a", "example.com/b"]}});
    check(held.clone(), json!({}), "refuse 409 Conflict");
    check(held.clone(), json!({"propagationPolicy": "Foreground"}), "refuse 409 Conflict");
    check(held.clone(), json!({"ignoreLiens": true}), "remove grace=- finalizers=[]");
    assert_eq!(told(judge_it(held.clone(), json!({}), Traits::default(), false)), "remove grace=- finalizers=[]");
    let DeletionVerdict::Refuse(status) = judge_it(held, json!({}), Traits::default(), true) else {
        panic!("not refused")
    };
    assert_eq!(
        status.message,
        "Operation cannot be fulfilled on configmaps \"c\": the object is held by liens: \"example.com/a\", \"example.com/b\""
    );
    assert_eq!(status.details.unwrap().causes.len(), 2);
}

#[test]
fn preconditions() {
    let c = json!({"metadata": {"name": "c", "uid": "u", "resourceVersion": "5"}});
    check(c.clone(), json!({"preconditions": {"uid": "u", "resourceVersion": "5"}}), "remove grace=- finalizers=[]");
    check(c.clone(), json!({"preconditions": {"uid": "v"}}), "refuse 409 Conflict");
    check(c, json!({"preconditions": {"resourceVersion": "4"}}), "refuse 409 Conflict");
}

#[test]
fn pods_have_a_grace_period() {
    let pod = |node: &str, more: Value| {
        let mut pod = json!({"metadata": {"name": "p", "generation": 1},
            "spec": {"nodeName": node, "terminationGracePeriodSeconds": 30}});
        for (k, v) in more.as_object().unwrap() {
            pod["metadata"][k] = v.clone();
        }
        pod
    };
    check_pod(pod("", json!({})), json!({}), "remove grace=0 finalizers=[]");
    check_pod(pod("n", json!({})), json!({}), "mark grace=30 finalizers=[]");
    check_pod(pod("n", json!({})), json!({"gracePeriodSeconds": 0}), "remove grace=0 finalizers=[]");
    check_pod(pod("n", json!({})), json!({"gracePeriodSeconds": -3}), "mark grace=1 finalizers=[]");
    let deleting = json!({"deletionTimestamp": "2023-11-14T22:13:50Z", "deletionGracePeriodSeconds": 30});
    check_pod(pod("n", deleting.clone()), json!({}), "underway");
    check_pod(pod("n", deleting.clone()), json!({"gracePeriodSeconds": 100}), "underway");
    check_pod(pod("n", deleting.clone()), json!({"gracePeriodSeconds": 5}), "mark grace=5 finalizers=[]");
    check_pod(pod("n", deleting), json!({"gracePeriodSeconds": 0}), "remove grace=0 finalizers=[]");
}

#[test]
fn a_grace_period_must_end_at_a_time_that_can_be_told() {
    let pod = |own: i64| {
        let spec = json!({"nodeName": "n", "terminationGracePeriodSeconds": own});
        json!({"metadata": {"name": "p"}, "spec": spec, "status": {"phase": "Running"}})
    };
    let refused = "refuse 422 Invalid";
    check_pod(pod(30), json!({"gracePeriodSeconds": i64::MAX}), refused);
    check(json!({"metadata": {"name": "c"}}), json!({"gracePeriodSeconds": i64::MAX}), refused);
    let traits = Traits { grace: Some(Grace::Pod), ..Traits::default() };
    let DeletionVerdict::Mark(marked) = judge_it(pod(i64::MAX), json!({}), traits, true) else { panic!("not marked") };
    assert_eq!(marked.meta_str("deletionTimestamp"), time::seconds(time::latest()));
}

#[test]
fn some_kinds_leave_their_dependents_behind() {
    let traits = Traits { uncollected: true, ..Traits::default() };
    let orphaning = json!({"propagationPolicy": "Orphan"});
    let event = json!({"metadata": {"name": "e"}});
    assert_eq!(told(judge_it(event, orphaning, traits, true)), "remove grace=- finalizers=[]");
    let traits = Traits { orphans: true, ..Traits::default() };
    let told_of = |target: Value, opts: Value| told(judge_it(target, opts, traits, true));
    let plain = json!({"metadata": {"name": "c"}});
    let orphaned = "mark grace=0 finalizers=[\"orphan\"]";
    assert_eq!(told_of(plain.clone(), json!({})), orphaned);
    assert_eq!(told_of(plain.clone(), json!({"propagationPolicy": "Background"})), "remove grace=- finalizers=[]");
    assert_eq!(told_of(plain, json!({"orphanDependents": false})), "remove grace=- finalizers=[]");
    let decided = json!({"metadata": {"name": "c", "finalizers": ["foregroundDeletion"]}});
    assert_eq!(told_of(decided, json!({})), "mark grace=0 finalizers=[\"foregroundDeletion\"]");
}

#[test]
fn spec_finalizers_hold_a_namespace() {
    let traits = Traits { spec_finalizers: true, ..Traits::default() };
    let held = json!({"metadata": {"name": "n"}, "spec": {"finalizers": ["kubernetes"]}});
    assert_eq!(told(judge_it(held, json!({}), traits, true)), "mark grace=- finalizers=[]");
    let done = object(json!({"metadata": {"name": "n", "deletionTimestamp": "2023-11-14T22:13:20Z"}, "spec": {}}));
    assert!(completes(&done, traits));
}

#[test]
fn what_is_used_is_kept_like_what_liens_hold() {
    let refused = |liens: Value, in_use: &InUse, options: Value| {
        let (resource, options) =
            (GroupResource::new("", "secrets"), DeleteOptions::read(options.as_object().unwrap()));
        let deletion = Deletion {
            resource: &resource,
            kind: "Secret",
            kind_group: "",
            options: &options.unwrap(),
            traits: Traits::default(),
            in_use: Some(in_use),
            liens_hold: true,
            now: NOW,
        };
        let object = json!({"metadata": {"name": "db", "liens": liens}});
        match judge(&deletion, object.as_object().unwrap().clone()) {
            DeletionVerdict::Refuse(status) => {
                assert!(is_held(&status), "{status}");
                let causes = status.details.unwrap().causes;
                let causes = causes.iter().map(|c| format!("{} {} {}", c.reason, c.field, c.message)).collect();
                Some((status.message.split_once(": ").unwrap().1.to_owned(), causes))
            }
            _ => None,
        }
    };
    let user = |kind: &str, namespace: &str, name: &str, fields: &[&str]| UsedBy {
        kind: kind.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        fields: fields.iter().map(|field| (*field).to_owned()).collect(),
    };
    let in_use = InUse {
        users: vec![user("Pod", "n", "web", &["spec.a", "spec.b"]), user("PersistentVolume", "", "pv", &[])],
        others: 0,
    };
    let users = "InUse spec.a used by Pod \"n/web\" in spec.a|InUse spec.b used by Pod \"n/web\" in spec.b|\
                 InUse  perhaps used by PersistentVolume \"pv\", which cannot be read";
    let (message, causes): (String, Vec<String>) = refused(json!([]), &in_use, json!({})).unwrap();
    assert_eq!(message, "the object is used by Pod \"n/web\", PersistentVolume \"pv\"");
    assert_eq!(causes.join("|"), users);
    let (message, causes) = refused(json!(["a.b/c"]), &in_use, json!({})).unwrap();
    let by_lien = "the object is held by liens: \"a.b/c\"; it is used by Pod \"n/web\", PersistentVolume \"pv\"";
    assert_eq!(message, by_lien);
    assert_eq!(causes.join("|"), format!("LienHeld metadata.liens held by lien \"a.b/c\"|{users}"));
    assert_eq!(refused(json!([]), &in_use, json!({"ignoreLiens": true})), None);
    let hidden = InUse { users: Vec::new(), others: 2 };
    let (message, causes) = refused(json!([]), &hidden, json!({})).unwrap();
    assert_eq!(message, "the object is used by 2 objects that you may not read");
    assert_eq!(causes, ["InUse  used by 2 objects that are not named here"]);
}
