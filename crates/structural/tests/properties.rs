//! What holds for any schema and any object.
#![allow(clippy::restriction, reason = "a test stops at what it does not expect")]

mod common;
#[path = "common/plain.rs"]
mod plain;

use common::{compile, judge, texts, whole};
use pawl_meta::FieldPath;
use pawl_structural::{Checks, Props, schema_errors, structural_errors};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Names that fields have in these tests.
const NAMES: [&str; 4] = ["a", "b", "k", "v"];

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(&NAMES[..]).prop_map(str::to_owned)
}

fn with(base: Value, more: Vec<(&'static str, Value)>) -> Value {
    let mut map = base.as_object().unwrap().clone();
    map.extend(more.into_iter().map(|(name, value)| (name.to_owned(), value)));
    Value::Object(map)
}

fn small() -> impl Strategy<Value = i64> {
    0..4i64
}

/// Limits that may stand on any value.
fn limits() -> impl Strategy<Value = Value> {
    let keyword = prop_oneof![
        small().prop_map(|n| json!({"minLength": n})),
        small().prop_map(|n| json!({"maxLength": n})),
        small().prop_map(|n| json!({"minimum": n})),
        small().prop_map(|n| json!({"maximum": n, "exclusiveMaximum": n % 2 == 0})),
        (1..4i64).prop_map(|n| json!({"multipleOf": n})),
        small().prop_map(|n| json!({"minItems": n})),
        small().prop_map(|n| json!({"maxItems": n})),
        small().prop_map(|n| json!({"minProperties": n})),
        small().prop_map(|n| json!({"maxProperties": n})),
        Just(json!({"pattern": "^[a-c]*$"})),
        Just(json!({"enum": ["a", 1, {"a": 1}]})),
        name().prop_map(|name| json!({"required": [name]})),
        Just(json!({})),
    ];
    keyword.boxed()
}

fn composed() -> impl Strategy<Value = Value> {
    let list = || prop::collection::vec(limits(), 1..3);
    prop_oneof![
        6 => Just(json!({})),
        1 => list().prop_map(|list| json!({"allOf": list})),
        1 => list().prop_map(|list| json!({"anyOf": list})),
        1 => list().prop_map(|list| json!({"oneOf": list})),
        1 => limits().prop_map(|limits| json!({"not": limits})),
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    let kind = prop_oneof![
        3 => Just(json!({"type": "string"})),
        2 => Just(json!({"type": "integer"})),
        1 => Just(json!({"type": "number"})),
        1 => Just(json!({"type": "boolean"})),
        1 => Just(json!({"x-kubernetes-int-or-string": true})),
        1 => Just(json!({"x-kubernetes-preserve-unknown-fields": true})),
        1 => Just(json!({"type": "string", "default": "aa"})),
        1 => Just(json!({"type": "string", "nullable": true, "default": "b"})),
        1 => Just(json!({"type": "integer", "nullable": true})),
    ];
    (kind, limits(), composed()).prop_map(|(kind, limits, composed)| merged(&[kind, limits, composed]))
}

fn merged(parts: &[Value]) -> Value {
    let all = parts.iter().filter_map(Value::as_object).flatten().map(|(name, value)| (name.clone(), value.clone()));
    Value::Object(all.collect::<Map<_, _>>())
}

/// A structural schema of anything.
fn schema() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 24, 4, |inner| {
        let properties = prop::collection::btree_map(name(), inner.clone(), 1..4);
        let object = (properties, prop::bool::ANY, prop::sample::select(vec!["atomic", "granular"])).prop_map(
            |(properties, keeps, kind)| {
                let object = json!({"type": "object", "properties": properties, "x-kubernetes-map-type": kind});
                if keeps { with(object, vec![("x-kubernetes-preserve-unknown-fields", json!(true))]) } else { object }
            },
        );
        let map = inner.clone().prop_map(|values| json!({"type": "object", "additionalProperties": values}));
        let list = (inner.clone(), prop::sample::select(vec!["atomic", "set"]), prop::bool::ANY).prop_map(
            |(items, kind, keeps)| {
                let list = json!({"type": "array", "items": items, "x-kubernetes-list-type": kind});
                if keeps { with(list, vec![("x-kubernetes-preserve-unknown-fields", json!(true))]) } else { list }
            },
        );
        let keyed = inner.prop_map(|value| {
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": value}}})
        });
        let any = prop_oneof![3 => object, 1 => map, 1 => list, 1 => keyed];
        (any, limits(), composed()).prop_map(|(any, limits, composed)| merged(&[any, limits, composed]))
    })
}

