//! Open networks: which programs can be their processes.

use cellworks_csp::{Channel, Ended, OpenNetwork};
use cellworks_host::Host;
use cellworks_machine::{Machine, Spe, Wake};

use crate::{on_every_machine, spe};

on_every_machine![a_process_in_a_run_of_another_machine_is_refused];

/// Before this was refused, the write returned `Ok`, the item was lost, and the outer run ended in
/// a deadlock that was none.
fn a_process_in_a_run_of_another_machine_is_refused<M: Machine>(machine: &M) {
    // The second machine is like the hosts among the outer machines.
    for spes in [1, 4] {
        let other = Host::builder().spes(spes).build().unwrap();
        let (mut writer, mut reader) = Channel::new().one_to_one::<u32>();
        let run = machine.run(|ppe| {
            let program = ppe.spawn(spe(0), |outer| {
                let network = OpenNetwork::new(outer);
                let network = &network;
                outer.thread_scope(|scope| {
                    let reads = scope.spawn(move |_| {
                        network.process(outer, "reader", move |process| reader.read(process))
                    });
                    let refused = scope.spawn(|_| {
                        let run = other.run(|inner| {
                            drop(inner.spawn(spe(0), move |inner| {
                                network.process(inner, "writer", move |process| {
                                    writer.write(process, 7).unwrap();
                                });
                            }));
                        });
                        run.unwrap_err().to_string()
                    });
                    (
                        reads.unwrap().join().unwrap(),
                        refused.unwrap().join().unwrap(),
                        outer.run_id().to_string(),
                    )
                })
            });
            program.join().unwrap()
        });
        let (read, error, outer) = run.unwrap();
        assert_eq!(read, Err(Ended::Closed));
        let number = if spes == 1 { "1 SPE" } else { "4 SPEs" };
        for part in [
            "the process `writer` was going to begin on SPE 0 in run ",
            &format!(" of {} ({number}), ", other.topology().name()),
            "but its network, made at crates/csp/tests/suite/open.rs:",
            &format!("belongs to {outer}; make an `OpenNetwork` in the run of the SPE"),
        ] {
            assert!(error.contains(part), "{part:?} is not in: {error}");
        }
    }
}
