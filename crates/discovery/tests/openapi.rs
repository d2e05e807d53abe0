//! The OpenAPI documents of the built-in table, looked at as a client would.

#![allow(clippy::restriction, reason = "a test may fail so")]

use std::collections::{BTreeMap, BTreeSet};

use pawl_discovery::{openapi_v2, openapi_v3};
use pawl_kinds::Resource;
use serde_json::{Value, json};

/// What is served where nothing is said of gates, as upstream.
fn table() -> Vec<&'static Resource> {
    pawl_kinds::builtin().iter().filter(|resource| resource.facts.gate.is_none()).collect()
}

fn keys() -> Vec<String> {
    let index = serde_json::to_value(openapi_v3::index(pawl_kinds::kinds(), &table())).unwrap();
    index["paths"].as_object().unwrap().keys().cloned().collect()
}

fn v3(key: &str) -> Value {
    serde_json::from_slice(&openapi_v3::document(pawl_kinds::kinds(), &table(), key).unwrap()).unwrap()
}

fn v2() -> Value {
    serde_json::from_slice(&openapi_v2::json(pawl_kinds::kinds(), &table())).unwrap()
}

/// Calls `visit` with every object in a document.
fn walk<'v>(value: &'v Value, visit: &mut impl FnMut(&'v serde_json::Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            visit(members);
            members.values().for_each(|v| walk(v, visit));
        }
        Value::Array(items) => items.iter().for_each(|v| walk(v, visit)),
        _ => {}
    }
}

fn unresolved(document: &Value) -> BTreeSet<&str> {
    let mut missing = BTreeSet::new();
    walk(document, &mut |object| {
        if let Some(Value::String(reference)) = object.get("$ref")
            && document.pointer(reference.trim_start_matches('#')).is_none()
        {
            missing.insert(reference.as_str());
        }
    });
    missing
}

/// Path, method and operation.
fn operations(document: &Value) -> Vec<(&str, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    let items = paths.iter().flat_map(|(path, item)| {
        item.as_object().unwrap().iter().map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    });
    items.filter(|(_, method, _)| *method != "parameters").collect()
}

fn names(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn the_index_names_every_document() {
    let expected = ".well-known/openid-configuration api api/v1 apis apis/admissionregistration.k8s.io \
        apis/admissionregistration.k8s.io/v1 apis/apiextensions.k8s.io apis/apiextensions.k8s.io/v1 \
        apis/apiregistration.k8s.io apis/apiregistration.k8s.io/v1 apis/apps apis/apps/v1 apis/authentication.k8s.io \
        apis/authentication.k8s.io/v1 apis/authorization.k8s.io apis/authorization.k8s.io/v1 apis/autoscaling \
        apis/autoscaling/v1 apis/autoscaling/v2 apis/batch apis/batch/v1 apis/certificates.k8s.io \
        apis/certificates.k8s.io/v1 apis/coordination.k8s.io apis/coordination.k8s.io/v1 apis/discovery.k8s.io \
        apis/discovery.k8s.io/v1 apis/events.k8s.io apis/events.k8s.io/v1 apis/flowcontrol.apiserver.k8s.io \
        apis/flowcontrol.apiserver.k8s.io/v1 apis/networking.k8s.io apis/networking.k8s.io/v1 apis/node.k8s.io \
        apis/node.k8s.io/v1 apis/policy apis/policy/v1 apis/rbac.authorization.k8s.io \
        apis/rbac.authorization.k8s.io/v1 apis/resource.k8s.io apis/resource.k8s.io/v1 apis/scheduling.k8s.io \
        apis/scheduling.k8s.io/v1 apis/storage.k8s.io apis/storage.k8s.io/v1 openid/v1/jwks version";
    assert_eq!(keys(), expected.split_whitespace().collect::<Vec<_>>());
    let index = serde_json::to_value(openapi_v3::index(pawl_kinds::kinds(), &table())).unwrap();
    let hash = openapi_v3::hash(pawl_kinds::kinds(), &table(), "api/v1").unwrap();
    assert_eq!(index["paths"]["api/v1"], json!({"serverRelativeURL": format!("/openapi/v3/api/v1?hash={hash}")}));
    assert!(openapi_v3::document(pawl_kinds::kinds(), &table(), "apis/nope/v1").is_none());
    assert!(openapi_v3::hash(pawl_kinds::kinds(), &table(), "apis/nope/v1").is_none());
}

#[test]
fn every_document_is_whole() {
    let mut identifiers = BTreeSet::new();
    let mut actions = 0;
    for key in keys() {
        let document = v3(&key);
        assert_eq!(document["openapi"], "3.0.0");
        assert_eq!(document["info"], json!({"title": "Kubernetes", "version": "1.36"}));
        assert_eq!(unresolved(&document), BTreeSet::new(), "{key}");
        for (path, method, operation) in operations(&document) {
            let id = operation["operationId"].as_str().unwrap().to_owned();
            assert!(identifiers.insert(id), "{method} {path}");
            actions += usize::from(operation.get("x-kubernetes-action").is_some());
        }
    }
    assert_eq!(actions, 767);
}

#[test]
fn a_small_document_is_as_upstreams() {
    let document = v3("apis/coordination.k8s.io/v1");
    let root = "/apis/coordination.k8s.io/v1";
    let paths = [
        "",
        "leases",
        "namespaces/{namespace}/leases",
        "namespaces/{namespace}/leases/{name}",
        "watch/leases",
        "watch/namespaces/{namespace}/leases",
        "watch/namespaces/{namespace}/leases/{name}",
    ];
    assert_eq!(names(&document["paths"]), paths.map(|p| format!("{root}/{p}")));
    let meta = "APIResource APIResourceList DeleteOptions FieldsV1 ListMeta ManagedFieldsEntry MicroTime ObjectMeta \
        OwnerReference Patch Preconditions ShardInfo Status StatusCause StatusDetails Time WatchEvent";
    let mut schemas: Vec<String> =
        ["Lease", "LeaseList", "LeaseSpec"].iter().map(|n| format!("io.k8s.api.coordination.v1.{n}")).collect();
    schemas.extend(meta.split_whitespace().map(|n| format!("io.k8s.apimachinery.pkg.apis.meta.v1.{n}")));
    schemas.push("io.k8s.apimachinery.pkg.runtime.RawExtension".to_owned());
    assert_eq!(names(&document["components"]["schemas"]), schemas);

    let patch = &document["paths"][format!("{root}/namespaces/{{namespace}}/leases/{{name}}")]["patch"];
    assert_eq!(patch["operationId"], "patchCoordinationV1NamespacedLease");
    assert_eq!(patch["tags"], json!(["coordination_v1"]));
    let kind = json!({"group": "coordination.k8s.io", "kind": "Lease", "version": "v1"});
    assert_eq!(patch["x-kubernetes-group-version-kind"], kind);
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["io.k8s.api.coordination.v1.Lease"]["x-kubernetes-group-version-kind"], json!([kind]));
}

