//! What rules cannot say about CSI drivers, in the cluster and on a node.

use std::collections::HashSet;

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, formats};

use crate::hooks::dumped;
use crate::hooks::report::each;

/// The tokens that a driver wants: one per audience, of a sensible age.
pub fn driver_token_requests(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(spec) = read::map(object, "spec") else { return };
    let mut seen = HashSet::new();
    for (index, request) in read::objects(spec, "tokenRequests") {
        let at = path.child("spec").child("tokenRequests").index(index);
        let audience = read::text(request, "audience");
        if !seen.insert(audience) {
            errors.duplicate(&at.child("audience"), audience);
            continue;
        }
        let seconds = read::number(request, "expirationSeconds");
        if read::present(request, "expirationSeconds") && seconds < 600 {
            let detail = "may not specify a duration less than 10 minutes";
            errors.invalid(&at.child("expirationSeconds"), seconds, detail);
        }
        if seconds > 1 << 32 {
            let detail = "may not specify a duration larger than 2^32 seconds";
            errors.invalid(&at.child("expirationSeconds"), seconds, detail);
        }
    }
}

/// The ways in which a driver's volumes live; errors name the list.
pub fn driver_lifecycle_modes(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(spec) = read::map(object, "spec") else { return };
    for mode in read::texts(spec, "volumeLifecycleModes") {
        if !matches!(mode, "Persistent" | "Ephemeral") {
            let at = path.child("spec").child("volumeLifecycleModes");
            errors.not_supported(&at, mode, &["Persistent", "Ephemeral"]);
        }
    }
}

/// The topology keys of a driver on a node; errors name the driver.
pub fn node_driver_topology_keys(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let mut seen = HashSet::new();
    for key in read::texts(object, "topologyKeys") {
        if key.is_empty() {
            errors.required(path, "");
        }
        if !seen.insert(key) {
            errors.duplicate(path, key);
        }
        each(formats::qualified_name(key), path, key, errors);
    }
}

/// A driver on a node stays as it is, but for what it can take.
pub fn node_drivers_update(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let (Some(new), Some(old)) = (read::map(new, "spec"), read::map(old, "spec")) else { return };
    for (_, before) in read::objects(old, "drivers") {
        for (_, now) in read::objects(new, "drivers") {
            if read::text(now, "name") != read::text(before, "name") {
                continue;
            }
            if !["nodeID", "topologyKeys"].iter().all(|field| read::same(now, before, field)) {
                // What it can take may change, and is not compared.
                let mut now = now.clone();
                now.remove("allocatable");
                let shown = dumped("storage.v1.CSINodeDriver", &now);
                errors.invalid_shown(&path.child("spec").child("drivers"), shown, "field is immutable");
            }
        }
    }
}
