//! The operations that only the SPEs of a Cell have: MFC, local store, mailboxes, signals and
//! decrementer.

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

/// An SPE of a [Cell](crate::CellMachine), for programs that were written for a Cell, and for tools
/// that measure a Cell.
///
/// Each method that waits for a mailbox or a signal has a variant that does not wait, with a name
/// that begins with `try_`.
pub trait CellSpe: Spe {
    /// The Memory Flow Controller of the SPE: the raw level.
    type Mfc: Mfc;

    /// The number of times that the decrementer counts in a second.
    fn timebase(&self) -> Timebase;

    /// Reads the decrementer, which counts down by one each tick of the
    /// [`timebase`](Self::timebase) and wraps (channel 8).
    fn decrementer(&self) -> u32;

    /// Sets the decrementer (channel 7).
    fn set_decrementer(&self, value: u32);

    /// The raw level: the commands of the MFC, exactly as the architecture defines them.
    fn mfc(&self) -> &Self::Mfc;

    /// The local store, for the raw level.
    fn local_store(&self) -> &LocalStore;

    /// Applies `op` to the 32-bit word of main memory at `ea`, as one indivisible step, and returns
    /// the word's old value. On the Cell this is a loop of `getllar` and `putllc`.
    ///
    /// # Errors
    ///
    /// Returns [`AtomicError`] if `ea` is not a multiple of 4, or no region covers the word.
    fn fetch_update(&self, ea: EffectiveAddress, op: AtomicOp) -> Result<u32, AtomicError>;

    /// Reads the 32-bit word of main memory at `ea` as one indivisible step, without waiting. A
    /// loop that polls must also call [`yield_now`](Spe::yield_now). A processor that has read the
    /// word also sees all earlier writes of the word's writer.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`fetch_update`](Self::fetch_update).
    fn load_word(&self, ea: EffectiveAddress) -> Result<u32, AtomicError>;

    /// How many words the inbound mailbox holds, 0 to 4.
    fn in_mbox_count(&self) -> usize;

    /// Takes the oldest word of the inbound mailbox, or returns `None` if the mailbox is empty.
    fn try_read_in_mbox(&self) -> Option<u32>;

    /// Puts a word into one of this SPE's own outbound mailboxes, for the PPE.
    ///
    /// # Errors
    ///
    /// Returns [`MailboxFull`] if the PPE has not read the last word.
    fn try_write_out_mbox(&self, mailbox: Outbound, word: u32) -> Result<(), MailboxFull>;

    /// Puts a word into the inbound mailbox of another SPE, or of this SPE.
    ///
    /// To wait for room, use [`write_in_mbox_of`](Self::write_in_mbox_of) instead of a loop: the
    /// SPE that reads the mailbox notifies only writers that wait in that method.
    ///
    /// # Errors
    ///
    /// Returns [`MailboxFull`] if the mailbox holds four words.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `to`.
    fn try_write_in_mbox_of(&self, to: SpeId, word: u32) -> Result<(), MailboxFull>;

    /// Puts a word into the inbound mailbox of an SPE. Waits while the mailbox is full.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `to`.
    #[track_caller]
    fn write_in_mbox_of(&self, to: SpeId, word: u32);

    /// Takes the bits of a signal register, or returns `None` if no signal came since the last
    /// read.
    fn try_read_signal(&self, register: SignalRegister) -> Option<u32>;

    /// Sends a signal and never waits. If the register holds an unread signal, the register's
    /// [mode](crate::SignalMode) decides what happens.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `to`.
    fn send_signal(&self, to: SpeId, register: SignalRegister, bits: u32);

    /// Takes the oldest word of the inbound mailbox. Waits while the mailbox is empty. Returns 0 in
    /// a destructor that runs because the run was cancelled.
    #[track_caller]
    fn read_in_mbox(&self) -> u32 {
        wait_for_some(self, &"a word in its inbound mailbox", || {
            self.try_read_in_mbox()
        })
    }

    /// Puts a word into one of this SPE's outbound mailboxes. Waits while the mailbox is full.
    #[track_caller]
    fn write_out_mbox(&self, mailbox: Outbound, word: u32) {
        let why = format_args!("the PPE to empty its {}", mailbox.name());
        wait_for_some(self, &why, || self.try_write_out_mbox(mailbox, word).ok());
    }

    /// Takes the bits of a signal register. Waits until a signal has come. Returns 0 in a
    /// destructor that runs because the run was cancelled.
    #[track_caller]
    fn read_signal(&self, register: SignalRegister) -> u32 {
        wait_for_some(self, &format_args!("a signal in its {register}"), || {
            self.try_read_signal(register)
        })
    }
}
