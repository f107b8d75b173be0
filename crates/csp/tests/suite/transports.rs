//! Transports, if SPEs are confined to their local stores: they carry items and messages, which
//! takes time on a simulated machine.

use cellworks_csp::{
    Alternation, Any, Channel, Network, NetworkError, Place, Process, Reader, Traffic, Transport,
};
use cellworks_machine::{CellMachine, CellSpe, Cycles, Machine, Span, Spe, Wait};
use cellworks_sim::{Description, HazardWatch, Sim};

use crate::ring::ring;
use crate::{network, qs22, spe, with_every_transport};

with_every_transport![
    a_full_local_store_flushes_the_oldest_items,
    items_of_a_poisoned_buffer_come_back_from_wherever_they_wait,
    an_item_that_does_not_fit_for_its_writer_is_an_error,
    an_item_that_does_not_fit_for_its_reader_is_an_error,
    a_writer_waits_for_room_that_its_readers_hold,
    processes_of_one_spe_move_nothing,
    the_main_process_reads_and_writes_large_items,
    reports_name_the_lines_of_the_user,
];

const KB: usize = 1024;

/// An item in which each byte is `index`.
fn block(index: usize, bytes: usize) -> Vec<u8> {
    vec![index as u8; bytes]
}

fn a_full_local_store_flushes_the_oldest_items<M: Machine>(machine: &M) {
    const BLOCKS: usize = 10;
    const BYTES: usize = 48 * KB;
    let (mut writer, mut reader) = Channel::new().buffered(BLOCKS).one_to_one();
    let (mut full, mut begin) = Channel::new().one_to_one::<()>();
    let mut network = network(machine);
    network.process("writer", spe(0), move |process| {
        for index in 0..BLOCKS {
            writer.write(process, block(index, BYTES))?;
        }
        Ok(full.write(process, ())?)
    });
    network.process("reader", spe(1), move |process| {
        begin.read(process)?;
        for index in 0..BLOCKS {
            assert_eq!(reader.read(process)?, block(index, BYTES));
        }
        Ok(())
    });
    let ((), traffic) = network.run_counted(|_| ()).unwrap();
    // A local store has room for at most five items.
    let flushed = traffic.items_flushed as usize;
    assert!((5..BLOCKS).contains(&flushed), "{traffic:?}");
    assert_eq!(traffic.bytes_moved as usize, (BLOCKS + flushed) * BYTES);
    assert_eq!(traffic.communications as usize, BLOCKS + 1);
}

fn items_of_a_poisoned_buffer_come_back_from_wherever_they_wait<M: Machine>(machine: &M) {
    const BLOCKS: usize = 8;
    const BYTES: usize = 60 * KB;
    let (mut writer, mut reader) = Channel::new().buffered(BLOCKS).one_to_one();
    let (mut full, mut begin) = Channel::new().one_to_one::<()>();
    let mut network = network(machine);
    network.process("writer", spe(2), move |process| {
        for index in 0..BLOCKS {
            writer.write(process, block(index, BYTES))?;
        }
        Ok(full.write(process, ())?)
    });
    let unread = network.run_with(|process| {
        begin.read(process).unwrap();
        reader.poison(process)
    });
    let expected: Vec<_> = (0..BLOCKS).map(|index| block(index, BYTES)).collect();
    assert_eq!(unread.unwrap(), expected);
}

/// Returns the message of the error for an item that does not fit.
fn no_room(result: Result<(), NetworkError>) -> String {
    match result {
        Err(NetworkError::NoRoomForItem(error)) => error.to_string(),
        other => panic!("an item that does not fit is an error of its own, not {other:?}"),
    }
}

