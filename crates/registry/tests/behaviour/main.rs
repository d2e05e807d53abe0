//! What the registry does, on a real store.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod decoders;
mod forms;
mod fuzz;
mod patches;
mod pods;
mod services;
mod stage;
