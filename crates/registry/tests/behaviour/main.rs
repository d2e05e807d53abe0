//! What the registry does, on a real store.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod decoders;
mod forms;
mod fuzz;
mod kinds_of_patches;
mod patches;
mod pods;
mod services;
mod stage;
