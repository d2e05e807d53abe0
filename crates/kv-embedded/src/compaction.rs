//! Compaction: forgetting history that is old enough.
//!
//! Owns the thread of the chores: it writes snapshots, removes segments, makes the spare segment. It works on a snapshot
//! of the index, so writers go on beside it. A snapshot is written only when it frees about as much log as it takes
//! itself (or frees what was to be forgotten), and when there is room for it; the newest segment always stays. What fails is tried again, and leaves nothing
//! behind.

use std::io;
use std::mem;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pawl_kv::{Result, Revision};

use crate::clock::milliseconds;
use crate::segment::{Segment, segment_name};
use crate::snapshot::{self, UNFINISHED, snapshot_name};
use crate::state::StoreState;
use crate::{Options, Shared, spawn};

/// The handle of the thread.
pub struct Compactor {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Compactor {
    pub fn start(shared: &Arc<Shared>, options: Options, snapshot: Revision) -> Result<Self> {
        let work = Work { shared: Arc::clone(shared), options, snapshot, obsolete: Vec::new(), is_failing: false };
        let thread = spawn("pawl-compact", move || work.run())?;
        Ok(Self { shared: Arc::clone(shared), thread: Some(thread) })
    }

    pub fn stop(&mut self) {
        self.shared.spare.stop();
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
    /// Files that nobody needs and that could not be removed yet: snapshots that were replaced, or not finished.
    obsolete: Vec<String>,
    /// Whether the last try failed: one says so once.
    is_failing: bool,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CompactionVerdict {
    Nothing,
    /// Segments can go, now.
    Remove,
    /// More of them can go once there is a new snapshot.
    SnapshotThenRemove,
}

/// What a look at the segments says.
#[derive(Debug, PartialEq, Eq)]
struct Judgement {
    verdict: CompactionVerdict,
    /// What ends before this revision is covered by a snapshot and can go.
    covered: Option<Revision>,
}

impl Work {
    fn run(mut self) {
        /// On a full disk writers wait: what could not be done is tried again soon.
        const URGENT: Duration = Duration::from_secs(1);
        let pause = (self.options.history / 8).clamp(Duration::from_millis(10), Duration::from_secs(15));
        let shared = Arc::clone(&self.shared);
        let mut next = Instant::now() + pause;
        while shared.spare.wait(next.saturating_duration_since(Instant::now())) {
            shared.spare.refill();
            if Instant::now() >= next || (shared.spare.full().is_some() && !self.is_failing) {
                shared.release_stale();
                self.step();
                let is_full = shared.spare.full().is_some();
                next = Instant::now() + if is_full { pause.min(URGENT) } else { pause };
            }
        }
        // What cannot be removed now either goes when the store is opened.
        let _ = self.remove_obsolete();
        shared.spare.remove();
    }

    fn step(&mut self) {
        let verdict = self.judge(&self.shared.state.read()).verdict;
        let done = self.remove_obsolete().and_then(|()| match verdict {
            CompactionVerdict::Nothing => Ok(()),
            CompactionVerdict::Remove => self.remove(),
            // Without the snapshot, what an older one covers can still go.
            CompactionVerdict::SnapshotThenRemove => {
                let written = self.write_snapshot();
                self.remove().and(written)
            }
        });
        match &done {
            Err(error) if !self.is_failing => tracing::warn!(%error, "compaction failed and will be tried again"),
            Err(error) => tracing::debug!(%error, "compaction failed again"),
            Ok(()) => {}
        }
        self.is_failing = done.is_err();
    }

    fn judge(&self, state: &StoreState) -> Judgement {
        let facts = Circumstances {
            now: self.shared.clock.now(),
            snapshot: self.snapshot,
            compacted: state.compacted,
            live_bytes: state.live_bytes,
            needed: self.shared.needed(),
            is_full: self.shared.spare.full().is_some(),
        };
        self.shared.segments.look(|segments| judge(segments.iter(), &self.options, &facts))
    }

    fn write_snapshot(&mut self) -> io::Result<()> {
        let (index, revision, compacted, live_bytes) = {
            let state = self.shared.state.read();
            (state.index.clone(), state.revision, state.compacted, state.live_bytes)
        };
        let (size, free) = (snapshot::size(index.len(), live_bytes), self.shared.disk.free()?);
        // What it would leave is for the log, unless the log can only go on when there is a snapshot.
        let left = if self.shared.spare.full().is_some() { 0 } else { self.options.segment_bytes };
        if free < size.saturating_add(left) {
            let what = format!("a snapshot takes {size} bytes, {free} are free");
            return Err(io::Error::new(io::ErrorKind::StorageFull, what));
        }
        let bytes = snapshot::write(&*self.shared.disk, &index, revision, compacted).inspect_err(|_| {
            self.obsolete.push(format!("{}{UNFINISHED}", snapshot_name(revision)));
        })?;
        tracing::debug!(revision, bytes, "wrote a snapshot");
        let older = mem::replace(&mut self.snapshot, revision);
        self.obsolete.extend((older > 0 && older != revision).then(|| snapshot_name(older)));
        self.remove_obsolete()
    }

    fn remove_obsolete(&mut self) -> io::Result<()> {
        while let Some(older) = self.obsolete.last() {
            remove_file(&self.shared, older)?;
            self.obsolete.pop();
        }
        Ok(())
    }

    /// Moves the compacted revision, then removes the segments that end before it, from the oldest on. What somebody
    /// began to read since the last look stays.
    fn remove(&self) -> io::Result<()> {
        let before = {
            let mut state = self.shared.state.write();
            let Some(before) = self.judge(&state).covered else { return Ok(()) };
            state.compacted = state.compacted.max(before - 1);
            before
        };
        while let Some(oldest) = self.shared.segments.oldest_before(before) {
            remove_file(&self.shared, &segment_name(oldest))?;
            self.shared.segments.drop_oldest();
        }
        Ok(())
    }
}

/// Removes a file that may be gone already.
fn remove_file(shared: &Shared, name: &str) -> io::Result<()> {
    match shared.disk.remove(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// What the verdict depends on beside the segments.
#[derive(Clone, Copy)]
struct Circumstances {
    now: u64,
    snapshot: Revision,
    compacted: Revision,
    live_bytes: u64,
    /// Somebody still has to read from this revision on.
    needed: Option<Revision>,
    /// Whether the disk is full: then everything goes that can.
    is_full: bool,
}

fn judge<'a>(
    segments: impl ExactSizeIterator<Item = &'a Segment> + Clone,
    options: &Options,
    facts: &Circumstances,
) -> Judgement {
    /// Many small segments (of a server that is restarted often) slow down opening.
    const MANY: usize = 64;

    let history = milliseconds(options.history);
    let mut total: u64 = segments.clone().map(|segment| segment.end).sum();
    let ended = segments.len().saturating_sub(1);
    let (mut covered, mut uncovered_bytes, mut count) = (None, 0, 0);
    let mut too_much = false;
    for segment in segments.take(ended) {
        let is_needed = facts.needed.is_some_and(|needed| needed < segment.next_revision);
        let is_old = segment.newest.saturating_add(history) <= facts.now && !is_needed;
        let is_forgotten = segment.next_revision <= facts.compacted + 1;
        let is_excess = total > options.history_bytes || facts.is_full;
        if !(is_old || is_forgotten || is_excess) {
            break;
        }
        // What somebody asked to be forgotten goes whatever it costs: it may be a secret.
        too_much |= is_excess || segment.first_revision <= facts.compacted;
        total -= segment.end;
        count += 1;
        if segment.next_revision <= facts.snapshot + 1 {
            covered = Some(segment.next_revision);
        } else {
            uncovered_bytes += segment.end;
        }
    }
    let pays = uncovered_bytes > 0 && (uncovered_bytes >= facts.live_bytes / 2 || count >= MANY || too_much);
    let verdict = match covered {
        _ if pays => CompactionVerdict::SnapshotThenRemove,
        Some(_) => CompactionVerdict::Remove,
        None => CompactionVerdict::Nothing,
    };
    Judgement { verdict, covered }
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
            let mut segment = Segment::new(&header, None);
            segment.extend(first_revision, first_revision + 10, 1000, created);
            segment
        };
        (1..=count).map(segment).collect()
    }

    #[track_caller]
    fn check(options: &Options, facts: Circumstances, verdict: CompactionVerdict, covered: Option<Revision>) {
        assert_eq!(judge(segments(5).iter(), options, &facts), Judgement { verdict, covered });
        // A snapshot of everything covers all that may go.
        if verdict == CompactionVerdict::SnapshotThenRemove {
            let covered = judge(segments(5).iter(), options, &Circumstances { snapshot: 51, ..facts }).covered;
            assert!(covered.is_some());
        }
    }

    const FACTS: Circumstances =
        Circumstances { now: 0, snapshot: 0, compacted: 0, live_bytes: 0, needed: None, is_full: false };

    fn keep(history: Duration) -> Options {
        Options { history, ..Options::default() }
    }

    #[test]
    fn what_is_young_stays() {
        check(&keep(Duration::from_secs(10)), Circumstances { now: 10_999, ..FACTS }, CompactionVerdict::Nothing, None);
    }

    #[test]
    fn what_is_old_goes_with_a_snapshot_that_covers_it() {
        let ten = keep(Duration::from_secs(10));
        let old = Circumstances { now: 12_000, ..FACTS };
        check(&ten, old, CompactionVerdict::SnapshotThenRemove, None);
        check(&ten, Circumstances { snapshot: 21, ..old }, CompactionVerdict::Remove, Some(22));
        check(&ten, Circumstances { snapshot: 99, ..old }, CompactionVerdict::Remove, Some(22));
        check(&ten, Circumstances { snapshot: 20, live_bytes: 1 << 20, ..old }, CompactionVerdict::Remove, Some(12));
    }

    #[test]
    fn a_snapshot_must_be_worth_it() {
        check(
            &keep(Duration::ZERO),
            Circumstances { now: 12_000, live_bytes: 1 << 20, ..FACTS },
            CompactionVerdict::Nothing,
            None,
        );
    }

    #[test]
    fn the_newest_segment_stays() {
        check(
            &keep(Duration::ZERO),
            Circumstances { now: 99_000, snapshot: 99, ..FACTS },
            CompactionVerdict::Remove,
            Some(42),
        );
    }

    #[test]
    fn what_was_forgotten_by_hand_goes_early() {
        let ten = keep(Duration::from_secs(10));
        check(&ten, Circumstances { compacted: 25, ..FACTS }, CompactionVerdict::SnapshotThenRemove, None);
        check(&ten, Circumstances { compacted: 25, snapshot: 99, ..FACTS }, CompactionVerdict::Remove, Some(22));
        check(
            &ten,
            Circumstances { compacted: 25, live_bytes: 1 << 20, ..FACTS },
            CompactionVerdict::SnapshotThenRemove,
            None,
        );
    }

    #[test]
    fn what_somebody_has_to_read_stays() {
        let ten = keep(Duration::from_secs(10));
        let old = Circumstances { now: 99_000, snapshot: 99, ..FACTS };
        check(&ten, Circumstances { needed: Some(2), ..old }, CompactionVerdict::Nothing, None);
        check(&ten, Circumstances { needed: Some(21), ..old }, CompactionVerdict::Remove, Some(12));
        check(&ten, Circumstances { needed: Some(22), ..old }, CompactionVerdict::Remove, Some(22));
        let small = Options { history_bytes: 3500, ..ten };
        check(&small, Circumstances { now: 0, needed: Some(2), ..old }, CompactionVerdict::Remove, Some(22));
    }

    #[test]
    fn on_a_full_disk_everything_goes() {
        let ten = keep(Duration::from_secs(10));
        let full = Circumstances { is_full: true, live_bytes: 1 << 20, snapshot: 21, needed: Some(2), ..FACTS };
        check(&ten, full, CompactionVerdict::SnapshotThenRemove, Some(22));
        check(&ten, Circumstances { snapshot: 99, ..full }, CompactionVerdict::Remove, Some(42));
    }

    #[test]
    fn a_log_that_is_too_large_goes_early_whatever_it_costs() {
        let small = Options { history_bytes: 3500, ..keep(Duration::from_secs(10)) };
        check(&small, Circumstances { live_bytes: 1 << 20, ..FACTS }, CompactionVerdict::SnapshotThenRemove, None);
    }
}
