//! The newest revision, asked once for all who want to know it at the same time.
//!
//! Owns who waits for which question. An answer is good for everybody who came before its question was sent, and for nobody who
//! came later: a write that was acknowledged in between may be missing in it. All of them are told at once, so that what they
//! answer goes out together.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use pawl_kv::{Error, Result, Revision};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};

type Ask = Box<dyn Fn() -> BoxFuture<'static, Result<Revision>> + Send + Sync>;

/// So many who waited for one question are a crowd: the next one does not wait for the answer, but for others to come.
const CROWD: usize = 8;
/// How many it waits for. Each question costs etcd and us the work of some reads.
const ENOUGH: usize = 16;
/// How long it waits for them.
const GATHERING: Duration = Duration::from_millis(1);
/// How many questions are under way at most.
const AT_ONCE: usize = 4;

pub struct Newest {
    ask: Ask,
    desk: Mutex<Desk>,
    places: Arc<Semaphore>,
    /// Told when enough wait.
    enough: Notify,
}

#[derive(Default)]
struct Desk {
    /// Who came since the last question was sent.
    waiting: Vec<oneshot::Sender<Result<Revision>>>,
    /// Whether there is somebody who asks as long as others wait.
    is_open: bool,
}

impl Newest {
    pub fn new(ask: Ask) -> Arc<Self> {
        Arc::new(Self { ask, desk: Mutex::default(), places: Arc::new(Semaphore::new(AT_ONCE)), enough: Notify::new() })
    }

    pub async fn learn(self: &Arc<Self>) -> Result<Revision> {
        let (tell, told) = oneshot::channel();
        let was_open = {
            let mut desk = self.desk();
            desk.waiting.push(tell);
            if desk.waiting.len() == ENOUGH {
                self.enough.notify_one();
            }
            mem::replace(&mut desk.is_open, true)
        };
        if !was_open {
            // On its own: who began may be gone before the answer comes.
            tokio::spawn(Arc::clone(self).serve());
        }
        told.await.unwrap_or_else(|_| Err(Error::Unavailable("nobody answers for the newest revision".to_owned())))
    }

    /// Asks as long as somebody waits.
    async fn serve(self: Arc<Self>) {
        loop {
            // The places are never closed.
            let place = Arc::clone(&self.places).acquire_owned().await.ok();
            let waiting = mem::take(&mut self.desk().waiting);
            let is_crowd = waiting.len() >= CROWD;
            // On its own: a question that ends badly takes only those with it who wait for it.
            let asked = tokio::spawn(Arc::clone(&self).ask_for(waiting, place));
            if is_crowd {
                let _ = tokio::time::timeout(GATHERING, self.gather()).await;
            } else {
                let _ = asked.await;
            }
            let mut desk = self.desk();
            if desk.waiting.is_empty() {
                desk.is_open = false;
                return;
            }
        }
    }

    /// Until enough wait.
    async fn gather(&self) {
        while self.desk().waiting.len() < ENOUGH {
            self.enough.notified().await;
        }
    }

    /// Asks once, for all who wait. Who is gone does not want to know.
    async fn ask_for(
        self: Arc<Self>,
        waiting: Vec<oneshot::Sender<Result<Revision>>>,
        _place: Option<OwnedSemaphorePermit>,
    ) {
        let answer = (self.ask)().await;
        for tell in waiting {
            let _ = tell.send(answer.clone());
        }
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Questions that take a second each, answered with their number; the one with this number fails badly.
    fn numbered(fatal: u64) -> (Arc<Newest>, Arc<AtomicU64>) {
        let asked = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&asked);
        let ask: Ask = Box::new(move || {
            let number = counted.fetch_add(1, Ordering::SeqCst) + 1;
            Box::pin(async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                assert_ne!(number, fatal, "as was asked for");
                Ok(number)
            })
        });
        (Newest::new(ask), asked)
    }

    fn come(newest: &Arc<Newest>) -> tokio::task::JoinHandle<Result<Revision>> {
        let newest = Arc::clone(newest);
        tokio::spawn(async move { newest.learn().await })
    }

    #[tokio::test(start_paused = true)]
    async fn many_share_a_question_that_was_sent_after_they_came() {
        let (newest, asked) = numbered(0);
        let first = come(&newest);
        tokio::time::sleep(Duration::from_millis(500)).await;
        let others: Vec<_> = (0..100).map(|_| come(&newest)).collect();
        assert_eq!(first.await.unwrap(), Ok(1));
        for other in others {
            assert_eq!(other.await.unwrap(), Ok(2), "the question under way was older than they are");
        }
        assert_eq!(asked.load(Ordering::SeqCst), 2);
        assert_eq!(come(&newest).await.unwrap(), Ok(3), "the desk opens again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_crowd_does_not_wait_for_the_answers_of_others() {
        let (newest, asked) = numbered(0);
        let began = tokio::time::Instant::now();
        let mut all = Vec::new();
        for wave in 0..10 {
            all.extend((0..20).map(|_| (wave, come(&newest))));
            tokio::time::sleep(2 * GATHERING).await;
        }
        for (wave, one) in all {
            let answer = one.await.unwrap().unwrap();
            assert!(answer > wave.min(AT_ONCE as u64 - 1), "wave {wave} was told {answer}, asked before it came");
        }
        // Four at once for the first four waves, and one for all others when a place is free.
        assert_eq!((asked.load(Ordering::SeqCst), began.elapsed().as_secs()), (AT_ONCE as u64 + 1, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn who_gathers_waits_for_no_more_than_enough() {
        let (newest, asked) = numbered(0);
        let began = tokio::time::Instant::now();
        let mut all = Vec::new();
        for wave in 1..=AT_ONCE as u64 {
            all.extend((0..ENOUGH).map(|_| come(&newest)));
            while asked.load(Ordering::SeqCst) < wave {
                tokio::task::yield_now().await;
            }
        }
        assert_eq!(began.elapsed(), Duration::ZERO, "nobody waited for the time to pass");
        for one in all {
            one.await.unwrap().unwrap();
        }
        assert_eq!(asked.load(Ordering::SeqCst), AT_ONCE as u64);
    }

    #[tokio::test(start_paused = true)]
    async fn who_leaves_takes_no_answer_with_him() {
        let (newest, _) = numbered(0);
        let first = come(&newest);
        tokio::time::sleep(Duration::from_millis(500)).await;
        first.abort();
        assert_eq!(come(&newest).await.unwrap(), Ok(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_that_ends_badly_ends_alone() {
        let (newest, _) = numbered(1);
        assert!(matches!(come(&newest).await.unwrap(), Err(Error::Unavailable(_))));
        assert_eq!(come(&newest).await.unwrap(), Ok(2));
    }
}
