//! What is wrong with a value, and who wants to know: one who needs a yes or no, or one who needs all of it.

use pawl_meta::{ErrorKind, FieldError, go};
use serde_json::Value;

use crate::place::Place;

/// What errors on the object as a whole are said to be about.
pub(crate) const WHOLE: &str = "<nil>";

/// So much is told of one write. A client decides how much there is to tell, and upstream tells all of it.
pub(crate) const MOST_TOLD: usize = 1000;

/// What is said in place of all that was found beyond.
pub(crate) fn truncated() -> FieldError {
    FieldError {
        kind: ErrorKind::TooMany,
        field: WHOLE.to_owned(),
        bad_value: None,
        detail: "too many errors, the list is truncated".to_owned(),
    }
}

/// One thing that is wrong.
pub(crate) struct Problem {
    pub error: FieldError,
    /// What the schema's checker calls it; of problems with one text only the first is told.
    pub text: String,
    /// The keyword that says so.
    pub keyword: &'static str,
}

/// Something that was wrong and stays as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ratcheted {
    /// Where in the object.
    pub path: String,
    /// Where in the schema, with the keyword: `properties[spec].properties[f].minLength`.
    pub rule: String,
    /// What would have been said.
    pub detail: String,
}

/// Takes what is found.
pub(crate) trait Sink {
    /// Whether the answer is already known.
    fn is_done(&self) -> bool;
    fn fail(&mut self, problem: impl FnOnce() -> Problem);
    /// Whether it matters how many checks went well.
    fn counts(&self) -> bool;
    /// Whether every problem is to be told.
    fn explains(&self) -> bool;
    fn len(&self) -> usize;
    fn take(&mut self, problems: Vec<Problem>);
    /// What was found since `from` stands on a value that did not change.
    fn ratchet(&mut self, from: usize, place: &Place<'_, '_>);
}

/// Wants a yes or no.
#[derive(Default)]
pub(crate) struct Holds {
    failed: bool,
}

impl Holds {
    pub fn failed(&self) -> bool {
        self.failed
    }
}

impl Sink for Holds {
    fn is_done(&self) -> bool {
        self.failed
    }

    fn fail(&mut self, _: impl FnOnce() -> Problem) {
        self.failed = true;
    }

    fn counts(&self) -> bool {
        false
    }

    fn explains(&self) -> bool {
        false
    }

    fn len(&self) -> usize {
        usize::from(self.failed)
    }

    fn take(&mut self, problems: Vec<Problem>) {
        self.failed |= !problems.is_empty();
    }

    fn ratchet(&mut self, _: usize, _: &Place<'_, '_>) {}
}

/// Wants all of it.
#[derive(Default)]
pub(crate) struct Report {
    pub problems: Vec<Problem>,
    /// How many more there were than are told.
    pub untold: usize,
    pub ratcheted: Vec<Ratcheted>,
    counts: bool,
}

impl Report {
    /// One that also wants to know how much of a schema was right.
    pub fn counting() -> Self {
        Report { counts: true, ..Report::default() }
    }
}

impl Sink for Report {
    fn is_done(&self) -> bool {
        false
    }

    fn fail(&mut self, problem: impl FnOnce() -> Problem) {
        if self.problems.len() < MOST_TOLD {
            self.problems.push(problem());
        } else {
            self.untold += 1;
        }
    }

    fn counts(&self) -> bool {
        self.counts
    }

    fn explains(&self) -> bool {
        true
    }

    fn len(&self) -> usize {
        self.problems.len() + self.untold
    }

    fn take(&mut self, problems: Vec<Problem>) {
        for problem in problems {
            self.fail(|| problem);
        }
    }

    fn ratchet(&mut self, from: usize, place: &Place<'_, '_>) {
        let schema_path = place.schema_path();
        // What is untold came after all that is told.
        let told = from.min(self.problems.len());
        self.untold = from - told;
        let room = MOST_TOLD.saturating_sub(self.ratcheted.len());
        let settled = self.problems.drain(told..).take(room).map(|Problem { error, keyword, .. }| Ratcheted {
            rule: [schema_path.as_str(), ".", keyword].concat(),
            detail: error.body(),
            path: error.field,
        });
        self.ratcheted.extend(settled);
    }
}

/// A problem of the schema's checker: `text` begins with the name of the place.
pub(crate) fn invalid(keyword: &'static str, name: &str, bad: String, text: String) -> Problem {
    build(ErrorKind::Invalid, keyword, name, Some(bad), text.clone(), text)
}

pub(crate) fn build(
    kind: ErrorKind,
    keyword: &'static str,
    name: &str,
    bad_value: Option<String>,
    detail: String,
    text: String,
) -> Problem {
    let field = match name.strip_prefix('.').unwrap_or(name) {
        "" => WHOLE.to_owned(),
        name => name.to_owned(),
    };
    Problem { error: FieldError { kind, field, bad_value, detail }, text, keyword }
}

/// A problem that is told of the object as a whole, whatever it is about.
pub(crate) fn overall(keyword: &'static str, text: String) -> Problem {
    let error = FieldError {
        kind: ErrorKind::Invalid,
        field: WHOLE.to_owned(),
        bad_value: Some("\"\"".to_owned()),
        detail: text.clone(),
    };
    Problem { error, text, keyword }
}

/// A value as a message shows it. Go's JSON hides the signs that mean something in HTML.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => as_go_json(value),
        Value::Number(number) if number.as_i64().is_none() => go::print_float(number.as_f64().unwrap_or_default()),
        scalar => go::print(scalar),
    }
}

/// JSON as Go writes it.
pub(crate) fn as_go_json(value: &Value) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}
