//! Random scripts of operations, done by the store and by the model side by side.

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::model::Model;
use super::{Check, Delivered, Effort, ensure};
use crate::{Change, Error, Expect, Guard, Kv, Outcome, RangeRequest, Revision, Watch, Write};

/// One step of a script. Keys and prefixes are places in small tables, revisions distances from the newest one.
#[derive(Clone, Debug)]
enum Step {
    /// A put or a deletion, expecting what is there, or (`stale`) something that is not; some are guarded by a prefix or a key.
    Write {
        key: usize,
        value: Option<Vec<u8>>,
        stale: bool,
        guard: Option<(usize, u64)>,
    },
    /// Puts sent all at once, several on one key, expecting what was there before; some are guarded by a prefix or a key as of then.
    Burst(Vec<(usize, u8, Option<usize>)>),
    Get {
        key: usize,
    },
    Range {
        start: usize,
        end: usize,
        limit: usize,
        back: Option<u64>,
    },
    Future {
        ahead: u64,
    },
    Compact {
        back: u64,
    },
    Watch {
        prefix: usize,
        back: u64,
    },
    /// Every open watch reads on to the newest revision.
    Follow,
}

const KEYS: [&str; 7] = ["/a", "/a/", "/a/1", "/a/2", "/ab/1", "/b/1", "/b/\u{ff}"];
const PREFIXES: [&str; 6] = ["", "/", "/a", "/a/", "/b/1", "/c"];

fn key(place: usize) -> Bytes {
    Bytes::from_static(KEYS.get(place).copied().unwrap_or_default().as_bytes())
}

fn prefix(place: usize) -> Bytes {
    Bytes::from_static(PREFIXES.get(place).copied().unwrap_or_default().as_bytes())
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let value = || prop_oneof![3 => prop::collection::vec(any::<u8>(), 0..40), 1 => (any::<u8>(), 1_usize..9000).prop_map(|(byte, length)| vec![byte; length])];
    // Places behind the prefixes are keys.
    let places = || 0..PREFIXES.len() + KEYS.len();
    let guard = prop::option::weighted(0.2, (places(), 0_u64..12));
    let write = (0..KEYS.len(), prop::option::weighted(0.75, value()), prop::bool::weighted(0.15), guard);
    let step = prop_oneof![
        10 => write.prop_map(|(key, value, stale, guard)| Step::Write { key, value, stale, guard }),
        2 => prop::collection::vec((0..KEYS.len(), any::<u8>(), prop::option::weighted(0.2, places())), 1..12).prop_map(Step::Burst),
        1 => (0..KEYS.len()).prop_map(|key| Step::Get { key }),
        3 => (0..KEYS.len(), 0..=KEYS.len(), 0_usize..4, prop::option::of(0_u64..20))
            .prop_map(|(start, end, limit, back)| Step::Range { start, end, limit, back }),
        1 => (1_u64..3).prop_map(|ahead| Step::Future { ahead }),
        1 => (0_u64..15).prop_map(|back| Step::Compact { back }),
        3 => (0..PREFIXES.len(), 0_u64..30).prop_map(|(prefix, back)| Step::Watch { prefix, back }),
        1 => Just(Step::Follow),
    ];
    prop::collection::vec(step, 1..60)
}

pub(super) async fn run<F, S>(make: &F, effort: &Effort) -> Check
where
    F: Fn() -> S,
    S: Future<Output = Arc<dyn Kv>>,
{
    let mut seed = [0; 32];
    seed.iter_mut().zip(effort.seed.to_le_bytes()).for_each(|(to, from)| *to = from);
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    let strategy = steps();
    let mut done = 0;
    while effort.wants(done, 48) {
        let mut tree = strategy.new_tree(&mut runner).map_err(|reason| reason.to_string())?;
        if let Err(mut failure) = play(make().await, &tree.current()).await {
            let mut script = tree.current();
            let mut simpler = tree.simplify();
            for _ in 0..500 {
                if !simpler {
                    break;
                }
                simpler = match play(make().await, &tree.current()).await {
                    Err(reason) => {
                        (failure, script) = (reason, tree.current());
                        tree.simplify()
                    }
                    Ok(()) => tree.complicate(),
                };
            }
            return Err(format!("{failure}\nin the script {script:#?}\nPAWL_SEED={}", effort.seed));
        }
        done += 1;
    }
    Ok(())
}

