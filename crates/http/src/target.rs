//! What a request is about: the one place where a path meets the table of what is served. It is looked up before anybody
//! decides about the request, so that what is decided on is what is done: a path that does not say exactly where an object is
//! leads nowhere, and no handler reads another meaning into it.

use std::sync::Arc;

use http::{Method, Response};
use pawl_meta::{Details, GroupResource, Status};
use pawl_registry::{Served, Table};

use crate::body::Body;
use crate::request::{RequestInfo, Verb};
use crate::respond;

/// What stands where a path points to.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// No resource: health, discovery and other documents.
    Document,
    /// A resource, in exactly the scope, with the name and the subresource that the request names.
    Resource(Arc<Served>),
    Nothing(Absence),
}

/// What who may ask is told where nothing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    Page,
    Resource,
    /// Nothing below an object of what users defined.
    Below,
    /// Something is there that is not asked in this way.
    Method,
    /// The same of what users defined.
    Verb,
}

impl Target {
    pub fn find(table: &Table, info: &RequestInfo, method: &Method) -> Self {
        if info.path.starts_with("//") {
            return Self::Nothing(Absence::Page);
        }
        if !info.is_resource {
            return Self::Document;
        }
        let Some(served) = table.find(&info.group, &info.version, &info.resource) else {
            let known = info.group.is_empty() || table.has_builtin_group(&info.group);
            return Self::Nothing(if known { Absence::Resource } else { Absence::Page });
        };
        if !is_there(served, info) {
            return Self::Nothing(absent(served, info));
        }
        if !takes(served, info, method) {
            return Self::Nothing(if served.resource.facts.custom { Absence::Verb } else { Absence::Method });
        }
        Self::Resource(Arc::clone(served))
    }
}

impl Absence {
    pub fn answer(self, info: &RequestInfo) -> Result<Response<Body>, Status> {
        match self {
            Self::Below => {
                Err(Status::not_found(&GroupResource::new(info.group.clone(), info.resource.clone()), &info.name))
            }
            Self::Page => Ok(respond::page_not_found()),
            Self::Resource => Err(Status::no_such_resource()),
            Self::Method => Err(Status::method_not_allowed()),
            Self::Verb => {
                let resource = GroupResource::new(info.group.clone(), info.resource.clone());
                let why = format!("{} is not supported on resources of kind \"{resource}\"", info.verb.as_str());
                let details = Details { group: resource.group, kind: resource.resource, ..Details::default() };
                Err(Status::new(405, "MethodNotAllowed", why).with_details(details))
            }
        }
    }
}

/// What is not there: of what users defined upstream says it in other words.
fn absent(served: &Served, info: &RequestInfo) -> Absence {
    match served.resource.facts.custom {
        false => Absence::Resource,
        true if info.below_namespace != served.resource.facts.namespaced || info.name.is_empty() => Absence::Page,
        true => Absence::Below,
    }
}

/// Whether the path is one that the resource has, whatever the method.
fn is_there(served: &Served, info: &RequestInfo) -> bool {
    let facts = &served.resource.facts;
    let has = |verb: &str| facts.verbs.iter().any(|v| v == verb);
    if info.proxy_path || info.below_namespace && (!facts.namespaced || info.namespace.is_empty()) {
        return false;
    }
    if !info.names_object() {
        // Objects of all namespaces together can be read, at most.
        let everywhere = facts.namespaced && !info.below_namespace;
        let listed = has("list") || has("watch");
        return info.subresource.is_empty() && (listed || !everywhere) && (!info.watch_path || has("watch"));
    }
    if facts.namespaced && !info.below_namespace {
        return false;
    }
    match info.subresource.as_str() {
        "" => !info.surplus && ["get", "update", "patch", "delete"].iter().any(|verb| has(verb)),
        // What is below a proxy is for whom it leads to.
        name => !info.watch_path && (!info.surplus || name == "proxy") && served.resource.subresource(name).is_some(),
    }
}

