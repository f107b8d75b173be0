//! Mailboxes: small queues of 32-bit words between an SPE and the other processors.
//!
//! | mailbox | words | written by | read by |
//! |---|---|---|---|
//! | inbound | 4 | the PPE, other SPEs | its SPE |
//! | outbound | 1 | its SPE | the PPE |
//! | outbound interrupt | 1 | its SPE | the PPE |
//!
//! On the hardware a PPE that writes to a full inbound mailbox loses a word. Here no word is lost:
//! a write waits, or returns [`MailboxFull`].

use crate::id::SpeId;

/// Words that an inbound mailbox holds (channel 29; CellStats section 2.2).
pub const INBOUND_WORDS: usize = 4;

/// Words that an outbound mailbox holds (channels 28 and 30).
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
    /// 0 for the plain mailbox, 1 for the interrupt mailbox.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The architecture's name of the mailbox.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "outbound mailbox",
            Self::Interrupt => "outbound interrupt mailbox",
        }
    }
}

/// The mailbox is full. The error hands the word back. The method of the same name without `try_`
/// waits until there is room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the {mailbox} of {spe} is full, so the word {word:#010x} was not written; read the mailbox, or use the write that waits"
)]
pub struct MailboxFull {
    /// The SPE that the mailbox belongs to.
    pub spe: SpeId,
    /// Which of its mailboxes.
    pub mailbox: &'static str,
    /// The word that was not written.
    pub word: u32,
}

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
