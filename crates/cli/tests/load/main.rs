//! What many clients, or hostile ones, do to each other.

#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod attacks;
mod bodies;
mod fair_shares;
mod flood;
