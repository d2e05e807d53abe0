//! OpenAPI 2.0 (Swagger): one document about everything, as JSON and as protobuf.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pawl_kinds::Resource;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::Source;
use crate::definition::{self, Definition, Dialect, Kind};
use crate::info::{Info, SecurityScheme, is_success, reason};
use crate::names::Names;
use crate::operations::{ANY, Operation, Paths};
use crate::parameters::{Parameter, Place};
use crate::{paths, protobuf};

/// The media types of the two forms, as answered.
pub const JSON: &str = "application/json";
pub const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// The older name by which clients still ask for [`PROTOBUF`]. It is no valid media type: an answer that says it is refused.
pub const PROTOBUF_ASKED: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/// The document as JSON.
pub fn json(source: impl Into<Source>, resources: &[&Resource]) -> Vec<u8> {
    // Nothing in it can fail to be written.
    with_document(source.into(), resources, |document| serde_json::to_vec(document).unwrap_or_default())
}

/// The document as a message of gnostic's `openapi.v2.Document`.
pub fn protobuf(source: impl Into<Source>, resources: &[&Resource]) -> Vec<u8> {
    with_document(source.into(), resources, protobuf::document)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document<'r> {
    pub definitions: BTreeMap<Cow<'static, str>, Definition<'r>>,
    pub info: Info,
    pub parameters: BTreeMap<String, ParameterObject<'r>>,
    pub paths: BTreeMap<&'r str, PathItem<'r>>,
    pub security: [BTreeMap<&'static str, [&'static str; 0]>; 1],
    pub security_definitions: BTreeMap<&'static str, SecurityScheme>,
    pub swagger: &'static str,
}

#[derive(Serialize)]
pub(crate) struct PathItem<'r> {
    #[serde(flatten)]
    pub operations: BTreeMap<&'static str, OperationObject<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<ParameterItem>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OperationObject<'r> {
    pub consumes: &'static [&'static str],
    pub operation_id: &'r str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<ParameterItem>,
    pub produces: &'static [&'static str],
    pub responses: Responses,
    pub schemes: [&'static str; 1],
    pub tags: [&'r str; 1],
    #[serde(flatten)]
    pub extensions: OperationExtensions<'r>,
}

#[derive(Serialize)]
pub(crate) struct OperationExtensions<'r> {
    #[serde(rename = "x-kubernetes-action", skip_serializing_if = "Option::is_none")]
    pub action: Option<&'static str>,
    #[serde(rename = "x-kubernetes-group-version-kind", skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'r Kind<'r>>,
}

/// A parameter of the path or the query; they stand together at the end of the document.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ParameterObject<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'static str>,
    #[serde(rename = "in")]
    pub place: &'static str,
    pub name: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub unique_items: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum ParameterItem {
    Reference {
        #[serde(rename = "$ref")]
        reference: String,
    },
    Body {
        #[serde(rename = "in")]
        place: &'static str,
        name: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        required: Option<bool>,
        schema: Box<Definition<'static>>,
    },
}

pub(crate) struct Responses {
    pub codes: &'static [u16],
    pub schema: Definition<'static>,
}

impl Responses {
    /// Every code with its meaning and, where there is one, the schema of the answer.
    pub fn iter(&self) -> impl Iterator<Item = (u16, Response<'_>)> {
        self.codes.iter().chain(&[401]).map(|&code| {
            let schema = is_success(code).then_some(&self.schema);
            (code, Response { description: reason(code), schema })
        })
    }
}

#[derive(Serialize)]
pub(crate) struct Response<'s> {
    pub description: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<&'s Definition<'static>>,
}

impl Serialize for Responses {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        for (code, response) in self.iter() {
            map.serialize_entry(&code.to_string(), &response)?;
        }
        map.end()
    }
}

fn with_document(source: Source, resources: &[&Resource], render: impl FnOnce(&Document) -> Vec<u8>) -> Vec<u8> {
    let names = Names::new(source.builtin, resources);
    let mut all = Paths::new();
    for key in paths::keys(resources) {
        all.extend(paths::of(source, resources, &names, &key).unwrap_or_default());
    }
    let mut parameters = BTreeMap::new();
    let paths = all.iter().map(|(path, operations)| (path.as_str(), path_item(path, operations, &mut parameters)));
    let paths = paths.collect();
    render(&Document {
        definitions: definition::reachable(Dialect::V2, &names, paths::types(&all)),
        info: Info::KUBERNETES,
        parameters,
        paths,
        security: [BTreeMap::from([("BearerToken", [])])],
        security_definitions: BTreeMap::from([("BearerToken", SecurityScheme::BEARER)]),
        swagger: "2.0",
    })
}

fn path_item<'r>(
    path: &str,
    operations: &'r [Operation<'r>],
    parameters: &mut BTreeMap<String, ParameterObject<'r>>,
) -> PathItem<'r> {
    let shared = paths::shared(path, operations);
    let mut objects = BTreeMap::new();
    for operation in operations {
        let body = operation.body.as_ref().map(|body| ParameterItem::Body {
            place: "body",
            name: "body",
            required: body.required.then_some(true),
            schema: Box::new(Definition::reference(Dialect::V2, &body.name)),
        });
        let own = operation.parameters.iter().filter(|p| !shared.contains(p)).map(|p| refer(p, parameters));
        objects.insert(
            operation.method,
            OperationObject {
                consumes: operation.body.as_ref().map_or(ANY, |b| b.consumes),
                operation_id: &operation.id,
                parameters: body.into_iter().chain(own).collect(),
                produces: operation.produces,
                responses: Responses {
                    codes: operation.codes,
                    schema: match &operation.answer {
                        Some(name) => Definition::reference(Dialect::V2, name),
                        None => Definition::of("string"),
                    },
                },
                schemes: ["https"],
                tags: [&operation.tag],
                extensions: OperationExtensions { action: operation.action, kind: operation.kind.as_ref() },
            },
        );
    }
    PathItem { operations: objects, parameters: shared.iter().map(|p| refer(p, parameters)).collect() }
}

/// A reference to a parameter, which is noted down on first use. What has one name in one place is the same everywhere.
fn refer<'r>(parameter: &Parameter<'r>, parameters: &mut BTreeMap<String, ParameterObject<'r>>) -> ParameterItem {
    let key = format!("{}-{}", parameter.name, parameter.place.name());
    let reference = format!("#/parameters/{key}");
    parameters.entry(key).or_insert_with(|| ParameterObject {
        description: parameter.description,
        place: parameter.place.name(),
        name: parameter.name,
        required: (parameter.place == Place::Path).then_some(true),
        kind: parameter.kind,
        unique_items: true,
    });
    ParameterItem::Reference { reference }
}
