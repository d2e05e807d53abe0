//! How many descriptors the process may have open, and who gets them.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that no connection takes: the store's files, certificates, logs, and what the runtime needs.
const SPARE: usize = 128;
/// More connections are not served, whatever the process may have open.
const MOST: usize = 20_000;
/// For clients on the same machine, beyond what everybody may have.
const LOOPBACK: usize = 64;

/// How many connections there may be.
pub struct Connections {
    pub all: usize,
    pub loopback: usize,
}

/// Takes what the system allows, and leaves enough for everything else.
pub fn connections() -> Connections {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        // Where this is refused, what there was must do.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
    let current = getrlimit(Resource::Nofile).current;
    share(current.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX)))
}

fn share(limit: usize) -> Connections {
    let loopback = LOOPBACK.min(limit / 8);
    // With very few descriptors everybody has less.
    let spare = SPARE.min(limit / 2);
    Connections { all: limit.saturating_sub(spare + loopback).clamp(1, MOST), loopback }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_the_store() {
        for (limit, all, loopback) in [(1024, 832, 64), (256, 96, 32), (64, 24, 8), (usize::MAX, 20_000, 64)] {
            let found = share(limit);
            assert_eq!((found.all, found.loopback), (all, loopback), "{limit}");
        }
    }
}
