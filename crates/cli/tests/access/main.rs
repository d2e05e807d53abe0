//! Who gets in, what they may do, and what is recorded of it.

#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod audit;
mod certificates;
mod open_doors;
mod signing;
mod tenancy;
mod verdicts;
