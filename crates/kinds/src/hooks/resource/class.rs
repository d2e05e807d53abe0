//! What rules cannot say about classes of devices.

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath};

use crate::hooks::quantities;

/// A class may stand for an extended resource.
pub fn device_class_extended_resource(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(spec) = read::map(object, "spec") else { return };
    let name = read::text(spec, "extendedResourceName");
    if read::present(spec, "extendedResourceName") && !quantities::is_extended(name) {
        let at = path.child("spec").child("extendedResourceName");
        errors.invalid(&at, name, "must be a valid extended resource name");
    }
}
