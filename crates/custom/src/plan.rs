//! What the status of a definition is to become: which names it gets, whether it is established, what holds of its schemas,
//! how far its deletion and the migration of its objects have come.
//!
//! Every function answers with the status to write, or with nothing when nothing changes. Nothing is written here, and the
//! time is handed in.

use pawl_meta::object::{Meta, Object};
use pawl_meta::{Errors, FieldPath};
use pawl_structural::{Props, structural_errors};
use serde_json::json;

use crate::approval::{self, Approval};
use crate::ca;
use crate::definition::{Names, author_schema};
use crate::fields;
use crate::naming::{self, InUse};
use crate::status::{self, Condition};
use crate::survey::Survey;

/// The finalizer under which the instances of a definition are deleted.
pub const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Approval, schemas and names in one step. A definition whose names are accepted is *installing* after it; [`establish`] is
/// for when it can be served.
pub fn settle(object: &Object, in_use: &InUse, now: &str) -> Option<Object> {
    let mut status = fields::within(object, "status").clone();
    let approved = approve(object, &mut status, now);
    let inspected = inspect(object, &mut status, now);
    let named = give_names(object, &mut status, in_use, now);
    (approved || inspected || named).then_some(status)
}

/// A definition whose names are accepted is established and stays so, unless nobody could trust its webhook.
pub fn establish(object: &Object, now: &str) -> Option<Object> {
    let mut status = fields::within(object, "status").clone();
    if !status::is_true(&status, Condition::NAMES_ACCEPTED) || status::is_true(&status, Condition::ESTABLISHED) {
        return None;
    }
    let (holds, reason, message) = match ca::problem(ca::bundle(object)) {
        Some(_) => ("False", "InvalidCABundle", "The conversion webhook CABundle is invalid"),
        None => ("True", "InitialNamesAccepted", "the initial names have been accepted"),
    };
    let condition = Condition::new(Condition::ESTABLISHED, holds, reason, message);
    status::set(&mut status, &condition, now).then_some(status)
}

/// Both at once, on the definition itself: it has the status with which it is served.
pub fn install(object: &mut Object, in_use: &InUse, now: &str) {
    if let Some(status) = settle(object, in_use, now) {
        object.insert("status".to_owned(), status.into());
    }
    if let Some(status) = establish(object, now) {
        object.insert("status".to_owned(), status.into());
    }
}

/// A step of a definition's deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// Somebody asked for it.
    Pending,
    InProgress,
    /// Instances could not be listed or deleted: why.
    Failed(String),
    /// They may not all be gone: why.
    Unconfirmed(String),
    Completed,
    /// There cannot be any instances.
    NeverEstablished,
    /// What is stored under its name is not its own.
    Overlapping,
}

/// The status of a definition at a step of its deletion. Nothing new is taken from the first step on.
pub fn terminating(object: &Object, step: &Deletion, now: &str) -> Option<Object> {
    let (holds, reason, message) = match step {
        Deletion::Pending => (
            "True",
            "InstanceDeletionPending",
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon".to_owned(),
        ),
        Deletion::InProgress => {
            ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress".to_owned())
        }
        Deletion::Failed(why) => ("True", "InstanceDeletionFailed", why.clone()),
        Deletion::Unconfirmed(why) => {
            ("True", "InstanceDeletionCheck", format!("could not confirm zero CustomResources remaining: {why}"))
        }
        Deletion::Completed => ("False", "InstanceDeletionCompleted", "removed all instances".to_owned()),
        Deletion::NeverEstablished => ("False", "NeverEstablished", "resource was never established".to_owned()),
        Deletion::Overlapping => {
            ("False", "OverlappingBuiltInResource", "instances overlap with built-in resources in storage".to_owned())
        }
    };
    let mut status = fields::within(object, "status").clone();
    let condition = Condition::new(Condition::TERMINATING, holds, reason, message);
    status::set(&mut status, &condition, now).then_some(status)
}

/// A step in rewriting the objects of a definition in the version that is stored now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Migration<'a> {
    /// By the migration of this name.
    Running(&'a str),
    Succeeded,
    Failed,
}

