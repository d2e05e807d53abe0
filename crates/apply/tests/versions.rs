//! Managers that write in different versions of a kind, and through `/scale`.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod schemas;

use pawl_apply::scale::{self, Replicas};
use pawl_apply::{FieldSet, Shape, Typed, Versions, Writer, apply, track_update};
use pawl_meta::object::Object;
use schemas::Kinds;
use serde_json::{Value, json};

const NOTHING: FieldSet<'static> = FieldSet::new();

/// `v1` calls `spec.alpha` `spec.a`; `v3` is `v2` by another name; `v0` is no longer served.
struct Renamed<'k> {
    v1: Typed<'k>,
    v2: Typed<'k>,
    seen_from: &'static str,
}

impl Versions for Renamed<'_> {
    fn shape(&self, api_version: &str) -> Shape<'_> {
        match (self.seen_from, api_version) {
            (_, "v0") => Shape::Gone,
            ("v1", "v1") | ("v2", "v2" | "v3") => Shape::Same,
            (_, "v1") => Shape::Other(self.v1),
            _ => Shape::Other(self.v2),
        }
    }

    fn convert(&self, object: &Object, api_version: &str) -> Option<Object> {
        let mut object = object.clone();
        object["apiVersion"] = Value::from(api_version);
        let (from, to) = if api_version == "v1" { ("alpha", "a") } else { ("a", "alpha") };
        if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
            && let Some(value) = spec.remove(from)
        {
            spec.insert(to.to_owned(), value);
        }
        Some(object)
    }
}

fn object(value: Value) -> Object {
    value.as_object().unwrap().clone()
}

fn widget(api_version: &str, spec: Value) -> Object {
    object(json!({"apiVersion": api_version, "kind": "Widget", "metadata": {"name": "w"}, "spec": spec}))
}

fn writer<'a>(manager: &'a str, api_version: &'a str) -> Writer<'a> {
    Writer { manager, api_version, subresource: "", time: "2026-01-01T00:00:00Z" }
}

fn owners(object: &Object) -> Vec<(String, String, Value)> {
    let entries = object["metadata"].get("managedFields").and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap().to_owned();
    entries.iter().map(|e| (text(e, "manager"), text(e, "apiVersion"), e["fieldsV1"].clone())).collect()
}

#[test]
fn fields_are_compared_in_the_version_they_are_owned_in() {
    let (one, two) = (Kinds::new(), Kinds::with(&[("type WidgetSpec\n  a ", "type WidgetSpec\n  alpha ")]));
    let of = |seen_from| Renamed { v1: one.of("Widget"), v2: two.of("Widget"), seen_from };
    let (from_v1, from_v2) = (of("v1"), of("v2"));
    let (v1, v2) = (one.of("Widget").with_versions(&from_v1), two.of("Widget").with_versions(&from_v2));

    let live = apply(&v1, None, widget("v1", json!({"a": "1", "n": 1})), &writer("m1", "v1"), false, &NOTHING).unwrap();
    let live = from_v1.convert(&live.object, "v2").unwrap();
    let refused = apply(&v2, Some(&live), widget("v2", json!({"alpha": "2"})), &writer("m2", "v2"), false, &NOTHING);
    assert_eq!(refused.unwrap_err().to_string(), "Apply failed with 1 conflict: conflict with \"m1\": .spec.a");

    let mut updated = live.clone();
    updated["spec"]["alpha"] = json!("2");
    track_update(&v2, Some(&live), &mut updated, &writer("upd", "v2"), &NOTHING).unwrap();
    assert_eq!(
        owners(&updated),
        [
            ("m1".to_owned(), "v1".to_owned(), json!({"f:spec": {"f:n": {}}})),
            ("upd".to_owned(), "v2".to_owned(), json!({"f:spec": {"f:alpha": {}}})),
        ]
    );

    // An applier that moves to another version gives up in the one what it left out in the other.
    let moved = apply(&v2, Some(&live), widget("v2", json!({"n": 1})), &writer("m1", "v2"), false, &NOTHING).unwrap();
    assert_eq!(moved.object["spec"], json!({"n": 1}));
    assert_eq!(owners(&moved.object), [("m1".to_owned(), "v2".to_owned(), json!({"f:spec": {"f:n": {}}}))]);
    let kept =
        apply(&v2, Some(&live), widget("v2", json!({"alpha": "1"})), &writer("m1", "v3"), false, &NOTHING).unwrap();
    assert_eq!(kept.object["spec"], json!({"alpha": "1"}));
}

#[test]
fn what_is_owned_in_versions_that_are_gone_is_forgotten() {
    let kinds = Kinds::new();
    let versions = Renamed { v1: kinds.of("Widget"), v2: kinds.of("Widget"), seen_from: "v1" };
    let typed = kinds.of("Widget").with_versions(&versions);
    let mut live = widget("v1", json!({"a": "1", "n": 1}));
    let entry = |version: &str, fields: Value| json!({"manager": version, "operation": "Apply", "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": fields});
    live["metadata"]["managedFields"] =
        json!([entry("v0", json!({"f:spec": {"f:a": {}}})), entry("v1", json!({"f:spec": {"f:n": {}}}))]);
    for change in [json!({"a": "1", "n": 1}), json!({"a": "2", "n": 1})] {
        let mut new = live.clone();
        new["spec"] = change;
        track_update(&typed, Some(&live), &mut new, &writer("v1", "v1"), &NOTHING).unwrap();
        assert!(owners(&new).iter().all(|(manager, _, _)| manager != "v0"));
    }
}

#[test]
fn replicas_are_owned_through_the_scale() {
    let replicas = |version: &str| match version {
        "apps/v1" => Replicas::At(&["spec", "replicas"]),
        _ => Replicas::Gone,
    };
    let entry = |manager: &str, version: &str, subresource: &str, fields: Value| {
        let mut entry = json!({"manager": manager, "operation": "Update", "apiVersion": version,
            "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields});
        if !subresource.is_empty() {
            entry["subresource"] = json!(subresource);
        }
        entry
    };
    let both = json!({"f:spec": {"f:replicas": {}, "f:selector": {}}});
    let one = json!({"f:spec": {"f:replicas": {}}});
    let parent = json!([entry("golden", "apps/v1", "", both), entry("old", "apps/v1beta1", "", one.clone())]);
    let shown = scale::to_scale(Some(&parent), replicas).unwrap();
    assert_eq!(shown, Some(json!([entry("golden", "autoscaling/v1", "", one.clone())])));

    // Unchanged, it stays as it was.
    let back = scale::to_parent(Some(&parent), shown.as_ref(), "apps/v1", replicas).unwrap().unwrap();
    assert_eq!(back, json!([parent[0]]));

    let scaled = json!([entry("hpa", "autoscaling/v1", "scale", one.clone())]);
    let back = scale::to_parent(Some(&parent), Some(&scaled), "apps/v1", replicas).unwrap().unwrap();
    let mut hpa = entry("hpa", "apps/v1", "scale", one);
    hpa.as_object_mut().unwrap().remove("time");
    assert_eq!(back, json!([hpa, entry("golden", "apps/v1", "", json!({"f:spec": {"f:selector": {}}}))]));
}
