//! Forgetting history, by one of the servers that share a cluster, and finding out how much was forgotten.
//!
//! Owns the key by which servers agree on who does it. It is kube-apiserver's, so that both may run on one cluster: who
//! raises its version may compact what was the newest revision when it was raised the time before.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use pawl_kv::{Error, Result, Revision};
use tonic::{Status, Streaming};

use crate::keys::EDGE;
use crate::messages::{
    self, CompactionRequest, CompactionResponse, Compare, Operation, PutRequest, Relation, RequestOp, Target, Than,
    TxnRequest, WatchCreateRequest, WatchOperation, WatchRequest, WatchResponse,
};
use crate::{PATIENCE, Shared, faults, revision, signed};

const KEY: Bytes = Bytes::from_static(b"compact_rev_key");

/// What a server knows of the common key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Turn {
    version: i64,
    /// The newest revision when the key was written last.
    revision: Revision,
}

/// Forgets what is older than one interval, and at most two.
pub async fn run(shared: Arc<Shared>, every: Duration) {
    let mut turn = Turn::default();
    loop {
        tokio::time::sleep(every).await;
        match take_turn(&shared, turn).await {
            Ok(next) => turn = next,
            Err(why) => tracing::warn!(%why, "history was not compacted"),
        }
    }
}

/// Takes a turn, unless another server took it meanwhile. Who took it forgets what was there before the last one.
async fn take_turn(shared: &Shared, turn: Turn) -> Result<Turn> {
    let now = shared.revision().await?;
    let compare = Compare {
        result: Relation::Equal.into(),
        target: Target::Version.into(),
        key: KEY,
        than: Some(Than::Version(turn.version)),
        range_end: Bytes::new(),
    };
    let put = Operation::Put(PutRequest { key: KEY, value: now.to_string().into(), lease: 0 });
    let look = Operation::Range(messages::RangeRequest { key: KEY, ..Default::default() });
    let step = |operation| vec![RequestOp { operation: Some(operation) }];
    let request = TxnRequest { compare: vec![compare], success: step(put), failure: step(look) };
    let answer = shared.transact(request).await.map_err(|status| faults::of_read(&status))?;
    if !answer.succeeded {
        let found = answer.responses.into_iter().next().and_then(|response| response.range);
        let kv = found.and_then(|range| range.kvs.into_iter().next());
        let held = kv.as_ref().and_then(|kv| std::str::from_utf8(&kv.value).ok()?.parse().ok());
        let version = kv.map_or(0, |kv| kv.version);
        return Ok(Turn { version, revision: held.unwrap_or(turn.revision) });
    }
    if turn.revision > 0 {
        let question = CompactionRequest { revision: signed(turn.revision) };
        let done: std::result::Result<CompactionResponse, Status> =
            shared.members.read(messages::COMPACT, question, PATIENCE).await;
        if let Err(status) = done.as_ref()
            && !faults::is_compacted(status)
        {
            return Err(faults::of_read(status));
        }
        tracing::debug!(revision = turn.revision, "history was compacted");
    }
    Ok(Turn { version: turn.version + 1, revision: now })
}

/// The revision below which history was forgotten. Only a watch that begins below it is told.
pub async fn compacted(shared: &Shared) -> Result<Revision> {
    let failed = |status: Status| faults::of_read(&status);
    let create = WatchCreateRequest { key: EDGE, start_revision: 1, ..Default::default() };
    let question = WatchRequest { operation: Some(WatchOperation::Create(create)) };
    // The conversation ends with its questions: there are no more, but it goes on.
    let questions = futures::StreamExt::chain(stream::iter([question]), stream::pending());
    let seat = shared.members.seat();
    let mut answers: Streaming<WatchResponse> =
        shared.members.converse(seat, messages::WATCH, questions, PATIENCE).await.map_err(failed)?;
    let told = async {
        while let Some(answer) = answers.message().await.map_err(failed)? {
            if answer.compact_revision > 0 {
                return Ok(revision(answer.compact_revision));
            }
        }
        Err(Error::Unavailable("etcd ended the watch".to_owned()))
    };
    let late = || Err(Error::Unavailable("etcd does not say what it has forgotten".to_owned()));
    tokio::time::timeout(PATIENCE, told).await.unwrap_or_else(|_| late())
}
