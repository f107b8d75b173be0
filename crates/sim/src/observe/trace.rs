//! A trace for <https://ui.perfetto.dev>, in Perfetto's protobuf format, written during the run.
//!
//! ```text
//!   QS20                              the process: the machine
//!   ├─ PPE                   ▐computing▌▐waiting for a mailbox▌▐computing▌
//!   ├─ SPE 0                 ▐sum────────────────────────────────────────▌
//!   │  │                      ▐computing▌▐waiting for DMA▌▐computing▌
//!   │  ├─ activities         ▐set up▌                     named by the program
//!   │  ├─ thread 1           ▐running▌▐waiting for DMA▌▐running▌
//!   │  │  └─ activities      ▐row────────────────────────────▌
//!   │  │                     ▐staging───────▌
//!   │  ├─ thread 2                   ▐running▌▐waiting for DMA─────
//!   │  ├─ MFC                     │           │complete      marks, one for each command
//!   │  │  ├─ entry 0         │issue──►▐get 4 KB▌              one command at a time
//!   │  │  ├─ entry 1                    ▐put───────▌
//!   │  │  ├─ proxy entry 0    ▐get──────────▌             issued by the PPE
//!   │  │  ├─ MFC queue       the number of commands in the queue
//!   │  │  └─ MFC proxy queue the number of commands in the proxy queue, if it is used
//!   ├─ window                ▐window──────────────────────▌  if the program or a setting has one
//!   └─ use
//!      ├─ Cell 0, ring 0     per cent since the last sample
//!      └─ memory module 0
//! ```
//!
//! The PPE, each SPE and each MFC is a thread for Perfetto, so the tables `thread`, `thread_track`,
//! `slice` and `counter` of its `trace_processor` have their names. Tracks of cooperative threads,
//! activities and entries belong to the thread above them.
//!
//! The name of a program is that of the function that starts it, and the name of a command has its
//! bytes, as `get 16 KB`. The arguments of its slice are `ea`, `lsa`, `bytes` and `tag`, as far as
//! it has them: slices of ordinary memory, which `stage` moves, have no effective address and no
//! tag.
//!
//! Perfetto draws an arrow (a flow) from `issue` on the track of a program or thread to the slice
//! of the command, and from there to `complete`. The entry of a command is the lowest that is free.
//! Thread 0, the main thread of a program, has no track of its own.
//!
//! Times are rounded down to nanoseconds. A slice may be up to 1 ns too long or too short.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{io, mem};

use cellworks_machine::mfc::{EffectiveAddress, LsAddr, Tag};
use cellworks_machine::{Processor, Span, SpeId};
use prost::Message;

use super::activity::{Activity, Cause};
use super::counters::ResourceCounters;
use super::perfetto::{
    ChildTracksOrdering, CounterDescriptor, DebugAnnotation, EventName, EventType,
    INCREMENTAL_STATE_CLEARED, InternedData, NEEDS_INCREMENTAL_STATE, ProcessDescriptor,
    ThreadDescriptor, Trace, TracePacket, TrackDescriptor, TrackEvent,
};
use crate::issuer::Issuer;
use crate::time::Moment;

/// The id of the process, which is the machine.
const PID: i32 = 1;

/// The number of packets that are written at once: some tens of kilobytes.
const PACKETS_KEPT: usize = 1024;

/// The writer of a trace. The methods of [`Observer`](super::Observer) call the methods of
/// `Tracer`, most of which have the same names.
pub(super) struct Tracer {
    packets: Packets,
    /// The PPE at index 0, then the SPEs.
    processors: Vec<ProcessorState>,
    /// The entries of the two queues of each SPE, by issuer.
    entries: Vec<[Entries; 2]>,
    /// The number of flows so far, which is the id of the last flow.
    flows: u64,
    /// The time of the last sample, and the busy time of each resource until then.
    sampled: (Moment, Vec<u128>),
}

/// The arguments of a command, for the trace. A value is `None` if the command has none, or if it
/// is an address of memory that has none in the simulation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arguments {
    /// The number of bytes to move, or 0 for a list or a barrier.
    pub bytes: u64,
    pub lsa: Option<LsAddr>,
    pub ea: Option<EffectiveAddress>,
    pub tag: Option<Tag>,
}

/// The id and the flow of the command in each entry of a queue, or `None` for a free entry.
type Entries = Vec<Option<(u64, u64)>>;

