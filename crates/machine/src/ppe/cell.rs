//! The PPE of a Cell: mailboxes and signals of SPEs, words of main memory, and proxy queues.

use crate::atomic::{AtomicError, AtomicOp};
use crate::id::SpeId;
use crate::mailbox::{MailboxFull, Outbound};
use crate::mfc::{EffectiveAddress, MfcFault, RawCommand, TagMask};
use crate::ppe::core::CellPpeCore;
use crate::ppe::{CellMachine, Ppe};
use crate::signal::{SignalMode, SignalRegister};
use crate::spe::mfc::TryIssueError;
use crate::wake::wait_for_some;

impl<M: CellMachine> Ppe<'_, '_, M> {
    /// Puts a word into the inbound mailbox of an SPE.
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

    /// Puts a word into the inbound mailbox of an SPE. Waits while the mailbox is full.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `to`.
    #[track_caller]
    pub fn write_in_mbox(&self, to: SpeId, word: u32) {
        self.core().write_in_mbox(to, word);
    }

    /// Takes the word of an SPE's outbound mailbox, or returns `None` if the mailbox is empty.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `from`.
    pub fn try_read_out_mbox(&self, from: SpeId, mailbox: Outbound) -> Option<u32> {
        self.core().try_read_out_mbox(from, mailbox)
    }

    /// Takes the word of an SPE's outbound mailbox. Waits while the mailbox is empty. Returns 0 in
    /// a destructor that runs because the run was cancelled.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `from`.
    #[track_caller]
    pub fn read_out_mbox(&self, from: SpeId, mailbox: Outbound) -> u32 {
        let why = format_args!("a word in the {} of {from}", mailbox.name());
        wait_for_some(self.core(), &why, || self.try_read_out_mbox(from, mailbox))
    }

    /// Sends a signal and never waits. If the register holds an unread signal, the register's
    /// [mode](Self::set_signal_mode) decides what happens.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `to`.
    pub fn send_signal(&self, to: SpeId, register: SignalRegister, bits: u32) {
        self.core().send_signal(to, register, bits);
    }

    /// Chooses the effect of a signal that arrives while an earlier signal is unread. The default
    /// is [`SignalMode::Overwrite`].
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `spe`.
    pub fn set_signal_mode(&self, spe: SpeId, register: SignalRegister, mode: SignalMode) {
        self.core().set_signal_mode(spe, register, mode);
    }

    /// Applies `op` to the 32-bit word of main memory at `ea`, as one indivisible step, and returns
    /// the word's old value.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`CellSpe::fetch_update`](crate::CellSpe::fetch_update).
    pub fn fetch_update(&self, ea: EffectiveAddress, op: AtomicOp) -> Result<u32, AtomicError> {
        self.core().fetch_update(ea, op)
    }

    /// Enqueues a command in the proxy queue of an SPE's MFC: the raw level of the PPE.
    ///
    /// The queue has 8 entries, its own tag groups and its own order: no fence or barrier orders
    /// its commands with the commands of the SPE's program. A `put` goes from the local store to
    /// the effective address. The caller has to know which bytes of the local store are not in use.
    ///
    /// The queue takes the commands that [`Mfc::try_issue`](crate::Mfc::try_issue) takes, except
    /// lists and atomic commands, and needs no program on the SPE. A run ends without waiting for
    /// commands of this queue.
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
    ///     Ok::<_, cellworks_machine::mfc::MfcFault>(())
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
    /// Panics if the machine has no SPE `spe`, or if a command that waited in this queue is illegal
    /// now, because its memory was freed. The four methods below panic in the same cases.
    ///
    /// Source: `spe_mfcio_put` and its relatives in libspe2; Handbook s.19.3.3.2 p.522 (the
    /// entries).
    #[track_caller]
    pub fn try_issue_proxy(&self, spe: SpeId, command: RawCommand) -> Result<(), TryIssueError> {
        self.core().try_issue_proxy(spe, command)
    }

    /// Enqueues a command in the proxy queue of an SPE's MFC as
    /// [`try_issue_proxy`](Self::try_issue_proxy) does, but waits while the queue is full.
    ///
    /// # Errors
    ///
    /// Returns [`MfcFault`] if the command is not legal.
    #[track_caller]
    pub fn issue_proxy(&self, spe: SpeId, command: RawCommand) -> Result<(), MfcFault> {
        self.core().issue_proxy(spe, command)
    }

    /// The tag groups that have commands under way in the proxy queue of an SPE's MFC.
    #[track_caller]
    pub fn incomplete_proxy_tags(&self, spe: SpeId) -> TagMask {
        self.core().incomplete_proxy_tags(spe)
    }

    /// Waits until every command of the tag groups in `tags` is complete in the proxy queue of an
    /// SPE's MFC (`spe_mfcio_tag_status_read` of libspe2 with `SPE_TAG_ALL`).
    #[track_caller]
    pub fn wait_all_proxy(&self, spe: SpeId, tags: TagMask) {
        let why = format_args!("DMA of all tag groups in {tags} of the MFC proxy queue of {spe}");
        wait_for_some(self.core(), &why, || {
            (self.core().incomplete_proxy_tags(spe) & tags)
                .is_empty()
                .then_some(())
        });
    }

    /// Waits until at least one of the tag groups in `tags` is complete in the proxy queue of an
    /// SPE's MFC, and returns the complete groups. A group without commands is complete
    /// (`spe_mfcio_tag_status_read` of libspe2 with `SPE_TAG_ANY`).
    #[track_caller]
    pub fn wait_any_proxy(&self, spe: SpeId, tags: TagMask) -> TagMask {
        let why = format_args!("DMA of any tag group in {tags} of the MFC proxy queue of {spe}");
        wait_for_some(self.core(), &why, || {
            let complete = tags & !self.core().incomplete_proxy_tags(spe);
            (!complete.is_empty() || tags.is_empty()).then_some(complete)
        })
    }
}
