//! The programs on this computer and on a simulated machine.

use std::any;

use cellworks_apps::{
    Aes, Buffering, DmaLatency, Done, Overlap, PROGRAMS, Program, ProgramError, Staging, Switch,
    Visitor, visit,
};
use cellworks_host::Host;
use cellworks_machine::Machine;
use cellworks_sim::{Description, Sim};

use crate::plain_machine::PlainMachine;

const SINGLE: Staging = Staging {
    buffering: Buffering::Single,
    threads: None,
};

const DOUBLE: Staging = Staging {
    buffering: Buffering::Double,
    threads: None,
};

const fn threads(count: usize) -> Staging {
    Staging {
        buffering: Buffering::Threads,
        threads: Some(count),
    }
}

const WAYS: [Staging; 4] = [SINGLE, DOUBLE, threads(1), threads(3)];

fn qs20() -> Sim {
    Sim::new(Description::built_in("qs20").unwrap()).unwrap()
}

fn host() -> Host {
    Host::builder().spes(2).build().unwrap()
}

fn strict_host() -> Host {
    Host::builder().spes(2).strict().build().unwrap()
}

fn aes(staging: Staging) -> Aes {
    Aes {
        staging,
        spes: 2,
        // The last block is shorter than the others.
        bytes: 20_000,
        block_bytes: 1_024,
        cycles_per_byte: 11.7,
    }
}

fn overlap(staging: Staging, cycles_per_byte: f64) -> Overlap {
    Overlap {
        staging,
        spes: 1,
        bytes: 64 << 10,
        block_bytes: 2 << 10,
        cycles_per_byte,
    }
}

fn done<P: Program>(program: P, machine: &impl Machine) -> Done<P> {
    let quantities = program.run(machine).unwrap();
    Done {
        program,
        quantities,
    }
}

/// Checks that every way encrypts. Each run compares its result with that of the whole cipher.
fn every_way_encrypts<M: Machine>(machine: &M) {
    for way in WAYS {
        let aes = done(aes(way), machine);
        assert!(aes.value("bandwidth").unwrap() > 0.0);
        assert!(done(overlap(way, 0.5), machine).value("taken").unwrap() > 0.0);
    }
    done(
        Switch {
            threads: 3,
            yields: 100,
        },
        machine,
    );
}

#[test]
fn every_way_encrypts_on_this_computer() {
    every_way_encrypts(&host());
    every_way_encrypts(&strict_host());
}

#[test]
fn every_way_encrypts_on_a_simulated_machine() {
    every_way_encrypts(&qs20());
}

#[test]
fn every_way_encrypts_on_a_machine_that_is_no_cell() {
    every_way_encrypts(&PlainMachine::new(2));
}

#[test]
fn a_switch_takes_as_long_with_any_number_of_threads() {
    for threads in [1, 2, 7, 16] {
        let switch = Switch {
            threads,
            yields: 4_000,
        };
        let cycles = done(switch, &qs20()).value("switch_cycles").unwrap();
        assert!((180.0..184.0).contains(&cycles), "{threads}: {cycles}");
    }
}

#[test]
fn what_overlaps_takes_the_time_of_the_model() {
    let machine = qs20();
    let mut all = Vec::new();
    for cycles in [0.0, 11.7] {
        for way in WAYS {
            all.push(done(overlap(way, cycles), &machine));
        }
    }
    let conclusions = Overlap::conclusions(&all);
    let value = |of: &Overlap, name: &str| {
        let found = conclusions
            .iter()
            .find(|one| one.quantity.name == name && one.parameters == of.parameters());
        found.unwrap().quantity.value
    };
    for one in &all[WAYS.len()..] {
        // With a single thread no other thread can hide the transfers.
        if one.program.staging != threads(1) {
            let (taken, model) = (one.value("taken").unwrap(), value(&one.program, "model"));
            assert!((taken / model - 1.0).abs() < 0.08, "{one:?}: {model}");
        }
    }
    let crossovers = conclusions
        .iter()
        .filter(|one| one.quantity.name == "crossover");
    assert_eq!(crossovers.count(), 3);
}

#[test]
fn figures_have_a_curve_for_each_way() {
    let machine = qs20();
    let mut all = Vec::new();
    for cycles in [0.0, 1.0, 2.0] {
        for way in [SINGLE, DOUBLE] {
            all.push(done(overlap(way, cycles), &machine));
        }
    }
    let figures = Overlap::figures(&all);
    let names: Vec<Vec<&str>> = figures
        .iter()
        .map(|figure| {
            figure
                .curves
                .iter()
                .map(|curve| curve.name.as_str())
                .collect()
        })
        .collect();
    assert_eq!(
        names,
        [
            vec!["single", "double"],
            vec!["overlap", "crossover, double buffering"]
        ]
    );
}

