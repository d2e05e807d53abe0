//! Laws that hold for every object, intent and patch.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod schemas;

use pawl_apply::{
    Error, FieldSet, Typed, Writer, apply, json_patch, merge_patch, restore_times, strategic, track_update,
};
use pawl_meta::object::Object;
use proptest::prelude::*;
use schemas::Kinds;
use serde_json::{Map, Value, json};

const NOTHING: FieldSet<'static> = FieldSet::new();

fn writer<'a>(manager: &'a str, time: &'a str) -> Writer<'a> {
    Writer { manager, api_version: "example.com/v1", subresource: "", time }
}

fn text() -> impl Strategy<Value = Value> {
    prop_oneof!["[a-c]", Just(String::new())].prop_map(Value::from)
}

fn maybe<S: Strategy<Value = Value> + 'static>(
    name: &'static str,
    value: S,
) -> BoxedStrategy<Vec<(&'static str, Value)>> {
    prop::option::of(value).prop_map(move |value| value.map(|value| (name, value)).into_iter().collect()).boxed()
}

fn fields(parts: Vec<BoxedStrategy<Vec<(&'static str, Value)>>>) -> impl Strategy<Value = Value> {
    parts.prop_map(|parts| Value::Object(parts.into_iter().flatten().map(|(n, v)| (n.to_owned(), v)).collect()))
}

fn items(depth: u32) -> BoxedStrategy<Value> {
    let deep = if depth == 0 { Just(json!([{"k": "a"}])).boxed() } else { items(depth - 1) };
    let item = (text(), prop::option::of(deep)).prop_map(|(v, deep)| match deep {
        Some(deep) => json!({"v": v, "deep": deep}),
        None => json!({"v": v}),
    });
    prop::collection::btree_map("[a-c]", item, 1..3)
        .prop_map(|items| {
            let keyed = |(k, mut item): (String, Value)| {
                item["k"] = Value::from(k);
                item
            };
            Value::Array(items.into_iter().map(keyed).collect())
        })
        .boxed()
}

fn anything() -> BoxedStrategy<Value> {
    let leaf =
        prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), (0..3i64).prop_map(Value::from), text()];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect::<Map<String, Value>>())),
        ]
    })
    .boxed()
}

fn strings() -> impl Strategy<Value = Value> {
    prop::collection::btree_set("[a-d]", 1..4).prop_map(|set| Value::from(set.into_iter().collect::<Vec<_>>()))
}

fn map() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-c]", text(), 0..3).prop_map(|map| Value::Object(map.into_iter().collect()))
}

/// Valid widgets, without nulls where a type is declared. Empty lists by key are left out: nobody can own them.
fn widgets() -> impl Strategy<Value = Object> {
    let spec = fields(vec![
        maybe("a", text()),
        maybe("n", (0..3i64).prop_map(Value::from)),
        maybe("lm", items(1)),
        maybe("st", strings()),
        maybe("at", strings()),
        maybe("am", map()),
        maybe("x", anything().prop_filter("null is no value", |v| !v.is_null())),
    ]);
    (spec, prop::option::of(map())).prop_map(|(spec, labels)| {
        let mut object =
            json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec});
        if let Some(labels) = labels {
            object["metadata"]["labels"] = labels;
        }
        let Value::Object(object) = object else { unreachable!() };
        object
    })
}

fn force(typed: &Typed<'_>, live: Option<&Object>, intent: &Object, manager: &str, time: &str) -> Object {
    apply(typed, live, intent.clone(), &writer(manager, time), true, &NOTHING).unwrap().object
}

