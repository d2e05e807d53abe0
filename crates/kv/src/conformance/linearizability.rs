//! Whether concurrent operations can be told as a story in which each happens at one moment between its call and its
//! return.
//!
//! Owns the checker (the search of Wing and Gong, with Lowe's memory of what has been tried) and a load that records a
//! history. Keys are registers that do not depend on each other, so each key's history is searched alone; that
//! revisions agree with real time across keys is checked directly.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::{Check, Effort, ensure};
use crate::{Change, Expect, Kv, Outcome, Revision, Write};

/// What a key holds: the revision of its last write and its value.
pub type Register = Option<(Revision, Bytes)>;

/// What was done and what came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Read {
        saw: Register,
    },
    /// Applied at the revision: a put of the value, or a deletion.
    Applied {
        expect: Expect,
        value: Option<Bytes>,
        revision: Revision,
    },
    /// Refused because the key held this.
    Refused {
        expect: Expect,
        saw: Register,
    },
    /// Refused without a word about what the key held, as clients far away are told.
    Rejected {
        expect: Expect,
    },
}

/// One completed operation; the times only have an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    pub called: u64,
    pub returned: u64,
    pub action: Action,
}

impl Action {
    /// What the caller has learned that the key holds; `None` when it was not told.
    pub fn told(&self) -> Option<Register> {
        match self {
            Self::Read { saw } | Self::Refused { saw, .. } => Some(saw.clone()),
            Self::Applied { value, revision, .. } => Some(value.clone().map(|value| (*revision, value))),
            Self::Rejected { .. } => None,
        }
    }

    /// What the register holds after this, when it can happen to a register that holds `state`.
    fn after(&self, state: &Register) -> Option<Register> {
        let meets = |expect: &Expect| match expect {
            Expect::Absent => state.is_none(),
            Expect::Revision(expected) => state.as_ref().is_some_and(|(revision, _)| revision == expected),
        };
        match self {
            Self::Read { saw } => (saw == state).then(|| state.clone()),
            Self::Applied { expect, value, revision } => {
                let follows = state.as_ref().is_none_or(|(before, _)| before < revision);
                (meets(expect) && follows).then(|| value.clone().map(|value| (*revision, value)))
            }
            Self::Refused { expect, saw } => (saw == state && !meets(expect)).then(|| state.clone()),
            Self::Rejected { expect } => (!meets(expect)).then(|| state.clone()),
        }
    }
}

/// Checks the history of one key that begins absent.
pub fn check(history: &[Operation]) -> Check {
    let mut search = Search { history, tried: HashSet::new(), furthest: 0 };
    if search.from(&mut Done::none_of(history.len()), &None, 0) {
        return Ok(());
    }
    Err(format!("no order of the operations explains what they returned; {} of {} fit", search.furthest, history.len()))
}

/// Which operations have happened, as a set of bits.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Done(Vec<u64>);

impl Done {
    fn none_of(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    fn has(&self, place: usize) -> bool {
        self.0.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    fn flip(&mut self, place: usize) {
        if let Some(word) = self.0.get_mut(place / 64) {
            *word ^= 1 << (place % 64);
        }
    }
}

struct Search<'a> {
    history: &'a [Operation],
    tried: HashSet<(Done, Register)>,
    furthest: usize,
}

impl Search<'_> {
    /// Whether what has not happened yet can happen from this state on.
    fn from(&mut self, done: &mut Done, state: &Register, count: usize) -> bool {
        self.furthest = self.furthest.max(count);
        if count == self.history.len() {
            return true;
        }
        if !self.tried.insert((done.clone(), state.clone())) {
            return false;
        }
        let left = |done: &Done| {
            let history = self.history;
            let done = done.clone();
            history.iter().enumerate().filter(move |(place, _)| !done.has(*place))
        };
        // Whoever was called after another had returned cannot come before it.
        let horizon = left(done).map(|(_, operation)| operation.returned).min().unwrap_or(u64::MAX);
        let candidates: Vec<_> = left(done).filter(|(_, operation)| operation.called < horizon).collect();
        // One that fits and changes nothing may as well happen now: no later choice depends on it.
        let harmless = |(_, operation): &&(usize, &Operation)| operation.action.after(state).as_ref() == Some(state);
        if let Some((place, _)) = candidates.iter().find(harmless) {
            done.flip(*place);
            let found = self.from(done, state, count + 1);
            done.flip(*place);
            return found;
        }
        for (place, operation) in candidates {
            if let Some(next) = operation.action.after(state) {
                done.flip(place);
                if self.from(done, &next, count + 1) {
                    return true;
                }
                done.flip(place);
            }
        }
        false
    }
}

