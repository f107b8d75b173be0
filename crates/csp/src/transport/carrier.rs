//! What carries news and items for the processes of one processor.

use std::fmt;

use cellworks_machine::{SpeId, Time};

use crate::link::Link;
use crate::parcel::Origin;
use crate::waiting::Waiting;
use crate::waker::Woken;

/// A process that asks its processor's carrier for something.
#[derive(Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub name: &'a str,
    pub number: u32,
    /// It alternates, and may find nothing to do.
    pub looks: bool,
}

/// What came of a step.
pub(crate) struct Stepped {
    pub woken: Woken,
    /// The process that asked for it has to wait for another one.
    pub waits: bool,
    /// It has changed the state of the channel. Only a look of an alternation may not have.
    pub changes: bool,
}

/// Performs a step of a channel at its line, which `update` changes and `look` reads. Returns whom
/// to wake.
pub(super) fn step_at_line(
    asker: Asker<'_>,
    step: &mut dyn FnMut() -> Stepped,
    look: impl FnOnce(),
    update: impl FnOnce(),
) -> Woken {
    if !asker.looks {
        update();
        return step().woken;
    }
    // Who reads a line leaves the reservations of those alone that are about to change it.
    look();
    let stepped = step();
    if stepped.changes {
        update();
    }
    stepped.woken
}

/// What carries news and items for the processes of one processor.
pub(crate) trait Carrier {
    /// A process starts.
    fn begin(&self, process: u32);

    /// A process has ended.
    fn end(&self, process: u32);

    /// Performs a step of the channel that `what` names, and wakes whom it gave a reason to go on.
    fn perform(&self, asker: Asker<'_>, what: &Waiting<'_>, step: &mut dyn FnMut() -> Stepped);

    /// Performs the step with which an alternation begins to wait.
    fn announce(&self, asker: Asker<'_>, step: &mut dyn FnMut() -> Woken);

    /// An alternation has found no guard ready, and does not wait.
    fn skip(&self, asker: Asker<'_>);

    /// Does what this processor has been asked for by others: see
    /// [`PpeCarrier`](super::ppe::PpeCarrier).
    fn serve(&self);

    /// Wakes others for something that was no step: ends that were dropped.
    fn wake(&self, woken: Woken);

    /// Asks the program of another SPE, through the PPE, to start a process.
    fn start(&self, at: SpeId);

    /// The program of this SPE, known by the number of a process, takes such a request.
    fn receive_start(&self, program: u32);

    /// Waits until `ready` says true and the news of it has arrived, or `deadline` has come: then
    /// false.
    fn wait(
        &self,
        asker: Asker<'_>,
        what: &Waiting<'_>,
        why: &dyn fmt::Display,
        deadline: Option<Time>,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool;

    /// Makes room for an item that is to be written.
    fn pack(&self, asker: Asker<'_>, link: &dyn Link, bytes: usize) -> Origin;

    /// Brings an item to this processor.
    fn bring(&self, asker: Asker<'_>, link: &dyn Link, origin: Origin, bytes: usize);

    /// An item was read.
    fn count_communication(&self);

    /// The processes of an SPE have ended, or all processes of the network if this is the carrier
    /// of the main one.
    fn finish(&self);
}

/// What carries news and items for the main process, and serves the SPEs.
pub(crate) trait MainCarrier: Carrier {
    /// Takes the words that are in outbound mailboxes; asked in conditions. Says whether there was
    /// one.
    fn collect(&self) -> bool;

    /// Does what the words that have come ask for.
    fn handle_all(&self);
}
