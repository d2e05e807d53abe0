//! Where a field is inside an object, as error messages print it: `spec.ports[0].name`, `metadata.labels[a/b]`.

use std::fmt;
use std::sync::Arc;

/// A place inside an object. Cheap to clone and to extend: a path shares the way to its parent.
#[derive(Clone, Debug, Default)]
pub struct FieldPath(Option<Arc<Link>>);

#[derive(Debug)]
struct Link {
    parent: FieldPath,
    step: PathStep,
}

#[derive(Debug)]
enum PathStep {
    Field(String),
    Index(usize),
    Key(String),
}

impl FieldPath {
    /// The object itself.
    pub fn root() -> Self {
        Self(None)
    }

    /// A path that starts with this field.
    pub fn of(name: &str) -> Self {
        Self::root().child(name)
    }

    /// A field of the object at this place. A name with dots is printed as it is.
    pub fn child(&self, name: &str) -> Self {
        self.then(PathStep::Field(name.to_owned()))
    }

    pub fn index(&self, index: usize) -> Self {
        self.then(PathStep::Index(index))
    }

    pub fn key(&self, key: &str) -> Self {
        self.then(PathStep::Key(key.to_owned()))
    }

    fn then(&self, step: PathStep) -> Self {
        Self(Some(Arc::new(Link { parent: self.clone(), step })))
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut links = Vec::new();
        let mut at = self;
        while let Some(link) = &at.0 {
            links.push(link);
            at = &link.parent;
        }
        for (depth, link) in links.iter().rev().enumerate() {
            match &link.step {
                PathStep::Field(name) if depth == 0 => f.write_str(name)?,
                PathStep::Field(name) => write!(f, ".{name}")?,
                PathStep::Index(index) => write!(f, "[{index}]")?,
                PathStep::Key(key) => write!(f, "[{key}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_prints_as_upstream_does() {
        assert_eq!(FieldPath::of("spec").child("ports").index(0).child("name").to_string(), "spec.ports[0].name");
        assert_eq!(FieldPath::of("metadata").child("labels").key("a/b").to_string(), "metadata.labels[a/b]");
        assert_eq!(FieldPath::root().index(3).to_string(), "[3]");
    }
}
