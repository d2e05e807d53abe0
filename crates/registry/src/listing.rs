//! Lists: which state is read, how it is cut into pages, and the tokens that say where to go on.

use std::ops::Bound;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pawl_kv::{RangeRequest, Revision};
use pawl_meta::Status;
use serde::{Deserialize, Serialize};

use crate::cache::{Objects, Scope};
use crate::entry::{Entry, Selection, State};
use crate::storage::{Storage, store_error};
use crate::table::Stored;

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

#[derive(Serialize, Deserialize)]
struct Token {
    v: String,
    rv: i64,
    start: String,
}

const TOKEN_VERSION: &str = "meta.k8s.io/v1";

pub async fn list(storage: &Storage, stored: &Stored, request: &ListRequest) -> Result<Page, Status> {
    let prefix = request.scope.prefix();
    let token = request.token.as_deref().map(|t| read_token(t, &prefix)).transpose()?;
    let (objects, revision, start) = match &token {
        None => {
            let (objects, revision) = state(storage, stored, request.at).await?;
            (objects, revision, prefix.clone())
        }
        Some((rv, start)) => match u64::try_from(*rv) {
            Err(_) => {
                let (objects, revision) = state(storage, stored, ListAt::Newest).await?;
                (objects, revision, start.clone())
            }
            Ok(rv) => match state(storage, stored, ListAt::Exactly(rv)).await {
                Ok((objects, revision)) => (objects, revision, start.clone()),
                Err(status) if status.code == 410 => return Err(inconsistent(start, &prefix)),
                Err(status) => return Err(status),
            },
        },
    };
    let mut page = Page { revision, entries: Vec::new(), continue_token: None, remaining: None };
    let single = matches!(request.scope, Scope::Object { .. });
    let from: Arc<str> = start.as_str().into();
    let mut items = objects
        .range::<_, Arc<str>>((Bound::Included(from), Bound::Unbounded))
        .map(|(_, entry)| entry)
        .take_while(|entry| if single { *entry.key == *prefix } else { entry.key.starts_with(prefix.as_str()) });
    for entry in items.by_ref() {
        if !request.selection.matches(entry, &stored.select) {
            continue;
        }
        if request.limit > 0 && page.entries.len() == request.limit {
            // The next page starts right after the last object of this one.
            if let Some(last) = page.entries.last() {
                page.continue_token = Some(write_token(revision, &last.key, &prefix));
            }
            if request.selection.is_everything() {
                page.remaining = Some(1 + items.count());
            }
            break;
        }
        page.entries.push(Arc::clone(entry));
    }
    unreadable(stored, &page.entries)?;
    Ok(page)
}

/// The objects of a resource in the asked-for state, and its revision.
async fn state(storage: &Storage, stored: &Stored, at: ListAt) -> Result<(Objects, Revision), Status> {
    match at {
        ListAt::Newest => {
            let revision = storage.catch_up().await?;
            Ok((stored.cache.objects(), revision))
        }
        ListAt::NotOlderThan(revision) => {
            storage.wait_for(revision).await?;
            let revision = storage.applied();
            Ok((stored.cache.objects(), revision))
        }
        ListAt::Exactly(revision) => {
            storage.wait_for(revision).await?;
            if let Some(objects) = stored.cache.objects_at(revision) {
                return Ok((objects, revision));
            }
            let start = stored.prefix.clone();
            let end = format!("{}0", start.trim_end_matches('/'));
            let request = RangeRequest {
                start: start.into(),
                end: end.into(),
                revision: Some(revision),
                ..RangeRequest::default()
            };
            let range = storage.kv().range(request).await.map_err(|error| match error {
                pawl_kv::Error::Compacted { .. } => gone(),
                error => store_error(&error),
            })?;
            let mut objects = Objects::new();
            for item in range.items {
                let key = std::str::from_utf8(&item.key).ok().and_then(|k| k.strip_prefix(&stored.prefix));
                if let Some(key) = key {
                    let entry = Arc::new(storage.entry(stored, key, item.mod_revision, item.value));
                    objects.insert(Arc::clone(&entry.key), entry);
                }
            }
            Ok((objects, revision))
        }
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

/// Objects that cannot be read make the whole list fail, each named.
fn unreadable(stored: &Stored, entries: &[Arc<Entry>]) -> Result<(), Status> {
    const MOST: usize = 100;
    let mut bad = entries.iter().filter_map(|e| match &e.state {
        State::Unreadable(why) => Some((e, why)),
        State::Readable(_) => None,
    });
    let Some(first) = bad.next() else { return Ok(()) };
    let mut causes: Vec<pawl_meta::Cause> = std::iter::once(first)
        .chain(bad.by_ref().take(MOST - 1))
        .map(|(entry, why)| pawl_meta::Cause {
            reason: "UnexpectedServerResponse".to_owned(),
            message: why.clone(),
            field: stored.full_key(&entry.key),
        })
        .collect();
    if bad.next().is_some() {
        causes.push(pawl_meta::Cause {
            reason: "FieldValueTooMany".to_owned(),
            message: "too many errors, the list is truncated".to_owned(),
            field: String::new(),
        });
    }
    let resource = &stored.group_resource;
    let message = format!("failed to read one or more {resource} from the storage");
    Err(Status::new(500, "StorageReadError", message).with_details(pawl_meta::Details {
        name: "list".to_owned(),
        group: resource.group.clone(),
        kind: resource.resource.clone(),
        causes,
        ..Default::default()
    }))
}

fn write_token(revision: Revision, last: &str, prefix: &str) -> String {
    token_text(i64::try_from(revision).unwrap_or(i64::MAX), last, prefix)
}

fn token_text(rv: i64, last: &str, prefix: &str) -> String {
    let start = format!("{}\0", last.strip_prefix(prefix).unwrap_or(last));
    let token = Token { v: TOKEN_VERSION.to_owned(), rv, start };
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
}

/// The revision of a token and the key to start from.
fn read_token(text: &str, prefix: &str) -> Result<(i64, String), Status> {
    let wrong = |why: String| Status::bad_request(format!("continue key is not valid: {why}"));
    let bytes = URL_SAFE_NO_PAD
        .decode(text.trim_end_matches('='))
        .map_err(|e| wrong(format!("illegal base64 data at input byte {}", position(&e))))?;
    let token: Token = serde_json::from_slice(&bytes).map_err(|_| wrong(pawl_schema::syntax_error(&bytes)))?;
    if token.v != TOKEN_VERSION {
        return Err(wrong(format!("server does not recognize this encoded version {:?}", token.v)));
    }
    if token.start.is_empty() {
        return Err(wrong(format!("encoded start key empty (version {TOKEN_VERSION})")));
    }
    // A start key that climbs out of its prefix is somebody playing.
    if token.rv == 0 || token.start.split('/').any(|part| part == "." || part == "..") {
        return Err(wrong(format!("incorrect encoded start resourceVersion (version {TOKEN_VERSION})")));
    }
    Ok((token.rv, format!("{prefix}{}", token.start)))
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

    #[test]
    fn tokens_lead_back_to_their_place() {
        let token = write_token(7, "ns/a", "ns/");
        assert_eq!(read_token(&token, "ns/").unwrap(), (7, "ns/a\0".to_owned()));
        for bad in ["", "!", "e30", "AAAA"] {
            assert_eq!(read_token(bad, "ns/").unwrap_err().code, 400, "{bad}");
        }
    }
}