/// A watch of the script and what it has said so far.
struct Watcher {
    watch: Watch,
    prefix: Bytes,
    after: Revision,
    delivered: Delivered,
    ended: bool,
}

async fn play(store: Arc<dyn Kv>, script: &[Step]) -> Check {
    let begin = store.revision().await.map_err(|error| error.to_string())?;
    let mut player = Player { store, model: Model::new(begin), watchers: Vec::new() };
    for (place, step) in script.iter().enumerate() {
        player.step(step).await.map_err(|reason| format!("step {place}: {reason}"))?;
        let revision = player.store.revision().await.map_err(|error| error.to_string())?;
        let expected = player.model.revision();
        ensure!(revision == expected, "step {place}: the revision is {revision}, should be {expected}");
    }
    player.follow().await?;
    // From every revision that is left, a watch and a read must agree with the model.
    let newest = player.model.revision();
    for after in player.model.compacted().max(begin)..=newest {
        player.watch(&Bytes::from_static(b"/a"), after).await?;
        player.range(&RangeRequest { revision: Some(after), ..RangeRequest::default() }).await?;
    }
    player.follow().await
}

struct Player {
    store: Arc<dyn Kv>,
    model: Model,
    watchers: Vec<Watcher>,
}

impl Player {
    async fn step(&mut self, step: &Step) -> Check {
        match step {
            Step::Write { key: place, value, stale, guard } => {
                let guard = guard.map(|(place, back)| self.guard(place, self.back(back)));
                self.write(key(*place), value.clone(), *stale, guard).await
            }
            Step::Burst(puts) => self.burst(puts).await,
            Step::Get { key: place } => {
                let key = key(*place);
                let (held, expected) = (self.store.get(key.clone()).await, Ok(self.model.get(&key)));
                ensure!(held == expected, "get {key:?}: {held:?}, should be {expected:?}");
                Ok(())
            }
            Step::Range { start, end, limit, back } => {
                let end = if *end == KEYS.len() { Bytes::new() } else { key(*end) };
                let revision = back.map(|back| self.back(back));
                self.range(&RangeRequest { start: key(*start), end, limit: *limit, revision, count: start % 2 == 0 })
                    .await
            }
            Step::Future { ahead } => self.future(self.model.revision() + ahead).await,
            Step::Compact { back } => {
                let revision = self.back(*back);
                self.store.compact(revision).await.map_err(|error| format!("compact: {error}"))?;
                self.model.compact(revision);
                Ok(())
            }
            Step::Watch { prefix: place, back } => self.watch(&prefix(*place), self.back(*back)).await,
            Step::Follow => self.follow().await,
        }
    }

    fn back(&self, distance: u64) -> Revision {
        self.model.revision().saturating_sub(distance).max(self.model.begin())
    }

    /// A guard on a prefix as of a revision, or on a key that is as it is, unless that was written later.
    fn guard(&self, place: usize, through: Revision) -> Guard {
        match place.checked_sub(PREFIXES.len()) {
            None => Guard::Unwritten { prefix: prefix(place), through },
            Some(place) => {
                let held = self.model.get(&key(place)).map(|held| held.mod_revision);
                Guard::Same { key: key(place), revision: held.filter(|held| *held <= through).unwrap_or(through) }
            }
        }
    }

    async fn write(&mut self, key: Bytes, value: Option<Vec<u8>>, stale: bool, guard: Option<Guard>) -> Check {
        let expect = match (self.model.get(&key), stale, &value) {
            (Some(held), false, _) => Expect::Revision(held.mod_revision),
            (Some(_), true, Some(_)) | (None, false, Some(_)) => Expect::Absent,
            (Some(held), true, None) => Expect::Revision(held.mod_revision - 1),
            (None, _, _) => Expect::Revision(self.model.revision()),
        };
        let change = value.map_or(Change::Delete, |value| Change::Put { value: value.into(), ttl: None });
        let write = Write { guards: guard.into_iter().collect(), ..Write::new(key, expect, change) };
        let (outcome, expected) = (self.store.write(write.clone()).await, Ok(self.model.write(&write)));
        ensure!(outcome == expected, "{write:?}: {outcome:?}, should be {expected:?}");
        Ok(())
    }

