//! A disk in memory that does what real ones do on bad days.
//!
//! Owns the difference between what a process sees and what would be there after the power went out. Writes become
//! durable with a sync; until then a crash keeps any of their sectors and loses the others. A failed sync forgets what
//! it was asked to write although it can still be read, as kernels do. Names become durable in order.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use parking_lot::Mutex;

use crate::disk::{Disk, DiskFile};

/// What a disk writes wholly or not at all.
const SECTOR: u64 = 512;

/// What goes wrong, and when.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// After so many changes the machine is gone: nothing works any more.
    pub crash_after: Option<u64>,
    /// The sync after so many others fails.
    pub fail_sync_after: Option<u64>,
    /// All files together may be so large; the write that does not fit is cut.
    pub space: Option<u64>,
    /// A sync takes up to so long.
    pub delay: Duration,
    /// Calls fail for a moment.
    pub moment: Option<Moment>,
}

/// A fault that passes.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub fault: Fault,
    /// So many calls that the fault concerns still work.
    pub after: u64,
    /// So many fail then.
    pub calls: u64,
}

/// What fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Every call, each with EIO.
    Io,
    /// Whatever changes anything: the file system is read-only.
    ReadOnly,
    /// Whatever needs a descriptor.
    Descriptors,
    /// Whatever takes space.
    Full,
}

impl Fault {
    fn error(self) -> io::Error {
        use rustix::io::Errno;
        io::Error::from(match self {
            Self::Io => Errno::IO,
            Self::ReadOnly => Errno::ROFS,
            Self::Descriptors => Errno::MFILE,
            Self::Full => Errno::NOSPC,
        })
    }
}

/// What a call does, as far as faults are concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    Look,
    Open,
    Create,
    Change,
    Grow,
}

impl Call {
    fn is_hit_by(self, fault: Fault) -> bool {
        match fault {
            Fault::Io => true,
            Fault::ReadOnly => matches!(self, Self::Create | Self::Change | Self::Grow),
            Fault::Descriptors => matches!(self, Self::Open | Self::Create),
            Fault::Full => matches!(self, Self::Create | Self::Grow),
        }
    }
}

/// The disk. Clones are handles of the same one.
#[derive(Clone)]
pub struct SimulatedDisk(Arc<Mutex<Inner>>);

struct Inner {
    files: Vec<Contents>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    unsynced_names: Vec<NameChange>,
    faults: Faults,
    is_gone: bool,
    rng: Rng,
}

#[derive(Clone)]
enum NameChange {
    Set(String, usize),
    Remove(String),
}

#[derive(Default)]
struct Contents {
    seen: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<Change>,
    /// What was ever written, as opposed to reserved.
    written: Vec<Range<u64>>,
}

enum Change {
    Write(u64, Vec<u8>),
    Resize(u64),
}

impl SimulatedDisk {
    pub fn new(seed: u64) -> Self {
        Self::with(Vec::new(), BTreeMap::new(), Rng::with_seed(seed))
    }

    fn with(files: Vec<Contents>, names: BTreeMap<String, usize>, rng: Rng) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            files,
            durable_names: names.clone(),
            names,
            unsynced_names: Vec::new(),
            faults: Faults::default(),
            is_gone: false,
            rng,
        })))
    }

    /// Replaces what goes wrong from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.0.lock().faults = faults;
    }

    /// The power goes out. Gives the disk as the next process finds it; this one is of no use any more.
    pub fn crash(&self) -> Self {
        let mut inner = self.0.lock();
        inner.is_gone = true;
        let mut rng = inner.rng.fork();
        let kept = rng.usize(0..=inner.unsynced_names.len());
        let mut names = inner.durable_names.clone();
        for change in inner.unsynced_names.iter().take(kept) {
            change.apply(&mut names);
        }
        let luck = *rng.choice([0.0, 0.5, 0.9, 1.0].iter()).unwrap_or(&0.0);
        let after = |contents: &Contents| {
            let durable = contents.torn(&mut rng, luck);
            Contents { seen: durable.clone(), durable, unsynced: Vec::new(), written: contents.written.clone() }
        };
        let files = inner.files.iter().map(after).collect();
        Self::with(files, names, rng)
    }

    /// Whether the machine is gone.
    pub fn is_gone(&self) -> bool {
        self.0.lock().is_gone
    }

    /// Turns one bit of a file around.
    pub fn flip(&self, name: &str, offset: u64, bit: u32) {
        let mut inner = self.0.lock();
        let Some(file) = inner.names.get(name).copied() else { return };
        if let Some(contents) = inner.files.get_mut(file) {
            for bytes in [&mut contents.seen, &mut contents.durable] {
                if let Some(byte) = bytes.get_mut(offset as usize) {
                    *byte ^= 1 << (bit % 8);
                }
            }
        }
    }

    /// Every file and the parts of it that were ever written.
    pub fn written(&self) -> Vec<(String, Vec<Range<u64>>)> {
        let inner = self.0.lock();
        let written = |file: &usize| inner.files.get(*file).map(|contents| contents.written.clone());
        inner.names.iter().map(|(name, file)| (name.clone(), written(file).unwrap_or_default())).collect()
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            Self::Set(name, file) => {
                names.insert(name.clone(), *file);
                names.retain(|other, held| other == name || held != file);
            }
            Self::Remove(name) => {
                names.remove(name);
            }
        }
    }
}

