//! Experiments on the host, where times have no meaning.

use std::hash::{DefaultHasher, Hash, Hasher};

use cellworks_host::Host;
use cellworks_machine::Machine;
use cellworks_sim::{Description, Sim};

use super::*;
use cellworks_apps::exchange::Mapping;
use cellworks_runner::names;

use crate::paper::{Number, Paper};

fn host() -> Host {
    Host::builder().spes(4).build().unwrap()
}

fn experiment(text: &str) -> Experiment {
    #[derive(Deserialize)]
    struct Wrapped {
        experiment: Experiment,
    }
    let wrapped: Wrapped = toml::from_str(&format!("experiment = {{ {text} }}")).unwrap();
    wrapped.experiment
}

/// Returns the text of an experiment for the smallest computation with which a ring scales well.
fn scales_from(spes: u16, efficiency_percent: u16, operations: &str) -> String {
    format!(
        r#"kind = "scales-from", of = {{ program = "ratio", with = {{ spes = {spes}, threads = 1, transport = "coordinator", operations = 1, steps = 10 }}, gives = "time_per_step" }}, efficiency_percent = {efficiency_percent}, operations = {operations}"#
    )
}

/// Runs all simulations of an experiment on the host.
fn outcomes(text: &str) -> Vec<SimulationResults> {
    let experiment = experiment(text);
    experiment.dimension().unwrap();
    let mut all = Vec::new();
    experiment.simulations(&"host".into(), &mut all);
    let host = host();
    all.into_iter()
        .map(|simulation| simulation.program.run(&host, &host, 1_000_000_000).unwrap())
        .collect()
}

#[track_caller]
fn gives_a_time(text: &str) {
    for outcome in outcomes(text) {
        assert!(outcome.ns.is_finite() && outcome.ns > 0.0, "{outcome:?}");
    }
}

#[test]
fn barriers_let_all_spes_through() {
    for (roots, spes) in [("one", 4), ("each-cell", 4), ("one", 2)] {
        gives_a_time(&format!(
            r#"kind = "run", program = "barrier", with = {{ roots = "{roots}", spes = {spes}, barriers = 32 }}, gives = "barrier""#
        ));
    }
}

