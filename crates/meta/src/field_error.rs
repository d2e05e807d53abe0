//! What is wrong with a field, in the words that clients know: a kind of error, the bad value, a detail.

use std::collections::HashSet;
use std::fmt::{self, Display};

use serde_json::Value;

use crate::go;
use crate::status::Cause;

/// The kinds of field errors; each has a reason on the wire and a phrase in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    Required,
    Invalid,
    NotSupported,
    Duplicate,
    NotFound,
    Forbidden,
    TooLong,
    TooMany,
    TooFew,
    TypeInvalid,
    Internal,
}

impl ErrorKind {
    /// The reason of a cause in a `Status`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::NotFound => "FieldValueNotFound",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TooFew => "FieldValueTooFew",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Internal => "InternalError",
        }
    }

    fn phrase(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Duplicate => "Duplicate value",
            Self::NotFound => "Not found",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::TooFew => "Too few",
            Self::Internal => "Internal error",
        }
    }
}

/// One thing that is wrong with one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    pub kind: ErrorKind,
    /// The printed path; empty for the object as a whole.
    pub field: String,
    /// The offending value as messages print it; absent where the kind does not show one.
    pub bad_value: Option<String>,
    pub detail: String,
}

impl FieldError {
    /// The message without the field: `Invalid value: "x": must be …`.
    pub fn body(&self) -> String {
        let mut text = self.kind.phrase().to_owned();
        if let Some(bad) = &self.bad_value {
            text.push_str(": ");
            text.push_str(bad);
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }

    pub fn cause(&self) -> Cause {
        Cause { reason: self.kind.reason().to_owned(), message: self.body(), field: self.field.clone() }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", if self.field.is_empty() { "<nil>" } else { &self.field }, self.body())
    }
}

/// Field errors in the order in which they were found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Errors {
    list: Vec<FieldError>,
}

impl Errors {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &FieldError> {
        self.list.iter()
    }

    pub fn push(&mut self, error: FieldError) {
        self.list.push(error);
    }

    pub fn append(&mut self, mut other: Errors) {
        self.list.append(&mut other.list);
    }

    /// Forgets everything found so far.
    pub fn clear(&mut self) {
        self.list.clear();
    }

    pub fn truncate(&mut self, len: usize) {
        self.list.truncate(len);
    }

    pub fn required(&mut self, field: &dyn Display, detail: impl Into<String>) {
        self.add(ErrorKind::Required, field, None, detail);
    }

    pub fn invalid(&mut self, field: &dyn Display, bad: impl Into<Value>, detail: impl Into<String>) {
        self.add(ErrorKind::Invalid, field, Some(go::print(&bad.into())), detail);
    }

    /// Invalid, without showing the value.
    pub fn invalid_omitted(&mut self, field: &dyn Display, detail: impl Into<String>) {
        self.add(ErrorKind::Invalid, field, None, detail);
    }

    /// Invalid, with the value as it is to be shown.
    pub fn invalid_shown(&mut self, field: &dyn Display, shown: impl Into<String>, detail: impl Into<String>) {
        self.add(ErrorKind::Invalid, field, Some(shown.into()), detail);
    }

    pub fn type_invalid(&mut self, field: &dyn Display, bad: impl Into<Value>, detail: impl Into<String>) {
        self.add(ErrorKind::TypeInvalid, field, Some(go::print(&bad.into())), detail);
    }

    pub fn forbidden(&mut self, field: &dyn Display, detail: impl Into<String>) {
        self.add(ErrorKind::Forbidden, field, None, detail);
    }

    pub fn not_supported(&mut self, field: &dyn Display, bad: impl Into<Value>, supported: &[&str]) {
        let list: Vec<String> = supported.iter().map(|s| go::quote(s)).collect();
        let detail = if list.is_empty() { String::new() } else { format!("supported values: {}", list.join(", ")) };
        self.add(ErrorKind::NotSupported, field, Some(go::print(&bad.into())), detail);
    }

    pub fn duplicate(&mut self, field: &dyn Display, bad: impl Into<Value>) {
        self.add(ErrorKind::Duplicate, field, Some(go::print(&bad.into())), "");
    }

    pub fn duplicate_because(&mut self, field: &dyn Display, bad: impl Into<Value>, detail: impl Into<String>) {
        self.add(ErrorKind::Duplicate, field, Some(go::print(&bad.into())), detail);
    }

    /// The value as it is to be shown.
    pub fn duplicate_shown(&mut self, field: &dyn Display, shown: impl Into<String>, detail: impl Into<String>) {
        self.add(ErrorKind::Duplicate, field, Some(shown.into()), detail);
    }

    pub fn not_found(&mut self, field: &dyn Display, bad: impl Into<Value>) {
        self.add(ErrorKind::NotFound, field, Some(go::print(&bad.into())), "");
    }

    pub fn not_found_because(&mut self, field: &dyn Display, bad: impl Into<Value>, detail: impl Into<String>) {
        self.add(ErrorKind::NotFound, field, Some(go::print(&bad.into())), detail);
    }

    /// The value is left out of the message: it may be as long as the error says.
    pub fn too_long(&mut self, field: &dyn Display, _bad: impl Into<Value>, max: usize) {
        self.add(ErrorKind::TooLong, field, None, format!("may not be more than {max} bytes"));
    }

    pub fn too_many(&mut self, field: &dyn Display, actual: usize, max: usize) {
        let items = if max == 1 { "item" } else { "items" };
        self.add(ErrorKind::TooMany, field, Some(actual.to_string()), format!("must have at most {max} {items}"));
    }

    pub fn internal(&mut self, field: &dyn Display, detail: impl Into<String>) {
        self.add(ErrorKind::Internal, field, None, detail);
    }

    fn add(&mut self, kind: ErrorKind, field: &dyn Display, bad_value: Option<String>, detail: impl Into<String>) {
        self.list.push(FieldError { kind, field: field.to_string(), bad_value, detail: detail.into() });
    }

    /// All errors as one text, the way an aggregate prints: equal ones once, several in brackets.
    pub fn message(&self) -> String {
        let all: Vec<String> = self.list.iter().map(ToString::to_string).collect();
        let mut seen = HashSet::with_capacity(all.len());
        let texts: Vec<&str> = all.iter().map(String::as_str).filter(|text| seen.insert(*text)).collect();
        match texts.as_slice() {
            [one] => (*one).to_owned(),
            many => format!("[{}]", many.join(", ")),
        }
    }

    pub fn causes(&self) -> Vec<Cause> {
        self.list.iter().map(FieldError::cause).collect()
    }
}

impl IntoIterator for Errors {
    type Item = FieldError;
    type IntoIter = std::vec::IntoIter<FieldError>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}
