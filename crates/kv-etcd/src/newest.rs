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
use tokio::sync::oneshot;

type Ask = Box<dyn Fn() -> BoxFuture<'static, Result<Revision>> + Send + Sync>;

/// So many who waited for one question are a crowd: the next one gives others the time to come.
const CROWD: usize = 8;
/// What that may take. Each question costs etcd and us the work of some reads.
const GATHERING: Duration = Duration::from_millis(1);

pub struct Newest {
    ask: Ask,
    desk: Mutex<Desk>,
}

#[derive(Default)]
struct Desk {
    /// Who came since the last question was sent.
    waiting: Vec<oneshot::Sender<Result<Revision>>>,
    /// Whether somebody asks, and will again as long as there are others who wait.
    is_open: bool,
}

impl Newest {
    pub fn new(ask: Ask) -> Arc<Self> {
        Arc::new(Self { ask, desk: Mutex::default() })
    }

    pub async fn learn(self: &Arc<Self>) -> Result<Revision> {
        let (tell, told) = oneshot::channel();
        let is_open = {
            let mut desk = self.desk();
            desk.waiting.push(tell);
            mem::replace(&mut desk.is_open, true)
        };
        if !is_open {
            // On its own: who began may be gone before the answer comes.
            tokio::spawn(Clerk(Arc::clone(self)).serve());
        }
        told.await.unwrap_or_else(|_| Err(Error::Unavailable("nobody asks for the newest revision".to_owned())))
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who asks, as long as somebody waits.
struct Clerk(Arc<Newest>);

impl Clerk {
    async fn serve(self) {
        loop {
            let waiting = mem::take(&mut self.0.desk().waiting);
            let mut question = Question { newest: &self.0, is_answered: false };
            let answer = (self.0.ask)().await;
            question.is_answered = true;
            let crowd = waiting.len() >= CROWD;
            for tell in waiting {
                // Who is gone does not want to know.
                let _ = tell.send(answer.clone());
            }
            if crowd {
                tokio::time::sleep(GATHERING).await;
            }
            let mut desk = self.0.desk();
            if desk.waiting.is_empty() {
                desk.is_open = false;
                return;
            }
        }
    }
}

/// A question under way. Where it ends without an answer, the next who comes finds the desk closed and asks anew, and nobody waits for
/// what will not come.
struct Question<'n> {
    newest: &'n Newest,
    is_answered: bool,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            *self.newest.desk() = Desk::default();
        }
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
