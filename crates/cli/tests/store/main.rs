//! What is stored stays: kills, faults, snapshots, the past.

#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod crash;
mod faults;
mod first_release;
mod history;
mod snapshots;
