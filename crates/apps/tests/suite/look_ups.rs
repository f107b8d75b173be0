//! Look-ups on each kind of machine. The programs compare each result with that of plain code.

use cellworks_apps::{Done, Lookup, Method, Program, Structure};
use cellworks_host::Host;
use cellworks_machine::Machine;
use cellworks_sim::{Description, Sim};

use crate::plain_machine::PlainMachine;
use crate::refused;

const STRUCTURES: [Structure; 3] = [Structure::HashJoin, Structure::BTree, Structure::GraphWalk];
const METHODS: [Method; 3] = [Method::Plain, Method::Prefetch, Method::Interleave];

const SMALL: Lookup = Lookup {
    structure: Structure::BTree,
    method: Method::Plain,
    bytes: 64 << 10,
    probes: 300,
};

fn qs20() -> Sim {
    Sim::new(Description::built_in("qs20").unwrap()).unwrap()
}

fn done(program: Lookup, machine: &impl Machine) -> Done<Lookup> {
    match program.run(machine) {
        Ok(quantities) => Done {
            program,
            quantities,
        },
        Err(error) => panic!("{}: {error}", program.title()),
    }
}

/// Checks that every method finds the right values, in structures of several sizes.
fn every_method_finds_it<M: Machine>(machine: &M) {
    for structure in STRUCTURES {
        for method in METHODS {
            for (bytes, probes) in [(4 << 10, 1), (10_000, 50), (64 << 10, 300)] {
                let done = done(
                    Lookup {
                        structure,
                        method,
                        bytes,
                        probes,
                    },
                    machine,
                );
                assert!(done.value("time_per_probe").unwrap() > 0.0);
                let in_flight = done.value("in_flight").unwrap();
                match method {
                    Method::Plain => assert_eq!(in_flight, 1.0),
                    Method::Prefetch => assert_eq!(in_flight, probes.min(32) as f64),
                    Method::Interleave => assert!(in_flight >= 1.0),
                }
            }
        }
    }
}

#[test]
fn every_method_finds_it_on_this_computer() {
    every_method_finds_it(&Host::builder().spes(1).build().unwrap());
    every_method_finds_it(&Host::builder().spes(1).strict().build().unwrap());
}

#[test]
fn every_method_finds_it_on_a_simulated_machine() {
    every_method_finds_it(&qs20());
}

#[test]
fn every_method_finds_it_on_a_machine_that_is_no_cell() {
    every_method_finds_it(&PlainMachine::new(1));
}

/// On an SPE of the QS20 a get takes several hundred cycles, and a step takes 16. Most of the time
/// of a plain loop can therefore be hidden. The first thousand look-ups find the best number of
/// threads.
#[test]
fn transfers_of_several_look_ups_hide_behind_each_other() {
    let qs20 = qs20();
    for structure in STRUCTURES {
        let all = METHODS.map(|method| {
            let program = Lookup {
                structure,
                method,
                probes: 4_000,
                ..SMALL
            };
            done(program, &qs20)
        });
        let conclusions = Lookup::conclusions(&all);
        let gains: Vec<f64> = conclusions.iter().map(|one| one.quantity.value).collect();
        assert_eq!(gains.len(), 2, "{structure:?}");
        assert!(
            gains.iter().all(|gain| *gain > 1.5),
            "{structure:?}: {gains:?}"
        );
        assert_eq!(conclusions[1].parameters, all[2].program.parameters());
        // Without a run of the plain loop there is no comparison.
        assert!(Lookup::conclusions(&all[1..]).is_empty());
    }
}

#[test]
fn what_makes_no_sense_is_refused_by_the_parameter_that_is_wrong() {
    let refused = |program, parameter, message| refused(&qs20(), program, parameter, message);
    refused(
        Lookup {
            bytes: 100,
            ..SMALL
        },
        "bytes",
        "100 bytes have no room for a structure; use at least 4k",
    );
    refused(
        Lookup {
            bytes: usize::MAX,
            ..SMALL
        },
        "bytes",
        "18446744073709551615 bytes are too many; use at most 1024g",
    );
    refused(
        Lookup { probes: 0, ..SMALL },
        "probes",
        "0 probes do nothing; use at least 1",
    );
    refused(
        Lookup {
            probes: u64::MAX,
            ..SMALL
        },
        "probes",
        "18446744073709551615 probes take too long; use at most 1000000000000",
    );
}
