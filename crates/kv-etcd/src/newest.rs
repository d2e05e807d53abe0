//! The newest revision, asked once for all who want to know it at the same time.
//!
//! Owns who asks. An answer is good for everybody who came before its question was sent, and for nobody who came later:
//! a write that was acknowledged in between may be missing in it.

use std::sync::atomic::{AtomicU64, Ordering};

use pawl_kv::{Result, Revision};
use tokio::sync::Mutex;

#[derive(Default)]
pub struct Newest {
    /// How many questions have been sent.
    sent: AtomicU64,
    /// The last answer, and the number of its question.
    answered: Mutex<Option<(u64, Result<Revision>)>>,
}

impl Newest {
    pub async fn learn(&self, ask: impl Future<Output = Result<Revision>>) -> Result<Revision> {
        let before = self.sent.load(Ordering::SeqCst);
        let mut answered = self.answered.lock().await;
        if let Some((number, answer)) = &*answered
            && *number > before
        {
            return answer.clone();
        }
        let number = self.sent.fetch_add(1, Ordering::SeqCst) + 1;
        let answer = ask.await;
        *answered = Some((number, answer.clone()));
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn many_share_a_question_that_was_sent_after_they_came() {
        let (newest, asked) = (Arc::new(Newest::default()), Arc::new(AtomicU64::new(0)));
        let ask = || {
            let (newest, asked) = (Arc::clone(&newest), Arc::clone(&asked));
            tokio::spawn(async move {
                let question = async {
                    let number = asked.fetch_add(1, Ordering::SeqCst) + 1;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    Ok(number)
                };
                newest.learn(question).await
            })
        };
        let first = ask();
        tokio::time::sleep(Duration::from_millis(500)).await;
        let others: Vec<_> = (0..100).map(|_| ask()).collect();
        assert_eq!(first.await.unwrap(), Ok(1));
        for other in others {
            assert_eq!(other.await.unwrap(), Ok(2), "the question under way was older than they are");
        }
        assert_eq!(asked.load(Ordering::SeqCst), 2);
    }
}
