use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use cellworks_machine::{Processor, Span, SpeId};
use proptest::prelude::*;
use prost::Message;

use super::hash::Hash;
use super::perfetto::{
    EventType, INCREMENTAL_STATE_CLEARED, NEEDS_INCREMENTAL_STATE, Trace, TracePacket,
    TrackDescriptor, TrackEvent,
};
use super::*;
use crate::issuer::Issuer;
use crate::time::{Femtoseconds, Moment};

fn ns(nanoseconds: u64) -> Moment {
    fs(nanoseconds * 1_000_000)
}

fn fs(femtoseconds: u64) -> Moment {
    Moment::from_femtoseconds(femtoseconds)
}

/// A file that a test can read during the run.
#[derive(Clone, Default)]
struct File(Arc<Mutex<Vec<u8>>>);

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl File {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

fn spe(index: u16) -> SpeId {
    SpeId::new(index)
}

fn ring(busy_ns: u64) -> ResourceCounters {
    ResourceCounters {
        name: "Cell 0, ring 0".to_owned(),
        packets: busy_ns / 5,
        bytes: busy_ns / 5 * 128,
        busy: Span::from_nanoseconds(busy_ns),
    }
}

/// The arguments of a command that moves some bytes.
fn moved(bytes: u64) -> Arguments {
    Arguments {
        bytes,
        ..Arguments::default()
    }
}

fn untraced() -> Observer {
    Observer::new("Test", 2, None)
}

/// Observes `run` with a trace, and returns the trace.
fn traced(run: impl FnOnce(&mut Observer), end_ns: u64) -> Vec<u8> {
    let file = File::default();
    let mut observer = Observer::new("Test", 2, Some(Box::new(file.clone())));
    assert!(observer.is_tracing());
    run(&mut observer);
    observer
        .finish(ns(end_ns), Vec::new(), Vec::new(), 0)
        .unwrap();
    well_formed(&file.bytes());
    file.bytes()
}

/// Records a loop with two buffers, with the second get under way during the computation.
fn double_buffered(observer: &mut Observer) {
    let (spe, of) = (spe(1), Processor::Spe(spe(1)));
    observer.program_began(ns(10), spe, "double buffered");
    observer.command_issued(ns(20), spe, Issuer::Spu, 0, "get", moved(4096));
    observer.queue_depth(ns(20), spe, Issuer::Spu, 1);
    observer.command_issued(ns(30), spe, Issuer::Spu, 1, "get", moved(4096));
    observer.queue_depth(ns(30), spe, Issuer::Spu, 2);
    observer.activity(ns(40), of, Activity::Waiting(Cause::Dma));
    observer.command_complete(ns(120), spe, 0);
    observer.queue_depth(ns(120), spe, Issuer::Spu, 1);
    observer.activity(ns(120), of, Activity::Computing);
    observer.command_complete(ns(170), spe, 1);
    observer.queue_depth(ns(170), spe, Issuer::Spu, 0);
    observer.program_ended(ns(200), spe);
}

/// Checks that Perfetto accepts a trace, and returns its packets.
fn well_formed(bytes: &[u8]) -> Vec<TracePacket> {
    let trace = Trace::decode(bytes).unwrap();
    assert_eq!(trace.encode_to_vec(), bytes, "no fields but the known ones");
    assert_eq!(trace.packet[0].sequence_flags(), INCREMENTAL_STATE_CLEARED);
    let mut tracks: BTreeMap<u64, TrackDescriptor> = BTreeMap::new();
    let mut names = BTreeSet::new();
    let mut last_ns: BTreeMap<u64, u64> = BTreeMap::new();
    let mut open: BTreeMap<u64, u32> = BTreeMap::new();
    // The number of events of each flow, and whether it has ended.
    let mut flows: BTreeMap<u64, (u32, bool)> = BTreeMap::new();
    for packet in &trace.packet {
        assert_eq!(packet.trusted_packet_sequence_id(), 1);
        if let Some(track) = &packet.track_descriptor {
            let parent = track.parent_uuid;
            assert!(parent.is_none_or(|parent| tracks.contains_key(&parent)));
            assert!(tracks.insert(track.uuid(), track.clone()).is_none());
        }
        if let Some(data) = &packet.interned_data {
            for name in &data.event_names {
                assert!(names.insert(name.iid()), "a name is introduced once");
            }
        }
        let Some(event) = &packet.track_event else {
            continue;
        };
        assert_eq!(packet.sequence_flags(), NEEDS_INCREMENTAL_STATE);
        let track = &tracks[&event.track_uuid()];
        let last_ns = last_ns.entry(track.uuid()).or_default();
        assert!(
            packet.timestamp() >= *last_ns,
            "time goes back on {track:?}"
        );
        *last_ns = packet.timestamp();
        assert_eq!(
            track.counter.is_some(),
            event.r#type() == EventType::Counter
        );
        let named = event.name.is_some() || names.contains(&event.name_iid());
        let open = open.entry(track.uuid()).or_default();
        match event.r#type() {
            EventType::SliceBegin => {
                assert!(named);
                *open += 1;
            }
            EventType::SliceEnd => *open = open.checked_sub(1).expect("it has begun"),
            EventType::Instant => assert!(named),
            EventType::Counter => assert!(event.counter_value.is_some()),
            EventType::Unspecified => panic!("an event without a type"),
        }
        for flow in &event.flow_ids {
            let (events, ended) = flows.entry(*flow).or_default();
            assert!(!*ended);
            *events += 1;
        }
        for flow in &event.terminating_flow_ids {
            let (events, ended) = flows.get_mut(flow).expect("it has begun");
            assert_eq!((*events, *ended), (2, false), "issue, slice, end");
            *ended = true;
        }
    }
    assert!(open.values().all(|open| *open == 0), "every slice ends");
    assert!(flows.values().all(|(events, _)| *events == 2));
    trace.packet
}

