//! `pawl snapshot verify`: every checksum, and every object.

use std::path::Path;

use pawl_kv::{Error, Revision};
use pawl_kv_embedded::Frozen;
use pawl_snapshot::{Fault, Record};

use super::judging::{Judge, ValueVerdict};
use super::{Progress, Source, open_file, record};

/// So many objects are named.
const NAMED: usize = 100;

/// What a proof came to.
#[derive(Debug, Default)]
pub struct Verified {
    pub revision: Revision,
    pub records: u64,
    pub readable: u64,
    /// Sealed, and no keys were given.
    pub sealed: u64,
    pub unreadable: u64,
    /// The first of those that cannot be read, and why.
    pub named: Vec<(String, String)>,
    /// What does not hold.
    pub damage: Vec<String>,
}

impl Verified {
    pub fn is_good(&self) -> bool {
        self.unreadable == 0 && self.damage.is_empty()
    }

    async fn look(&mut self, judge: &Judge, record: &Record) {
        self.records += 1;
        match judge.judge(record).await {
            ValueVerdict::Readable { .. } | ValueVerdict::Note => self.readable += 1,
            ValueVerdict::Sealed => self.sealed += 1,
            ValueVerdict::Unreadable(why) => {
                self.unreadable += 1;
                if self.named.len() < NAMED {
                    self.named.push((String::from_utf8_lossy(&record.key).into_owned(), why));
                }
            }
        }
    }
}

/// Reads all of a snapshot or a store. With the keys of an encryption configuration sealed values are opened.
pub async fn verify(source: &Source, encryption: Option<&Path>, progress: Progress<'_>) -> Result<Verified, String> {
    let judge = Judge::new(encryption).await?;
    match source {
        Source::Snapshot(path) => file(path, &judge, progress).await,
        Source::Store(path) => store(path, &judge).await,
    }
}

async fn file(path: &Path, judge: &Judge, progress: Progress<'_>) -> Result<Verified, String> {
    let (mut decoder, size) = open_file(path)?;
    let mut found = Verified { revision: decoder.head().revision, ..Verified::default() };
    loop {
        let records = match decoder.next_block() {
            Ok(Some(records)) => records,
            Ok(None) => return Ok(found),
            // What follows can still be looked at.
            Err(Fault::Block(damage)) => {
                found.damage.push(damage.to_string());
                damage.intact
            }
            // That it is not whole has been said.
            Err(Fault::Hash) if !found.damage.is_empty() => return Ok(found),
            Err(why) => {
                found.damage.push(why.to_string());
                return Ok(found);
            }
        };
        for record in &records {
            found.look(judge, record).await;
        }
        progress(decoder.offset(), Some(size));
    }
}

async fn store(path: &Path, judge: &Judge) -> Result<Verified, String> {
    let failed = |why: pawl_kv::Error| format!("{}: {why}", path.display());
    let picture = match Frozen::open(path).map_err(failed)?.picture() {
        Ok(picture) => picture,
        Err(why @ Error::Corrupt(_)) => return Ok(Verified { damage: vec![failed(why)], ..Verified::default() }),
        Err(why) => return Err(failed(why)),
    };
    let mut found = Verified { revision: picture.revision, ..Verified::default() };
    for item in picture.items() {
        found.look(judge, &record(item)).await;
    }
    Ok(found)
}
