//! What rules call by name and cannot say themselves. The functions are handed in: no kind is known here.

use pawl_meta::object::Object;
use pawl_meta::{Errors, FieldPath};

use crate::Check;

/// Fills in what follows from the rest of an object: `default fn`, `create fn`.
pub type FillHook = fn(&mut Object);
/// Brings the new object in line with the old one before it is validated: `update set fn`.
pub type KeepHook = fn(&mut Object, &Object);
/// Looks at an object: `check fn`, `create check fn`.
pub type CheckHook = fn(&Check<'_>, &Object, &FieldPath, &mut Errors);
/// Looks at a change: `update fn`.
pub type UpdateHook = fn(&Check<'_>, &Object, &Object, &FieldPath, &mut Errors);
/// Finds what deserves a warning: `warn fn`.
pub type WarnHook = fn(&Check<'_>, &Object, &FieldPath, &mut Vec<String>);

/// The functions by their names.
#[derive(Clone, Copy)]
pub struct Hooks {
    pub fill: fn(&str) -> Option<FillHook>,
    pub keep: fn(&str) -> Option<KeepHook>,
    pub check: fn(&str) -> Option<CheckHook>,
    pub update: fn(&str) -> Option<UpdateHook>,
    pub warn: fn(&str) -> Option<WarnHook>,
}
