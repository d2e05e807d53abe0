//! The file operations that the store stands on, as a seam: one directory, flat names.
//!
//! Owns the real directory and its lock. It decides nothing about contents; a test puts a disk that forgets, tears or
//! refuses writes in its place.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use pawl_kv::{Error, Result};
use rustix::fs::{AtFlags, Mode, OFlags};

/// A directory of files.
pub trait Disk: Send + Sync + 'static {
    /// The names of all files.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Opens a file for reading and writing.
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;
    /// Makes an empty file, in place of one that may be there.
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;
    /// Renames a file over another.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes the names durable: what was created, renamed and removed.
    fn sync_names(&self) -> io::Result<()>;
    /// How many bytes can still be written.
    fn free(&self) -> io::Result<u64>;
    /// Whether the directory is still the one that was opened, and nobody else's.
    fn check_ours(&self) -> io::Result<()>;
}

/// An open file. Everything is addressed by offset, so readers and the writer share it.
pub trait DiskFile: Send + Sync {
    /// Reads until the buffer is full or the file ends; tells how much.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Makes contents and length durable.
    fn sync(&self) -> io::Result<()>;
    fn size(&self) -> io::Result<u64>;
    /// Grows the file to `size` bytes of zeros that have their place on the disk already, as far as the disk can.
    fn reserve(&self, size: u64) -> io::Result<()>;
    /// Cuts the file.
    fn truncate(&self, size: u64) -> io::Result<()>;
}

/// A directory of the file system, addressed by its handle: whoever moves it does not make us write elsewhere.
pub struct Directory {
    path: PathBuf,
    handle: File,
    lock: Mutex<File>,
    spare: Mutex<Vec<File>>,
}

/// Keeps other processes out of a directory for as long as it lives, whoever still reads there.
pub struct Lock(Arc<Directory>);

impl Drop for Lock {
    fn drop(&mut self) {
        let unlocked = self.0.handle.unlock().and_then(|()| self.0.lock.lock().unlock());
        if let Err(error) = unlocked {
            tracing::warn!(%error, "the data directory could not be unlocked");
        }
    }
}

impl Directory {
    const LOCK: &'static str = "lock";
    /// Descriptors held back for the moment in which the process has no others left.
    const SPARE: usize = 2;

    /// Opens the directory, making it where there is none, and locks it.
    ///
    /// Both the directory and a file in it are locked. Removing the file lets nobody in; it is there for those who look
    /// for it, and to notice that somebody put a directory of his own in the place of ours.
    pub fn open(path: &Path) -> Result<(Arc<Self>, Lock)> {
        let failed = |error| Error::Unavailable(format!("opening the data directory {}: {error}", path.display()));
        if !path.is_dir() {
            // Secrets are kept here.
            fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
            if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                File::open(parent).and_then(|parent| parent.sync_all()).map_err(failed)?;
            }
        }
        let handle = File::open(path).map_err(failed)?;
        let lock = open_at(&handle, Self::LOCK, LOCK_FLAGS).map_err(failed)?;
        for held in [&handle, &lock] {
            held.try_lock().map_err(|error| match error {
                TryLockError::WouldBlock => {
                    Error::Unavailable(format!("the data directory {} is in use by another server", path.display()))
                }
                TryLockError::Error(error) => failed(error),
            })?;
        }
        let directory = Self { path: path.to_owned(), handle, lock: Mutex::new(lock), spare: Mutex::default() };
        directory.hold_spare();
        let directory = Arc::new(directory);
        Ok((Arc::clone(&directory), Lock(directory)))
    }

    /// Makes the lock file again where it was removed. Another server's lock in its place is an error.
    fn lock_again(&self) -> io::Result<()> {
        let file = open_at(&self.handle, Self::LOCK, LOCK_FLAGS)?;
        match file.try_lock() {
            Ok(()) => {
                tracing::warn!(directory = %self.path.display(), "the lock of the data directory was removed; it is back");
                *self.lock.lock() = file;
                Ok(())
            }
            Err(_) => Err(io::Error::other("another server has locked the data directory")),
        }
    }

    fn hold_spare(&self) {
        let mut spare = self.spare.lock();
        while spare.len() < Self::SPARE
            && let Ok(descriptor) = self.handle.try_clone()
        {
            spare.push(descriptor);
        }
    }

    /// Opens a file; when there are no descriptors left, with one that was held back.
    fn open_file(&self, name: &str, flags: OFlags) -> io::Result<Arc<dyn DiskFile>> {
        let opened = match open_at(&self.handle, name, flags) {
            Err(error) if is_out_of_descriptors(&error) && self.spare.lock().pop().is_some() => {
                open_at(&self.handle, name, flags)
            }
            other => {
                self.hold_spare();
                other
            }
        };
        Ok(Arc::new(opened?))
    }
}

const LOCK_FLAGS: OFlags = OFlags::WRONLY.union(OFlags::CREATE);

fn open_at(directory: &File, name: &str, flags: OFlags) -> io::Result<File> {
    let mode = Mode::RUSR | Mode::WUSR;
    Ok(File::from(rustix::fs::openat(directory, name, flags | OFlags::CLOEXEC, mode)?))
}

fn is_out_of_descriptors(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error).map(Some).contains(&error.raw_os_error())
}

impl Disk for Directory {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.handle)? {
            names.extend(entry?.file_name().to_str().ok().map(str::to_owned));
        }
        Ok(names)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        self.open_file(name, OFlags::RDWR)
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        self.open_file(name, OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.handle, from, &self.handle, to)?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.handle, name, AtFlags::empty())?)
    }

    fn sync_names(&self) -> io::Result<()> {
        self.handle.sync_all()
    }

    fn free(&self) -> io::Result<u64> {
        let space = rustix::fs::fstatvfs(&self.handle)?;
        Ok(space.f_bavail.saturating_mul(space.f_frsize))
    }

    fn check_ours(&self) -> io::Result<()> {
        let place = self.path.join(Self::LOCK);
        let ours = self.lock.lock().metadata()?;
        match fs::metadata(&place) {
            Ok(there) if (there.dev(), there.ino()) == (ours.dev(), ours.ino()) => Ok(()),
            Ok(_) => Err(io::Error::other(format!("{} is not ours any more", place.display()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.path.is_dir() => {
                let (here, there) = (self.handle.metadata()?, fs::metadata(&self.path)?);
                if (here.dev(), here.ino()) == (there.dev(), there.ino()) {
                    self.lock_again()
                } else {
                    Err(io::Error::other(format!("{} was replaced by another directory", self.path.display())))
                }
            }
            Err(error) => Err(io::Error::other(format!("{}: {error}", place.display()))),
        }
    }
}

impl DiskFile for File {
    fn read_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<usize> {
        let mut total = 0;
        while !buffer.is_empty() {
            match FileExt::read_at(self, buffer, offset) {
                Ok(0) => break,
                Ok(read) => {
                    total += read;
                    offset += read as u64;
                    buffer = buffer.split_at_mut_checked(read).map(|(_, rest)| rest).unwrap_or_default();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(total)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn reserve(&self, size: u64) -> io::Result<()> {
        match rustix::fs::fallocate(self, rustix::fs::FallocateFlags::empty(), 0, size) {
            // A file system that cannot reserve still works, only slower.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS | rustix::io::Errno::INVAL) => {
                self.set_len(size)
            }
            other => Ok(other?),
        }
    }

    fn truncate(&self, size: u64) -> io::Result<()> {
        self.set_len(size)
    }
}
