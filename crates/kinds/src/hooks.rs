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
mod dump;
mod events;
mod flowcontrol;
mod functions;
mod identity;
mod migration;
mod network;
mod pods;
mod quantities;
mod quota;
mod registration;
mod report;
mod resource;
mod service;
mod storage;
mod warnings;
pub mod webhook;

pub(crate) use dump::dumped;
use pawl_meta::object::Object;
use pawl_rules::Hooks;

/// The functions, as the engine of rules asks for them.
pub(crate) const HOOKS: Hooks = Hooks {
    fill: functions::fill,
    keep: functions::keep,
    check: functions::check,
    update: functions::update,
    warn: functions::warn,
};

/// An object of a type as messages show it: fields in the order of their declaration.
pub(crate) fn shown(type_name: &str, fields: &Object) -> String {
    pawl_rules::shown(crate::types::schema().named(type_name), fields)
}
