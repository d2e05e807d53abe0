//! What can be wrong with a message, in upstream's words where it has any.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("empty data")]
    EmptyData,
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NoPrefix,
    #[error("empty body")]
    EmptyBody,
    #[error("unexpected EOF")]
    Truncated,
    #[error("proto: integer overflow")]
    Overflow,
    #[error("proto: illegal tag {number} (wire type {wire})")]
    IllegalTag { number: u64, wire: u64 },
    #[error("proto: illegal wireType {0}")]
    IllegalWireType(u64),
    /// Groups are read by no client of this interface, and written by none.
    #[error("proto: groups are not accepted (field {0})")]
    Group(u32),
    #[error("proto: wrong wireType = {wire} for field {field}")]
    WrongWireType { field: String, wire: u8 },
    #[error("proto: messages are nested more than {} levels deep", crate::MAX_DEPTH)]
    TooDeep,
    #[error("proto: the message is too large")]
    TooLarge,
    /// A value that its type does not have.
    #[error("{field}: {reason}")]
    Value { field: String, reason: String },
    /// A type that upstream does not have in protobuf either.
    #[error(
        "object *{0} does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message"
    )]
    NotMarshalable(String),
}
