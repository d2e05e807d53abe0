//! From a store to a snapshot: pages of one revision, one after the other, so that little is in memory at a time and
//! writers go on meanwhile.

use std::sync::Arc;

use bytes::Bytes;
use pawl_kv::{Error, Kv, Range, RangeRequest, Result, Revision};

use crate::{Encoder, Head, Record, Totals};

/// A snapshot that is being taken.
pub struct Saving {
    kv: Arc<dyn Kv>,
    encoder: Option<Encoder>,
    revision: Revision,
    /// The keys of a page that is not in the file yet, and whether others follow it.
    page: Option<Range>,
    next: Bytes,
    limit: usize,
    totals: Totals,
}

impl Saving {
    /// About so many bytes are read at a time.
    const PAGE: usize = 2 << 20;
    const MOST_KEYS: usize = 4000;

    /// Begins with what the store holds now; the first bytes of the file.
    pub async fn begin(kv: Arc<dyn Kv>, time: u64, cluster: [u8; 16]) -> Result<(Self, Bytes)> {
        let mut saving = Self {
            kv,
            encoder: None,
            revision: 0,
            page: None,
            next: Bytes::new(),
            limit: 100,
            totals: Totals::default(),
        };
        let page = saving.read(None).await?;
        saving.revision = page.revision;
        saving.page = Some(page);
        let (encoder, head) = Encoder::begin(&Head { revision: saving.revision, time, cluster });
        saving.encoder = Some(encoder);
        Ok((saving, head))
    }

    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// How much the snapshot has, once it is complete.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// The bytes that come next; `None` after the last. What fails is told at the end of the file as well, and then there is
    /// nothing more.
    pub async fn next(&mut self) -> Option<std::result::Result<Bytes, (Error, Bytes)>> {
        let mut encoder = self.encoder.take()?;
        let page = match self.page.take() {
            Some(page) => Ok(page),
            None => self.read(Some(self.revision)).await,
        };
        let written = match page {
            Ok(page) => self.write(&mut encoder, page).await,
            Err(error) => Err(error),
        };
        match written {
            // What is no whole block yet goes with the next page: there may be nothing to write now.
            Ok((bytes, true)) => {
                self.encoder = Some(encoder);
                Some(Ok(Bytes::from(bytes)))
            }
            Ok((mut bytes, false)) => {
                let (end, totals) = encoder.finish();
                self.totals = totals;
                bytes.extend_from_slice(&end);
                Some(Ok(Bytes::from(bytes)))
            }
            Err(error) => {
                let end = encoder.give_up(&error.to_string());
                Some(Err((error, end)))
            }
        }
    }

    async fn read(&self, revision: Option<Revision>) -> Result<Range> {
        let request = RangeRequest { start: self.next.clone(), limit: self.limit, revision, ..RangeRequest::default() };
        self.kv.range(request).await
    }

    /// The blocks that a page fills; tells whether another page follows.
    async fn write(&mut self, encoder: &mut Encoder, page: Range) -> Result<(Vec<u8>, bool)> {
        let lifetimes = self.kv.time_left(&page.items, self.revision).await?;
        let mut lifetimes = lifetimes.into_iter();
        let size: usize = page.items.iter().map(|held| held.key.len() + held.value.len()).sum();
        if let Some(last) = page.items.last() {
            self.next = Bytes::from([&last.key, &[0][..]].concat());
            // As many keys as have the size of a page, going by those that were there.
            let each = (size / page.items.len()).max(1);
            self.limit = (Self::PAGE / each).clamp(1, Self::MOST_KEYS);
        }
        let mut bytes = Vec::new();
        for held in page.items {
            let record = Record::new(held, lifetimes.next().flatten());
            let block = encoder.push(&record).map_err(|why| Error::Corrupt(why.to_string()))?;
            if let Some(block) = block {
                bytes.extend_from_slice(&block);
            }
        }
        Ok((bytes, page.more))
    }
}
