//! The 409 of an object that liens or users hold: what it says, and how to tell it from others.

use pawl_meta::object::{Meta, Object};
use pawl_meta::{Cause, Status};

use crate::verdict::Deletion;
use crate::{IN_USE, InUse};

/// The reason of the causes that name liens.
pub const LIEN_HELD: &str = "LienHeld";

/// Whether a refusal says that liens or users hold the object.
pub fn is_held(status: &Status) -> bool {
    let holds = |cause: &Cause| cause.reason == LIEN_HELD || cause.reason == IN_USE;
    status.details.as_ref().is_some_and(|details| details.causes.iter().any(holds))
}

pub(crate) fn held(deletion: &Deletion<'_>, object: &Object) -> Option<Status> {
    let liens = object.meta_strings("liens");
    let in_use = deletion.in_use;
    if !deletion.liens_hold || deletion.options.ignore_liens || liens.is_empty() && in_use.is_none() {
        return None;
    }
    let named: Vec<String> = liens.iter().map(|l| format!("\"{l}\"")).collect();
    let name = object.name();
    let by_liens = (!named.is_empty()).then(|| format!("is held by liens: {}", named.join(", ")));
    let by_users = in_use.map(|in_use| format!("is used by {in_use}"));
    let why = format!("the object {}", by_liens.into_iter().chain(by_users).collect::<Vec<_>>().join("; it "));
    let causes = liens.iter().map(|lien| Cause {
        reason: LIEN_HELD.to_owned(),
        message: format!("held by lien \"{lien}\""),
        field: "metadata.liens".to_owned(),
    });
    let mut status = Status::conflict(deletion.resource, name, why);
    if let Some(details) = &mut status.details {
        details.uid = object.uid().to_owned();
        details.causes = causes.chain(in_use.into_iter().flat_map(InUse::causes)).collect();
    }
    Some(status)
}
