//! Whoever counts what is asked of etcd. What is behind a key is the observer's knowledge, not the store's.

use std::time::Duration;

/// Is told of every call after it has ended, and of what watches hear.
pub trait Observer: std::fmt::Debug + Send + Sync {
    /// A call about a key, or about the range that begins with it, as it is called on this side.
    fn asked(&self, operation: &'static str, key: &[u8], took: Duration, failed: bool);

    /// A watch was told of a change of a key.
    fn heard(&self, key: &[u8]);

    /// A watch of what begins with this was told how far it is, without a change.
    fn progressed(&self, prefix: &[u8]);

    /// A lease takes in no more keys; so many have been attached to it.
    fn leased(&self, keys: u32);
}
