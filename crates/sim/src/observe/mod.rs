//! What a simulation shows of itself: counters and a hash always, a trace if somebody wants one.
//!
//! Everything here is told what happened and when; nothing here changes what happens.
//!
//! ```text
//!                            ┌─► SpeCount, Hash ──────────────► Counters     at the end
//!   engine ─► Observer ──────┤
//!                            └─► Tracer ─► Perfetto packets ──► io::Write    while the run goes on
//! ```
//!
//! Calls about one processor come in the order of their times, and so do those about one MFC; calls
//! about different ones need not. Ids and numbers must follow from the program and the seed alone: they
//! go into the hash.

mod counters;
mod hash;
mod perfetto;
mod read;
mod trace;

use std::{fmt, io};

use cellworks_machine::{Processor, SpeId};

use crate::mfc::Issuer;
use crate::time::Moment;

pub use counters::{Counters, ResourceCounters, SpeCounters};
pub use read::{ReadTraceError, Slice, read_slices};

use counters::SpeCount;
use hash::Hash;
use trace::Tracer;

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

impl Cause {
    /// What a trace calls a wait for this cause.
    const fn wait(self) -> &'static str {
        match self {
            Self::Dma => "waiting for DMA",
            Self::Mailbox => "waiting for a mailbox",
            Self::Signal => "waiting for a signal",
            Self::Lock => "waiting for a lock",
            Self::Other => "waiting for something else",
        }
    }
}

impl fmt::Display for Cause {
    /// `DMA`, `a mailbox`, `a signal`, `a lock`, `something else`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.wait()["waiting for ".len()..])
    }
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

impl Activity {
    const COUNT: usize = 7;

    #[inline]
    const fn index(self) -> usize {
        match self {
            Self::Idle => 0,
            Self::Computing => 1,
            Self::Waiting(cause) => 2 + cause as usize,
        }
    }
}

/// What is observed, as a number for the hash: each kind of call has one.
#[derive(Clone, Copy)]
enum Call {
    ProgramBegan,
    ProgramEnded,
    Activity,
    Waits,
    GoesOn,
    ThreadEnded,
    CommandIssued,
    CommandComplete,
    QueueDepth,
    Finish,
    ProxyCommandIssued,
    ProxyQueueDepth,
}

/// Takes down what happens in a run.
pub(crate) struct Observer {
    spes: Vec<SpeCount>,
    hash: Hash,
    tracer: Option<Box<Tracer>>,
}

impl Observer {
    /// An observer of a machine of that name with so many SPEs; a trace is written to `trace` while the
    /// run goes on, in pieces of tens of kilobytes.
    pub fn new(machine: &str, spes: usize, trace: Option<Box<dyn io::Write + Send>>) -> Self {
        Self {
            spes: (0..spes).map(|_| SpeCount::new()).collect(),
            hash: Hash::new(),
            tracer: trace.map(|to| Box::new(Tracer::new(machine, spes, to))),
        }
    }

    /// Whether a trace is written: what only a trace needs can be left out otherwise.
    #[inline]
    pub fn is_tracing(&self) -> bool {
        self.tracer.is_some()
    }

    /// A program began on an SPE, which computes from now on.
    pub fn program_began(&mut self, now: Moment, spe: SpeId, name: &str) {
        self.take_down(Call::ProgramBegan, now, Processor::Spe(spe), 0);
        self.hash.text(name);
        self.spes[spe.index()].activity(now, Activity::Computing);
        if let Some(tracer) = &mut self.tracer {
            tracer.program_began(now, spe, name);
        }
    }

    /// The program of an SPE ended; it is idle from now on.
    pub fn program_ended(&mut self, now: Moment, spe: SpeId) {
        self.take_down(Call::ProgramEnded, now, Processor::Spe(spe), 0);
        self.spes[spe.index()].activity(now, Activity::Idle);
        if let Some(tracer) = &mut self.tracer {
            tracer.program_ended(now, spe);
        }
    }

    /// A processor does something else from now on.
    #[inline]
    pub fn activity(&mut self, now: Moment, of: Processor, activity: Activity) {
        self.take_down(Call::Activity, now, of, activity.index() as u32);
        self.count(now, of, activity);
        if let Some(tracer) = &mut self.tracer {
            tracer.activity(now, of, activity);
        }
    }

    /// All threads of a processor wait, the last one being its thread of this number; 0 is the program itself.
    /// If others are ready, [`goes_on`](Self::goes_on) follows.
    #[inline(always)]
    pub fn waits(&mut self, now: Moment, of: Processor, thread: u32, cause: Cause) {
        let detail = thread << 8 | cause as u32;
        self.take_down(Call::Waits, now, of, detail);
        self.count(now, of, Activity::Waiting(cause));
        if self.is_tracing() {
            self.trace_wait(now, of, thread, cause);
        }
    }

    // Apart, as what follows, so that runs without a trace stay fast.
    #[inline(never)]
    fn trace_wait(&mut self, now: Moment, of: Processor, thread: u32, cause: Cause) {
        if let Some(tracer) = &mut self.tracer {
            tracer.thread_waits(now, of, thread, cause);
            tracer.activity(now, of, Activity::Waiting(cause));
        }
    }

