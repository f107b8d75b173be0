//! Papers reproduced on a simulated machine.

use std::ops::ControlFlow;
use std::sync::Mutex;

use cellworks_apps::mandelbrot::View;
use cellworks_apps::{BarnesHut, Lu, OnOff, Program, Scheduler, Workers};
use cellworks_report::reproduction::{
    Relation, Reproduced, Reproduction, ReproductionSummary as Summary,
};
use cellworks_report::{Environment, ReasonKind};
use cellworks_reproduce::{Extent, Paper, Reproducing, UnknownMachine, built_in, sensitivity};
use cellworks_sim::{Description, Sim};

/// A paper with numbers of every kind. The simulations take little time.
const MINE: &str = r#"
name = "mine"
title = "Mine"
authors = "Somebody, 2026"
machine = "qs20"

[[number]]
id = "tick"
quantity = "tick of the decrementer"
source = "table 1"
unit = "ns"
value = 70
relation = { derived = "clock.timebase_hz" }
experiment = { kind = "tick" }

[[number]]
id = "switch"
quantity = "context switch"
source = "table 1"
unit = "cycles"
value = 180
relation = { fitted = "spu.switch_cycles" }
experiment = { kind = "run", program = "switch", with = { threads = 2, yields = 16_000 }, gives = "switch" }

[[number]]
id = "barrier"
quantity = "barrier"
source = "table 2"
unit = "ns"
kept_back = true
experiment = { kind = "run", program = "barrier", with = { roots = "one", spes = 4, barriers = 32 }, gives = "barrier" }

[[number]]
id = "grows"
quantity = "signals of more SPEs take longer"
source = "text"
unit = "times"
shape = { rule = "3 members divided by 1", at_least = 1.0 }
relation = "independent"
experiment = { kind = "combined", how = "ratio", of = [
    { kind = "run", program = "barrier", with = { roots = "one", spes = 4, barriers = 32 }, gives = "barrier" },
    { kind = "run", program = "barrier", with = { roots = "one", spes = 2, barriers = 32 }, gives = "barrier" },
] }

[[number]]
id = "place"
quantity = "place of a mapping"
source = "text"
unit = "rank"
value = 1
relation = "independent"
experiment = { kind = "ring", spes = 3, packet_bytes = 128, statistic = "rank", mapping = "021" }

[[number]]
id = "elsewhere"
quantity = "time of another program"
source = "text"
unit = "s"
value = 2
not_simulated = "it is another program"

[[figure]]
number = "1"
title = "Gets"
x = "block_bytes"
at = [16, 128]
[[figure.panel]]
title = "XDRAM0"
of = { kind = "stats", function = "dmaget", module = 0 }
spes = [1, 2]
"#;

fn environment() -> Environment {
    Environment {
        cellworks_version: "0".to_owned(),
        build: "debug".to_owned(),
        operating_system: "linux".to_owned(),
        kernel: None,
        architecture: "x86_64".to_owned(),
        finished_unix_s: 0,
        warnings: Vec::new(),
        host: None,
    }
}

const WITH_FIGURES: Extent = Extent {
    figures: true,
    takes_long: false,
};

fn reproduced(text: &str, figures: bool) -> Result<Reproduction, UnknownMachine> {
    let papers = vec![Paper::parse(text).unwrap()];
    let extent = Extent {
        figures,
        takes_long: false,
    };
    let mut reproducing = Reproducing::of(papers, extent, &built_in)?;
    reproducing.simulate(&built_in);
    Ok(reproducing.report(environment()))
}

#[track_caller]
fn number<'a>(of: &'a Reproduction, name: &str) -> &'a Reproduced {
    of.results
        .iter()
        .find(|result| result.name == name)
        .unwrap()
}

