use std::{io, mem};

use cellworks_machine::{Processor, Span, SpeId};

use super::activity::{Activity, Cause};
use super::counters::{
    Counters, MfcCount, PartCounters, ResourceCounters, Snapshot, SpeCount, StartCount, less,
};
use super::hash::Hash;
use super::trace::{Arguments, Tracer};
use crate::index::{PPE, ProcessorIndex};
use crate::issuer::Issuer;
use crate::part::Part;
use crate::time::Moment;

/// The kind of a call, as a number for the hash.
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

pub(crate) struct Observer {
    /// The PPE at index 0, then the SPEs.
    processors: Vec<SpeCount>,
    mfcs: Vec<MfcCount>,
    starts: StartCount,
    /// The beginning and the end of the window.
    window: [Option<Snapshot>; 2],
    hash: Hash,
    tracer: Option<Box<Tracer>>,
}

impl Observer {
    /// Makes the observer of a machine. If `trace` is given, writes a trace to it in large blocks.
    pub fn new(machine: &str, spes: usize, trace: Option<Box<dyn io::Write + Send>>) -> Self {
        Self {
            // The main program runs from the start.
            processors: [Activity::Computing]
                .into_iter()
                .chain((0..spes).map(|_| Activity::Idle))
                .map(SpeCount::new)
                .collect(),
            mfcs: (0..spes).map(|_| MfcCount::default()).collect(),
            starts: StartCount::default(),
            window: [None, None],
            hash: Hash::new(),
            tracer: trace.map(|to| Box::new(Tracer::new(machine, spes, to))),
        }
    }

    /// Returns whether a trace is written. Without a trace, some calls are not needed.
    #[inline]
    pub fn is_tracing(&self) -> bool {
        self.tracer.is_some()
    }

    /// Records that a program begins on an SPE, which then computes.
    pub fn program_began(&mut self, now: Moment, spe: SpeId, name: &str) {
        self.record(Call::ProgramBegan, now, Processor::Spe(spe), 0);
        self.hash.text(name);
        self.processors[spe.index() + 1].activity(now, Activity::Computing);
        if let Some(tracer) = &mut self.tracer {
            tracer.program_began(now, spe, name);
        }
    }

    /// Records that the program of an SPE ends, and that the SPE is idle.
    pub fn program_ended(&mut self, now: Moment, spe: SpeId) {
        self.record(Call::ProgramEnded, now, Processor::Spe(spe), 0);
        self.processors[spe.index() + 1].activity(now, Activity::Idle);
        if let Some(tracer) = &mut self.tracer {
            tracer.program_ended(now, spe);
        }
    }

    #[inline]
    pub fn activity(&mut self, now: Moment, of: Processor, activity: Activity) {
        self.record(Call::Activity, now, of, activity.index() as u32);
        self.count(now, of, activity);
        if let Some(tracer) = &mut self.tracer {
            tracer.activity(now, of, activity);
        }
    }

    /// Records that the running thread of a processor begins to wait. If another thread is ready,
    /// [`goes_on`](Self::goes_on) must be called next.
    #[inline(always)]
    pub fn waits(&mut self, now: Moment, of: Processor, thread: u32, cause: Cause) {
        let detail = thread << 8 | cause as u32;
        self.record(Call::Waits, now, of, detail);
        self.count(now, of, Activity::Waiting(cause));
        if self.is_tracing() {
            self.trace_wait(now, of, thread, cause);
        }
    }

    // This is a separate function, so that runs without a trace stay fast.
    #[inline(never)]
    fn trace_wait(&mut self, now: Moment, of: Processor, thread: u32, cause: Cause) {
        if let Some(tracer) = &mut self.tracer {
            tracer.thread_waits(now, of, thread, cause);
            tracer.activity(now, of, Activity::Waiting(cause));
        }
    }

    /// Records that a processor that may wait goes on because of another, by its index. It does not
    /// go into the hash, which has the actions of both.
    #[inline(always)]
    pub fn is_woken(&mut self, now: Moment, of: Processor, by: ProcessorIndex) {
        self.processors[index_of(of)].is_woken(now, by);
    }