fn counter(packets: &[TracePacket], name: &str) -> Vec<(u64, i64)> {
    let descriptors = packets
        .iter()
        .filter_map(|packet| packet.track_descriptor.as_ref());
    let tracks: Vec<u64> = descriptors
        .filter(|track| track.name() == name)
        .map(TrackDescriptor::uuid)
        .collect();
    let values = packets.iter().filter_map(|packet| {
        let event = packet.track_event.as_ref()?;
        let value = event.counter_value?;
        tracks
            .contains(&event.track_uuid())
            .then_some((packet.timestamp(), value))
    });
    values.collect()
}

fn of_track(slices: &[Slice], track: &str) -> Vec<(String, u64, u64)> {
    let on_track = slices.iter().filter(|slice| slice.track == track);
    on_track
        .map(|slice| (slice.name.clone(), slice.start_ns, slice.end_ns))
        .collect()
}

fn slice(name: &str, start_ns: u64, end_ns: u64) -> (String, u64, u64) {
    (name.to_owned(), start_ns, end_ns)
}

#[test]
fn the_time_of_every_spe_adds_up() {
    let mut observer = untraced();
    double_buffered(&mut observer);
    let of = Processor::Spe(spe(0));
    observer.program_began(fs(5), spe(0), "waits");
    for (number, cause) in [
        Cause::Dma,
        Cause::Mailbox,
        Cause::Signal,
        Cause::Lock,
        Cause::Other,
    ]
    .into_iter()
    .enumerate()
    {
        let from = 100 + (number as u64) * 100;
        observer.activity(fs(from), of, Activity::Waiting(cause));
        observer.activity(fs(from + number as u64 + 1), of, Activity::Computing);
    }
    observer.activity(fs(900), Processor::Ppe, Activity::Computing);
    observer.program_ended(fs(1000), spe(0));
    let counters = observer.finish(ns(300), Vec::new(), Vec::new(), 7).unwrap();

    let span = |fs: u64| Span::from_femtoseconds(fs.into());
    assert_eq!(
        (counters.elapsed, counters.events),
        (Span::from_nanoseconds(300), 7)
    );
    for did in &counters.spes {
        let mut sum = Span::default();
        for part in [
            did.computing,
            did.waiting_for_dma,
            did.waiting_for_mailbox,
            did.waiting_for_signal,
            did.waiting_for_lock,
            did.waiting_for_other,
            did.idle,
        ] {
            sum += part;
        }
        assert_eq!(sum, counters.elapsed);
    }
    let [first, second] = &counters.spes[..] else {
        panic!("two SPEs");
    };
    assert_eq!(first.computing, span(1000 - 5 - 15));
    assert_eq!(
        [
            first.waiting_for_dma,
            first.waiting_for_mailbox,
            first.waiting_for_signal,
            first.waiting_for_lock,
            first.waiting_for_other
        ],
        [1, 2, 3, 4, 5].map(span)
    );
    assert_eq!(second.waiting_for_dma, Span::from_nanoseconds(80));
    assert_eq!(second.computing, Span::from_nanoseconds(110));
    assert_eq!(second.idle, Span::from_nanoseconds(110));
    assert_eq!((second.commands, second.bytes), (2, 8192));
}

