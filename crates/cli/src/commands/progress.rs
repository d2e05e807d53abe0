//! How far something is, on one line that is written again and again: for people only, never into files and pipes.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// The line.
pub struct Bar {
    what: &'static str,
    began: Instant,
    told: Option<Instant>,
    is_shown: bool,
    /// Whether things are counted, and not bytes.
    counts: bool,
}

impl Bar {
    const EVERY: Duration = Duration::from_millis(100);
    const WIDTH: usize = 24;

    pub fn new(what: &'static str) -> Self {
        Self { what, began: Instant::now(), told: None, is_shown: stderr().is_terminal(), counts: false }
    }

    /// For what is counted one by one.
    pub fn counting(what: &'static str) -> Self {
        Self { counts: true, ..Self::new(what) }
    }

    /// Shows how much is done, of how many where that is known.
    pub fn at(&mut self, done: u64, of: Option<u64>) {
        if !self.is_shown || self.told.is_some_and(|told| told.elapsed() < Self::EVERY) {
            return;
        }
        self.told = Some(Instant::now());
        let line = match self.counts {
            true => format!("{}: {done} of {}", self.what, of.unwrap_or(done)),
            false => line(self.what, done, of, self.began.elapsed()),
        };
        let _ = write!(stderr(), "\r\x1b[K{line}");
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.told.is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

fn line(what: &str, done: u64, of: Option<u64>, took: Duration) -> String {
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let speed = size((done as f64 / took.as_secs_f64().max(0.1)) as u64);
    match of.filter(|of| *of > 0) {
        None => format!("{what}: {} ({speed}/s)", size(done)),
        Some(of) => {
            let share = usize::try_from(done.saturating_mul(Bar::WIDTH as u64) / of).unwrap_or_default();
            let filled = share.min(Bar::WIDTH);
            let bar = format!("{}{}", "#".repeat(filled), " ".repeat(Bar::WIDTH - filled));
            format!("{what} [{bar}] {} of {} ({speed}/s)", size(done), size(of))
        }
    }
}

/// Bytes, for people.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let mut amount = bytes as f64;
    let mut unit = "bytes";
    for larger in UNITS {
        if amount < 1000.0 {
            break;
        }
        (amount, unit) = (amount / 1000.0, larger);
    }
    if unit == "bytes" { format!("{bytes} bytes") } else { format!("{amount:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_for_people() {
        for (bytes, told) in [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (2_450_000, "2.5 MB")] {
            assert_eq!(size(bytes), told);
        }
        let second = Duration::from_secs(1);
        assert_eq!(line("saving", 5000, None, second), "saving: 5.0 kB (5.0 kB/s)");
        assert_eq!(line("x", 50, Some(100), second), "x [############            ] 50 bytes of 100 bytes (50 bytes/s)");
        assert!(line("x", 200, Some(100), second).contains("[########################]"));
    }
}
