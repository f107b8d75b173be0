//! The watch for hazards: uses of the raw level whose result depends on the speed of the machine.
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
//! Two transfers are a hazard if they are in flight at once, have bytes in common, at least one of
//! them writes these bytes, and nothing orders the transfers.
//!
//! The architecture defines the order of the commands of one queue (CBEA section 7.9), and the
//! watch computes this order. When a command is issued, [`Hazards::issue`] gets its tag and its
//! [`Order`](cellworks_machine::mfc::Order), and returns an [`Issue`] for all transfers of the
//! command. The `Issue` holds the command's number in the order of issue, and the numbers of the
//! last barriers before the command. A command comes after an earlier command if one of these
//! barriers is the earlier command or was issued after it. A command with a fence or a barrier also
//! comes after all earlier commands with its tag. Transfers may begin when their command is issued
//! or, like the elements of a list, later.
//!
//! Nothing orders commands of different SPEs, or a command of an SPE's program and a command in the
//! proxy queue of that SPE. A program must see that one such command is complete before it lets the
//! other command begin.
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
