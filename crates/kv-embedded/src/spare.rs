//! Room for the next segment of the log, made before it is needed.
//!
//! Owns the spare: a file that is open, reserved on the disk and only needs its header and its name. With it the log goes
//! on for a while when there are no descriptors or no space for another. Where there is little space less is reserved.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::disk::{Disk, DiskFile};
use crate::snapshot::UNFINISHED;

/// A file for a segment.
pub struct Room {
    pub file: Arc<dyn DiskFile>,
    /// How much of it is reserved.
    pub size: u64,
}

pub struct Spare {
    disk: Arc<dyn Disk>,
    segment_bytes: u64,
    held: Mutex<Held>,
    /// One at a time makes it.
    making: Mutex<()>,
    /// Tells the thread that does the chores.
    changed: Condvar,
}

#[derive(Default)]
struct Held {
    room: Option<Room>,
    /// Why there is none, when it could not be made.
    missing: Option<io::Error>,
    /// Whether a segment has been made since the spare was last thought of.
    is_wanted: bool,
    stopped: bool,
}

impl Spare {
    pub fn new(disk: Arc<dyn Disk>, segment_bytes: u64) -> Self {
        Self { disk, segment_bytes, held: Mutex::default(), making: Mutex::default(), changed: Condvar::new() }
    }

    fn name() -> String {
        format!("spare{UNFINISHED}")
    }

    /// Makes a segment with this header and room for at least `least` bytes, durably: from the spare, or anew.
    pub fn make(&self, name: &str, header: &[u8], least: u64) -> io::Result<Room> {
        let spare = {
            let mut held = self.held.lock();
            let spare = held.room.take_if(|room| room.size >= least);
            // Until it has its own name, nobody makes another.
            held.is_wanted &= spare.is_none();
            spare
        };
        let made = match spare {
            Some(room) => self.finish(&Self::name(), name, header, room),
            None => self.reserve(name, least).and_then(|room| self.finish(name, name, header, room)),
        };
        if made.is_err() {
            // It was never used: what is left of it only takes space.
            let _ = self.disk.remove(name);
        }
        self.held.lock().is_wanted = true;
        self.changed.notify_one();
        made
    }

    /// Whether the disk is full, and so there is no spare. For other reasons there may soon be one.
    pub fn full(&self) -> Option<String> {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        let held = self.held.lock();
        let error = held.missing.as_ref().filter(|error| matches!(error.kind(), StorageFull | QuotaExceeded))?;
        Some(format!("there is no room for another log segment: {error}"))
    }

    /// Makes the spare where there is none.
    pub fn refill(&self) {
        let _making = self.making.lock();
        {
            let mut held = self.held.lock();
            let is_wanted = std::mem::take(&mut held.is_wanted) || held.missing.is_some();
            if !is_wanted || held.room.is_some() {
                return;
            }
        }
        let made = self.spare();
        if made.is_err() {
            let _ = self.disk.remove(&Self::name());
        }
        let mut held = self.held.lock();
        match (&made, &held.missing) {
            (Err(error), None) => tracing::warn!(%error, "there is no room for another log segment"),
            (Ok(_), Some(_)) => tracing::info!("there is room for another log segment again"),
            _ => {}
        }
        (held.room, held.missing) = match made {
            Ok(room) => (Some(room), None),
            Err(error) => (None, Some(error)),
        };
    }

    /// Gives the spare back.
    pub fn remove(&self) {
        if self.held.lock().room.take().is_some()
            && let Err(error) = self.disk.remove(&Self::name())
        {
            tracing::debug!(%error, "the spare segment could not be removed");
        }
    }

    /// Waits until a spare is wanted, somebody stops the chores, or the time is up; tells whether to go on.
    pub fn wait(&self, pause: Duration) -> bool {
        /// When there is no room, one looks again soon.
        const SOON: Duration = Duration::from_millis(200);
        let mut held = self.held.lock();
        let pause = if held.missing.is_some() { pause.min(SOON) } else { pause };
        if !held.stopped && !held.is_wanted {
            self.changed.wait_for(&mut held, pause);
        }
        !held.stopped
    }

    pub fn stop(&self) {
        self.held.lock().stopped = true;
        self.changed.notify_one();
    }

    /// Half of what is free at most: the rest is for snapshots, and for everybody else. A small fraction of a segment
    /// would not take a large batch, and so is none.
    fn spare(&self) -> io::Result<Room> {
        let size = self.segment_bytes.min(self.disk.free()? / 2);
        if size < self.segment_bytes / 4 {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let file = self.disk.create(&Self::name())?;
        file.reserve(size)?;
        file.sync()?;
        Ok(Room { file, size })
    }

    /// A new file with as much room as the disk gives; but a part of a segment stays free for the snapshot without which
    /// no history can go, or the disk would be full for ever.
    fn reserve(&self, name: &str, least: u64) -> io::Result<Room> {
        let most = self.disk.free()?.saturating_sub(self.segment_bytes / 4);
        if most < least {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let file = self.disk.create(name)?;
        let mut size = self.segment_bytes.max(least).min(most);
        loop {
            match file.reserve(size) {
                Ok(()) => return Ok(Room { file, size }),
                Err(error) if size <= least => return Err(error),
                Err(_) => size = (size / 2).max(least),
            }
        }
    }

    fn finish(&self, from: &str, name: &str, header: &[u8], room: Room) -> io::Result<Room> {
        room.file.write_at(header, 0)?;
        room.file.sync()?;
        if from != name {
            self.disk.rename(from, name)?;
        }
        self.disk.sync_names()?;
        Ok(room)
    }
}
