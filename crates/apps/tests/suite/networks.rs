//! The networks of processes, and the barrier, on this computer and on a simulated blade.

use std::fmt::Debug;

use cellworks_apps::{
    Bag, Barrier, CommsTime, Done, Knn, Placement, Program, ProgramError, Prototein, Ratio, Roots,
    Transport,
};
use cellworks_host::Host;
use cellworks_machine::Machine;
use cellworks_sim::{Description, Sim};

use crate::plain_machine::PlainMachine;

fn qs22() -> Sim {
    Sim::new(Description::built_in("qs22").unwrap()).unwrap()
}

fn host() -> Host {
    Host::builder().spes(4).build().unwrap()
}

fn strict_host() -> Host {
    Host::builder().spes(4).strict().build().unwrap()
}

fn done<P: Program>(program: P, machine: &impl Machine) -> Done<P> {
    match program.run(machine) {
        Ok(quantities) => Done {
            program,
            quantities,
        },
        Err(error) => panic!("{}: {error}", program.title()),
    }
}

/// Runs programs on several machines. The programs check their results.
fn runs_everywhere<P: Program + Clone>(programs: impl IntoIterator<Item = P>) {
    let plain = PlainMachine::new(4);
    for program in programs {
        assert!(!done(program.clone(), &plain).quantities.is_empty());
        runs_on_cells([program]);
    }
}

fn runs_on_cells<P: Program + Clone>(programs: impl IntoIterator<Item = P>) {
    let (host, strict_host, qs22) = (host(), strict_host(), qs22());
    for program in programs {
        for quantities in [
            done(program.clone(), &host).quantities,
            done(program.clone(), &strict_host).quantities,
            done(program, &qs22).quantities,
        ] {
            assert!(
                quantities.iter().all(|one| one.value >= 0.0),
                "{quantities:?}"
            );
        }
    }
}

/// The number of SPEs, and the number of threads on each SPE.
const PLACEMENTS: [(usize, usize); 5] = [(1, 1), (1, 3), (2, 1), (3, 2), (4, 4)];

const BOTH: [Transport; 2] = [Transport::Direct, Transport::Coordinator];

fn by(transport: Transport, spes: usize, threads: usize) -> Placement {
    Placement {
        spes,
        threads,
        transport,
    }
}

fn at(spes: usize, threads: usize) -> Placement {
    by(Transport::Direct, spes, threads)
}

fn commstime(spes: usize, threads: usize) -> CommsTime {
    CommsTime {
        placement: at(spes, threads),
        rounds: 25,
    }
}

fn prototein(beads: &'static str) -> Prototein {
    Prototein {
        prototein: beads.to_owned(),
        placed: Some(4),
        bag: Bag::Ppe,
        placement: at(1, 1),
    }
}

fn knn(spes: usize, threads: usize) -> Knn {
    Knn {
        placement: at(spes, threads),
        // The last block has fewer points than the others.
        points: 50,
        dimensions: 11,
        neighbours: 3,
        block_points: 8,
    }
}

fn ratio(spes: usize, threads: usize, operations: u64) -> Ratio {
    Ratio {
        placement: at(spes, threads),
        operations,
        steps: 7,
    }
}

fn barrier(roots: Roots, spes: usize) -> Barrier {
    Barrier {
        roots,
        spes,
        barriers: 20,
    }
}

#[test]
fn numbers_go_round_every_ring() {
    let rings = PLACEMENTS.into_iter().skip(1);
    runs_everywhere(rings.map(|(spes, threads)| commstime(spes, threads)));
    runs_everywhere(BOTH.map(|transport| CommsTime {
        placement: by(transport, 2, 2),
        ..commstime(2, 2)
    }));
}

#[test]
fn every_folding_is_found_once() {
    runs_everywhere(PLACEMENTS.map(|(spes, threads)| Prototein {
        placement: at(spes, threads),
        ..prototein("HPHPPHHPH")
    }));
    runs_everywhere(PLACEMENTS.map(|(spes, threads)| Prototein {
        placement: at(spes, threads),
        bag: Bag::Spe,
        ..prototein("HPHPPHHPH")
    }));
    // With 2 beads there is only one task, and with 6 there is a task for each folding.
    for placed in [2, 6] {
        runs_everywhere([Prototein {
            placed: Some(placed),
            ..prototein("HPPHHH")
        }]);
    }
    runs_everywhere([Prototein {
        placed: Some(2),
        ..prototein("HH")
    }]);
}

