//! Watches for hazards: uses of the raw level with a result that depends on the machine's speed.
//!
//! ```text
//!   local store of SPE 0                      main memory
//!   ┌──────────────┐  get, tag 3, in flight   ┌──────────────┐
//!   │      ▓▓▓▓▓▓▓▓│◄─────────────────────────│▓▓▓▓▓▓▓▓      │
//!   │  ░░░░▓▓      │──────────────────────────►      ░░░░░░  │
//!   └──────────────┘  put, issued now          └──────────────┘
//!          └┴─ which bytes are put: hazard
//! ```
//!
//! A transfer touches bytes in two places: in the local store of its SPE and at its effective
//! address. Local stores have effective addresses too, so the watch compares effective addresses.
//! Two transfers are a hazard if they are in flight at once, have bytes in common in any of their
//! places, at least one of them writes the common bytes, and nothing orders them.
//!
//! The architecture defines the order of the commands of one queue (CBEA section 7.9). The watch
//! follows that order by itself. When a command is issued, [`Hazards::issue`] gets its tag and its
//! [`Order`](cellworks_machine::mfc::Order), and returns an [`Issue`] for all transfers of the
//! command. The `Issue` holds the command's number in the order of issue, and the numbers of the
//! last barriers before the command. A command comes after an earlier command if one of these
//! barriers is the earlier command or was issued after it. A command with a fence or a barrier also
//! comes after all earlier commands with its tag. The transfers of a command may begin when the
//! command is issued, or later, as the elements of a list do.
//!
//! Commands of different SPEs are never ordered. The commands of an SPE's program and the commands
//! of the PPE in the proxy queue of that SPE are not ordered either: a program has to see that one
//! command is complete before it lets the other begin.
//!
//! The watch keeps the commands in flight, and at most [`MAX_HAZARDS`] messages.

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
