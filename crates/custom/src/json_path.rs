//! Kubernetes' JSONPath, as far as printer columns and selectable fields use it: compiled once, followed in many objects.
//!
//! Fields, indexes and slices, wildcards, unions, filters and recursive descent, with the meaning that kubectl gives them.
//! Ranges are refused: a column is one value. An expression that finds more than [`LIMIT`] values finds nothing, so that no
//! author makes a list hang.

mod follow;
mod parse;

use serde_json::Value;
use std::borrow::Cow;

/// More values than this are as good as none.
pub const LIMIT: usize = 10_000;

/// A compiled path.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    steps: Vec<PathStep>,
}

#[derive(Clone, Debug, PartialEq)]
enum PathStep {
    Field(Box<str>),
    Wildcard,
    Recursive,
    Slice(Slice),
    Union(Vec<Vec<PathStep>>),
    Filter(Box<Filter>),
    /// A value that the path itself names; only filters have a use for it.
    Constant(Value),
    /// A word that means nothing outside of templates.
    Word,
}

/// `[start:end:step]`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Slice {
    start: Option<i64>,
    end: End,
    step: Option<i64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum End {
    /// That of the list.
    #[default]
    Open,
    At(i64),
    /// One element only: behind the start.
    Single,
}

#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: Vec<PathStep>,
    /// Absent: that the left side finds anything is enough.
    compare: Option<(Operator, Vec<PathStep>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// Such as `=!`: known only when it is used.
    Unknown,
}

impl JsonPath {
    /// Reads a path without its braces; nothing when it is none.
    pub fn parse(path: &str) -> Option<Self> {
        Some(Self { steps: parse::action(path)? })
    }

    /// The first value at the path; nothing where there is none or the path does not fit the object.
    pub fn first<'v>(&self, object: &'v Value) -> Option<Cow<'v, Value>> {
        follow::all(&self.steps, object).ok()?.into_iter().next()
    }

    /// The value at the path, if there is exactly one.
    pub fn only<'v>(&self, object: &'v Value) -> Option<Cow<'v, Value>> {
        let mut found = follow::all(&self.steps, object).ok()?.into_iter();
        found.next().filter(|_| found.next().is_none())
    }
}

#[cfg(test)]
mod tests;
