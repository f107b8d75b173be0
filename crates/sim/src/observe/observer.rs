use std::io;

use cellworks_machine::{Processor, SpeId};

use super::activity::{Activity, Cause};
use super::counters::{Counters, ResourceCounters, SpeCount};
use super::hash::Hash;
use super::trace::Tracer;
use crate::issuer::Issuer;
use crate::time::Moment;

/// The kind of a call of the observer, as a number for the hash.
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

/// Records the actions of a run.
pub(crate) struct Observer {
    spes: Vec<SpeCount>,
    hash: Hash,
    tracer: Option<Box<Tracer>>,
}

impl Observer {
    /// Makes the observer of a machine with this name and number of SPEs. During the run, the
    /// observer writes the trace to `trace`, if given, in blocks of tens of kilobytes.
    pub fn new(machine: &str, spes: usize, trace: Option<Box<dyn io::Write + Send>>) -> Self {
        Self {
            spes: (0..spes).map(|_| SpeCount::new()).collect(),
            hash: Hash::new(),
            tracer: trace.map(|to| Box::new(Tracer::new(machine, spes, to))),
        }
    }

    /// Whether a trace is written. If not, callers can omit calls that only a trace needs.
    #[inline]
    pub fn is_tracing(&self) -> bool {
        self.tracer.is_some()
    }

    /// Records that a program begins on an SPE, which computes from now on.
    pub fn program_began(&mut self, now: Moment, spe: SpeId, name: &str) {
        self.record(Call::ProgramBegan, now, Processor::Spe(spe), 0);
        self.hash.text(name);
        self.spes[spe.index()].activity(now, Activity::Computing);
        if let Some(tracer) = &mut self.tracer {
            tracer.program_began(now, spe, name);
        }
    }

    /// Records that the program of an SPE ends, and that the SPE is idle from now on.
    pub fn program_ended(&mut self, now: Moment, spe: SpeId) {
        self.record(Call::ProgramEnded, now, Processor::Spe(spe), 0);
        self.spes[spe.index()].activity(now, Activity::Idle);
        if let Some(tracer) = &mut self.tracer {
            tracer.program_ended(now, spe);
        }
    }

    /// Records that a processor begins another activity.
    #[inline]
    pub fn activity(&mut self, now: Moment, of: Processor, activity: Activity) {
        self.record(Call::Activity, now, of, activity.index() as u32);
        self.count(now, of, activity);
        if let Some(tracer) = &mut self.tracer {
            tracer.activity(now, of, activity);
        }
    }

    /// Records that the running thread of a processor begins to wait. The program's own thread has
    /// number 0. If another thread is ready, a call of [`goes_on`](Self::goes_on) must follow.
    #[inline(always)]
    pub fn waits(&mut self, now: Moment, of: Processor, thread: u32, cause: Cause) {
        let detail = thread << 8 | cause as u32;
        self.record(Call::Waits, now, of, detail);
        self.count(now, of, Activity::Waiting(cause));
        if self.is_tracing() {
            self.trace_wait(now, of, thread, cause);
        }
    }

    // `trace_wait` and `trace_going_on` are separate functions, so that runs without a trace stay
    // fast.
    #[inline(never)]
    fn trace_wait(&mut self, now: Moment, of: Processor, thread: u32, cause: Cause) {
        if let Some(tracer) = &mut self.tracer {
            tracer.thread_waits(now, of, thread, cause);
            tracer.activity(now, of, Activity::Waiting(cause));
        }
    }

    /// Records that a cooperative thread gets the processor, and that the previous thread loses it.
    #[inline(always)]
    pub fn goes_on(&mut self, now: Moment, of: Processor, thread: u32) {
        self.record(Call::GoesOn, now, of, thread);
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

    /// Records that a cooperative thread ends.
    pub fn thread_ended(&mut self, now: Moment, of: Processor, thread: u32) {
        self.record(Call::ThreadEnded, now, of, thread);
        if let Some(tracer) = &mut self.tracer {
            tracer.thread_ended(now, of, thread);
        }
    }

    /// Records that a thread begins an activity that the program has named. Named activities do not
    /// go into the hash, because the hash covers only the actions of the machine.
    pub fn activity_begins(&mut self, now: Moment, of: Processor, thread: u32, name: &str) {
        if let Some(tracer) = &mut self.tracer {
            tracer.activity_begins(now, of, thread, name);
        }
    }

    /// Records that the last activity that a thread began ends.
    pub fn activity_ends(&mut self, now: Moment, of: Processor, thread: u32) {
        if let Some(tracer) = &mut self.tracer {
            tracer.activity_ends(now, of, thread);
        }
    }

    /// Records that a command is issued to the MFC of an SPE. `id` identifies the command until it
    /// is complete.
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
        self.record(call, now, Processor::Spe(spe), bytes as u32);
        self.hash.word(id);
        self.hash.text(name);
        self.spes[spe.index()].issued(id, bytes);
        if let Some(tracer) = &mut self.tracer {
            tracer.command_issued(now, spe, issuer, id, name);
        }
    }

    /// Records that a command is complete. Panics if `id` is not the id of an incomplete
    /// command.
    #[inline]
    pub fn command_complete(&mut self, now: Moment, spe: SpeId, id: u64) {
        self.record(Call::CommandComplete, now, Processor::Spe(spe), 0);
        self.hash.word(id);
        self.spes[spe.index()].complete(id);
        if let Some(tracer) = &mut self.tracer {
            tracer.command_complete(now, spe, id);
        }
    }

    /// Records the number of taken entries of an MFC's queue.
    #[inline]
    pub fn queue_depth(&mut self, now: Moment, spe: SpeId, issuer: Issuer, entries: usize) {
        let of = Processor::Spe(spe);
        let call = match issuer {
            Issuer::Spu => Call::QueueDepth,
            Issuer::Ppe => Call::ProxyQueueDepth,
        };
        self.record(call, now, of, entries as u32);
        if let Some(tracer) = &mut self.tracer {
            tracer.queue_depth(now, spe, issuer, entries);
        }
    }

    /// Adds a sample of the resources' counters to the trace. The resources and their order must be
    /// the same in all calls. This does not go into the hash, so that the hash is the same without
    /// a trace.
    pub fn resources(&mut self, now: Moment, resources: &[ResourceCounters]) {
        if let Some(tracer) = &mut self.tracer {
            tracer.resources(now, resources);
        }
    }

    /// Ends the observation, at or after the last call. Returns the trace writer's error, or the
    /// counters without hazards, which [`Hazards::finish`](crate::hazard::Hazards::finish) returns.
    pub fn finish(
        mut self,
        now: Moment,
        resources: Vec<ResourceCounters>,
        events: u64,
    ) -> io::Result<Counters> {
        self.record(Call::Finish, now, Processor::Ppe, 0);
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

    /// Adds a call to the hash: its kind, its time, its processor and a detail.
    #[inline]
    fn record(&mut self, call: Call, now: Moment, of: Processor, detail: u32) {
        let of = match of {
            Processor::Ppe => 0,
            Processor::Spe(spe) => spe.index() as u64 + 1,
        };
        self.hash.word(now.as_femtoseconds());
        self.hash
            .word(call as u64 | of << 8 | u64::from(detail) << 32);
    }
}
