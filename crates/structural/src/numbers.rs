//! Numbers against their limits, read as numbers of the type that the schema names.

use pawl_meta::go;
use serde_json::{Number, Value};

use crate::node::{Limit, NumberKind, NumberRules};
use crate::place::Place;
use crate::problem::{Problem, Sink, invalid, overall, shown as shown_value};

/// The largest number up to which every whole number is a number.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

pub(crate) fn check<S: Sink>(place: &Place<'_, '_>, rules: &NumberRules, number: &Number, sink: &mut S) {
    let given = Given::of(number);
    if !in_range(rules.kind, given) {
        sink.fail(|| out_of_range("type", "Checked", rules.kind, place));
    }
    if let Some(factor) = rules.multiple_of {
        check_multiple(place, rules.kind, given, factor, sink);
    }
    if let Some(limit) = rules.minimum {
        check_limit(place, rules.kind, given, limit, Side::Minimum, sink);
    }
    if let Some(limit) = rules.maximum {
        check_limit(place, rules.kind, given, limit, Side::Maximum, sink);
    }
}

/// Whether a float is a whole number, but for what computing with floats may have added.
pub(crate) fn is_whole(float: f64) -> bool {
    if !float.is_finite() || float.abs() > MAX_SAFE {
        return false;
    }
    let whole = float.trunc();
    let off = (float - whole).abs();
    if off == 0.0 {
        return true;
    }
    whole != 0.0 && off / (float.abs() + whole.abs()) < 1e-9
}

/// A number as Go holds it.
#[derive(Clone, Copy)]
enum Given {
    Integer(i64),
    Float(f64),
}

impl Given {
    fn of(number: &Number) -> Given {
        number.as_i64().map_or_else(|| Given::Float(number.as_f64().unwrap_or_default()), Given::Integer)
    }

    #[expect(clippy::cast_precision_loss, reason = "limits are floats: so does upstream compare")]
    fn as_float(self) -> f64 {
        match self {
            Given::Integer(value) => value as f64,
            Given::Float(value) => value,
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Minimum,
    Maximum,
}

impl Side {
    fn keyword(self) -> &'static str {
        match self {
            Side::Minimum => "minimum",
            Side::Maximum => "maximum",
        }
    }

    fn boundary(self) -> &'static str {
        match self {
            Side::Minimum => "Minimum boundary",
            Side::Maximum => "Maximum boundary",
        }
    }

    fn words(self, is_exclusive: bool) -> &'static str {
        match (self, is_exclusive) {
            (Side::Minimum, false) => "greater than or equal to",
            (Side::Minimum, true) => "greater than",
            (Side::Maximum, false) => "less than or equal to",
            (Side::Maximum, true) => "less than",
        }
    }

    fn is_broken<T: PartialOrd>(self, value: T, limit: T, is_exclusive: bool) -> bool {
        match self {
            Side::Minimum => value < limit || (is_exclusive && value == limit),
            Side::Maximum => value > limit || (is_exclusive && value == limit),
        }
    }
}

/// Whether a number is one of the type.
fn in_range(kind: NumberKind, given: Given) -> bool {
    match kind {
        NumberKind::Any | NumberKind::Number | NumberKind::Double => true,
        NumberKind::Float => given.as_float().abs() <= f64::from(f32::MAX),
        NumberKind::Int32 => as_integer(given).is_some_and(|value| i32::try_from(value).is_ok()),
        NumberKind::Integer | NumberKind::Int64 => as_integer(given).is_some(),
    }
}

fn as_integer(given: Given) -> Option<i64> {
    match given {
        Given::Integer(value) => Some(value),
        // The first number past the range is a float, the last one inside is none.
        #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
        Given::Float(value)
            if value.fract() == 0.0 && (-9.223_372_036_854_775_8e18..9.223_372_036_854_775_8e18).contains(&value) =>
        {
            Some(value as i64)
        }
        Given::Float(_) => None,
    }
}

fn out_of_range(keyword: &'static str, what: &str, kind: NumberKind, place: &Place<'_, '_>) -> Problem {
    let expected = match kind {
        NumberKind::Int32 => "integer with format int32",
        NumberKind::Int64 => "integer with format int64",
        NumberKind::Integer => "integer (default format)",
        NumberKind::Float => "number with format float",
        NumberKind::Double => "number with format double",
        NumberKind::Number | NumberKind::Any => "number (default format)",
    };
    overall(keyword, format!("{what} value must be of type {expected} in {}", place.name()))
}

fn check_multiple<S: Sink>(place: &Place<'_, '_>, kind: NumberKind, given: Given, factor: f64, sink: &mut S) {
    let is_sound = in_range(kind, Given::Float(factor));
    if !is_sound {
        sink.fail(|| out_of_range("multipleOf", "MultipleOf", kind, place));
    }
    let (broken, shown, bad) = match (given, as_integer(Given::Float(factor.trunc()))) {
        (Given::Integer(value), Some(whole)) if is_sound => {
            let broken = whole > 0 && value % whole != 0;
            ((whole <= 0).then_some(()).map_or(broken, |()| true), whole.to_string(), Value::from(value))
        }
        _ => {
            let value = given.as_float();
            let quotient = if factor < 1.0 { 1.0 / factor * value } else { value / factor };
            (factor <= 0.0 || !is_whole(quotient), go::print_float(factor), Value::from(value))
        }
    };
    if !broken {
        return;
    }
    let is_positive = !shown.starts_with('-') && shown != "0";
    sink.fail(|| {
        let name = place.name();
        if is_positive {
            invalid("multipleOf", &name, shown_value(&bad), format!("{name} in body should be a multiple of {shown}"))
        } else {
            let text = format!("factor MultipleOf declared for {name} must be positive: {shown}");
            let factor = serde_json::from_str(&shown).unwrap_or(Value::Null);
            invalid("multipleOf", &name, shown_value(&factor), text)
        }
    });
}

fn check_limit<S: Sink>(place: &Place<'_, '_>, kind: NumberKind, given: Given, limit: Limit, side: Side, sink: &mut S) {
    let is_sound = in_range(kind, Given::Float(limit.value));
    if !is_sound {
        sink.fail(|| out_of_range(side.keyword(), side.boundary(), kind, place));
    }
    let (is_broken, shown, bad) = match (given, as_integer(Given::Float(limit.value.trunc()))) {
        // Integers are compared with the whole part of the limit.
        (Given::Integer(value), Some(whole)) if is_sound => {
            (side.is_broken(value, whole, limit.is_exclusive), whole.to_string(), Value::from(value))
        }
        _ => {
            let value = given.as_float();
            let is_broken = side.is_broken(value, limit.value, limit.is_exclusive);
            (is_broken, go::print_float(limit.value), Value::from(value))
        }
    };
    if is_broken {
        sink.fail(|| {
            let name = place.name();
            let text = format!("{name} in body should be {} {shown}", side.words(limit.is_exclusive));
            invalid(side.keyword(), &name, shown_value(&bad), text)
        });
    }
}
