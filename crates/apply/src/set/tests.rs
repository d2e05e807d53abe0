use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::FieldSet;
use crate::path::Element;

fn element() -> impl Strategy<Value = Element<'static>> {
    let scalar = prop_oneof![
        "[a-c<\"]{0,2}".prop_map(Value::from),
        (0..3i64).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(json!(0.5)),
    ];
    prop_oneof![
        4 => "[a-d.:]{0,2}".prop_map(Element::field),
        2 => prop::collection::btree_map("[a-b]", scalar.clone(), 1..3)
            .prop_map(|keys| Element::key(keys.into_iter().map(|(n, v)| (Cow::Owned(n), Cow::Owned(v))).collect())),
        1 => scalar.prop_map(|v| Element::Value(Cow::Owned(v))),
        1 => (0..3i64).prop_map(Element::Index),
    ]
}

pub(crate) fn sets() -> impl Strategy<Value = FieldSet<'static>> {
    prop::collection::vec(prop::collection::vec(element(), 1..4), 0..12).prop_map(|paths| {
        let mut set = FieldSet::new();
        for path in paths {
            set.insert(path);
        }
        set
    })
}

fn members(set: &FieldSet<'static>) -> Vec<Vec<Element<'static>>> {
    let mut out = Vec::new();
    set.for_each(&mut |path| out.push(path.iter().map(|e| (*e).clone()).collect()));
    out
}

proptest! {
    #[test]
    fn union_holds_what_either_holds(a in sets(), b in sets()) {
        let union = a.union(&b);
        prop_assert_eq!(&union, &b.union(&a));
        prop_assert!(a.is_subset(&union) && b.is_subset(&union));
        prop_assert_eq!(union.len(), a.len() + b.len() - a.intersection(&b).len());
        for path in members(&union) {
            prop_assert!(a.contains(&path) || b.contains(&path));
        }
    }

    #[test]
    fn union_is_associative(a in sets(), b in sets(), c in sets()) {
        prop_assert_eq!(a.union(&b).union(&c), a.union(&b.union(&c)));
    }

    #[test]
    fn intersection_holds_what_both_hold(a in sets(), b in sets()) {
        let both = a.intersection(&b);
        prop_assert_eq!(&both, &b.intersection(&a));
        prop_assert_eq!(!both.is_empty(), a.intersects(&b));
        for path in members(&a) {
            prop_assert_eq!(both.contains(&path), b.contains(&path));
        }
    }

    #[test]
    fn difference_and_intersection_part_a_set(a in sets(), b in sets()) {
        let rest = a.difference(&b);
        prop_assert!(!rest.intersects(&b));
        prop_assert_eq!(rest.union(&a.intersection(&b)), a.clone());
        prop_assert_eq!(a.is_subset(&b), rest.is_empty());
    }

    #[test]
    fn recursive_difference_takes_what_is_below_too(a in sets(), b in sets()) {
        let rest = a.recursive_difference(&b);
        for path in members(&a) {
            let covered = (1..=path.len()).any(|n| b.contains(&path[..n]));
            prop_assert_eq!(rest.contains(&path), !covered);
        }
    }

    #[test]
    fn leaves_have_nothing_below(a in sets()) {
        let leaves = a.leaves();
        prop_assert!(leaves.is_subset(&a));
        prop_assert_eq!(leaves.leaves(), leaves.clone());
        for path in members(&a) {
            let above = members(&a).iter().any(|p| p.len() > path.len() && p[..path.len()] == path[..]);
            prop_assert_eq!(leaves.contains(&path), !above);
        }
    }

    #[test]
    fn fields_v1_is_read_as_it_was_written(a in sets()) {
        let value = a.to_fields_v1();
        let text = a.to_fields_v1_text();
        prop_assert_eq!(&FieldSet::from_fields_v1(&value).unwrap(), &a);
        prop_assert_eq!(&FieldSet::from_fields_v1_text(&text).unwrap(), &a);
        prop_assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), &value);
    }

    #[test]
    fn reading_any_json_never_panics(text in "[\\{\\}\\[\\]\":,.fkvi01a\\\\ ]{0,40}") {
        let _ = FieldSet::from_fields_v1_text(&text);
    }
}

#[test]
fn fields_v1_has_upstreams_form() {
    let value =
        json!({"f:data": {".": {}, "f:a": {}}, "f:spec": {"f:ports": {"k:{\"port\":80}": {".": {}, "f:port": {}}}}});
    let set = FieldSet::from_fields_v1(&value).unwrap();
    assert_eq!(set.paths(), [".data", ".data.a", ".spec.ports[port=80]", ".spec.ports[port=80].port"]);
    assert_eq!(set.to_fields_v1(), value);
    assert_eq!(set.to_fields_v1_text(), value.to_string());
}

#[test]
fn keys_of_later_versions_are_dropped_and_broken_ones_refused() {
    let set = json!({"x:later": {}, "f:a": {}});
    assert_eq!(FieldSet::from_fields_v1(&set).unwrap().paths(), [".a"]);
    assert_eq!(
        FieldSet::from_fields_v1(&json!({"data": {}})).unwrap_err(),
        "parsing key as path element: missing colon: data"
    );
    assert!(FieldSet::from_fields_v1(&json!([])).is_err());
}
