//! From a store to a snapshot: pages of one revision, one after the other, so that little is in memory at a time and
//! writers go on meanwhile.

use std::sync::Arc;

use bytes::Bytes;
use pawl_kv::{Error, Kv, Range, RangeRequest, Result, Revision};

use crate::{Encoder, Head, Record};

/// What a store holds at one revision, read piece by piece in the order of keys.
pub struct Pages {
    kv: Arc<dyn Kv>,
    revision: Revision,
    /// A page that nobody has taken yet.
    page: Option<Range>,
    next: Option<Bytes>,
    /// Where the keys end that are read.
    end: Bytes,
    limit: usize,
}

impl Pages {
    /// About so many bytes are read at a time.
    const PAGE: usize = 2 << 20;
    const MOST_KEYS: usize = 4000;

    /// Begins with what the store holds now under a prefix: in a store that others share, the rest is theirs.
    pub async fn begin(kv: Arc<dyn Kv>, prefix: &'static str) -> Result<Self> {
        let start = Bytes::from_static(prefix.as_bytes());
        let end = after_all(prefix);
        let mut pages = Self { kv, revision: 0, page: None, next: Some(start.clone()), end, limit: 100 };
        let page = pages.read(start, None).await?;
        pages.revision = page.revision;
        pages.page = Some(page);
        Ok(pages)
    }

    /// Begins with what the store held at a revision.
    pub fn begin_at(kv: Arc<dyn Kv>, prefix: &'static str, revision: Revision) -> Self {
        let start = Bytes::from_static(prefix.as_bytes());
        Self { kv, revision, page: None, next: Some(start), end: after_all(prefix), limit: 100 }
    }

    /// The revision that is read.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// How many keys there are that were not read yet.
    pub async fn count(&self) -> Result<u64> {
        let Some(start) = self.next.clone() else { return Ok(0) };
        let all = RangeRequest { start, end: self.end.clone(), limit: 1, revision: Some(self.revision), count: true };
        let all = self.kv.range(all).await?;
        Ok((all.items.len() + all.remaining.unwrap_or_default()) as u64)
    }

    /// Goes on behind a key: what is before it has been read already.
    pub fn skip_through(&mut self, key: &[u8]) {
        self.page = None;
        self.next = Some(Bytes::from([key, &[0]].concat()));
    }

    /// The next keys; `None` after the last.
    pub async fn next(&mut self) -> Result<Option<Vec<Record>>> {
        let Some(start) = self.next.take() else { return Ok(None) };
        let page = match self.page.take() {
            Some(page) => page,
            None => self.read(start, Some(self.revision)).await?,
        };
        let time_left = self.kv.time_left(&page.items, self.revision).await?;
        if let Some(last) = page.items.last().filter(|_| page.more) {
            self.next = Some(Bytes::from([&last.key, &[0][..]].concat()));
            // As many keys as have the size of a page, going by those that were there.
            let size: usize = page.items.iter().map(|held| held.key.len() + held.value.len()).sum();
            self.limit = (Self::PAGE / (size / page.items.len()).max(1)).clamp(1, Self::MOST_KEYS);
        }
        let mut time_left = time_left.into_iter();
        Ok(Some(page.items.into_iter().map(|held| Record::new(held, time_left.next().flatten())).collect()))
    }

    async fn read(&self, start: Bytes, revision: Option<Revision>) -> Result<Range> {
        let end = self.end.clone();
        self.kv.range(RangeRequest { start, end, limit: self.limit, revision, count: false }).await
    }
}

/// The first key behind all that begin with a prefix; empty where there is none.
pub fn after_all(prefix: &str) -> Bytes {
    let mut end = prefix.as_bytes().to_vec();
    while let Some(last) = end.pop() {
        if let Some(next) = last.checked_add(1) {
            end.push(next);
            return Bytes::from(end);
        }
    }
    Bytes::new()
}

/// A snapshot that is being taken.
pub struct Saving {
    pages: Pages,
    encoder: Option<Encoder>,
}

impl Saving {
    /// Begins with what the store holds now; the first bytes of the file.
    pub async fn begin(kv: Arc<dyn Kv>, prefix: &'static str, time: u64, cluster: [u8; 16]) -> Result<(Self, Bytes)> {
        let pages = Pages::begin(kv, prefix).await?;
        let (encoder, head) = Encoder::begin(&Head { revision: pages.revision(), time, cluster });
        Ok((Self { pages, encoder: Some(encoder) }, head))
    }

    pub fn revision(&self) -> Revision {
        self.pages.revision()
    }

    /// The bytes that come next, which may be none; `None` after the last. What fails is told at the end of the file as well,
    /// and then there is nothing more.
    pub async fn next(&mut self) -> Option<std::result::Result<Bytes, (Error, Bytes)>> {
        let mut encoder = self.encoder.take()?;
        let mut bytes = Vec::new();
        let written = match self.pages.next().await {
            Ok(Some(records)) => write(&mut encoder, &records, &mut bytes).map(|()| true),
            Ok(None) => Ok(false),
            Err(error) => Err(error),
        };
        Some(match written {
            Ok(true) => {
                self.encoder = Some(encoder);
                Ok(Bytes::from(bytes))
            }
            Ok(false) => Ok(encoder.finish().0),
            Err(error) => {
                let end = encoder.give_up(&error.to_string());
                Err((error, end))
            }
        })
    }

    /// The end of a file that nobody must take for a snapshot, and why.
    pub fn give_up(self, why: &str) -> Bytes {
        self.encoder.map(|encoder| encoder.give_up(why)).unwrap_or_default()
    }
}

/// The blocks that records fill; what is no whole block yet goes with the next.
fn write(encoder: &mut Encoder, records: &[Record], bytes: &mut Vec<u8>) -> Result<()> {
    for record in records {
        if let Some(block) = encoder.push(record).map_err(|why| Error::Corrupt(why.to_string()))? {
            bytes.extend_from_slice(&block);
        }
    }
    Ok(())
}
