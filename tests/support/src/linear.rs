//! Whether what clients were told of one object can have happened in one order that agrees with time.
//!
//! An object is absent or has a value; every write of a run brings a value of its own, so that a value names the write. What
//! is known of an operation is when it was begun, when its answer was there, and the answer. One whose outcome nobody knows
//! has no end: it may take effect at any later time, or never.
//!
//! After Wing and Gong, and Lowe's just-in-time linearization: a walk along the recorded moments with all the worlds that are
//! still possible. At the moment of an answer its operation must have taken effect in each of them, perhaps after others that
//! were under way; worlds in which that cannot be are given up. No world left: no order explains the answers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

/// What a write brings. No two writes bring the same.
pub type Value = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Read,
    Create(Value),
    /// Replaces exactly a value that some answer had shown before this was begun.
    Replace {
        expected: Value,
        value: Value,
    },
    Delete,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// What was read; `None` for nothing there.
    Found(Option<Value>),
    Done,
    /// There is one already, or another value than the expected one.
    Conflict,
    /// There is nothing.
    Absent,
}

/// One operation of a client. Moments are numbers that grow with time, no two of them the same.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    pub call: Call,
    pub begun: u64,
    /// The moment of the answer; without one nobody knows what came of it.
    pub ended: Option<(u64, Answer)>,
}

/// The answer that no order explains, and what was possible before it.
#[derive(Debug)]
pub struct Contradiction {
    pub operation: Operation,
    pub possible: BTreeSet<Option<Value>>,
    /// What was under way at the time, without an answer until then.
    pub under_way: Vec<Operation>,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, possible, under_way } = self;
        write!(f, "{operation:?} cannot be: it was one of {possible:?} before, with {under_way:?} under way")
    }
}

/// A state that the object may be in.
#[derive(Clone, Debug)]
struct World {
    value: Option<Value>,
    /// Operations that have taken effect and whose answers are still to come.
    done: BTreeSet<usize>,
    /// Operations without an answer that may still take effect.
    open: BTreeSet<usize>,
}

/// Worlds, without those that differ from another one only in that less can still happen.
#[derive(Default)]
struct Worlds(BTreeMap<(Option<Value>, BTreeSet<usize>), Vec<BTreeSet<usize>>>);

impl Worlds {
    /// Whether the world is one more.
    fn insert(&mut self, World { value, done, open }: World) -> bool {
        let alike = self.0.entry((value, done)).or_default();
        if alike.iter().any(|held| held.is_superset(&open)) {
            return false;
        }
        alike.retain(|held| !held.is_subset(&open));
        alike.push(open);
        true
    }

    fn into_vec(self) -> Vec<World> {
        let each = |((value, done), opens): ((Option<Value>, BTreeSet<usize>), Vec<BTreeSet<usize>>)| {
            opens.into_iter().map(move |open| World { value, done: done.clone(), open })
        };
        self.0.into_iter().flat_map(each).collect()
    }
}

/// Looks for an order. The operations are those on one object, which is absent at first.
pub fn check(history: &[Operation]) -> Result<(), Box<Contradiction>> {
    let mut moments: Vec<(u64, usize, bool)> = Vec::new();
    for (number, operation) in history.iter().enumerate() {
        moments.push((operation.begun, number, true));
        moments.extend(operation.ended.map(|(ended, _)| (ended, number, false)));
    }
    moments.sort_unstable();
    let mut under_way = BTreeSet::new();
    let mut worlds = vec![World { value: None, done: BTreeSet::new(), open: BTreeSet::new() }];
    for (_, number, begins) in moments {
        let is_open = history[number].ended.is_none();
        match (begins, is_open) {
            (true, true) => worlds.iter_mut().for_each(|world| world.open.extend([number])),
            (true, false) => under_way.extend([number]),
            (false, _) => {
                let next = after_answer(history, &worlds, &under_way, number);
                if next.is_empty() {
                    let others = under_way.iter().chain(worlds.iter().flat_map(|world| &world.open));
                    let others: BTreeSet<usize> = others.copied().filter(|other| *other != number).collect();
                    return Err(Box::new(Contradiction {
                        operation: history[number],
                        possible: worlds.iter().map(|world| world.value).collect(),
                        under_way: others.into_iter().map(|other| history[other]).collect(),
                    }));
                }
                worlds = next;
                under_way.remove(&number);
            }
        }
    }
    Ok(())
}

