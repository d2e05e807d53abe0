//! What is to be done about one object, given how its owners were found.

use pawl_deletion::Propagation;

use super::facts::{Owner, OwnershipFacts, Uid};
use super::graph::View;

/// How an owner was found where a reference says that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is there, and not waiting for its dependents to go.
    Solid,
    /// It is not there.
    Absent,
    /// It is there and waits for its dependents to go.
    Waiting,
    /// Its kind is not served (yet): nothing can be said.
    Unknown,
    /// A cluster-scoped object cannot have an owner in a namespace.
    Misplaced,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CollectionVerdict {
    Leave,
    /// Nobody who owned it is left: it goes.
    Delete(Propagation),
    /// Somebody still owns it; the others are taken off its list.
    DropOwners(Vec<Uid>),
    /// Nothing it waited for is left: its finalizer goes.
    Release,
    /// It waits for itself: its own references stop blocking.
    Unblock,
    /// Its dependents forget it, then its finalizer goes.
    Orphan,
    /// Look again when other resources are served.
    AwaitResources,
}

/// What to do about an object that is being deleted; `None` means that its owners must be read.
pub fn plan_deleting(view: &View) -> Option<CollectionVerdict> {
    let facts = &view.facts;
    if facts.orphans_dependents() {
        return Some(CollectionVerdict::Orphan);
    }
    if facts.waits_for_dependents() {
        return Some(match (view.blocked, view.in_cycle) {
            (false, _) => CollectionVerdict::Release,
            (true, true) => CollectionVerdict::Unblock,
            // Its dependents were told when the deletion began; the last one of them to go tells it.
            (true, false) => CollectionVerdict::Leave,
        });
    }
    // Deletion is a one-way street: the end of it is told.
    (facts.deleting || facts.owners.is_empty()).then_some(CollectionVerdict::Leave)
}

/// What to do about an object with these owners.
pub fn plan(latest: &OwnershipFacts, has_dependents: bool, owners: &[(&Owner, Standing)]) -> CollectionVerdict {
    let any = |standing| owners.iter().any(|(_, s)| *s == standing);
    if latest.deleting || owners.is_empty() || any(Standing::Misplaced) {
        return CollectionVerdict::Leave;
    }
    if any(Standing::Unknown) {
        return CollectionVerdict::AwaitResources;
    }
    if any(Standing::Solid) {
        let mut others: Vec<Uid> =
            owners.iter().filter(|(_, s)| *s != Standing::Solid).map(|(o, _)| o.uid.clone()).collect();
        // The same owner under right and wrong coordinates is an owner.
        others.retain(|uid| !owners.iter().any(|(o, s)| o.uid == *uid && *s == Standing::Solid));
        return if others.is_empty() { CollectionVerdict::Leave } else { CollectionVerdict::DropOwners(others) };
    }
    if any(Standing::Waiting) && has_dependents {
        return CollectionVerdict::Delete(Propagation::Foreground);
    }
    // A finalizer that asks for a propagation is honoured.
    CollectionVerdict::Delete(match (latest.orphan, latest.foreground) {
        (true, _) => Propagation::Orphan,
        (false, true) => Propagation::Foreground,
        (false, false) => Propagation::Background,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::garbage::graph::tests::facts;

    fn check(object: &str, has_dependents: bool, standings: &[Standing], expect: CollectionVerdict) {
        let latest = facts(object);
        let owners: Vec<(&Owner, Standing)> = latest.owners.iter().zip(standings.iter().copied()).collect();
        assert_eq!(plan(&latest, has_dependents, &owners), expect, "{object} {standings:?}");
    }

    #[test]
    fn an_object_stays_while_somebody_owns_it() {
        use Standing::*;
        check("x", false, &[], CollectionVerdict::Leave);
        check("x <a", false, &[Solid], CollectionVerdict::Leave);
        check("x <a <b", false, &[Solid, Absent], CollectionVerdict::DropOwners(vec!["b".into()]));
        check("x <a! <b", false, &[Waiting, Solid], CollectionVerdict::DropOwners(vec!["a".into()]));
        check("x <a <a", false, &[Solid, Absent], CollectionVerdict::Leave);
    }

    #[test]
    fn an_object_without_owners_goes() {
        use Standing::*;
        check("x <a", false, &[Absent], CollectionVerdict::Delete(Propagation::Background));
        check("x <a", true, &[Absent], CollectionVerdict::Delete(Propagation::Background));
        check("x <a", false, &[Waiting], CollectionVerdict::Delete(Propagation::Background));
        check("x <a", true, &[Waiting], CollectionVerdict::Delete(Propagation::Foreground));
        check("x <a <b", true, &[Absent, Waiting], CollectionVerdict::Delete(Propagation::Foreground));
        check("x <a orphan", true, &[Absent], CollectionVerdict::Delete(Propagation::Orphan));
        check("x <a foreground", false, &[Absent], CollectionVerdict::Delete(Propagation::Foreground));
    }

    #[test]
    fn what_cannot_be_told_is_left_alone() {
        use Standing::*;
        check("x <a <b", false, &[Absent, Unknown], CollectionVerdict::AwaitResources);
        check("x <a <b", false, &[Absent, Misplaced], CollectionVerdict::Leave);
        check("x <a deleting", false, &[Absent], CollectionVerdict::Leave);
    }

    fn check_deleting(object: &str, blocked: bool, in_cycle: bool, expect: Option<CollectionVerdict>) {
        let view = View { facts: facts(object), has_dependents: blocked, blocked, in_cycle };
        assert_eq!(plan_deleting(&view), expect, "{object}");
    }

    #[test]
    fn a_deletion_under_way() {
        check_deleting("x", false, false, Some(CollectionVerdict::Leave));
        check_deleting("x <a", false, false, None);
        check_deleting("x deleting", false, false, Some(CollectionVerdict::Leave));
        check_deleting("x deleting orphan", false, false, Some(CollectionVerdict::Orphan));
        check_deleting("x deleting foreground", false, false, Some(CollectionVerdict::Release));
        check_deleting("x deleting foreground", true, false, Some(CollectionVerdict::Leave));
        check_deleting("x <a deleting foreground", true, true, Some(CollectionVerdict::Unblock));
        check_deleting("x foreground", false, false, Some(CollectionVerdict::Leave));
    }
}
