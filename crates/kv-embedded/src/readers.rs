//! The threads that read history: a few for everybody, made when the store opens.
//!
//! Owns the queue of reads that wait. However many watchers resume and pages are asked for, so many files are read at a
//! time; nobody who polls is held up, and no thread has to be made when the process may make none.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::channel::oneshot;
use parking_lot::{Condvar, Mutex};
use pawl_kv::{Error, Result};

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
pub struct Readers {
    jobs: Mutex<Jobs>,
    arrived: Condvar,
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    closed: bool,
}

impl Readers {
    pub const THREADS: usize = 2;

    /// What each of the threads does, until the store is closed.
    pub fn serve(&self) {
        while let Some(job) = self.take() {
            // A reader that came to grief is answered by the end of its channel; the next ones need the thread.
            if catch_unwind(AssertUnwindSafe(job)).is_err() {
                tracing::error!("reading history ended with a panic");
            }
        }
    }

    pub fn close(&self) {
        let waiting = {
            let mut jobs = self.jobs.lock();
            jobs.closed = true;
            std::mem::take(&mut jobs.waiting)
        };
        drop(waiting);
        self.arrived.notify_all();
    }

    /// Does something on one of the threads when its turn comes.
    pub fn later(&self, job: impl FnOnce() + Send + 'static) -> Result<()> {
        let mut jobs = self.jobs.lock();
        if jobs.closed {
            return Err(Error::Closed);
        }
        jobs.waiting.push_back(Box::new(job));
        self.arrived.notify_one();
        Ok(())
    }

    /// Does something on one of the threads and waits for what comes of it.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        self.later(move || {
            // Whoever asked may have gone away: then there is nothing to do.
            if !reply.is_canceled() {
                let _ = reply.send(work());
            }
        })?;
        answer.await.map_err(|_| Error::Unavailable("a read of history was broken off".to_owned()))
    }

    fn take(&self) -> Option<Job> {
        let mut jobs = self.jobs.lock();
        loop {
            match jobs.waiting.pop_front() {
                Some(job) => return Some(job),
                None if jobs.closed => return None,
                None => self.arrived.wait(&mut jobs),
            }
        }
    }
}
