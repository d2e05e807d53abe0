//! What a CustomResourceDefinition is and means.
//!
//! Owns the reading of definitions, their defaults, their validation, the plan of their status, and what follows from one for
//! whoever serves its objects: versions in their order, columns, selectable fields, the schemas that OpenAPI publishes. It is
//! synchronous and does no IO; it knows nothing of requests or storage. What schemas mean is `pawl_structural`'s.

pub mod approval;
mod builtin;
mod ca;
mod columns;
mod conform;
mod definition;
mod definitions;
mod family;
mod fields;
mod instances;
mod json_path;
pub mod metrics;
mod naming;
pub mod openapi;
pub mod plan;
pub mod prepare;
pub mod registration;
mod selectable;
pub mod status;
mod survey;
pub mod validate;

pub use columns::{Columns, Header};
pub use conform::conform;
pub use definition::{AuthorSchema, Column, Conversion, Definition, Names, Scale, Service, Version, Webhook};
pub use definitions::{GROUP, PLURAL, with_definitions};
pub use family::Family;
pub use instances::{Settings, resources, stored_resource};
pub use json_path::JsonPath;
pub use naming::InUse;
pub use selectable::Selectable;
pub use survey::{AtRest, Refused, Survey};
