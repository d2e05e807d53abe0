//! The bodies of answers: nothing, one piece, or a stream; and what is held until they have been sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use http::Response;
use http_body::{Frame, SizeHint};
use prometheus::Histogram;

use crate::api::Holding;
use crate::watchman::Open;

pub enum Body {
    Empty,
    Full(Bytes),
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
    /// With what its request holds until all of it has been sent.
    Held(Box<(Body, Holding)>),
    /// With a place to note how large it was.
    Measured(Box<(Body, Size)>),
}

/// How large a body was: noted when it has been sent, or has not been read to its end.
pub struct Size {
    bytes: usize,
    noted: Histogram,
}

impl Drop for Size {
    fn drop(&mut self) {
        self.noted.observe(self.bytes as f64);
    }
}

impl Body {
    /// The same, holding something until it has been sent.
    pub(crate) fn holding(self, what: Holding) -> Self {
        Self::Held(Box::new((self, what)))
    }

    /// Whether its request holds something until it has been sent.
    fn is_held(&self) -> bool {
        match self {
            Self::Held(_) => true,
            Self::Measured(measured) => measured.0.is_held(),
            Self::Empty | Self::Full(_) | Self::Stream(_) => false,
        }
    }

    /// The same, whose size is to be noted.
    pub(crate) fn measured_by(self, noted: Option<Histogram>) -> Self {
        match (noted, self.whole()) {
            (None, _) => self,
            (Some(noted), Some(bytes)) => {
                noted.observe(bytes.len() as f64);
                self
            }
            (Some(noted), None) => Self::Measured(Box::new((self, Size { bytes: 0, noted }))),
        }
    }

    /// The bytes, where they are all there.
    pub(crate) fn whole(&self) -> Option<&Bytes> {
        match self {
            Self::Full(bytes) => Some(bytes),
            Self::Held(held) => held.0.whole(),
            Self::Measured(measured) => measured.0.whole(),
            Self::Empty | Self::Stream(_) => None,
        }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Full(Bytes::from(bytes))
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Self::Full(Bytes::from(text))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        match this {
            Self::Empty => Poll::Ready(None),
            Self::Full(bytes) => {
                let bytes = std::mem::take(bytes);
                *this = Self::Empty;
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
            Self::Stream(stream) => stream.as_mut().poll_next(cx).map(|next| next.map(|bytes| Ok(Frame::data(bytes)))),
            Self::Held(held) => Pin::new(&mut held.0).poll_frame(cx),
            Self::Measured(measured) => {
                let (body, size) = &mut **measured;
                let frame = Pin::new(body).poll_frame(cx);
                if let Poll::Ready(Some(Ok(frame))) = &frame {
                    size.bytes += frame.data_ref().map_or(0, Bytes::len);
                }
                frame
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Full(bytes) => bytes.is_empty(),
            Self::Stream(_) => false,
            Self::Held(held) => held.0.is_end_stream(),
            Self::Measured(measured) => measured.0.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(_) => SizeHint::default(),
            Self::Held(held) => held.0.size_hint(),
            Self::Measured(measured) => measured.0.size_hint(),
        }
    }
}

/// A body on its way to the client.
pub(crate) struct Sending {
    body: Body,
    /// Tells the connection that something is under way, and that it moves.
    open: Open,
}

impl Sending {
    pub fn of(response: Response<Body>, mut open: Open) -> Response<Self> {
        if response.body().is_held() {
            open.expect_reading();
        }
        response.map(|body| Self { body, open })
    }
}

impl http_body::Body for Sending {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        this.open.moved();
        Pin::new(&mut this.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
