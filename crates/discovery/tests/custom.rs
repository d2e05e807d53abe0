//! A custom resource beside the built-in ones.

#![allow(clippy::restriction, reason = "a test may fail so")]

use std::sync::Arc;

use pawl_custom::{Definition, Family, Settings};
use pawl_discovery::{aggregated, legacy, openapi_v2, openapi_v3};
use pawl_kinds::Resource;
use serde_json::{Value, json};

/// Widgets whose size is of a type.
fn widgets(size: &str) -> Resource {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": size}}}}});
    let names = json!({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"});
    let definition = json!({
        "metadata": {"name": "widgets.shop.example.com"},
        "spec": {"group": "shop.example.com", "scope": "Namespaced", "names": names,
            "versions": [{"name": "v1beta1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]},
        "status": {"acceptedNames": names},
    });
    let family = Arc::new(Family::new(Definition::read(definition.as_object().unwrap()), None));
    let settings = Settings { ratcheting: true, embedded_metadata: |_, _, _| {} };
    pawl_custom::resources(&family, settings).remove(0)
}

fn with(widgets: &Resource) -> Vec<&Resource> {
    pawl_kinds::builtin().iter().chain([widgets]).collect()
}

const KEY: &str = "apis/shop.example.com/v1beta1";
const NAME: &str = "com.example.shop.v1beta1.Widget";

#[test]
fn it_is_discovered() {
    let widgets = widgets("integer");
    let table = with(&widgets);
    let list = serde_json::to_value(legacy::resource_list(&table, "shop.example.com", "v1beta1").unwrap()).unwrap();
    assert_eq!(list["resources"][0]["name"], "widgets");
    let document = serde_json::to_value(aggregated::document(&table, aggregated::Root::Groups)).unwrap();
    assert_eq!(document["items"].as_array().unwrap().last().unwrap()["metadata"]["name"], "shop.example.com");
}

#[test]
fn it_has_a_document() {
    let widgets = widgets("integer");
    let document: Value =
        serde_json::from_slice(&openapi_v3::document(pawl_kinds::kinds(), &with(&widgets), KEY).unwrap()).unwrap();
    let schema = &document["components"]["schemas"][NAME];
    assert_eq!(schema["properties"]["spec"]["properties"]["size"], json!({"type": "integer"}));
    let meta = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    assert_eq!(schema["properties"]["metadata"]["allOf"], json!([{"$ref": meta}]));
    let kind = json!({"group": "shop.example.com", "kind": "Widget", "version": "v1beta1"});
    assert_eq!(schema["x-kubernetes-group-version-kind"], json!([kind]));
    let list = &document["components"]["schemas"][format!("{NAME}List")];
    assert_eq!(list["properties"]["items"]["items"], json!({"$ref": format!("#/components/schemas/{NAME}")}));
    let path = "/apis/shop.example.com/v1beta1/namespaces/{namespace}/widgets/{name}";
    let patch = &document["paths"][path]["patch"];
    assert_eq!(patch["operationId"], "patchShopExampleComV1beta1NamespacedWidget");
    assert!(patch["requestBody"]["content"].get("application/strategic-merge-patch+json").is_none());
    assert!(openapi_v3::document(pawl_kinds::kinds(), &with(&widgets), "apis/shop.example.com").is_none());
    let swagger: Value = serde_json::from_slice(&openapi_v2::json(pawl_kinds::kinds(), &with(&widgets))).unwrap();
    assert!(swagger["definitions"].get(NAME).is_some());
}

#[test]
fn only_its_own_hash_changes_with_it() {
    let (before, after) = (widgets("integer"), widgets("string"));
    let hash = |widgets: &Resource, key: &str| openapi_v3::hash(pawl_kinds::kinds(), &with(widgets), key).unwrap();
    assert_eq!(hash(&before, KEY), hash(&before, KEY));
    assert_ne!(hash(&before, KEY), hash(&after, KEY));
    assert_eq!(hash(&before, "api/v1"), hash(&after, "api/v1"));
    let builtin: Vec<&Resource> = pawl_kinds::builtin().iter().collect();
    assert_eq!(openapi_v3::hash(pawl_kinds::kinds(), &builtin, "api/v1").unwrap(), hash(&before, "api/v1"));
}
