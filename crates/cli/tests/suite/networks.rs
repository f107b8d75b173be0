//! The networks and the barrier of `cellworks run`, as a process.

use std::fs;
use std::thread::available_parallelism;

use crate::common::program::{json, measured_here, printed, run};
use crate::common::{list, skipped};
use serde_json::Value;

/// The results with the given name: their values and parameters.
fn named<'v>(report: &'v Value, name: &str) -> Vec<(f64, &'v Value)> {
    let results = list(report, "results").iter();
    let named = results.filter(|result| result["name"] == name);
    named
        .map(|result| (result["value"].as_f64().unwrap(), &result["parameters"]))
        .collect()
}

#[test]
fn every_network_runs_on_this_computer() {
    for arguments in [
        "commstime --spes 1 --threads 2,3 --rounds 100",
        "commstime --spes 1 --threads 2 --rounds 100 --transport coordinator",
        "prototein --prototein HPPHPH --threads 1,2",
        "knn --points 60 --dimensions 8 --neighbours 3 --block-points 16 --threads 1,2",
        "ratio --operations 0,1k --steps 20 --threads 1,2",
        "server --spes 1 --clients 1,3 --workers 2 --requests 50",
        "barrier --spes 2 --barriers 100",
    ] {
        if arguments.starts_with("barrier") && available_parallelism().unwrap().get() < 2 {
            skipped("a barrier takes two SPEs, and this computer has one CPU, which is one SPE");
            continue;
        }
        let table = measured_here(arguments);
        assert!(table.lines().count() > 1, "{table}");
    }
}

#[test]
fn commstime_has_a_time_for_each_ring_and_the_gain_of_direct_communication() {
    let report = json(
        "commstime --machine qs22 --spes 2-4 --threads 1,2 --transport direct,coordinator --rounds 20",
    );
    assert_eq!(report["command"], "run");
    assert_eq!(report["program"], "commstime");
    let times = named(&report, "time_per_communication");
    assert_eq!(times.len(), 3 * 2 * 2);
    assert_eq!(list(&report, "results")[0]["unit"], "us");
    for (time, of) in &times {
        assert!(*time >= 0.0, "{of}");
        assert_eq!(of["rounds"], 20);
    }
    let of = times[4].1;
    assert_eq!(
        (&of["spes"], &of["threads"], &of["transport"]),
        (&3.into(), &2.into(), &"direct".into())
    );
    for (_, of) in named(&report, "gain") {
        assert_eq!(of["transport"], "direct");
    }
    let figures = list(&report, "figures");
    assert_eq!(figures[0]["x"]["unit"], "SPEs");
    assert_eq!(figures[0]["y"]["unit"], "us");
}

#[test]
fn prototeins_fold_faster_with_more_spes_beside_the_ideal() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("prototein.html");
    let report = json(&format!(
        "prototein --machine qs22 --prototein HPHPPHHPHP,HPPHHPPH --placed 5 --spes 1,2,4 --threads 1,2 --html {}",
        page.display()
    ));
    let speedups = named(&report, "speedup");
    assert_eq!(speedups.len(), 2 * 3 * 2);
    for (speedup, of) in &speedups {
        let alone = of["spes"] == 1 && of["threads"] == 1;
        assert!(
            *speedup > 0.5 && (!alone || *speedup == 1.0),
            "{speedup} {of}"
        );
    }
    // The numbers of self-avoiding walks of 9 and of 7 steps, without rotations and reflections.
    for (foldings, of) in named(&report, "foldings") {
        let expected = if of["prototein"] == "HPPHHPPH" {
            272.0
        } else {
            2_034.0
        };
        assert_eq!(foldings, expected, "{of}");
    }
    let curves = list(&list(&report, "figures")[0], "curves");
    let last = curves.last().unwrap();
    assert_eq!(last["name"], "ideal");
    assert_eq!(last["points"][2], serde_json::json!([4.0, 4.0]));
    let html = fs::read_to_string(page).unwrap();
    assert!(html.contains("Speed-up over one SPE with one thread") && html.contains("ideal"));
}

#[test]
fn neighbours_and_ratios_have_speedups() {
    let report = json(
        "knn --machine qs22 --points 200 --dimensions 64 --neighbours 4 --block-points 20 --spes 1,3 --threads 1,2",
    );
    let speedups = named(&report, "speedup");
    assert_eq!(speedups.len(), 4);
    let (speedup, of) = speedups[1];
    assert_eq!(of["spes"], 3);
    assert!(speedup > 1.5, "{speedup}");

    let report = json("ratio --machine qs22 --operations 10k,1m --steps 3 --spes 1,8");
    let speedups = named(&report, "speedup");
    assert_eq!(speedups.len(), 4);
    let (speedup, of) = speedups[3];
    assert_eq!(
        (&of["spes"], &of["operations"]),
        (&8.into(), &1_000_000.into())
    );
    assert!(speedup > 6.0, "{speedup}");
}

#[test]
fn a_barrier_with_a_root_in_each_cell_gains_across_cells() {
    let report = json("barrier --machine qs22 --spes 4,16");
    let gains = named(&report, "gain");
    assert_eq!(gains.len(), 2);
    assert_eq!(gains[0].0, 1.0, "4 SPEs are of one Cell");
    assert!(gains[1].0 > 1.0, "{gains:?}");
    let figures = list(&report, "figures");
    assert_eq!(list(&figures[0], "curves").len(), 2);
    let table = printed("barrier --machine qs22 --spes 16 --roots each-cell");
    assert!(table.contains("barrier"), "{table}");
}

