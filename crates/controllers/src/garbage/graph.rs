//! Who owns whom, by uid. An owner that was never seen is an index entry without an object: a virtual node.
//!
//! The graph only remembers what it is told and says whom to look at again. It never decides that an owner is absent: not
//! being in the graph may mean that the news is still on its way. Whoever acts reads the owners first.

mod objects;

use std::collections::{HashMap, HashSet};

use super::facts::{Identity, OwnershipFacts, Uid};
use objects::Objects;

#[derive(Debug, Default)]
pub struct Graph {
    objects: Objects,
    /// The dependents of each owner that somebody references, seen or not.
    dependents: HashMap<Uid, HashSet<Uid>>,
}

/// What the graph knows of one object and its surroundings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    pub facts: OwnershipFacts,
    pub has_dependents: bool,
    /// Dependents that its deletion in the foreground waits for.
    pub blocked: bool,
    /// It waits for itself, along dependents that all wait for theirs.
    pub in_cycle: bool,
}

impl Graph {
    /// Takes in an object. Returns whom to look at.
    pub fn observe(&mut self, facts: OwnershipFacts) -> Vec<Uid> {
        let uid = facts.uid.clone();
        let before = self.objects.get(&uid);
        // What was read past the watch may be newer than what the watch tells.
        if before.is_some_and(|b| b.revision >= facts.revision) {
            return Vec::new();
        }
        let before = self.objects.insert(facts.clone());
        let mut work = Vec::new();
        if let Some(before) = &before {
            for owner in &before.owners {
                if facts.references(&owner.uid).next().is_none() {
                    self.unlink(&owner.uid, &uid);
                }
                let blocked = owner.blocks && !facts.references(&owner.uid).any(|o| o.blocks);
                if blocked && self.is_waiting(&owner.uid) {
                    work.push(owner.uid.clone());
                }
            }
        }
        for owner in &facts.owners {
            self.dependents.entry(owner.uid.clone()).or_default().insert(uid.clone());
        }
        if self.concerns_itself(&facts, before.as_deref()) {
            work.push(uid.clone());
        }
        if facts.waits_for_dependents() && !before.as_deref().is_some_and(OwnershipFacts::waits_for_dependents) {
            work.push(uid.clone());
            work.extend(self.dependents(&uid));
            // An owner that waits may now wait for itself.
            work.extend(facts.owners.iter().map(|o| o.uid.clone()).filter(|o| self.is_waiting(o)));
        }
        if facts.orphans_dependents() && !before.as_deref().is_some_and(OwnershipFacts::orphans_dependents) {
            work.push(uid);
        }
        work
    }

    /// Takes in that an object is gone. Returns whom to look at.
    pub fn forget(&mut self, uid: &Uid) -> Vec<Uid> {
        let Some(facts) = self.objects.remove(uid) else { return Vec::new() };
        let mut work = self.dependents(uid);
        for owner in &facts.owners {
            self.unlink(&owner.uid, uid);
            if self.is_waiting(&owner.uid) {
                work.push(owner.uid.clone());
            }
        }
        work
    }

    /// Takes in that an object is gone whose last state could not be read.
    pub fn forget_at(&mut self, identity: &Identity) -> Vec<Uid> {
        let found = self.objects.iter().find(|facts| facts.identity == *identity).map(|facts| facts.uid.clone());
        found.map(|uid| self.forget(&uid)).unwrap_or_default()
    }

    pub fn view(&self, uid: &Uid) -> Option<View> {
        let facts = OwnershipFacts::clone(self.objects.get(uid)?);
        let waits = facts.waits_for_dependents();
        let blocked = waits && self.blocking(uid).next().is_some();
        Some(View {
            has_dependents: self.dependents.contains_key(uid),
            blocked,
            in_cycle: blocked && self.waits_for_itself(uid),
            facts,
        })
    }

    /// The dependents of an object that have been seen.
    pub fn dependents(&self, uid: &Uid) -> Vec<Uid> {
        self.dependents.get(uid).into_iter().flatten().filter(|d| self.objects.get(d).is_some()).cloned().collect()
    }

    /// Where an object was seen.
    pub fn identity(&self, uid: &str) -> Option<&Identity> {
        self.objects.get(uid).map(|facts| &facts.identity)
    }

    /// Whether an object must be looked at because of what it says itself.
    fn concerns_itself(&self, facts: &OwnershipFacts, before: Option<&OwnershipFacts>) -> bool {
        if facts.deleting || facts.owners.is_empty() {
            return false;
        }
        // A lien that was let go may have been what kept it.
        if before.is_some_and(|b| b.liens != facts.liens) {
            return true;
        }
        facts.owners.iter().any(|owner| {
            let is_new = !before.is_some_and(|b| b.owners.contains(owner));
            is_new
                && match self.objects.get(&owner.uid) {
                    None => true,
                    // A reference that does not name what was seen may name nothing at all.
                    Some(seen) => {
                        let at = &seen.identity;
                        let here = at.namespace().is_empty() || at.namespace() == facts.identity.namespace();
                        let named =
                            at.api_version == owner.api_version && at.kind == owner.kind && at.name() == &*owner.name;
                        !here || !named || seen.waits_for_dependents()
                    }
                }
        })
    }

    fn is_waiting(&self, uid: &Uid) -> bool {
        self.objects.get(uid).is_some_and(|facts| facts.waits_for_dependents())
    }

    /// The dependents that block the deletion of an object; nobody blocks their own.
    fn blocking<'g>(&'g self, uid: &'g Uid) -> impl Iterator<Item = &'g OwnershipFacts> {
        let dependents = self.dependents.get(uid).into_iter().flatten();
        dependents
            .filter(move |d| *d != uid)
            .filter_map(|d| self.objects.get(d))
            .filter(move |facts| facts.references(uid).any(|o| o.blocks))
    }

    /// Whether a way along blocking dependents, all of which wait for theirs, leads back.
    fn waits_for_itself(&self, uid: &Uid) -> bool {
        let mut seen: HashSet<&Uid> = HashSet::new();
        let mut next: Vec<&Uid> = vec![uid];
        while let Some(at) = next.pop() {
            for facts in self.blocking(at).filter(|f| f.waits_for_dependents()) {
                if facts.uid == *uid {
                    return true;
                }
                if seen.insert(&facts.uid) {
                    next.push(&facts.uid);
                }
            }
        }
        false
    }

    fn unlink(&mut self, owner: &Uid, dependent: &Uid) {
        if let Some(dependents) = self.dependents.get_mut(owner) {
            dependents.remove(dependent);
            if dependents.is_empty() {
                self.dependents.remove(owner);
            }
        }
    }
}

#[cfg(test)]
pub mod tests;