/// The status of a definition at a step of a migration. When all objects have been rewritten and the definition is still the
/// one that it was at the beginning, only the version that is stored now remains. What has ended ends only once: nothing
/// was rewritten for a generation that came later.
pub fn migrating(object: &Object, step: &Migration<'_>, now: &str) -> Option<Object> {
    let mut status = fields::within(object, "status").clone();
    let generation = object.generation();
    if !matches!(step, Migration::Running(_)) && !status::is_true(&status, Condition::STORAGE_MIGRATING) {
        return None;
    }
    let begun = status::find(&status, Condition::STORAGE_MIGRATING);
    let unchanged = begun.is_some_and(|begun| begun.get("observedGeneration") == Some(&json!(generation)));
    let (holds, reason, message) = match step {
        Migration::Running(name) => ("True", "MigrationRunning", format!("Migration {name} is running")),
        Migration::Failed => ("False", "MigrationFailed", "The migration has failed".to_owned()),
        Migration::Succeeded => {
            let rest = match unchanged {
                true => "and the stored versions have been updated",
                false => "but the stored versions have not been updated due to a generation mismatch",
            };
            ("False", "MigrationSucceeded", format!("The migration has succeeded {rest}"))
        }
    };
    let condition = Condition::new(Condition::STORAGE_MIGRATING, holds, reason, message);
    let said = status::set(&mut status, &condition, now);
    let observed = status::observe(&mut status, Condition::STORAGE_MIGRATING, generation);
    // A failed migration leaves everything where it is, whatever was rewritten.
    let storage =
        fields::each(fields::within(object, "spec"), "versions").find(|version| fields::truth(version, "storage"));
    let versions = storage.map(|version| json!([fields::text(version, "name")]));
    let mut moved = false;
    if let Some(versions) = versions.filter(|_| unchanged && *step == Migration::Succeeded) {
        moved = status.get("storedVersions") != Some(&versions);
        status.insert("storedVersions".to_owned(), versions);
    }
    (said || observed || moved).then_some(status)
}

/// The status of a definition whose stored objects were looked at. There is a condition only while some are refused.
pub fn invalid_at_rest(object: &Object, survey: &Survey, now: &str) -> Option<Object> {
    let mut status = fields::within(object, "status").clone();
    let changed = match survey.refused {
        0 => status::remove(&mut status, Condition::INVALID_AT_REST),
        _ => {
            let message = format!("the schema refuses {}", survey.text());
            let condition = Condition::new(Condition::INVALID_AT_REST, "True", "ValidationTightened", message);
            status::set(&mut status, &condition, now)
        }
    };
    changed.then_some(status)
}

fn give_names(object: &Object, status: &mut Object, in_use: &InUse, now: &str) -> bool {
    let wanted = Names::read(fields::within(fields::within(object, "spec"), "names"));
    let held = Names::read(fields::within(status, "acceptedNames"));
    let (given, accepted) = naming::judge(&wanted, &held, in_use);
    let all = accepted.status == "True";
    let said = status::set(status, &accepted, now);
    let renamed = given != held;
    if !said && !renamed {
        return false;
    }
    if renamed {
        status.insert("acceptedNames".to_owned(), status::names(&given));
    }
    let installing = "the initial names have been accepted";
    let established = match status::find(status, Condition::ESTABLISHED) {
        Some(present) if fields::text(present, "status") == "True" => None,
        _ if all => Some(("Installing", installing)),
        Some(_) => None,
        None => Some(("NotAccepted", "not all names are accepted")),
    };
    if let Some((reason, message)) = established {
        status::set(status, &Condition::new(Condition::ESTABLISHED, "False", reason, message), now);
    }
    true
}

/// Says of the groups of the community whether the definition was approved there.
fn approve(object: &Object, status: &mut Object, now: &str) -> bool {
    let group = fields::text(fields::within(object, "spec"), "group");
    if !approval::is_protected(group) {
        return false;
    }
    let (approval, message) = approval::of(object);
    let (holds, reason) = match approval {
        Approval::Approved => ("True", "ApprovedAnnotation"),
        Approval::Bypassed => ("False", "UnapprovedAnnotation"),
        Approval::Missing => ("False", "MissingAnnotation"),
        Approval::Invalid => ("False", "InvalidAnnotation"),
    };
    status::set(status, &Condition::new(Condition::API_APPROVED, holds, reason, message), now)
}

/// Says of definitions from before schemas had to be structural what is wrong with them.
fn inspect(object: &Object, status: &mut Object, now: &str) -> bool {
    match violations(object) {
        Some((holds, reason, message)) => {
            status::set(status, &Condition::new(Condition::NON_STRUCTURAL, holds, reason, message), now)
        }
        None => status::remove(status, Condition::NON_STRUCTURAL),
    }
}

fn violations(object: &Object) -> Option<(&'static str, &'static str, String)> {
    let spec = fields::within(object, "spec");
    let mut errors = Errors::new();
    if fields::truth(spec, "preserveUnknownFields") {
        errors.invalid(&FieldPath::of("spec").child("preserveUnknownFields"), true, "must be false");
    }
    for (index, version) in fields::each(spec, "versions").enumerate() {
        let Some(schema) = author_schema(version) else { continue };
        let path = FieldPath::of("spec").child("versions").index(index).child("schema").child("openAPIV3Schema");
        match structural_errors(&Props::parse(schema), &path) {
            Ok(found) => errors.append(found),
            Err(why) => {
                let name = fields::text(version, "name");
                let message = format!("failed to check validation schema for version {name}: {why}");
                return Some(("Unknown", "StructuralError", message));
            }
        }
    }
    (!errors.is_empty()).then(|| ("True", "Violations", errors.message()))
}
