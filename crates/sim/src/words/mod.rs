//! Mailboxes and signals: their registers, and the words on their way to the registers.
//!
//! A place in an inbound mailbox is reserved when a word for the mailbox leaves, so no word is
//! lost.

mod flights;
mod messages;
mod registers;

pub(crate) use flights::Flights;
pub(crate) use registers::{Words, inbound_full, signal};
