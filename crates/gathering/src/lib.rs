//! What many write to one connection, sent together.
//!
//! Over HTTP/2 everything that is asked or answered ends with a flush, and `h2` wants every frame flushed before it takes the next:
//! each would go out alone, in a packet and a system call of its own. Here a flush is promised and not done while there are frames;
//! whoever has none left flushes once more, and is woken to do so. Then those come first who are ready as well: what they have to say
//! goes along. Nothing waits for a time: when nobody else is ready, it is sent at once.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// As much as fits into one TLS record: who has so much to send waits for nobody else.
const PLENTY: usize = 16 * 1024;
/// As much as is sent at once, or little more.
pub const MOST: usize = 144 * 1024;
/// How often those who are ready are let first, while more comes of it.
const ROUNDS: usize = 4;

/// A connection that many write to through one task. What it stands on keeps what is written until it is flushed, or until it is much.
pub struct Gathering<S> {
    stream: S,
    /// Whether more than one can be on their way.
    gathers: bool,
    /// What was written and not sent.
    waiting: usize,
    /// How much that was when a flush was last promised.
    promised: usize,
    /// How much it was when the others were last let first.
    yielded: usize,
    /// How often they were.
    rounds: usize,
}

impl<S> Gathering<S> {
    pub fn new(stream: S, gathers: bool) -> Self {
        Self { stream, gathers, waiting: 0, promised: 0, yielded: 0, rounds: 0 }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gathering<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let taken = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, parts))?;
        self.waiting += taken;
        Poll::Ready(Ok(taken))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.gathers && self.waiting < MOST {
            if self.promised < self.waiting {
                self.promised = self.waiting;
                cx.waker().wake_by_ref();
                return Poll::Ready(Ok(()));
            }
            if self.waiting < PLENTY && self.yielded < self.waiting && self.rounds < ROUNDS {
                // Who wakes himself comes behind all who are ready.
                self.yielded = self.waiting;
                self.rounds += 1;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        (self.waiting, self.promised, self.yielded, self.rounds) = (0, 0, 0, 0);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Gathering<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// Notes what is flushed.
    #[derive(Default)]
    struct Noting {
        waiting: Vec<u8>,
        flushed: Vec<Vec<u8>>,
        /// How often it is not done with a flush yet.
        busy: usize,
    }

    impl AsyncWrite for Noting {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            self.waiting.extend_from_slice(bytes);
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            if self.busy > 0 {
                self.busy -= 1;
                return Poll::Pending;
            }
            let waiting = std::mem::take(&mut self.waiting);
            self.flushed.push(waiting);
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.poll_flush(cx)
        }
    }

    fn over(gathers: bool) -> Gathering<Noting> {
        Gathering::new(Noting::default(), gathers)
    }

    fn write(to: &mut Gathering<Noting>, bytes: &[u8]) {
        let taken = Pin::new(to).poll_write(&mut Context::from_waker(Waker::noop()), bytes).map(Result::unwrap);
        assert_eq!(taken, Poll::Ready(bytes.len()));
    }

    fn flush(to: &mut Gathering<Noting>) -> Poll<()> {
        Pin::new(to).poll_flush(&mut Context::from_waker(Waker::noop())).map(Result::unwrap)
    }

    /// Writes, and is promised that it will be sent.
    fn promise(to: &mut Gathering<Noting>, bytes: &[u8]) {
        let sent = to.stream.flushed.len();
        write(to, bytes);
        assert!(flush(to).is_ready(), "the next frame may come");
        assert_eq!(to.stream.flushed.len(), sent, "before it is sent");
    }

    #[test]
    fn answers_that_are_ready_together_go_together() {
        let mut gathering = over(true);
        promise(&mut gathering, b"one");
        promise(&mut gathering, b"two");
        assert!(flush(&mut gathering).is_pending(), "the others come first");
        promise(&mut gathering, b"three");
        assert!(flush(&mut gathering).is_pending(), "somebody came: there may be more");
        assert!(flush(&mut gathering).is_ready(), "nobody came");
        assert_eq!(gathering.stream.flushed, [b"onetwothree"]);
        assert!(flush(&mut gathering).is_ready(), "nothing waits");
        promise(&mut gathering, b"four");
        assert!(flush(&mut gathering).is_pending(), "and again, the next time");
    }

    #[test]
    fn the_first_does_not_wait_for_ever() {
        let mut gathering = over(true);
        for _ in 0..ROUNDS {
            promise(&mut gathering, b".");
            assert!(flush(&mut gathering).is_pending());
        }
        promise(&mut gathering, b".");
        assert!(flush(&mut gathering).is_ready());
        assert_eq!(gathering.stream.flushed, [b"....."]);
    }

    #[test]
    fn what_is_much_waits_for_nobody_else() {
        let mut gathering = over(true);
        let frame = vec![b'l'; PLENTY];
        promise(&mut gathering, &frame);
        promise(&mut gathering, &frame);
        assert!(flush(&mut gathering).is_ready());
        assert_eq!(gathering.stream.flushed, [frame.repeat(2)]);
    }

    #[test]
    fn what_is_very_much_is_sent_in_pieces() {
        let mut gathering = over(true);
        let frame = vec![b'l'; PLENTY];
        for _ in 0..2 * MOST / PLENTY {
            write(&mut gathering, &frame);
            assert!(flush(&mut gathering).is_ready());
        }
        assert_eq!(gathering.stream.flushed, vec![frame.repeat(MOST / PLENTY); 2]);
    }

    /// As a connection does it: it ends for now where nothing is left, and is looked at again when it is woken.
    #[tokio::test]
    async fn a_promise_is_kept() {
        for length in [1, PLENTY] {
            let mut gathering = over(true);
            write(&mut gathering, &vec![b'l'; length]);
            std::future::poll_fn(|cx| {
                let _ = Pin::new(&mut gathering).poll_flush(cx);
                if gathering.stream.flushed.is_empty() { Poll::Pending } else { Poll::Ready(()) }
            })
            .await;
        }
    }

    #[test]
    fn a_stream_that_is_busy_is_asked_again() {
        let mut gathering = over(true);
        gathering.stream.busy = 1;
        promise(&mut gathering, b"a");
        assert!(flush(&mut gathering).is_pending());
        assert!(flush(&mut gathering).is_pending(), "the stream is busy");
        assert!(flush(&mut gathering).is_ready(), "nobody is let first again for nothing");
        assert_eq!(gathering.stream.flushed, [b"a"]);
    }

    #[test]
    fn one_answer_at_a_time_waits_for_nobody() {
        let mut gathering = over(false);
        write(&mut gathering, b"one");
        assert!(flush(&mut gathering).is_ready());
        assert_eq!(gathering.stream.flushed, [b"one"]);
    }
}
