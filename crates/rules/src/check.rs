//! What a hook is told about the object that it looks at.

use std::cell::OnceCell;
use std::collections::BTreeMap;

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
    /// Names that what is inside may refer to, found once for all of it.
    pub names: OnceCell<Names>,
}

/// Names, and whether each has something that those who refer to it need.
pub type Names = BTreeMap<String, bool>;

impl<'a> Check<'a> {
    /// The innermost object of a type around the one being checked, itself included.
    pub fn enclosing(&self, type_name: &str) -> Option<&'a Map<String, Value>> {
        self.around(type_name).map(|around| around.object)
    }

    /// The names that an object of a type has for what is inside of it, found by whoever asks first.
    pub fn names_in(&self, type_name: &str, find: impl FnOnce() -> Names) -> Option<&'a Names> {
        self.around(type_name).map(|around| around.names.get_or_init(find))
    }

    fn around(&self, type_name: &str) -> Option<&'a Around<'a>> {
        let mut at = self.around;
        while let Some(around) = at {
            if around.type_name == type_name {
                return Some(around);
            }
            at = around.outer;
        }
        None
    }
}
