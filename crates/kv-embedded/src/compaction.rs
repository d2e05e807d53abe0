//! Compaction: forgetting history that is old enough.
//!
//! Owns the thread that writes snapshots and removes segments. It works on a snapshot of the index, so writers go on
//! beside it. A snapshot is written only when it frees about as much log as it takes itself; the newest segment always
//! stays.

use std::io;
use std::mem;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use pawl_kv::{Result, Revision};

use crate::committer::now;
use crate::segment::{Segment, segment_name};
use crate::snapshot::{self, snapshot_name};
use crate::{Options, Shared, spawn};

/// The handle of the thread.
pub struct Compactor {
    stopped: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Stop {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Compactor {
    pub fn start(shared: Arc<Shared>, options: Options, snapshot: Revision) -> Result<Self> {
        let stopped = Arc::new(Stop::default());
        let stop = Arc::clone(&stopped);
        let thread = spawn("pawl-compact", move || Work { shared, options, snapshot }.run(&stop))?;
        Ok(Self { stopped, thread: Some(thread) })
    }

    pub fn stop(&mut self) {
        *self.stopped.stopped.lock() = true;
        self.stopped.changed.notify_one();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("compaction ended with a panic");
        }
    }
}

struct Work {
    shared: Arc<Shared>,
    options: Options,
    /// The revision of the newest snapshot; 0 without one.
    snapshot: Revision,
}

/// What a look at the segments says.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Nothing,
    /// Segments that end before this revision can go, now.
    Remove(Revision),
    /// They can go once there is a new snapshot.
    SnapshotThenRemove(Revision),
}

impl Work {
    fn run(mut self, stop: &Stop) {
        let pause = (self.options.history / 8).clamp(Duration::from_millis(10), Duration::from_secs(15));
        let mut stopped = stop.stopped.lock();
        while !*stopped {
            stop.changed.wait_for(&mut stopped, pause);
            if !*stopped {
                parking_lot::MutexGuard::unlocked(&mut stopped, || self.step());
            }
        }
    }

    fn step(&mut self) {
        let (compacted, live_bytes) = {
            let state = self.shared.state.read();
            if state.failure.is_some() {
                return;
            }
            (state.compacted, state.live_bytes)
        };
        let facts = Facts { now: now(), snapshot: self.snapshot, compacted, live_bytes };
        let verdict = judge(self.shared.segments.0.lock().iter(), &self.options, &facts);
        let done = match verdict {
            Verdict::Nothing => Ok(()),
            Verdict::Remove(before) => self.remove(before),
            Verdict::SnapshotThenRemove(before) => self.write_snapshot().and_then(|()| self.remove(before)),
        };
        if let Err(error) = done {
            tracing::warn!(%error, "compaction failed and will be tried again");
        }
    }

    fn write_snapshot(&mut self) -> io::Result<()> {
        let (index, revision, compacted) = {
            let state = self.shared.state.read();
            (state.index.clone(), state.revision, state.compacted)
        };
        let bytes = snapshot::write(&*self.shared.disk, &index, revision, compacted)?;
        tracing::debug!(revision, bytes, "wrote a snapshot");
        let older = mem::replace(&mut self.snapshot, revision);
        if older > 0 { self.shared.disk.remove(&snapshot_name(older)) } else { Ok(()) }
    }

    /// Moves the compacted revision, then removes the segments that end before `before`, from the oldest on.
    fn remove(&self, before: Revision) -> io::Result<()> {
        {
            let mut state = self.shared.state.write();
            state.compacted = state.compacted.max(before - 1);
        }
        loop {
            let oldest = {
                let mut segments = self.shared.segments.0.lock();
                match segments.front() {
                    Some(oldest) if oldest.next_revision <= before && segments.len() > 1 => segments.pop_front(),
                    _ => return Ok(()),
                }
            };
            if let Some(oldest) = oldest {
                self.shared.disk.remove(&segment_name(oldest.number))?;
            }
        }
    }
}

/// What the verdict depends on beside the segments.
struct Facts {
    now: u64,
    snapshot: Revision,
    compacted: Revision,
    live_bytes: u64,
}