/// Any small JSON value.
fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        small().prop_map(Value::from),
        Just(json!(1.5)),
        "[a-d]{0,4}".prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 24, 4, |inner| {
        let keyed = (name(), inner.clone()).prop_map(|(key, value)| json!({"k": key, "v": value}));
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec(keyed, 0..3).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

/// A schema of an object whose `spec` is anything, and objects for it: as the decoder and the defaults leave them.
fn root(spec: &Value) -> Value {
    json!({"type": "object", "properties": {"spec": spec}})
}

/// Like the first, with a part of the second in its place.
fn mixed(first: &Value, second: &Value) -> Value {
    match (first, second) {
        (Value::Object(first), Value::Object(second)) if !first.is_empty() => {
            let mut mix = first.clone();
            let (name, old) = first.iter().next().unwrap();
            mix.insert(name.clone(), second.get(name).map_or(Value::from("b"), |new| mixed(old, new)));
            Value::Object(mix)
        }
        (Value::Array(first), Value::Array(second)) if !first.is_empty() && !second.is_empty() => {
            let mut mix = first.clone();
            mix[0] = mixed(&first[0], &second[0]);
            Value::Array(mix)
        }
        _ => second.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn pruning_and_defaulting_twice_changes_nothing(spec in schema(), value in value()) {
        let schema = compile(&root(&spec));
        let mut object = whole(&json!({"spec": value, "more": 1}));
        schema.prune(&mut object);
        schema.default(&mut object);
        let once = object.clone();
        prop_assert_eq!(schema.prune(&mut object), Vec::<String>::new());
        schema.default(&mut object);
        prop_assert_eq!(&object, &once);
    }

    #[test]
    fn the_decoder_prunes_like_the_pruner_and_what_it_read_reads_the_same(spec in schema(), value in value()) {
        let schema = compile(&root(&spec));
        let shape = schema.shape().as_ref();
        let given = whole(&json!({"spec": value, "more": {"x": 1}}));
        let decoded = pawl_schema::decode_json(shape, Value::Object(given.clone()).to_string().as_bytes()).unwrap();
        let mut pruned = given;
        let dropped = schema.prune(&mut pruned);
        prop_assert_eq!(&decoded.object, &pruned);
        let mut found: Vec<String> = decoded.findings.iter().map(|finding| finding.path().to_owned()).collect();
        found.sort();
        prop_assert_eq!(found, dropped);
        let text = Value::Object(decoded.object.clone()).to_string();
        let again = pawl_schema::decode_json(shape, text.as_bytes()).unwrap();
        prop_assert_eq!(again.object, decoded.object);
        prop_assert!(again.findings.is_empty());
    }

    #[test]
    fn validation_agrees_with_the_plain_one(spec in schema(), value in value()) {
        let schema = compile(&root(&spec));
        let mut object = whole(&json!({"spec": value}));
        schema.default(&mut object);
        let outcome = judge(&schema, &object, None, true, None);
        let spec_value = object.get("spec");
        let is_right = spec_value.is_none_or(|value| {
            plain::fits(&spec, value, None) && plain::has_no_repeats(&spec, value, None)
        });
        prop_assert_eq!(outcome.errors.is_empty(), is_right, "{:?}", texts(&outcome.errors));
        // Without the gate, and on update without a change of anything, plain validation is what it is.
        let off = judge(&schema, &object, Some(&object), false, None);
        prop_assert_eq!(texts(&off.errors), texts(&outcome.errors));
        prop_assert!(judge(&schema, &object, Some(&object), true, None).errors.is_empty());
    }

    #[test]
    fn ratcheting_agrees_with_the_plain_one(spec in schema(), old in value(), other in value()) {
        let schema = compile(&root(&spec));
        let objects = [old.clone(), mixed(&old, &other), other];
        let [old, mix, new] = objects.map(|value| {
            let mut object = whole(&json!({"spec": value, "n": 1}));
            schema.default(&mut object);
            object
        });
        for new in [mix, new] {
            let long = judge(&schema, &new, Some(&old), true, None);
            let is_right = new.get("spec").is_none_or(|value| {
                let before = old.get("spec");
                let is_same = before.is_some_and(|before| plain::equal(value, before));
                is_same || (plain::fits(&spec, value, before) && plain::has_no_repeats(&spec, value, before))
            });
            prop_assert_eq!(long.errors.is_empty(), is_right, "{:?}", texts(&long.errors));
            // The short way, where the old object has a mark.
            let mark = judge(&schema, &old, None, true, None).mark;
            let short = judge(&schema, &new, Some(&old), true, mark.as_ref());
            prop_assert_eq!(texts(&short.errors), texts(&long.errors));
            prop_assert_eq!(short.warnings, long.warnings);
            prop_assert_eq!(short.mark.is_some(), long.mark.is_some());
        }
    }

    #[test]
    fn generated_schemas_are_structural(spec in schema()) {
        let props = Props::parse(&root(&spec));
        prop_assert_eq!(texts(&structural_errors(&props, &FieldPath::root()).unwrap()), Vec::<String>::new());
    }

    #[test]
    fn no_schema_and_no_object_make_it_panic(odd in value(), keywords in schema(), object in value()) {
        // Keywords in places where they make no sense, and values that are no schemas.
        let odd = json!({"type": "object", "properties": {"spec": merged(&[keywords, odd.clone()])}, "items": odd});
        let props = Props::parse(&odd);
        let _ = schema_errors(&props, &FieldPath::of("x"), &Checks::of_new(true));
        let compiled = compile(&odd);
        let mut object = whole(&json!({"spec": object}));
        compiled.prune(&mut object);
        compiled.default(&mut object);
        let _ = judge(&compiled, &object, Some(&object.clone()), true, None);
    }
}