/// Whether what is there can be asked in this way.
fn takes(served: &Served, info: &RequestInfo, method: &Method) -> bool {
    let facts = &served.resource.facts;
    let reads = *method == Method::GET;
    let among = |verbs: &[String]| verbs.iter().any(|verb| verb == info.verb.as_str());
    if let Some(subresource) = served.resource.subresource(&info.subresource) {
        let connects = subresource.name == "proxy";
        return among(&subresource.verbs) && (info.verb != Verb::Get || reads || connects);
    }
    // What is on its way out is announced with less, and can still be changed; why nothing can be created is told by who
    // would do it.
    let has = among(&facts.verbs) || facts.closed.is_some();
    let everywhere = facts.namespaced && !info.below_namespace;
    match info.verb {
        Verb::Create => has && !info.names_object() && !everywhere,
        Verb::DeleteCollection => has && !everywhere,
        Verb::Update | Verb::Patch | Verb::Delete => has && info.names_object(),
        _ => has && reads,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Query;

    fn check(method: Method, path: &str, expect: Result<(), Absence>) {
        let table = Table::new(pawl_kinds::builtin(), 1);
        let info = RequestInfo::parse(&method, path, &Query::default());
        let found = match Target::find(&table, &info, &method) {
            Target::Resource(served) => {
                assert_eq!(served.resource.facts.plural, info.resource, "{path}");
                Ok(())
            }
            Target::Nothing(absence) => Err(absence),
            Target::Document => panic!("{path} is that of a resource"),
        };
        assert_eq!(found, expect, "{method} {path}");
    }

    #[test]
    fn a_namespace_leads_only_to_what_is_in_it() {
        for method in [Method::GET, Method::PUT, Method::PATCH, Method::DELETE, Method::POST] {
            for path in [
                "/api/v1/namespaces/foo/namespaces",
                "/api/v1/namespaces/foo/namespaces/victim",
                "/api/v1/namespaces/foo/namespaces/foo",
                "/api/v1/namespaces/foo/namespaces/victim/finalize",
                "/api/v1/namespaces/foo/nodes",
                "/api/v1/namespaces/foo/nodes/n1",
                "/api/v1/namespaces/foo/nodes/n1/status",
                "/api/v1/namespaces/foo/nodes/n1/proxy/x",
                "/api/v1/watch/namespaces/foo/nodes",
                "/apis/rbac.authorization.k8s.io/v1/namespaces/foo/clusterroles/admin",
                "/api/v1/namespaces//pods",
            ] {
                check(method.clone(), path, Err(Absence::Resource));
            }
        }
    }

    #[test]
    fn what_is_in_namespaces_is_not_found_outside_of_them() {
        check(Method::GET, "/api/v1/pods", Ok(()));
        check(Method::DELETE, "/api/v1/pods", Err(Absence::Method));
        check(Method::POST, "/api/v1/pods", Err(Absence::Method));
        check(Method::GET, "/api/v1/pods/p", Err(Absence::Resource));
        check(Method::GET, "/api/v1/pods/p/status", Err(Absence::Resource));
        check(Method::GET, "/api/v1/watch/pods/p", Err(Absence::Resource));
        check(Method::POST, "/apis/authorization.k8s.io/v1/localsubjectaccessreviews", Err(Absence::Resource));
    }

    #[test]
    fn paths_end_where_what_they_name_does() {
        check(Method::GET, "/api/v1/namespaces/foo/pods/p/log", Ok(()));
        check(Method::GET, "/api/v1/namespaces/foo/pods/p/log/more", Err(Absence::Resource));
        check(Method::GET, "/api/v1/namespaces/foo/pods/p/nothing", Err(Absence::Resource));
        check(Method::PUT, "/api/v1/namespaces/foo/status/more", Err(Absence::Resource));
        check(Method::GET, "/api/v1/namespaces/foo/pods//log", Err(Absence::Resource));
        check(Method::GET, "/api/v1/watch/namespaces/foo/pods/p/status", Err(Absence::Resource));
        check(Method::GET, "/api/v1/namespaces/foo/pods/p/proxy/any/thing", Ok(()));
        check(Method::GET, "/api/v1/proxy/nodes/n1", Err(Absence::Resource));
    }

    #[test]
    fn what_is_there_has_its_methods() {
        check(Method::GET, "/api/v1/namespaces/foo", Ok(()));
        check(Method::PUT, "/api/v1/namespaces/foo/finalize", Ok(()));
        check(Method::GET, "/api/v1/namespaces/foo/finalize", Err(Absence::Method));
        check(Method::GET, "/api/v1/watch/namespaces/foo", Ok(()));
        check(Method::POST, "/api/v1/watch/namespaces/foo", Err(Absence::Method));
        check(Method::HEAD, "/api/v1/namespaces/foo/pods/p", Err(Absence::Method));
        check(Method::HEAD, "/api/v1/namespaces/foo/pods/p/status", Err(Absence::Method));
        check(Method::OPTIONS, "/api/v1/namespaces/foo/pods", Err(Absence::Method));
        check(Method::POST, "/apis/authentication.k8s.io/v1/tokenreviews", Ok(()));
        check(Method::GET, "/apis/authentication.k8s.io/v1/tokenreviews/x", Err(Absence::Resource));
        check(Method::GET, "/apis/nothing.example.com/v1/things", Err(Absence::Page));
        check(Method::GET, "/apis/apps/v1/things", Err(Absence::Resource));
    }
}