#[derive(Default)]
struct ProcessorState {
    in_program: bool,
    /// The name of the open slice of the processor, or `None` if the processor is idle.
    activity: Option<&'static str>,
    threads: Vec<ThreadState>,
    /// The number of open activities of each thread, or `None` for a thread without activities.
    activities: Vec<Option<usize>>,
    /// The number of the running thread.
    running: u32,
}

#[derive(Clone, Copy, PartialEq)]
enum ThreadState {
    Unknown,
    /// The thread has a track without an open slice.
    Ready,
    Running,
    Waiting,
}

impl Tracer {
    /// Begins a trace. [`finish`](Self::finish) returns the first error of writing to `to`.
    pub fn new(machine: &str, spes: usize, to: Box<dyn io::Write + Send>) -> Self {
        let mut packets = Packets::new(to);
        packets.track(TrackDescriptor {
            uuid: Some(track::MACHINE),
            process: Some(ProcessDescriptor {
                pid: Some(PID),
                process_name: Some(machine.to_owned()),
            }),
            ..TrackDescriptor::default()
        });
        let of_spes = (0..spes).map(|spe| Processor::Spe(SpeId::new(spe as u16)));
        for (rank, processor) in std::iter::once(Processor::Ppe).chain(of_spes).enumerate() {
            let name = match processor {
                Processor::Ppe => "PPE".to_owned(),
                Processor::Spe(spe) => spe.to_string(),
            };
            let uuid = track::program(processor);
            // The thread with the id of its process is the main thread.
            let tid = i64::from(PID) + 2 * rank as i64;
            packets.track(TrackDescriptor {
                child_ordering: Some(ChildTracksOrdering::Explicit.into()),
                thread: Some(thread(tid, name.clone())),
                ..child(track::MACHINE, uuid, name.clone(), rank)
            });
            if let Processor::Spe(spe) = processor {
                packets.track(TrackDescriptor {
                    child_ordering: Some(ChildTracksOrdering::Explicit.into()),
                    thread: Some(thread(tid + 1, format!("MFC of {name}"))),
                    ..child(uuid, track::mfc(spe), "MFC".to_owned(), track::RANK_OF_MFC)
                });
                packets.queue_depth(spe, Issuer::Spu);
            }
        }
        Self {
            packets,
            processors: (0..=spes).map(|_| ProcessorState::default()).collect(),
            entries: vec![<[Entries; 2]>::default(); spes],
            flows: 0,
            sampled: (Moment::START, Vec::new()),
        }
    }

    pub fn program_began(&mut self, now: Moment, spe: SpeId, name: &str) {
        let of = Processor::Spe(spe);
        self.activity(now, of, Activity::Idle);
        self.packets.event(
            now,
            TrackEvent {
                name: Some(words_of(name)),
                ..event(EventType::SliceBegin, track::program(of))
            },
        );
        self.state(of).in_program = true;
        self.activity(now, of, Activity::Computing);
    }

    pub fn program_ended(&mut self, now: Moment, spe: SpeId) {
        self.close(now, Processor::Spe(spe));
    }

    pub fn activity(&mut self, now: Moment, of: Processor, activity: Activity) {
        let name = match activity {
            Activity::Idle => None,
            Activity::Computing => Some("computing"),
            Activity::Waiting(cause) => Some(cause.wait()),
        };
        let before = mem::replace(&mut self.state(of).activity, name);
        if before == name {
            return;
        }
        let track = track::program(of);
        if before.is_some() {
            self.packets.end(now, track);
        }
        if let Some(name) = name {
            self.packets.begin(now, track, name);
        }
    }

    pub fn thread_waits(&mut self, now: Moment, of: Processor, thread: u32, cause: Cause) {
        self.thread(now, of, thread, ThreadState::Waiting, cause.wait());
    }

    pub fn thread_goes_on(&mut self, now: Moment, of: Processor, thread: u32) {
        let before = mem::replace(&mut self.state(of).running, thread);
        if before != thread {
            // The slice "running" of the thread `before` is still open if the thread did not wait.
            let state = self.state(of).threads.get(before as usize);
            if state == Some(&ThreadState::Running) {
                self.thread(now, of, before, ThreadState::Ready, "");
            }
        }
        self.thread(now, of, thread, ThreadState::Running, "running");
    }

