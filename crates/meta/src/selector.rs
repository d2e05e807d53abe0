//! Label and field selectors: their syntax, upstream's errors, and what they match.

mod field;
mod label;

pub use field::{FieldRequirement, FieldSelector};
pub use label::{LabelRequirement, LabelSelector, Operator};
