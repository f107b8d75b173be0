//! Mailboxes and signals: their registers, and the words on their way to the registers.
//!
//! A word for an inbound mailbox reserves a place there before it leaves its sender, so no word is
//! lost.

mod flights;
mod messages;
mod registers;

pub(crate) use flights::Flights;
pub(crate) use registers::{Words, inbound_full, signal};
