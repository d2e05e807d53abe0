//! Lists: which state is read, how it is cut into pages, and the tokens that say where to go on.

use std::ops::Bound;
use std::sync::Arc;

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{NO_PAD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use pawl_kv::{RangeRequest, Revision};
use pawl_meta::{Status, go};
use serde::Serialize;
use serde_json::Value;

use crate::cache::{Objects, Scope};
use crate::entry::{Entry, Selection};
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
    pub entries: Vec<Arc<Entry>>,
    pub continue_token: Option<String>,
    /// How many follow; unknown when a selector filters.
    pub remaining: Option<usize>,
}

#[derive(Serialize)]
struct Token {
    v: String,
    rv: i64,
    start: String,
}

const TOKEN_VERSION: &str = "meta.k8s.io/v1";

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

/// A token whose state is gone: the error carries another one that goes on with the newest state.
fn inconsistent(start: &str, prefix: &str) -> Status {
    let last = start.strip_suffix('\0').unwrap_or(start);
    let mut status = Status::gone(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without \
         the continue parameter, or use the continue token in this response to retrieve the remainder of the results. \
         Continuing with the provided token results in an inconsistent list - objects that were created, modified, or \
         deleted between the time the first chunk was returned and now may show up in the list.",
    );
    status.continue_token = Some(token_text(-1, last, prefix));
    status
}

fn write_token(revision: Revision, last: &str, prefix: &str) -> String {
    token_text(i64::try_from(revision).unwrap_or(i64::MAX), last, prefix)
}

fn token_text(rv: i64, last: &str, prefix: &str) -> String {
    let start = format!("{}\0", last.strip_prefix(prefix).unwrap_or(last));
    let token = Token { v: TOKEN_VERSION.to_owned(), rv, start };
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
}

/// As Go reads it: the bits that are left over may be anything.
const LENIENT: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

/// The revision of a token and the key to start from.
fn read_token(text: &str, prefix: &str) -> Result<(i64, String), Status> {
    let wrong = |why: String| Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
    let bytes =
        LENIENT.decode(text).map_err(|e| wrong(format!("illegal base64 data at input byte {}", position(&e))))?;
    let token = token_of(&bytes).map_err(wrong)?;
    if token.v != TOKEN_VERSION {
        return Err(wrong(format!("server does not recognize this encoded version {}", token.v)));
    }
    if token.rv == 0 {
        return Err(wrong(format!("incorrect encoded start resourceVersion (version {TOKEN_VERSION})")));
    }
    if token.start.is_empty() {
        return Err(wrong(format!("encoded start key empty (version {TOKEN_VERSION})")));
    }
    // A start key that climbs out of its prefix is somebody playing.
    if token.start.split('/').any(|part| part == "." || part == "..") {
        return Err(wrong(token.start));
    }
    Ok((token.rv, format!("{prefix}{}", token.start)))
}

/// What a token says; what it leaves out is nothing.
fn token_of(bytes: &[u8]) -> Result<Token, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|_| pawl_schema::syntax_error(bytes))?;
    let unfit = |kind: &str, into: &str| format!("json: cannot unmarshal {kind} into Go {into}");
    let object = match &value {
        Value::Object(object) => object.clone(),
        Value::Null => Default::default(),
        other => return Err(unfit(go::json_kind(other), "value of type storage.continueToken")),
    };
    let member = |name: &str| object.get(name).filter(|value| !value.is_null());
    let text = |name: &str, field: &str| match member(name) {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(unfit(go::json_kind(other), &format!("struct field continueToken.{field} of type string"))),
    };
    let rv = match member("rv") {
        None => 0,
        Some(Value::Number(number)) => number
            .as_i64()
            .ok_or_else(|| unfit(&format!("number {number}"), "struct field continueToken.rv of type int64"))?,
        Some(other) => return Err(unfit(go::json_kind(other), "struct field continueToken.rv of type int64")),
    };
    Ok(Token { v: text("v", "v")?, rv, start: text("start", "start")? })
}

fn position(error: &base64::DecodeError) -> usize {
    match error {
        base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => *at,
        base64::DecodeError::InvalidLength(at) => *at,
        base64::DecodeError::InvalidPadding => 0,
    }
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

    #[test]
    fn tokens_lead_back_to_their_place() {
        let token = write_token(7, "ns/a", "ns/");
        assert_eq!(read_token(&token, "ns/").unwrap(), (7, "ns/a\0".to_owned()));
        for bad in ["", "!", "e30", "AAAA"] {
            assert_eq!(read_token(bad, "ns/").unwrap_err().code, 400, "{bad}");
        }
        let why = read_token("garbage", "ns/").unwrap_err().message;
        assert!(why.ends_with(r"invalid character '\u0081' looking for beginning of value"), "{why}");
    }
}
