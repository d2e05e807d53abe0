//! Times to live, as leases that many keys share.
//!
//! Owns which lease a key is attached to. A lease lives a little longer than what was asked for, so that those who ask
//! within that time need none of their own: what expires may stay for up to a twentieth of its time longer, and at most
//! a minute. These numbers are kube-apiserver's.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::Observer;

/// How long after its grant a lease takes in more keys.
const LONGEST_SHARING: u64 = 60;
const SHARING_DIVISOR: u64 = 20;
/// Everything of a lease ends in one transaction.
const MOST_KEYS: u32 = 1000;

pub struct Leases {
    last: Mutex<Option<Lease>>,
    observer: Option<Arc<dyn Observer>>,
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    id: i64,
    ends: Instant,
    keys: u32,
}

impl Leases {
    pub fn new(observer: Option<Arc<dyn Observer>>) -> Self {
        Self { last: Mutex::default(), observer }
    }

    /// A lease for a key that is to live so long; `grant` asks for one of so many seconds.
    pub async fn find<E>(&self, ttl: Duration, grant: impl AsyncFnOnce(i64) -> Result<i64, E>) -> Result<i64, E> {
        let (now, seconds) = (Instant::now(), whole_seconds(ttl));
        let sharing = (seconds / SHARING_DIVISOR).min(LONGEST_SHARING);
        let mut last = self.last.lock().await;
        if let Some(lease) = last.as_mut().filter(|lease| lease.fits(now, seconds, sharing)) {
            lease.keys += 1;
            return Ok(lease.id);
        }
        let lives = seconds.saturating_add(sharing);
        let id = grant(i64::try_from(lives).unwrap_or(i64::MAX)).await?;
        if let (Some(observer), Some(full)) = (&self.observer, *last) {
            observer.leased(full.keys);
        }
        *last = now.checked_add(Duration::from_secs(lives)).map(|ends| Lease { id, ends, keys: 1 });
        Ok(id)
    }

    /// A lease that etcd does not know any more takes in nothing.
    pub async fn forget(&self, id: i64) {
        let mut last = self.last.lock().await;
        if last.is_some_and(|lease| lease.id == id) {
            *last = None;
        }
    }
}

impl Lease {
    /// Whether it ends neither before the key may nor much later.
    fn fits(&self, now: Instant, seconds: u64, sharing: u64) -> bool {
        let left = self.ends.saturating_duration_since(now);
        let (least, most) = (Duration::from_secs(seconds), Duration::from_secs(seconds.saturating_add(sharing)));
        least < left && left < most && self.keys < MOST_KEYS
    }
}

fn whole_seconds(ttl: Duration) -> u64 {
    let seconds = ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0);
    seconds.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI64, Ordering};

    #[tokio::test]
    async fn keys_of_about_the_same_time_share_a_lease() {
        let (leases, granted, lives) = (Leases::new(None), AtomicI64::new(0), AtomicI64::new(0));
        let find = async |seconds| {
            let grant = async |ttl| {
                lives.store(ttl, Ordering::Relaxed);
                Ok::<_, ()>(granted.fetch_add(1, Ordering::Relaxed) + 1)
            };
            leases.find(Duration::from_secs(seconds), grant).await.unwrap()
        };
        assert_eq!(find(3600).await, 1);
        assert_eq!(lives.load(Ordering::Relaxed), 3660);
        for _ in 1..1000 {
            assert_eq!(find(3600).await, 1);
        }
        assert_eq!(find(3600).await, 2, "a lease is full");
        assert_eq!(find(7200).await, 3, "a lease ends too early");
        assert_eq!(find(60).await, 4, "a lease ends too late");
        assert_eq!(lives.load(Ordering::Relaxed), 63);
        leases.forget(4).await;
        assert_eq!(find(60).await, 5, "a lease is gone");
    }
}