    /// Records that a cooperative thread runs on a processor, in place of the previous thread.
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

    pub fn thread_ended(&mut self, now: Moment, of: Processor, thread: u32) {
        self.record(Call::ThreadEnded, now, of, thread);
        if let Some(tracer) = &mut self.tracer {
            tracer.thread_ended(now, of, thread);
        }
    }

    /// Records that a thread begins an activity that the program has named. It does not go into the
    /// hash, which covers only actions of the machine.
    pub fn activity_begins(&mut self, now: Moment, of: Processor, thread: u32, name: &str) {
        if let Some(tracer) = &mut self.tracer {
            tracer.activity_begins(now, of, thread, name);
        }
    }

    /// Records that a thread ends the last activity that it has begun.
    pub fn activity_ends(&mut self, now: Moment, of: Processor, thread: u32) {
        if let Some(tracer) = &mut self.tracer {
            tracer.activity_ends(now, of, thread);
        }
    }

    /// Records that the PPE begins to start a program on an SPE. Neither this nor the end goes into
    /// the hash, which has the beginning of the program.
    pub fn start_begins(&mut self, now: Moment, spe: SpeId) {
        self.starts.begin(now, spe);
    }

    /// Records that the PPE has started the program.
    pub fn start_ends(&mut self, now: Moment) {
        self.starts.end(now);
    }

    /// Returns the SPE on which the PPE starts a program at present.
    pub fn starts(&self) -> Option<SpeId> {
        self.starts.present()
    }

    /// Records that a command is issued to the MFC of an SPE, with an `id` until it is complete.
    #[inline]
    pub fn command_issued(
        &mut self,
        now: Moment,
        spe: SpeId,
        issuer: Issuer,
        id: u64,
        name: &'static str,
        arguments: Arguments,
    ) {
        let bytes = arguments.bytes;
        let call = match issuer {
            Issuer::Spu => Call::CommandIssued,
            Issuer::Ppe => Call::ProxyCommandIssued,
        };
        self.record(call, now, Processor::Spe(spe), bytes as u32);
        self.hash.word(id);
        self.hash.text(name);
        self.processors[spe.index() + 1].issued(id, bytes);
        if let Some(tracer) = &mut self.tracer {
            tracer.command_issued(now, spe, issuer, id, name, arguments);
        }
    }

    /// Records that an element of the list command `id` begins.
    #[inline]
    pub fn element_begins(&mut self, spe: SpeId, id: u64, bytes: u32) {
        self.processors[spe.index() + 1].element(id, bytes.into());
    }

    /// Records that a command is complete. Panics if no incomplete command has this `id`.
    #[inline]
    pub fn command_complete(&mut self, now: Moment, spe: SpeId, id: u64) {
        self.record(Call::CommandComplete, now, Processor::Spe(spe), 0);
        self.hash.word(id);
        self.processors[spe.index() + 1].complete(id);
        if let Some(tracer) = &mut self.tracer {
            tracer.command_complete(now, spe, id);
        }
    }

    /// Records the number of used entries of an MFC queue.
    #[inline]
    pub fn queue_depth(&mut self, now: Moment, spe: SpeId, issuer: Issuer, entries: usize) {
        let of = Processor::Spe(spe);
        let call = match issuer {
            Issuer::Spu => Call::QueueDepth,
            Issuer::Ppe => Call::ProxyQueueDepth,
        };
        self.record(call, now, of, entries as u32);
        self.mfcs[spe.index()].depth(now, issuer, entries);
        if let Some(tracer) = &mut self.tracer {
            tracer.queue_depth(now, spe, issuer, entries);
        }
    }

    /// Writes a sample of the resources to the trace, and nothing to the hash. All calls must have
    /// the same resources in the same order.
    pub fn resources(&mut self, now: Moment, resources: &[ResourceCounters]) {
        if let Some(tracer) = &mut self.tracer {
            tracer.resources(now, resources);
        }
    }

