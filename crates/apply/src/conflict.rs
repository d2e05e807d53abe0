//! Fields that an intent would change under somebody else's hands.

use std::fmt;

use pawl_meta::go;

use crate::managed::{Manager, Operation};
use crate::set::FieldSet;

/// One field and one of its managers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub manager: String,
    pub operation: Operation,
    pub version: String,
    pub subresource: String,
    /// `.spec.ports[port=80].name`
    pub path: String,
}

impl Conflict {
    /// The message of its cause in the status, whose field is `path` and whose reason is `FieldManagerConflict`.
    pub fn cause(&self) -> String {
        format!("conflict with {}", self.who())
    }

    fn who(&self) -> String {
        let mut out = go::quote(&self.manager);
        if !self.subresource.is_empty() {
            out.push_str(" with subresource ");
            out.push_str(&go::quote(&self.subresource));
        }
        if self.operation == Operation::Update {
            out.push_str(" using ");
            out.push_str(&self.version);
        }
        out
    }

    fn is_of_same_manager(&self, other: &Self) -> bool {
        (&self.manager, self.operation, &self.version, &self.subresource)
            == (&other.manager, other.operation, &other.version, &other.subresource)
    }
}

/// All conflicts of an apply, sorted by manager; never empty in an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conflicts(pub Vec<Conflict>);

impl Conflicts {
    pub(crate) fn add(&mut self, manager: &Manager<'_>, fields: &FieldSet<'_>) {
        for path in fields.paths() {
            self.0.push(Conflict {
                manager: manager.name.to_string(),
                operation: manager.operation,
                version: manager.version.to_string(),
                subresource: manager.subresource.to_string(),
                path,
            });
        }
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [one] = self.0.as_slice() {
            return write!(f, "Apply failed with 1 conflict: {}: {}", one.cause(), one.path);
        }
        write!(f, "Apply failed with {} conflicts: ", self.0.len())?;
        let groups = self.0.chunk_by(Conflict::is_of_same_manager);
        for (i, group) in groups.enumerate() {
            let line = if i > 0 { "\n" } else { "" };
            write!(f, "{line}conflicts with {}:", group.first().map(Conflict::who).unwrap_or_default())?;
            for conflict in group {
                write!(f, "\n- {}", conflict.path)?;
            }
        }
        Ok(())
    }
}
