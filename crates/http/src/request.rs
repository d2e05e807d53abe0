//! What a request asks for, read from its method and path.

use http::Method;

use crate::query::Query;

/// A request as far as its head tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestInfo {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; else the method in lower case.
    pub verb: String,
    pub is_resource: bool,
    pub group: String,
    pub version: String,
    pub namespace: String,
    pub resource: String,
    pub subresource: String,
    pub name: String,
    /// The path without its escapes, and without the query: what rules for paths are held against.
    pub path: String,
    /// The old form of a watch: `/api/v1/watch/…`.
    pub watch_path: bool,
}

impl RequestInfo {
    pub fn parse(method: &Method, path: &str, query: &Query) -> Self {
        let path = crate::query::decode_path(path);
        let mut info = Self { verb: method.as_str().to_lowercase(), path: path.clone(), ..Self::default() };
        // An empty part within is a part: `/api//v1` is not `/api/v1`.
        let mut parts = path.trim_matches('/').split('/');
        match parts.next() {
            Some("api") => {}
            Some("apis") => match parts.next() {
                Some(group) => info.group = group.to_owned(),
                None => return info,
            },
            _ => return info,
        }
        let Some(version) = parts.next() else { return info };
        info.version = version.to_owned();
        let mut rest: Vec<&str> = parts.collect();
        if rest.is_empty() {
            return info;
        }
        if rest.first() == Some(&"watch") && rest.len() > 1 {
            info.watch_path = true;
            rest.remove(0);
        }
        info.is_resource = true;
        if rest.first() == Some(&"namespaces") {
            // Below a namespace, unless it is the namespace itself or one of its subresources.
            match rest.as_slice() {
                ["namespaces", namespace] => info.namespace = (*namespace).to_owned(),
                ["namespaces", namespace, "status" | "finalize", ..] => info.namespace = (*namespace).to_owned(),
                ["namespaces", namespace, ..] => {
                    info.namespace = (*namespace).to_owned();
                    rest.drain(..2);
                }
                _ => {}
            }
        }
        let mut rest = rest.into_iter();
        info.resource = rest.next().unwrap_or_default().to_owned();
        info.name = rest.next().unwrap_or_default().to_owned();
        info.subresource = rest.next().unwrap_or_default().to_owned();
        info.verb = verb(method, &info, query);
        // A watch of one object by field selector is a watch of that object, for who may do what too.
        if info.name.is_empty()
            && matches!(info.verb.as_str(), "list" | "watch" | "deletecollection")
            && let Some(selector) = query.get("fieldSelector")
            && let Ok(selector) = pawl_meta::selector::FieldSelector::parse(selector)
            && let Some(name) = selector.required("metadata.name")
            && pawl_meta::names::path_segment(name).is_empty()
        {
            info.name = name.to_owned();
        }
        info
    }

    /// Whether the path names an object, as opposed to a collection that a selector narrows.
    pub fn names_object(&self) -> bool {
        !self.name.is_empty()
            && !matches!(self.verb.as_str(), "list" | "deletecollection")
            && (self.verb != "watch" || self.watch_path)
    }

    /// Requests that last as long as their client wants.
    pub fn is_long_running(&self) -> bool {
        self.verb == "watch" || matches!(self.subresource.as_str(), "log" | "exec" | "attach" | "portforward" | "proxy")
    }

    pub fn is_mutating(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
    }
}

fn verb(method: &Method, info: &RequestInfo, query: &Query) -> String {
    let named = !info.name.is_empty();
    let verb = match *method {
        // Whatever the method: what cannot be watched is said by the handler.
        _ if info.watch_path => "watch",
        Method::GET | Method::HEAD if named => "get",
        Method::GET | Method::HEAD if query.get("watch").is_some_and(|w| !matches!(w, "false" | "0")) => "watch",
        Method::GET | Method::HEAD => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if named => "delete",
        Method::DELETE => "deletecollection",
        _ => return method.as_str().to_lowercase(),
    };
    verb.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: Method, uri: &str, expect: (&str, &str, &str, &str, &str, &str)) {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let info = RequestInfo::parse(&method, path, &Query::parse(query));
        let got = (&*info.verb, &*info.group, &*info.namespace, &*info.resource, &*info.name, &*info.subresource);
        assert_eq!(got, expect, "{method} {uri}");
    }

    #[test]
    fn paths_are_read_as_upstream_reads_them() {
        check(Method::GET, "/api/v1/namespaces/a/pods", ("list", "", "a", "pods", "", ""));
        check(Method::GET, "/api/v1/namespaces/a/pods?watch=1", ("watch", "", "a", "pods", "", ""));
        check(Method::GET, "/api/v1/namespaces/a", ("get", "", "a", "namespaces", "a", ""));
        check(Method::PUT, "/api/v1/namespaces/a/status", ("update", "", "a", "namespaces", "a", "status"));
        check(Method::GET, "/api/v1/namespaces", ("list", "", "", "namespaces", "", ""));
        check(
            Method::DELETE,
            "/apis/apps/v1/namespaces/a/deployments",
            ("deletecollection", "apps", "a", "deployments", "", ""),
        );
        check(
            Method::PATCH,
            "/apis/apps/v1/namespaces/a/deployments/d/scale",
            ("patch", "apps", "a", "deployments", "d", "scale"),
        );
        check(Method::GET, "/api/v1/watch/namespaces/a/pods/p", ("watch", "", "a", "pods", "p", ""));
        check(Method::POST, "/api/v1/watch/namespaces/a/pods", ("watch", "", "a", "pods", "", ""));
        check(Method::GET, "/healthz", ("get", "", "", "", "", ""));
        check(Method::GET, "/api/v1/namespaces%2Fa/pods", ("list", "", "a", "pods", "", ""));
        check(Method::GET, "/api%2Fv1/pods/", ("list", "", "", "pods", "", ""));
        check(Method::GET, "/api//v1", ("list", "", "", "v1", "", ""));
        check(Method::GET, "/apis/apps/v1//deployments", ("get", "apps", "", "", "deployments", ""));
        check(Method::GET, "/api/v1/pods?fieldSelector=metadata.name%3Dx", ("list", "", "", "pods", "x", ""));
    }
}
