//! The PPE of a Cell: mailboxes and signals of SPEs, words of main memory, and proxy queues.

use crate::atomic::{AtomicError, AtomicOp};
use crate::id::SpeId;
use crate::mailbox::{MailboxFull, MailboxStatus, Outbound};
use crate::mfc::{CommandFault, EffectiveAddress, RawCommand, TagMask};
use crate::ppe::core::CellPpeCore;
use crate::ppe::{CellMachine, Ppe};
use crate::signal::{SignalMode, SignalRegister};
use crate::spe::mfc::TryIssueError;
use crate::time::Timebase;
use crate::wake::wait_for_some;

impl<M: CellMachine> Ppe<'_, '_, M> {
    /// Writes a word to the inbound mailbox of an SPE.
    ///
    /// # Errors
    ///
    /// Returns [`MailboxFull`] if the mailbox holds four words.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `to`.
    pub fn try_write_in_mbox(&self, to: SpeId, word: u32) -> Result<(), MailboxFull> {
        self.core().try_write_in_mbox(to, word)
    }

    /// Writes a word to the inbound mailbox of an SPE. Waits while the mailbox is full.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `to`.
    #[track_caller]
    pub fn write_in_mbox(&self, to: SpeId, word: u32) {
        self.core().write_in_mbox(to, word);
    }

    /// Removes and returns the word of an SPE's outbound mailbox, or returns `None` if it is empty.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `from`.
    pub fn try_read_out_mbox(&self, from: SpeId, mailbox: Outbound) -> Option<u32> {
        self.core().try_read_out_mbox(from, mailbox)
    }

    /// Removes and returns the word of an SPE's outbound mailbox. Waits while it is empty, or
    /// returns 0 if a cancelled run is unwinding.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `from`.
    #[track_caller]
    pub fn read_out_mbox(&self, from: SpeId, mailbox: Outbound) -> u32 {
        let why = format_args!("a word in the {} of {from}", mailbox.name());
        wait_for_some(self.core(), &why, || self.try_read_out_mbox(from, mailbox))
    }

    /// Looks at the mailboxes of an SPE without taking a word. A loop that polls must also call
    /// [`yield_now`](Self::yield_now).
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `spe`.
    ///
    /// Source: SPU Mailbox Status Register, CBEA s.8.6.3 (one load of the PPE).
    pub fn mailbox_status(&self, spe: SpeId) -> MailboxStatus {
        self.core().mailbox_status(spe)
    }

    /// Returns the tick rate of the time base and of the SPEs' decrementers.
    pub fn timebase(&self) -> Timebase {
        self.core().timebase()
    }

    /// Sends a signal without waiting. The register's [mode](Self::set_signal_mode) determines
    /// whether the signal replaces an unread signal or is combined with it.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `to`.
    pub fn send_signal(&self, to: SpeId, register: SignalRegister, bits: u32) {
        self.core().send_signal(to, register, bits);
    }

    /// Sets the effect of a signal on an unread signal. The default is [`SignalMode::Overwrite`].
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `spe`.
    pub fn set_signal_mode(&self, spe: SpeId, register: SignalRegister, mode: SignalMode) {
        self.core().set_signal_mode(spe, register, mode);
    }

    /// Applies `op` atomically to the 32-bit word at `ea`, and returns the old value.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`CellSpe::fetch_update`](crate::CellSpe::fetch_update).
    pub fn fetch_update(&self, ea: EffectiveAddress, op: AtomicOp) -> Result<u32, AtomicError> {
        self.core().fetch_update(ea, op)
    }

    /// Enqueues a command in the proxy queue of an SPE's MFC.
    ///
    /// The queue has 8 entries and its own tag groups, fences and barriers. It accepts the commands
    /// of [`Mfc::try_issue`](crate::Mfc::try_issue) except lists and atomic commands. A `put`
    /// copies from the local store to the effective address. The SPE's program must not use the
    /// local-store bytes of an incomplete command. The end of a run does not wait for the queue.
    ///
    /// ```
    /// # use cellworks_machine::{CellMachine, ModuleId, SpeId};
    /// use cellworks_machine::mfc::{LsAddr, RawCommand, Tag};
    ///
    /// # fn example<M: CellMachine>(machine: &M) -> Result<(), Box<dyn std::error::Error>> {
    /// const TAG: Tag = Tag::of::<3>();
    /// let region = machine.allocate(ModuleId::new(0), 4_096)?;
    /// machine.run(|ppe| {
    ///     let spe = SpeId::new(0);
    ///     ppe.issue_proxy(spe, RawCommand::get(LsAddr(0x1000), region.at(0), 4_096, TAG))?;
    ///     ppe.wait_all_proxy(spe, TAG.mask());
    ///     Ok::<_, cellworks_machine::mfc::CommandFault>(())
    /// })??;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`TryIssueError::Full`] if the queue has no free entry, or [`TryIssueError::Fault`]
    /// if the command is not legal. A refused command has no effect and takes no entry.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `spe`, or if an enqueued command has become illegal because
    /// its memory was freed. The four methods below panic in the same cases.
    ///
    /// Source: `spe_mfcio_put` and similar of libspe2; Handbook s.19.3.3.2 p.522 (entries).
    #[track_caller]
    pub fn try_issue_proxy(&self, spe: SpeId, command: RawCommand) -> Result<(), TryIssueError> {
        self.core().try_issue_proxy(spe, command)
    }

    /// Enqueues a command like [`try_issue_proxy`](Self::try_issue_proxy). Waits for a free entry.
    ///
    /// # Errors
    ///
    /// Returns [`CommandFault`] if the command is not legal.
    #[track_caller]
    pub fn issue_proxy(&self, spe: SpeId, command: RawCommand) -> Result<(), CommandFault> {
        self.core().issue_proxy(spe, command)
    }

    /// Returns the tag groups with incomplete commands in the proxy queue of an SPE's MFC.
    #[track_caller]
    pub fn incomplete_proxy_tags(&self, spe: SpeId) -> TagMask {
        self.core().incomplete_proxy_tags(spe)
    }

    /// Waits until all tag groups in `tags` are complete in the proxy queue of an SPE's MFC
    /// (`spe_mfcio_tag_status_read` of libspe2 with `SPE_TAG_ALL`).
    #[track_caller]
    pub fn wait_all_proxy(&self, spe: SpeId, tags: TagMask) {
        let why = format_args!("DMA of all tag groups in {tags} of the MFC proxy queue of {spe}");
        wait_for_some(self.core(), &why, || {
            (self.core().incomplete_proxy_tags(spe) & tags)
                .is_empty()
                .then_some(())
        });
    }

    /// Waits until one of the tag groups in `tags` is complete in the proxy queue of an SPE's MFC,
    /// and returns the complete groups (`spe_mfcio_tag_status_read` of libspe2 with `SPE_TAG_ANY`).
    #[track_caller]
    pub fn wait_any_proxy(&self, spe: SpeId, tags: TagMask) -> TagMask {
        let why = format_args!("DMA of any tag group in {tags} of the MFC proxy queue of {spe}");
        wait_for_some(self.core(), &why, || {
            let complete = tags & !self.core().incomplete_proxy_tags(spe);
            (!complete.is_empty() || tags.is_empty()).then_some(complete)
        })
    }
}