#[test]
fn best_foldings_have_the_contacts_that_are_known() {
    for (beads, contacts, foldings) in [
        ("HPPH", 1.0, 5.0),
        ("HPHP", 0.0, 5.0),
        ("HHHHHH", 2.0, 36.0),
    ] {
        let done = done(prototein(beads), &qs22());
        assert_eq!(done.value("best"), Some(contacts), "{beads}");
        assert_eq!(done.value("foldings"), Some(foldings), "{beads}");
    }
}

#[test]
fn neighbours_of_many_points_are_simulated_for_a_sample_of_them() {
    let many = |points| Knn {
        points,
        dimensions: 1,
        block_points: 200,
        ..knn(2, 1)
    };
    assert_eq!(done(many(10_000), &qs22()).value("turns_simulated"), None);
    let sampled = done(many(10_001), &qs22());
    assert_eq!(sampled.value("turns_simulated"), Some(7.0));
}

#[test]
fn neighbours_are_those_of_brute_force() {
    runs_everywhere(PLACEMENTS.map(|(spes, threads)| knn(spes, threads)));
    // The cases are: one block, as many neighbours as possible, and more processes than blocks.
    runs_everywhere([
        Knn {
            block_points: 100,
            ..knn(2, 1)
        },
        Knn {
            points: 5,
            neighbours: 4,
            block_points: 2,
            ..knn(4, 2)
        },
        Knn {
            dimensions: 1,
            ..knn(2, 2)
        },
    ]);
}

#[test]
fn data_go_round_and_are_computed_upon_in_each_step() {
    // The cases are: no operations, an odd number of pairs, an even number of pairs, and a number
    // that the processes cannot share evenly.
    for operations in [0, 2 * 12, 2 * 2 * 12, 101] {
        runs_everywhere(PLACEMENTS.map(|(spes, threads)| ratio(spes, threads, operations)));
    }
}

#[test]
fn barriers_hold_all_processes_back() {
    for roots in [Roots::One, Roots::EachCell] {
        runs_on_cells([2, 3, 4].map(|spes| barrier(roots, spes)));
        done(barrier(roots, 16), &qs22());
    }
}

#[test]
fn a_root_in_each_cell_sends_less_between_them_and_is_faster() {
    let all = [Roots::One, Roots::EachCell].map(|roots| done(barrier(roots, 16), &qs22()));
    let [one, each] = all.each_ref().map(|done| done.value("barrier").unwrap());
    assert!(0.0 < each && each < one, "{one} {each}");
    let conclusions = Barrier::conclusions(&all);
    assert_eq!(conclusions.len(), 1);
    assert_eq!(conclusions[0].quantity.name, "gain");
    assert_eq!(conclusions[0].quantity.value, one / each);
    assert_eq!(conclusions[0].parameters, all[1].program.parameters());
}

#[test]
fn a_barrier_by_signals_needs_a_cell() {
    let machine = PlainMachine::new(4);
    let error = barrier(Roots::One, 4).run(&machine).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a plain machine has no signals, which the program is made of; run it on this computer or on \
         a simulated Cell"
    );
}

#[test]
fn computation_is_charged_by_its_stated_cycles() {
    // An operation takes 6 cycles of 3.2 GHz, which makes communication a small part of the time.
    let ratio = Ratio {
        steps: 40,
        ..ratio(1, 1, 100_000)
    };
    let cycles = done(ratio, &qs22()).value("time_per_step").unwrap() * 3.2;
    assert!((cycles / 600_000.0 - 1.0).abs() < 0.1, "{cycles}");

    let time = |dimensions| {
        let knn = Knn {
            dimensions,
            ..knn(1, 1)
        };
        done(knn, &qs22()).value("time").unwrap()
    };
    // Each of 50 points meets 49 others. 100 more coordinates take 6 cycles each. The difference is
    // not exact, because different neighbours are moved in the lists.
    let cycles = (time(200) - time(100)) * 3.2;
    assert!(
        (cycles / (50.0 * 49.0 * 600.0) - 1.0).abs() < 0.05,
        "{cycles}"
    );
}

#[test]
fn the_ring_of_neighbours_is_shared_evenly_and_a_second_process_hides_communication() {
    let time = |spes, threads| {
        let knn = Knn {
            points: 24 * 20,
            dimensions: 72,
            block_points: 20,
            ..knn(spes, threads)
        };
        done(knn, &qs22()).value("time").unwrap()
    };
    let (alone, one, two) = (time(1, 1), time(4, 1), time(4, 2));
    // The processes of the ring take their homes at the same time. If each process began with the
    // first block, 4 SPEs would be at most 3.4 times as fast (4 processes), or 3 times (8
    // processes).
    assert!(alone / one > 3.5, "{alone} {one}");
    // This holds only if each process lets the other process send its block before computing.
    assert!(two < one, "{two} {one}");
}

