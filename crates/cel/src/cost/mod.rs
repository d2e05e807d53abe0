//! What expressions cost: before they run, and while they do.
//!
//! The numbers are a contract. Which expressions a server accepts, and which it
//! stops, depends on them to the unit, so the arithmetic here follows the
//! reference in every corner.

mod estimate;
mod path;

pub use estimate::estimate;

use crate::function::Actual;
use crate::syntax::Literal;
use crate::types::Type;
use crate::value::Val;

/// Cost per character of walking a string.
pub const STRING_FACTOR: f64 = 0.1;
/// Cost per character of a regular expression.
pub const REGEX_FACTOR: f64 = 0.25;
pub(crate) const LIST_COST: u64 = 10;
pub(crate) const MAP_COST: u64 = 30;
pub(crate) const STRUCT_COST: u64 = 40;

/// From the least to the most that something may cost or measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub min: u64,
    pub max: u64,
}

impl Range {
    /// Nothing is known.
    pub const UNKNOWN: Range = Range { min: 0, max: u64::MAX };
    pub const ZERO: Range = Range::exactly(0);
    pub const ONE: Range = Range::exactly(1);

    pub const fn exactly(value: u64) -> Range {
        Range { min: value, max: value }
    }

    pub const fn new(min: u64, max: u64) -> Range {
        Range { min, max }
    }

    #[must_use]
    pub fn plus(self, other: Range) -> Range {
        Range { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    #[must_use]
    pub fn times(self, other: Range) -> Range {
        Range { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    /// Each end multiplied and rounded up.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Range {
        Range { min: scaled(self.min, factor), max: scaled(self.max, factor) }
    }

    /// The smallest range that holds both.
    #[must_use]
    pub fn union(self, other: Range) -> Range {
        Range { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

/// A count times a factor, rounded up.
pub fn scaled(count: u64, factor: f64) -> u64 {
    // A double past the end of the type saturates, which is the limit wanted here.
    (count as f64 * factor).ceil() as u64
}

/// The estimated cost of a call and, where it makes something sizable, its size.
#[derive(Debug, Clone, Copy)]
pub struct CallEstimate {
    pub cost: Range,
    pub size: Option<Range>,
}

impl CallEstimate {
    pub fn cost(cost: Range) -> CallEstimate {
        CallEstimate { cost, size: None }
    }

    #[must_use]
    pub fn sized(self, size: Range) -> CallEstimate {
        CallEstimate { size: Some(size), ..self }
    }
}

/// A call whose cost is estimated.
#[derive(Debug)]
pub struct CallSite<'c> {
    pub function: &'c str,
    pub overload: &'c str,
    pub target: Option<&'c Argument<'c>>,
    pub args: &'c [Argument<'c>],
}

/// What is known of an argument before evaluation.
#[derive(Debug)]
pub struct Argument<'c> {
    pub ty: &'c Type,
    /// Its size, where the expression or the declaration tells.
    pub known_size: Option<Range>,
    /// The size of its elements, where the declaration tells.
    pub element_size: Option<Range>,
    pub literal: Option<&'c Literal>,
}

impl Argument<'_> {
    /// The size, unknown if need be.
    pub fn size(&self) -> Range {
        self.known_size.unwrap_or(Range::UNKNOWN)
    }

    /// The type of the elements of a container.
    pub fn element(&self) -> Option<&Type> {
        match self.ty {
            Type::List(element) => Some(element),
            Type::Map(entry) => Some(&entry.0),
            Type::Opaque(_, params) => params.first(),
            Type::Type(of) => of.as_deref(),
            _ => None,
        }
    }

    /// The integer it is, if it is written as one.
    pub fn as_int(&self) -> Option<i64> {
        match self.literal {
            Some(Literal::Int(value)) => Some(*value),
            _ => None,
        }
    }
}

/// What a library's calls cost beyond the rules of the language.
#[derive(Debug, Clone, Copy)]
pub struct CostModel {
    /// The estimate for a call, if this model has one.
    pub estimate: fn(&CallSite<'_>) -> Option<CallEstimate>,
    /// How to count calls of this function and signature, if this model says.
    pub actual: fn(function: &str, overload: &str) -> Option<Actual>,
}

impl Default for CostModel {
    fn default() -> Self {
        CostModel { estimate: |_| None, actual: |_, _| None }
    }
}

/// The size of a value where it is counted as cost: one if it has none.
pub fn actual_size(value: &Val<'_>) -> u64 {
    let mut value = value;
    while let Val::Optional(Some(inner)) = value {
        value = inner;
    }
    value.size().unwrap_or(1)
}

/// The size of an argument; one that is missing counts one.
pub fn size_at(args: &[Val<'_>], index: usize) -> u64 {
    args.get(index).map_or(1, |value| value.size().unwrap_or(1))
}

/// How calls with this signature are counted by the rules of the language; all others cost one.
pub(crate) fn standard_actual(overload: &str) -> Option<Actual> {
    Some(match overload {
        "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string" | "strings_quote"
        | "string_format" => |args, _| walk(args, 0),
        "in_list" => |args, _| size(args, 1),
        "equals" | "not_equals" => |args, _| scaled(size(args, 0).min(size(args, 1)), STRING_FACTOR),
        "add_string" | "add_bytes" => |args, _| scaled(size(args, 0) + size(args, 1), STRING_FACTOR),
        "matches_string" => |args, _| scaled(size(args, 0) + 1, STRING_FACTOR) * scaled(size(args, 1), REGEX_FACTOR),
        "contains_string" => |args, _| walk(args, 0) * walk(args, 1),
        other if is_text_comparison(other) => |args, _| scaled(size(args, 0).min(size(args, 1)), STRING_FACTOR),
        _ => return None,
    })
}

/// Whether the signature orders strings or bytes.
pub(crate) fn is_text_comparison(overload: &str) -> bool {
    let operator = overload.strip_suffix("_string").or_else(|| overload.strip_suffix("_bytes"));
    matches!(operator, Some("less" | "less_equals" | "greater" | "greater_equals"))
}

fn size(args: &[Val<'_>], index: usize) -> u64 {
    args.get(index).map_or(1, actual_size)
}

fn walk(args: &[Val<'_>], index: usize) -> u64 {
    scaled(size(args, index), STRING_FACTOR)
}
