//! What a request asks for, read from its method and path. Nothing here knows what is served: `target` finds that out.

use std::borrow::Cow;

use http::header::HOST;
use http::{Method, Request, Version};

use crate::query::Query;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
    /// The word of anything else: of the old form of a proxy `proxy`, of a path that is not that of a resource the method in
    /// lower case, of other methods none.
    Other(Cow<'static, str>),
}

impl Verb {
    const NONE: Self = Self::Other(Cow::Borrowed(""));

    /// The word that rules and records have for it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Other(word) => word,
        }
    }

    /// That of a path where no resource is.
    fn of_path(method: &Method) -> Self {
        match *method {
            Method::GET => Self::Get,
            Method::PATCH => Self::Patch,
            Method::DELETE => Self::Delete,
            Method::POST => Self::Other(Cow::Borrowed("post")),
            Method::PUT => Self::Other(Cow::Borrowed("put")),
            _ => Self::Other(Cow::Owned(method.as_str().to_lowercase())),
        }
    }

    fn of_resource(method: &Method, info: &RequestInfo, query: &Query) -> Self {
        let named = !info.name.is_empty();
        match *method {
            // Whatever the method: what cannot be watched is said by the handler.
            _ if info.watch_path => Self::Watch,
            _ if info.proxy_path => Self::Other(Cow::Borrowed("proxy")),
            Method::GET | Method::HEAD if named => Self::Get,
            Method::GET | Method::HEAD if query.flag("watch").unwrap_or(false) => Self::Watch,
            Method::GET | Method::HEAD => Self::List,
            Method::POST => Self::Create,
            Method::PUT => Self::Update,
            Method::PATCH => Self::Patch,
            Method::DELETE if named => Self::Delete,
            Method::DELETE => Self::DeleteCollection,
            _ => Self::NONE,
        }
    }
}

impl Default for Verb {
    fn default() -> Self {
        Self::NONE
    }
}

/// A request as far as its head tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestInfo {
    pub verb: Verb,
    pub is_resource: bool,
    pub group: String,
    pub version: String,
    pub namespace: String,
    /// The path goes through the namespace to something in it. That of a namespace itself does not.
    pub below_namespace: bool,
    pub resource: String,
    pub subresource: String,
    pub name: String,
    /// The path without its escapes, and without the query: what rules for paths are held against.
    pub path: String,
    /// The path goes on below the subresource.
    pub surplus: bool,
    /// The old form of a watch: `/api/v1/watch/…`.
    pub watch_path: bool,
    /// The old form of a proxy: `/api/v1/proxy/…`, which nothing answers any more.
    pub proxy_path: bool,
}

impl RequestInfo {
    pub fn parse(method: &Method, path: &str, query: &Query) -> Self {
        let path = crate::query::decode_path(path);
        let mut info = Self { verb: Verb::of_path(method), path: path.clone(), ..Self::default() };
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
        if rest.len() > 1 {
            info.watch_path = rest.first() == Some(&"watch");
            info.proxy_path = rest.first() == Some(&"proxy");
        }
        if info.watch_path || info.proxy_path {
            rest.remove(0);
        }
        info.is_resource = true;
        match rest.as_slice() {
            // The namespace itself or one of its subresources.
            ["namespaces", namespace] | ["namespaces", namespace, "status" | "finalize", ..] => {
                info.namespace = (*namespace).to_owned();
            }
            // So is its past, where no resource can have that name.
            ["namespaces", namespace, "history", ..] if info.group.is_empty() => {
                info.namespace = (*namespace).to_owned();
            }
            ["namespaces", namespace, ..] => {
                info.namespace = (*namespace).to_owned();
                info.below_namespace = true;
                rest.drain(..2);
            }
            _ => {}
        }
        let mut rest = rest.into_iter();
        info.resource = rest.next().unwrap_or_default().to_owned();
        info.name = rest.next().unwrap_or_default().to_owned();
        if !info.proxy_path {
            info.subresource = rest.next().unwrap_or_default().to_owned();
        }
        info.surplus = rest.next().is_some();
        info.verb = Verb::of_resource(method, &info, query);
        // A list or watch of one object by field selector is one of that object, for who may do what too. A deletion is not.
        if info.name.is_empty()
            && !info.watch_path
            && matches!(info.verb, Verb::List | Verb::Watch)
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
        !self.name.is_empty() && self.verb != Verb::List && (self.verb != Verb::Watch || self.watch_path)
    }

