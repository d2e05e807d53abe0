//! Which of the names that a definition asks for it gets.
//!
//! Within a group a name has one owner: plurals, singulars and short names share one space, kinds and list kinds another. A
//! name is held from the moment it is accepted until the definition gives it up or goes.

use std::collections::HashSet;

use pawl_meta::go;

use crate::definition::{Definition, Names};
use crate::status::Condition;

/// The names that the definitions of a group have been given.
#[derive(Clone, Debug, Default)]
pub struct InUse {
    resources: HashSet<String>,
    kinds: HashSet<String>,
}

impl InUse {
    /// Of all definitions of one group, the one in question too.
    pub fn of<'d>(definitions: impl IntoIterator<Item = &'d Definition>) -> Self {
        let mut in_use = Self::default();
        for definition in definitions {
            in_use.add(&definition.accepted);
        }
        in_use
    }

    fn add(&mut self, names: &Names) {
        // What was not given yet is nobody's.
        let given = |name: &&String| !name.is_empty();
        self.resources.extend([&names.plural, &names.singular].into_iter().chain(&names.short).filter(given).cloned());
        self.kinds.extend([&names.kind, &names.list_kind].into_iter().filter(given).cloned());
    }
}

/// The names that a definition has after this, and whether these are all that it wants.
pub(crate) fn judge(wanted: &Names, held: &Names, in_use: &InUse) -> (Names, Condition) {
    let mut verdict = NamingVerdict { given: held.clone(), conflict: None };
    verdict.one(|names| &mut names.plural, &wanted.plural, &in_use.resources, "PluralConflict");
    verdict.one(|names| &mut names.singular, &wanted.singular, &in_use.resources, "SingularConflict");
    verdict.short(&wanted.short, &in_use.resources);
    verdict.one(|names| &mut names.kind, &wanted.kind, &in_use.kinds, "KindConflict");
    verdict.one(|names| &mut names.list_kind, &wanted.list_kind, &in_use.kinds, "ListKindConflict");
    verdict.given.categories.clone_from(&wanted.categories);
    let accepted = match verdict.conflict {
        Some((reason, message)) => Condition::new(Condition::NAMES_ACCEPTED, "False", reason, message),
        None => Condition::new(Condition::NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found"),
    };
    (verdict.given, accepted)
}

struct NamingVerdict {
    given: Names,
    /// The last one is the one that is told.
    conflict: Option<(&'static str, String)>,
}

impl NamingVerdict {
    /// A name that somebody has is not given; the one of before stays.
    fn one(&mut self, slot: fn(&mut Names) -> &mut String, name: &str, used: &HashSet<String>, reason: &'static str) {
        let slot = slot(&mut self.given);
        if slot != name && used.contains(name) {
            self.conflict = Some((reason, taken(name)));
        } else {
            name.clone_into(slot);
        }
    }

    /// Short names are given all together or not at all.
    fn short(&mut self, wanted: &[String], used: &HashSet<String>) {
        let is_taken = |name: &&String| !self.given.short.contains(name) && used.contains(*name);
        let mut conflicts: Vec<String> = Vec::new();
        for name in wanted.iter().filter(is_taken) {
            let message = taken(name);
            if !conflicts.contains(&message) {
                conflicts.push(message);
            }
        }
        match conflicts.as_slice() {
            [] => self.given.short = wanted.to_vec(),
            [one] => self.conflict = Some(("ShortNamesConflict", one.clone())),
            many => self.conflict = Some(("ShortNamesConflict", format!("[{}]", many.join(", ")))),
        }
    }
}

fn taken(name: &str) -> String {
    format!("{} is already in use", go::quote(name))
}