fn an_item_that_does_not_fit_for_its_writer_is_an_error<M: Machine>(machine: &M) {
    let (mut writer, mut reader) = Channel::new().named("blocks").one_to_one();
    let mut network = network(machine);
    network.process("source", spe(1), move |process| {
        Ok(writer.write(process, block(0, 300 * KB))?)
    });
    network.process("sink", spe(2), move |process| {
        reader.read(process)?;
        Ok(())
    });
    let text = no_room(network.run());
    assert!(
        text.starts_with(
            "the process `source` has no room for an item of 307200 bytes of the channel `blocks` on SPE 1: 262144 of \
             262144 bytes are free"
        ),
        "{text}"
    );
    assert!(text.contains("write smaller items"), "{text}");
}

fn an_item_that_does_not_fit_for_its_reader_is_an_error<M: CellMachine>(machine: &M) {
    let (mut writer, mut reader) = Channel::new().named("blocks").one_to_one();
    let mut network = network(machine);
    network.process("sink", spe(2), move |process| {
        let local_store = process.place().local_store();
        let _data = local_store.reserve(200 * KB, 16, "a table").unwrap();
        reader.read(process)?;
        Ok(())
    });
    let result = network.run_with(|process| {
        let _ = writer.write(process, block(0, 100 * KB));
    });
    let text = no_room(result);
    assert!(
        text.starts_with(
            "the process `sink` has no room for an item of 102400 bytes of the channel `blocks` on SPE 2: 57344 of \
             262144 bytes are free, 57344 of them in one piece, and held are 204800 bytes for a table at \
             crates/csp/tests/suite/transports.rs:"
        ),
        "{text}"
    );
}

/// The main process waits without the network, so the PPE answers no requests, and a local store
/// keeps an item that is never read.
fn reports_name_the_lines_of_the_user<M: Machine>(machine: &M) {
    let (mut kept, mut never) = Channel::new().named("kept").buffered(2).one_to_one();
    let (mut writer, mut reader) = Channel::new().named("ways").one_to_one();
    let mut network = network(machine);
    network.process("keeps", spe(0), move |process| Ok(kept.write(process, 1)?));
    network.process("writer", spe(1), move |process| {
        Ok(writer.write(process, 2)?)
    });
    let end = network.run_with(|process| {
        process.sleep_until(process.now() + Span::from_nanoseconds(1_000_000));
        process.place().wait_until(&"a word", &mut || false);
        let _ = (never.read(process), reader.read(process));
    });
    let Err(NetworkError::Deadlock(deadlock)) = end else {
        panic!("{end:?}");
    };
    let text = deadlock.to_string();
    assert!(!text.contains("csp/src"), "{text}");
    let waits = "the process `writer` waits ";
    let at = " at crates/csp/tests/suite/transports.rs:";
    let is_named = |line: &str| line.contains(waits) && line.contains(at);
    assert!(text.lines().any(is_named), "{text}");
}

/// Three writers of large items are on one SPE, and their readers are slow. No item is lost,
/// whatever items are flushed.
fn a_writer_waits_for_room_that_its_readers_hold<M: Machine>(machine: &M) {
    const BLOCKS: usize = 12;
    let mut network = network(machine);
    let (results, mut result) = Channel::new().any_to_one();
    for index in 0..3 {
        let (mut writer, mut reader) = Channel::new().buffered(index).one_to_one();
        network.process(format!("writer {index}"), spe(0), move |process| {
            for number in 0..BLOCKS {
                writer.write(process, block(number, 90 * KB))?;
            }
            Ok(())
        });
        let mut results = results.clone();
        network.process(format!("reader {index}"), spe(1), move |process| {
            for number in 0..BLOCKS {
                assert_eq!(reader.read(process)?, block(number, 90 * KB));
                process.place().compute(Cycles(5_000 * index as u64));
                process.yield_now();
            }
            Ok(results.write(process, BLOCKS)?)
        });
    }
    drop(results);
    let read = network.run_with(|process| {
        let mut read = 0;
        while let Ok(blocks) = result.read(process) {
            read += blocks;
        }
        read
    });
    assert_eq!(read.unwrap(), 3 * BLOCKS);
}