fn owners(object: &Object) -> Vec<(String, Value)> {
    let entries = object["metadata"].get("managedFields").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut owners: Vec<_> =
        entries.iter().map(|e| (e["manager"].as_str().unwrap().to_owned(), e["fieldsV1"].clone())).collect();
    owners.sort_by(|(a, _), (b, _)| a.cmp(b));
    owners
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn applying_again_changes_nothing(live in widgets(), intent in widgets()) {
        let kinds = Kinds::new();
        let typed = kinds.of("Widget");
        let live = force(&typed, None, &live, "creator", "2026-01-01T00:00:00Z");
        let once = force(&typed, Some(&live), &intent, "m", "2026-01-01T00:00:01Z");
        let again = apply(&typed, Some(&once), intent, &writer("m", "2026-01-01T00:00:02Z"), false, &NOTHING).unwrap();
        prop_assert_eq!(&again.object, &once);
        prop_assert!(!again.changed);
    }

    #[test]
    fn an_intent_is_in_the_object_and_owned(live in widgets(), intent in widgets()) {
        let kinds = Kinds::new();
        let typed = kinds.of("Widget");
        let live = force(&typed, None, &live, "creator", "2026-01-01T00:00:00Z");
        let applied = force(&typed, Some(&live), &intent, "m", "2026-01-01T00:00:01Z");
        for scalar in ["a", "n", "at", "am"] {
            if let Some(value) = intent["spec"].get(scalar) {
                prop_assert_eq!(&applied["spec"][scalar], value);
            }
        }
        // What one owns, another can give up only together with it.
        let left = force(&typed, Some(&applied), &json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}).as_object().unwrap().clone(), "creator", "2026-01-01T00:00:02Z");
        let owned = |object: &Object| owners(object).into_iter().find(|(m, _)| m == "m");
        prop_assert_eq!(owned(&left), owned(&applied));
    }

    #[test]
    fn the_same_intent_in_either_order_is_owned_alike(live in widgets(), intent in widgets()) {
        let kinds = Kinds::new();
        let typed = kinds.of("Widget");
        let live = force(&typed, None, &live, "creator", "2026-01-01T00:00:00Z");
        let both = |first: &str, second: &str| {
            let one = force(&typed, Some(&live), &intent, first, "2026-01-01T00:00:01Z");
            force(&typed, Some(&one), &intent, second, "2026-01-01T00:00:02Z")
        };
        let (ab, ba) = (both("a", "b"), both("b", "a"));
        prop_assert_eq!(owners(&ab), owners(&ba));
        prop_assert_eq!(&ab["spec"], &ba["spec"]);
    }

    #[test]
    fn agreeing_is_never_a_conflict(intent in widgets()) {
        let kinds = Kinds::new();
        let typed = kinds.of("Widget");
        let live = force(&typed, None, &intent, "creator", "2026-01-01T00:00:00Z");
        let agreed = apply(&typed, Some(&live), intent, &writer("m", "2026-01-01T00:00:01Z"), false, &NOTHING);
        prop_assert!(agreed.is_ok(), "{:?}", agreed);
    }

    #[test]
    fn a_field_has_no_two_owners_after_an_update(live in widgets(), new in widgets()) {
        let kinds = Kinds::new();
        let typed = kinds.of("Widget");
        let live = force(&typed, None, &live, "creator", "2026-01-01T00:00:00Z");
        let mut updated = new;
        track_update(&typed, Some(&live), &mut updated, &writer("upd", "2026-01-01T00:00:01Z"), &NOTHING).unwrap();
        let sets: Vec<Value> = owners(&updated).into_iter().map(|(_, fields)| fields).collect();
        if let [a, b] = sets.as_slice() {
            let (a, b) = (FieldSet::from_fields_v1(a).unwrap(), FieldSet::from_fields_v1(b).unwrap());
            prop_assert!(!a.intersects(&b));
        }
        // Updating with what is there changes nothing.
        let mut same = updated.clone();
        track_update(&typed, Some(&updated), &mut same, &writer("other", "2026-01-01T00:00:02Z"), &NOTHING).unwrap();
        prop_assert_eq!(same, updated);
    }

    #[test]
    fn nothing_panics(live in anything(), intent in anything(), managed in anything(), kind in 0..5usize) {
        let kinds = Kinds::new();
        let typed = match kind {
            0 => kinds.of("Widget"),
            1 => kinds.of("Deployment"),
            2 => kinds.of("WidgetSpec"),
            3 => kinds.of("Item"),
            _ => kinds.unknown(),
        };
        let object = |value: Value| match value {
            Value::Object(map) => map,
            other => json!({"spec": other, "lm": other, "st": other, "deep": other}).as_object().unwrap().clone(),
        };
        let (mut live, intent) = (object(live), object(intent));
        let _ = apply(&typed, Some(&live), intent.clone(), &writer("m", "t"), true, &NOTHING);
        live.insert("metadata".to_owned(), json!({"managedFields": managed}));
        let _ = apply(&typed, Some(&live), intent.clone(), &writer("kubectl", "t"), false, &NOTHING);
        let mut new = intent.clone();
        let _ = track_update(&typed, Some(&live), &mut new, &writer("m", "t"), &NOTHING);
        let mut new = intent;
        let _ = track_update(&typed, None, &mut new, &writer("m", "t"), &NOTHING);
        restore_times(&live, &mut new);
    }

    #[test]
    fn patches_never_panic(doc in anything(), patch in anything(), path in "[/a-c0-2~-]{0,6}", from in "[/a-c0-2~-]{0,6}") {
        let kinds = Kinds::new();
        for op in ["add", "remove", "replace", "move", "copy", "test"] {
            let patch = json!([{"op": op, "path": path, "from": from, "value": patch}]);
            let _ = json_patch::apply(doc.clone(), patch.to_string().as_bytes());
        }
        let merged = merge_patch::apply(doc.clone(), patch.clone());
        if patch.is_object() {
            prop_assert!(merged.is_object());
        }
        let _ = strategic::apply(&kinds.of("Item"), doc.clone(), patch.clone());
        let list = json!({"containers": [doc.clone()], "volumes": doc, "$setElementOrder/containers": [patch.clone()]});
        let _ = strategic::apply(&kinds.of("PodSpec"), list.clone(), json!({"containers": [patch.clone()], "volumes": patch}));
        let _ = strategic::apply(&kinds.of("PodSpec"), json!({}), list);
    }
}

#[test]
fn only_conflicts_stop_a_valid_intent() {
    let kinds = Kinds::new();
    let typed = kinds.of("Widget");
    let intent =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"a": "1"}}).as_object().unwrap().clone();
    let live = force(&typed, None, &intent, "m1", "t");
    let mut other = intent;
    other["spec"]["a"] = json!("2");
    let refused = apply(&typed, Some(&live), other, &writer("m2", "t"), false, &NOTHING);
    assert!(matches!(refused, Err(Error::Conflicts(_))));
}
