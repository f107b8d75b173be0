//! The operations that only SPEs of a Cell have: MFC, local store, mailboxes, signals, decrementer.

use crate::atomic::{AtomicError, AtomicOp};
use crate::id::SpeId;
use crate::local_store::LocalStore;
use crate::mailbox::{MailboxFull, Outbound};
use crate::mfc::EffectiveAddress;
use crate::signal::SignalRegister;
use crate::spe::Spe;
use crate::spe::mfc::Mfc;
use crate::time::Timebase;
use crate::wake::wait_for_some;

/// An SPE of a [Cell](crate::CellMachine), for ported programs and measuring tools. Each method
/// that waits has a variant with the prefix `try_`, which does not wait.
pub trait CellSpe: Spe {
    /// The type of the SPE's Memory Flow Controller.
    type Mfc: Mfc;

    /// Returns the tick rate of the decrementer.
    fn timebase(&self) -> Timebase;

    /// Reads the decrementer, which counts down at the [`timebase`](Self::timebase) (channel 8).
    fn decrementer(&self) -> u32;

    /// Sets the decrementer (channel 7).
    fn set_decrementer(&self, value: u32);

    /// Returns the SPE's Memory Flow Controller, which executes the commands of the architecture.
    fn mfc(&self) -> &Self::Mfc;

    /// Returns the local store.
    fn local_store(&self) -> &LocalStore;

    /// Applies `op` atomically to the 32-bit word of main memory at `ea`, and returns the old value
    /// (on the Cell by `getllar` and `putllc`).
    ///
    /// # Errors
    ///
    /// Returns [`AtomicError`] if `ea` is not a multiple of 4, or no region covers the word.
    fn fetch_update(&self, ea: EffectiveAddress, op: AtomicOp) -> Result<u32, AtomicError>;

    /// Atomically reads the 32-bit word of main memory at `ea`, with acquire ordering. A loop that
    /// polls must also call [`yield_now`](Spe::yield_now).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`fetch_update`](Self::fetch_update).
    fn load_word(&self, ea: EffectiveAddress) -> Result<u32, AtomicError>;

    /// Returns the number of words in the inbound mailbox, 0 to 4.
    fn in_mbox_count(&self) -> usize;

    /// Removes and returns the oldest word of the inbound mailbox, if any.
    fn try_read_in_mbox(&self) -> Option<u32>;

    /// Writes a word to one of this SPE's outbound mailboxes, for the PPE.
    ///
    /// # Errors
    ///
    /// Returns [`MailboxFull`] if the PPE has not read the last word.
    fn try_write_out_mbox(&self, mailbox: Outbound, word: u32) -> Result<(), MailboxFull>;

    /// Returns the number of words for which an outbound mailbox has room, 0 or 1 (the counts of
    /// the channels 28 and 30).
    fn out_mbox_room(&self, mailbox: Outbound) -> usize;

    /// Returns whether a signal register has unread bits (the counts of the channels 3 and 4).
    fn has_signal(&self, register: SignalRegister) -> bool;

    /// Writes a word to the inbound mailbox of an SPE. To wait for room, use
    /// [`write_in_mbox_of`](Self::write_in_mbox_of). When the mailbox has room again, the machine
    /// wakes only threads that wait in that method.
    ///
    /// # Errors
    ///
    /// Returns [`MailboxFull`] if the mailbox holds four words.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `to`.
    fn try_write_in_mbox_of(&self, to: SpeId, word: u32) -> Result<(), MailboxFull>;

    /// Writes a word to the inbound mailbox of an SPE. Waits while the mailbox is full.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `to`.
    #[track_caller]
    fn write_in_mbox_of(&self, to: SpeId, word: u32);

    /// Returns and clears the unread bits of a signal register, if any.
    fn try_read_signal(&self, register: SignalRegister) -> Option<u32>;

    /// Sends a signal without waiting. The register's [mode](crate::SignalMode) determines whether
    /// the signal replaces an unread signal or is combined with it.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `to`.
    fn send_signal(&self, to: SpeId, register: SignalRegister, bits: u32);

    /// Removes and returns the oldest word of the inbound mailbox. Waits while it is empty, or
    /// returns 0 if a cancelled run is unwinding.
    #[track_caller]
    fn read_in_mbox(&self) -> u32 {
        wait_for_some(self, &"a word in its inbound mailbox", || {
            self.try_read_in_mbox()
        })
    }

    /// Writes a word to one of this SPE's outbound mailboxes. Waits while the mailbox is full.
    #[track_caller]
    fn write_out_mbox(&self, mailbox: Outbound, word: u32) {
        let why = format_args!("the PPE to empty its {}", mailbox.name());
        wait_for_some(self, &why, || self.try_write_out_mbox(mailbox, word).ok());
    }

    /// Returns and clears the unread bits of a signal register. Waits for a signal, or returns 0 if
    /// a cancelled run is unwinding.
    #[track_caller]
    fn read_signal(&self, register: SignalRegister) -> u32 {
        wait_for_some(self, &format_args!("a signal in its {register}"), || {
            self.try_read_signal(register)
        })
    }
}