#[test]
fn numbers_of_every_kind_are_simulated_and_compared() {
    let found = reproduced(MINE, false).unwrap();
    assert!(
        found.envelope.trust.trustworthy && found.envelope.complete,
        "{:?}",
        found.envelope.trust
    );
    let tick = number(&found, "tick");
    assert!((tick.value.unwrap() - 69.84).abs() < 0.01);
    assert!((tick.error_percent.unwrap() + 0.23).abs() < 0.01);
    assert_eq!(
        (tick.relation, tick.follows_from.as_deref()),
        (Some(Relation::Derived), Some("clock.timebase_hz"))
    );
    let switch = number(&found, "switch");
    assert_eq!(
        (switch.relation, switch.served_for_calibration),
        (Some(Relation::Fitted), true)
    );
    assert!(switch.error_percent.unwrap().abs() < 5.0, "{switch:?}");
    let barrier = number(&found, "barrier");
    assert!(barrier.value.unwrap() > 0.0);
    assert_eq!((barrier.published, barrier.error_percent), (None, None));
    let grows = number(&found, "grows");
    assert_eq!((grows.holds, grows.error_percent), (Some(true), None));
    let place = number(&found, "place");
    assert!([1.0, 2.0].contains(&place.value.unwrap()));
    assert_eq!(place.error_percent, None);
    assert_eq!(number(&found, "elsewhere").value, None);

    let summary = &found.summary;
    let Summary {
        calibration,
        derived,
        independent,
        ..
    } = summary;
    assert_eq!(
        (calibration.numbers, derived.numbers, independent.numbers),
        (1, 1, 0)
    );
    assert_eq!((independent.shapes, independent.shapes_that_hold), (1, 1));
    assert_eq!(summary.validation.numbers, 1);
    assert_eq!((summary.predictions, summary.not_simulated), (1, 1));
    assert!(found.figures.is_empty(), "figures were not requested");
}

#[test]
fn figures_have_a_curve_for_each_number_of_spes() {
    let found = reproduced(MINE, true).unwrap();
    let panel = &found.figures[0].panels[0];
    let names: Vec<&str> = panel
        .curves
        .iter()
        .map(|curve| curve.name.as_str())
        .collect();
    assert_eq!(names, ["1 SPE", "2 SPEs"]);
    for curve in &panel.curves {
        let at: Vec<u64> = curve.points.iter().map(|point| point.x).collect();
        assert_eq!(at, [16, 128]);
        assert!(
            curve
                .points
                .iter()
                .all(|point| point.bandwidth_bytes_per_s.is_some())
        );
    }
}

/// A paper about a ring on a QS22. The simulations take little time.
const RING: &str = r#"
name = "ring"
title = "A ring"
authors = "Somebody, 2026"
machine = "qs22"

[[number]]
id = "knn"
quantity = "neighbours are found faster"
source = "text"
unit = "times"
shape = { rule = "speed-up on 2 SPEs", at_least = 1.2, at_most = 2.0 }
relation = "independent"
experiment = { kind = "speed-up", program = "knn", with = { spes = 2, threads = 1, transport = "direct", points = 160, dimensions = 72, neighbours = 10, block_points = 20 }, gives = "time" }

[[number]]
id = "well"
quantity = "computation from which on a ring scales well"
source = "text"
unit = "MFLOP"
value = 0.01
relation = "independent"
experiment = { kind = "scales-from", of = { program = "ratio", with = { spes = 4, threads = 1, transport = "direct", operations = 1, steps = 10 }, gives = "time_per_step" }, efficiency_percent = 80, operations = [1_000, 10_000, 100_000] }

[[figure]]
number = "1"
title = "Rings"
x = "operations"
at = [1_000, 100_000]
[[figure.panel]]
title = "4 SPEs"
lines = [{ name = "1 thread", of = { kind = "speed-up", program = "ratio", with = { spes = 4, threads = 1, transport = "direct", operations = 1, steps = 10 }, gives = "time_per_step" } }]

[[figure]]
number = "2"
title = "The same by SPEs"
x = "spes"
at = [1, 4]
[[figure.panel]]
title = "100,000 operations"
lines = [{ name = "1 thread", of = { kind = "speed-up", program = "ratio", with = { spes = 1, threads = 1, transport = "direct", operations = 100_000, steps = 10 }, gives = "time_per_step" } }]

[[figure]]
number = "3"
title = "A communication"
x = "spes"
at = [2, 4]
[[figure.panel]]
title = "by signals and DMA"
lines = [{ name = "1 thread", of = { kind = "run", program = "commstime", with = { spes = 2, threads = 1, transport = "direct", rounds = 100 }, gives = "time_per_communication" } }]
"#;

