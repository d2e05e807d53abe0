//! What a command did to an object, for people and for scripts.

use serde_json::{Value, json};

use crate::resources::Named;
use crate::screen::{Format, Screen};

/// Something that was done to an object, or would be.
pub struct Change {
    /// `TYPE/NAME`.
    pub name: String,
    /// The same for people.
    pub told: String,
    pub object: Value,
    /// What came of it, in words.
    pub said: String,
    /// Whether something is other than it was, or would be.
    pub changed: bool,
    pub dry_run: bool,
}

impl Change {
    pub fn of(named: &Named, said: impl Into<String>) -> Self {
        let name = format!("{}/{}", named.resource.typed(), named.name);
        let (told, object) = (named.told(), named.value());
        Self { name, told, object, said: said.into(), changed: true, dry_run: false }
    }

    pub fn changing(mut self, changed: bool) -> Self {
        self.changed = changed;
        self
    }

    pub fn dry(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    pub fn value(&self) -> Value {
        json!({"kind": "Change", "apiVersion": "tools.pawl.dev/v1", "object": self.object, "result": self.said,
            "changed": self.changed, "dryRun": self.dry_run})
    }

    pub fn show(&self, screen: &Screen) {
        screen.say(&match screen.format {
            Format::Name => format!("{}\n", self.name),
            format => format.of_value(&self.value()).unwrap_or_else(|| format!("{}: {}\n", self.told, self.said)),
        });
    }
}
