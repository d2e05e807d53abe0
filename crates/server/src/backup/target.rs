//! Files and directories that come to their name only when they are whole and on the disk.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use pawl_kv::Revision;
use pawl_kv_embedded::Fresh;
use pawl_snapshot::Record;

use super::{STORE, UNFINISHED, record};

/// A file that is being written. One that is dropped before it is whole is gone.
pub struct NewFile {
    out: BufWriter<File>,
    unfinished: PathBuf,
    path: PathBuf,
    is_done: bool,
}

impl NewFile {
    /// Begins a file where there is none. It is nobody's to read but its owner's.
    pub fn create(path: &Path) -> Result<Self, String> {
        if path.symlink_metadata().is_ok() {
            return Err(format!("{} is there already", path.display()));
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".partial");
        let unfinished = path.with_file_name(name);
        let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", unfinished.display());
        let mut options = File::options();
        let file = options.create(true).truncate(false).write(true).mode(0o600).open(&unfinished);
        let file = file.map_err(|why| failed(&why))?;
        file.try_lock().map_err(|_| failed(&"somebody else is writing it"))?;
        file.set_len(0).map_err(|why| failed(&why))?;
        let out = BufWriter::with_capacity(1 << 20, file);
        Ok(Self { out, unfinished, path: path.to_owned(), is_done: false })
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.out.write_all(bytes).map_err(|why| format!("{}: {why}", self.unfinished.display()))
    }

    /// Where it is for now.
    pub fn unfinished(&self) -> &Path {
        &self.unfinished
    }

    /// Makes what was written durable, under the name for now.
    pub fn sync(&mut self) -> Result<(), String> {
        let synced = self.out.flush().and_then(|()| self.out.get_ref().sync_all());
        synced.map_err(|why| format!("{}: {why}", self.unfinished.display()))
    }

    /// Brings it to its name. It has been proved whole.
    pub fn finish(mut self) -> Result<(), String> {
        self.sync()?;
        if self.path.symlink_metadata().is_ok() {
            return Err(format!("{} is there already", self.path.display()));
        }
        let renamed = fs::rename(&self.unfinished, &self.path).and_then(|()| sync_parent(&self.path));
        self.is_done = renamed.is_ok();
        renamed.map_err(|why| format!("{}: {why}", self.path.display()))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_done
            && let Err(why) = fs::remove_file(&self.unfinished)
        {
            tracing::warn!(%why, file = %self.unfinished.display(), "could not be removed");
        }
    }
}

/// The store of a data directory that is being made.
pub struct NewStore {
    fresh: Fresh,
    data_dir: PathBuf,
    unfinished: PathBuf,
    /// Whether there was no data directory before.
    is_new: bool,
}

impl NewStore {
    /// Begins a store where there is none.
    pub fn create(data_dir: &Path) -> Result<Self, String> {
        Self::make(data_dir, Fresh::create)
    }

    /// The state of an origin that what was begun here is made of ([`Fresh::begun`]).
    pub fn begun(data_dir: &Path, origin: &[u8]) -> Result<Option<Revision>, String> {
        Fresh::begun(&data_dir.join(UNFINISHED), origin).map_err(|why| why.to_string())
    }

    /// Goes on with what was begun of the same state, which is handed over, or begins ([`Fresh::resume`]).
    pub fn resume(
        data_dir: &Path,
        (origin, revision): (&[u8], Revision),
        mut take: impl FnMut(Record),
    ) -> Result<Self, String> {
        Self::make(data_dir, |unfinished| Fresh::resume(unfinished, origin, revision, |item| take(record(item))))
    }

    fn make(data_dir: &Path, fresh: impl FnOnce(&Path) -> pawl_kv::Result<Fresh>) -> Result<Self, String> {
        let store = data_dir.join(STORE);
        let taken = |why: &str| Err(format!("{} {why}: it is made in a new directory only", store.display()));
        match fs::read_dir(&store).map(Iterator::count) {
            Ok(1..) => return taken("is not empty"),
            Err(why) if why.kind() != std::io::ErrorKind::NotFound => return taken("cannot be read"),
            _ => {}
        }
        let (unfinished, is_new) = (data_dir.join(UNFINISHED), !data_dir.exists());
        let fresh = fresh(&unfinished).map_err(|why| why.to_string())?;
        Ok(Self { fresh, data_dir: data_dir.to_owned(), unfinished, is_new })
    }

    pub fn push(&mut self, record: &Record) -> Result<(), String> {
        let Record { key, value, create_revision, mod_revision, time_left } = record;
        let pushed = self.fresh.push(key, value, (*create_revision, *mod_revision), *time_left);
        pushed.map_err(|why| why.to_string())
    }

    /// Makes it a store at a revision, and brings it to its name once that is proved, in the place where it is for now.
    pub fn finish(self, revision: Revision, prove: impl FnOnce(&Path) -> Result<(), String>) -> Result<(), String> {
        let store = self.data_dir.join(STORE);
        self.fresh.finish(revision).map_err(|why| why.to_string())?;
        prove(&self.unfinished)?;
        let failed = |why: std::io::Error| format!("{}: {why}", store.display());
        // What is empty gives way; what is not was refused, and is again.
        fs::rename(&self.unfinished, &store).and_then(|()| sync_parent(&store)).map_err(failed)
    }

    /// Leaves nothing behind.
    pub fn give_up(self) {
        let Self { fresh, unfinished, data_dir, is_new } = self;
        drop(fresh);
        let removed = fs::remove_dir_all(&unfinished);
        let removed = removed.and_then(|()| if is_new { fs::remove_dir(&data_dir) } else { Ok(()) });
        if let Err(why) = removed {
            tracing::warn!(%why, directory = %unfinished.display(), "could not be removed");
        }
    }
}

fn sync_parent(path: &Path) -> std::io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent)?.sync_all()
}
