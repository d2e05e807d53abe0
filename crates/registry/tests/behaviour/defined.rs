//! A kind that nobody built in, put into the table of a running registry: what it does comes from its own behaviour, and
//! everything else is the way of all kinds.

use std::sync::Arc;

use pawl_kinds::print::Column;
use pawl_kinds::{
    Behaviour, Columns, Findings, Forms, Generation, MetadataCheck, MetadataPass, Prepare, Resource, ResourceFacts,
    ScalePaths, Subresource, Write,
};
use pawl_meta::FieldPath;
use pawl_meta::object::Object;
use pawl_registry::{FieldValidation, ScaleChange, Sent, Served};
use pawl_schema::{Field, Node, NodeKind, Object as Shape, Scalar, SchemaBuilder, Type};
use serde_json::{Value, json};

use crate::stage::{Stage, context};

/// Boats: at most 10 of crew, two without a word.
#[derive(Debug)]
struct Boats {
    object_type: Type,
    columns: Vec<Column>,
}

impl Behaviour for Boats {
    fn object_type(&self) -> &Type {
        &self.object_type
    }

    fn set_defaults(&self, object: &mut Object) -> Result<(), String> {
        if let Some(Value::Object(spec)) = object.get_mut("spec") {
            spec.entry("crew").or_insert(json!(2));
        }
        Ok(())
    }

    fn prepare(&self, _write: Write<'_>, _object: &mut Object, _by: &Prepare) {}

    fn validate(&self, write: Write<'_>, object: &Object, metadata: MetadataCheck<'_>, found: &mut Findings) {
        let errors = &mut found.errors;
        metadata(if write.old.is_some() { MetadataPass::Update } else { MetadataPass::Meta }, errors);
        let crew = pawl_meta::object::at(object, "spec.crew").and_then(Value::as_i64).unwrap_or_default();
        if crew > 10 {
            errors.invalid(&FieldPath::of("spec").child("crew"), crew, "must be less than or equal to 10");
        }
    }

    fn warnings(&self, _write: Write<'_>, _object: &Object) -> Vec<String> {
        vec!["a boat".to_owned()]
    }

    fn columns(&self) -> &dyn Columns {
        self
    }

    fn forms(&self) -> Option<&dyn Forms> {
        None
    }
}

impl Columns for Boats {
    fn definitions(&self) -> &[Column] {
        &self.columns
    }

    fn row(&self, object: &Value, _now_unix: i64) -> Vec<Value> {
        vec![object["metadata"]["name"].clone()]
    }
}

fn boats() -> Resource {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let sub = |name: &str| Subresource { name: name.into(), kind: "Boat".into(), ..Subresource::default() };
    let facts = ResourceFacts {
        group: "sea.example.com".into(),
        version: "v1".into(),
        kind: "Boat".into(),
        plural: "boats".into(),
        singular: "boat".into(),
        namespaced: true,
        verbs: words("create delete get list patch update watch"),
        key: "sea.example.com/boats".into(),
        unconditional: true,
        generation: Generation::AllBut(words("status")),
        status: words("status"),
        stored_as_json: true,
        plain_finalizers: true,
        scale: ScalePaths {
            spec_replicas: "spec.crew".into(),
            status_replicas: "status.aboard".into(),
            selector: Some("status.selector".into()),
        },
        sub: vec![sub("status"), sub("scale")],
        ..ResourceFacts::default()
    };
    let behaviour = Boats {
        object_type: boat(),
        columns: vec![Column { name: "Name".into(), kind: "string".into(), ..Column::default() }],
    };
    Resource { facts, behaviour: Arc::new(behaviour) }
}

/// `{apiVersion, kind, metadata: any, spec: {crew, flags: set}, status: {aboard, selector}}`
fn boat() -> Type {
    let mut builder = SchemaBuilder::new();
    let number = builder.add(Node::new(NodeKind::Scalar(Scalar::Int64), "int64"));
    let text = builder.add(Node::new(NodeKind::Scalar(Scalar::String), "string"));
    let metadata = builder.add(Node::new(NodeKind::Any, "metadata"));
    let mut flags = Node::new(NodeKind::List(text), "[]string");
    flags.list = pawl_schema::ListType::Set;
    let flags = builder.add(flags);
    let mut object = |fields: Vec<Field>| builder.add(Node::new(NodeKind::Object(Shape::new("", fields)), "boat"));
    let spec = object(vec![Field::new("crew", number), Field::new("flags", flags)]);
    let status = object(vec![Field::new("aboard", number), Field::new("selector", text)]);
    let root = object(vec![
        Field::new("apiVersion", text),
        Field::new("kind", text),
        Field::new("metadata", metadata),
        Field::new("spec", spec),
        Field::new("status", status),
    ]);
    builder.build_type(root).unwrap()
}

async fn with_boats() -> (Stage, Arc<Served>) {
    let stage = Stage::open().await;
    let mut table = (*stage.registry.table()).clone();
    table.add(boats(), stage.registry.storage().applied());
    stage.registry.set_table(table);
    let served = stage.served("sea.example.com", "v1", "boats");
    (stage, served)
}

fn new(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "sea.example.com/v1", "kind": "Boat", "metadata": {"name": name}, "spec": spec,
        "status": {"aboard": 99}})
}

