//! Every kind, filled with whatever its types allow: the rules come to an end and never panic, whatever they are shown.

use pawl_kinds::{Errors, Findings, MetadataPass, Prepare, Resource, Write, builtin};
use pawl_schema::{Scalar, TypeKind, TypeRef};
use serde_json::{Map, Value, json};

/// What stands in the scalars of an object.
#[derive(Clone, Copy, Debug)]
enum Taste {
    Plain,
    Empty,
    Odd,
}

fn sample(of: TypeRef<'_>, taste: Taste, depth: usize) -> Value {
    match of.kind() {
        TypeKind::Object(_) if depth == 0 => json!({}),
        TypeKind::Object(object) => {
            let fields = object.fields();
            let filled = fields.map(|f| (f.name.to_string(), sample(f.of(), taste, depth - 1)));
            Value::Object(filled.collect())
        }
        TypeKind::List(_) | TypeKind::Map(_) if depth == 0 => Value::Null,
        TypeKind::List(item) => {
            json!([sample(item, taste, depth - 1), sample(item, taste, 1.min(depth - 1))])
        }
        TypeKind::Map(value) => json!({"a": sample(value, taste, depth - 1), "B c": null}),
        TypeKind::Scalar(scalar) => scalar_sample(scalar, taste),
        TypeKind::Any => json!({"any": [1, "x"]}),
    }
}

fn scalar_sample(scalar: Scalar, taste: Taste) -> Value {
    match (scalar, taste) {
        (Scalar::String, Taste::Plain) => json!("a"),
        (Scalar::String, Taste::Odd) => json!("Ünfug/:,=%..-\u{7} 1.2.3.4/99"),
        (Scalar::Bytes, Taste::Plain) => json!("YQ=="),
        (Scalar::String | Scalar::Bytes, _) => json!(""),
        (Scalar::Bool, _) => json!(matches!(taste, Taste::Plain)),
        (Scalar::Time | Scalar::MicroTime, _) => json!("2024-01-01T00:00:00Z"),
        (Scalar::Duration, _) => json!("1s"),
        (Scalar::Quantity, Taste::Odd) => json!("-1.5"),
        (Scalar::Quantity, _) => json!("1Gi"),
        (Scalar::IntOrString, Taste::Odd) => json!("200%x"),
        (_, Taste::Plain) => json!(1),
        (_, Taste::Empty) => json!(0),
        (_, Taste::Odd) => json!(-7),
    }
}

fn live(resource: &Resource, mut object: Map<String, Value>, before: &Map<String, Value>) -> usize {
    let cx = Prepare { user: "u".to_owned(), now: "2024-01-01T00:00:00Z".to_owned(), ..Prepare::default() };
    let mut found = Findings::default();
    let mut metadata = |_: MetadataPass, _: &mut Errors| {};
    let behaviour = &resource.behaviour;
    assert_eq!(behaviour.set_defaults(&mut object), Ok(()));
    let mut created = object.clone();
    resource.prepare_create(&mut created, &cx);
    behaviour.validate(Write::CREATE, &created, &mut metadata, &mut found);
    behaviour.warnings(Write::CREATE, &created);
    let subresources = resource.facts.sub.iter().map(|sub| sub.name.as_str());
    for subresource in [""].into_iter().chain(subresources) {
        for (new, old) in [(&object, &created), (&object, before), (before, &object)] {
            let mut new = new.clone();
            resource.prepare_update(subresource, &mut new, old, &cx);
            let write = Write::update(subresource, old);
            behaviour.validate(write, &new, &mut metadata, &mut found);
            behaviour.warnings(write, &new);
        }
    }
    found.errors.len()
}

#[test]
fn the_rules_take_whatever_the_types_allow() {
    const DEPTH: usize = 12;
    let (mut kinds, mut errors) = (0, 0);
    for resource in builtin() {
        // Schemas of schemas are as deep as they are allowed to be.
        let depth = if resource.facts.group == "apiextensions.k8s.io" { 6 } else { DEPTH };
        let filled = |taste| match sample(resource.object_type().as_ref(), taste, depth) {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        for (taste, other) in [(Taste::Plain, Taste::Odd), (Taste::Odd, Taste::Empty), (Taste::Empty, Taste::Plain)] {
            errors += live(resource, filled(taste), &filled(other));
        }
        errors += live(resource, Map::new(), &filled(Taste::Plain));
        kinds += 1;
    }
    assert!(kinds > 60 && errors > 1000, "{kinds} kinds, {errors} errors");
}
