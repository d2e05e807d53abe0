//! One file per verb: parse, call the registry, render.

pub mod binding;
pub mod component;
pub mod create;
pub mod delete;
pub mod deletecollection;
pub mod documents;
pub mod eviction;
pub mod get;
mod history;
pub mod list;
mod node;
mod own;
pub mod patch;
pub mod review;
pub mod subresource;
pub mod update;
mod usedby;
pub mod watch;
