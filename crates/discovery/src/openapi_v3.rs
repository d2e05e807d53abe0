//! OpenAPI 3.0: an index, and a document for each group version.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pawl_kinds::Resource;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::Source;
use crate::definition::{self, Definition, Dialect, Kind};
use crate::fingerprint::Fingerprint;
use crate::info::{Info, SecurityScheme, is_success, reason};
use crate::names::Names;
use crate::operations::{Operation, Paths};
use crate::parameters::{Parameter, Place};
use crate::paths;

/// The media type of a document. The index is served as `text/plain; charset=utf-8`, as upstream does.
pub const CONTENT_TYPE: &str = "application/json";

/// `/openapi/v3`: where the documents are. Their hashes change when they do, so that they can be cached for ever.
#[derive(Debug, Serialize)]
pub struct Index {
    paths: BTreeMap<String, Link>,
}

#[derive(Debug, Serialize)]
struct Link {
    #[serde(rename = "serverRelativeURL")]
    server_relative_url: String,
}

/// The index of a table. No document is built for it: hashes are taken of what documents are made from.
pub fn index(source: impl Into<Source>, resources: &[&Resource]) -> Index {
    let fingerprint = Fingerprint::new(source.into(), resources);
    let link = |key: String| {
        let hash = fingerprint.of(resources, &key);
        let link = Link { server_relative_url: format!("/openapi/v3/{key}?hash={hash}") };
        (key, link)
    };
    Index { paths: paths::keys(resources).into_iter().map(link).collect() }
}

/// The hash of a document, which is its entity tag too; none where there is no such document.
pub fn hash(source: impl Into<Source>, resources: &[&Resource], key: &str) -> Option<String> {
    let known = paths::keys(resources).iter().any(|k| k == key);
    known.then(|| Fingerprint::new(source.into(), resources).of(resources, key))
}

/// The document under `/openapi/v3/KEY`, where KEY is `api/v1` or `apis/apps/v1`, as JSON; none where there is no such document.
pub fn document(source: impl Into<Source>, resources: &[&Resource], key: &str) -> Option<Vec<u8>> {
    let source = source.into();
    let names = Names::new(source.builtin, resources);
    let paths = paths::of(source, resources, &names, key)?;
    let document = Document {
        components: Components {
            schemas: definition::reachable(Dialect::V3, &names, paths::types(&paths)),
            security_schemes: BTreeMap::from([("BearerToken", SecurityScheme::BEARER)]),
        },
        info: Info::KUBERNETES,
        openapi: "3.0.0",
        paths: path_items(&paths),
    };
    // Nothing in it can fail to be written.
    Some(serde_json::to_vec(&document).unwrap_or_default())
}

#[derive(Serialize)]
struct Document<'r> {
    components: Components<'r>,
    info: Info,
    openapi: &'static str,
    paths: BTreeMap<&'r str, PathItem<'r>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Components<'r> {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    schemas: BTreeMap<Cow<'static, str>, Definition<'r>>,
    security_schemes: BTreeMap<&'static str, SecurityScheme>,
}

#[derive(Serialize)]
struct PathItem<'r> {
    #[serde(flatten)]
    operations: BTreeMap<&'static str, OperationObject<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parameters: Vec<ParameterObject<'r>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OperationObject<'r> {
    operation_id: &'r str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parameters: Vec<ParameterObject<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_body: Option<RequestBody>,
    responses: Responses,
    tags: [&'r str; 1],
    #[serde(rename = "x-kubernetes-action", skip_serializing_if = "Option::is_none")]
    action: Option<&'static str>,
    #[serde(rename = "x-kubernetes-group-version-kind", skip_serializing_if = "Option::is_none")]
    kind: Option<&'r Kind<'r>>,
}

#[derive(Serialize)]
struct ParameterObject<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'static str>,
    #[serde(rename = "in")]
    place: &'static str,
    name: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    required: Option<bool>,
    schema: ParameterSchema,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ParameterSchema {
    #[serde(rename = "type")]
    kind: &'static str,
    unique_items: bool,
}

#[derive(Serialize)]
struct RequestBody {
    content: Content,
    #[serde(skip_serializing_if = "Option::is_none")]
    required: Option<bool>,
}

/// One schema in every media type.
struct Content {
    media: &'static [&'static str],
    schema: Definition<'static>,
}

struct Responses {
    codes: &'static [u16],
    content: Content,
}

#[derive(Serialize)]
struct Response<'c> {
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'c Content>,
    description: &'static str,
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct MediaType<'c> {
            schema: &'c Definition<'static>,
        }
        to.collect_map(self.media.iter().map(|media| (media, MediaType { schema: &self.schema })))
    }
}

impl Serialize for Responses {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        for &code in self.codes.iter().chain(&[401]) {
            let content = is_success(code).then_some(&self.content);
            map.serialize_entry(&code.to_string(), &Response { content, description: reason(code) })?;
        }
        map.end()
    }
}

fn path_items<'r>(paths: &'r Paths<'r>) -> BTreeMap<&'r str, PathItem<'r>> {
    let item = |(path, operations): (&'r String, &'r Vec<Operation<'r>>)| {
        let shared = paths::shared(path, operations);
        let operations = operations.iter().map(|o| (o.method, operation(o, &shared))).collect();
        (path.as_str(), PathItem { operations, parameters: shared.iter().map(parameter).collect() })
    };
    paths.iter().map(item).collect()
}

fn operation<'r>(operation: &'r Operation<'r>, shared: &[Parameter<'r>]) -> OperationObject<'r> {
    let own = operation.parameters.iter().filter(|p| !shared.contains(p));
    OperationObject {
        operation_id: &operation.id,
        parameters: own.map(parameter).collect(),
        request_body: operation.body.as_ref().map(|body| RequestBody {
            content: Content { media: body.consumes, schema: Definition::reference(Dialect::V3, &body.name) },
            required: body.required.then_some(true),
        }),
        responses: Responses {
            codes: operation.codes,
            content: Content {
                media: operation.produces,
                schema: match &operation.answer {
                    Some(name) => Definition::reference(Dialect::V3, name),
                    None => Definition::of("string"),
                },
            },
        },
        tags: [&operation.tag],
        action: operation.action,
        kind: operation.kind.as_ref(),
    }
}

fn parameter<'r>(parameter: &Parameter<'r>) -> ParameterObject<'r> {
    ParameterObject {
        description: parameter.description,
        place: parameter.place.name(),
        name: parameter.name,
        required: (parameter.place == Place::Path).then_some(true),
        schema: ParameterSchema { kind: parameter.kind, unique_items: true },
    }
}
