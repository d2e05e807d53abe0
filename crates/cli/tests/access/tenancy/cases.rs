//! The requests: every resource that discovery names, in every scope and spelling, by every method.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Method;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

use pawl_testing::{Client, Failure};

/// One request, whoever makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    pub method: Method,
    /// With its query, and without what makes sure that nothing happens.
    pub path: String,
}

/// A resource as discovery names it.
#[derive(Clone, Debug, Default)]
pub struct Resource {
    /// `/apis/apps/v1`
    pub root: String,
    pub plural: String,
    pub kind: String,
    pub below: Vec<String>,
}

/// Resources that are tried in every way: of each shape there is one.
const THOROUGH: [&str; 12] = [
    "pods",
    "configmaps",
    "secrets",
    "namespaces",
    "nodes",
    "deployments",
    "clusterroles",
    "rolebindings",
    "serviceaccounts",
    "bindings",
    "localsubjectaccessreviews",
    "selfsubjectaccessreviews",
];

const METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

/// `{r}` is the root of the group version, `{p}` the plural.
const PLAIN: &[&str] = &[
    "{r}/{p}",
    "{r}/{p}/x",
    "{r}/namespaces/foo/{p}",
    "{r}/namespaces/foo/{p}/x",
    "{r}/namespaces/victim/{p}",
    "{r}/namespaces/victim/{p}/x",
    "{r}/namespaces/foo/{p}/x/nothing",
    "{r}/watch/{p}",
    "{r}/watch/namespaces/foo/{p}/x",
];

const BELOW: &[&str] = &[
    "{r}/{p}/x/{s}",
    "{r}/namespaces/foo/{p}/x/{s}",
    "{r}/namespaces/victim/{p}/x/{s}",
    "{r}/namespaces/foo/{p}/x/{s}/more",
    "{r}/watch/namespaces/foo/{p}/x/{s}",
];

const ODD: &[&str] = &[
    "{r}/namespaces//{p}",
    "{r}/namespaces//{p}/x",
    "{r}/namespaces/foo//{p}/x",
    "{r}/namespaces/foo/{p}//",
    "{r}/namespaces/foo/{p}/x/",
    "{r}/namespaces/foo/{p}//status",
    "{r}/namespaces/foo%2F{p}%2Fx",
    "{r}/namespaces%2Fvictim/{p}/x",
    "{r}/namespaces/foo/{p}%2Fx%2Fstatus",
    "{r}/namespaces/foo/../victim/{p}/x",
    "{r}/namespaces/foo/%2e%2e/victim/{p}/x",
    "{r}/namespaces/foo/{p}/..%2F..%2Fvictim%2F{p}%2Fx",
    "/{r}/namespaces/foo/{p}/x",
    "{r}/NAMESPACES/foo/{p}",
    "{r}/namespaces/FOO/{p}",
    "{r}/namespaces/foo/{p};/x",
    "{r}/namespaces/foo/namespaces/victim/{p}/x",
    "{r}/namespaces/foo/namespaces/foo/{p}/x",
    "{r}/namespaces/foo/{p}/x/status/more/and/more",
    "{r}/watch/namespaces/victim/{p}",
    "{r}/watch/namespaces/foo/{p}/x/status",
    "{r}/watch/{p}/x",
    "{r}/proxy/namespaces/foo/{p}/x",
    "{r}/redirect/namespaces/foo/{p}/x",
    "{r}/namespaces/foo/{p}/x%00",
    "{r}/namespaces/foo/{p}/%78",
    "{r}/namespaces/f%6Fo/{p}/x",
    "{r}/namespaces/foo/{p}/x%20",
    "{r}/namespaces/%66oo%2f%2e%2e%2fvictim/{p}",
];

const QUERIES: &[&str] = &[
    "watch=1",
    "watch=0",
    "watch=FALSE",
    "watch=",
    "watch=true&watch=false",
    "fieldSelector=metadata.name%3Dx",
    "fieldSelector=metadata.name%3D%3Dx",
    "fieldSelector=metadata.name!%3Dx",
    "fieldSelector=metadata.namespace%3Dvictim",
    "fieldSelector=metadata.name%3Dx%2Cmetadata.namespace%3Dvictim",
    "fieldSelector=metadata.name%3Dx&fieldSelector=metadata.name%3Dy",
    "watch=1&fieldSelector=metadata.name%3Dx",
    "namespace=victim",
];

