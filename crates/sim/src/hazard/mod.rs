//! Watches for what the raw level allows but a program cannot mean, because the result depends on
//! how fast things are.
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
//! address. Local stores have effective addresses too, so both are compared by those. Two transfers
//! in flight at once are a hazard if they have bytes in common in any of the places, at least one
//! of them writes there, and nothing orders them.
//!
//! Commands of one queue are ordered as the architecture defines it (CBEA section 7.9). The watch
//! follows that order by itself: [`Hazards::issue`] gets the tag and the
//! [`Order`](cellworks_machine::mfc::Order) of each command when it is issued, and returns an
//! [`Issue`] for all transfers of the command. The `Issue` holds the command's number in the order
//! of issue and the numbers of the last barriers before it. A command comes after another command
//! if one of these barriers is that command or was issued after it. It also comes after all earlier
//! commands with its tag if it has a fence or a barrier. The transfers may begin when their command
//! is issued, or later, as the elements of a list do. Commands of different SPEs are never ordered.
//! Nor are those of an SPE's program and those of the PPE in the proxy queue of that SPE: a program
//! has to see that one is complete before it lets the other begin.
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
