//! A schema as part of a definition: everything that is wrong with it, in the order and the words that authors know.

mod cost;
mod defaults;
mod go_form;
mod keywords;
mod structural;

use pawl_meta::{Errors, FieldPath};

use crate::props::Props;

pub use structural::structural_errors;

/// What is asked of a schema. Of one that was stored before, less than of a new one.
#[derive(Clone, Debug)]
pub struct Checks {
    pub allow_defaults: bool,
    /// Why defaults are not allowed, for the message.
    pub no_defaults_because: String,
    pub require_valid_types: bool,
    pub require_structural: bool,
    pub require_pruned_defaults: bool,
    pub require_atomic_sets: bool,
    pub require_map_list_keys: bool,
    /// The cost of single expressions does not count: the schema did not change.
    pub ignore_expression_cost: bool,
    /// The version has `/status`: its schema is taken out of the whole.
    pub status_subresource: bool,
}

impl Checks {
    /// What is asked of a new schema.
    pub fn of_new(status_subresource: bool) -> Checks {
        Checks {
            allow_defaults: true,
            no_defaults_because: String::new(),
            require_valid_types: true,
            require_structural: true,
            require_pruned_defaults: true,
            require_atomic_sets: true,
            require_map_list_keys: true,
            ignore_expression_cost: false,
            status_subresource,
        }
    }
}

/// What is wrong with a schema. `path` is that of what holds `openAPIV3Schema`.
pub fn schema_errors(schema: &Props, path: &FieldPath, checks: &Checks) -> Errors {
    let at = path.child("openAPIV3Schema");
    let mut errors = Errors::new();
    if checks.status_subresource {
        keywords::check_root_with_status(schema, path, &mut errors);
    }
    if schema.nullable {
        errors.forbidden(&path.child("openAPIV3Schema.nullable"), "nullable cannot be true at the root");
    }
    let mut total = None;
    let mut unreadable = None;
    if checks.require_structural {
        match structural_errors(schema, &at) {
            Err(why) => unreadable = Some(why),
            Ok(wrong) if !wrong.is_empty() => errors.append(wrong),
            Ok(_) => {
                let wrong = defaults::check(schema, &at, checks.require_pruned_defaults);
                if wrong.is_empty() {
                    total = Some(cost::Total::default());
                }
                errors.append(wrong);
            }
        }
    }
    let mut found = keywords::check(schema, &at, checks, total.as_mut());
    errors.append(std::mem::take(&mut found.schema));
    errors.append(std::mem::take(&mut found.rules));
    if let Some(why) = unreadable.filter(|_| errors.is_empty()) {
        errors.invalid(&at, "", why);
    }
    if let Some(total) = total {
        total.report(&at, &mut errors);
    }
    errors
}

impl Props {
    /// The schema as upstream prints it inside messages.
    pub fn shown(&self) -> String {
        go_form::schema(self)
    }

    pub fn has_unpruned_defaults(&self) -> bool {
        let is_structural = structural_errors(self, &FieldPath::root()).is_ok_and(|errors| errors.is_empty());
        is_structural && self.has_defaults() && defaults::has_unpruned(self)
    }

    pub fn has_non_atomic_sets(&self) -> bool {
        self.any(&mut |schema| keywords::item_that_is_no_unit(schema).is_some())
    }

    pub fn has_invalid_map_list_keys(&self) -> bool {
        self.any(&mut |schema| {
            let mut errors = Errors::new();
            keywords::check_map_list_keys(schema, &FieldPath::root(), &mut errors);
            !errors.is_empty()
        })
    }

    pub fn has_invalid_types(&self) -> bool {
        self.any(&mut |schema| !keywords::is_valid_type(&schema.kind))
    }
}