fn judge<'a>(
    segments: impl ExactSizeIterator<Item = &'a Segment> + Clone,
    options: &Options,
    facts: &Facts,
) -> Verdict {
    /// Many small segments (of a server that is restarted often) slow down opening.
    const MANY: usize = 64;

    let history = u64::try_from(options.history.as_millis()).unwrap_or(u64::MAX);
    let mut total: u64 = segments.clone().map(|segment| segment.end).sum();
    let ended = segments.len().saturating_sub(1);
    let (mut removable, mut covered, mut uncovered_bytes, mut count) = (None, None, 0, 0);
    let mut too_much = false;
    for segment in segments.take(ended) {
        let is_old = segment.newest.saturating_add(history) <= facts.now;
        let is_forgotten = segment.next_revision <= facts.compacted + 1;
        let is_excess = total > options.history_bytes;
        if !(is_old || is_forgotten || is_excess) {
            break;
        }
        too_much |= is_excess;
        total -= segment.end;
        count += 1;
        removable = Some(segment.next_revision);
        if segment.next_revision <= facts.snapshot + 1 {
            covered = removable;
        } else {
            uncovered_bytes += segment.end;
        }
    }
    let pays = uncovered_bytes > 0 && (uncovered_bytes >= facts.live_bytes / 2 || count >= MANY || too_much);
    match (removable, covered) {
        (Some(before), _) if pays => Verdict::SnapshotThenRemove(before),
        (_, Some(before)) => Verdict::Remove(before),
        _ => Verdict::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::SegmentHeader;

    /// Segments of ten writes and about a thousand bytes each, one written every second.
    fn segments(count: u64) -> Vec<Segment> {
        let segment = |number: u64| {
            let first_revision = 2 + (number - 1) * 10;
            let created = number * 1000;
            let header = SegmentHeader { number, salt: 0, first_revision, previous_end: 0, created };
            let mut segment = Segment::new(&header);
            segment.extend(first_revision, first_revision + 10, 1000, created);
            segment
        };
        (1..=count).map(segment).collect()
    }

    #[track_caller]
    fn check(options: &Options, facts: Facts, expected: Verdict) {
        assert_eq!(judge(segments(5).iter(), options, &facts), expected);
    }

    const FACTS: Facts = Facts { now: 0, snapshot: 0, compacted: 0, live_bytes: 0 };

    fn keep(history: Duration) -> Options {
        Options { history, ..Options::default() }
    }

    #[test]
    fn what_is_young_stays() {
        check(&keep(Duration::from_secs(10)), Facts { now: 10_999, ..FACTS }, Verdict::Nothing);
    }

    #[test]
    fn what_is_old_goes_with_a_snapshot_that_covers_it() {
        let ten = keep(Duration::from_secs(10));
        check(&ten, Facts { now: 12_000, ..FACTS }, Verdict::SnapshotThenRemove(22));
        check(&ten, Facts { now: 12_000, snapshot: 21, ..FACTS }, Verdict::Remove(22));
        check(&ten, Facts { now: 12_000, snapshot: 20, live_bytes: 1 << 20, ..FACTS }, Verdict::Remove(12));
    }

    #[test]
    fn a_snapshot_must_be_worth_it() {
        check(&keep(Duration::ZERO), Facts { now: 12_000, live_bytes: 1 << 20, ..FACTS }, Verdict::Nothing);
    }

    #[test]
    fn the_newest_segment_stays() {
        check(&keep(Duration::ZERO), Facts { now: 99_000, ..FACTS }, Verdict::SnapshotThenRemove(42));
    }

    #[test]
    fn what_was_forgotten_by_hand_goes_early() {
        check(&keep(Duration::from_secs(10)), Facts { compacted: 25, ..FACTS }, Verdict::SnapshotThenRemove(22));
    }

    #[test]
    fn a_log_that_is_too_large_goes_early_whatever_it_costs() {
        let small = Options { history_bytes: 3500, ..keep(Duration::from_secs(10)) };
        check(&small, Facts { live_bytes: 1 << 20, ..FACTS }, Verdict::SnapshotThenRemove(22));
    }
}