#[test]
fn commands_count_when_they_are_complete() {
    let mut observer = untraced();
    observer.command_issued(fs(1), spe(0), Issuer::Spu, 7, "get", moved(128));
    observer.command_issued(fs(2), spe(0), Issuer::Spu, 8, "put", moved(16));
    observer.command_complete(fs(3), spe(0), 8);
    let counters = observer.finish(fs(4), Vec::new(), Vec::new(), 0).unwrap();
    assert_eq!((counters.spes[0].commands, counters.spes[0].bytes), (1, 16));
}

#[test]
fn counters_are_printed_as_tables() {
    let mut observer = untraced();
    double_buffered(&mut observer);
    let mut counters = observer
        .finish(ns(400), vec![ring(40)], Vec::new(), 1234)
        .unwrap();
    counters.hazards = vec!["hazard at 1.50 us: two puts".to_owned()];
    counters.hazards_seen = 3;
    assert_eq!(
        counters.to_string(),
        "\
simulated 400.0 ns in 1234 events

SPE  computing     DMA    idle  commands    moved
1       27.5 %  20.0 %  52.5 %         2  8.00 KB

part              busy  packets    moved
Cell 0, ring 0  10.0 %        8  1.00 KB

busiest: the PPE, 100.0 %

hazards: 3, of which these differ
hazard at 1.50 us: two puts
"
    );
    counters.trace_hash = 0x7ace;
    assert_eq!(
        format!("{counters:?}"),
        format!("{counters}trace hash 0000000000007ace")
    );
}

#[test]
fn counters_of_an_empty_run_are_printed() {
    let counters = Observer::new("Test", 0, None)
        .finish(fs(0), Vec::new(), Vec::new(), 0)
        .unwrap();
    assert_eq!(counters.to_string(), "simulated 0.0 ns in 0 events\n");
}

fn hash_of(run: impl FnOnce(&mut Observer)) -> u64 {
    let mut observer = untraced();
    run(&mut observer);
    observer
        .finish(ns(1000), Vec::new(), Vec::new(), 0)
        .unwrap()
        .trace_hash
}

#[test]
fn the_hash_is_the_same_for_equal_runs_with_a_trace_or_without() {
    let plain = hash_of(double_buffered);
    assert_eq!(plain, hash_of(double_buffered));
    // A different number means that the hash function has changed, or depends on the computer.
    assert_eq!(plain, 0x51E7_ECEF_8081_A7DA);
    let mut observer = Observer::new("Test", 2, Some(Box::new(io::sink())));
    double_buffered(&mut observer);
    observer.resources(ns(500), &[ring(1)]);
    let traced = observer
        .finish(ns(1000), Vec::new(), Vec::new(), 99)
        .unwrap();
    assert_eq!(plain, traced.trace_hash);
}

