//! A watch for what the raw level allows and a program cannot mean: what happens then depends on
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
//! Commands of one queue are ordered as the architecture has it (CBEA section 7.9), and the watch
//! follows that by itself: [`Hazards::issue`] is told the tag and the
//! [`Order`](cellworks_machine::mfc::Order) of each command when it is issued, and gives an
//! [`Issue`] for all of its transfers. It holds the command's number in the order of issue and
//! those of the last barriers before it: a command comes after another if one of these is the other
//! or comes behind it, or if it has a fence or a barrier itself and the same tag. The transfers may
//! begin when their command is issued, or later, as the elements of a list do. Commands of
//! different SPEs are never ordered, nor are those of an SPE's program and of the PPE in the proxy
//! queue of that SPE: a program has to see that one is complete before it lets the other begin.
//!
//! What is kept is as much as commands are in flight, and at most [`MAX_HAZARDS`] messages.

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
