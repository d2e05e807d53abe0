//! Discovery documents, from the table of resources.

use std::sync::Arc;

use pawl_http::Documents;
use pawl_registry::Registry;
use serde_json::Value;

pub struct FromTable {
    pub registry: Arc<Registry>,
}

impl Documents for FromTable {
    fn discovery(&self, _path: &str) -> Option<Value> {
        None
    }

    fn aggregated(&self, _core: bool, _version: &str) -> Option<Value> {
        None
    }
}
