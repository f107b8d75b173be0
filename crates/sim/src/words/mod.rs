//! Mailboxes and signals: their registers, and words on their way to the registers.
//!
//! A word to an inbound mailbox has a reserved place when it leaves its sender, so no word is lost.

mod flights;
mod messages;
mod registers;

pub(crate) use flights::Flights;
pub(crate) use registers::{Words, inbound_full, signal};
