//! The objects of the graph, found by their uid. There is one for every object that is stored: none has its uid a second time,
//! and since a table has room for more than it holds, what it holds is small.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use crate::garbage::facts::OwnershipFacts;

#[derive(Debug, Default)]
pub struct Objects(HashSet<ByUid>);

#[derive(Debug)]
struct ByUid(Box<OwnershipFacts>);

impl Borrow<str> for ByUid {
    fn borrow(&self) -> &str {
        &self.0.uid
    }
}

impl Hash for ByUid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Borrow::<str>::borrow(self).hash(state);
    }
}

impl PartialEq for ByUid {
    fn eq(&self, other: &Self) -> bool {
        self.0.uid == other.0.uid
    }
}

impl Eq for ByUid {}

impl Objects {
    pub fn get(&self, uid: &str) -> Option<&OwnershipFacts> {
        self.0.get(uid).map(|ByUid(facts)| &**facts)
    }

    /// Puts an object in the place of the one with its uid, which is returned.
    pub fn insert(&mut self, facts: OwnershipFacts) -> Option<Box<OwnershipFacts>> {
        self.0.replace(ByUid(Box::new(facts))).map(|ByUid(before)| before)
    }

    pub fn remove(&mut self, uid: &str) -> Option<Box<OwnershipFacts>> {
        self.0.take(uid).map(|ByUid(facts)| facts)
    }

    pub fn iter(&self) -> impl Iterator<Item = &OwnershipFacts> {
        self.0.iter().map(|ByUid(facts)| &**facts)
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
