//! Lists: which state is read, and how it is cut into pages.

use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use pawl_kv::{RangeRequest, Revision};
use pawl_meta::Status;

use crate::cache::{Objects, Scope};
use crate::continue_token::{inconsistent, read_token, write_token};
use crate::entry::{CacheEntry, Selection};
use crate::storage::{Storage, after, store_error};
use crate::table::Stored;
use crate::unreadable;

/// What a client asks a list for.
#[derive(Clone, Debug, Default)]
pub struct ListRequest {
    pub scope: Scope,
    pub selection: Selection,
    pub at: ListAt,
    /// 0 means everything.
    pub limit: usize,
    pub token: Option<String>,
}

/// Which state a list shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListAt {
    /// Everything acknowledged before the request.
    #[default]
    Newest,
    /// Whatever the cache has, but not older than this.
    NotOlderThan(Revision),
    Exactly(Revision),
}

/// One page of a list.
#[derive(Debug)]
pub struct Page {
    pub revision: Revision,
    pub entries: Vec<Arc<CacheEntry>>,
    pub continue_token: Option<String>,
    /// How many follow; unknown when a selector filters.
    pub remaining: Option<usize>,
}

pub async fn list(storage: &Storage, stored: &Stored, request: &ListRequest) -> Result<Page, Status> {
    let prefix = request.scope.prefix();
    let token = request.token.as_deref().map(|t| read_token(t, &prefix)).transpose()?;
    let page = match token {
        None => page(storage, stored, request, request.at, &prefix).await?,
        Some((rv, start)) => match u64::try_from(rv) {
            Err(_) => page(storage, stored, request, ListAt::Newest, &start).await?,
            Ok(rv) => match page(storage, stored, request, ListAt::Exactly(rv), &start).await {
                Err(status) if status.code == 410 => return Err(inconsistent(&start, &prefix)),
                page => page?,
            },
        },
    };
    unreadable::of_many(stored, &prefix, &page.entries)?;
    Ok(page)
}

/// A page of the asked-for state, from a key on.
async fn page(
    storage: &Storage,
    stored: &Stored,
    request: &ListRequest,
    at: ListAt,
    start: &str,
) -> Result<Page, Status> {
    // The revision up to which everything is in the cache is read first: what the cache says of itself may be older,
    // when nothing happened to this resource, or newer.
    let applied = match at {
        ListAt::Newest => storage.catch_up_for(stored).await?,
        ListAt::NotOlderThan(revision) => {
            storage.wait_for(revision).await?;
            storage.applied()
        }
        ListAt::Exactly(revision) => {
            storage.wait_for_exactly(revision).await?;
            return match stored.cache.objects_at(revision) {
                Some(objects) => Ok(present_page(stored, request, &objects, revision, start)),
                None if stored.derived => Err(gone()),
                None => past_page(storage, stored, request, revision, start).await,
            };
        }
    };
    let (objects, newest) = stored.cache.snapshot();
    Ok(present_page(stored, request, &objects, applied.max(newest), start))
}

/// A page of objects that are in memory.
fn present_page(stored: &Stored, request: &ListRequest, objects: &Objects, revision: Revision, start: &str) -> Page {
    let mut page = Page { revision, entries: Vec::new(), continue_token: None, remaining: None };
    let mut items = request.scope.select(objects, Bound::Included(start.into()));
    // What cannot be read takes no room, as upstream has it: the page fails, and names what a whole one would have shown.
    let mut closed = 0;
    for entry in items.by_ref().filter(|entry| request.selection.matches(entry, &stored.select)) {
        if request.limit > 0 && page.entries.len() - closed == request.limit {
            page.end(request);
            if request.selection.is_everything() {
                let from = (Bound::Included(Arc::clone(&entry.key)), Bound::Unbounded);
                page.remaining = Some(match request.scope {
                    // Without a look at any of them: there may be a million.
                    Scope::All => objects.range::<_, Arc<str>>(from).count(),
                    _ => 1 + request.scope.select(objects, Bound::Excluded(Arc::clone(&entry.key))).count(),
                });
            }
            break;
        }
        closed += usize::from(entry.readable().is_none());
        page.entries.push(Arc::clone(entry));
    }
    page
}