pub const DOCUMENTS: &[&str] = &[
    "/",
    "/api",
    "/api/",
    "/apis",
    "/api/v1",
    "/apis/apps",
    "/apis/apps/v1",
    "/apis/nobody.example/v1/things",
    "/api//v1",
    "//api",
    "//healthz",
    "/openapi/v2",
    "/openapi/v3",
    "/version",
    "/metrics",
    "/healthz",
    "/healthz/ping",
    "/healthz/../api/v1/secrets",
    "/healthz%2f..%2fapi",
    "/livez/ping",
    "/readyz",
    "/logs",
    "/nothing",
    "/%6detrics",
    "/.well-known/openid-configuration",
    "/openid/v1/jwks",
];

impl Case {
    /// The path and a query that makes sure that nothing happens.
    pub fn uri(&self) -> String {
        let mark = if self.path.contains('?') { '&' } else { '?' };
        match self.method {
            Method::GET | Method::HEAD | Method::OPTIONS => self.path.clone(),
            _ => format!("{}{mark}dryRun=All", self.path),
        }
    }

    /// Whether the answer is a stream.
    pub fn lasts(&self) -> bool {
        self.path.contains("watch")
    }

    /// Gives a request the body of its method.
    pub fn fill(&self, head: http::request::Builder) -> (http::request::Builder, Bytes) {
        let (content_type, body) = match self.method {
            Method::POST => ("application/json", json!({"metadata": {"name": "fresh"}})),
            Method::PUT => ("application/json", json!({"metadata": {"name": "x"}})),
            Method::PATCH => ("application/merge-patch+json", json!({"metadata": {"labels": {"a": "b"}}})),
            _ => return (head, Bytes::new()),
        };
        (head.header(CONTENT_TYPE, content_type), Bytes::from(body.to_string()))
    }
}

/// What discovery names.
pub async fn resources(admin: &Client) -> Result<Vec<Resource>, Failure> {
    let mut roots = vec!["/api/v1".to_owned()];
    let groups = admin.get("/apis").await?.expect(200);
    for version in list(&groups["groups"]).flat_map(|group| list(&group["versions"])) {
        roots.push(format!("/apis/{}", version["groupVersion"].as_str().unwrap_or_default()));
    }
    let mut found = Vec::new();
    for root in roots {
        let document = admin.get(&root).await?.expect(200);
        let mut here: BTreeMap<String, Resource> = BTreeMap::new();
        for resource in list(&document["resources"]) {
            let name = resource["name"].as_str().unwrap_or_default();
            let (plural, below) = name.split_once('/').map_or((name, None), |(plural, below)| (plural, Some(below)));
            let entry = here.entry(plural.to_owned()).or_default();
            entry.below.extend(below.map(str::to_owned));
            if below.is_none() {
                entry.kind = resource["kind"].as_str().unwrap_or_default().to_owned();
            }
        }
        found.extend(here.into_iter().map(|(plural, found)| Resource { root: root.clone(), plural, ..found }));
    }
    Ok(found)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// All requests, each once.
pub fn all(resources: &[Resource]) -> Vec<Case> {
    let mut cases = Vec::new();
    for path in DOCUMENTS {
        for method in [Method::GET, Method::HEAD, Method::POST, Method::DELETE] {
            cases.push(Case { method, path: (*path).to_owned() });
        }
    }
    for resource in resources {
        let mut add = |methods: &[Method], shape: &str, below: &str, query: &str| {
            let path = shape.replace("{r}", &resource.root).replace("{p}", &resource.plural).replace("{s}", below);
            let path = if query.is_empty() { path } else { format!("{path}?{query}") };
            cases.extend(methods.iter().map(|method| Case { method: method.clone(), path: path.clone() }));
        };
        let thorough = THOROUGH.contains(&resource.plural.as_str());
        let methods = if thorough { &METHODS[..] } else { &[Method::GET, Method::DELETE] };
        PLAIN.iter().for_each(|shape| add(methods, shape, "", ""));
        for below in &resource.below {
            let methods = [Method::GET, Method::PUT, Method::POST];
            BELOW.iter().for_each(|shape| add(&methods, shape, below, ""));
        }
        if thorough {
            ODD.iter().for_each(|shape| add(&[Method::GET, Method::DELETE], shape, "", ""));
            for query in QUERIES {
                add(&[Method::GET, Method::DELETE], "{r}/{p}", "", query);
                add(&[Method::GET, Method::DELETE], "{r}/namespaces/foo/{p}", "", query);
            }
        }
    }
    cases.sort_by(|a, b| (&a.path, a.method.as_str()).cmp(&(&b.path, b.method.as_str())));
    cases.dedup();
    cases
}
