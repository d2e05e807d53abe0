//! Fences: work that one server does for all, and that nobody goes on with once another has begun it.
//!
//! Owns the keys that fences stand on. A fence is a guard on its key: it falls when somebody else raises his own there, and
//! with it every write that is made behind it, however late that arrives.

use bytes::Bytes;
use pawl_kv::{Change, Expect, Guard, Outcome, Write};
use pawl_meta::Status;

use crate::Storage;
use crate::storage::store_error;

impl Storage {
    /// Raises a fence under a name, if a condition still holds; `None` where it does not, or where somebody was faster.
    pub async fn raise_fence(&self, key: &'static str, name: &str, condition: Guard) -> Result<Option<Guard>, Status> {
        let key = Bytes::from_static(key.as_bytes());
        let held = self.kv().get(key.clone()).await.map_err(|error| store_error(&error))?;
        let expect = held.map_or(Expect::Absent, |held| Expect::Revision(held.mod_revision));
        let change = Change::Put { value: Bytes::from(name.to_owned()), ttl: None };
        let write = Write { guards: vec![condition], ..Write::new(key.clone(), expect, change) };
        match self.kv().write(write).await.map_err(|error| store_error(&error))? {
            Outcome::Applied { revision } => Ok(Some(Guard::Same { key, revision })),
            Outcome::Conflict { .. } => Ok(None),
        }
    }

    /// Whether somebody else has raised his fence since.
    pub(crate) async fn has_fallen(&self, fence: &Guard) -> Result<bool, Status> {
        // No other guard is raised as one.
        let Guard::Same { key, revision } = fence else { return Ok(false) };
        let held = self.kv().get(key.clone()).await.map_err(|error| store_error(&error))?;
        Ok(held.is_none_or(|held| held.mod_revision != *revision))
    }
}
