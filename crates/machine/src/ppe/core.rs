//! The traits that a machine implements for its PPE.

use std::sync::Arc;

use crate::atomic::{AtomicError, AtomicOp};
use crate::id::SpeId;
use crate::mailbox::{MailboxFull, MailboxStatus, Outbound};
use crate::mfc::{CommandFault, EffectiveAddress, RawCommand, TagMask};
use crate::program::Program;
use crate::signal::{SignalMode, SignalRegister};
use crate::spe::Spe;
use crate::spe::cell::CellSpe;
use crate::spe::mfc::{TryIssueError, issue_when_there_is_room};
use crate::time::{Cycles, Timebase};
use crate::topology::Topology;
use crate::wake::{Outside, Wake};

/// The operations of a machine's PPE. Programs use [`Ppe`](crate::Ppe) instead.
pub trait PpeCore: Wake {
    /// The type of the machine's SPEs.
    type Spe: Spe;

    /// Returns the parts of the machine.
    fn topology(&self) -> &Topology;
    /// See [`Ppe::compute`](crate::Ppe::compute).
    fn compute(&self, cycles: Cycles);
    /// See [`SpeCore::catch_up`](crate::SpeCore::catch_up).
    fn catch_up(&self) {}
    /// See [`Ppe::begin_window`](crate::Ppe::begin_window).
    fn window_begins(&self) {}
    /// See [`Ppe::end_window`](crate::Ppe::end_window).
    fn window_ends(&self) {}
    /// See [`Spe::is_confined_to_local_store`].
    fn are_spes_confined_to_local_store(&self) -> bool;
    /// Starts a program on an SPE, after the programs that were started earlier on the same SPE.
    fn start(&self, at: SpeId, program: Program<Self::Spe>);

    /// See [`Ppe::yield_now`](crate::Ppe::yield_now). By default, reads the time, for machines on
    /// which this lets others run.
    fn yield_now(&self) {
        self.now();
    }

    /// Returns a handle to the run for OS threads that run no program. These threads have no
    /// simulated time and no DMA, so the method returns `None` if time is simulated or SPEs need
    /// DMA.
    fn outside(&self) -> Option<Arc<dyn Outside>> {
        None
    }
}

/// The additional operations of the PPE of a [Cell](crate::CellMachine).
pub trait CellPpeCore: PpeCore<Spe: CellSpe> {
    /// See [`CellSpe::try_write_in_mbox_of`].
    #[expect(clippy::missing_errors_doc, reason = "documented where it is used")]
    fn try_write_in_mbox(&self, to: SpeId, word: u32) -> Result<(), MailboxFull>;
    /// See [`CellSpe::write_in_mbox_of`].
    #[track_caller]
    fn write_in_mbox(&self, to: SpeId, word: u32);
    /// Removes and returns the word of an outbound mailbox, if any.
    fn try_read_out_mbox(&self, from: SpeId, mailbox: Outbound) -> Option<u32>;
    /// See [`Ppe::mailbox_status`](crate::Ppe::mailbox_status).
    fn mailbox_status(&self, spe: SpeId) -> MailboxStatus;
    /// See [`Ppe::timebase`](crate::Ppe::timebase).
    fn timebase(&self) -> Timebase;
    /// See [`CellSpe::send_signal`].
    fn send_signal(&self, to: SpeId, register: SignalRegister, bits: u32);
    /// Sets the effect of a new signal on an unread signal.
    fn set_signal_mode(&self, spe: SpeId, register: SignalRegister, mode: SignalMode);
    /// See [`CellSpe::fetch_update`].
    #[expect(clippy::missing_errors_doc, reason = "documented where it is used")]
    fn fetch_update(&self, ea: EffectiveAddress, op: AtomicOp) -> Result<u32, AtomicError>;
    /// See [`Ppe::try_issue_proxy`](crate::Ppe::try_issue_proxy).
    #[expect(clippy::missing_errors_doc, reason = "documented where it is used")]
    #[track_caller]
    fn try_issue_proxy(&self, spe: SpeId, command: RawCommand) -> Result<(), TryIssueError>;
    /// See [`Ppe::incomplete_proxy_tags`](crate::Ppe::incomplete_proxy_tags).
    #[track_caller]
    fn incomplete_proxy_tags(&self, spe: SpeId) -> TagMask;

    /// See [`Ppe::issue_proxy`](crate::Ppe::issue_proxy).
    #[expect(clippy::missing_errors_doc, reason = "documented where it is used")]
    #[track_caller]
    fn issue_proxy(&self, spe: SpeId, command: RawCommand) -> Result<(), CommandFault> {
        let why = format_args!("a free entry in the MFC proxy queue of {spe}");
        issue_when_there_is_room(self, &why, || self.try_issue_proxy(spe, command))
    }
}