/// Checks that a write called after another returned has the greater revision, whatever their keys.
pub fn check_revisions<'a>(operations: impl Iterator<Item = &'a Operation>) -> Check {
    let mut writes: Vec<(u64, u64, Revision)> = operations
        .filter_map(|operation| match operation.action {
            Action::Applied { revision, .. } => Some((operation.called, operation.returned, revision)),
            _ => None,
        })
        .collect();
    writes.sort_by_key(|(called, ..)| *called);
    let mut by_return = writes.clone();
    by_return.sort_by_key(|(_, returned, _)| *returned);
    let mut returned = by_return.into_iter().peekable();
    let mut newest = 0;
    for (called, _, revision) in writes {
        while let Some((_, _, before)) = returned.next_if(|(_, returned, _)| *returned < called) {
            newest = newest.max(before);
        }
        ensure!(revision > newest, "a write called after {newest} was acknowledged has revision {revision}");
    }
    Ok(())
}

/// Lets many tasks compare, swap and read a few keys, and checks what they saw.
pub(super) async fn run<F, S>(make: &F, effort: &Effort) -> Check
where
    F: Fn() -> S,
    S: Future<Output = Arc<dyn Kv>>,
{
    let mut done = 0;
    while effort.wants(done, 4) {
        let histories = record(make().await, Load { tasks: 24, operations: 40, keys: 3 }).await?;
        for (key, history) in &histories {
            check(history).map_err(|reason| format!("{key:?}: {reason}: {history:#?}"))?;
        }
        check_revisions(histories.values().flatten())?;
        done += 1;
    }
    Ok(())
}

/// How much concurrent work to do.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub tasks: u64,
    pub operations: u64,
    pub keys: u64,
}

/// Does the work on a fresh store; gives the history of every key.
pub async fn record(store: Arc<dyn Kv>, load: Load) -> Result<HashMap<Bytes, Vec<Operation>>, String> {
    let clock = Arc::new(AtomicU64::new(0));
    let tasks: Vec<_> = (0..load.tasks)
        .map(|task| tokio::spawn(one_task(Arc::clone(&store), Arc::clone(&clock), task, load)))
        .collect();
    let mut histories: HashMap<Bytes, Vec<Operation>> = HashMap::new();
    for task in tasks {
        for (key, operation) in task.await.map_err(|error| error.to_string())?? {
            histories.entry(key).or_default().push(operation);
        }
    }
    Ok(histories)
}