    /// Begins the window anew. `parts` are the times of the parts that this observer does not count.
    pub fn begin_window(
        &mut self,
        now: Moment,
        resources: Vec<ResourceCounters>,
        parts: Vec<PartCounters>,
    ) {
        self.window = [Some(self.snapshot(now, resources, parts)), None];
        for processor in &mut self.processors {
            processor.begin_window(now);
        }
    }

    /// Ends the window, if it has begun. A later end takes the place of an earlier one.
    pub fn end_window(
        &mut self,
        now: Moment,
        resources: Vec<ResourceCounters>,
        parts: Vec<PartCounters>,
    ) {
        if self.window[0].is_some() {
            self.window[1] = Some(self.snapshot(now, resources, parts));
        }
    }

    fn snapshot(
        &self,
        at: Moment,
        resources: Vec<ResourceCounters>,
        mut parts: Vec<PartCounters>,
    ) -> Snapshot {
        let processors: Vec<_> = self.processors.iter().map(|one| one.until(at)).collect();
        let (ppe, spes) = processors.split_first().expect("a machine has a PPE");
        for (spe, (mfc, did)) in self.mfcs.iter().zip(spes).enumerate() {
            let name = format!("the MFC of {}", SpeId::new(spe as u16));
            parts.push(PartCounters::new(Part::MfcCommands, name, mfc.until(at)));
            parts.push(PartCounters {
                part: Part::Spus,
                name: SpeId::new(spe as u16).to_string(),
                busy: did.computing,
            });
        }
        // The PPE counts as computing while it starts programs.
        let starts = Span::from(self.starts.until(at));
        parts.push(PartCounters {
            part: Part::Ppe,
            name: "the PPE".to_owned(),
            busy: less(ppe.computing, starts),
        });
        parts.push(PartCounters {
            part: Part::Programs,
            name: "the PPE starting programs".to_owned(),
            busy: starts,
        });
        parts.sort_by_key(|one| one.part);
        Snapshot {
            at,
            spes: spes.to_vec(),
            resources,
            parts,
        }
    }

    /// Ends the observation. Returns the counters without hazards, or the error of the trace.
    pub fn finish(
        mut self,
        now: Moment,
        resources: Vec<ResourceCounters>,
        parts: Vec<PartCounters>,
        events: u64,
    ) -> io::Result<Counters> {
        self.record(Call::Finish, now, Processor::Ppe, 0);
        for resource in &resources {
            self.hash.word(resource.packets);
            self.hash.word(resource.bytes);
            self.hash.word(resource.busy.as_femtoseconds() as u64);
        }
        let [begin, end] = mem::take(&mut self.window);
        let began = begin.as_ref().map(|begin| begin.at);
        let ended = end.as_ref().map_or(now, |end| end.at);
        if let Some(tracer) = self.tracer.take() {
            tracer.finish(now, &resources, began.map(|began| [began, ended]))?;
        }
        let end = end.unwrap_or_else(|| self.snapshot(now, resources, parts));
        let window = end.window(begin);
        let began = began.unwrap_or(Moment::START);
        Ok(Counters {
            began: (began - Moment::START).into(),
            elapsed: ended.saturating_since(began).into(),
            spes: window.spes,
            resources: window.resources,
            parts: window.parts,
            events,
            trace_hash: self.hash.value(),
            hazards: Vec::new(),
            hazards_seen: 0,
        })
    }

    #[inline]
    fn count(&mut self, now: Moment, of: Processor, activity: Activity) {
        self.processors[index_of(of)].activity(now, activity);
    }

    /// Adds a call to the hash: its kind, time, processor and a detail.
    #[inline]
    fn record(&mut self, call: Call, now: Moment, of: Processor, detail: u32) {
        let of = index_of(of) as u64;
        self.hash.word(now.as_femtoseconds());
        self.hash
            .word(call as u64 | of << 8 | u64::from(detail) << 32);
    }
}

fn index_of(processor: Processor) -> ProcessorIndex {
    match processor {
        Processor::Ppe => PPE,
        Processor::Spe(spe) => spe.index() + 1,
    }
}
