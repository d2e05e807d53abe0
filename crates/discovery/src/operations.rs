//! The operations on a resource: which paths it has, what may be done there, with what, and what comes back.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pawl_kinds::{Resource, Subresource};

use crate::definition::Kind;
use crate::names::{self, Names};
use crate::parameters::{self, Parameter, Set};

/// Paths with their operations, in the order of the alphabet.
pub(crate) type Paths<'r> = BTreeMap<String, Vec<Operation<'r>>>;

#[derive(Debug)]
pub(crate) struct Operation<'r> {
    pub method: &'static str,
    pub id: String,
    pub tag: String,
    /// What is done to the resource; nothing for documents about the server.
    pub action: Option<&'static str>,
    pub kind: Option<Kind<'r>>,
    /// Without the parameters of the path.
    pub parameters: Vec<Parameter<'r>>,
    pub body: Option<Body>,
    /// The type that answers; without one it is text.
    pub answer: Option<Cow<'static, str>>,
    /// The codes of success.
    pub codes: &'static [u16],
    pub produces: &'static [&'static str],
}

#[derive(Debug)]
pub(crate) struct Body {
    pub name: Cow<'static, str>,
    pub consumes: &'static [&'static str],
    pub required: bool,
}

pub(crate) const ANY: &[&str] = &["*/*"];
pub(crate) const JSON: &[&str] = &["application/json"];
pub(crate) const OBJECTS: &[&str] = &["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
const STREAMS: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
];
const CUSTOM_OBJECTS: &[&str] = &["application/json", "application/yaml"];
const LOGS: &[&str] = &["text/plain", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
const PATCHES: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];
const CUSTOM_PATCHES: &[&str] =
    &["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];

/// The options of a pod's log, which answers with text though its kind is the pod.
const LOG_OPTIONS: &str = "core.v1.PodLogOptions";

/// Adds the paths of a resource.
pub(crate) fn add<'r>(paths: &mut Paths<'r>, names: &Names<'r>, resource: &'r Resource) {
    let facts = &resource.facts;
    let root = root(&facts.group, &facts.version);
    let scope = if facts.namespaced { "/namespaces/{namespace}" } else { "" };
    let collection = format!("{root}{scope}/{}", facts.plural);
    let one = format!("{collection}/{{name}}");
    let writer = Writer {
        names,
        resource,
        prefix: format!("{}{}", camel(trimmed(&facts.group), true), camel(&facts.version, true)),
        tag: tag(&facts.group, &facts.version),
        scope: if facts.namespaced { "Namespaced" } else { "" },
        custom: names::is_custom(resource),
    };
    let has = |verb: &str| facts.verbs.iter().any(|v| v == verb);

    for verb in &facts.verbs {
        match verb.as_str() {
            "create" => push(paths, &collection, writer.write("create", "post", None)),
            "deletecollection" => push(paths, &collection, writer.delete_collection()),
            "list" => push(paths, &collection, writer.list("")),
            "get" => push(paths, &one, writer.read(None)),
            "update" => push(paths, &one, writer.write("replace", "put", None)),
            "patch" => push(paths, &one, writer.patch(None)),
            "delete" => push(paths, &one, writer.delete()),
            // Of what users defined nothing is watched in this old way.
            "watch" if !writer.custom => {
                let watched = format!("{root}/watch{scope}/{}", facts.plural);
                push(paths, &format!("{watched}/{{name}}"), writer.watch("watch", ""));
                push(paths, &watched, writer.watch("watchlist", "List"));
            }
            _ => {}
        }
    }
    if facts.namespaced && has("list") {
        push(paths, &format!("{root}/{}", facts.plural), writer.list("ForAllNamespaces"));
    }
    if facts.namespaced && has("watch") && !writer.custom {
        let everywhere = format!("{root}/watch/{}", facts.plural);
        push(paths, &everywhere, writer.watch("watchlist", "ListForAllNamespaces"));
    }
    for sub in facts.sub.iter().filter(|sub| !sub.hidden) {
        writer.subresource(paths, &format!("{one}/{}", sub.name), sub);
    }
}