async fn one_task(
    store: Arc<dyn Kv>,
    clock: Arc<AtomicU64>,
    task: u64,
    load: Load,
) -> Result<Vec<(Bytes, Operation)>, String> {
    let tick = || clock.fetch_add(1, Ordering::SeqCst);
    let mut known: HashMap<Bytes, Register> = HashMap::new();
    let mut recorded = Vec::new();
    for number in 0..load.operations {
        // Every task walks over the keys and the kinds of operations in an order of its own.
        let turn = task.wrapping_mul(7).wrapping_add(number.wrapping_mul(5));
        let key = Bytes::from(format!("/register/{}", turn % load.keys));
        let last = known.entry(key.clone()).or_default();
        let called = tick();
        let action = if turn.is_multiple_of(4) {
            let held = store.get(key.clone()).await.map_err(|error| error.to_string())?;
            Action::Read { saw: held.map(|held| (held.mod_revision, held.value)) }
        } else {
            let expect = last.as_ref().map_or(Expect::Absent, |(revision, _)| Expect::Revision(*revision));
            let deletes = turn.is_multiple_of(11) && last.is_some();
            let value = (!deletes).then(|| Bytes::from(format!("{task}.{number}")));
            let change = value.clone().map_or(Change::Delete, |value| Change::Put { value, ttl: None });
            match store.write(Write::new(key.clone(), expect, change)).await.map_err(|error| error.to_string())? {
                Outcome::Applied { revision } => Action::Applied { expect, value, revision },
                Outcome::Conflict { current } => {
                    Action::Refused { expect, saw: current.map(|held| (held.mod_revision, held.value)) }
                }
            }
        };
        let returned = tick();
        if let Some(told) = action.told() {
            *last = told;
        }
        recorded.push((key, Operation { called, returned, action }));
    }
    Ok(recorded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(called: u64, returned: u64, action: Action) -> Operation {
        Operation { called, returned, action }
    }

    fn put(expect: Expect, value: &'static str, revision: Revision) -> Action {
        Action::Applied { expect, value: Some(Bytes::from_static(value.as_bytes())), revision }
    }

    fn held(revision: Revision, value: &'static str) -> Register {
        Some((revision, Bytes::from_static(value.as_bytes())))
    }

    #[test]
    fn operations_that_overlap_may_happen_in_any_order() {
        let history = [
            operation(0, 5, put(Expect::Absent, "a", 2)),
            operation(1, 2, Action::Read { saw: None }),
            operation(3, 4, Action::Read { saw: held(2, "a") }),
            operation(6, 9, put(Expect::Revision(2), "b", 3)),
            operation(7, 8, Action::Refused { expect: Expect::Absent, saw: held(2, "a") }),
        ];
        assert_eq!(check(&history), Ok(()));
        assert_eq!(check_revisions(history.iter()), Ok(()));
    }

    #[test]
    fn a_stale_read_is_rejected() {
        let history = [operation(0, 1, put(Expect::Absent, "a", 2)), operation(2, 3, Action::Read { saw: None })];
        assert!(check(&history).is_err());
    }

    #[test]
    fn a_read_that_goes_back_is_rejected() {
        let history = [
            operation(0, 9, put(Expect::Absent, "a", 2)),
            operation(1, 2, Action::Read { saw: held(2, "a") }),
            operation(3, 4, Action::Read { saw: None }),
        ];
        assert!(check(&history).is_err());
    }

    #[test]
    fn a_lost_update_is_rejected() {
        let history = [
            operation(0, 1, put(Expect::Absent, "a", 2)),
            operation(2, 5, put(Expect::Revision(2), "b", 3)),
            operation(3, 4, put(Expect::Revision(2), "c", 4)),
        ];
        assert!(check(&history).is_err());
    }

    #[test]
    fn a_conflict_without_a_cause_is_rejected() {
        let history = [
            operation(0, 1, put(Expect::Absent, "a", 2)),
            operation(2, 3, Action::Refused { expect: Expect::Revision(2), saw: held(2, "a") }),
        ];
        assert!(check(&history).is_err());
        let [first, _] = history;
        let rejected = operation(2, 3, Action::Rejected { expect: Expect::Revision(2) });
        assert!(check(&[first.clone(), rejected]).is_err());
        let rejected = operation(2, 3, Action::Rejected { expect: Expect::Revision(1) });
        assert_eq!(check(&[first, rejected]), Ok(()));
    }

    #[test]
    fn revisions_against_the_clock_are_rejected() {
        let history = [operation(0, 1, put(Expect::Absent, "a", 5)), operation(2, 3, put(Expect::Absent, "b", 4))];
        assert!(check_revisions(history.iter()).is_err());
    }
}
