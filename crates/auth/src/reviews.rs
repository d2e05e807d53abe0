//! The review APIs: questions about access and identity, answered and never stored.
//!
//! Each function takes the posted object and gives back the answer, or the `Status` that upstream gives. Who may ask is
//! decided before, like for any other request.

mod access;
mod identity;

pub use access::{AccessReview, review_access, review_rules};
pub use identity::{review_self, review_token};
