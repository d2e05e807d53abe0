//! What etcd's refusals mean.
//!
//! Owns the one question that must never be answered wrongly: whether a write that failed can have been applied.

use pawl_kv::Error;
use tonic::{Code, ConnectError, Status};

/// What etcd takes for one request unless it is told otherwise.
pub const MOST_BYTES: usize = 3 << 19;

/// Whether nobody answered, or somebody who is no use at present: another member may be.
pub fn is_away(status: &Status) -> bool {
    matches!(status.code(), Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Internal)
        || std::error::Error::source(status).is_some()
}

pub fn is_compacted(status: &Status) -> bool {
    status.code() == Code::OutOfRange && status.message().contains("compacted")
}

pub fn is_future(status: &Status) -> bool {
    status.code() == Code::OutOfRange && status.message().contains("future")
}

pub fn is_lost_lease(status: &Status) -> bool {
    status.code() == Code::NotFound && status.message().contains("lease")
}

/// Why a read failed.
pub fn of_read(status: &Status) -> Error {
    match status.code() {
        Code::DataLoss => Error::Corrupt(worded(status)),
        _ => Error::Unavailable(worded(status)),
    }
}

/// Why a write of so many bytes failed: it was not applied, or nobody knows.
pub fn of_write(status: &Status, size: usize) -> Error {
    match status.code() {
        Code::InvalidArgument if status.message().contains("too large") => Error::TooLarge { size, limit: MOST_BYTES },
        _ if was_not_applied(status) => Error::ReadOnly(worded(status)),
        _ => Error::Unknown(worded(status)),
    }
}

/// Whether etcd, or the way there, says that the request never got as far as being proposed to the cluster.
fn was_not_applied(status: &Status) -> bool {
    let refused = matches!(
        status.code(),
        Code::InvalidArgument
            | Code::ResourceExhausted
            | Code::PermissionDenied
            | Code::Unauthenticated
            | Code::FailedPrecondition
            | Code::NotFound
            | Code::OutOfRange
            | Code::Unimplemented
    );
    // Asked before anything is done with the request, because every request asks for it.
    let no_leader = status.message() == "etcdserver: no leader";
    // An error that this side made has a cause, whatever its code looks like.
    let ours = std::error::Error::source(status).is_some();
    (refused || no_leader) && !ours || never_connected(status)
}

fn never_connected(status: &Status) -> bool {
    let mut cause = std::error::Error::source(status);
    while let Some(error) = cause {
        if error.is::<ConnectError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// A status with what caused it, in one line.
pub fn worded(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut next = std::error::Error::source(status);
    while let Some(cause) = next {
        let more = cause.to_string();
        if !text.ends_with(&more) {
            text = if text.is_empty() { more } else { format!("{text}: {more}") };
        }
        next = cause.source();
    }
    if text.is_empty() { format!("{:?}", status.code()) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_surely_not_applied_is_called_so() {
        let unknown = |status: Status| matches!(of_write(&status, 10), Error::Unknown(_));
        assert!(unknown(Status::unavailable("etcdserver: request timed out")));
        assert!(unknown(Status::unavailable("etcdserver: leader changed")));
        assert!(unknown(Status::unavailable("etcdserver: server stopped")));
        assert!(unknown(Status::deadline_exceeded("")));
        assert!(unknown(Status::cancelled("")));
        assert!(unknown(Status::internal("")));
        // A stream that was reset while the answer was under way, whatever code that is given.
        assert!(unknown(Status::from_error(Box::new(std::io::Error::other("broken pipe")))));
        let readonly = |status: Status| matches!(of_write(&status, 10), Error::ReadOnly(_));
        assert!(readonly(Status::unavailable("etcdserver: no leader")));
        assert!(readonly(Status::resource_exhausted("etcdserver: mvcc: database space exceeded")));
        assert!(readonly(Status::from_error(Box::new(ConnectError("refused".into())))));
        let large = of_write(&Status::invalid_argument("etcdserver: request is too large"), 10);
        assert_eq!(large, Error::TooLarge { size: 10, limit: 1_572_864 });
    }
}