#[test]
fn the_hash_depends_on_every_call_and_all_its_values() {
    let (a, b) = (Processor::Spe(spe(0)), Processor::Spe(spe(1)));
    let issued = |observer: &mut Observer| {
        observer.command_issued(fs(1), spe(0), Issuer::Spu, 0, "get", moved(16))
    };
    let hashes = [
        hash_of(|_| ()),
        hash_of(|o| o.program_began(fs(1), spe(0), "one")),
        hash_of(|o| o.program_began(fs(1), spe(0), "two")),
        hash_of(|o| o.program_began(fs(2), spe(0), "one")),
        hash_of(|o| o.program_began(fs(1), spe(1), "one")),
        hash_of(|o| o.program_ended(fs(1), spe(0))),
        hash_of(|o| o.activity(fs(1), a, Activity::Computing)),
        hash_of(|o| o.activity(fs(1), a, Activity::Waiting(Cause::Dma))),
        hash_of(|o| o.activity(fs(1), b, Activity::Computing)),
        hash_of(|o| o.activity(fs(1), Processor::Ppe, Activity::Computing)),
        hash_of(|o| o.waits(fs(1), a, 0, Cause::Dma)),
        hash_of(|o| o.waits(fs(1), a, 0, Cause::Lock)),
        hash_of(|o| o.waits(fs(1), a, 1, Cause::Dma)),
        hash_of(|o| o.goes_on(fs(1), a, 1)),
        hash_of(|o| o.thread_ended(fs(1), a, 1)),
        hash_of(issued),
        hash_of(|o| o.command_issued(fs(1), spe(0), Issuer::Spu, 1, "get", moved(16))),
        hash_of(|o| o.command_issued(fs(1), spe(0), Issuer::Spu, 0, "put", moved(16))),
        hash_of(|o| o.command_issued(fs(1), spe(0), Issuer::Spu, 0, "get", moved(32))),
        hash_of(|o| {
            issued(o);
            o.command_complete(fs(2), spe(0), 0);
        }),
        hash_of(|o| o.command_issued(fs(1), spe(0), Issuer::Ppe, 0, "get", moved(16))),
        hash_of(|o| o.queue_depth(fs(1), spe(0), Issuer::Ppe, 1)),
        hash_of(|o| o.queue_depth(fs(1), spe(0), Issuer::Spu, 1)),
        hash_of(|o| o.queue_depth(fs(1), spe(0), Issuer::Spu, 2)),
        untraced()
            .finish(fs(1), Vec::new(), Vec::new(), 0)
            .unwrap()
            .trace_hash,
        untraced()
            .finish(fs(1), vec![ring(5)], Vec::new(), 0)
            .unwrap()
            .trace_hash,
    ];
    let different: BTreeSet<_> = hashes.iter().collect();
    assert_eq!(different.len(), hashes.len());
}

#[test]
fn a_double_buffered_loop_shows_as_overlapping_slices() {
    let trace = traced(double_buffered, 300);
    let slices = read_slices(&trace).unwrap();
    assert_eq!(
        of_track(&slices, "SPE 1"),
        [
            slice("computing", 10, 40),
            slice("waiting for DMA", 40, 120),
            slice("computing", 120, 200),
            slice("double buffered", 10, 200),
        ]
    );
    assert_eq!(
        of_track(&slices, "SPE 1/MFC/entry 0"),
        [slice("get 4 KB", 20, 120)]
    );
    assert_eq!(
        of_track(&slices, "SPE 1/MFC/entry 1"),
        [slice("get 4 KB", 30, 170)]
    );
    let second_get = slices.iter().find(|slice| slice.track.ends_with("entry 1"));
    let computing_on_first = slices.iter().find(|slice| slice.start_ns == 120);
    assert!(second_get.unwrap().overlaps(computing_on_first.unwrap()));
    assert_eq!(
        counter(&well_formed(&trace), "MFC queue of SPE 1"),
        [(20, 1), (30, 2), (120, 1), (170, 0)]
    );
}