    /// A cooperative thread gets the processor; the one that had it has it no longer.
    #[inline(always)]
    pub fn goes_on(&mut self, now: Moment, of: Processor, thread: u32) {
        self.take_down(Call::GoesOn, now, of, thread);
        self.count(now, of, Activity::Computing);
        if self.is_tracing() {
            self.trace_going_on(now, of, thread);
        }
    }

    #[inline(never)]
    fn trace_going_on(&mut self, now: Moment, of: Processor, thread: u32) {
        if let Some(tracer) = &mut self.tracer {
            tracer.activity(now, of, Activity::Computing);
            tracer.thread_goes_on(now, of, thread);
        }
    }

    /// A cooperative thread ended.
    pub fn thread_ended(&mut self, now: Moment, of: Processor, thread: u32) {
        self.take_down(Call::ThreadEnded, now, of, thread);
        if let Some(tracer) = &mut self.tracer {
            tracer.thread_ended(now, of, thread);
        }
    }

    /// A command was issued to the MFC of an SPE, which `id` names until it is complete.
    #[inline]
    pub fn command_issued(
        &mut self,
        now: Moment,
        spe: SpeId,
        issuer: Issuer,
        id: u64,
        name: &'static str,
        bytes: u64,
    ) {
        let call = match issuer {
            Issuer::Spu => Call::CommandIssued,
            Issuer::Ppe => Call::ProxyCommandIssued,
        };
        self.take_down(call, now, Processor::Spe(spe), bytes as u32);
        self.hash.word(id);
        self.hash.text(name);
        self.spes[spe.index()].issued(id, bytes);
        if let Some(tracer) = &mut self.tracer {
            tracer.command_issued(now, spe, issuer, id, name);
        }
    }

    /// A command is complete.
    ///
    /// # Panics
    ///
    /// Where no such command was issued, or it was complete before.
    #[inline]
    pub fn command_complete(&mut self, now: Moment, spe: SpeId, id: u64) {
        self.take_down(Call::CommandComplete, now, Processor::Spe(spe), 0);
        self.hash.word(id);
        self.spes[spe.index()].complete(id);
        if let Some(tracer) = &mut self.tracer {
            tracer.command_complete(now, spe, id);
        }
    }

    /// So many entries of an MFC's queue hold commands.
    #[inline]
    pub fn queue_depth(&mut self, now: Moment, spe: SpeId, issuer: Issuer, entries: usize) {
        let of = Processor::Spe(spe);
        let call = match issuer {
            Issuer::Spu => Call::QueueDepth,
            Issuer::Ppe => Call::ProxyQueueDepth,
        };
        self.take_down(call, now, of, entries as u32);
        if let Some(tracer) = &mut self.tracer {
            tracer.queue_depth(now, spe, issuer, entries);
        }
    }

    /// What resources have done so far, always the same ones in the same order; asked for now and then
    /// while a trace is written. It does not count for the hash, which is the same without a trace.
    pub fn resources(&mut self, now: Moment, resources: &[ResourceCounters]) {
        if let Some(tracer) = &mut self.tracer {
            tracer.resources(now, resources);
        }
    }

    /// Ends the observation, no earlier than the last thing that was observed. No hazards are in the
    /// counters: they are for [`Hazards::finish`](crate::hazard::Hazards::finish) to tell.
    ///
    /// # Errors
    ///
    /// What kept the trace from being written.
    pub fn finish(
        mut self,
        now: Moment,
        resources: Vec<ResourceCounters>,
        events: u64,
    ) -> io::Result<Counters> {
        self.take_down(Call::Finish, now, Processor::Ppe, 0);
        for resource in &resources {
            self.hash.word(resource.packets);
            self.hash.word(resource.bytes);
            self.hash.word(resource.busy.as_femtoseconds() as u64);
        }
        if let Some(tracer) = self.tracer {
            tracer.finish(now, &resources)?;
        }
        Ok(Counters {
            elapsed: (now - Moment::START).into(),
            spes: self.spes.into_iter().map(|spe| spe.finish(now)).collect(),
            resources,
            events,
            trace_hash: self.hash.value(),
            hazards: Vec::new(),
            hazards_seen: 0,
        })
    }

    #[inline]
    fn count(&mut self, now: Moment, of: Processor, activity: Activity) {
        if let Processor::Spe(spe) = of {
            self.spes[spe.index()].activity(now, activity);
        }
    }

    /// Adds a call to the hash: what, when, about whom, and a detail.
    #[inline]
    fn take_down(&mut self, call: Call, now: Moment, of: Processor, detail: u32) {
        let of = match of {
            Processor::Ppe => 0,
            Processor::Spe(spe) => spe.index() as u64 + 1,
        };
        self.hash.word(now.as_femtoseconds());
        self.hash
            .word(call as u64 | of << 8 | u64::from(detail) << 32);
    }
}

#[cfg(test)]
mod tests;
