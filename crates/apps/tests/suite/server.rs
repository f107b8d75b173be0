//! The server, which compares the counts of its processes in each run.

use cellworks_apps::{Program, Server};
use cellworks_host::Host;
use cellworks_machine::Machine;
use cellworks_sim::{Description, Sim};

use crate::plain_machine::PlainMachine;
use crate::refused;

const SMALL: Server = Server {
    spes: 2,
    clients: 3,
    workers: 2,
    cycles: 100,
    requests: 20,
};

fn qs22() -> Sim {
    Sim::new(Description::built_in("qs22").unwrap()).unwrap()
}

/// Runs a server. Returns the number of answered requests, and the time of a request.
fn answered(server: Server, machine: &impl Machine) -> (f64, f64) {
    let quantities = match server.run(machine) {
        Ok(quantities) => quantities,
        Err(error) => panic!("{}: {error}", server.title()),
    };
    let value = |name| {
        let named = quantities.iter().find(|quantity| quantity.name == name);
        named.unwrap().value
    };
    (value("answered"), value("time_per_request"))
}

/// Checks that no request is lost. The client that stops the server has all of its answers. All
/// other clients send requests until the server stops.
fn nothing_is_lost<M: Machine>(machine: &M) {
    for (spes, clients, workers) in [(1, 1, 1), (1, 4, 2), (2, 3, 2), (2, 8, 1), (2, 1, 5)] {
        let server = Server {
            spes,
            clients,
            workers,
            ..SMALL
        };
        let (answered, time) = answered(server, machine);
        assert!(answered >= SMALL.requests as f64, "{server:?}: {answered}");
        assert!(time > 0.0, "{server:?}");
    }
}

#[test]
fn nothing_is_lost_on_this_computer() {
    let host = Host::builder().spes(2).build().unwrap();
    for _ in 0..20 {
        nothing_is_lost(&host);
    }
    nothing_is_lost(&Host::builder().spes(2).strict().build().unwrap());
}

#[test]
fn nothing_is_lost_on_a_simulated_machine() {
    for seed in 0..5 {
        let qs22 = Description::built_in("qs22").unwrap();
        nothing_is_lost(&Sim::builder(qs22).seed(seed).build().unwrap());
    }
}

#[test]
fn nothing_is_lost_on_a_machine_that_is_no_cell() {
    nothing_is_lost(&PlainMachine::new(2));
}

/// 200,000 cycles of 3.2 GHz are 62.5 us, which is long compared with communication.
#[test]
fn two_workers_answer_nearly_twice_as_fast_as_one() {
    let time = |workers| {
        let server = Server {
            spes: 4,
            clients: 4,
            workers,
            cycles: 200_000,
            requests: 10,
        };
        answered(server, &qs22()).1
    };
    let (one, two) = (time(1), time(2));
    assert!(one > 62.5 && one / two > 1.6, "{one} {two}");
}

#[test]
fn what_makes_no_sense_is_refused_by_the_parameter_that_is_wrong() {
    let refused = |program, parameter, message| refused(&qs22(), program, parameter, message);
    for (parameter, server) in [
        (
            "clients",
            Server {
                clients: 0,
                ..SMALL
            },
        ),
        (
            "workers",
            Server {
                workers: 0,
                ..SMALL
            },
        ),
        (
            "requests",
            Server {
                requests: 0,
                ..SMALL
            },
        ),
    ] {
        let message = format!("0 {parameter} do nothing; use at least 1");
        crate::refused(&qs22(), server, parameter, &message);
    }
    refused(
        Server { spes: 17, ..SMALL },
        "spes",
        "qs22 has 16 SPEs, not 17; use at most 16",
    );
    refused(
        Server {
            clients: 1_001,
            ..SMALL
        },
        "clients",
        "1001 clients are too many; use at most 1000",
    );
    refused(
        Server {
            cycles: u64::MAX,
            ..SMALL
        },
        "cycles",
        "18446744073709551615 cycles are too many; use at most 1000000000",
    );
}
