//! Where in an object a value is, for messages about it.

use std::fmt;

use crate::{Error, MAX_DEPTH};

/// The way to a value, linked on the stack: it costs nothing until something is wrong.
#[derive(Clone, Copy)]
pub(crate) struct Place<'p> {
    parent: Option<&'p Place<'p>>,
    step: PathStep<'p>,
    /// How many messages are around the value.
    depth: usize,
}

#[derive(Clone, Copy)]
enum PathStep<'p> {
    Root,
    Name(&'p str),
    Index(usize),
}

impl Place<'static> {
    pub(crate) const ROOT: Self = Self { parent: None, step: PathStep::Root, depth: 0 };
}

impl<'p> Place<'p> {
    /// The place of a field, or of an entry of a map.
    pub(crate) fn name(&'p self, name: &'p str) -> Self {
        Self { parent: Some(self), step: PathStep::Name(name), depth: self.depth }
    }

    pub(crate) fn index(&'p self, index: usize) -> Self {
        Self { parent: Some(self), step: PathStep::Index(index), depth: self.depth }
    }

    /// The same place inside of the message that stands there.
    pub(crate) fn inside(self) -> Result<Self, Error> {
        if self.depth >= MAX_DEPTH {
            return Err(Error::TooDeep);
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }

    pub(crate) fn is_root(&self) -> bool {
        matches!(self.step, PathStep::Root)
    }

    pub(crate) fn value(&self, reason: impl Into<String>) -> Error {
        Error::Value { field: self.to_string(), reason: reason.into() }
    }

    pub(crate) fn wrong_wire_type(&self, wire: u8) -> Error {
        Error::WrongWireType { field: self.to_string(), wire }
    }
}

/// `spec.containers[0].image`
impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            PathStep::Root => Ok(()),
            PathStep::Name(name) if self.parent.is_none_or(Place::is_root) => f.write_str(name),
            PathStep::Name(name) => write!(f, ".{name}"),
            PathStep::Index(index) => write!(f, "[{index}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_print_as_paths() {
        let root = Place::ROOT;
        let containers = root.name("containers");
        let first = containers.index(0);
        assert_eq!(first.name("image").to_string(), "containers[0].image");
        assert_eq!(root.to_string(), "");
    }
}
