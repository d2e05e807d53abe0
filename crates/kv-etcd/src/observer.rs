//! Whoever counts what is asked of etcd. What is behind a key is the observer's knowledge, not the store's.

use std::time::Duration;

/// Is told of every call after it has ended.
pub trait Observer: std::fmt::Debug + Send + Sync {
    /// A call about a key, or about the range that begins with it, as it is called on this side.
    fn asked(&self, operation: &'static str, key: &[u8], took: Duration, failed: bool);

    /// A lease takes in no more keys; so many have been attached to it.
    fn leased(&self, keys: u32);
}