#[test]
fn every_patch_takes_field_validation() {
    let mut patched = BTreeSet::new();
    for key in keys() {
        let document = v3(&key);
        for (path, _, operation) in operations(&document).into_iter().filter(|o| o.2["x-kubernetes-action"] == "patch")
        {
            let has = |name: &str| operation["parameters"].as_array().unwrap().iter().any(|p| p["name"] == name);
            assert!(["dryRun", "fieldManager", "fieldValidation", "force"].iter().all(|p| has(p)), "{path}");
            patched.insert(operation["x-kubernetes-group-version-kind"].to_string());
        }
    }
    for resource in table().iter().filter(|r| r.facts.verbs.iter().any(|v| v == "patch")) {
        let facts = &resource.facts;
        let kind = json!({"group": facts.group, "kind": facts.kind, "version": facts.version});
        assert!(patched.contains(&kind.to_string()), "{kind}");
    }
}

#[test]
fn properties_say_what_go_says() {
    let document = v3("api/v1");
    let schemas = &document["components"]["schemas"];
    let bare = |name: &str, field: &str| {
        let mut property = schemas[format!("io.k8s.{name}")]["properties"][field].clone();
        property.as_object_mut().unwrap().remove("description");
        property
    };
    let reference = |name: &str| json!([{"$ref": format!("#/components/schemas/io.k8s.{name}")}]);
    let atomic =
        json!({"type": "array", "items": {"type": "string", "default": ""}, "x-kubernetes-list-type": "atomic"});
    assert_eq!(bare("api.core.v1.Container", "args"), atomic);
    assert_eq!(bare("api.core.v1.Container", "name"), json!({"type": "string", "default": ""}));
    assert_eq!(
        bare("api.core.v1.PodSpec", "containers"),
        json!({"type": "array", "items": {"allOf": reference("api.core.v1.Container"), "default": {}},
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"})
    );
    assert_eq!(
        bare("api.core.v1.ContainerPort", "protocol"),
        json!({"type": "string", "default": "TCP", "enum": ["SCTP", "TCP", "UDP"]})
    );
    assert_eq!(
        bare("api.core.v1.Pod", "metadata"),
        json!({"allOf": reference("apimachinery.pkg.apis.meta.v1.ObjectMeta"), "default": {}})
    );
    assert_eq!(
        bare("api.core.v1.PodSpec", "nodeSelector"),
        json!({"type": "object", "additionalProperties": {"type": "string", "default": ""},
            "x-kubernetes-map-type": "atomic"})
    );
    assert_eq!(
        bare("api.core.v1.PersistentVolumeSpec", "claimRef"),
        json!({"allOf": reference("api.core.v1.ObjectReference"), "x-kubernetes-map-type": "granular"})
    );
    assert_eq!(bare("api.core.v1.Secret", "data")["additionalProperties"], json!({"type": "string", "format": "byte"}));
    let items = bare("api.core.v1.PodList", "items");
    assert!(items.get("x-kubernetes-list-type").is_none());
    let quantity = &schemas["io.k8s.apimachinery.pkg.api.resource.Quantity"]["oneOf"];
    assert_eq!(*quantity, json!([{"type": "string"}, {"type": "number"}]));
    let selector = &schemas["io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"];
    assert_eq!(selector["x-kubernetes-map-type"], "atomic");
    assert_eq!(schemas["io.k8s.api.core.v1.PodSpec"]["required"], json!(["containers"]));
}

#[test]
fn liens_are_in_every_schema() {
    let liens = json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set",
        "x-kubernetes-patch-strategy": "merge"});
    let document = v2();
    let meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
    let mut property = document["definitions"][format!("{meta}.ObjectMeta")]["properties"]["liens"].clone();
    let description = property.as_object_mut().unwrap().remove("description").unwrap();
    assert!(description.as_str().unwrap().starts_with("Liens names who relies on this object."));
    assert_eq!(property, liens);
    assert_eq!(
        document["definitions"][format!("{meta}.DeleteOptions")]["properties"]["ignoreLiens"]["type"],
        "boolean"
    );
}

