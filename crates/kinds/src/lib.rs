//! The built-in kinds, as data.
//!
//! A built-in kind is a custom resource that ships in the binary: resources, types, defaults and rules are facts in
//! `facts/`, read on first use. Code stands here only where data cannot say it, beside its kind and found by its name.
//! It knows nothing of requests or storage.

pub mod bootstrap;
pub mod convert;
pub mod descriptions;
pub mod facts;
mod formats;
mod hooks;
pub mod print;
mod resource;
pub mod rules;
mod types;

pub use hooks::webhook;
pub use resource::{Facts, NameRule, Resource, Subresource, builtin};
pub use types::{openapi_name, schema};
