//! What the server says about itself: built from the table of resources when asked for, kept until the table changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use pawl_controllers::Catalogue;
use pawl_discovery::{Source, aggregated, legacy, openapi_v2, openapi_v3};
use pawl_http::{Blob, Documents, Media};
use pawl_kinds::Resource;
use pawl_meta::Status;
use pawl_meta::object::Object;
use pawl_registry::{Registry, Table};
use serde_json::{Value, json};

pub struct FromTable {
    registry: Arc<Registry>,
    source: Source,
    catalogue: Arc<Catalogue>,
    /// The address that clients are told to use.
    address: String,
    kept: Mutex<Kept>,
}

/// Documents of one table.
#[derive(Default)]
struct Kept {
    table: Option<Arc<Table>>,
    blobs: HashMap<String, Blob>,
    /// Documents of OpenAPI 3 by key: each is good as long as its hash is, whatever else changes.
    versions: HashMap<String, Blob>,
}

impl FromTable {
    pub fn new(registry: Arc<Registry>, source: Source, catalogue: Arc<Catalogue>, address: String) -> Self {
        Self { registry, source, catalogue, address, kept: Mutex::default() }
    }

    /// A document of the present table, built unless it was asked for before.
    fn keep(&self, key: &str, build: impl FnOnce(&[&Resource]) -> Option<Vec<u8>>) -> Option<Blob> {
        let table = self.registry.table();
        {
            let mut kept = self.lock();
            if !kept.table.as_ref().is_some_and(|t| Arc::ptr_eq(t, &table)) {
                (kept.table, kept.blobs) = (Some(Arc::clone(&table)), HashMap::new());
            }
            if let Some(blob) = kept.blobs.get(key) {
                return Some(blob.clone());
            }
        }
        let bytes = build(&resources(&table))?;
        let blob = Blob { etag: pawl_discovery::etag(&bytes), bytes: bytes.into() };
        let mut kept = self.lock();
        // What was built from a table that has changed meanwhile is answered to who asked before, and to nobody after.
        if kept.table.as_ref().is_some_and(|t| Arc::ptr_eq(t, &table)) {
            kept.blobs.insert(key.to_owned(), blob.clone());
        }
        Some(blob)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn root(&self, table: &Table) -> Value {
        let mut paths: Vec<String> = [
            "/.well-known/openid-configuration",
            "/api",
            "/api/v1",
            "/apis",
            "/apis/",
            "/healthz",
            "/healthz/etcd",
            "/healthz/ping",
            "/livez",
            "/livez/etcd",
            "/livez/ping",
            "/metrics",
            "/openapi/v2",
            "/openapi/v3",
            "/openapi/v3/",
            "/openid/v1/jwks",
            "/readyz",
            "/readyz/etcd",
            "/readyz/ping",
            "/version",
        ]
        .map(str::to_owned)
        .to_vec();
        for served in table.served().iter().filter(|s| !s.resource.facts.group.is_empty()) {
            paths.push(format!("/apis/{}", served.resource.facts.group));
            paths.push(format!("/apis/{}", served.resource.group_version()));
        }
        paths.sort();
        paths.dedup();
        json!({"paths": paths})
    }
}

fn resources(table: &Table) -> Vec<&Resource> {
    table.served().iter().map(|s| &s.resource).collect()
}

impl Documents for FromTable {
    fn discovery(&self, path: &str) -> Option<Value> {
        let table = self.registry.table();
        let resources = resources(&table);
        let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
        let document = match parts.as_slice() {
            [] => Ok(self.root(&table)),
            ["api"] => serde_json::to_value(legacy::api_versions(&resources, &self.address)),
            ["api", version] => serde_json::to_value(legacy::resource_list(&resources, "", version)?),
            ["apis"] => serde_json::to_value(legacy::group_list(&resources)),
            ["apis", group] => serde_json::to_value(legacy::group(&resources, group)?),
            ["apis", group, version] => serde_json::to_value(legacy::resource_list(&resources, group, version)?),
            _ => return None,
        };
        document.ok()
    }

    fn aggregated(&self, core: bool, media: Media) -> Option<Blob> {
        let root = if core { aggregated::Root::Core } else { aggregated::Root::Groups };
        self.keep(&format!("aggregated/{root:?}/{media:?}"), |resources| {
            let document = aggregated::document(resources, root);
            match media {
                Media::Json => serde_json::to_vec(&document).ok(),
                Media::Yaml => Some(pawl_schema::yaml::emit(&serde_json::to_value(&document).ok()?).into()),
                Media::Protobuf => pawl_registry::message(&serde_json::to_value(&document).ok()?),
            }
        })
    }

    fn invalid_objects(&self, definition: &str, candidate: Option<&Object>) -> Result<Value, Status> {
        self.catalogue.invalid_objects(definition, candidate)
    }

    fn openapi_v3_index(&self) -> Option<Blob> {
        self.keep("v3", |resources| serde_json::to_vec(&openapi_v3::index(self.source, resources)).ok())
    }

    fn openapi_v3(&self, key: &str) -> Option<Blob> {
        let table = self.registry.table();
        let resources = resources(&table);
        let Some(etag) = openapi_v3::hash(self.source, &resources, key) else {
            self.lock().versions.remove(key);
            return None;
        };
        if let Some(blob) = self.lock().versions.get(key).filter(|blob| blob.etag == etag) {
            return Some(blob.clone());
        }
        let bytes = openapi_v3::document(self.source, &resources, key)?;
        let blob = Blob { etag, bytes: bytes.into() };
        self.lock().versions.insert(key.to_owned(), blob.clone());
        Some(blob)
    }

    fn openapi_v2(&self, protobuf: bool) -> Option<Blob> {
        if protobuf {
            self.keep("v2.pb", |resources| Some(openapi_v2::protobuf(self.source, resources)))
        } else {
            self.keep("v2", |resources| Some(openapi_v2::json(self.source, resources)))
        }
    }
}
