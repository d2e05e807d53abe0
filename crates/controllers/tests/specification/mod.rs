//! What the collector may do, as guarded steps on a small state. It says nothing of graphs, queues or watches.

use std::collections::{BTreeMap, BTreeSet, HashSet};

/// An object: what holds it, whether it is going, and who owns it (and waits for it).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Remaining {
    pub lien: bool,
    pub hold: bool,
    pub deleting: bool,
    pub foreground: bool,
    pub orphan: bool,
    pub owners: BTreeMap<usize, bool>,
}

/// All objects that are there. Owners may be gone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct World(pub BTreeMap<usize, Remaining>);

#[derive(Clone, Copy, Debug)]
pub enum Policy {
    Background,
    Foreground,
    Orphan,
}

impl World {
    /// Somebody asks for a deletion. Returns whether it was refused.
    pub fn delete(&mut self, i: usize, policy: Policy) -> bool {
        let Some(thing) = self.0.get_mut(&i) else { return true };
        if thing.lien && !thing.deleting {
            return true;
        }
        thing.deleting = true;
        thing.foreground = matches!(policy, Policy::Foreground);
        thing.orphan = matches!(policy, Policy::Orphan);
        self.end(i);
        false
    }

    /// The object goes when nothing holds it any more.
    pub fn end(&mut self, i: usize) {
        if self.0.get(&i).is_some_and(|t| t.deleting && !t.hold && !t.foreground && !t.orphan) {
            self.0.remove(&i);
        }
    }

    /// Every state that the collector may leave behind when it has nothing more to do.
    pub fn outcomes(&self) -> HashSet<World> {
        let mut seen: HashSet<World> = HashSet::new();
        let mut next = vec![self.clone()];
        let mut outcomes = HashSet::new();
        while let Some(world) = next.pop() {
            if !seen.insert(world.clone()) {
                continue;
            }
            let steps = world.steps();
            if !steps.iter().any(|(must, _)| *must) {
                outcomes.insert(world);
            }
            next.extend(steps.into_iter().map(|(_, world)| world));
        }
        outcomes
    }

    /// What the collector must do, and what it may do when it learns late that it need not.
    fn steps(&self) -> Vec<(bool, World)> {
        let mut steps = Vec::new();
        for (&i, thing) in &self.0 {
            let mut step = |must: bool, change: &dyn Fn(&mut World)| {
                let mut world = self.clone();
                change(&mut world);
                world.end(i);
                if world != *self {
                    steps.push((must, world));
                }
            };
            let of = |world: &mut World, change: &dyn Fn(&mut Remaining)| {
                if let Some(thing) = world.0.get_mut(&i) {
                    change(thing);
                }
            };
            if thing.deleting && thing.orphan {
                match self.dependents(i).first() {
                    // Its dependents forget it, in any order; then it is let go.
                    Some(_) => {
                        for j in self.dependents(i) {
                            step(true, &|world| {
                                if let Some(dependent) = world.0.get_mut(&j) {
                                    dependent.owners.remove(&i);
                                }
                            });
                        }
                    }
                    None => step(true, &|world| of(world, &|t| t.orphan = false)),
                }
            } else if thing.deleting && thing.foreground {
                if self.blocking(i).is_empty() {
                    step(true, &|world| of(world, &|t| t.foreground = false));
                }
                let unblock = |t: &mut Remaining| t.owners.values_mut().for_each(|blocks| *blocks = false);
                if self.returns(i, true) {
                    step(true, &|world| of(world, &unblock));
                } else if self.returns(i, false) {
                    step(false, &|world| of(world, &unblock));
                }
            } else if !thing.deleting && !thing.owners.is_empty() {
                let solid = |o: &usize| self.0.get(o).is_some_and(|t| !(t.deleting && t.foreground));
                if thing.owners.keys().any(solid) {
                    step(true, &|world| of(world, &|t| t.owners.retain(|o, _| solid(o))));
                } else if !thing.lien {
                    let waiting = thing.owners.keys().any(|o| self.0.contains_key(o));
                    let foreground = waiting && !self.dependents(i).is_empty();
                    step(true, &|world| {
                        of(world, &|t| {
                            t.deleting = true;
                            t.foreground = foreground;
                        });
                    });
                }
            }
        }
        steps
    }

    fn dependents(&self, i: usize) -> Vec<usize> {
        self.0.iter().filter(|(_, t)| t.owners.contains_key(&i)).map(|(j, _)| *j).collect()
    }

    fn blocking(&self, i: usize) -> Vec<usize> {
        self.dependents(i).into_iter().filter(|j| *j != i && self.0[j].owners[&i]).collect()
    }

    /// Whether a way along dependents that are going leads back: along those that block and wait, or along any.
    fn returns(&self, i: usize, strictly: bool) -> bool {
        let mut seen = BTreeSet::new();
        let mut next = vec![i];
        while let Some(at) = next.pop() {
            let ways = if strictly { self.blocking(at) } else { self.dependents(at) };
            for j in ways.into_iter().filter(|j| self.0[j].deleting && (!strictly || self.0[j].foreground)) {
                if j == i {
                    return true;
                }
                if seen.insert(j) {
                    next.push(j);
                }
            }
        }
        false
    }
}
