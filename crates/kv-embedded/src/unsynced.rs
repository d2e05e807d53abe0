//! A disk that makes nothing durable, for stores that nobody wants back: a crash of the machine may lose them.

use std::io;
use std::sync::Arc;

use crate::disk::{Disk, DiskFile};

/// Everything of the disk within, but for its syncs.
pub struct Unsynced(pub Arc<dyn Disk>);

struct UnsyncedFile(Arc<dyn DiskFile>);

impl Disk for Unsynced {
    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(UnsyncedFile(self.0.open(name)?)))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(UnsyncedFile(self.0.create(name)?)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }

    fn free(&self) -> io::Result<u64> {
        self.0.free()
    }

    fn check_ours(&self) -> io::Result<()> {
        self.0.check_ours()
    }
}

impl DiskFile for UnsyncedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }

    fn reserve(&self, size: u64) -> io::Result<()> {
        self.0.reserve(size)
    }

    fn truncate(&self, size: u64) -> io::Result<()> {
        self.0.truncate(size)
    }
}
