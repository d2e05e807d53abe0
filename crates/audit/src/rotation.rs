//! The file of the audit log: grows to a size, is put aside under the time, and old ones are removed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use pawl_meta::time;

/// When to put the file aside and how many to keep; the flags `--audit-log-maxsize`, `-maxage` and `-maxbackup`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// In megabytes; zero means 100.
    pub max_size: u64,
    /// In days; zero means for ever.
    pub max_age: u64,
    /// How many old files; zero means all.
    pub max_backups: usize,
}

const DEFAULT_MEGABYTES: u64 = 100;
const DAY: Duration = Duration::from_secs(24 * 3600);

/// An open log file.
pub(crate) struct RotatingFile {
    path: PathBuf,
    limit: u64,
    rotation: Rotation,
    file: File,
    size: u64,
}

impl RotatingFile {
    /// Goes on with a file that is there.
    pub fn open(path: &Path, rotation: Rotation) -> io::Result<Self> {
        let megabytes = if rotation.max_size == 0 { DEFAULT_MEGABYTES } else { rotation.max_size };
        Self::with_limit(path, rotation, megabytes.saturating_mul(1024 * 1024))
    }

    fn with_limit(path: &Path, rotation: Rotation, limit: u64) -> io::Result<Self> {
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            fs::create_dir_all(parent)?;
        }
        let file = private().append(true).create(true).open(path)?;
        let size = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), limit, rotation, file, size })
    }

    /// Writes whole lines; a line is never cut in two, so one that is larger than the limit gets a file of its own.
    pub fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
        if self.size > 0 && self.size.saturating_add(length) > self.limit {
            self.rotate()?;
        }
        self.file.write_all(line)?;
        self.size = self.size.saturating_add(length);
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        let mut aside = self.backup_path(&stamp(), 0);
        for number in 1..1000 {
            if !aside.exists() {
                break;
            }
            aside = self.backup_path(&stamp(), number);
        }
        fs::rename(&self.path, &aside)?;
        self.file = private().append(true).create(true).open(&self.path)?;
        self.size = 0;
        self.clean_up()
    }

    fn backup_path(&self, stamp: &str, number: u32) -> PathBuf {
        let (prefix, extension) = self.name_parts();
        let number = if number == 0 { String::new() } else { format!("-{number}") };
        self.path.with_file_name(format!("{prefix}{stamp}{number}{extension}"))
    }

    /// `audit-` and `.log` of `audit.log`.
    fn name_parts(&self) -> (String, String) {
        let text = |part: Option<&std::ffi::OsStr>| part.map(|p| p.to_string_lossy().into_owned());
        let stem = text(self.path.file_stem()).unwrap_or_default();
        let extension = text(self.path.extension()).map(|e| format!(".{e}")).unwrap_or_default();
        (format!("{stem}-"), extension)
    }

    fn clean_up(&self) -> io::Result<()> {
        let (prefix, extension) = self.name_parts();
        let parent = self.path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut backups = Vec::new();
        for entry in fs::read_dir(parent)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let middle = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(&extension));
            if middle.is_some_and(|m| m.starts_with(|c: char| c.is_ascii_digit())) {
                let written = entry.metadata().and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
                backups.push((name, written, entry.path()));
            }
        }
        // The time is in the name, so this is newest first.
        backups.sort_by(|a, b| b.0.cmp(&a.0));
        let age = DAY.saturating_mul(u32::try_from(self.rotation.max_age).unwrap_or(u32::MAX));
        let oldest = SystemTime::now().checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH);
        for (i, (_, written, path)) in backups.iter().enumerate() {
            let too_many = self.rotation.max_backups > 0 && i >= self.rotation.max_backups;
            let too_old = self.rotation.max_age > 0 && *written < oldest;
            if too_many || too_old {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

/// A file that only its owner reads.
fn private() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The time in a file's name: `2024-05-06T07-08-09.123`.
fn stamp() -> String {
    let now = time::now_micro().replace(':', "-");
    now.get(..23).unwrap_or(&now).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_rotate_by_size_and_count() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sub/audit.log");
        let rotation = Rotation { max_size: 0, max_age: 0, max_backups: 2 };
        let mut file = RotatingFile::with_limit(&path, rotation, 10).unwrap();
        for line in ["one\n", "two\n", "three\n", "a line that is longer than a file\n", "five\n", "six\n"] {
            file.write(line.as_bytes()).unwrap();
        }
        let names = names(path.parent().unwrap());
        assert_eq!(names.len(), 3, "{names:?}");
        assert!(names[0].starts_with("audit-20") && names[0].ends_with(".log"), "{names:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "five\nsix\n");
        let mut again = RotatingFile::with_limit(&path, rotation, 10).unwrap();
        again.write(b"seven\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "seven\n");
    }

    #[test]
    fn old_files_go() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.log");
        let old = directory.path().join("audit-2001-01-01T00-00-00.000.log");
        let other = directory.path().join("audit-notes.log");
        for file in [&old, &other] {
            let made = File::create(file).unwrap();
            made.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
        let rotation = Rotation { max_size: 1, max_age: 30, max_backups: 0 };
        let mut file = RotatingFile::with_limit(&path, rotation, 3).unwrap();
        file.write(b"one\n").unwrap();
        file.write(b"two\n").unwrap();
        assert!(!old.exists());
        assert!(other.exists());
        assert_eq!(names(directory.path()).len(), 3);
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.log");
        RotatingFile::open(&path, Rotation { max_size: 1, max_age: 0, max_backups: 0 }).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
