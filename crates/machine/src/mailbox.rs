//! Mailboxes: small queues of 32-bit words between an SPE and the other processors.
//!
//! | mailbox | words | written by | read by |
//! |---|---|---|---|
//! | inbound | 4 | the PPE, other SPEs | the SPE that has the mailbox |
//! | outbound | 1 | the SPE that has the mailbox | the PPE |
//! | outbound interrupt | 1 | the SPE that has the mailbox | the PPE |
//!
//! The hardware's PPE loses a word if it writes to a full inbound mailbox. Machines of this crate
//! wait instead, or return [`MailboxFull`].

use crate::id::SpeId;

/// The capacity of an inbound mailbox in words (channel 29; CellStats section 2.2).
pub const INBOUND_WORDS: usize = 4;

/// The capacity of an outbound mailbox in words (channels 28 and 30).
pub const OUTBOUND_WORDS: usize = 1;

/// One of an SPE's two outbound mailboxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outbound {
    /// The SPU Write Outbound Mailbox.
    Plain,
    /// The SPU Write Outbound Interrupt Mailbox.
    Interrupt,
}

impl Outbound {
    /// Returns 0 for the plain mailbox and 1 for the interrupt mailbox.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the architecture's name of the mailbox.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "outbound mailbox",
            Self::Interrupt => "outbound interrupt mailbox",
        }
    }
}

/// What the mailboxes of an SPE hold, as its mailbox status register shows it to other processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MailboxStatus {
    /// The number of words in the outbound mailbox, 0 or 1.
    pub outbound: usize,
    /// The number of words for which the inbound mailbox has room, 0 to 4.
    pub inbound_room: usize,
    /// The number of words in the outbound interrupt mailbox, 0 or 1.
    pub outbound_interrupt: usize,
}

/// The error of a write to a full mailbox. Methods without the prefix `try_` wait instead.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the {mailbox} of {spe} is full, so the word {word:#010x} was not written; read the mailbox, or use the write that waits"
)]
pub struct MailboxFull {
    /// The SPE that owns the mailbox.
    pub spe: SpeId,
    /// The name of the mailbox.
    pub mailbox: &'static str,
    /// The word that was not written.
    pub word: u32,
}

crate::debug_by_display!(MailboxFull);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_mailbox_names_itself_and_hands_the_word_back() {
        let full = MailboxFull {
            spe: SpeId::new(3),
            mailbox: "inbound mailbox",
            word: 0x2a,
        };
        assert_eq!(
            full.to_string(),
            "the inbound mailbox of SPE 3 is full, so the word 0x0000002a was not written; read \
             the mailbox, or use the write that waits"
        );
    }
}