#[test]
fn transfers_of_items_do_not_race() {
    for transport in [Transport::Direct, Transport::Coordinator] {
        crate::by(transport);
        for seed in 0..6 {
            let sim = Sim::builder(Description::built_in("qs22").unwrap());
            let sim = sim.seed(seed).hazards(HazardWatch::Error).build().unwrap();
            a_writer_waits_for_room_that_its_readers_hold(&sim);
            a_full_local_store_flushes_the_oldest_items(&sim);
        }
    }
}

fn processes_of_one_spe_move_nothing<M: Machine>(machine: &M) {
    let (mut writer, mut reader) = Channel::new().one_to_one();
    let mut network = network(machine);
    network.process("writer", spe(3), move |process| {
        (0..20).try_for_each(|index| Ok(writer.write(process, block(index, KB))?))
    });
    network.process("reader", spe(3), move |process| {
        (0..20).try_for_each(|index| {
            assert_eq!(reader.read(process)?, block(index, KB));
            Ok(())
        })
    });
    let ((), traffic) = network.run_counted(|_| ()).unwrap();
    let moved = Traffic {
        communications: 20,
        ..traffic
    };
    assert_eq!((traffic, traffic.bytes_moved), (moved, 0));
    // At first the transport does not know which two processes use the channel.
    assert!(traffic.requests <= 4, "{traffic:?}");
}

fn the_main_process_reads_and_writes_large_items<M: Machine>(machine: &M) {
    let (mut forth, mut there) = Channel::new().one_to_one();
    let (mut answers, mut back) = Channel::new().one_to_one();
    let mut network = network(machine);
    network.process("echo", spe(1), move |process| {
        loop {
            let block: Vec<u8> = there.read(process)?;
            answers.write(process, block)?;
        }
    });
    let ((), traffic) = network
        .run_counted(|process| {
            for (index, bytes) in [0, 1, 17, 16 * KB + 1, 120 * KB].into_iter().enumerate() {
                forth.write(process, block(index, bytes)).unwrap();
                assert_eq!(back.read(process), Ok(block(index, bytes)));
            }
            forth.close(process);
        })
        .unwrap();
    assert_eq!(
        traffic.bytes_moved,
        2 * (1 + 17 + 16 * 1_024 + 1 + 120 * 1_024)
    );
}

/// Checks properties of figure 3 that the text of the paper names.
#[test]
fn the_time_of_a_communication_has_the_shape_of_figure_3() {
    let time = |transport, spes, threads| {
        let (span, _) = ring(transport, spes, threads);
        span.as_femtoseconds() as f64
    };
    for transport in [Transport::Direct, Transport::Coordinator] {
        // The times with 12 and with 16 SPEs are similar.
        let change = time(transport, 16, 1) / time(transport, 12, 1);
        assert!((0.85..1.15).contains(&change), "{transport:?}: {change}");
        // The time falls as the number of processes on each SPE grows.
        let by_threads = [1, 2, 3, 4].map(|threads| time(transport, 8, threads));
        let falls = by_threads.is_sorted_by(|less, more| less > more);
        assert!(falls, "{transport:?}: {by_threads:?}");
    }
    let gain = time(Transport::Coordinator, 16, 1) / time(Transport::Direct, 16, 1);
    assert!(gain > 2.0, "{gain}");
}

/// A communication within one SPE uses neither the bus nor the PPE.
#[test]
fn processes_of_one_spe_communicate_for_much_less() {
    let (_, across) = ring(Transport::Coordinator, 8, 1);
    let (_, within) = ring(Transport::Coordinator, 2, 4);
    // Of nine channels, one leads to the PPE. Of the other eight channels, all lead to another SPE
    // in the first ring, and two lead to another SPE in the second ring.
    assert!(2 * within.bytes_moved < across.bytes_moved);
    assert!(2 * within.requests < across.requests);
}