#[test]
fn what_times_the_steps_of_a_ring_is_no_part_of_them() {
    let time = |transport| {
        let ratio = Ratio {
            placement: by(transport, 2, 1),
            steps: 40,
            ..ratio(2, 1, 0)
        };
        done(ratio, &qs22()).value("time_per_step").unwrap()
    };
    // A message to the PPE's own process takes as long as 40 messages between two SPEs. A message
    // through the coordinator takes about 33 times as long as a direct one.
    let (direct, coordinator) = (time(Transport::Direct), time(Transport::Coordinator));
    assert!(coordinator < 40.0 * direct, "{coordinator} {direct}");
}

#[test]
fn speedups_are_over_one_spe_with_one_thread() {
    let machine = qs22();
    let all: Vec<_> = [(1, 1), (2, 1), (4, 1), (2, 2)]
        .map(|(spes, threads)| {
            let long = Ratio {
                steps: 50,
                ..ratio(spes, threads, 100_000)
            };
            done(long, &machine)
        })
        .into();
    let conclusions = Ratio::conclusions(&all);
    let speedups: Vec<f64> = conclusions.iter().map(|one| one.quantity.value).collect();
    assert_eq!(speedups.len(), 4);
    assert_eq!(speedups[0], 1.0);
    assert!(
        1.5 < speedups[1] && speedups[1] < speedups[2] && speedups[2] < 4.2,
        "{speedups:?}"
    );

    let figure = &Ratio::figures(&all)[0];
    let names: Vec<&str> = figure.curves.iter().map(|curve| &*curve.name).collect();
    assert_eq!(names, ["1 thread", "2 threads", "ideal"]);
    assert_eq!(
        figure.curves[2].points,
        [(1.0, 1.0), (2.0, 2.0), (4.0, 4.0)]
    );

    // Without the run on one SPE there is no comparison.
    assert!(Ratio::conclusions(&all[1..]).is_empty());
    assert!(Knn::conclusions(&[done(knn(2, 1), &machine)]).is_empty());
    assert_eq!(
        Prototein::conclusions(&[done(prototein("HPPH"), &machine)])[0]
            .quantity
            .value,
        1.0
    );
}

#[test]
fn direct_communication_is_compared_with_the_coordinator() {
    let done = |transport, us| Done {
        program: CommsTime {
            placement: by(transport, 2, 1),
            ..commstime(2, 1)
        },
        quantities: vec![cellworks_apps::Quantity {
            name: "time_per_communication",
            value: us,
            unit: "us",
        }],
    };
    let all = [
        done(Transport::Coordinator, 10.0),
        done(Transport::Direct, 2.0),
    ];
    let conclusions = CommsTime::conclusions(&all);
    assert_eq!(conclusions.len(), 1);
    assert_eq!(conclusions[0].quantity.value, 5.0);
    assert_eq!(conclusions[0].parameters, all[1].program.parameters());
    assert!(CommsTime::conclusions(&all[1..]).is_empty());
}

#[track_caller]
fn refused<P: Program + Debug>(program: P, parameter: &str, message: &str) {
    crate::refused(&qs22(), program, parameter, message);
}