    async fn burst(&mut self, puts: &[(usize, u8, Option<usize>)]) -> Check {
        let through = self.model.revision();
        let write = |(place, byte, guard): &(usize, u8, Option<usize>)| {
            let key = key(*place);
            let expect = self.model.get(&key).map_or(Expect::Absent, |held| Expect::Revision(held.mod_revision));
            let change = Change::Put { value: vec![*byte; 10].into(), ttl: None };
            let guards = guard.map(|place| self.guard(place, through));
            Write { guards: guards.into_iter().collect(), ..Write::new(key, expect, change) }
        };
        let writes: Vec<Write> = puts.iter().map(write).collect();
        let outcomes = futures::future::join_all(writes.iter().map(|write| self.store.write(write.clone()))).await;
        let mut applied = Vec::new();
        let mut refused = Vec::new();
        for (write, outcome) in writes.iter().zip(outcomes) {
            match outcome {
                Ok(Outcome::Applied { revision }) => applied.push((revision, write)),
                Ok(Outcome::Conflict { current }) => refused.push((write, current)),
                Err(error) => return Err(format!("{write:?}: {error}")),
            }
        }
        // The store chose the order; in that order the model must agree, and whoever lost must lose afterwards too.
        applied.sort_by_key(|(revision, _)| *revision);
        for (revision, write) in applied {
            let (outcome, expected) = (Outcome::Applied { revision }, self.model.write(write));
            ensure!(outcome == expected, "{write:?} in a burst: {outcome:?}, should be {expected:?}");
        }
        for (write, current) in refused {
            // One that lost to its guard may have found something else at its key than is there at the end.
            let lost = match self.model.write(write) {
                Outcome::Conflict { current: now } => now == current || !write.guards.is_empty(),
                Outcome::Applied { .. } => false,
            };
            ensure!(lost, "{write:?} lost to {current:?}");
        }
        Ok(())
    }

    async fn range(&self, request: &RangeRequest) -> Check {
        let (range, expected) = (self.store.range(request.clone()).await, self.model.range(request));
        ensure!(range == expected, "{request:?}: {range:?}, should be {expected:?}");
        Ok(())
    }

    async fn future(&self, requested: Revision) -> Check {
        let expected = Error::Future { requested, current: self.model.revision() };
        self.range(&RangeRequest { revision: Some(requested), ..RangeRequest::default() }).await?;
        let watch = self.store.watch(Bytes::new(), requested).await.err();
        ensure!(watch.as_ref() == Some(&expected), "watch after {requested}: {watch:?}, should be {expected:?}");
        let compact = self.store.compact(requested).await;
        ensure!(compact == Err(expected.clone()), "compact {requested}: {compact:?}, should be {expected:?}");
        Ok(())
    }

    async fn watch(&mut self, prefix: &Bytes, after: Revision) -> Check {
        let compacted = self.model.compacted();
        match self.store.watch(prefix.clone(), after).await {
            Ok(watch) => {
                ensure!(after >= compacted, "a watch after {after} began, although {compacted} is compacted");
                let delivered = Delivered { events: Vec::new(), through: after };
                self.watchers.push(Watcher { watch, prefix: prefix.clone(), after, delivered, ended: false });
                Ok(())
            }
            Err(error) => {
                let expected = Error::Compacted { requested: after, compacted };
                ensure!(after < compacted && error == expected, "watch after {after}: {error}");
                Ok(())
            }
        }
    }

    async fn follow(&mut self) -> Check {
        let (newest, compacted) = (self.model.revision(), self.model.compacted());
        for watcher in self.watchers.iter_mut().filter(|watcher| !watcher.ended) {
            let expected = self.model.events(&watcher.prefix, watcher.after);
            let Watcher { watch, delivered, prefix, after, .. } = watcher;
            let followed = delivered.follow(watch, newest).await;
            let followed = followed.map_err(|reason| format!("watch of {prefix:?} after {after}: {reason}"))?;
            let complete = followed.is_ok();
            let events = &delivered.events;
            let agrees = if complete { *events == expected } else { expected.starts_with(events) };
            ensure!(agrees, "watch of {prefix:?} after {after}: {events:?}, should be {expected:?}");
            if let Err(error) = followed {
                // One that had not read what has been compacted since may be told so instead.
                let through = delivered.through;
                let excused = matches!(error, Error::Lagged | Error::Compacted { .. }) && through < compacted;
                ensure!(excused, "watch of {prefix:?} after {after} ended at {through}: {error}");
                watcher.ended = true;
            }
        }
        Ok(())
    }
}
