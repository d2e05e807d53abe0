//! What the registry does, on a real store.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod forms;
mod pods;
mod services;
mod stage;
