//! What rules cannot say about volumes, claims, classes, attachments and the CSI kinds. One file per kind below;
//! `storage.rules` finds everything here by name.

mod attachment;
mod claim;
mod class;
mod data_source;
mod driver;
mod iscsi;
mod limits;
mod volume;

pub use attachment::*;
pub use claim::*;
pub use class::*;
pub use data_source::*;
pub use driver::*;
pub use iscsi::*;
pub use limits::*;
pub use volume::*;
