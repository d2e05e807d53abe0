//! The documents of OpenAPI by key, and the paths that each is about.
//!
//! A key is the place of a document below `/openapi/v3/`: `api/v1`, `apis/apps`, `version`.

use std::borrow::Cow;

use pawl_kinds::Resource;

use crate::Source;
use crate::names::{self, Names};
use crate::operations::{self, Operation, Paths};
use crate::parameters::{self, Parameter};
use crate::table;

const VERSION: &str = "version";
const OPENID_CONFIGURATION: &str = ".well-known/openid-configuration";
const OPENID_KEYS: &str = "openid/v1/jwks";

/// The keys of all documents, in the order of the alphabet.
pub(crate) fn keys(resources: &[&Resource]) -> Vec<String> {
    let mut keys: Vec<String> = ["api", "apis", VERSION, OPENID_CONFIGURATION, OPENID_KEYS].map(str::to_owned).into();
    for group in table::groups(resources) {
        // A group of custom resources has no document of its own.
        if !group.name.is_empty() && group.versions.iter().any(table::Version::is_builtin) {
            keys.push(format!("apis/{}", group.name));
        }
        keys.extend(group.versions.iter().map(|v| version_key(v.group, v.name)));
    }
    keys.sort();
    keys
}

/// The paths that a document is about; none where there is no such document.
pub(crate) fn of<'r>(source: Source, resources: &[&'r Resource], names: &Names<'r>, key: &str) -> Option<Paths<'r>> {
    let document = |id: &str, tag: &str, answer| {
        let operation = Operation { produces: operations::OBJECTS, ..about(id, tag, Some(answer)) };
        Paths::from([(format!("/{key}/"), vec![operation])])
    };
    let text =
        |id, tag, produces| Paths::from([(format!("/{key}/"), vec![Operation { produces, ..about(id, tag, None) }])]);
    match key {
        "api" => return Some(document("getCoreAPIVersions", "core", names::API_VERSIONS)),
        "apis" => return Some(document("getAPIVersions", "apis", names::API_GROUP_LIST)),
        VERSION => {
            let operation = about("getCodeVersion", VERSION, Some(names::VERSION_INFO));
            return Some(Paths::from([("/version/".to_owned(), vec![operation])]));
        }
        OPENID_CONFIGURATION => {
            return Some(text("getServiceAccountIssuerOpenIDConfiguration", "WellKnown", operations::JSON));
        }
        OPENID_KEYS => {
            return Some(text("getServiceAccountIssuerOpenIDKeyset", "openid", &["application/jwk-set+json"]));
        }
        _ => {}
    }
    let groups = table::groups(resources);
    if let Some(version) = groups.iter().flat_map(|g| &g.versions).find(|v| version_key(v.group, v.name) == key) {
        let mut paths = of_version(names, version);
        for operation in paths.values_mut().flatten() {
            operation.parameters.retain(|parameter| !source.without.contains(&parameter.name));
        }
        return Some(paths);
    }
    let group = groups.iter().find(|g| !g.name.is_empty() && key.strip_prefix("apis/") == Some(g.name))?;
    let builtin = group.versions.iter().any(table::Version::is_builtin);
    let trimmed = operations::trimmed(group.name);
    let id = format!("get{}APIGroup", operations::camel(trimmed, true));
    builtin.then(|| document(&id, &operations::camel(trimmed, false), names::API_GROUP))
}

fn of_version<'r>(names: &Names<'r>, version: &table::Version<'r>) -> Paths<'r> {
    let (group, name) = (version.group, version.name);
    let prefix = operations::camel(operations::trimmed(group), true);
    let id = format!("get{prefix}{}APIResources", operations::camel(name, true));
    let list = Operation {
        produces: operations::OBJECTS,
        ..about(&id, &operations::tag(group, name), Some(names::API_RESOURCE_LIST))
    };
    let mut paths = Paths::new();
    if version.is_builtin() {
        paths.insert(format!("{}/", operations::root(group, name)), vec![list]);
    }
    for &resource in &version.resources {
        operations::add(&mut paths, names, resource);
    }
    paths
}

/// `api/v1`, `apis/apps/v1`
fn version_key(group: &str, version: &str) -> String {
    operations::root(group, version).split_off(1)
}

/// A document about the server itself.
fn about(id: &str, tag: &str, answer: Option<&'static str>) -> Operation<'static> {
    Operation {
        method: "get",
        id: id.to_owned(),
        tag: tag.to_owned(),
        action: None,
        kind: None,
        parameters: Vec::new(),
        body: None,
        answer: answer.map(Cow::Borrowed),
        codes: &[200],
        produces: operations::JSON,
    }
}

/// The parameters that all operations of a path share, those of the path itself among them.
pub(crate) fn shared<'r>(path: &str, operations: &[Operation<'r>]) -> Vec<Parameter<'r>> {
    let mut shared: Vec<_> = operations.first().map(|o| o.parameters.clone()).unwrap_or_default();
    shared.retain(|p| operations.iter().all(|o| o.parameters.contains(p)));
    shared.extend(parameters::in_path(path));
    shared.sort();
    shared
}

/// The types that operations take and answer with.
pub(crate) fn types(paths: &Paths<'_>) -> Vec<Cow<'static, str>> {
    let operations = paths.values().flatten();
    operations.flat_map(|o| o.answer.iter().chain(o.body.as_ref().map(|b| &b.name)).cloned()).collect()
}
