//! What a client says about a deletion, in the body and in the query.

use pawl_meta::{Errors, GroupKind, Status, time};
use serde_json::{Map, Value};

/// The option to delete what cannot be read.
pub const IGNORE_READ_ERRORS: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";
/// What may stand beside it.
const BESIDE_IGNORE_READ_ERRORS: [&str; 4] = ["apiVersion", "kind", "dryRun", IGNORE_READ_ERRORS];

/// What happens to the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    Background,
    Foreground,
    Orphan,
}

impl Propagation {
    fn name(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}

/// What must hold for the deletion to go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    pub uid: Option<String>,
    pub resource_version: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    pub grace_period_seconds: Option<i64>,
    pub preconditions: Preconditions,
    pub orphan_dependents: Option<bool>,
    pub propagation: Option<Propagation>,
    pub dry_run: bool,
    /// Delete in spite of liens; for those who may.
    pub ignore_liens: bool,
    /// Delete what cannot be read; for those who may.
    pub ignore_read_errors: bool,
}

impl DeleteOptions {
    /// Reads options that have been decoded against their type. All that is wrong is told at once.
    pub fn read(object: &Map<String, Value>) -> Result<Self, Status> {
        let mut errors = Errors::new();
        let text = |key: &str| object.get(key).and_then(Value::as_str);
        let flag = |key: &str| object.get(key).and_then(Value::as_bool);
        let propagation = match text("propagationPolicy") {
            None => None,
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(other) => {
                errors.not_supported(&"propagationPolicy", other, &["Foreground", "Background", "Orphan", "nil"]);
                None
            }
        };
        let orphan_dependents = flag("orphanDependents");
        if let (Some(policy), Some(_)) = (text("propagationPolicy"), orphan_dependents) {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            errors.invalid(&"propagationPolicy", policy, detail);
        }
        let dry_run = object.get("dryRun").and_then(Value::as_array).filter(|list| !list.is_empty());
        if let Some(list) = dry_run
            && list.iter().any(|v| v.as_str() != Some("All"))
        {
            errors.not_supported(&"dryRun", Value::Array(list.clone()), &["All"]);
        }
        let ignore_read_errors = flag(IGNORE_READ_ERRORS).unwrap_or(false);
        let preconditions = object.get("preconditions").and_then(Value::as_object);
        if ignore_read_errors {
            // It stands alone: an option that comes one day is refused beside it until somebody decides otherwise.
            let others = object.iter().filter(|(_, value)| !value.is_null()).map(|(field, _)| field);
            for field in others.filter(|field| !BESIDE_IGNORE_READ_ERRORS.contains(&field.as_str())) {
                errors.invalid(&IGNORE_READ_ERRORS, true, format!("cannot be set together with .{field}"));
            }
        }
        if !errors.is_empty() {
            return Err(invalid(&errors));
        }
        let condition = |key: &str| preconditions.and_then(|p| p.get(key)).and_then(Value::as_str).map(str::to_owned);
        Ok(Self {
            grace_period_seconds: object.get("gracePeriodSeconds").and_then(Value::as_i64),
            preconditions: Preconditions { uid: condition("uid"), resource_version: condition("resourceVersion") },
            orphan_dependents,
            propagation,
            dry_run: dry_run.is_some(),
            ignore_liens: flag("ignoreLiens").unwrap_or(false),
            ignore_read_errors,
        })
    }

    /// Joins what the body and the query say. Upstream drops the query when there is a body, so that a dry run can become a
    /// real deletion: here both count, and a contradiction is refused.
    pub fn join(body: &Map<String, Value>, query: &Map<String, Value>) -> Result<Map<String, Value>, Status> {
        let mut joined = body.clone();
        let mut errors = Errors::new();
        for (field, value) in query {
            match body.get(field) {
                Some(other) if other != value => {
                    let detail = format!("the query says {value}, the body says {other}");
                    errors.invalid(field, value.clone(), detail);
                }
                _ => {
                    joined.insert(field.clone(), value.clone());
                }
            }
        }
        if errors.is_empty() { Ok(joined) } else { Err(invalid(&errors)) }
    }

    /// The refusal of a grace period that ends after the last time that can be written down.
    pub(crate) fn overflow(&self, now: i64) -> Option<Status> {
        let seconds = self.grace_period_seconds.filter(|seconds| now.saturating_add(*seconds) > time::latest())?;
        let mut errors = Errors::new();
        errors.invalid(&"gracePeriodSeconds", seconds, "must end before the year 10000");
        Some(invalid(&errors))
    }

    /// The propagation that was asked for, by either of the two fields.
    pub fn asked(&self) -> Option<Propagation> {
        match (self.orphan_dependents, self.propagation) {
            (Some(true), _) => Some(Propagation::Orphan),
            (Some(false), _) => Some(Propagation::Background),
            (None, policy) => policy,
        }
    }
}

impl std::fmt::Display for Propagation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

fn invalid(errors: &Errors) -> Status {
    Status::invalid(&GroupKind { group: "meta.k8s.io".to_owned(), kind: "DeleteOptions".to_owned() }, "", errors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn body_and_query_both_count() {
        let joined = DeleteOptions::join(&map(json!({})), &map(json!({"dryRun": ["All"]}))).unwrap();
        assert!(DeleteOptions::read(&joined).unwrap().dry_run);
        let refused =
            DeleteOptions::join(&map(json!({"gracePeriodSeconds": 1})), &map(json!({"gracePeriodSeconds": 2})));
        assert_eq!(refused.unwrap_err().code, 422);
    }

    #[test]
    fn wrong_options_are_refused() {
        for (options, expect) in [
            (
                json!({"propagationPolicy": "Bogus"}),
                "propagationPolicy: Unsupported value: \"Bogus\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"",
            ),
            (
                json!({"propagationPolicy": "Foreground", "orphanDependents": true}),
                "propagationPolicy: Invalid value: \"Foreground\": orphanDependents and deletionPropagation cannot be both set",
            ),
            (json!({"dryRun": ["Some"]}), "dryRun: Unsupported value: [\"Some\"]: supported values: \"All\""),
        ] {
            let message = DeleteOptions::read(&map(options)).unwrap_err().message;
            assert_eq!(message, format!("DeleteOptions.meta.k8s.io \"\" is invalid: {expect}"));
        }
    }
}
