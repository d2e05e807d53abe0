//! What Kubernetes adds: its functions, its costs, and types from its schemas.

pub mod authorizer;
pub mod cost;
pub mod declaration;
pub mod formats;
pub mod lists;
pub mod network;
pub mod quantity;
pub mod regex;
pub mod rules;
pub mod schema;
pub mod semver;
pub mod urls;

use crate::env::Library;
use crate::library;
use std::sync::{Arc, OnceLock};

/// The most that one evaluation may cost.
pub const CALL_COST_LIMIT: u64 = 1_000_000;
/// The most that all rules of one object may cost together.
pub const OBJECT_COST_BUDGET: u64 = 10_000_000;
/// The most that one expression may be estimated at.
pub const ESTIMATED_EXPRESSION_LIMIT: u64 = 10_000_000;
/// The most that all expressions of one schema may be estimated at together.
pub const ESTIMATED_SCHEMA_LIMIT: u64 = 100_000_000;
/// The size of a request that estimates assume.
pub const MAX_REQUEST_BYTES: u64 = 3_145_728;
/// The longest result of a message expression.
pub const MAX_MESSAGE_BYTES: usize = 5_120;

/// The library of rules in schemas.
pub fn library() -> Arc<Library> {
    static LIBRARY: OnceLock<Arc<Library>> = OnceLock::new();
    LIBRARY.get_or_init(|| Arc::new(build())).clone()
}

fn build() -> Library {
    let mut library = library::extended();
    library.literal_checks = true;
    library.presence_test_costs = false;
    library.cost = cost::MODEL;
    authorizer::add(&mut library);
    lists::add(&mut library);
    regex::add(&mut library);
    urls::add(&mut library);
    quantity::add(&mut library);
    network::add(&mut library);
    formats::add(&mut library);
    semver::add(&mut library);
    library
}