#[test]
fn numbers_go_around_a_ring_of_channels() {
    for transport in ["coordinator", "direct"] {
        gives_a_time(&format!(
            r#"kind = "run", program = "commstime", with = {{ spes = 4, threads = 2, transport = "{transport}", rounds = 100 }}, gives = "time_per_communication""#
        ));
    }
    gives_a_time(r#"kind = "ppe-communication""#);
}

#[test]
fn a_published_time_may_be_that_of_several_runs() {
    let time = |times| {
        let experiment = experiment(&format!(
            r#"kind = "run", program = "switch", with = {{ threads = 2, yields = 100 }}, gives = "switch"{times}"#
        ));
        let mut all = Vec::new();
        experiment.simulations(&"ps3".into(), &mut all);
        let machine = Sim::new(Description::built_in("ps3").unwrap()).unwrap();
        all[0]
            .program
            .run(&machine, &machine, 79_800_000)
            .unwrap()
            .ns
    };
    assert!((time(", times = 1_000") / time("") - 1_000.0).abs() < 1e-6);
}

#[test]
fn processes_share_programs_as_one_alone_does_them() {
    for (program, with, gives) in [
        (
            "knn",
            "points = 60, dimensions = 72, neighbours = 10, block_points = 7",
            "time",
        ),
        ("ratio", "operations = 1_000, steps = 10", "time_per_step"),
    ] {
        let text = format!(
            r#"kind = "speed-up", program = "{program}", with = {{ spes = 3, threads = 2, transport = "coordinator", {with} }}, gives = "{gives}""#
        );
        assert_eq!(
            outcomes(&text).len(),
            2,
            "with the one that it is compared with"
        );
        gives_a_time(&text);
    }
    gives_a_time(&scales_from(2, 90, "[2, 64]"));
}

#[test]
fn a_line_is_changed_in_turn() {
    gives_a_time(r#"kind = "bounce", between = [0, 1]"#);
}

#[test]
fn packets_go_around_rings_of_all_mappings() {
    for text in [
        r#"kind = "ring", spes = 4, packet_bytes = 512, statistic = "worst-to-best""#,
        r#"kind = "ring", spes = 3, packet_bytes = 16, statistic = "worst-to-best""#,
        r#"kind = "ring", spes = 3, packet_bytes = 16, statistic = "worst-to-best", one_way = true"#,
    ] {
        gives_a_time(text);
    }
}

#[test]
fn streams_have_a_bandwidth() {
    for text in [
        r#"kind = "stream", spes = [0, 1, 2, 3], lenders = [1, 0, 3, 2], block_bytes = 16384, in_flight = 2"#,
        r#"kind = "stream", spes = [1, 2], lenders = [0, 0], block_bytes = 256, in_flight = 8"#,
        r#"kind = "stream", spes = [0], put = true, block_bytes = 1024, in_flight = 1"#,
    ] {
        let outcome = outcomes(text)[0];
        assert!(
            outcome.bytes_per_s.is_some_and(|bytes| bytes > 0.0),
            "{text}: {outcome:?}"
        );
    }
}

#[test]
fn switches_and_measurements_have_a_time() {
    // The time with switches minus the time without. It is negative if another program of this
    // computer interrupts the loop without switches.
    let switch = r#"kind = "run", program = "switch", with = { threads = 4, yields = 16_000 }, gives = "switch""#;
    assert!(outcomes(switch)[0].ns.is_finite());
    gives_a_time(
        r#"kind = "stats", function = "dmaget", spes = 2, buffers = "private", block_bytes = 128"#,
    );
}

#[test]
fn a_tick_is_the_inverse_of_the_timebase() {
    let host = host();
    let tick = Program::Tick.run(&host, &host, 14_318_000).unwrap();
    assert!((tick.ns - 69.84).abs() < 0.01, "{tick:?}");
}

#[test]
fn too_few_spes_are_named() {
    let host = host();
    let name = host.topology().name();
    let text = r#"kind = "run", program = "barrier", with = { roots = "one", spes = 5, barriers = 32 }, gives = "barrier""#;
    let Experiment::Run(barrier) = experiment(text) else {
        panic!("it is one");
    };
    assert_eq!(
        barrier.run(&host).unwrap_err(),
        format!("spes: {name} has 4 SPEs, not 5; use at most 4")
    );
    let bounce = Bounce { between: [0, 9] };
    assert_eq!(
        bounce.run(&host).unwrap_err(),
        format!("it needs 10 SPEs, and {name} has 4")
    );
}

/// Returns the value of an experiment with simulations of 100 ns, 200 ns, and so on.
fn value(text: &str) -> f64 {
    let experiment = experiment(text);
    let machine = "made up".into();
    let mut all = Vec::new();
    experiment.simulations(&machine, &mut all);
    let outcome = |simulation: &Simulation| {
        let place = all.iter().position(|other| other == simulation).unwrap();
        let ns = 100.0 * (place + 1) as f64;
        Ok(SimulationResults {
            ns,
            bytes_per_s: Some(ns),
        })
    };
    experiment.value(&machine, &outcome).unwrap()
}

#[test]
fn experiments_are_combined() {
    let get = |spes| format!(r#"{{ kind = "stats", function = "dmaget", spes = {spes} }}"#);
    let of = |how| {
        let parts = [2, 1, 3].map(get).join(", ");
        value(&format!(
            r#"kind = "combined", how = "{how}", of = [{parts}]"#
        ))
    };
    assert_eq!(of("greatest"), 300.0);
    assert_eq!(of("spread"), 3.0);
    assert_eq!(of("mean"), 200.0);
    assert_eq!(of("ratio"), 0.5);
    assert_eq!(of("difference"), -100.0);
}

#[test]
fn a_speed_up_is_over_one_process() {
    // The run takes 100 ns, and with one process 200 ns.
    let text = r#"kind = "speed-up", program = "prototein", with = { spes = 16, threads = 2, transport = "direct", prototein = "HPPH", placed = 2 }, gives = "time""#;
    assert_eq!(value(text), 2.0);
    let mut all = Vec::new();
    experiment(text).simulations(&"made up".into(), &mut all);
    let placed = all.iter().map(|simulation| match &simulation.program {
        Program::Run(run) => ["spes", "threads"].map(|name| run.with[name].as_u64().unwrap()),
        other => panic!("{other:?}"),
    });
    assert_eq!(placed.collect::<Vec<_>>(), [[16, 2], [1, 1]]);
}

#[test]
fn scaling_well_begins_between_two_numbers_of_operations() {
    let looked_for = |rest: &str| {
        let text = scales_from(4, 50, "[1_000_000, 2_000_000, 4_000_000]");
        match experiment(&(text + rest)) {
            Experiment::ScalesFrom(looked_for) => looked_for,
            other => panic!("{other:?}"),
        }
    };
    let found = |times: &[f64]| looked_for("").found(times);
    // In the first case, the speed-up is 2 at the second number of operations. In the second case,
    // the speed-up reaches 2 between the second and the third number.
    assert_eq!(found(&[1.0, 1.0, 2.0, 1.0, 4.0, 1.0]), Ok(2e6));
    assert_eq!(found(&[1.0, 1.0, 1.5, 1.0, 2.5, 1.0]), Ok(3e6));
    let in_a_turn = looked_for(", steps = 4").found(&[1.0, 1.0, 1.5, 1.0, 2.5, 1.0]);
    assert_eq!(in_a_turn, Ok(12e6));
    assert_eq!(
        found(&[1.0, 1.0, 2.0, 1.5, 4.0, 3.0]).unwrap_err(),
        "up to 4000000 operations there is no speed-up of 2 on 4 SPEs; look further up"
    );
    assert_eq!(
        found(&[2.0, 1.0, 4.0, 1.0, 8.0, 1.0]).unwrap_err(),
        "1000000 operations have a speed-up of 2 on 4 SPEs already; look further down"
    );
}

#[test]
fn statistics_are_of_all_mappings() {
    // 0213 is the third mapping, so it takes 300 ns.
    let of = |rest| {
        value(&format!(
            r#"kind = "ring", spes = 4, packet_bytes = 16, {rest}"#
        ))
    };
    let third = Mapping::all(4, 4).nth(2).map(|mapping| mapping.to_string());
    assert_eq!(third.as_deref(), Some("0213"));
    assert_eq!(of(r#"statistic = "worst-to-best""#), 6.0);
    assert_eq!(of(r#"statistic = "median-to-best""#), 4.0);
    assert_eq!(of(r#"statistic = "rank", mapping = "0213""#), 3.0);
    assert_eq!(
        of(r#"statistic = "mapping-to-best", mapping = "0213""#),
        3.0
    );
    // The middle half is from 200 ns to 500 ns.
    assert_eq!(of(r#"statistic = "middle-half""#), 3.0 / 4.0);
    // With the other packets, the mappings take 700 ns to 1,200 ns.
    let alike = of(r#"statistic = "correlation", other_packet_bytes = 32"#);
    assert!((alike - 1.0).abs() < 1e-12, "{alike}");
}

/// Gives random times from 1.0 to 1.2 us to the simulations of each of `machines` machines. Returns
/// the share of these machines on which the shape of `number` holds.
fn holds_by_chance(number: &Number, machines: u64) -> f64 {
    let experiment = number.experiment.as_ref().unwrap();
    let shape = number.shape.as_ref().unwrap();
    let holds = |seed: u64| {
        let outcome = |simulation: &Simulation| {
            let mut hasher = DefaultHasher::new();
            (seed, simulation).hash(&mut hasher);
            let from_0_to_1 = hasher.finish() as f64 / u64::MAX as f64;
            Ok(SimulationResults::time(1_000.0 + 200.0 * from_0_to_1))
        };
        let value = crate::reproduce::simulated(number, experiment, &"random".into(), &outcome);
        shape.holds(value.unwrap())
    };
    let holding = (0..machines).filter(|seed| holds(*seed)).count();
    holding as f64 / machines as f64
}

#[test]
fn the_shapes_of_task_mapping_do_not_hold_by_chance() {
    let paper = Paper::built_in("task-mapping").unwrap();
    let shapes = paper.numbers.iter().filter(|number| number.shape.is_some());
    let simulated: Vec<_> = shapes.filter(|n| n.experiment.is_some()).collect();
    assert_eq!(simulated.len(), 4);
    for number in simulated {
        let share = holds_by_chance(number, 40);
        assert!(share <= 0.05, "{}: {share}", number.id);
    }
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let cases = [
        (
            r#"kind = "ring", spes = 9, packet_bytes = 16, statistic = "worst-to-best""#,
            "a ring of 9 tasks: it takes 3 to 8, whose mappings can all be tried",
        ),
        (
            r#"kind = "ring", spes = 4, packet_bytes = 24, statistic = "worst-to-best""#,
            "a packet of 24 bytes: a DMA command moves multiples of 16 up to 16,384",
        ),
        (
            r#"kind = "ring", spes = 4, packet_bytes = 16, statistic = "rank""#,
            "its statistic is about one mapping; add `mapping`",
        ),
        (
            r#"kind = "ring", spes = 4, packet_bytes = 16, statistic = "worst-to-best", mapping = "0123""#,
            "its statistic is about all mappings; remove `mapping`",
        ),
        (
            r#"kind = "ring", spes = 4, packet_bytes = 16, statistic = "rank", mapping = "1023""#,
            "`1023` is no mapping that is tried: it has each task from 0 to 3 once, and begins with 0",
        ),
        (
            r#"kind = "ring", spes = 4, packet_bytes = 16, statistic = "correlation""#,
            "its correlation needs `other_packet_bytes`",
        ),
        (
            r#"kind = "ring", spes = 4, packet_bytes = 16, other_packet_bytes = 32, statistic = "worst-to-best""#,
            "its ring has packets of one size; remove `other_packet_bytes`",
        ),
        (
            r#"kind = "ring", spes = 4, packet_bytes = 16, other_packet_bytes = 24, statistic = "correlation""#,
            "a packet of 24 bytes: a DMA command moves multiples of 16 up to 16,384",
        ),
        (
            r#"kind = "stream", spes = [], block_bytes = 16, in_flight = 1"#,
            "its stream has no SPEs; name at least one",
        ),
        (
            r#"kind = "stream", spes = [1, 2], lenders = [0], block_bytes = 16, in_flight = 1"#,
            "its stream has 2 SPEs and 1 lenders; name one for each SPE, or none",
        ),
        (
            r#"kind = "stream", spes = [1], block_bytes = 48, in_flight = 1"#,
            "a block of 48 bytes: a stream moves powers of 2 from 16 to 16,384",
        ),
        (
            r#"kind = "stream", spes = [1], block_bytes = 16, in_flight = 9"#,
            "9 blocks in flight: a stream has 1 to 8",
        ),
        (
            r#"kind = "combined", how = "ratio", of = []"#,
            "a combination of no experiments gives nothing",
        ),
        (
            r#"kind = "combined", how = "ratio", of = [{ kind = "tick" }]"#,
            "its combination is of 1 experiments; a ratio or a difference is of 2, others of at least 2",
        ),
        (
            r#"kind = "combined", how = "mean", of = [{ kind = "tick" }, { kind = "stream", spes = [0], block_bytes = 16, in_flight = 1 }]"#,
            "a combination of a time and a bandwidth gives nothing; combine what is alike",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(experiment(text).dimension().unwrap_err(), message, "{text}");
    }
    for (efficiency, operations, message) in [
        (
            90,
            "[100, 10]",
            "what it looks for lies between `operations`: name at least 2, in rising order",
        ),
        (
            90,
            "[100]",
            "what it looks for lies between `operations`: name at least 2, in rising order",
        ),
        (
            101,
            "[10, 100]",
            "101 % of the number of SPEs is no speed-up to look for: use 1 to 100",
        ),
    ] {
        let text = scales_from(2, efficiency, operations);
        assert_eq!(
            experiment(&text).dimension().unwrap_err(),
            message,
            "{text}"
        );
    }
}

#[test]
fn programs_that_are_not_there_or_lack_something_are_refused() {
    const NETWORK: &str = r#"spes = 2, threads = 1, transport = "direct""#;
    let switch = |with: &str, gives: &str| {
        format!(r#"kind = "run", program = "switch", with = {{ {with} }}, gives = "{gives}""#)
    };
    let looked_for = scales_from(2, 90, "[10, 100]");
    let names = names().join(", ");
    let unknown = format!("there is no program `swich`; use one of {names}");
    for (text, message) in [
        (
            switch("threads = 8, yields = 16", "switch")
                .replace("\"switch\", with", "\"swich\", with"),
            unknown.as_str(),
        ),
        (
            switch("threads = 8, yeilds = 16", "switch"),
            "program `switch`: unknown field `yeilds`, expected `threads` or `yields`",
        ),
        (
            switch("threads = 8", "switch"),
            "program `switch`: missing field `yields`",
        ),
        (
            format!(
                r#"kind = "run", program = "commstime", with = {{ {NETWORK}, rounds = 100, colour = 1 }}, gives = "time_per_communication""#
            ),
            "program `commstime`: unknown field `colour`",
        ),
        (
            switch("threads = 8, yields = 16", "time"),
            "program `switch` gives no `time`; use one of switch, switch_cycles",
        ),
        (
            switch("threads = 8, yields = 16", "switch_cycles"),
            "`switch_cycles` of `switch` is in cycles; name a time or a bandwidth of it",
        ),
        (
            switch("threads = 8, yields = 16", "switch").replace("\"run\"", "\"speed-up\""),
            "a speed-up is over 1 SPE with 1 thread, and `switch` has not both `spes` and `threads`; state them",
        ),
        (
            looked_for.replace("operations = 1, ", ""),
            "`ratio` has no `operations`, which it looks for; state some",
        ),
    ] {
        assert_eq!(
            experiment(&text).dimension().unwrap_err(),
            message,
            "{text}"
        );
    }
}
