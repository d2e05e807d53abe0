//! What a hook is told about the object that it looks at.

use serde_json::{Map, Value};

/// The surroundings of what is being checked.
#[derive(Clone, Copy)]
pub struct Check<'a> {
    /// The whole object as it will be stored.
    pub root: &'a Map<String, Value>,
    /// The whole object as it was, on update.
    pub old: Option<&'a Map<String, Value>>,
    /// The kind of the whole object.
    pub kind: &'a str,
    pub(super) around: Option<&'a Around<'a>>,
}

/// An object on the way from the root to what is being checked, innermost first.
pub(super) struct Around<'a> {
    pub type_name: &'a str,
    pub object: &'a Map<String, Value>,
    pub outer: Option<&'a Around<'a>>,
}

impl<'a> Check<'a> {
    /// The innermost object of a type around the one being checked, itself included.
    pub fn enclosing(&self, type_name: &str) -> Option<&'a Map<String, Value>> {
        let mut at = self.around;
        while let Some(around) = at {
            if around.type_name == type_name {
                return Some(around.object);
            }
            at = around.outer;
        }
        None
    }
}
