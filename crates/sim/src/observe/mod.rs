//! What a simulation shows of itself: counters always, a trace if somebody wants one.
//!
//! Everything here is told what happened and when; nothing here changes what happens.

use std::io;

use cellworks_machine::{Processor, Span, SpeId};

/// Why a program waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// For its own transfers: a tag group, a free entry in the queue, a view to arrive.
    Dma,
    /// For a word in a mailbox, or room for one.
    Mailbox,
    /// For a signal.
    Signal,
    /// For a reservation, a line that others have, or an atomic operation.
    Lock,
    /// For something else, such as the end of another program or what `wait_until` was given.
    Other,
}

/// What a processor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// No program is there.
    Idle,
    /// A program runs.
    Computing,
    /// All threads of its program wait; this is for what the one waits that waited last.
    Waiting(Cause),
}

/// What an SPE did with its time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpeCounters {
    /// Running a program.
    pub computing: Span,
    /// All threads waiting, the last one for a transfer.
    pub waiting_for_dma: Span,
    /// The same for a mailbox.
    pub waiting_for_mailbox: Span,
    /// The same for a signal.
    pub waiting_for_signal: Span,
    /// The same for a reservation or an atomic operation.
    pub waiting_for_lock: Span,
    /// The same for something else.
    pub waiting_for_other: Span,
    /// Without a program.
    pub idle: Span,
    /// MFC commands that were completed, typed transfers included.
    pub commands: u64,
    /// Bytes that its MFC moved.
    pub bytes: u64,
}

/// How much a ring, a memory module or a link was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceCounters {
    /// Such as `Cell 0, ring 2`, `memory module 1`, `link from Cell 0 to Cell 1`.
    pub name: String,
    /// Packets, or lines.
    pub packets: u64,
    /// Bytes of data.
    pub bytes: u64,
    /// For how long at least one packet was on it.
    pub busy: Span,
}

/// What a run did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    /// How long the run took, in simulated time.
    pub elapsed: Span,
    /// By SPE.
    pub spes: Vec<SpeCounters>,
    /// Rings, memory modules and links.
    pub resources: Vec<ResourceCounters>,
    /// Events that were handled.
    pub events: u64,
}

/// Takes down what happens in a run.
pub(crate) struct Observer {}

impl Observer {
    /// An observer of a machine with so many SPEs; a trace is written to `trace` while the run goes on.
    pub fn new(_spes: usize, _trace: Option<Box<dyn io::Write + Send>>) -> Self {
        Self {}
    }

    /// Whether a trace is written: what only a trace needs can be left out otherwise.
    pub fn is_tracing(&self) -> bool {
        false
    }

    /// A program began on an SPE.
    pub fn program_began(&mut self, _now_fs: u64, _spe: SpeId, _name: &str) {}

    /// The program of an SPE ended.
    pub fn program_ended(&mut self, _now_fs: u64, _spe: SpeId) {}

    /// A processor does something else from now on.
    #[inline]
    pub fn activity(&mut self, _now_fs: u64, _of: Processor, _activity: Activity) {}

    /// A cooperative thread of a processor, by its number there, 0 for the program itself, begins to wait.
    #[inline]
    pub fn thread_waits(&mut self, _now_fs: u64, _of: Processor, _thread: u32, _cause: Cause) {}

    /// A cooperative thread gets the processor.
    #[inline]
    pub fn thread_goes_on(&mut self, _now_fs: u64, _of: Processor, _thread: u32) {}

    /// A cooperative thread ended.
    pub fn thread_ended(&mut self, _now_fs: u64, _of: Processor, _thread: u32) {}

    /// An SPE issued a command, which `id` names until it is complete.
    #[inline]
    pub fn command_issued(
        &mut self,
        _now_fs: u64,
        _spe: SpeId,
        _id: u64,
        _name: &'static str,
        _bytes: u64,
    ) {
    }

    /// A command is complete.
    #[inline]
    pub fn command_complete(&mut self, _now_fs: u64, _spe: SpeId, _id: u64) {}

    /// So many entries of an MFC's queue hold commands.
    #[inline]
    pub fn queue_depth(&mut self, _now_fs: u64, _spe: SpeId, _entries: usize) {}

    /// What resources have done so far; asked for now and then while a trace is written.
    pub fn resources(&mut self, _now_fs: u64, _resources: &[ResourceCounters]) {}

    /// Ends the observation.
    ///
    /// # Errors
    ///
    /// What kept the trace from being written.
    pub fn finish(
        self,
        _now_fs: u64,
        _resources: Vec<ResourceCounters>,
        _events: u64,
    ) -> io::Result<Counters> {
        let _ = (_resources, _events);
        Err(io::Error::other("not built"))
    }
}
