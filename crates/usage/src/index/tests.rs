use super::*;
use crate::Used;
use proptest::prelude::*;
use serde_json::{Value, json};

/// An index that is told objects, and what it has said of changes since it was last asked.
#[derive(Default)]
struct World {
    index: Index,
    changed: Vec<Changed>,
}

impl World {
    fn see(&mut self, user: User, key: &str, mut object: Value) {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        object["metadata"]["name"] = json!(name);
        object["metadata"]["namespace"] = json!(namespace);
        let uses = Uses::of(user, object.as_object().unwrap());
        self.index.see(user, &Arc::from(key), &uses, &mut self.changed);
    }

    fn forget(&mut self, user: User, key: &str) {
        self.index.forget(user, &Arc::from(key), &mut self.changed);
    }

    fn is_used(&self, key: &str) -> bool {
        let (namespace, name) = key.split_once('/').unwrap();
        self.index.is_used(&Target::new(Used::Secret, namespace, name))
    }

    /// What changed since the last time.
    fn changed(&mut self) -> Vec<String> {
        let told = |changed| match changed {
            Changed::Target(target) => target.key.to_string(),
            Changed::Namespace(namespace) => format!("{namespace}/*"),
        };
        let mut told: Vec<String> = std::mem::take(&mut self.changed).into_iter().map(told).collect();
        told.sort();
        told
    }
}

fn pod(secrets: &[&str]) -> Value {
    let volumes: Vec<Value> = secrets.iter().map(|s| json!({"secret": {"secretName": s}})).collect();
    json!({"spec": {"volumes": volumes}})
}

fn class(name: &str, namespace: &str) -> Value {
    json!({"parameters": {"csi.storage.k8s.io/provisioner-secret-name": name,
        "csi.storage.k8s.io/provisioner-secret-namespace": namespace}})
}

fn volume(class: &str, claim: Value, annotations: Value) -> Value {
    json!({"metadata": {"annotations": annotations},
        "spec": {"csi": {}, "storageClassName": class, "claimRef": claim}})
}

#[test]
fn only_the_first_and_the_last_user_change_anything() {
    let mut world = World::default();
    world.see(User::Pod, "n/a", pod(&["s", "t"]));
    assert_eq!(world.changed(), ["n/s", "n/t"]);
    world.see(User::Pod, "n/b", pod(&["s"]));
    assert_eq!(world.changed(), [""; 0]);
    world.see(User::Pod, "n/a", pod(&["t"]));
    assert_eq!(world.changed(), [""; 0]);
    assert!(world.is_used("n/s") && world.is_used("n/t") && !world.is_used("m/s"));
    world.forget(User::Pod, "n/b");
    assert_eq!(world.changed(), ["n/s"]);
    world.forget(User::Pod, "n/a");
    assert_eq!(world.changed(), ["n/t"]);
    assert!(world.index.is_empty());
}

#[test]
fn what_is_only_shown_is_not_in_use() {
    let mut world = World::default();
    world.see(User::Ingress, "n/i", json!({"spec": {"tls": [{"secretName": "s"}]}}));
    assert_eq!((world.is_used("n/s"), world.changed()), (false, vec![]));
    let users = world.index.users(&Target::new(Used::Secret, "n", "s"));
    assert_eq!(users, [(Who { user: User::Ingress, key: "n/i".into() }, false)]);
}

#[test]
fn in_doubt_an_object_is_in_use() {
    let mut world = World::default();
    world.index.doubt(User::Pod, &Arc::from("n/broken"), &mut world.changed);
    assert_eq!(world.changed(), ["n/*"]);
    assert!(world.is_used("n/anything") && !world.is_used("m/anything"));
    world.index.doubt(User::Volume, &Arc::from("pv"), &mut world.changed);
    assert!(world.is_used("m/anything"));
    assert!(!world.index.is_used(&Target::new(Used::ConfigMap, "m", "c")), "volumes use no ConfigMaps");
    world.see(User::Pod, "n/broken", pod(&[]));
    world.forget(User::Volume, "pv");
    assert_eq!(world.changed(), ["/*", "/*", "n/*"]);
    assert!(!world.is_used("n/anything"));
}

#[test]
fn a_class_leads_to_a_secret_in_any_order() {
    let claim = json!({"namespace": "n", "name": "data", "uid": "u"});
    let tell: [(User, &str, Value); 3] = [
        (User::StorageClass, "fast", class("${pvc.name}-${pvc.annotations['a']}", "${pvc.namespace}")),
        (
            User::Claim,
            "n/data",
            json!({"metadata": {"uid": "u", "annotations": {"a": "x"}}, "spec": {"volumeName": "pv"}}),
        ),
        (User::Volume, "pv", volume("fast", claim, json!({}))),
    ];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut world = World::default();
        for i in order {
            let (user, key, object) = &tell[i];
            world.see(*user, key, object.clone());
        }
        assert!(world.is_used("n/data-x"), "{order:?}");
        // The claim goes, then the class: what they led to is remembered until the volume goes.
        world.forget(User::Claim, "n/data");
        world.forget(User::StorageClass, "fast");
        assert!(world.is_used("n/data-x"), "{order:?}");
        world.forget(User::Volume, "pv");
        assert!(!world.is_used("n/data-x") && world.index.is_empty(), "{order:?}");
    }
}