    /// Requests that last as long as their client wants.
    pub fn is_long_running(&self) -> bool {
        self.verb == Verb::Watch || self.leads_to_node()
    }

    /// Requests that only a node can answer.
    pub fn leads_to_node(&self) -> bool {
        matches!(self.subresource.as_str(), "log" | "exec" | "attach" | "portforward" | "proxy")
    }

    pub fn is_mutating(&self) -> bool {
        !matches!(self.verb, Verb::Get | Verb::List | Verb::Watch)
    }
}

/// What is wrong with how a request names its host, in the words of upstream. HTTP/1.1 names exactly one; a second one is how
/// two servers in a row are made to disagree.
pub(crate) fn host_problem<B>(request: &Request<B>) -> Option<&'static str> {
    match request.headers().get_all(HOST).iter().count() {
        0 if request.version() == Version::HTTP_11 => Some("missing required Host header"),
        0 | 1 => None,
        _ => Some("too many Host headers"),
    }
}

/// What is wrong with how a path is written.
pub(crate) fn path_problem(path: &str) -> Option<&'static str> {
    let is_escape = |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    let is_sound = path.split('%').skip(1).all(is_escape);
    (!is_sound).then_some("invalid URL escape")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: Method, uri: &str, expect: (&str, &str, &str, &str, &str, &str)) {
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let info = RequestInfo::parse(&method, path, &Query::parse(query));
        let got =
            (info.verb.as_str(), &*info.group, &*info.namespace, &*info.resource, &*info.name, &*info.subresource);
        assert_eq!(got, expect, "{method} {uri}");
    }

    #[test]
    fn a_namespace_has_a_past_and_others_may_have_a_resource_of_that_name() {
        check(Method::GET, "/api/v1/namespaces/a/history", ("get", "", "a", "namespaces", "a", "history"));
        let theirs = "/apis/example.com/v1/namespaces/a/history";
        check(Method::GET, theirs, ("list", "example.com", "a", "history", "", ""));
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
        check(Method::GET, "/api/v1/pods?watch=False", ("list", "", "", "pods", "", ""));
        check(Method::GET, "/api/v1/proxy/nodes/n/logs", ("proxy", "", "", "nodes", "n", ""));
        check(Method::OPTIONS, "/api/v1/nodes/n", ("", "", "", "nodes", "n", ""));
        check(Method::OPTIONS, "/healthz", ("options", "", "", "", "", ""));
    }

    #[test]
    fn escapes_are_two_digits() {
        for (path, is_sound) in [("/a%2fb%41", true), ("/a", true), ("/%zz", false), ("/a%", false), ("/%1", false)] {
            assert_eq!(path_problem(path).is_none(), is_sound, "{path}");
        }
    }

    /// Who may delete one object may not delete a collection that a selector narrows to it.
    #[test]
    fn a_deletion_takes_no_name_from_a_selector() {
        let uri = "/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dx";
        check(Method::DELETE, uri, ("deletecollection", "", "a", "pods", "", ""));
    }

    #[test]
    fn what_a_path_goes_through_is_kept() {
        for (path, below_namespace, surplus) in [
            ("/api/v1/namespaces/a", false, false),
            ("/api/v1/namespaces/a/status", false, false),
            ("/api/v1/namespaces/a/status/more", false, true),
            ("/api/v1/namespaces/a/pods", true, false),
            ("/api/v1/namespaces/a/namespaces/a", true, false),
            ("/api/v1/namespaces/a/pods/p/log/more", true, true),
            ("/api/v1/nodes/n/proxy/logs", false, true),
        ] {
            let info = RequestInfo::parse(&Method::GET, path, &Query::default());
            assert_eq!((info.below_namespace, info.surplus), (below_namespace, surplus), "{path}");
        }
    }
}
