//! How long keys still have to live: which leases they are attached to, and how much is left of each.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use pawl_kv::{KeyValue, Result, Revision};
use tonic::Status;

use crate::messages::{self, LeaseTimeToLiveRequest, LeaseTimeToLiveResponse};
use crate::{PATIENCE, Shared, faults, signed};

/// What is left of the keys of a page that was read at a revision. Keys share leases: each is asked about once.
pub async fn left(shared: &Shared, page: &[KeyValue], at: Revision) -> Result<Vec<Option<Duration>>> {
    let (Some(first), Some(last)) = (page.first(), page.last()) else { return Ok(Vec::new()) };
    let end = Bytes::from([&last.key, &[0][..]].concat());
    let (key, range_end) = shared.names.range(&first.key, &end);
    let question =
        messages::RangeRequest { key, range_end, revision: signed(at), keys_only: true, ..Default::default() };
    let answer = match shared.range(question).await {
        Ok(answer) => answer,
        Err(status) => return Err(shared.past_error(at, &status).await),
    };
    let leased = answer.kvs.into_iter().filter(|kv| kv.lease != 0);
    let leases: HashMap<Bytes, i64> = leased.map(|kv| (shared.names.here(&kv.key), kv.lease)).collect();
    let mut known: HashMap<i64, Option<Duration>> = HashMap::new();
    let mut left = Vec::with_capacity(page.len());
    for held in page {
        let Some(lease) = leases.get(&held.key).copied() else {
            left.push(None);
            continue;
        };
        if let Some(found) = known.get(&lease) {
            left.push(*found);
            continue;
        }
        let found = ask(shared, lease).await.map_err(|status| faults::of_read(&status))?;
        known.insert(lease, found);
        left.push(found);
    }
    Ok(left)
}

async fn ask(shared: &Shared, lease: i64) -> std::result::Result<Option<Duration>, Status> {
    let question = LeaseTimeToLiveRequest { id: lease };
    let answer: LeaseTimeToLiveResponse = shared.members.read(messages::LEASE_TIME_TO_LIVE, question, PATIENCE).await?;
    // One that has ended takes its keys along at any moment: but they were there.
    Ok(Some(Duration::from_secs(u64::try_from(answer.ttl).unwrap_or_default().max(1))))
}
