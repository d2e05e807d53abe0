//! Writing records without holding up requests: a queue of bounded size and one thread that empties it.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::rotation::{RotatingFile, Rotation};

/// How many records may wait, and how many bytes: a record may hold two whole bodies.
const CAPACITY: usize = 10_000;
const CAPACITY_BYTES: usize = 64 * 1024 * 1024;
/// How long a request waits for a place in a full queue before its record is dropped and counted.
const PATIENCE: Duration = Duration::from_millis(100);

/// The log is written to a file, or to standard output when the path is `-`. Dropping it writes what is left.
pub struct AuditLog {
    queue: Arc<Queue>,
    writer: Option<JoinHandle<()>>,
}

/// Why a log cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the audit log {path}")]
pub struct LogError {
    path: String,
    #[source]
    source: io::Error,
}

#[derive(Default)]
struct Queue {
    state: Mutex<LogState>,
    filled: Condvar,
    emptied: Condvar,
    dropped: AtomicU64,
    failed: AtomicU64,
}

#[derive(Default)]
struct LogState {
    lines: VecDeque<String>,
    bytes: usize,
    closed: bool,
}

enum Output {
    File(RotatingFile),
    Stream(Box<dyn Write + Send>),
}

impl AuditLog {
    pub fn open(path: &str, rotation: Rotation) -> Result<Self, LogError> {
        let failed = |source| LogError { path: path.to_owned(), source };
        let output = match path {
            "-" => Output::Stream(Box::new(io::stdout())),
            path => Output::File(RotatingFile::open(Path::new(path), rotation).map_err(failed)?),
        };
        Self::start(output).map_err(failed)
    }

    fn start(output: Output) -> io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let shared = Arc::clone(&queue);
        let writer = std::thread::Builder::new().name("audit-log".to_owned()).spawn(move || shared.drain(output))?;
        Ok(Self { queue, writer: Some(writer) })
    }

    /// Puts a record (one line with its end) in the queue. `false` when it was dropped because the queue stayed full.
    pub fn write(&self, line: String) -> bool {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.queue.lock();
        while state.is_full(line.len()) && !state.closed {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.queue.emptied.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.is_full(line.len()) || state.closed {
            self.queue.dropped.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        state.bytes += line.len();
        state.lines.push_back(line);
        drop(state);
        self.queue.filled.notify_one();
        true
    }

    /// How many records were lost because the queue was full, or because writing failed.
    pub fn lost(&self) -> u64 {
        self.queue.dropped.load(Ordering::Relaxed) + self.queue.failed.load(Ordering::Relaxed)
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.queue.lock().closed = true;
        self.queue.filled.notify_all();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

impl LogState {
    /// Whether there is no room for a line; an empty queue takes any.
    fn is_full(&self, length: usize) -> bool {
        self.lines.len() >= CAPACITY || self.bytes > 0 && self.bytes + length > CAPACITY_BYTES
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes until the log is closed and nothing is left.
    fn drain(&self, mut output: Output) {
        loop {
            let mut state = self.lock();
            while state.lines.is_empty() && !state.closed {
                state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            let batch = std::mem::take(&mut state.lines);
            state.bytes = 0;
            drop(state);
            if batch.is_empty() {
                return;
            }
            self.emptied.notify_all();
            for line in batch {
                if output.write(line.as_bytes()).is_err() {
                    self.failed.fetch_add(1, Ordering::Relaxed);
                }
            }
            output.flush();
        }
    }
}

impl Output {
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        match self {
            Self::File(file) => file.write(line),
            Self::Stream(stream) => stream.write_all(line),
        }
    }

    /// Files are written through; a stream may keep a part back. If that fails, the next write will tell.
    fn flush(&mut self) {
        if let Self::Stream(stream) = self {
            let _ = stream.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// A disk that hangs until it is told to go on.
    struct Slow(mpsc::Receiver<()>, Arc<Mutex<Vec<u8>>>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            self.1.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_is_written_arrives_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.log");
        let log = AuditLog::open(path.to_str().unwrap(), Rotation { max_size: 1, max_age: 0, max_backups: 0 }).unwrap();
        for i in 0..1000 {
            assert!(log.write(format!("{i}\n")));
        }
        assert_eq!(log.lost(), 0);
        drop(log);
        let expect: String = (0..1000).map(|i| format!("{i}\n")).collect();
        assert_eq!(std::fs::read_to_string(path).unwrap(), expect);
    }

    #[test]
    fn a_hanging_disk_costs_records_not_requests() {
        let (go, wait) = mpsc::channel();
        let written = Arc::default();
        let log = AuditLog::start(Output::Stream(Box::new(Slow(wait, Arc::clone(&written))))).unwrap();
        assert!(log.write("first\n".to_owned()));
        while !log.queue.lock().lines.is_empty() {
            std::thread::yield_now();
        }
        for _ in 0..CAPACITY {
            assert!(log.write("x\n".to_owned()));
        }
        let before = Instant::now();
        assert!(!log.write("lost\n".to_owned()));
        assert!(before.elapsed() < Duration::from_secs(5));
        assert_eq!(log.lost(), 1);
        drop(go);
        drop(log);
        assert_eq!(written.lock().unwrap().len(), "first\n".len() + 2 * CAPACITY);
    }

    #[test]
    fn a_path_that_cannot_be_written_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_str().unwrap();
        let error = AuditLog::open(path, Rotation { max_size: 1, max_age: 0, max_backups: 0 }).err().unwrap();
        assert_eq!(error.to_string(), format!("cannot write the audit log {path}"));
    }
}