#[test]
fn what_makes_no_sense_is_refused_by_the_parameter_that_is_wrong() {
    const NO_SPES: &str = "0 SPEs do nothing; use at least 1";
    const NO_THREADS: &str = "0 threads do nothing; use at least 1";
    refused(
        commstime(17, 1),
        "spes",
        "qs22 has 16 SPEs, not 17; use at most 16",
    );
    refused(commstime(0, 1), "spes", NO_SPES);
    refused(commstime(2, 0), "threads", NO_THREADS);
    refused(
        commstime(1, 1),
        "spes",
        "1 SPE with 1 thread is no ring, which takes 2 processes; use at least 2 SPEs or 2 threads",
    );
    let none = CommsTime {
        rounds: 0,
        ..commstime(2, 1)
    };
    refused(none, "rounds", "0 rounds do nothing; use at least 1");
    let many = CommsTime {
        rounds: u64::MAX,
        ..commstime(2, 1)
    };
    refused(
        many,
        "rounds",
        "18446744073709551615 rounds take too long; use at most 1000000000000",
    );
    refused(
        commstime(2, usize::MAX),
        "threads",
        "18446744073709551615 threads of an SPE are too many; use at most 1000",
    );

    refused(
        prototein("HPXH"),
        "prototein",
        "'X' in \"HPXH\" is no bead; use H for hydrophobic and P for polar ones",
    );
    refused(
        prototein("HHHHHHHHHHHHHHHHHHHHH"),
        "prototein",
        "not all foldings of 21 beads can be tried; use 2 to 20",
    );
    refused(
        prototein("H"),
        "prototein",
        "not all foldings of 1 beads can be tried; use 2 to 20",
    );
    refused(
        prototein("HPH"),
        "placed",
        "a task cannot have 4 beads of HPH, which has 3; use 2 to 3",
    );

    for (parameter, knn, message) in [
        (
            "points",
            Knn {
                points: 0,
                ..knn(1, 1)
            },
            "0 points do nothing; use at least 1",
        ),
        (
            "points",
            Knn {
                points: 1_000_001,
                ..knn(1, 1)
            },
            "1000001 points take too long; use at most 1000000",
        ),
        (
            "dimensions",
            Knn {
                dimensions: 0,
                ..knn(1, 1)
            },
            "0 dimensions do nothing; use at least 1",
        ),
        (
            "dimensions",
            Knn {
                dimensions: 257,
                ..knn(1, 1)
            },
            "distances in 257 dimensions are not exact in single precision; use at most 256",
        ),
        (
            "neighbours",
            Knn {
                neighbours: 50,
                ..knn(1, 1)
            },
            "50 points do not have 50 neighbours each; use fewer neighbours",
        ),
        (
            "neighbours",
            Knn {
                neighbours: 0,
                ..knn(1, 1)
            },
            "0 neighbours do nothing; use at least 1",
        ),
        (
            "block_points",
            Knn {
                block_points: 0,
                ..knn(1, 1)
            },
            "0 points in a block do nothing; use at least 1",
        ),
        ("threads", knn(1, 0), NO_THREADS),
    ] {
        refused(knn, parameter, message);
    }

    refused(
        Ratio {
            steps: 0,
            ..ratio(1, 1, 0)
        },
        "steps",
        "0 steps do nothing; use at least 1",
    );
    refused(
        Ratio {
            steps: 1 << 24,
            ..ratio(1, 1, 0)
        },
        "steps",
        "16777216 steps are more than the data can count; use at most 16777200",
    );
    refused(
        ratio(1, 1, 1_000_000_000_001),
        "operations",
        "1000000000001 operations take too long; use at most 1000000000000",
    );

    refused(
        barrier(Roots::One, 1),
        "spes",
        "a barrier takes 2 to 32 SPEs, because each has a bit of a signal, and not 1",
    );
    refused(
        Barrier {
            barriers: 0,
            ..barrier(Roots::One, 2)
        },
        "barriers",
        "0 barriers do nothing; use at least 1",
    );
}

#[test]
fn what_does_not_fit_into_a_local_store_is_an_error() {
    fn crowded(program: impl Program) {
        let error = program.run(&qs22()).unwrap_err();
        assert!(matches!(error, ProgramError::Network(_)), "{error:?}");
        let error = error.to_string();
        assert!(error.contains("SPE 0 cannot run its "), "{error}");
        assert!(error.contains("room for the stacks of "), "{error}");
    }
    // Two processes on one SPE have a block of 200 points each.
    let blocks = Knn {
        points: 400,
        dimensions: 4,
        neighbours: 80,
        block_points: 200,
        ..knn(1, 2)
    };
    let error = blocks.run(&qs22()).unwrap_err();
    let ProgramError::Parameter(parameter) = &error else {
        panic!("{error:?}");
    };
    assert_eq!(parameter.parameter(), "block_points");
    let error = error.to_string();
    assert!(error.contains("the local store of SPE "), "{error}");
    assert!(
        error.contains("131208 bytes for a block with its neighbours")
            && error.ends_with("; use smaller blocks or fewer threads"),
        "{error}"
    );
    // On machines without local stores the blocks are in main memory and fit.
    done(blocks, &host());

    crowded(commstime(1, 100));
    crowded(knn(1, 100));
    crowded(ratio(1, 100, 0));
    crowded(Prototein {
        placement: at(1, 100),
        ..prototein("HPPH")
    });
}