    pub fn activity_begins(&mut self, now: Moment, of: Processor, thread: u32, name: &str) {
        let track = track::activities(of, thread);
        let activities = &mut self.processors[number_of(of)].activities;
        if activities.len() <= thread as usize {
            activities.resize(thread as usize + 1, None);
        }
        let open = activities[thread as usize].get_or_insert_with(|| {
            let parent = match thread {
                0 => track::program(of),
                thread => track::thread(of, thread),
            };
            let descriptor = child(parent, track, "activities".to_owned(), 0);
            self.packets.track(descriptor);
            0
        });
        *open += 1;
        let begin = TrackEvent {
            name: Some(name.to_owned()),
            ..event(EventType::SliceBegin, track)
        };
        self.packets.event(now, begin);
    }

    pub fn activity_ends(&mut self, now: Moment, of: Processor, thread: u32) {
        let open = self.state(of).activities.get_mut(thread as usize);
        if let Some(Some(open @ 1..)) = open {
            *open -= 1;
            self.packets.end(now, track::activities(of, thread));
        }
    }

    fn activities_end(&mut self, now: Moment, of: Processor, thread: u32) {
        let open = self.state(of).activities.get(thread as usize).copied();
        for _ in 0..open.flatten().unwrap_or(0) {
            self.activity_ends(now, of, thread);
        }
    }

    pub fn thread_ended(&mut self, now: Moment, of: Processor, thread: u32) {
        self.activities_end(now, of, thread);
        self.thread(now, of, thread, ThreadState::Ready, "");
    }

    pub fn command_issued(
        &mut self,
        now: Moment,
        spe: SpeId,
        issuer: Issuer,
        id: u64,
        name: &'static str,
        arguments: Arguments,
    ) {
        self.flows += 1;
        let flow = self.flows;
        let of = issuer.processor(spe);
        let issued_on = match self.state(of).running {
            0 => track::program(of),
            thread => track::thread(of, thread),
        };
        self.packets.instant(now, issued_on, "issue", |event| {
            event.flow_ids.push(flow);
        });

        let entries = &mut self.entries[spe.index()][issuer as usize];
        let entry = entries.iter().position(Option::is_none).unwrap_or_else(|| {
            let (entry, mfc) = (entries.len(), track::mfc(spe));
            let (name, rank) = match issuer {
                Issuer::Spu => (format!("entry {entry}"), entry),
                Issuer::Ppe => {
                    if entry == 0 {
                        self.packets.queue_depth(spe, Issuer::Ppe);
                    }
                    (format!("proxy entry {entry}"), track::RANK_OF_PROXY + entry)
                }
            };
            self.packets
                .track(child(mfc, track::entry(spe, issuer, entry), name, rank));
            entries.push(None);
            entry
        });
        entries[entry] = Some((id, flow));
        let name = self.packets.name(&command_name(name, arguments.bytes));
        let mut begin = event(EventType::SliceBegin, track::entry(spe, issuer, entry));
        begin.name_iid = Some(name);
        begin.flow_ids.push(flow);
        begin.debug_annotations = annotations(arguments);
        self.packets.event(now, begin);
    }

    pub fn command_complete(&mut self, now: Moment, spe: SpeId, id: u64) {
        let [of_spu, of_ppe] = &mut self.entries[spe.index()];
        let queues = [(Issuer::Spu, of_spu), (Issuer::Ppe, of_ppe)];
        let mut all = queues.into_iter().flat_map(|(issuer, entries)| {
            let numbered = entries.iter_mut().enumerate();
            numbered.map(move |(entry, held)| (issuer, entry, held))
        });
        let found = all.find(|(.., held)| held.is_some_and(|(other, _)| other == id));
        let Some((issuer, entry, held)) = found else {
            return;
        };
        let Some((_, flow)) = held.take() else { return };
        self.packets.end(now, track::entry(spe, issuer, entry));
        self.packets
            .instant(now, track::mfc(spe), "complete", |event| {
                event.terminating_flow_ids.push(flow);
            });
    }

    pub fn queue_depth(&mut self, now: Moment, spe: SpeId, issuer: Issuer, entries: usize) {
        self.packets
            .count(now, track::queue_depth(spe, issuer), entries as i64);
    }