#[test]
fn names_of_claims_are_known_without_them() {
    let mut world = World::default();
    world.see(User::StorageClass, "fast", class("${pvc.name}", "${pvc.namespace}"));
    let claim = json!({"namespace": "n", "name": "data", "uid": "u"});
    world.see(User::Volume, "pv", volume("fast", claim, json!({})));
    assert!(world.is_used("n/data"));
    assert!(!world.index.asks_claims());
    world.see(User::StorageClass, "other", class("${pvc.annotations['a']}", "n"));
    assert!(world.index.asks_claims());
}

#[test]
fn after_the_claim_annotations_decide() {
    let mut world = World::default();
    world.see(User::StorageClass, "fast", class("by-class", "n"));
    let noted = json!({"volume.kubernetes.io/provisioner-deletion-secret-name": "noted",
        "volume.kubernetes.io/provisioner-deletion-secret-namespace": "n"});
    let claim = json!({"namespace": "n", "name": "data", "uid": "u"});
    world.see(User::Claim, "n/data", json!({"metadata": {"uid": "u"}, "spec": {"volumeName": "pv"}}));
    world.see(User::Volume, "pv", volume("fast", claim, noted));
    assert!(world.is_used("n/by-class") && world.is_used("n/noted"));
    world.forget(User::Claim, "n/data");
    assert!(!world.is_used("n/by-class") && world.is_used("n/noted"));
}

#[test]
fn a_claim_of_the_same_name_is_another_one() {
    let mut world = World::default();
    world.see(User::StorageClass, "fast", class("${pvc.annotations['a']}", "n"));
    world.see(
        User::Claim,
        "n/data",
        json!({"metadata": {"uid": "new", "annotations": {"a": "x"}}, "spec": {"volumeName": "pv"}}),
    );
    world.see(User::Volume, "pv", volume("fast", json!({"namespace": "n", "name": "data", "uid": "old"}), json!({})));
    assert!(!world.is_used("n/x"));
}

#[test]
fn snapshots_are_made_with_the_secret_of_their_class() {
    let mut world = World::default();
    let content =
        json!({"spec": {"volumeSnapshotClassName": "snap", "volumeSnapshotRef": {"namespace": "n", "name": "s"}}});
    world.see(User::SnapshotContent, "content", content);
    let parameters = json!({"csi.storage.k8s.io/snapshotter-secret-name": "${volumesnapshot.name}-${volumesnapshotcontent.name}",
        "csi.storage.k8s.io/snapshotter-secret-namespace": "${volumesnapshot.namespace}"});
    world.see(User::SnapshotClass, "snap", json!({"parameters": parameters}));
    assert_eq!(world.changed(), ["n/s-content"]);
    // The definition goes, and all of its objects with it.
    world.index.keep_only(User::SnapshotClass, |_| false, &mut world.changed);
    assert!(world.is_used("n/s-content"));
    world.index.keep_only(User::SnapshotContent, |_| false, &mut world.changed);
    assert!(!world.is_used("n/s-content"));
}

/// What happens to one of three pods: it names some of three Secrets, cannot be read, or goes.
#[derive(Clone, Debug)]
enum Step {
    See(usize, Vec<usize>),
    Doubt(usize),
    Forget(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..3_usize, prop::collection::vec(0..3_usize, 0..4)).prop_map(|(pod, secrets)| Step::See(pod, secrets)),
        1 => (0..3_usize).prop_map(Step::Doubt),
        2 => (0..3_usize).prop_map(Step::Forget),
    ];
    prop::collection::vec(step, 1..40)
}

proptest! {
    /// The index says what one finds by asking everybody, and whoever only listens to what has changed knows the same.
    #[test]
    fn the_index_is_what_asking_everybody_gives(steps in steps()) {
        const SECRETS: [&str; 3] = ["a", "b", "c"];
        let mut world = World::default();
        let mut pods: [Option<Option<Vec<usize>>>; 3] = [None, None, None];
        let mut heard = [false; 3];
        for step in steps {
            match &step {
                Step::See(pod_, secrets) => {
                    let names: Vec<&str> = secrets.iter().map(|s| SECRETS[*s]).collect();
                    world.see(User::Pod, &format!("n/{pod_}"), pod(&names));
                    pods[*pod_] = Some(Some(secrets.clone()));
                }
                Step::Doubt(pod) => {
                    world.index.doubt(User::Pod, &format!("n/{pod}").into(), &mut world.changed);
                    pods[*pod] = Some(None);
                }
                Step::Forget(pod) => {
                    world.forget(User::Pod, &format!("n/{pod}"));
                    pods[*pod] = None;
                }
            }
            let changed = world.changed();
            for (i, secret) in SECRETS.iter().enumerate() {
                let expect = pods.iter().flatten().any(|pod| pod.as_ref().is_none_or(|secrets| secrets.contains(&i)));
                let key = format!("n/{secret}");
                prop_assert_eq!(world.is_used(&key), expect, "{} after {:?}", key, step);
                if changed.contains(&key) || changed.iter().any(|c| c == "n/*") {
                    heard[i] = expect;
                }
                prop_assert_eq!(heard[i], expect, "nobody heard of {} after {:?}: {:?}", key, step, changed);
            }
        }
    }
}