#[test]
fn a_server_has_a_time_for_each_number_of_clients_and_a_curve() {
    let report = json("server --machine qs22 --spes 3 --clients 1,2,4 --workers 2 --requests 20");
    assert_eq!(report["program"], "server");
    let times = named(&report, "time_per_request");
    assert_eq!(times.len(), 3);
    for (answered, of) in named(&report, "answered") {
        assert!(answered >= 20.0, "{of}");
        assert_eq!((&of["workers"], &of["requests"]), (&2.into(), &20.into()));
    }
    // A single client has one request under way. With several, more are answered in that time.
    assert!(times[0].0 > times[2].0, "{times:?}");
    let figures = list(&report, "figures");
    assert_eq!(figures.len(), 1);
    assert_eq!(figures[0]["x"]["label"], "number of clients");
}

#[test]
fn the_same_seed_gives_the_same_numbers() {
    for arguments in [
        "commstime --machine qs22 --spes 3 --threads 2 --rounds 50",
        "prototein --machine qs22 --prototein HPHPPHHP --placed 4 --spes 4 --threads 2",
        "knn --machine qs22 --points 40 --dimensions 4 --block-points 5 --spes 3 --threads 2",
        "server --machine qs22 --spes 3 --requests 10",
    ] {
        let once = printed(&format!("{arguments} --seed 5 --format csv"));
        let again = printed(&format!("{arguments} --seed 5 --format csv"));
        assert_eq!(once, again);
    }
}

#[test]
fn bad_input_is_refused_with_what_to_do() {
    const COMMSTIME: &str = "commstime --spes 2 --threads 1-4";
    const PROTOTEIN: &str = "prototein --prototein HPHPPHHPHPPHPHHP --spes 1,2";
    const KNN: &str = "knn --points 5k --neighbours 10 --spes 1,2";
    const RATIO: &str = "ratio --operations 10k,100k,1m --spes 1,2";
    const BARRIER: &str = "barrier --roots one,each-cell --spes 2";
    const SERVER: &str = "server --clients 1,4,16 --workers 1,2";
    for (arguments, message, example) in [
        (
            "commstime --spes 2-17",
            "--spes: qs22 has 16 SPEs, not 17; use at most 16",
            COMMSTIME,
        ),
        (
            "commstime --spes 1",
            "--spes: 1 SPE with 1 thread is no ring, which takes 2 processes; use at least 2 SPEs or 2 threads",
            COMMSTIME,
        ),
        (
            "commstime --threads 0",
            "--threads: 0 threads do nothing; use at least 1",
            COMMSTIME,
        ),
        (
            "commstime --rounds 0",
            "--rounds: 0 rounds do nothing; use at least 1",
            COMMSTIME,
        ),
        (
            "prototein --prototein HPC",
            "--prototein: 'C' in \"HPC\" is no bead; use H for hydrophobic and P for polar ones",
            PROTOTEIN,
        ),
        (
            "prototein --prototein HPHPHPHPHPHPHPHPHPHPH",
            "--prototein: not all foldings of 21 beads can be tried; use 2 to 20",
            PROTOTEIN,
        ),
        (
            "prototein --placed 17",
            "--placed: a task cannot have 17 beads of HPHPPHHPHPPHPHHP, which has 16; use 2 to 16",
            PROTOTEIN,
        ),
        (
            "knn --points 10",
            "--neighbours: 10 points do not have 10 neighbours each; use fewer neighbours",
            KNN,
        ),
        (
            "knn --dimensions 300",
            "--dimensions: distances in 300 dimensions are not exact in single precision; use at most 256",
            KNN,
        ),
        (
            "knn --block-points 0",
            "--block-points: 0 points in a block do nothing; use at least 1",
            KNN,
        ),
        (
            "ratio --steps 0",
            "--steps: 0 steps do nothing; use at least 1",
            RATIO,
        ),
        (
            "ratio --operations 2000000m",
            "--operations: 2000000000000 operations take too long; use at most 1000000000000",
            RATIO,
        ),
        (
            "server --clients 0",
            "--clients: 0 clients do nothing; use at least 1",
            SERVER,
        ),
        (
            "server --workers 2k",
            "--workers: 2000 workers are too many; use at most 1000",
            SERVER,
        ),
        (
            "barrier --spes 1",
            "--spes: a barrier takes 2 to 32 SPEs, because each has a bit of a signal, and not 1",
            BARRIER,
        ),
        (
            "barrier --barriers 0",
            "--barriers: 0 barriers do nothing; use at least 1",
            BARRIER,
        ),
    ] {
        let run = run(&format!("{arguments} --machine qs22"));
        let expected =
            format!("error: {message}\n  example: cellworks run {example} --machine qs22\n");
        assert_eq!((run.code, run.err), (Some(2), expected));
    }
    let unknown = run("commstime --transport pigeons --machine qs22");
    assert_eq!(unknown.code, Some(2));
    assert!(
        unknown.err.contains("'pigeons'")
            && unknown
                .err
                .contains("[possible values: direct, coordinator]"),
        "{}",
        unknown.err
    );
}

#[test]
fn stacks_that_do_not_fit_fail_the_run_and_name_the_spe() {
    let run = run("commstime --machine qs22 --spes 2 --threads 100");
    assert_eq!(run.code, Some(1), "{}", run.err);
    assert!(
        run.err.contains("commstime, 2 SPEs, 100 threads: ")
            && run.err.contains(
                "SPE 0 cannot run its 100 processes side by side: its local store has room for the stacks of "
            ),
        "{}",
        run.err
    );
}