    pub fn resources(&mut self, now: Moment, resources: &[ResourceCounters]) {
        let (before, busy_before) = &mut self.sampled;
        if busy_before.is_empty() && !resources.is_empty() {
            busy_before.resize(resources.len(), 0);
            self.packets.track(TrackDescriptor {
                child_ordering: Some(ChildTracksOrdering::Explicit.into()),
                ..child(
                    track::MACHINE,
                    track::USE,
                    "use".to_owned(),
                    track::RANK_OF_USE,
                )
            });
            for (number, resource) in resources.iter().enumerate() {
                let name = resource.name.clone();
                self.packets.track(TrackDescriptor {
                    counter: Some(CounterDescriptor {
                        unit_name: Some("%".to_owned()),
                    }),
                    ..child(track::USE, track::resource(number), name, number)
                });
            }
        }
        let span = Span::from(now - *before).as_femtoseconds();
        if span == 0 {
            return;
        }
        let began = mem::replace(before, now);
        let pairs = resources.iter().zip(busy_before).enumerate();
        for (number, (resource, busy_before)) in pairs {
            let busy = resource.busy.as_femtoseconds();
            let busy = busy - mem::replace(busy_before, busy);
            let per_cent = (busy * 100 + span / 2) / span;
            // Perfetto draws a value from its time to the time of the next value.
            self.packets
                .count(began, track::resource(number), per_cent as i64);
        }
    }

    /// Ends all open slices, writes the window if there is one, and writes the remaining packets.
    pub fn finish(
        mut self,
        now: Moment,
        resources: &[ResourceCounters],
        window: Option<[Moment; 2]>,
    ) -> io::Result<()> {
        if let Some([began, ended]) = window {
            let window = child(track::MACHINE, track::WINDOW, "window".to_owned(), 0);
            self.packets.track(window);
            self.packets.begin(began, track::WINDOW, "window");
            self.packets.end(ended, track::WINDOW);
        }
        self.resources(now, resources);
        for number in 0..resources.len() {
            self.packets.count(now, track::resource(number), 0);
        }
        self.activity(now, Processor::Ppe, Activity::Idle);
        self.close(now, Processor::Ppe);
        for spe in 0..self.entries.len() {
            let spe = SpeId::new(spe as u16);
            self.close(now, Processor::Spe(spe));
            for issuer in [Issuer::Spu, Issuer::Ppe] {
                let entries = self.entries[spe.index()][issuer as usize].iter();
                for (entry, _) in entries.enumerate().filter(|(_, held)| held.is_some()) {
                    self.packets.end(now, track::entry(spe, issuer, entry));
                }
            }
        }
        self.packets.finish()
    }

    fn close(&mut self, now: Moment, of: Processor) {
        for thread in 0..self.state(of).activities.len() {
            self.activities_end(now, of, thread as u32);
        }
        for thread in 1..self.state(of).threads.len() {
            self.thread(now, of, thread as u32, ThreadState::Ready, "");
        }
        self.activity(now, of, Activity::Idle);
        self.state(of).running = 0;
        if mem::take(&mut self.state(of).in_program) {
            self.packets.end(now, track::program(of));
        }
    }

    /// Sets the state of a thread. Begins the slice `slice`, unless the thread is ready.
    fn thread(
        &mut self,
        now: Moment,
        of: Processor,
        thread: u32,
        state: ThreadState,
        slice: &'static str,
    ) {
        if thread == 0 {
            return;
        }
        let track = track::thread(of, thread);
        let threads = &mut self.processors[number_of(of)].threads;
        if threads.len() <= thread as usize {
            threads.resize(thread as usize + 1, ThreadState::Unknown);
        }
        let before = mem::replace(&mut threads[thread as usize], state);
        match before {
            ThreadState::Unknown => {
                let name = format!("thread {thread}");
                let parent = track::program(of);
                self.packets
                    .track(child(parent, track, name, thread as usize));
            }
            // Calls with the same state may follow each other.
            ThreadState::Running if state == ThreadState::Running => return,
            ThreadState::Running | ThreadState::Waiting => self.packets.end(now, track),
            ThreadState::Ready => {}
        }
        if state != ThreadState::Ready {
            self.packets.begin(now, track, slice);
        }
    }

    fn state(&mut self, of: Processor) -> &mut ProcessorState {
        &mut self.processors[number_of(of)]
    }
}

fn number_of(processor: Processor) -> usize {
    match processor {
        Processor::Ppe => 0,
        Processor::Spe(spe) => spe.index() + 1,
    }
}

/// The ids of tracks: the processor in bits 40 and up, the kind in bits 32 to 39, then the number.
mod track {
    use super::{Issuer, Processor, SpeId, number_of};

