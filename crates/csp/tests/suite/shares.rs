//! Processes that share a core: a process that never has to wait lets the others run all the same.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cellworks_csp::Channel;
use cellworks_machine::Machine;

use crate::{host, network, plain, spe};

#[test]
fn a_writer_whose_buffer_is_never_full_lets_its_neighbour_run() {
    check_neighbour(&host());
    check_neighbour(&plain());
}

/// The most items that a process may write while its neighbour wants to run.
const MOST: usize = 1_000;

fn check_neighbour<M: Machine>(machine: &M) {
    let items = 20_000;
    for capacity in [1 << 15, usize::MAX] {
        let (written, at_most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let has_ended = AtomicBool::new(false);
        let (mut writer, mut reader) = Channel::new().buffered(capacity).one_to_one();
        let mut network = network(machine);
        network.group(spe(0), |group| {
            let (written, has_ended) = (&written, &has_ended);
            group.process("writer", move |process| {
                for item in 0..items {
                    writer.write(process, item)?;
                    written.fetch_add(1, Ordering::Relaxed);
                }
                has_ended.store(true, Ordering::Relaxed);
                Ok(())
            });
            let at_most = &at_most;
            group.process("neighbour", move |process| {
                let mut before = written.load(Ordering::Relaxed);
                while !has_ended.load(Ordering::Relaxed) {
                    process.yield_now();
                    let now = written.load(Ordering::Relaxed);
                    at_most.fetch_max(now - before, Ordering::Relaxed);
                    before = now;
                }
                Ok(())
            });
        });
        network.process("reader", spe(1), move |process| {
            let mut read = 0;
            while reader.read(process).is_ok() {
                read += 1;
            }
            assert_eq!(read, items);
            Ok(())
        });
        network.run().unwrap();
        let at_most = at_most.into_inner();
        assert!((1..=MOST).contains(&at_most), "{capacity}: {at_most}");
    }
}