#[tokio::test]
async fn it_goes_the_way_of_all_kinds() {
    let (stage, boats) = with_boats().await;
    let cx = context();
    let made = stage.create_as(&cx, &boats, new("a", json!({"flags": ["x"]}))).await.unwrap();
    assert_eq!((&made["spec"]["crew"], &made["metadata"]["generation"]), (&json!(2), &json!(1)));
    assert_eq!(made.get("status"), None, "the status is not the client's to give");
    assert_eq!(cx.take_warnings(), ["a boat"]);
    assert_eq!(made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:flags"], json!({".": {}, "v:\"x\"": {}}));
    let status =
        stage.merge(&boats, "a", "status", json!({"spec": {"crew": 9}, "status": {"aboard": 1}})).await.unwrap();
    assert_eq!((&status["spec"]["crew"], &status["status"]["aboard"]), (&json!(2), &json!(1)));
    assert_eq!(status["metadata"]["generation"], 1);
    let changed = stage.merge(&boats, "a", "", json!({"spec": {"crew": 3}})).await.unwrap();
    assert_eq!((&changed["metadata"]["generation"], &changed["status"]["aboard"]), (&json!(2), &json!(1)));
    stage.delete(&boats, "a").await.unwrap();
    assert_eq!(stage.names(&boats), [""; 0]);
}

#[tokio::test]
async fn its_own_checks_and_the_common_ones_refuse() {
    let (stage, boats) = with_boats().await;
    let wrong = stage.create(&boats, new("a", json!({"crew": 11}))).await.unwrap_err();
    assert_eq!(
        wrong.message,
        "Boat.sea.example.com \"a\" is invalid: spec.crew: Invalid value: 11: must be less than or equal to 10"
    );
    let wrong = stage.create(&boats, new("a/b", json!({}))).await.unwrap_err();
    assert!(wrong.message.contains("metadata.name: Invalid value: \"a/b\""), "{}", wrong.message);
    let wrong = stage.create(&boats, new("a", json!({"sails": 1}))).await.unwrap_err();
    assert!(wrong.message.contains("unknown field \"spec.sails\""), "{}", wrong.message);
}

#[tokio::test]
async fn it_is_scaled_where_it_says() {
    let (stage, boats) = with_boats().await;
    stage.create(&boats, new("a", json!({}))).await.unwrap();
    stage.merge(&boats, "a", "status", json!({"status": {"aboard": 1, "selector": "a=b"}})).await.unwrap();
    let scale =
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 5}});
    let body = scale.to_string();
    let validation = FieldValidation::Strict;
    let change = ScaleChange::Replace(Sent::json(body.as_bytes(), validation));
    let scaled = stage.registry.update_scale(&context(), &boats, "n", "a", change).await.unwrap();
    assert_eq!(
        (&scaled["spec"], &scaled["status"]),
        (&json!({"replicas": 5}), &json!({"replicas": 1, "selector": "a=b"}))
    );
    assert_eq!(stage.get(&boats, "a").await.unwrap()["spec"]["crew"], 5);
}

#[tokio::test]
async fn it_has_no_messages_and_goes_as_it_came() {
    let (stage, boats) = with_boats().await;
    stage.create(&boats, new("a", json!({}))).await.unwrap();
    let entry = stage.registry.get(&boats, "n", "a", None).await.unwrap();
    assert!(boats.message_of(&entry, entry.readable().unwrap(), true).is_err());
    let row = boats.resource.behaviour.columns().row(&json!({"metadata": {"name": "a"}}), 0);
    assert_eq!(row, [json!("a")]);
    let mut table = (*stage.registry.table()).clone();
    assert!(table.remove("sea.example.com", "v1", "boats").is_some());
    stage.registry.set_table(table);
    assert!(!stage.registry.table().has_group("sea.example.com"));
    assert!(stage.registry.table().find("", "v1", "pods").is_some());
}
