//! The detection of hazards: races of transfers, in which the result depends on times.
//!
//! ```text
//!   local store of SPE 0                      main memory
//!   ┌──────────────┐  get, tag 3, in flight   ┌──────────────┐
//!   │      ▓▓▓▓▓▓▓▓│◄─────────────────────────│▓▓▓▓▓▓▓▓      │
//!   │  ░░░░▓▓      │──────────────────────────►      ░░░░░░  │
//!   └──────────────┘  put, issued now          └──────────────┘
//!          └┴─ hazard: the put may send old or new bytes
//! ```
//!
//! A transfer has two ranges of effective addresses, because local stores have effective addresses
//! too. Two transfers in flight are a hazard if a range of one overlaps a range of the other, one
//! of them writes there, and nothing orders them.
//!
//! The architecture orders some commands of a queue (CBEA section 7.9). The command `barrier` comes
//! after all earlier commands and before all later ones. A command with a fence or a barrier comes
//! after all earlier commands with its tag. With a barrier, it also comes before all later ones.
//! [`Hazards::issue`] records this order in an [`Issue`].
//!
//! Commands of different queues or SPEs are not ordered, so a program must wait between them.

mod blocks;
mod found;
mod issue;
#[cfg(test)]
mod tests;
mod text;
mod transfer;
mod watch;

pub use found::Hazard;
pub use watch::{HazardWatch, MAX_HAZARDS};

pub(crate) use issue::Issue;
pub(crate) use transfer::Transfer;
pub(crate) use watch::Hazards;