    pub const MACHINE: u64 = 1;
    pub const USE: u64 = 2;
    pub const WINDOW: u64 = 3;

    /// A rank above the numbers of all threads of a program.
    pub const RANK_OF_MFC: usize = 1 << 30;
    /// A rank above the numbers of all entries of the SPU queue.
    pub const RANK_OF_PROXY: usize = 1 << 20;
    /// A rank above the numbers of all entries of both queues.
    pub const RANK_OF_QUEUES: usize = 1 << 21;
    /// A rank above the numbers of all SPEs.
    pub const RANK_OF_USE: usize = 1 << 30;

    const fn of(processor: usize, kind: u64, number: u64) -> u64 {
        (processor as u64 + 1) << 40 | kind << 32 | number
    }

    pub fn program(processor: Processor) -> u64 {
        of(number_of(processor), 0, 0)
    }

    pub fn thread(processor: Processor, thread: u32) -> u64 {
        of(number_of(processor), 1, thread.into())
    }

    pub fn activities(processor: Processor, thread: u32) -> u64 {
        of(number_of(processor), 6, thread.into())
    }

    pub fn mfc(spe: SpeId) -> u64 {
        of(number_of(Processor::Spe(spe)), 2, 0)
    }

    pub fn entry(spe: SpeId, issuer: Issuer, entry: usize) -> u64 {
        let kind = match issuer {
            Issuer::Spu => 3,
            Issuer::Ppe => 5,
        };
        of(number_of(Processor::Spe(spe)), kind, entry as u64)
    }

    pub fn queue_depth(spe: SpeId, issuer: Issuer) -> u64 {
        of(number_of(Processor::Spe(spe)), 4, issuer as u64)
    }

    pub fn resource(number: usize) -> u64 {
        1 << 32 | number as u64
    }
}

/// Returns the arguments of the slice of a command. Addresses are shown in hexadecimal digits.
fn annotations(arguments: Arguments) -> Vec<DebugAnnotation> {
    let Arguments {
        bytes,
        lsa,
        ea,
        tag,
    } = arguments;
    let named = |name: &str| DebugAnnotation {
        name: Some(name.to_owned()),
        ..DebugAnnotation::default()
    };
    let number = |name, value: Option<u64>| {
        let uint_value = Some(value?);
        Some(DebugAnnotation {
            uint_value,
            ..named(name)
        })
    };
    let address = |name, value: Option<u64>| {
        let pointer_value = Some(value?);
        Some(DebugAnnotation {
            pointer_value,
            ..named(name)
        })
    };
    let all = [
        address("ea", ea.map(|ea| ea.0)),
        address("lsa", lsa.map(|lsa| lsa.0.into())),
        number("bytes", (bytes > 0).then_some(bytes)),
        number("tag", tag.map(|tag| tag.number().into())),
    ];
    all.into_iter().flatten().collect()
}

/// Returns a command's name with its bytes, such as `get 16 KB`. A command without bytes of its own,
/// such as a list or a barrier, has only its name. A typed get is a get for the program.
fn command_name(name: &str, bytes: u64) -> String {
    let name = name.strip_prefix("typed ").unwrap_or(name);
    match bytes {
        0 => name.to_owned(),
        _ if bytes.is_multiple_of(1_024) => format!("{name} {} KB", bytes / 1_024),
        _ => format!("{name} {bytes} B"),
    }
}