#[test]
fn flows_lead_from_the_issue_to_the_command_and_to_its_end() {
    let packets = well_formed(&traced(double_buffered, 300));
    let events: Vec<&TrackEvent> = packets
        .iter()
        .filter_map(|p| p.track_event.as_ref())
        .collect();
    let through = |flow: u64| {
        let with_flow = events.iter().filter(move |event| {
            event.flow_ids.contains(&flow) || event.terminating_flow_ids.contains(&flow)
        });
        with_flow.map(|event| event.r#type()).collect::<Vec<_>>()
    };
    let way = [
        EventType::Instant,
        EventType::SliceBegin,
        EventType::Instant,
    ];
    assert_eq!(
        [through(1), through(2), through(3)],
        [way.to_vec(), way.to_vec(), vec![]]
    );
}

#[test]
fn processors_and_mfcs_are_threads_with_names_for_the_tables_of_perfetto() {
    let packets = well_formed(&traced(double_buffered, 300));
    let tracks: Vec<_> = packets
        .iter()
        .filter_map(|packet| packet.track_descriptor.as_ref())
        .collect();
    let threads = tracks.iter().filter_map(|track| track.thread.as_ref());
    let threads: Vec<_> = threads
        .map(|thread| (thread.pid(), thread.tid(), thread.thread_name()))
        .collect();
    assert_eq!(
        threads,
        [
            (1, 1, "PPE"),
            (1, 3, "SPE 0"),
            (1, 4, "MFC of SPE 0"),
            (1, 5, "SPE 1"),
            (1, 6, "MFC of SPE 1"),
        ]
    );
    // The nearest thread above a track gives its slices and counters a row in a table.
    let owner = |name: &str| {
        let by_uuid = |uuid| tracks.iter().find(|track| track.uuid() == uuid).unwrap();
        let mut track = tracks.iter().rfind(|track| track.name() == name).unwrap();
        while track.thread.is_none() {
            track = by_uuid(track.parent_uuid());
        }
        track.thread.as_ref().unwrap().thread_name().to_owned()
    };
    assert_eq!(owner("MFC queue of SPE 1"), "MFC of SPE 1");
    assert_eq!(owner("entry 1"), "MFC of SPE 1");
}

#[test]
fn slices_have_words_of_the_program() {
    let named = |path: &str| {
        let observe = |observer: &mut Observer| {
            observer.program_began(ns(0), spe(0), path);
            observer.program_ended(ns(9), spe(0));
        };
        let slices = read_slices(&traced(observe, 10)).unwrap();
        slices.last().unwrap().name.clone()
    };
    assert_eq!(named("sum"), "sum");
    for (path, words) in [
        ("shop::main::{{closure}}", "main"),
        (
            "shop::sums::two_passes<f32>::{{closure}}::{{closure}}",
            "two passes",
        ),
        (
            "<shop::Part<u8> as shop::Run>::run<alloc::vec::Vec<u8>>::{{closure}}",
            "run",
        ),
        ("{{closure}}", "{{closure}}"),
    ] {
        assert_eq!(named(path), words);
    }
    let commands = |bytes: u64| {
        let observe = |observer: &mut Observer| {
            observer.command_issued(ns(0), spe(0), Issuer::Spu, 0, "typed put", moved(bytes));
            observer.command_complete(ns(1), spe(0), 0);
        };
        let slices = read_slices(&traced(observe, 10)).unwrap();
        slices.last().unwrap().name.clone()
    };
    assert_eq!(
        [0, 16, 1_024, 16_384, 1_040].map(commands),
        ["put", "put 16 B", "put 1 KB", "put 16 KB", "put 1040 B"]
    );
}

#[test]
fn threads_have_tracks_of_their_own_and_issue_commands_there() {
    let trace = traced(
        |observer| {
            let (spe, of) = (spe(0), Processor::Spe(spe(0)));
            observer.program_began(fs(0), spe, "threads");
            observer.waits(ns(1), of, 0, Cause::Other);
            observer.goes_on(ns(1), of, 1);
            observer.command_issued(ns(2), spe, Issuer::Spu, 0, "get", moved(16));
            observer.waits(ns(3), of, 1, Cause::Dma);
            observer.goes_on(ns(4), of, 2);
            // The thread yields the processor without a wait.
            observer.goes_on(ns(6), of, 3);
            observer.thread_ended(ns(7), of, 3);
            observer.command_complete(ns(7), spe, 0);
            observer.goes_on(ns(8), of, 1);
            observer.goes_on(ns(8), of, 1);
            observer.thread_ended(ns(9), of, 1);
            observer.goes_on(ns(9), of, 2);
            observer.thread_ended(ns(9), of, 2);
            observer.goes_on(ns(9), of, 0);
            observer.program_ended(ns(10), spe);
        },
        10,
    );
    let slices = read_slices(&trace).unwrap();
    assert_eq!(
        of_track(&slices, "SPE 0/thread 1"),
        [
            slice("running", 1, 3),
            slice("waiting for DMA", 3, 8),
            slice("running", 8, 9)
        ]
    );
    assert_eq!(
        of_track(&slices, "SPE 0/thread 2"),
        [slice("running", 4, 6), slice("running", 9, 9)]
    );
    assert_eq!(
        of_track(&slices, "SPE 0/thread 3"),
        [slice("running", 6, 7)]
    );
    assert_eq!(of_track(&slices, "SPE 0/thread 0"), []);
    let packets = well_formed(&trace);
    let issue = packets.iter().find_map(|packet| {
        let event = packet.track_event.as_ref()?;
        (event.r#type() == EventType::Instant).then(|| event.track_uuid())
    });
    let thread = packets.iter().find_map(|packet| {
        let track = packet.track_descriptor.as_ref()?;
        (track.name() == "thread 1").then(|| track.uuid())
    });
    assert_eq!(issue, thread);
}

#[test]
fn what_programs_name_is_beside_what_the_machine_does() {
    let observe = |observer: &mut Observer| {
        let (spe, of) = (spe(0), Processor::Spe(spe(0)));
        observer.program_began(ns(0), spe, "named");
        observer.activity_begins(ns(0), of, 0, "set up");
        observer.waits(ns(1), of, 0, Cause::Other);
        observer.goes_on(ns(1), of, 1);
        observer.activity_begins(ns(2), of, 1, "row");
        observer.activity_begins(ns(2), of, 1, "staging");
        observer.waits(ns(3), of, 1, Cause::Dma);
        observer.goes_on(ns(5), of, 1);
        observer.activity_ends(ns(6), of, 1);
        observer.thread_ended(ns(8), of, 1);
        // The activity has ended with the thread.
        observer.activity_ends(ns(8), of, 1);
        observer.goes_on(ns(8), of, 0);
        observer.program_ended(ns(10), spe);
    };
    let slices = read_slices(&traced(observe, 10)).unwrap();
    assert_eq!(
        of_track(&slices, "SPE 0/activities"),
        [slice("set up", 0, 10)]
    );
    assert_eq!(
        of_track(&slices, "SPE 0/thread 1/activities"),
        [slice("staging", 2, 6), slice("row", 2, 8)]
    );
    assert_eq!(
        of_track(&slices, "SPE 0/thread 1"),
        [
            slice("running", 1, 3),
            slice("waiting for DMA", 3, 5),
            slice("running", 5, 8)
        ]
    );
}

#[test]
fn what_programs_name_is_not_in_the_hash() {
    let of = Processor::Spe(spe(0));
    let hash_of = |activities: fn(&mut Observer, Processor)| {
        let mut observer = untraced();
        observer.program_began(ns(0), spe(0), "named");
        activities(&mut observer, of);
        observer
            .finish(ns(1), Vec::new(), Vec::new(), 0)
            .unwrap()
            .trace_hash
    };
    let named = hash_of(|observer, of| observer.activity_begins(ns(0), of, 0, "set up"));
    assert_eq!(named, hash_of(|_, _| ()));
}

#[test]
fn what_is_under_way_at_the_end_ends_there() {
    let trace = traced(
        |observer| {
            observer.goes_on(fs(0), Processor::Ppe, 1);
            observer.activity(ns(1), Processor::Ppe, Activity::Waiting(Cause::Mailbox));
            observer.program_began(ns(1), spe(0), "blocked");
            observer.goes_on(ns(2), Processor::Spe(spe(0)), 1);
            observer.command_issued(ns(3), spe(0), Issuer::Spu, 0, "get", moved(16));
        },
        50,
    );
    let slices = read_slices(&trace).unwrap();
    let (ended, open): (Vec<_>, Vec<_>) = slices.iter().partition(|slice| slice.end_ns < 50);
    assert_eq!((ended.len(), ended[0].end_ns), (1, 1));
    let names: Vec<_> = open.iter().map(|slice| slice.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "waiting for a mailbox",
            "running",
            "running",
            "computing",
            "blocked",
            "get 16 B"
        ]
    );
}

#[test]
fn entries_are_used_again() {
    let trace = traced(
        |observer| {
            for round in 0..100 {
                observer.command_issued(
                    ns(10 * round),
                    spe(0),
                    Issuer::Spu,
                    round,
                    "put",
                    moved(16),
                );
                observer.command_complete(ns(10 * round + 5), spe(0), round);
            }
        },
        1000,
    );
    let slices = read_slices(&trace).unwrap();
    assert_eq!(of_track(&slices, "SPE 0/MFC/entry 0").len(), 100);
}

#[test]
fn nanoseconds_are_rounded_down() {
    let trace = traced(
        |observer| {
            observer.command_issued(
                ns(1) - Femtoseconds(1),
                spe(0),
                Issuer::Spu,
                0,
                "get",
                moved(16),
            );
            observer.command_complete(ns(3) - Femtoseconds(1), spe(0), 0);
        },
        3,
    );
    assert_eq!(
        of_track(&read_slices(&trace).unwrap(), "SPE 0/MFC/entry 0"),
        [slice("get 16 B", 0, 2)]
    );
}

#[test]
fn use_is_counted_from_sample_to_sample() {
    let file = File::default();
    let mut observer = Observer::new("Test", 1, Some(Box::new(file.clone())));
    observer.resources(fs(0), &[ring(0)]);
    observer.resources(ns(100), &[ring(25)]);
    observer.resources(ns(200), &[ring(125)]);
    observer
        .finish(ns(400), vec![ring(126)], Vec::new(), 0)
        .unwrap();
    assert_eq!(
        counter(&well_formed(&file.bytes()), "Cell 0, ring 0"),
        [(0, 25), (100, 100), (200, 1), (400, 0)]
    );
}

#[test]
fn a_trace_is_written_while_the_run_goes_on() {
    let file = File::default();
    let mut observer = Observer::new("Test", 1, Some(Box::new(file.clone())));
    let mut written = 0;
    for round in 0..10 {
        for step in 0..1000 {
            observer.queue_depth(fs(round * 1000 + step), spe(0), Issuer::Spu, 1);
        }
        let before = std::mem::replace(&mut written, file.bytes().len());
        assert!(
            round == 0 || written > before,
            "nothing was written in round {round}"
        );
    }
    observer
        .finish(fs(20_000), Vec::new(), Vec::new(), 0)
        .unwrap();
    assert_eq!(
        counter(&well_formed(&file.bytes()), "MFC queue of SPE 0").len(),
        10_000
    );
}

#[test]
fn equal_runs_have_equal_traces() {
    let trace = traced(double_buffered, 300);
    assert_eq!(trace, traced(double_buffered, 300));
    // This number must be the same on every computer and in every build profile.
    let mut hash = Hash::new();
    trace.iter().for_each(|&byte| hash.word(byte.into()));
    assert_eq!(hash.value(), 0x22FC_3726_95B3_CD36);
}

/// A disk that is full from the start, or when the trace is flushed.
struct Full {
    when_flushed: bool,
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.when_flushed {
            Ok(bytes.len())
        } else {
            Err(io::Error::other("the disk is full"))
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(io::Error::other("the disk is full"))
    }
}

#[test]
fn a_trace_that_cannot_be_written_is_an_error_at_the_end() {
    for when_flushed in [false, true] {
        let mut observer = Observer::new("Test", 2, Some(Box::new(Full { when_flushed })));
        (0..100).for_each(|_| count_often(&mut observer));
        let error = observer
            .finish(ns(1), Vec::new(), Vec::new(), 0)
            .unwrap_err();
        assert_eq!(error.to_string(), "the disk is full");
    }
}

fn count_often(observer: &mut Observer) {
    (0..20).for_each(|entries| observer.queue_depth(fs(0), spe(0), Issuer::Spu, entries));
}

/// Returns a trace of these events on a track that it describes.
fn trace_of(events: &[TrackEvent]) -> Vec<u8> {
    let track = TracePacket {
        track_descriptor: Some(TrackDescriptor {
            uuid: Some(1),
            name: Some("SPE 0".to_owned()),
            ..TrackDescriptor::default()
        }),
        ..TracePacket::default()
    };
    let events = events.iter().map(|event| TracePacket {
        track_event: Some(event.clone()),
        ..TracePacket::default()
    });
    let packet = std::iter::once(track).chain(events).collect();
    Trace { packet }.encode_to_vec()
}

fn event(kind: EventType, track: u64, name: Option<&str>) -> TrackEvent {
    TrackEvent {
        r#type: Some(kind.into()),
        track_uuid: Some(track),
        name: name.map(str::to_owned),
        ..TrackEvent::default()
    }
}

#[test]
fn traces_that_cannot_be_read_say_why() {
    let error = |events: &[TrackEvent]| read_slices(&trace_of(events)).unwrap_err().to_string();
    assert_eq!(
        error(&[event(EventType::SliceEnd, 9, None)]),
        "packet 1 is on track 9, which no packet before it describes; only traces of simulated \
         machines can be read"
    );
    assert_eq!(
        error(&[event(EventType::SliceBegin, 1, None)]),
        "the slice that packet 1 begins on track `SPE 0` has no name"
    );
    assert_eq!(
        error(&[event(EventType::SliceEnd, 1, None)]),
        "packet 1 ends a slice on track `SPE 0`, where none is open"
    );
    assert_eq!(
        error(&[event(EventType::SliceBegin, 1, Some("get"))]),
        "the trace ends within the slice `get` on track `SPE 0`"
    );
    let cut_off = traced(double_buffered, 300);
    let error = read_slices(&cut_off[..cut_off.len() - 1])
        .unwrap_err()
        .to_string();
    let expected = "this is no Perfetto trace, or its end is missing: ";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn causes_are_named() {
    let causes = [
        Cause::Dma,
        Cause::Mailbox,
        Cause::Signal,
        Cause::Lock,
        Cause::Other,
    ];
    assert_eq!(
        causes.map(|cause| cause.to_string()),
        ["DMA", "a mailbox", "a signal", "a lock", "something else"]
    );
}

proptest! {
    /// Checks that reports in any order make a well-formed trace.
    #[test]
    fn every_run_has_a_well_formed_trace(
        steps in proptest::collection::vec((0_u8..8, 0_u16..2, 0_u32..4, 0_u64..3_000_000), 0..400),
    ) {
        let mut now = Moment::START;
        let mut in_flight: [Vec<u64>; 2] = Default::default();
        let trace = traced(
            |observer| {
                for (number, (what, index, thread, pause)) in steps.into_iter().enumerate() {
                    now += Femtoseconds(pause);
                    let (spe, of) = (spe(index), Processor::Spe(spe(index)));
                    let in_flight = &mut in_flight[usize::from(index)];
                    match what {
                        0 => observer.activity(now, of, Activity::Computing),
                        1 => observer.activity(now, of, Activity::Waiting(Cause::Signal)),
                        2 => observer.waits(now, of, thread, Cause::Dma),
                        3 => observer.goes_on(now, of, thread),
                        4 => observer.thread_ended(now, of, thread),
                        5 => {
                            observer.command_issued(now, spe, Issuer::Spu, number as u64, "get", moved(16));
                            in_flight.push(number as u64);
                        }
                        6 => if let Some(id) = in_flight.pop() {
                            observer.command_complete(now, spe, id);
                        },
                        _ => {
                            observer.program_began(now, spe, "program");
                            observer.goes_on(now, of, thread);
                            observer.program_ended(now, spe);
                        }
                    }
                }
            },
            400 * 3,
        );
        read_slices(&trace).unwrap();
    }
}