#[test]
fn programs_that_processes_share_have_speed_ups_and_curves_of_them() {
    let found = reproduced(RING, true).unwrap();
    assert!(found.envelope.complete, "{:?}", found.envelope.trust);
    assert_eq!(number(&found, "knn").holds, Some(true), "{found:?}");
    // The value in MFLOP lies between the simulated numbers of operations.
    let well = number(&found, "well").value.unwrap();
    assert!((0.001..0.1).contains(&well), "{well}");

    let points = |figure: usize| &found.figures[figure].panels[0].curves[0].points;
    let speed_ups = |figure| points(figure).iter().map(|point| point.speed_up.unwrap());
    let by_operations: Vec<f64> = speed_ups(0).collect();
    assert!(by_operations[0] < 2.0 && by_operations[1] > 3.2 && by_operations[1] < 4.0);
    assert_eq!(speed_ups(1).collect::<Vec<_>>(), [1.0, by_operations[1]]);
    for point in points(2) {
        assert_eq!(point.speed_up, None, "it is a time");
        assert!(point.latency_ns > 100.0);
    }
}

#[test]
fn two_runs_find_the_same() {
    assert_eq!(reproduced(MINE, true), reproduced(MINE, true));
}

#[test]
fn what_takes_long_is_simulated_on_request() {
    let mut paper = Paper::parse(MINE).unwrap();
    paper.numbers.retain(|number| number.id == "switch");
    (paper.long_minutes, paper.numbers[0].takes_long) = (Some(7), true);
    let planned = |takes_long| {
        let extent = Extent {
            figures: false,
            takes_long,
        };
        Reproducing::of(vec![paper.clone()], extent, &built_in).unwrap()
    };
    assert_eq!(planned(true).planned(), 1);
    let without = planned(false);
    assert_eq!(without.planned(), 0);
    let found = without.report(environment());
    assert_eq!(
        number(&found, "switch").not_simulated.as_deref(),
        Some(
            "it takes long: cellworks reproduce mine --all simulates it, in about 7 minutes on two CPUs"
        )
    );
    assert!(found.envelope.complete);
}