/// `/api/v1`, `/apis/apps/v1`
pub(crate) fn root(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

/// `core_v1`, `rbacAuthorization_v1`
pub(crate) fn tag(group: &str, version: &str) -> String {
    format!("{}_{}", camel(trimmed(group), false), camel(version, false))
}

/// The part of a group's name that operations carry.
pub(crate) fn trimmed(group: &str) -> &str {
    if group.is_empty() { "core" } else { group.strip_suffix(".k8s.io").unwrap_or(group) }
}

/// `rbac.authorization` as `RbacAuthorization`, or `rbacAuthorization`.
pub(crate) fn camel(text: &str, first: bool) -> String {
    let mut capital = first;
    let mut out = String::with_capacity(text.len());
    for (at, letter) in text.chars().enumerate() {
        if letter.is_alphabetic() || letter == '_' || (at > 0 && letter.is_numeric()) {
            if capital {
                out.extend(letter.to_uppercase());
            } else {
                out.push(letter);
            }
            capital = false;
        } else {
            capital = true;
        }
    }
    out
}

fn push<'r>(paths: &mut Paths<'r>, path: &str, operation: Operation<'r>) {
    match paths.get_mut(path) {
        Some(operations) => operations.push(operation),
        None => {
            paths.insert(path.to_owned(), vec![operation]);
        }
    }
}

/// Writes the operations of one resource.
struct Writer<'n, 'r> {
    names: &'n Names<'r>,
    resource: &'r Resource,
    /// Group and version in the identifiers of operations: `CoreV1`.
    prefix: String,
    tag: String,
    scope: &'static str,
    custom: bool,
}