#[test]
fn what_makes_no_sense_is_refused_by_the_parameter_that_is_wrong() {
    let machine = qs20();
    let refused = |aes: Aes| match aes.run(&machine).unwrap_err() {
        ProgramError::Parameter(error) => (error.parameter(), error.to_string()),
        other => panic!("{other}"),
    };
    let good = aes(SINGLE);
    assert_eq!(
        refused(Aes { spes: 17, ..good }),
        (
            "spes",
            "qs20 has 16 SPEs, not 17; use at most 16".to_owned()
        )
    );
    assert_eq!(
        refused(Aes { bytes: 0, ..good }),
        ("bytes", "0 bytes do nothing; use at least 1".to_owned())
    );
    assert_eq!(
        refused(Aes {
            block_bytes: 100,
            ..good
        }),
        (
            "block_bytes",
            "100 bytes are not a multiple of 16, a block of AES; use 112".to_owned()
        )
    );
    assert_eq!(
        refused(Aes {
            cycles_per_byte: 2e6,
            ..good
        }),
        (
            "cycles_per_byte",
            "2000000 cycles a byte cannot be computed; use a number from 0 to 1,000,000".to_owned()
        )
    );
    assert_eq!(
        refused(aes(threads(0))),
        ("threads", "0 threads do nothing; use at least 1".to_owned())
    );
    assert_eq!(
        refused(aes(Staging {
            threads: Some(2),
            ..DOUBLE
        })),
        (
            "threads",
            "double buffering has no threads; leave them out, or choose the buffering `threads`"
                .to_owned()
        )
    );
    let few = Switch {
        threads: 4,
        yields: 3,
    };
    assert_eq!(
        few.run(&machine).unwrap_err().to_string(),
        "3 yields do not give each of 4 threads one; use at least 4"
    );
}

#[test]
fn blocks_that_do_not_fit_into_a_local_store_are_an_error() {
    let aes = Aes {
        bytes: 1 << 20,
        block_bytes: 300 << 10,
        ..aes(SINGLE)
    };
    let error = aes.run(&qs20()).unwrap_err().to_string();
    assert!(error.starts_with("the local store of SPE "), "{error}");
    assert!(
        error.ends_with("; use smaller blocks or fewer threads"),
        "{error}"
    );
}

#[test]
fn only_programs_with_threads_have_a_number_of_them() {
    let completed = |of: &[(Buffering, Option<usize>)]| {
        let one = |(buffering, threads): &(Buffering, Option<usize>)| {
            aes(Staging {
                buffering: *buffering,
                threads: *threads,
            })
        };
        let complete = Aes::complete(of.iter().map(one).collect());
        complete.iter().map(|one| one.staging).collect::<Vec<_>>()
    };
    let (single, in_threads) = (Buffering::Single, Buffering::Threads);
    assert_eq!(
        completed(&[(single, None), (in_threads, None)]),
        [SINGLE, threads(4)]
    );
    assert_eq!(
        completed(&[(single, Some(2)), (in_threads, Some(2))]),
        [SINGLE, threads(2)]
    );
    // The check must refuse a number of threads without the buffering `threads`.
    let wrong = Staging {
        threads: Some(2),
        ..SINGLE
    };
    assert_eq!(completed(&[(single, Some(2))]), [wrong]);
}

/// The file with the table of all programs.
const LIB: &str = include_str!("../../src/lib.rs");

/// Checks what every program must have.
struct Described;

impl Visitor for Described {
    type Output = ();

    fn visit<P: Program>(self) {
        let name = P::NAME;
        let path = any::type_name::<P>();
        let (_, of_type) = path.rsplit_once("::").unwrap();
        let row = format!("//! | [`{of_type}`] |");
        assert!(LIB.contains(&row), "{name} has a row in src/lib.rs");
        let flags = P::flags();
        assert!(flags.get_about().is_some(), "{name} says what it is");
        assert!(!P::METRICS.is_empty(), "{name} gives something");
        if let Some(repeats) = P::REPEATS {
            let mut names = flags.get_arguments().map(|flag| flag.get_id().as_str());
            assert!(names.any(|flag| flag == repeats.parameter), "{name}");
        }
        for flag in flags.get_arguments() {
            assert!(flag.get_help().is_some(), "{name}: {flag} says what it is");
        }
    }
}

#[test]
fn every_program_is_described() {
    for name in PROGRAMS {
        visit(name, Described).unwrap();
    }
    assert!(PROGRAMS.is_sorted());
    assert!(visit("swich", Described).is_none());
}

#[test]
fn parameters_are_the_fields_in_their_order() {
    let names = |program: &Aes| -> Vec<String> {
        let parameters = program.parameters().into_iter();
        parameters.map(|(name, _)| name).collect()
    };
    let all = [
        "buffering",
        "threads",
        "spes",
        "bytes",
        "block_bytes",
        "cycles_per_byte",
    ];
    assert_eq!(names(&aes(threads(2))), all);
    let without_threads: Vec<&str> = all.into_iter().filter(|name| *name != "threads").collect();
    assert_eq!(names(&aes(DOUBLE)), without_threads);
}

#[test]
fn a_machine_without_mfcs_is_named_with_what_it_lacks_and_what_to_do() {
    let program = DmaLatency {
        block_bytes: 128,
        spes: 1,
    };
    let machine = PlainMachine::new(1);
    assert_eq!(program.check(machine.topology()), Ok(()));
    let error = program.run(&machine).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a plain machine has no MFCs, which the program is made of; run it on this computer or on \
         a simulated Cell"
    );
}