impl Contents {
    /// What may be left after a crash: of every change that was not synced some sectors, each with this luck.
    fn torn(&self, rng: &mut Rng, luck: f64) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        for change in &self.unsynced {
            match change {
                Change::Resize(size) if rng.f64() < luck => bytes.resize(*size as usize, 0),
                Change::Resize(_) => {}
                Change::Write(offset, written) => {
                    let mut at = *offset;
                    let mut rest = written.as_slice();
                    while !rest.is_empty() {
                        let room = (SECTOR - at % SECTOR) as usize;
                        let (sector, after) = rest.split_at(room.min(rest.len()));
                        if rng.f64() < luck {
                            overwrite(&mut bytes, at, sector);
                        }
                        at += sector.len() as u64;
                        rest = after;
                    }
                }
            }
        }
        bytes
    }

    fn settle(&mut self) {
        for change in self.unsynced.drain(..) {
            match change {
                Change::Write(offset, bytes) => overwrite(&mut self.durable, offset, &bytes),
                Change::Resize(size) => self.durable.resize(size as usize, 0),
            }
        }
    }
}

fn overwrite(bytes: &mut Vec<u8>, offset: u64, written: &[u8]) {
    let start = offset as usize;
    let end = start + written.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    if let Some(room) = bytes.get_mut(start..end) {
        room.copy_from_slice(written);
    }
}

impl Inner {
    /// Every call passes here: for a moment, it may fail.
    fn call(&mut self, call: Call) -> io::Result<()> {
        if let Some(moment) = self.faults.moment.as_mut().filter(|moment| call.is_hit_by(moment.fault)) {
            if moment.after > 0 {
                moment.after -= 1;
            } else if moment.calls > 0 {
                moment.calls -= 1;
                return Err(moment.fault.error());
            }
        }
        self.alive()
    }

    /// How much more fits on the disk.
    fn free(&self) -> u64 {
        let used = self.names.values().filter_map(|file| self.files.get(*file)).map(|file| file.seen.len() as u64);
        self.faults.space.map_or(1 << 40, |space| space.saturating_sub(used.sum()))
    }

    /// Every change passes here: the machine may go at any of them.
    fn change(&mut self) -> io::Result<()> {
        if let Some(left) = &mut self.faults.crash_after {
            *left = left.saturating_sub(1);
            self.is_gone |= *left == 0;
        }
        self.alive()
    }

    fn alive(&self) -> io::Result<()> {
        if self.is_gone { Err(io::Error::other("the power is out")) } else { Ok(()) }
    }

    fn resize(&mut self, file: usize, size: u64) -> io::Result<()> {
        self.change()?;
        let contents = self.contents(file)?;
        contents.seen.resize(size as usize, 0);
        contents.unsynced.push(Change::Resize(size));
        Ok(())
    }

    fn rename(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.unsynced_names.push(change);
    }