/// The worlds in which an operation has taken effect by now with the answer that it got.
fn after_answer(history: &[Operation], worlds: &[World], under_way: &BTreeSet<usize>, number: usize) -> Vec<World> {
    let (mut found, mut seen) = (Worlds::default(), Worlds::default());
    let mut to_do: VecDeque<World> = worlds.iter().cloned().collect();
    while let Some(mut world) = to_do.pop_front() {
        // What changes nothing and could be now may as well be now: it stands in nobody's way.
        let value = world.value;
        let idle = |next: &&usize| effect_of(&history[**next], value) == Some(value);
        world.done.extend(under_way.iter().filter(idle));
        if !seen.insert(world.clone()) {
            continue;
        }
        if world.done.remove(&number) {
            found.insert(tidy(history, world));
            continue;
        }
        for &next in under_way.difference(&world.done) {
            if let Some(value) = effect_of(&history[next], world.value) {
                let mut after = World { value, ..world.clone() };
                after.done.insert(next);
                to_do.push_back(after);
            }
        }
        // Of deletions, which are all alike, the first will do. What changes nothing need not have happened.
        let first = world.open.iter().find(|number| history[**number].call == Call::Delete);
        for &next in world.open.iter().filter(|next| history[**next].call != Call::Delete || Some(*next) == first) {
            if let Some(value) = effect(history[next].call, world.value, Answer::Done) {
                let mut after = World { value, ..world.clone() };
                after.open.remove(&next);
                to_do.push_back(after);
            }
        }
    }
    found.into_vec()
}

/// What becomes of the value if an operation takes effect now; `None` where it cannot have the answer that it got.
fn effect_of(operation: &Operation, now: Option<Value>) -> Option<Option<Value>> {
    operation.ended.and_then(|(_, answer)| effect(operation.call, now, answer))
}

/// The same of any answer.
fn effect(call: Call, now: Option<Value>, answer: Answer) -> Option<Option<Value>> {
    match (call, answer, now) {
        (Call::Read, Answer::Found(found), now) => (found == now).then_some(now),
        (Call::Create(value), Answer::Done, None) => Some(Some(value)),
        (Call::Replace { expected, value }, Answer::Done, Some(now)) => (now == expected).then_some(Some(value)),
        (Call::Delete, Answer::Done, Some(_)) => Some(None),
        (Call::Create(_), Answer::Conflict, Some(_)) => Some(now),
        (Call::Replace { expected, .. }, Answer::Conflict, Some(held)) => (held != expected).then_some(now),
        (Call::Replace { .. } | Call::Delete, Answer::Absent, None) => Some(now),
        _ => None,
    }
}

/// Forgets replacements of a value that is gone: as every write brings its own, it does not come back.
fn tidy(history: &[Operation], mut world: World) -> World {
    let value = world.value;
    world.open.retain(|number| match history[*number].call {
        Call::Replace { expected, .. } => value == Some(expected),
        Call::Read => false,
        Call::Create(_) | Call::Delete => true,
    });
    world
}

#[cfg(test)]
mod tests {
    use super::*;
    use Answer::{Absent, Conflict, Done, Found};
    use Call::{Create, Delete, Read, Replace};

    const fn replace(expected: Value, value: Value) -> Call {
        Replace { expected, value }
    }

    fn ended(begun: u64, ended: u64, call: Call, answer: Answer) -> Operation {
        Operation { call, begun, ended: Some((ended, answer)) }
    }

    fn open(begun: u64, call: Call) -> Operation {
        Operation { call, begun, ended: None }
    }

    #[track_caller]
    fn holds(history: &[Operation]) {
        check(history).unwrap_or_else(|why| panic!("{why}"));
    }

    #[track_caller]
    fn fails(history: &[Operation]) {
        assert!(check(history).is_err(), "{history:?}");
    }

    #[test]
    fn one_after_the_other() {
        holds(&[
            ended(1, 2, Read, Found(None)),
            ended(3, 4, Create(1), Done),
            ended(5, 6, Create(2), Conflict),
            ended(7, 8, replace(1, 3), Done),
            ended(9, 10, replace(1, 4), Conflict),
            ended(11, 12, Read, Found(Some(3))),
            ended(13, 14, Delete, Done),
            ended(15, 16, Delete, Absent),
            ended(17, 18, replace(3, 5), Absent),
            ended(19, 20, Read, Found(None)),
        ]);
    }

    #[test]
    fn a_stale_read() {
        let written = [ended(1, 2, Create(1), Done), ended(3, 4, replace(1, 2), Done)];
        holds(&[&written[..], &[ended(5, 6, Read, Found(Some(2)))]].concat());
        fails(&[&written[..], &[ended(5, 6, Read, Found(Some(1)))]].concat());
        fails(&[&written[..], &[ended(5, 6, Read, Found(None))]].concat());
        // While the write is under way either will do, but never the old one after the new one.
        let both = |first, second| {
            [
                ended(1, 2, Create(1), Done),
                ended(3, 10, replace(1, 2), Done),
                ended(4, 5, Read, Found(Some(first))),
                ended(6, 7, Read, Found(Some(second))),
            ]
        };
        holds(&both(1, 1));
        holds(&both(1, 2));
        holds(&both(2, 2));
        fails(&both(2, 1));
    }

