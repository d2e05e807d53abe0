//! What rules cannot say about the kinds of dynamic resource allocation: references among requests, the union of what a
//! slice is for, and the many small limits on devices. One file per concern below; `resource.rules` finds everything here
//! by name.

mod capacities;
mod claim;
mod claim_status;
mod class;
mod device;
mod names;
mod selectors;
mod slice;

pub use claim::*;
pub use claim_status::*;
pub use class::*;
pub use selectors::device_selector_expression;
pub use slice::*;
