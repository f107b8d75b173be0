//! Carriers: a carrier moves the messages and items of the processes of one processor.

use std::fmt;

use cellworks_machine::{SpeId, Time};

use super::origin::Origin;
use crate::channel::link::{Link, Waiting};
use crate::channel::waker::Woken;

#[derive(Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub name: &'a str,
    pub number: u32,
    /// Whether the step is a check of a guard, which may leave the channel unchanged.
    pub attempts: bool,
}

pub(crate) struct Stepped {
    pub woken: Woken,
    /// Whether the process has to wait for another process.
    pub waits: bool,
    /// Whether the step has changed the channel. Always true, unless the asker
    /// [`attempts`](Asker::attempts).
    pub changes: bool,
}

/// Performs a step of a channel that has a cache line in main memory. `read` reads this line, and
/// `update` changes it. Returns the processes to wake.
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
    // Unlike an update, a read does not end the reservations of other SPEs.
    read();
    let stepped = step();
    if stepped.changes {
        update();
    }
    stepped.woken
}

pub(crate) trait Carrier {
    fn begin(&self, process: u32);

    fn end(&self, process: u32);

    /// Performs a step at the channel that `what` names, and wakes processes.
    fn perform(&self, asker: Asker<'_>, what: &Waiting<'_>, step: &mut dyn FnMut() -> Stepped);

    /// Performs the step by which an alternation begins to wait.
    fn announce(&self, asker: Asker<'_>, step: &mut dyn FnMut() -> Woken);

    /// Called when a process has found no partner and does not wait.
    fn skip(&self, asker: Asker<'_>);

    /// Serves the requests of other processors: see [`PpeCarrier`](super::ppe::PpeCarrier).
    fn serve(&self);

    /// Wakes processes that can go on although no step was performed.
    fn wake(&self, woken: Woken);

    /// Asks the program of another SPE, through the PPE, to start a process.
    fn start(&self, at: SpeId);

    /// Called when the program of this SPE takes a request to start a process. `program` is the
    /// process number of the thread that takes the request.
    fn receive_start(&self, program: u32);

    /// Waits until `ready` returns true and a message has arrived. Returns false after `deadline`.
    fn wait(
        &self,
        asker: Asker<'_>,
        what: &Waiting<'_>,
        why: &dyn fmt::Display,
        deadline: Option<Time>,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool;

    /// Reserves room for an item that a process is going to write.
    fn pack(&self, asker: Asker<'_>, link: &dyn Link, bytes: usize) -> Origin;

    fn bring(&self, asker: Asker<'_>, link: &dyn Link, origin: Origin, bytes: usize);

    fn count_communication(&self);

    /// Called when the processes of the SPE have ended, or, for the carrier of the main process,
    /// when all processes of the network have ended.
    fn finish(&self);
}

/// The carrier of the main process, which also serves the SPEs.
pub(crate) trait MainCarrier: Carrier {
    /// Takes words out of the outbound mailboxes. Returns whether a word came.
    fn collect(&self) -> bool;

    /// Serves the requests of the words that [`collect`](Self::collect) has taken.
    fn handle_all(&self);
}
