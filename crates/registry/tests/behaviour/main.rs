//! What the registry does, on a real store.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod decoders;
mod defined;
mod forms;
mod fuzz;
mod kinds_of_patches;
mod patches;
mod pods;
mod services;
mod stage;
