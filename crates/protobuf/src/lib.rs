//! Built-in kinds in `application/vnd.kubernetes.protobuf`: what Go clients really send.
//!
//! Owns the envelope (a magic prefix and `runtime.Unknown`), the frames of watch streams, and the transcoding between
//! messages and objects. Transcoding is driven by the schema: a [`Codec`] makes a table of field numbers from it once, and
//! there is no code per kind. It refuses to know which kinds exist, who asks, and how media types are negotiated.
//!
//! **Writing** is byte for byte what Go's generated code writes for the same object: fields in ascending order of their
//! numbers; scalars and structs that are not behind a pointer always, even when empty; pointers only when set; maps sorted
//! by key, each entry with its key and its value; integers of lists one by one (not packed); zero times as empty messages.
//!
//! **Reading** takes that, and what other implementations write: empty values left out, packed lists, fields in any order
//! or split in parts. The object is the one that the JSON decoder gives for the same content; what is always on the wire
//! in JSON is added, and what is left out there is left out. A message cannot tell an empty list or map from none: the object
//! has none. Fields that the table does not have are skipped and named in [`Decoded::unknown`]. Strings that are not UTF-8,
//! values of a wrong wire type, groups, and messages that are nested too deep or too large are refused.

mod codec;
mod decode;
mod encode;
mod envelope;
mod error;
mod place;
mod table;
mod time;
mod wire;

pub use codec::Codec;
pub use decode::Decoded;
pub use envelope::{CONTENT_TYPE, Envelope, MAGIC, SEAL_END, append_message, begin_seal, field_len, frame, open, seal};
pub use error::Error;

/// Messages nested deeper than this are refused: nothing real comes near it, and the stack stays small.
pub const MAX_DEPTH: usize = 100;
/// Messages larger than this are refused, whoever lets them through.
pub const MAX_BYTES: usize = 256 << 20;