#[test]
fn every_simulation_runs_once() {
    let papers = vec![Paper::parse(MINE).unwrap()];
    let reproducing = Reproducing::of(papers, Extent::default(), &built_in).unwrap();
    // A tick, a switch, two mappings and two barriers. A barrier that occurs twice counts once.
    assert_eq!((reproducing.done(), reproducing.planned()), (0, 6));
    let runs = Mutex::new(0);
    reproducing.plan().simulate(&built_in, &|_| true, &|_, _| {
        *runs.lock().unwrap() += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(runs.into_inner().unwrap(), 6);
}

#[test]
fn what_was_not_simulated_when_it_ends_is_named() {
    let papers = vec![Paper::parse(MINE).unwrap()];
    let reproducing = Reproducing::of(papers, WITH_FIGURES, &built_in).unwrap();
    let plan = reproducing.plan();
    let reproducing = Mutex::new(reproducing);
    plan.simulate(&built_in, &|_| true, &|step, simulated| {
        let mut reproducing = reproducing.lock().unwrap();
        if reproducing.done() == 0 {
            reproducing.record(step, simulated);
        }
        ControlFlow::Break(())
    });
    let found = reproducing.into_inner().unwrap().report(environment());
    assert!(found.envelope.trust.trustworthy && !found.envelope.complete);
    // Only one simulation was recorded, so at most one number has a value.
    let values = found.results.iter().filter(|result| result.value.is_some());
    assert!(values.count() <= 1);
    let why = |name: &str| number(&found, name).not_simulated.as_deref();
    assert_eq!(why("grows"), Some("the run ended before"));
    assert_ne!(why("elsewhere"), Some("the run ended before"));
    assert!(
        cellworks_report::reproduction::table(&found, cellworks_report::WIDTH)
            .contains("Not complete: ")
    );
}

#[test]
fn a_simulation_that_fails_is_named_and_the_others_go_on() {
    let text = MINE.replace("spes = 4, barriers", "spes = 32, barriers");
    let found = reproduced(&text, false).unwrap();
    assert!(!found.envelope.trust.trustworthy && !found.envelope.complete);
    let name = &found.envelope.machine.name;
    let why = format!("spes: {name} has 16 SPEs, not 32; use at most 16");
    assert_eq!(
        found.envelope.trust.reasons,
        [format!("barrier: {why}"), format!("grows: {why}")]
    );
    assert_eq!(found.envelope.trust.kinds, [Some(ReasonKind::Failed); 2]);
    assert_eq!(number(&found, "barrier").failed, Some(why));
    assert!(number(&found, "tick").value.is_some());
}

#[test]
fn machines_without_a_description_are_named() {
    let text = MINE.replace("machine = \"qs20\"", "machine = \"qs99\"");
    assert_eq!(
        reproduced(&text, false).unwrap_err().to_string(),
        "paper `mine` is about the machine `qs99`, which is not described; describe it, or name another"
    );
}

#[test]
fn raising_what_a_number_was_fitted_to_moves_it() {
    let paper = Paper::parse(MINE).unwrap();
    let mut qs20 = Description::built_in("qs20").unwrap();
    qs20.spu.switch_cycles.fitted_to = Some("table 1".to_owned());
    let moved = sensitivity(&paper, &qs20).unwrap();
    let of = |parameter: &str, number: &str| {
        let row = moved.iter().find(|row| row.parameter == parameter).unwrap();
        let change = row.changes.iter().find(|change| change.number == number);
        change.cloned().unwrap()
    };
    let switch = of("spu.switch_cycles", "switch");
    assert!((5.0..15.0).contains(&switch.percent), "{switch:?}");
    let tick = of("spu.switch_cycles", "tick");
    assert_eq!(tick.percent, 0.0);
    assert_eq!(of("ppe.start_program_ps", "switch").percent, 0.0);
    let numbers = moved[0].changes.iter().map(|change| &*change.number);
    assert_eq!(
        numbers.collect::<Vec<_>>(),
        ["tick", "switch", "grows", "place"],
        "what is kept back or not simulated does not move"
    );
}

/// `cellworks run` and `cellworks reproduce` have the same costs of Jack Rabbit's programs.
#[test]
fn what_programs_of_jack_rabbit_take_alone_is_what_the_paper_is_said_to_take() {
    const NAMES: [&str; 2] = ["lu-1k-6-on", "barnes-hut-10k-6-off"];
    let mut paper = Paper::built_in("jack-rabbit").unwrap();
    let is_named = |id: &String| NAMES.contains(&id.as_str());
    paper.numbers.retain(|number| is_named(&number.id));
    let mut reproducing = Reproducing::of(vec![paper], Extent::default(), &built_in).unwrap();
    reproducing.simulate(&built_in);
    let found = reproducing.report(environment());

    let workers = |buffering| Workers {
        workers: 6,
        buffering,
        dicing: OnOff::Off,
        scheduler: Scheduler::ThreeLevel,
    };
    let lu = Lu {
        workers: workers(OnOff::On),
        size: 1_024,
    };
    let bodies = BarnesHut {
        workers: workers(OnOff::Off),
        bodies: 10_000,
        steps: 1,
    };
    let ps3 = || Sim::new(Description::built_in("ps3").unwrap()).unwrap();
    let run_time = |quantities: Vec<cellworks_apps::Quantity>| {
        let mut quantities = quantities.into_iter();
        let time = quantities.find(|quantity| quantity.name == "run_time");
        time.unwrap().value
    };
    let alone = [
        run_time(lu.run(&ps3()).unwrap()),
        // The paper has 100 steps.
        100.0 * run_time(bodies.run(&ps3()).unwrap()),
    ];
    for (name, alone) in NAMES.into_iter().zip(alone) {
        let said = number(&found, name).value.unwrap();
        assert!((alone / said - 1.0).abs() < 1e-6, "{name}: {alone} {said}");
    }
}

/// With 256 tasks Jack Rabbit draws the first 256 rows of 480, whose time is counted as this part
/// of the time of the whole picture.
#[test]
fn the_first_256_rows_have_58_of_100_iterations() {
    let mut counts = vec![0; View::PAPER.width];
    let sums: Vec<u64> = (0..View::PAPER.height)
        .map(|row| View::PAPER.row(row, &mut counts))
        .collect();
    let part = |rows: &[u64]| rows.iter().sum::<u64>() as f64;
    let share = part(&sums[..256]) / part(&sums);
    assert!((share - 0.58).abs() < 0.001, "{share}");
}
