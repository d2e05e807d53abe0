//! Which stored objects a schema refuses: what an author wants to know before a schema is tightened, and after.

use std::sync::{Arc, OnceLock};

use pawl_meta::Errors;
use pawl_meta::object::{Meta, Object};
use pawl_structural::{Part, Write};

use crate::family::Family;
use crate::instances::Settings;

/// How many objects are named.
const NAMED: usize = 5;
/// How many fields of one are.
const FIELDS: usize = 3;

/// What was found out about stored objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    pub looked_at: usize,
    pub refused: usize,
    /// Not all objects were looked at.
    pub is_cut: bool,
    /// The first ones that are refused.
    first: Vec<String>,
}

/// An object that a schema refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub namespace: String,
    pub name: String,
    /// Where something is wrong, and what.
    pub problems: Vec<(String, String)>,
}

impl Family {
    /// What is wrong with a stored object under the schema of the version in which objects are stored.
    pub fn refuses(&self, stored: Object, settings: Settings) -> Option<Refused> {
        let (namespace, name) = (stored.namespace().to_owned(), stored.name().to_owned());
        let object = self.convert(stored, &self.stored)?;
        let judged = self.member(&self.stored)?.structural().validate(&Write {
            new: &object,
            old: None,
            part: Part::Whole,
            ratcheting: settings.ratcheting,
            earlier: &Errors::new(),
            embedded_metadata: &settings.embedded_metadata,
            valid_before: None,
        });
        let problems: Vec<_> = judged.errors.iter().map(|error| (error.field.clone(), error.body())).collect();
        (!problems.is_empty()).then_some(Refused { namespace, name, problems })
    }
}

impl Survey {
    /// Takes a look at an object into account.
    pub fn count(&mut self, refused: Option<&Refused>) {
        self.looked_at += 1;
        let Some(refused) = refused else { return };
        self.refused += 1;
        if self.first.len() < NAMED {
            self.first.push(refused.to_string());
        }
    }

    /// `2 of 5 stored objects: default/a (spec.f), default/b (spec.f)`
    pub fn text(&self) -> String {
        let count = match self.is_cut {
            true => format!("at least {} of the first {} stored objects", self.refused, self.looked_at),
            false => format!("{} of {} stored objects", self.refused, self.looked_at),
        };
        let more = if self.refused > self.first.len() { ", ..." } else { "" };
        format!("{count}: {}{more}", self.first.join(", "))
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut fields: Vec<&str> = self.problems.iter().map(|(field, _)| field.as_str()).collect();
        fields.dedup();
        let more = if fields.len() > FIELDS { ", ..." } else { "" };
        fields.truncate(FIELDS);
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        write!(f, "{}{slash}{} ({}{more})", self.namespace, self.name, fields.join(", "))
    }
}

/// Looks at what is stored under a definition as it would be; whoever has the objects sets it, once.
type Look = Box<dyn Fn(&Object) -> Option<Survey> + Send + Sync>;

/// The way from a definition to its stored objects, for who judges definitions.
#[derive(Clone, Default)]
pub struct AtRest(Arc<OnceLock<Look>>);

impl AtRest {
    pub fn set(&self, look: impl Fn(&Object) -> Option<Survey> + Send + Sync + 'static) {
        // Whoever comes second serves the same objects.
        let _ = self.0.set(Box::new(look));
    }

    /// What a definition would refuse.
    pub(crate) fn look(&self, definition: &Object) -> Option<Survey> {
        self.0.get().and_then(|look| look(definition)).filter(|survey| survey.refused > 0)
    }
}

impl std::fmt::Debug for AtRest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AtRest")
    }
}