impl<'r> Writer<'_, 'r> {
    fn operation(&self, method: &'static str, verb: &str, infix: &str, suffix: &str) -> Operation<'r> {
        let facts = &self.resource.facts;
        Operation {
            method,
            id: format!("{verb}{}{infix}{}{suffix}", self.prefix, facts.kind),
            tag: self.tag.clone(),
            action: None,
            kind: Some(Kind { group: &facts.group, kind: Cow::Borrowed(&*facts.kind), version: &facts.version }),
            parameters: sets(&[Set::Pretty]),
            body: None,
            answer: Some(self.names.of_resource(self.resource)),
            codes: &[200],
            produces: if self.custom { CUSTOM_OBJECTS } else { OBJECTS },
        }
    }

    /// An operation on the object or, of the same form, on a subresource.
    fn on(&self, method: &'static str, verb: &str, sub: Option<&'r Subresource>) -> Operation<'r> {
        let suffix = sub.map(|s| camel(&s.name, true)).unwrap_or_default();
        let mut operation = self.operation(method, verb, self.scope, &suffix);
        operation.action = Some(method);
        if let Some(sub) = sub {
            let (group, version) = names::of_subresource(self.resource, sub);
            operation.kind = Some(Kind { group, kind: Cow::Borrowed(&*sub.kind), version });
            if let Some(name) = sub.type_name.as_deref().and_then(|name| self.names.builtin().openapi_name(name)) {
                operation.answer = Some(Cow::Borrowed(name));
            }
        }
        operation
    }

    fn read(&self, sub: Option<&'r Subresource>) -> Operation<'r> {
        self.on("get", "read", sub)
    }

    /// A create or a replace.
    fn write(&self, verb: &str, method: &'static str, sub: Option<&'r Subresource>) -> Operation<'r> {
        let mut operation = self.on(method, verb, sub);
        operation.parameters = sets(&[Set::Pretty, Set::Write]);
        operation.codes = if method == "post" { &[200, 201, 202] } else { &[200, 201] };
        operation.body = operation.answer.clone().map(|name| Body {
            name,
            consumes: if self.custom { CUSTOM_OBJECTS } else { ANY },
            required: true,
        });
        operation
    }

    fn patch(&self, sub: Option<&'r Subresource>) -> Operation<'r> {
        let mut operation = self.on("patch", "patch", sub);
        operation.parameters = sets(&[Set::Pretty, Set::Apply]);
        operation.codes = &[200, 201];
        operation.body = Some(Body {
            name: Cow::Borrowed(names::PATCH),
            consumes: if self.custom { CUSTOM_PATCHES } else { PATCHES },
            required: true,
        });
        operation
    }

    fn delete(&self) -> Operation<'r> {
        let mut operation = self.on("delete", "delete", None);
        operation.parameters = sets(&[Set::Pretty, Set::Delete]);
        operation.codes = &[200, 202];
        let deleted = operation.answer.take().filter(|_| self.resource.facts.returns_deleted);
        let operation = self.deleting(operation);
        Operation { answer: deleted.or(operation.answer), ..operation }
    }

    fn delete_collection(&self) -> Operation<'r> {
        let mut operation = self.operation("delete", "delete", &format!("Collection{}", self.scope), "");
        operation.action = Some("deletecollection");
        operation.parameters = sets(&[Set::Pretty, Set::DeleteCollection]);
        self.deleting(operation)
    }

    fn deleting(&self, mut operation: Operation<'r>) -> Operation<'r> {
        operation.answer = Some(Cow::Borrowed(names::STATUS));
        operation.body = Some(Body {
            name: Cow::Borrowed(names::DELETE_OPTIONS),
            consumes: if self.custom { CUSTOM_OBJECTS } else { ANY },
            required: false,
        });
        operation
    }

    /// The list of a namespace, of a cluster-wide resource, or `ForAllNamespaces`.
    fn list(&self, suffix: &str) -> Operation<'r> {
        let scope = if suffix.is_empty() { self.scope } else { "" };
        let mut operation = self.operation("get", "list", scope, suffix);
        operation.action = Some("list");
        operation.parameters = sets(&[Set::Pretty, Set::List]);
        operation.answer = Some(self.names.of_list(self.resource));
        operation.produces = if self.custom { CUSTOM_OBJECTS } else { STREAMS };
        operation
    }

    fn watch(&self, action: &'static str, suffix: &str) -> Operation<'r> {
        let scope = if suffix.ends_with("ForAllNamespaces") { "" } else { self.scope };
        let mut operation = self.operation("get", "watch", scope, suffix);
        operation.action = Some(action);
        operation.parameters = sets(&[Set::Pretty, Set::Watch]);
        operation.answer = Some(Cow::Borrowed(names::WATCH_EVENT));
        operation.produces = if self.custom { CUSTOM_OBJECTS } else { STREAMS };
        operation
    }

    fn subresource(&self, paths: &mut Paths<'r>, path: &str, sub: &'r Subresource) {
        // What takes options and is no published type is a connection: exec, attach, proxy.
        let options = sub.type_name.as_deref().filter(|name| self.names.builtin().openapi_name(name).is_none());
        if let Some(options) = options.and_then(|name| self.names.builtin().named(name)) {
            let parameters = parameters::of_options(options);
            return self.connections(paths, path, sub, &parameters);
        }
        for verb in &sub.verbs {
            let operation = match verb.as_str() {
                "get" if sub.name == "log" => self.log(sub),
                "get" => self.read(Some(sub)),
                "create" => self.write("create", "post", Some(sub)),
                "update" => self.write("replace", "put", Some(sub)),
                "patch" => self.patch(Some(sub)),
                _ => continue,
            };
            push(paths, path, operation);
        }
    }

    fn log(&self, sub: &'r Subresource) -> Operation<'r> {
        let mut operation = self.read(Some(sub));
        let options = self.names.builtin().named(LOG_OPTIONS);
        operation.parameters.extend(options.into_iter().flat_map(parameters::of_options));
        operation.parameters.sort();
        operation.answer = None;
        operation.produces = LOGS;
        operation
    }

    fn connections(&self, paths: &mut Paths<'r>, path: &str, sub: &'r Subresource, parameters: &[Parameter<'r>]) {
        let connect = |method: &'static str, suffix: &str| {
            let verb = format!("connect{}{}", self.prefix, camel(method, true));
            let kind = &self.resource.facts.kind;
            let mut operation = self.on(method, "", Some(sub));
            operation.id = format!("{verb}{}{kind}{}{suffix}", self.scope, camel(&sub.name, true));
            operation.action = Some("connect");
            operation.parameters = parameters.to_vec();
            operation.answer = None;
            operation.produces = ANY;
            operation
        };
        let methods = sub.verbs.iter().filter_map(|verb| match verb.as_str() {
            "create" => Some("post"),
            "delete" => Some("delete"),
            "get" => Some("get"),
            "patch" => Some("patch"),
            "update" => Some("put"),
            _ => None,
        });
        if sub.name != "proxy" {
            return methods.for_each(|method| push(paths, path, connect(method, "")));
        }
        for method in methods.chain(["head", "options"]) {
            push(paths, path, connect(method, ""));
            push(paths, &format!("{path}/{{path}}"), connect(method, "WithPath"));
        }
    }
}

fn sets(sets: &[Set]) -> Vec<Parameter<'static>> {
    let mut parameters: Vec<Parameter> = sets.iter().copied().flat_map(parameters::query).collect();
    parameters.sort();
    parameters
}
