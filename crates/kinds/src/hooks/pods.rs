//! What rules cannot say about pods: values that follow from other fields, names that must agree across a pod's parts,
//! and which changes a running pod may see. One file per concern below; `pods.rules` finds everything here by name.

mod annotations;
mod changes;
mod containers;
mod defaults;
mod path_overlaps;
mod placement;
mod resize;
pub(crate) mod resources;
mod security;
mod spec;
mod status;
mod volumes;
pub(crate) mod warnings;

pub use annotations::*;
pub use changes::{pod_ephemeral_changes, pod_keep_but_ephemeral, pod_spec_changes};
pub use containers::*;
pub use defaults::*;
pub use placement::*;
pub use resize::*;
pub use resources::{container_resources, pod_level_resources, pod_overhead};
pub use security::*;
pub use spec::*;
pub use status::*;
pub use volumes::*;
pub use warnings::{
    named_template_warnings, pod_status_warnings, pod_template_warnings, pod_warnings, template_warnings,
};

use pawl_meta::object::Object;

use pawl_meta::read;
use pawl_rules::{Check, FieldPath};

/// The three lists that hold containers.
pub(crate) const CONTAINER_LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// Every container of a pod spec with its path: init containers, containers, ephemeral ones.
pub(crate) fn all_containers<'a>(spec: &'a Object, path: &FieldPath) -> Vec<(&'a Object, FieldPath)> {
    let mut found = Vec::new();
    for field in CONTAINER_LISTS {
        let at = path.child(field);
        found.extend(read::objects(spec, field).map(|(index, container)| (container, at.index(index))));
    }
    found
}

/// The pod spec around what is being checked.
pub(crate) fn enclosing_spec<'a>(cx: &'a Check<'_>) -> Option<&'a Object> {
    cx.enclosing("core.v1.PodSpec")
}
