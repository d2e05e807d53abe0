//! What people ask an API server when something cannot be deleted, read or tightened, and the answers with the command that
//! resolves each.
//!
//! Owns asking as a client, and how answers look on a terminal and to scripts. It knows a server only by its API, so it works on
//! servers that are not Pawl too, and says what is missing there. It changes nothing that it was not told to.

mod change;
mod connect;
mod everything;
mod history;
mod invalid;
mod liens;
mod look;
mod purge;
mod release;
mod resources;
mod screen;
mod server;
mod table;
mod tour;
mod why;
mod yaml;

pub use connect::{Connect, connect};
pub use history::{HistoryAsked, history};
pub use invalid::invalid;
pub use liens::{Deletion, LienChange, change_lien, delete, liens};
pub use purge::{Purge, purge, quarantine_list, quarantine_restore, unreadable};
pub use release::{Release, release};
pub use resources::objects;
pub use screen::{Format, Screen};
pub use server::{Refused, Server};
pub use tour::Tour;
pub use why::why;

/// How a command ended, as its exit code says it; what failed ends with 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It did what it was asked, or there is nothing.
    Well,
    /// There is something: what was asked about is kept, unreadable or invalid.
    Found,
    /// Nobody confirmed it, so nothing was done.
    Declined,
}

impl Ended {
    pub fn code(self) -> u8 {
        match self {
            Self::Well => 0,
            Self::Found => 2,
            Self::Declined => 3,
        }
    }

    fn found(something: bool) -> Self {
        if something { Self::Found } else { Self::Well }
    }
}
