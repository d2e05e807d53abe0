//! What a claim got: its allocation, who has reserved it, and what drivers report.

use std::collections::BTreeSet;

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, formats};
use serde_json::Value;

use super::claim::{raw_object, request_names, request_reference};
use super::names::{Set, driver_name, pool_name};
use crate::hooks::report::each;
use crate::hooks::shown;

/// Who has reserved a claim: each once, and only a claim that is allocated.
pub fn claim_reserved_for(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(status) = read::map(object, "status") else { return };
    let at = path.child("status").child("reservedFor");
    Set { field: "reservedFor", key: "uid", limit: 256 }.check(status, &at, errors, |consumer, at, errors| {
        for field in ["resource", "name", "uid"] {
            if read::text(consumer, field).is_empty() {
                errors.required(&at.child(field), "");
            }
        }
    });
}

/// What drivers report about devices: allocated ones only.
pub fn claim_device_status(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(status) = read::map(object, "status") else { return };
    let id = |device: &Object| -> String {
        let place = ["driver", "pool", "device"].map(|field| read::text(device, field)).join("/");
        match read::text(device, "shareID") {
            "" => place,
            share => format!("{place}/{share}"),
        }
    };
    let results = read::deep(status, &["allocation", "devices"]);
    let allocated: BTreeSet<String> = results
        .into_iter()
        .flat_map(|devices| read::objects(devices, "results"))
        .map(|(_, device)| id(device))
        .collect();
    let mut seen = BTreeSet::new();
    for (index, device) in read::objects(status, "devices") {
        let at = path.child("status").child("devices").index(index);
        reported_device(device, &at, errors);
        let name = id(device);
        if !allocated.contains(&name) {
            errors.invalid(&at, name.as_str(), "must be an allocated device in the claim");
        }
        if !seen.insert(name.clone()) {
            errors.duplicate(&at, name);
        }
    }
}

fn reported_device(device: &Object, at: &FieldPath, errors: &mut Errors) {
    driver_name(read::text(device, "driver"), &at.child("driver"), errors);
    pool_name(read::text(device, "pool"), &at.child("pool"), errors);
    let name = read::text(device, "device");
    each(formats::dns1123_label(name), &at.child("device"), name, errors);
    let conditions = read::list(device, "conditions").len();
    if conditions > 8 {
        errors.too_many(&at.child("conditions"), conditions, 8);
    }
    if read::present(device, "data") {
        raw_object(device.get("data"), &at.child("data"), errors);
    }
    let Some(network) = read::map(device, "networkData") else { return };
    for (field, limit) in [("interfaceName", 256), ("hardwareAddress", 128)] {
        if read::text(network, field).len() > limit {
            errors.too_long(&at.child("networkData").child(field), Value::Null, limit);
        }
    }
}

/// Reservations need an allocation, and none comes to a claim that goes.
pub fn claim_reserved_for_update(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let (status, before) = (read::within(new, "status"), read::within(old, "status"));
    let at = path.child("status").child("reservedFor");
    let reserved = read::list(status, "reservedFor");
    if reserved.is_empty() {
        return;
    }
    let deleted = read::map(new, "metadata").is_some_and(|metadata| read::present(metadata, "deletionTimestamp"));
    if !read::present(status, "allocation") {
        errors.forbidden(&at, "may not be specified when `allocated` is not set");
    } else if deleted && reserved.iter().any(|consumer| !read::list(before, "reservedFor").contains(consumer)) {
        let detail = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
        errors.forbidden(&at, detail);
    }
}

/// An allocation comes and goes as a whole.
pub fn claim_allocation_update(cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let (status, before) = (read::within(new, "status"), read::within(old, "status"));
    let at = path.child("status").child("allocation");
    let Some(allocation) = read::map(status, "allocation") else { return };
    if read::present(before, "allocation") {
        if !read::same(status, before, "allocation") {
            errors.invalid_shown(&at, shown("resource.v1.AllocationResult", allocation), "field is immutable");
        }
        return;
    }
    let names = request_names(cx.root);
    let Some(devices) = read::map(allocation, "devices") else { return };
    for (index, result) in read::objects(devices, "results") {
        let at = at.child("devices").child("results").index(index);
        request_reference(read::text(result, "request"), &names, &at.child("request"), errors);
        driver_name(read::text(result, "driver"), &at.child("driver"), errors);
        pool_name(read::text(result, "pool"), &at.child("pool"), errors);
        let name = read::text(result, "device");
        each(formats::dns1123_label(name), &at.child("device"), name, errors);
    }
}
