//! What the facts cannot say in a line: functions that `facts/rules` call by name, one file per family.
//!
//! A hook looks at JSON objects, reports what it finds and never panics. It knows nothing of requests or storage.

mod admissionregistration;
mod apps;
mod autoscaling;
mod batch;
mod certificates;
mod cluster;
mod config;
mod events;
mod flowcontrol;
mod functions;
mod identity;
mod network;
mod pods;
mod quantities;
mod quota;
mod read;
mod report;
mod resource;
mod service;
mod storage;
mod warnings;
pub mod webhook;

pub(crate) use functions::{CheckHook, FillHook, KeepHook, UpdateHook, WarnHook, check, fill, keep, update, warn};
pub(crate) use pods::equal;
