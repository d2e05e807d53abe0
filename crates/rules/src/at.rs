//! Where a check is, as a chain on the stack: nothing is allocated until an error names the place or a hook asks for it.

use std::fmt;

use pawl_meta::FieldPath;

/// A place inside the object, linked to the place around it.
#[derive(Clone, Copy)]
pub(super) struct At<'p> {
    outer: Option<&'p At<'p>>,
    step: PathStep<'p>,
}

#[derive(Clone, Copy)]
enum PathStep<'p> {
    Root,
    /// A field, or several with dots between them.
    Field(&'p str),
    Index(usize),
    Key(&'p str),
}

impl<'p> At<'p> {
    pub const ROOT: At<'static> = At { outer: None, step: PathStep::Root };

    pub fn field(&'p self, name: &'p str) -> At<'p> {
        At { outer: Some(self), step: PathStep::Field(name) }
    }

    pub fn index(&'p self, index: usize) -> At<'p> {
        At { outer: Some(self), step: PathStep::Index(index) }
    }

    pub fn key(&'p self, key: &'p str) -> At<'p> {
        At { outer: Some(self), step: PathStep::Key(key) }
    }

    /// The same place as hooks want it.
    pub fn path(&self) -> FieldPath {
        let outer = self.outer.map(At::path).unwrap_or_default();
        match self.step {
            PathStep::Root => outer,
            PathStep::Field(name) => outer.child(name),
            PathStep::Index(index) => outer.index(index),
            PathStep::Key(key) => outer.key(key),
        }
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(outer) = self.outer {
            outer.fmt(f)?;
        }
        match self.step {
            PathStep::Root => Ok(()),
            PathStep::Field(name) if self.outer.is_none_or(|outer| matches!(outer.step, PathStep::Root)) => {
                f.write_str(name)
            }
            PathStep::Field(name) => write!(f, ".{name}"),
            PathStep::Index(index) => write!(f, "[{index}]"),
            PathStep::Key(key) => write!(f, "[{key}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_prints_as_its_path_does() {
        let spec = At::ROOT.field("spec");
        let ports = spec.field("ports");
        let port = ports.index(2);
        let name = port.field("name");
        assert_eq!(name.to_string(), "spec.ports[2].name");
        assert_eq!(name.path().to_string(), name.to_string());
        assert_eq!(At::ROOT.key("a/b").to_string(), "[a/b]");
    }
}
