//! How hooks report several findings about one text.

use pawl_rules::{Errors, FieldPath};

/// Reports what is wrong with a text, one error per finding.
pub fn each(found: Vec<String>, at: &FieldPath, bad: &str, errors: &mut Errors) {
    for detail in found {
        errors.invalid(at, bad, detail);
    }
}
