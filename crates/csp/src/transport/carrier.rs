//! Carriers: a carrier moves messages and items for the processes of one processor.

use std::fmt;

use cellworks_machine::{SpeId, Time};

use crate::link::Link;
use crate::parcel::Origin;
use crate::waiting::Waiting;
use crate::waker::Woken;

/// The process that calls a carrier.
#[derive(Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub name: &'a str,
    pub number: u32,
    /// Whether the process does not wait in this step, so that the step may find nothing to do: a
    /// check of a guard, or a call with `try_`.
    pub attempts: bool,
}

/// The result of a step.
pub(crate) struct Stepped {
    pub woken: Woken,
    /// Whether the process has to wait for another one.
    pub waits: bool,
    /// Whether the step has changed the state of the channel. Only steps of a process that does not
    /// wait may not have.
    pub changes: bool,
}

/// Performs a step at the channel's line. `update` changes the line and `read` reads it. Returns
/// the processes to wake.
pub(super) fn step_at_line(
    asker: Asker<'_>,
    step: &mut dyn FnMut() -> Stepped,
    read: impl FnOnce(),
    update: impl FnOnce(),
) -> Woken {
    if !asker.attempts {
        update();
        return step().woken;
    }
    // A read of the line does not end the reservations of processors that are about to change it.
    read();
    let stepped = step();
    if stepped.changes {
        update();
    }
    stepped.woken
}

/// Carriers: a carrier moves messages and items for the processes of one processor.
pub(crate) trait Carrier {
    /// Called when a process starts.
    fn begin(&self, process: u32);

    /// Called when a process has ended.
    fn end(&self, process: u32);

    /// Performs a step of the channel that `what` names, and wakes the processes that can go on
    /// after it.
    fn perform(&self, asker: Asker<'_>, what: &Waiting<'_>, step: &mut dyn FnMut() -> Stepped);

    /// Performs the step with which an alternation begins to wait.
    fn announce(&self, asker: Asker<'_>, step: &mut dyn FnMut() -> Woken);

    /// Called when an alternation has found no guard ready and does not wait.
    fn skip(&self, asker: Asker<'_>);

    /// Serves the requests of other processors: see [`PpeCarrier`](super::ppe::PpeCarrier).
    fn serve(&self);

    /// Wakes processes without a step: after ends were dropped.
    fn wake(&self, woken: Woken);

    /// Asks the program of another SPE, through the PPE, to start a process.
    fn start(&self, at: SpeId);

    /// Called when the program of this SPE takes such a request. `program` is its process number.
    fn receive_start(&self, program: u32);

    /// Waits until `ready` returns true and the message about it has arrived. Returns false if
    /// `deadline` has passed.
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

    /// Moves an item to this processor.
    fn bring(&self, asker: Asker<'_>, link: &dyn Link, origin: Origin, bytes: usize);

    /// Counts an item that was read.
    fn count_communication(&self);

    /// Called when the processes of the SPE have ended. For the carrier of the main process: when
    /// all processes of the network have ended.
    fn finish(&self);
}

/// The carrier of the main process, which also serves the SPEs.
pub(crate) trait MainCarrier: Carrier {
    /// Takes the words out of the outbound mailboxes. Returns whether there was one. It is called
    /// in conditions of waits.
    fn collect(&self) -> bool;

    /// Serves the requests whose words have come.
    fn handle_all(&self);
}
