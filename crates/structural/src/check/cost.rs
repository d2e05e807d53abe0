//! What the rules of a schema cost together, and which of them cost the most.

use pawl_cel::k8s::{ESTIMATED_SCHEMA_LIMIT, rules};
use pawl_meta::{Errors, FieldPath};

/// Rules below this share of the limit are not named.
const WORTH_NAMING: u64 = ESTIMATED_SCHEMA_LIMIT / 100;
/// So many are named at most.
const NAMED: usize = 4;

#[derive(Default)]
pub(super) struct Total {
    sum: u64,
    /// The most expensive first.
    dearest: Vec<(u64, FieldPath)>,
}

impl Total {
    pub fn add(&mut self, path: FieldPath, cost: u64) {
        self.sum = self.sum.saturating_add(cost);
        if cost < WORTH_NAMING {
            return;
        }
        self.dearest.push((cost, path));
        self.dearest.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
        self.dearest.truncate(NAMED);
    }

    pub fn report(&self, schema: &FieldPath, errors: &mut Errors) {
        let name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        let Some(excess) = rules::excess(name, self.sum, ESTIMATED_SCHEMA_LIMIT) else { return };
        for (_, path) in &self.dearest {
            let why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            errors.forbidden(path, why);
        }
        errors.forbidden(schema, excess);
    }
}