    fn contents(&mut self, file: usize) -> io::Result<&mut Contents> {
        self.files.get_mut(file).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    /// Whether the sync that begins now is the one to fail.
    fn fails_sync(&mut self) -> bool {
        match &mut self.faults.fail_sync_after {
            Some(0) => true,
            Some(left) => {
                *left -= 1;
                false
            }
            None => false,
        }
    }
}

impl Disk for SimulatedDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut inner = self.0.lock();
        inner.call(Call::Look)?;
        Ok(inner.names.keys().cloned().collect())
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut inner = self.0.lock();
        inner.call(Call::Open)?;
        let file = *inner.names.get(name).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        Ok(Arc::new(SimulatedFile { disk: self.clone(), file }))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut inner = self.0.lock();
        inner.call(Call::Create)?;
        inner.change()?;
        let file = inner.files.len();
        inner.files.push(Contents::default());
        inner.rename(NameChange::Set(name.to_owned(), file));
        Ok(Arc::new(SimulatedFile { disk: self.clone(), file }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut inner = self.0.lock();
        inner.call(Call::Change)?;
        inner.change()?;
        let file = *inner.names.get(from).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        inner.rename(NameChange::Set(to.to_owned(), file));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut inner = self.0.lock();
        inner.call(Call::Change)?;
        inner.change()?;
        if !inner.names.contains_key(name) {
            return Err(io::Error::from(io::ErrorKind::NotFound));
        }
        inner.rename(NameChange::Remove(name.to_owned()));
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut inner = self.0.lock();
        inner.call(Call::Change)?;
        inner.change()?;
        if inner.fails_sync() {
            return Err(io::Error::other("a sync that fails"));
        }
        inner.durable_names = inner.names.clone();
        inner.unsynced_names.clear();
        Ok(())
    }

    fn free(&self) -> io::Result<u64> {
        let mut inner = self.0.lock();
        inner.call(Call::Look)?;
        let is_full = inner.faults.moment.is_some_and(|moment| moment.fault == Fault::Full && moment.after == 0);
        Ok(if is_full && inner.faults.moment.is_some_and(|moment| moment.calls > 0) { 0 } else { inner.free() })
    }

    fn check_ours(&self) -> io::Result<()> {
        self.0.lock().call(Call::Look)
    }
}

struct SimulatedFile {
    disk: SimulatedDisk,
    file: usize,
}

impl DiskFile for SimulatedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut inner = self.disk.0.lock();
        inner.call(Call::Look)?;
        let seen = inner.contents(self.file)?.seen.get(offset as usize..).unwrap_or_default();
        let length = seen.len().min(buffer.len());
        buffer.iter_mut().zip(seen).for_each(|(to, from)| *to = *from);
        Ok(length)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut inner = self.disk.0.lock();
        let length = inner.contents(self.file)?.seen.len() as u64;
        // What lies inside of the file has its place already.
        let inside = length.saturating_sub(offset).min(bytes.len() as u64);
        let mut fits = bytes.len().min((inside + inner.free()) as usize);
        let failed = inner.call(if inside < bytes.len() as u64 { Call::Grow } else { Call::Change }).err();
        if failed.is_some() {
            // Some of it is on its way all the same.
            fits = inner.rng.usize(0..=fits);
        }
        let is_whole = fits == bytes.len();
        let bytes = bytes.get(..fits).unwrap_or_default();
        let contents = inner.contents(self.file)?;
        overwrite(&mut contents.seen, offset, bytes);
        contents.unsynced.push(Change::Write(offset, bytes.to_vec()));
        contents.written.push(offset..offset + bytes.len() as u64);
        // The bytes are on their way even when the machine goes at this very write.
        inner.change()?;
        if let Some(failed) = failed {
            return Err(failed);
        }
        if is_whole { Ok(()) } else { Err(io::Error::from(io::ErrorKind::StorageFull)) }
    }

    fn sync(&self) -> io::Result<()> {
        let delay = {
            let mut inner = self.disk.0.lock();
            let most = inner.faults.delay.as_micros() as u64;
            Duration::from_micros(inner.rng.u64(0..=most))
        };
        if !delay.is_zero() {
            std::thread::sleep(delay);
        }
        let mut inner = self.disk.0.lock();
        let failed = inner.call(Call::Change).err();
        inner.change()?;
        if failed.is_some() || inner.fails_sync() {
            let mut rng = inner.rng.fork();
            let contents = inner.contents(self.file)?;
            contents.durable = contents.torn(&mut rng, 0.5);
            contents.unsynced.clear();
            return Err(failed.unwrap_or_else(|| io::Error::other("a sync that fails")));
        }
        inner.contents(self.file)?.settle();
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        let mut inner = self.disk.0.lock();
        inner.call(Call::Look)?;
        Ok(inner.contents(self.file)?.seen.len() as u64)
    }

    fn reserve(&self, size: u64) -> io::Result<()> {
        let mut inner = self.disk.0.lock();
        inner.call(Call::Grow)?;
        let length = inner.contents(self.file)?.seen.len() as u64;
        if size.saturating_sub(length) > inner.free() {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        inner.resize(self.file, size.max(length))
    }

    fn truncate(&self, size: u64) -> io::Result<()> {
        let mut inner = self.disk.0.lock();
        inner.call(Call::Change)?;
        inner.resize(self.file, size)
    }
}