    #[test]
    fn a_lost_update() {
        // Two replace the same value, and both are told that they did.
        fails(&[ended(1, 2, Create(1), Done), ended(3, 6, replace(1, 2), Done), ended(4, 5, replace(1, 3), Done)]);
        // An acknowledged one is gone.
        fails(&[ended(1, 2, Create(1), Done), ended(3, 4, Read, Found(None))]);
        fails(&[ended(1, 2, Create(1), Done), ended(3, 4, Create(2), Done)]);
        // One is told of a conflict that never was.
        fails(&[ended(1, 2, Create(1), Done), ended(3, 4, replace(1, 2), Conflict)]);
    }

    #[test]
    fn a_resurrected_value() {
        let gone = [ended(1, 2, Create(1), Done), ended(3, 4, Delete, Done)];
        fails(&[&gone[..], &[ended(5, 6, Read, Found(Some(1)))]].concat());
        fails(&[&gone[..], &[ended(5, 6, replace(1, 2), Done)]].concat());
        fails(&[&gone[..], &[ended(5, 6, Delete, Done)]].concat());
        holds(&[&gone[..], &[ended(5, 6, Create(2), Done), ended(7, 8, Read, Found(Some(2)))]].concat());
    }

    #[test]
    fn an_unknown_outcome_may_come_late_or_never_and_only_once() {
        let unknown = [ended(1, 2, Create(1), Done), open(3, replace(1, 2))];
        let read = |at, value| ended(at, at + 1, Read, Found(Some(value)));
        holds(&[&unknown[..], &[read(4, 1), read(6, 1)]].concat());
        holds(&[&unknown[..], &[read(4, 2), read(6, 2)]].concat());
        holds(&[&unknown[..], &[read(4, 1), read(6, 2)]].concat());
        fails(&[&unknown[..], &[read(4, 2), read(6, 1)]].concat());
        // Not before it was begun.
        fails(&[ended(1, 2, Create(1), Done), read(3, 2), open(5, replace(1, 2))]);
        // A deletion that nobody knows of explains one absence, and two explain two.
        let absent = |at| ended(at, at + 1, Read, Found(None));
        let twice = [absent(10), ended(12, 13, Create(3), Done), absent(14)];
        fails(&[&[ended(1, 2, Create(1), Done), open(3, Delete)], &twice[..]].concat());
        holds(&[&[ended(1, 2, Create(1), Done), open(3, Delete), open(4, Delete)], &twice[..]].concat());
        // A value that somebody may have written cannot come after a later one has replaced it.
        fails(&[
            ended(1, 2, Create(1), Done),
            open(3, replace(1, 2)),
            ended(4, 5, replace(1, 3), Done),
            read(6, 3),
            read(8, 2),
        ]);
    }

    /// Histories that a true register gave, with answers lost at random, hold; one answer changed, and they do not.
    #[test]
    fn random_histories_of_a_register() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..40 {
            let (mut history, mut value, mut shown) = (Vec::new(), None, vec![(0, 0)]);
            // Each takes effect between its two moments, in this order; the moments overlap with those of others.
            for step in 1..300_u64 {
                let now = step * 1000;
                let (begun, end) = (now - random.u64(1..3000).min(now - 1), now + random.u64(1..3000));
                let expected = shown.iter().filter(|(at, _)| *at < begun).max().unwrap().1;
                let call = match random.u8(..8) {
                    0..=2 => Read,
                    3 => Create(step),
                    4..=6 => replace(expected, step),
                    _ => Delete,
                };
                let answers = [Found(value), Done, Conflict, Absent];
                let (answer, after) =
                    answers.into_iter().find_map(|answer| Some((answer, effect(call, value, answer)?))).unwrap();
                let lost = call != Read && random.u8(..10) == 0;
                if !lost || random.bool() {
                    value = after;
                }
                if let (false, Some(value)) = (lost, after) {
                    shown.push((end, value));
                }
                history.push(Operation { call, begun, ended: (!lost).then_some((end, answer)) });
            }
            holds(&history);
            let last = history.iter().filter_map(|operation| operation.ended).map(|(at, _)| at).max().unwrap();
            // A value of long ago, or one of another object.
            history.push(ended(last + 1, last + 2, Read, Found(Some(1_000_000))));
            fails(&history);
        }
    }
}
