//! The built-in kinds, as data.
//!
//! A built-in kind is a custom resource that ships in the binary: resources, types, defaults and rules are facts in
//! `facts/`, read once. Code stands here only where data cannot say it, beside its kind and found by its name. What a kind
//! does is asked through [`Behaviour`], which a kind that users define answers too. It knows nothing of requests or storage.

mod behaviour;
pub mod bootstrap;
mod builtin;
mod convert;
mod descriptions;
pub mod facts;
mod hooks;
pub mod print;
mod resource;
mod status_fields;
mod types;

pub use behaviour::{Behaviour, Columns, Findings, Forms, Mark, Passed, Published, Write};
pub use builtin::{BrokenFacts, Kinds, builtin, kinds, load};
pub use hooks::webhook;
pub use pawl_rules::{Errors, MetadataCheck, MetadataPass, Prepare};
pub use resource::{Generation, NameRule, Refused, Resource, ResourceFacts, ScalePaths, Subresource};
pub use types::{openapi_name, schema};