/// Returns the name of the function in the path of a program's closure: `two passes` for
/// `my_crate::module::two_passes<f32>::{{closure}}`.
fn words_of(path: &str) -> String {
    let mut depth = 0;
    let outside = path.chars().filter(|&letter| {
        let is_outside = depth == 0 && letter != '<';
        match letter {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        is_outside
    });
    let outside: String = outside.collect();
    let mut names = outside.rsplit("::");
    let name = names.find(|name| !name.is_empty() && !name.starts_with('{'));
    name.unwrap_or(path).replace('_', " ")
}

fn thread(tid: i64, name: String) -> ThreadDescriptor {
    ThreadDescriptor {
        pid: Some(PID),
        tid: Some(tid),
        thread_name: Some(name),
    }
}

fn child(parent: u64, uuid: u64, name: String, rank: usize) -> TrackDescriptor {
    TrackDescriptor {
        uuid: Some(uuid),
        name: Some(name),
        parent_uuid: Some(parent),
        sibling_order_rank: i32::try_from(rank).ok(),
        ..TrackDescriptor::default()
    }
}

fn event(kind: EventType, track: u64) -> TrackEvent {
    TrackEvent {
        r#type: Some(kind.into()),
        track_uuid: Some(track),
        ..TrackEvent::default()
    }
}

/// The packets that are not written yet.
struct Packets {
    to: Box<dyn io::Write + Send>,
    kept: Trace,
    /// The ids of the interned names, from 1 on.
    names: HashMap<String, u64>,
    /// The names that the next packet interns.
    new_names: Vec<EventName>,
    /// The first error of the writer. After an error, nothing is written.
    error: Option<io::Error>,
}

impl Packets {
    fn new(to: Box<dyn io::Write + Send>) -> Self {
        let mut packets = Self {
            to,
            kept: Trace::default(),
            names: HashMap::new(),
            new_names: Vec::new(),
            error: None,
        };
        packets.push(TracePacket {
            sequence_flags: Some(INCREMENTAL_STATE_CLEARED),
            ..TracePacket::default()
        });
        packets
    }

    fn queue_depth(&mut self, spe: SpeId, issuer: Issuer) {
        let name = match issuer {
            Issuer::Spu => format!("MFC queue of {spe}"),
            Issuer::Ppe => format!("MFC proxy queue of {spe}"),
        };
        let uuid = track::queue_depth(spe, issuer);
        let rank = track::RANK_OF_QUEUES + issuer as usize;
        self.track(TrackDescriptor {
            counter: Some(CounterDescriptor {
                unit_name: Some("commands".to_owned()),
            }),
            ..child(track::mfc(spe), uuid, name, rank)
        });
    }

    fn begin(&mut self, now: Moment, track: u64, name: &'static str) {
        let mut begin = event(EventType::SliceBegin, track);
        begin.name_iid = Some(self.name(name));
        self.event(now, begin);
    }

    fn end(&mut self, now: Moment, track: u64) {
        self.event(now, event(EventType::SliceEnd, track));
    }

    fn instant(
        &mut self,
        now: Moment,
        track: u64,
        name: &'static str,
        flow: impl FnOnce(&mut TrackEvent),
    ) {
        let mut instant = event(EventType::Instant, track);
        instant.name_iid = Some(self.name(name));
        flow(&mut instant);
        self.event(now, instant);
    }

    fn count(&mut self, now: Moment, track: u64, value: i64) {
        let mut count = event(EventType::Counter, track);
        count.counter_value = Some(value);
        self.event(now, count);
    }

    /// Returns the id of a name. The next packet interns a new name.
    fn name(&mut self, name: &str) -> u64 {
        if let Some(id) = self.names.get(name) {
            return *id;
        }
        let id = self.names.len() as u64 + 1;
        self.names.insert(name.to_owned(), id);
        self.new_names.push(EventName {
            iid: Some(id),
            name: Some(name.to_owned()),
        });
        id
    }

    fn event(&mut self, now: Moment, event: TrackEvent) {
        let names = mem::take(&mut self.new_names);
        self.push(TracePacket {
            timestamp: Some(now.as_nanoseconds()),
            track_event: Some(event),
            interned_data: (!names.is_empty()).then_some(InternedData { event_names: names }),
            sequence_flags: Some(NEEDS_INCREMENTAL_STATE),
            ..TracePacket::default()
        });
    }

    fn track(&mut self, descriptor: TrackDescriptor) {
        self.push(TracePacket {
            track_descriptor: Some(descriptor),
            ..TracePacket::default()
        });
    }

    fn push(&mut self, packet: TracePacket) {
        self.kept.packet.push(TracePacket {
            trusted_packet_sequence_id: Some(1),
            ..packet
        });
        if self.kept.packet.len() == PACKETS_KEPT {
            self.write();
        }
    }

    fn write(&mut self) {
        if self.error.is_none() {
            let part = self.kept.encode_to_vec();
            self.error = without_panic(|| self.to.write_all(&part)).err();
        }
        self.kept.packet.clear();
    }

    fn finish(mut self) -> io::Result<()> {
        self.write();
        match self.error {
            Some(error) => Err(error),
            None => without_panic(|| self.to.flush()),
        }
    }
}

/// Calls the user's writer. If it panics, returns an error, because the event loop must not unwind.
fn without_panic(write: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    catch_unwind(AssertUnwindSafe(write))
        .unwrap_or_else(|_| Err(io::Error::other("the writer of the trace panicked")))
}
