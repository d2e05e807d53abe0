//! What tests of whole writes share: metadata that is as small as can be, and writes in one line.

use std::sync::OnceLock;

use pawl_meta::{Errors, FieldPath};
use pawl_schema::{Field, Node, NodeKind, Object as Shape, Scalar, SchemaBuilder, Type, TypeRef};
use pawl_structural::{Mark, Outcome, Part, Props, ScalePaths, Structural, Write};
use serde_json::{Map, Value, json};

pub type Object = Map<String, Value>;

/// Metadata as far as these objects have any.
pub fn meta() -> TypeRef<'static> {
    static META: OnceLock<Type> = OnceLock::new();
    let meta = META.get_or_init(|| {
        let mut builder = SchemaBuilder::new();
        let text = builder.add(Node::new(NodeKind::Scalar(Scalar::String), "string"));
        let map = builder.add(Node::new(NodeKind::Map(text), "map[string]string"));
        let fields = vec![Field::new("name", text), Field::new("labels", map)];
        let kind = NodeKind::Object(Shape::new("meta.v1.ObjectMeta", fields));
        let id = builder.define("meta.v1.ObjectMeta", Node::new(kind, "v1.ObjectMeta"));
        builder.build_type(id).unwrap()
    });
    meta.as_ref()
}

/// Stands in for the rules of metadata: names without slashes, keys of labels without spaces.
pub fn metadata_rules(object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(meta) = object.get("metadata") else { return };
    let name = meta["name"].as_str().unwrap_or_default();
    if name.contains('/') {
        errors.invalid(&path.child("name"), name, "may not contain '/'");
    }
    for key in meta["labels"].as_object().into_iter().flatten().map(|(key, _)| key) {
        for wrong in pawl_meta::names::qualified_name(key) {
            errors.invalid(&path.child("labels"), key.as_str(), wrong);
        }
    }
}

#[allow(dead_code, reason = "each test uses its part")]
pub fn compile(schema: &Value) -> Structural {
    compile_with_scale(schema, None)
}

pub fn compile_with_scale(schema: &Value, scale: Option<ScalePaths>) -> Structural {
    Structural::compile(Some(&Props::parse(schema)), scale, meta())
}

/// An object with these members.
pub fn whole(members: &Value) -> Object {
    let mut object = json!({"apiVersion": "facts.example.com/v1", "kind": "Fact", "metadata": {"name": "o1"}});
    object.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    object.as_object().unwrap().clone()
}

/// Judges a write of a whole object.
#[allow(dead_code, reason = "each test uses its part")]
pub fn judge(
    schema: &Structural,
    new: &Object,
    old: Option<&Object>,
    ratcheting: bool,
    mark: Option<&Mark>,
) -> Outcome {
    schema.validate(&Write {
        new,
        old,
        part: Part::Whole,
        ratcheting,
        earlier: &Errors::new(),
        embedded_metadata: &metadata_rules,
        valid_before: mark,
    })
}

/// Errors as texts.
#[allow(dead_code, reason = "each test uses its part")]
pub fn texts(errors: &Errors) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}