/// A page of a state that only the store remembers, read piece by piece. Few do that at once.
async fn past_page(
    storage: &Storage,
    stored: &Stored,
    request: &ListRequest,
    revision: Revision,
    start: &str,
) -> Result<Page, Status> {
    /// How much is read at once where a page does not say it.
    const PIECE: usize = 5_000;
    let failed = |error| match error {
        pawl_kv::Error::Compacted { .. } | pawl_kv::Error::Lagged => gone(),
        error => store_error(&error),
    };
    let _turn = storage.history().turn().await.map_err(|error| store_error(&error))?;
    let is_plain = request.limit > 0 && request.selection.is_everything();
    let mut range = RangeRequest {
        start: stored.full_key(start).into(),
        end: end_of(stored, &request.scope),
        // One more than the page: it says whether there is another page.
        limit: if is_plain { request.limit.saturating_add(1) } else { PIECE },
        revision: Some(revision),
        count: is_plain,
    };
    let mut page = Page { revision, entries: Vec::new(), continue_token: None, remaining: None };
    let mut closed = 0;
    loop {
        let read = storage.kv().range(range.clone()).await.map_err(failed)?;
        for item in &read.items {
            let Some(key) = std::str::from_utf8(&item.key).ok().and_then(|key| key.strip_prefix(&stored.prefix)) else {
                continue;
            };
            let entry = storage.entry_of(stored, key, item);
            if !request.selection.matches(&entry, &stored.select) {
                continue;
            }
            if request.limit > 0 && page.entries.len() - closed == request.limit {
                page.end(request);
                page.remaining = read.remaining.map(|remaining| remaining + 1);
                return Ok(page);
            }
            closed += usize::from(entry.readable().is_none());
            page.entries.push(entry);
        }
        match read.items.last() {
            Some(last) if read.more => range.start = after(&last.key),
            _ => return Ok(page),
        }
        tokio::task::yield_now().await;
    }
}

/// Where the keys of a scope end in the store.
fn end_of(stored: &Stored, scope: &Scope) -> Bytes {
    let prefix = stored.full_key(&scope.prefix());
    match scope {
        Scope::Object { .. } => after(prefix.as_bytes()),
        // The character behind the slash.
        _ => format!("{}0", prefix.trim_end_matches('/')).into(),
    }
}

impl Page {
    /// Ends a page that another one follows: it starts right after the last object of this one.
    fn end(&mut self, request: &ListRequest) {
        let last = self.entries.last().map(|last| write_token(self.revision, &last.key, &request.scope.prefix()));
        self.continue_token = last;
    }
}

fn gone() -> Status {
    Status::gone("The resourceVersion for the provided list is too old.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Incoming;
    use crate::{Table, WatchItem, WatchRequest, WatchStart, Watcher};

    #[tokio::test]
    async fn a_list_and_a_watch_are_as_new_as_their_newest_object() {
        let directory = tempfile::tempdir().unwrap();
        let store = pawl_kv_embedded::Store::open(directory.path(), Default::default()).unwrap();
        let storage = Arc::new(Storage::new(store));
        let table = Table::new(pawl_kinds::builtin(), 1);
        storage.load(&table).await.unwrap();
        let (stored, key) = table.place("/registry/configmaps/n/a").unwrap();
        // The feed between two of its steps: the cache has a write, and nobody has been told that all have it.
        let value = br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"n"}}"#;
        let entry = Arc::new(stored.open(key, 7, pawl_seal::Sealed::stored(Bytes::from_static(value))));
        stored.cache.apply([Incoming { revision: 7, key, entry: Some(entry) }]);
        assert_eq!(storage.applied(), 1);
        for at in [ListAt::Newest, ListAt::NotOlderThan(1)] {
            let page = list(&storage, stored, &ListRequest { at, ..ListRequest::default() }).await.unwrap();
            assert_eq!((page.entries.len(), page.revision), (1, 7));
        }
        let request = WatchRequest {
            scope: Scope::All,
            selection: Selection::default(),
            start: WatchStart::Initial { at_least: 0, bookmark: true },
            bookmarks: false,
            tolerant: false,
        };
        let mut watcher = Watcher::start(Arc::clone(&storage), Arc::clone(stored), request).await.unwrap();
        let items = watcher.next().await;
        assert!(matches!(items.last(), Some(WatchItem::Bookmark { revision: 7, .. })), "{items:?}");
    }
}
