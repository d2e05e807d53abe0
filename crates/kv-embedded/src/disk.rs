//! The file operations that the store stands on, as a seam: one directory, flat names.
//!
//! Owns the real directory and its lock. It decides nothing about contents; a test puts a disk that forgets, tears or
//! refuses writes in its place.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pawl_kv::{Error, Result};

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

/// A directory of the file system.
pub struct Directory {
    path: PathBuf,
}

/// Keeps other processes out of a directory for as long as it lives.
pub struct Lock(#[expect(dead_code, reason = "held, never read: the lock lasts as long as the file is open")] File);

impl Directory {
    const LOCK: &'static str = "lock";

    /// Opens the directory, making it where there is none, and locks it.
    pub fn open(path: &Path) -> Result<(Self, Lock)> {
        let failed = |error| Error::Unavailable(format!("opening the data directory {}: {error}", path.display()));
        if !path.is_dir() {
            // Secrets are kept here.
            fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
            if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                File::open(parent).and_then(|parent| parent.sync_all()).map_err(failed)?;
            }
        }
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .mode(0o600)
            .write(true)
            .open(path.join(Self::LOCK))
            .map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok((Self { path: path.to_owned() }, Lock(lock))),
            Err(TryLockError::WouldBlock) => {
                Err(Error::Unavailable(format!("the data directory {} is in use by another server", path.display())))
            }
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

impl Disk for Directory {
    fn list(&self) -> io::Result<Vec<String>> {
        let names = fs::read_dir(&self.path)?.map(|entry| Ok(entry?.file_name().into_string().ok()));
        names.filter_map(io::Result::transpose).collect()
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(OpenOptions::new().read(true).write(true).open(self.path.join(name))?))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(0o600);
        Ok(Arc::new(options.open(self.path.join(name))?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
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