/// Checks a channel `times` times. No process writes to this channel.
fn look<P: Place>(process: &Process<'_, P>, reader: &mut Reader<u64, Any>, times: usize) -> Span {
    let begin = process.now();
    for _ in 0..times {
        // A new alternation checks its guards even if nothing has changed.
        let mut alternation = Alternation::priority();
        alternation.read(reader);
        assert!(alternation.select_or_skip(process).unwrap().is_none());
    }
    process.now().since(begin)
}

/// Returns the time in which an SPE checks a channel while the PPE checks the channel
/// `looks_of_the_ppe` times.
fn time_of_looks(looks_of_the_ppe: usize) -> f64 {
    let (writer, reader) = Channel::new().any_to_any::<u64>();
    let (mut took, mut result) = Channel::new().one_to_one();
    let machine = qs22();
    let mut network = Network::on(&machine);
    let mut here = reader.clone();
    network.process("looks", spe(0), move |process| {
        Ok(took.write(process, look(process, &mut here, 100))?)
    });
    let mut there = reader;
    let span = network.run_with(move |process| {
        look(process, &mut there, looks_of_the_ppe);
        let span = result.read(process);
        drop(writer);
        span
    });
    span.unwrap().unwrap().as_nanoseconds_f64()
}

/// A check of a channel does not invalidate other processors' copies of the channel's line.
#[test]
fn looks_of_the_ppe_cost_the_spes_nothing() {
    let (alone, together) = (time_of_looks(0), time_of_looks(100));
    assert!(together < 1.01 * alone, "{together} ns instead of {alone}");
}

/// No process learns of a change before a message about it could have arrived.
#[test]
fn news_takes_as_long_as_what_carries_it() {
    for transport in [Transport::Direct, Transport::Coordinator] {
        let (mut writer, mut reader) = Channel::new().one_to_one::<u64>();
        let machine = qs22();
        let mut network = Network::on(&machine);
        network.transport(transport);
        network.process("writer", spe(0), move |process| {
            process.place().compute(Cycles(1_000_000_000));
            let sent = process.now().as_femtoseconds() / 1_000_000;
            Ok(writer.write(process, sent as u64)?)
        });
        let (mut took, mut result) = Channel::new().one_to_one::<u64>();
        network.process("reader", spe(1), move |process| {
            let sent = reader.read(process)?;
            let now = process.now().as_femtoseconds() / 1_000_000;
            Ok(took.write(process, now as u64 - sent)?)
        });
        let took_ns = network.run_with(|process| result.read(process));
        // A signal from SPE to SPE takes 79 ns, and a DMA transfer more.
        assert!(took_ns.unwrap().unwrap() > 2 * 79, "{transport:?}");
    }
}

/// A limit ends a network at any moment, while its programs start or later: its report names no
/// line of the library.
#[test]
fn a_limit_names_the_lines_of_the_user() {
    for transport in [Transport::Direct, Transport::Coordinator] {
        let while_starting = (1_600_000..3_300_000).step_by(99_991);
        for nanoseconds in while_starting.chain((3_300_000..3_500_000).step_by(4_999)) {
            let limit = Span::from_nanoseconds(nanoseconds);
            let machine = Description::built_in("qs22").unwrap();
            let sim = Sim::builder(machine).limit(limit).build().unwrap();
            let (mut writer, mut reader) = Channel::new().named("blocks").one_to_one();
            let mut network = Network::on(&sim);
            network.transport(transport);
            network.process("source", spe(1), move |process| {
                loop {
                    writer.write(process, block(1, 100 * KB))?;
                }
            });
            network.process("sink", spe(2), move |process| {
                loop {
                    reader.read(process)?;
                }
            });
            let text = network.run().unwrap_err().to_string();
            assert!(text.contains("the run was ended after"), "{text}");
            let names_the_library = ["csp/src", "cellworks_csp"].map(|part| text.contains(part));
            assert_eq!(
                names_the_library, [false; 2],
                "{transport:?}, {limit}: {text}"
            );
        }
    }
}
