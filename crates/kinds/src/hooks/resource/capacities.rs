//! How much of a capacity that devices share may be asked for: one of several amounts, or a range.

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Errors, FieldPath};
use serde_json::Value;

use crate::hooks::quantities;

const MAX_VALUES: usize = 10;
const BILLION: i128 = 1_000_000_000;

/// The amounts that may be asked for lie within the capacity, and the default is one of them.
pub fn request_policy(capacity: Option<&Value>, policy: &Object, at: &FieldPath, errors: &mut Errors) {
    let capacity = Asked::of(capacity);
    let default = policy.get("default").filter(|value| !value.is_null()).map(|value| Asked::of(Some(value)));
    let values = read::list(policy, "validValues");
    match (values.is_empty(), read::map(policy, "validRange")) {
        (true, None) => {}
        (false, Some(_)) => errors.forbidden(
            at,
            r#"exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time"#,
        ),
        (false, None) => match default {
            None => errors.required(&at.child("default"), "required when validValues is defined"),
            Some(default) => valid_values(&capacity, &default, values, &at.child("validValues"), errors),
        },
        (true, Some(range)) => match default {
            None => errors.required(&at.child("default"), "required when validRange is defined"),
            Some(default) => valid_range(&capacity, &default, range, &at.child("validRange"), errors),
        },
    }
}

/// An amount, and its text.
struct Asked {
    billionths: i128,
    text: String,
}

impl Asked {
    fn of(value: Option<&Value>) -> Self {
        let value = value.unwrap_or(&Value::Null);
        Self { billionths: quantities::amount(value).billionths, text: quantities::text_of(value) }
    }

    /// In whole units, rounded up.
    fn units(&self) -> i128 {
        self.billionths.div_euclid(BILLION) + i128::from(self.billionths.rem_euclid(BILLION) != 0)
    }
}

fn valid_values(capacity: &Asked, default: &Asked, values: &[Value], at: &FieldPath, errors: &mut Errors) {
    let values: Vec<Asked> = values.iter().map(|value| Asked::of(Some(value))).collect();
    for (index, (value, next)) in values.iter().zip(values.iter().skip(1)).enumerate() {
        if value.billionths > next.billionths {
            let detail = "values must be sorted in ascending order";
            errors.invalid(&at.index(index + 1), next.text.as_str(), detail);
        }
    }
    let values = if values.len() > MAX_VALUES {
        errors.too_many(at, values.len(), MAX_VALUES);
        Vec::new()
    } else {
        values
    };
    for (index, value) in values.iter().enumerate() {
        if value.billionths > capacity.billionths {
            let detail = format!("option is larger than capacity value: {}", capacity.text);
            errors.invalid(&at.index(index), value.text.as_str(), detail);
        }
        if values.iter().take(index).any(|earlier| earlier.billionths == value.billionths) {
            errors.duplicate(&at.index(index), value.text.as_str());
        }
    }
    if values.iter().all(|value| value.billionths != default.billionths) {
        errors.invalid(at, default.text.as_str(), "default value is not valid according to the requestPolicy");
    }
}

fn valid_range(capacity: &Asked, default: &Asked, range: &Object, at: &FieldPath, errors: &mut Errors) {
    let bound = |field| range.get(field).filter(|value: &&Value| !value.is_null()).map(|value| Asked::of(Some(value)));
    let (at_min, at_max, at_step) = (at.child("min"), at.child("max"), at.child("step"));
    let Some(min) = bound("min") else { return errors.required(&at_min, "required when validRange is defined") };
    let mut order = |smaller: &Asked, larger: &Asked, at: &FieldPath, bad: &Asked, detail: String| {
        if smaller.billionths > larger.billionths {
            errors.invalid(at, bad.text.as_str(), detail);
        }
    };
    order(&min, capacity, &at_min, &min, format!("min is larger than capacity value: {}", capacity.text));
    order(&min, default, &at_min, default, format!("default is less than min: {}", min.text));
    let max = bound("max");
    if let Some(max) = &max {
        order(&min, max, &at_max, &min, format!("min is larger than max: {}", max.text));
        order(max, capacity, &at_max, max, format!("max is larger than capacity value: {}", capacity.text));
        order(default, max, &at_max, default, format!("default is more than max: {}", max.text));
    }
    let Some(step) = bound("step") else { return };
    let mut first = quantities::amount(range.get("min").unwrap_or(&Value::Null));
    first.billionths = first.billionths.saturating_add(step.billionths);
    if first.billionths > capacity.billionths {
        let detail = format!("one step {} is larger than capacity value: {}", quantities::show(first), capacity.text);
        errors.invalid(&at_step, step.text.as_str(), detail);
    }
    for value in [Some(default), max.as_ref()].into_iter().flatten() {
        // Nothing is a multiple of no step; upstream's arithmetic fails there.
        let rest = (value.units() - min.units()).checked_rem(step.units());
        if rest != Some(0) {
            let detail = format!("value is not a multiple of a given step ({}) from ({})", step.text, min.text);
            errors.invalid(&at_step, value.text.as_str(), detail);
        }
    }
}
