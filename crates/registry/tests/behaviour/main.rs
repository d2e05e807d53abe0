//! What the registry does, on a real store.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod decoders;
mod defined;
mod faults;
mod faulty;
mod forms;
mod fuzz;
mod history;
mod kinds_of_patches;
mod patches;
mod pods;
mod services;
mod stage;

/// Values are stored as they are.
const KEYS: stage::Keys = stage::Keys::None;
