//! Bytes and documents that nobody meant, for as long as `PAWL_FUZZ_SECONDS` says.

use std::fmt::Debug;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

/// Tries cases of a strategy. What fails is shrunk and shown.
pub fn campaign<S: Strategy>(strategy: S, test: impl Fn(S::Value))
where
    S::Value: Debug,
{
    let seconds = std::env::var("PAWL_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut seed = seed();
    while Instant::now() < until {
        let config = Config { cases: 32, failure_persistence: None, ..Config::default() };
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
        let result = runner.run(&strategy, |case| {
            test(case);
            Ok(())
        });
        if let Err(failure) = result {
            panic!("PAWL_SEED={seed}: {failure}");
        }
        seed = seed.wrapping_add(1);
    }
}

/// Where random cases begin: at `PAWL_SEED`; where changes are merged always at the same place, so that one that is right
/// is not held up by another's fault; anywhere else.
fn seed() -> u64 {
    let given = std::env::var("PAWL_SEED").ok().and_then(|text| text.parse().ok());
    let fixed = std::env::var_os("CI").map(|_| 0);
    given.or(fixed).unwrap_or_else(|| RandomState::new().hash_one(0_u8))
}

/// Objects that are right, of kinds that have all there is: associative lists, sets, quantities, times, free forms.
pub fn objects() -> Vec<Value> {
    let meta = json!({"name": "x", "namespace": "n", "labels": {"app": "a"}, "annotations": {"k": "v"},
        "finalizers": ["example.com/f"], "liens": ["example.com/l"]});
    let template = json!({"metadata": {"labels": {"app": "a"}}, "spec": {
        "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}], "env": [{"name": "E", "value": "1"}],
            "resources": {"limits": {"cpu": "100m", "memory": "1Gi"}}, "volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
        "volumes": [{"name": "v", "emptyDir": {}}],
        "tolerations": [{"key": "k", "operator": "Exists"}]}});
    vec![
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "1"}, "binaryData": {"b": "AA=="}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {"replicas": 2,
            "selector": {"matchLabels": {"app": "a"}}, "template": template,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}}}),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]}),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"selector": {"app": "a"},
            "ports": [{"name": "p", "port": 80, "targetPort": "http"}, {"name": "q", "port": 81, "protocol": "UDP"}]}}),
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": meta, "spec": {
            "podSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
            "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}], "ports": [{"port": 80}]}]}}),
        json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": meta, "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 3}}),
    ]
}

/// Words that mean something in a body, a patch or a selector.
const WORDS: [&str; 30] = [
    "null",
    "true",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\u0000",
    "\\ud800",
    "1e999",
    "-0",
    "9223372036854775808",
    "$patch",
    "replace",
    "delete",
    "$retainKeys",
    "$setElementOrder/ports",
    "*a",
    "&a ",
    "<<: ",
    "---\n",
    "!!binary ",
    "|\n ",
    "in (",
    "notin",
    "f:",
    "k:{}",
    "\u{fffd}",
];

#[derive(Clone, Debug)]
enum Edit {
    Put(Index, u8),
    Insert(Index, &'static str),
    Cut(Index, usize),
    Repeat(Index, usize, usize),
    End(Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Edit::Put(at, byte)),
        4 => (any::<Index>(), select(&WORDS[..])).prop_map(|(at, word)| Edit::Insert(at, word)),
        2 => (any::<Index>(), 1..40_usize).prop_map(|(at, length)| Edit::Cut(at, length)),
        2 => (any::<Index>(), 1..20_usize, 1..400_usize).prop_map(|(at, length, times)| Edit::Repeat(at, length, times)),
        1 => any::<Index>().prop_map(Edit::End),
    ]
}

fn make(bytes: &mut Vec<u8>, edit: Edit) {
    let place = |at: Index, bytes: &Vec<u8>| at.index(bytes.len() + 1);
    match edit {
        Edit::Put(at, byte) => {
            let at = place(at, bytes);
            bytes.splice(at..(at + 1).min(bytes.len()), [byte]);
        }
        Edit::Insert(at, word) => {
            let at = place(at, bytes);
            bytes.splice(at..at, word.bytes());
        }
        Edit::Cut(at, length) => {
            let at = place(at, bytes);
            bytes.drain(at..(at + length).min(bytes.len()));
        }
        Edit::Repeat(at, length, times) => {
            let at = place(at, bytes);
            let piece = bytes[at..(at + length).min(bytes.len())].repeat(times);
            bytes.splice(at..at, piece);
        }
        Edit::End(at) => bytes.truncate(place(at, bytes)),
    }
}

/// Documents that were right, with a few changes; sometimes bytes that were never anything.
pub fn damaged(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let edited = (select(seeds), prop::collection::vec(edit(), 0..6)).prop_map(|(mut bytes, edits)| {
        edits.into_iter().for_each(|edit| make(&mut bytes, edit));
        bytes
    });
    prop_oneof![20 => edited, 1 => prop::collection::vec(any::<u8>(), 0..200)]
}

/// A part of an object, or what might be one: its names and its texts occur in the objects.
pub fn part() -> impl Strategy<Value = Value> {
    let mut names: Vec<String> = [
        "$patch",
        "$retainKeys",
        "$setElementOrder/ports",
        "$deleteFromPrimitiveList/finalizers",
        "status",
        "generateName",
    ]
    .map(str::to_owned)
    .to_vec();
    let mut leaves = vec![json!(null), json!(""), json!(0), json!(-1), json!(1.5), json!([]), json!({})];
    leaves.extend(["replace", "delete", "merge"].map(Value::from));
    objects().iter().for_each(|object| vocabulary(object, &mut names, &mut leaves));
    let name = select(names);
    select(leaves).prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..6)
                .prop_map(|pairs| pairs.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

fn vocabulary(value: &Value, names: &mut Vec<String>, leaves: &mut Vec<Value>) {
    match value {
        Value::Object(object) => object.iter().for_each(|(name, value)| {
            names.push(name.clone());
            leaves.push(value.clone());
            vocabulary(value, names, leaves);
        }),
        Value::Array(items) => items.iter().for_each(|item| vocabulary(item, names, leaves)),
        leaf => leaves.push(leaf.clone()),
    }
}
