//! A custom resource beside the built-in ones.

#![allow(clippy::restriction, reason = "a test may fail so")]

use pawl_discovery::{aggregated, legacy, openapi_v2, openapi_v3};
use pawl_kinds::{Facts, Resource};
use pawl_schema::{Field, Node, NodeKind, Object, Scalar, SchemaBuilder};
use serde_json::{Value, json};

fn widgets(size: Scalar) -> Resource {
    let mut builder = SchemaBuilder::new();
    let size = builder.add(Node::new(NodeKind::Scalar(size), "size"));
    let spec = builder.add(Node::new(NodeKind::Object(Object::new("", vec![Field::new("size", size)])), "spec"));
    let root = builder.add(Node::new(NodeKind::Object(Object::new("", vec![Field::new("spec", spec)])), "widget"));
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    Resource {
        facts: Facts {
            group: "shop.example.com".into(),
            version: "v1beta1".into(),
            kind: "Widget".into(),
            plural: "widgets".into(),
            singular: "widget".into(),
            namespaced: true,
            verbs: words("delete deletecollection get list patch create update watch"),
            ..Facts::default()
        },
        object_type: builder.build_type(root).unwrap(),
        behaviour: std::sync::Arc::clone(&pawl_kinds::builtin()[0].behaviour),
    }
}

fn with(widgets: &Resource) -> Vec<&Resource> {
    pawl_kinds::builtin().iter().chain([widgets]).collect()
}

const KEY: &str = "apis/shop.example.com/v1beta1";
const NAME: &str = "com.example.shop.v1beta1.Widget";

#[test]
fn it_is_discovered() {
    let widgets = widgets(Scalar::Int64);
    let table = with(&widgets);
    let list = serde_json::to_value(legacy::resource_list(&table, "shop.example.com", "v1beta1").unwrap()).unwrap();
    assert_eq!(list["resources"][0]["name"], "widgets");
    let document = serde_json::to_value(aggregated::document(&table, aggregated::Root::Groups)).unwrap();
    assert_eq!(document["items"].as_array().unwrap().last().unwrap()["metadata"]["name"], "shop.example.com");
}

#[test]
fn it_has_a_document() {
    let widgets = widgets(Scalar::Int64);
    let document: Value =
        serde_json::from_slice(&openapi_v3::document(pawl_kinds::kinds(), &with(&widgets), KEY).unwrap()).unwrap();
    let schema = &document["components"]["schemas"][NAME];
    assert_eq!(schema["properties"]["spec"]["properties"]["size"], json!({"type": "integer", "format": "int64"}));
    let meta = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    assert_eq!(schema["properties"]["metadata"], json!({"$ref": meta}));
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
    let (before, after) = (widgets(Scalar::Int64), widgets(Scalar::String));
    let hash = |widgets: &Resource, key: &str| openapi_v3::hash(pawl_kinds::kinds(), &with(widgets), key).unwrap();
    assert_eq!(hash(&before, KEY), hash(&before, KEY));
    assert_ne!(hash(&before, KEY), hash(&after, KEY));
    assert_eq!(hash(&before, "api/v1"), hash(&after, "api/v1"));
    let builtin: Vec<&Resource> = pawl_kinds::builtin().iter().collect();
    assert_eq!(openapi_v3::hash(pawl_kinds::kinds(), &builtin, "api/v1").unwrap(), hash(&before, "api/v1"));
}
