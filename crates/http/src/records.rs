//! TLS that is sent when it is flushed, or when there is much of it.
//!
//! What is written is sealed at once, into records that wait in the session; `tokio-rustls` alone would send each of them, in a system call.

use std::io::{self, IoSlice, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// How much of an answer fills a record, with the head of a frame of HTTP/2 (9 bytes) before it: cut elsewhere, every record would be
/// followed by one of nine bytes.
pub const PIECE: usize = 16 * 1024 - 9;
/// How much of an answer is made before it is sent.
pub const AHEAD: usize = 8 * PIECE;
// So that it is sent at once.
const _: () = assert!(AHEAD + 8 * 9 < pawl_gathering::MOST);
/// How much waits in a session: what is sent at once, and a frame that came last.
const WAITING: usize = 2 * pawl_gathering::MOST;

pub struct Records(TlsStream<TcpStream>);

impl Records {
    pub fn new(mut stream: TlsStream<TcpStream>) -> Self {
        stream.get_mut().1.set_buffer_limit(Some(WAITING));
        Self(stream)
    }
}

impl AsyncWrite for Records {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if parts.iter().all(|part| part.is_empty()) {
            return Poll::Ready(Ok(0));
        }
        loop {
            // It takes as much as it has room for.
            let taken = self.0.get_mut().1.writer().write_vectored(parts)?;
            if taken > 0 {
                return Poll::Ready(Ok(taken));
            }
            ready!(Pin::new(&mut self.0).poll_flush(cx))?;
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

impl AsyncRead for Records {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, into)
    }
}
