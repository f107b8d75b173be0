//! Mailboxes and signals, and the words on their way to them.
//!
//! The sender of a word to an inbound mailbox first reserves an entry there, so no word is lost.

mod arriving;
mod flights;
mod messages;
mod registers;

pub(crate) use flights::Flights;
pub(crate) use registers::{Words, inbound_full, signal};
