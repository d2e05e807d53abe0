//! A value that is looked at: a JSON value, or the members of a whole object.

use pawl_meta::object::Object;
use serde_json::Value;

use crate::problem;

#[derive(Clone, Copy)]
pub(crate) enum View<'v> {
    Value(&'v Value),
    /// A whole object, which is not kept as a value.
    Whole(&'v Object),
}

impl<'v> From<&'v Value> for View<'v> {
    fn from(value: &'v Value) -> Self {
        View::Value(value)
    }
}

impl<'v> View<'v> {
    pub fn object(self) -> Option<&'v Object> {
        match self {
            View::Value(value) => value.as_object(),
            View::Whole(object) => Some(object),
        }
    }

    pub fn array(self) -> Option<&'v [Value]> {
        match self {
            View::Value(value) => value.as_array().map(Vec::as_slice),
            View::Whole(_) => None,
        }
    }

    pub fn is_null(self) -> bool {
        matches!(self, View::Value(Value::Null))
    }

    pub fn get(self, name: &str) -> Option<&'v Value> {
        self.object()?.get(name)
    }

    /// The value as a message shows it.
    pub fn shown(self) -> String {
        match self {
            View::Value(value) => problem::shown(value),
            View::Whole(object) => problem::as_go_json(&Value::Object(object.clone())),
        }
    }
}