#[test]
fn kinds_and_fields_are_described() {
    let document = v2();
    let mut undescribed = BTreeMap::new();
    for resource in table() {
        let name = pawl_kinds::openapi_name(&resource.facts.type_name).unwrap();
        let definition = &document["definitions"][name];
        assert!(definition["description"].is_string(), "{name}");
        for (field, property) in definition["properties"].as_object().unwrap() {
            if !property["description"].is_string() {
                undescribed.insert(format!("{name}.{field}"), property.clone());
            }
        }
    }
    assert!(undescribed.len() < 5, "{undescribed:#?}");
}

#[test]
fn swagger_is_whole() {
    let document = v2();
    assert_eq!(unresolved(&document), BTreeSet::new());
    assert_eq!(document["swagger"], "2.0");
    let expected = ["definitions", "info", "parameters", "paths", "security", "securityDefinitions", "swagger"];
    assert_eq!(names(&document), expected);
    assert!(names(&document["definitions"]).iter().all(|name| !name.contains('/')));
    let with_action = operations(&document).iter().filter(|o| o.2.get("x-kubernetes-action").is_some()).count();
    assert_eq!(with_action, 767);
    assert!(names(&document["definitions"]).len() >= 584);
    let mut defaults = 0;
    walk(&document["definitions"], &mut |object| {
        defaults += usize::from(object.get("$ref").is_some_and(Value::is_string) && object.contains_key("default"));
    });
    assert_eq!(defaults, 0);
}

/// Every list type, map key and patch strategy of the facts is published.
#[test]
fn merging_is_published_for_every_type() {
    use pawl_schema::{ListType, ObjectRef, TypeKind};
    let document = v2();
    let schema = pawl_kinds::schema();
    let mut lists = 0;
    for (type_name, of) in schema.types() {
        let Some(definition) = pawl_kinds::openapi_name(type_name).and_then(|n| document["definitions"].get(n)) else {
            continue;
        };
        for field in of.object().into_iter().flat_map(ObjectRef::fields) {
            let (kind, node) = (field.of().kind(), field.of().node());
            let property = &definition["properties"][&*field.name];
            assert!(property.is_object(), "{type_name}.{}", field.name);
            if let (TypeKind::List(_), ListType::Map(keys)) = (kind, &node.list) {
                assert_eq!(property["x-kubernetes-list-type"], "map");
                assert_eq!(property["x-kubernetes-list-map-keys"], json!(keys));
                lists += 1;
            }
            if let (TypeKind::List(_), ListType::Set) = (kind, &node.list) {
                assert_eq!(property["x-kubernetes-list-type"], "set");
                lists += 1;
            }
            assert_eq!(property.get("x-kubernetes-patch-merge-key").is_some(), node.patch.merge_key.is_some());
            assert_eq!(
                property["x-kubernetes-patch-strategy"].as_str().is_some_and(|s| s.contains("merge")),
                node.patch.merge
            );
        }
    }
    assert!(lists > 70, "{lists}");
}
