//! Bytes on the two sides of a seal. They are different types: nothing that is sealed is parsed, and nothing that is plain
//! is stored, unless somebody says so.

use std::fmt;

use bytes::Bytes;

/// A value as objects are made from it.
#[derive(Clone, PartialEq, Eq)]
pub struct Plain(Bytes);

/// A value as it is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed(Bytes);

impl Plain {
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        Self(bytes.into())
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }

    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    pub(crate) fn bytes(&self) -> &Bytes {
        &self.0
    }
}

impl Sealed {
    /// What a store holds: whether it was sealed at all shows when it is opened.
    pub fn stored(bytes: impl Into<Bytes>) -> Self {
        Self(bytes.into())
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }

    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    pub(crate) fn bytes(&self) -> &Bytes {
        &self.0
    }
}

/// What is inside may be somebody's secret: only its size is shown.
impl fmt::Debug for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plain({} bytes)", self.0.len())
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealed({} bytes)", self.0.len())
    }
}
