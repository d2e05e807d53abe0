//! `pawl snapshot inspect`: what is in a snapshot or a store.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::Path;

use pawl_kv::Revision;
use pawl_kv_embedded::SegmentInfo;
use pawl_snapshot::Record;

use super::judging::Judge;
use super::{Progress, Source, each_of_file, picture, record};

/// So many of the largest objects are named.
const LARGEST: usize = 10;

/// What was found.
#[derive(Debug, Default)]
pub struct Inspection {
    pub revision: Revision,
    /// When it was taken, in milliseconds since the Unix epoch; of a snapshot.
    pub time: Option<u64>,
    pub cluster: Option<[u8; 16]>,
    /// By resource: how many objects, and the bytes of their keys and values.
    pub resources: BTreeMap<String, (u64, u64)>,
    /// Size and key of the largest objects, the largest first.
    pub largest: Vec<(u64, String)>,
    /// What a store can still tell of the past.
    pub history: Option<History>,
}

#[derive(Debug)]
pub struct History {
    /// Watches can begin after this revision.
    pub compacted: Revision,
    pub segments: Vec<SegmentInfo>,
    /// The revision and the size of the store's own snapshot.
    pub snapshot: Option<(Revision, u64)>,
}

pub async fn inspect(source: &Source, progress: Progress<'_>) -> Result<Inspection, String> {
    let judge = Judge::new(None).await?;
    let mut counting = Counting { judge, resources: BTreeMap::new(), largest: BinaryHeap::new() };
    let mut found = match source {
        Source::Snapshot(path) => from_file(path, &mut counting, progress)?,
        Source::Store(path) => {
            let picture = picture(path)?;
            picture.items().for_each(|item| counting.count(&record(item)));
            let (compacted, segments, snapshot) = (picture.compacted, picture.segments.clone(), picture.snapshot);
            let history = Some(History { compacted, segments, snapshot });
            Inspection { revision: picture.revision, history, ..Inspection::default() }
        }
    };
    found.resources = counting.resources;
    found.largest = counting.largest.into_sorted_vec().into_iter().map(|Reverse(held)| held).collect();
    Ok(found)
}

fn from_file(path: &Path, counting: &mut Counting, progress: Progress<'_>) -> Result<Inspection, String> {
    let (head, _) = each_of_file(path, progress, |_, record| {
        counting.count(&record);
        Ok(())
    })?;
    let cluster = Some(head.cluster).filter(|cluster| *cluster != [0; 16]);
    Ok(Inspection { revision: head.revision, time: Some(head.time), cluster, ..Inspection::default() })
}

/// A time in milliseconds since the Unix epoch, as Kubernetes writes it.
pub fn shown_time(time: u64) -> String {
    pawl_meta::time::seconds(i64::try_from(time / 1000).unwrap_or_default())
}

/// A uid as Kubernetes writes it.
pub fn shown_uid(uid: &[u8; 16]) -> String {
    let mut out = String::with_capacity(36);
    for (place, byte) in uid.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        out.push_str(&format!("{byte:02x}"));
    }
    out
}

struct Counting {
    judge: Judge,
    resources: BTreeMap<String, (u64, u64)>,
    largest: BinaryHeap<Reverse<(u64, String)>>,
}

impl Counting {
    fn count(&mut self, record: &Record) {
        let size = (record.key.len() + record.value.len()) as u64;
        let sums = self.resources.entry(self.judge.resource(&record.key)).or_default();
        *sums = (sums.0 + 1, sums.1 + size);
        let is_large = self.largest.peek().is_none_or(|Reverse((least, _))| size > *least);
        if self.largest.len() < LARGEST || is_large {
            self.largest.push(Reverse((size, String::from_utf8_lossy(&record.key).into_owned())));
        }
        if self.largest.len() > LARGEST {
            self.largest.pop();
        }
    }
}
