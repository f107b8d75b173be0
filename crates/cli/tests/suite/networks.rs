//! The networks and the barrier of `cellworks run`, as a process.

use std::collections::BTreeSet;
use std::fs;
use std::thread::available_parallelism;

use crate::common::program::{json, measured_here, printed, run};
use crate::common::{Run, cellworks, list, skipped};
use cellworks_sim::trace::read_slices;
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
    for (program, why) in [
        (
            "aes",
            "its SPEs change blocks of main memory and send nothing to each other",
        ),
        (
            "barrier",
            "its SPEs send each other only signals, and it says itself which SPE is a root",
        ),
        (
            "dma-latency",
            "its SPEs read blocks of main memory and send nothing to each other",
        ),
        ("lookup", "it runs on one SPE"),
        (
            "overlap",
            "its SPEs change blocks of main memory and send nothing to each other",
        ),
        ("switch", "it runs on one SPE"),
    ] {
        for flag in ["--volumes graph.txt", "--placement 0,1"] {
            let without = run(&format!("{program} --machine qs22 {flag}"));
            let tip = format!(
                "{} is a flag of the programs of `cellworks run` that have processes (commstime, knn, prototein, ratio, \
                 server) or workers (barnes-hut, lu, mandelbrot); {program} has none of both, because {why}",
                &flag[..flag.find(' ').unwrap()]
            );
            assert_eq!(without.code, Some(2));
            assert!(without.err.contains(&tip), "{}", without.err);
        }
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

/// The latencies between the cores of an Apple M1 Pro.
const M1: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../mapping/tests/data/apple-m1-pro.csv"
);

#[test]
fn a_network_is_placed_by_what_its_processes_have_sent() {
    let folder = tempfile::tempdir().unwrap();
    let [graph, again] = ["graph.txt", "again.txt"].map(|name| folder.path().join(name));
    let (to_graph, to_again) = (graph.display(), again.display());
    let program = format!("commstime --machine {M1} --spes 4 --rounds 20 --quiet");
    printed(&format!("{program} --volumes {to_graph}"));
    let counted = fs::read_to_string(&graph).unwrap();
    let expected = "\
tasks 4
# task 0 on SPE 0: process 0 of the ring
# task 1 on SPE 1: process 1 of the ring
# task 2 on SPE 2: process 2 of the ring
# task 3 on SPE 3: process 3 of the ring
0 1 24  # 24 messages, 192 bytes
1 2 23  # 23 messages, 184 bytes
2 3 23  # 23 messages, 184 bytes
3 0 23  # 23 messages, 184 bytes
";
    assert_eq!(counted, expected);

    let solve = format!("map solve {to_graph} --costs {M1} --format json");
    let solved = Run::of(cellworks().args(solve.split(' '))).json();
    let placement = folder.path().join("placement.json");
    fs::write(&placement, solved.to_string()).unwrap();
    let places: Vec<u64> = list(&solved, "placement")
        .iter()
        .filter_map(Value::as_u64)
        .collect();
    let as_list: Vec<String> = places.iter().map(u64::to_string).collect();

    let time = |flags: &str| {
        let report = json(&format!("{program} {flags}"));
        named(&report, "time_per_communication")[0].0
    };
    let by_file = time(&format!(
        "--placement {} --volumes {to_again}",
        placement.display()
    ));
    assert_eq!(by_file, time(&format!("--placement {}", as_list.join(","))));
    assert!(by_file < time("--placement 0,7,1,6"), "{by_file}");
    // The same processes send the same items elsewhere.
    let edges = |text: &str| -> Vec<String> {
        let edges = text.lines().filter(|line| !line.starts_with('#'));
        edges.map(str::to_owned).collect()
    };
    let placed = fs::read_to_string(&again).unwrap();
    assert_eq!(edges(&placed), edges(&counted));
    let first = format!("# task 0 on SPE {}: process 0 of the ring", places[0]);
    assert!(placed.contains(&first), "{placed}");
}

#[test]
fn a_pool_is_placed_by_what_its_workers_have_taken() {
    let folder = tempfile::tempdir().unwrap();
    let [graph, placement] = ["graph.txt", "placement.json"].map(|name| folder.path().join(name));
    for program in [
        "lu --size 96",
        "barnes-hut --bodies 1000 --steps 1",
        "mandelbrot --tasks 1 --iterations 50",
    ] {
        let program = format!("{program} --workers 4 --dicing on --machine {M1} --quiet");
        printed(&format!("{program} --volumes {}", graph.display()));
        let counted = fs::read_to_string(&graph).unwrap();
        assert!(
            counted.starts_with("tasks 4\n# task 0 on SPE 0: worker 0\n"),
            "{program}: {counted}"
        );
        let edges = counted
            .lines()
            .skip(1)
            .filter(|line| !line.starts_with('#'));
        assert!(edges.count() > 0, "{program}: {counted}");
        let solve = format!("map solve {} --costs {M1} --format json", graph.display());
        let solved = Run::of(cellworks().args(solve.split(' '))).json();
        fs::write(&placement, solved.to_string()).unwrap();
        let placed = placement.display();
        let of_graph = graph.display();
        printed(&format!(
            "{program} --placement {placed} --volumes {of_graph}"
        ));
        let again = fs::read_to_string(&graph).unwrap();
        for (task, place) in list(&solved, "placement").iter().enumerate() {
            let line = format!("# task {task} on SPE {place}: worker {task}\n");
            assert!(again.contains(&line), "{program}: {again}");
        }
    }
}

#[test]
fn the_trace_of_a_run_that_counts_has_what_each_process_has_read() {
    let folder = tempfile::tempdir().unwrap();
    let [trace, graph] = ["trace.pftrace", "graph.txt"].map(|name| folder.path().join(name));
    let program = "commstime --machine qs22 --spes 4 --rounds 20 --quiet";
    let read = |flags: &str| -> Vec<String> {
        printed(&format!("{program} --trace {}{flags}", trace.display()));
        let slices = read_slices(&fs::read(&trace).unwrap()).unwrap();
        let reads = slices
            .iter()
            .filter(|slice| slice.name.starts_with("read "))
            .map(|slice| format!("{}: {}", &slice.track[..5], slice.name));
        BTreeSet::from_iter(reads).into_iter().collect()
    };
    assert_eq!(
        read(&format!(" --volumes {}", graph.display())),
        [
            "SPE 0: read 23 messages, 184 bytes",
            "SPE 1: read 24 messages, 192 bytes",
            "SPE 2: read 23 messages, 184 bytes",
            "SPE 3: read 23 messages, 184 bytes",
        ]
    );
    assert!(read("").is_empty());
}

#[test]
fn a_graph_without_lines_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let graph = folder.path().join("graph.txt");
    let program = format!(
        "prototein --machine qs22 --prototein HPHPPHHP --spes 2 --quiet --volumes {}",
        graph.display()
    );
    let warning = "--volumes: no task sent another one anything, so the graph has no lines";
    let on_ppe = run(&program);
    assert_eq!(on_ppe.code, Some(0), "{}", on_ppe.err);
    let graph_of = || fs::read_to_string(&graph).unwrap();
    assert_eq!(
        graph_of(),
        "tasks 2\n# task 0 on SPE 0: worker 0\n# task 1 on SPE 1: worker 1\n"
    );
    let report = run(&format!("{program} --format json")).json();
    let warnings = report["environment"]["warnings"].to_string();
    assert!(warnings.contains(warning), "{report}");
    let on_spe = run(&format!("{program} --bag spe"));
    assert_eq!(on_spe.code, Some(0), "{}", on_spe.err);
    assert!(graph_of().contains("\n0 1 "), "{}", graph_of());
}

#[test]
fn this_computer_and_simulated_machines_count_the_same() {
    let spes = available_parallelism().unwrap().get().min(2);
    let folder = tempfile::tempdir().unwrap();
    let graph = folder.path().join("graph.txt");
    for program in [
        format!("commstime --spes {spes} --threads 2 --rounds 20"),
        format!("knn --points 60 --dimensions 8 --neighbours 3 --block-points 16 --spes {spes}"),
        format!("ratio --operations 100 --steps 20 --spes {spes}"),
    ] {
        let counted = |machine: &str| {
            let run = run(&format!(
                "{program} {machine} --quiet --volumes {}",
                graph.display()
            ));
            assert!(matches!(run.code, Some(0 | 3)), "{}", run.err);
            fs::read_to_string(&graph).unwrap()
        };
        assert_eq!(counted(""), counted("--machine qs22"), "{program}");
    }
}

#[test]
fn placements_and_volumes_that_cannot_be_are_refused() {
    let refused = |arguments: &str, message: &str| {
        let run = run(arguments);
        assert_eq!(run.code, Some(2), "{}", run.err);
        assert!(run.err.contains(message), "{}", run.err);
    };
    refused(
        "commstime --machine qs22 --spes 2 --placement 0,16",
        "error: --placement: task 1 is on SPE 16, but qs22 has 16 SPEs, numbered from 0",
    );
    refused(
        "commstime --machine qs22 --spes 2 --rounds 5 --placement 0,1,2",
        "--placement: the placement has an SPE for 3 units, but the network has 2: one for each call of `process` \
         or `group`; give one SPE for each of them",
    );
    refused(
        "lu --machine qs22 --size 64 --workers 2 --placement 0,1,2",
        "error: --placement: the placement has an SPE for 3 workers, but the pool has 2: give one SPE for each of them",
    );
    refused(
        "lu --machine qs22 --size 64 --workers 2 --placement 3,3",
        "error: --placement: the placement has worker 0 and worker 1 on SPE 3: each worker has an SPE of its own",
    );
    refused(
        "mandelbrot --machine qs22 --workers 2 --placement 3,4 --png pictures",
        "the argument '--placement <PLACEMENT>' cannot be used with '--png <FOLDER>'",
    );
    refused(
        "commstime --machine qs22 --spes 2,3 --volumes graph.txt",
        "error: --volumes with 2 runs: it is of one run; give each flag one value",
    );
    refused(
        "commstime --machine qs22 --spes 2 --placement nowhere.json",
        "error: --placement: nowhere.json: it is no list of places, such as 3,0,1, and there is no such file; name \
         what `cellworks map solve` printed with --format json",
    );
    refused(
        "commstime --machine qs22 --spes 2 --results sweep.json --volumes graph.txt",
        "with --volumes: --volumes shows a run as it happens",
    );
    refused(
        "aes --machine qs22 --volumes graph.txt",
        "unexpected argument '--volumes'",
    );
}

#[test]
fn a_file_for_volumes_that_cannot_be_is_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let placement = folder.path().join("placement.json");
    fs::write(&placement, "{}").unwrap();
    let placement = placement.to_str().unwrap();
    let run = |flags: &[&str]| {
        let ring = [
            "run",
            "commstime",
            "--machine",
            "ps3",
            "--spes",
            "4",
            "--rounds",
            "2",
            "--quiet",
        ];
        Run::of(cellworks().args(ring).args(flags))
    };
    let missing = run(&["--volumes", "no/such/folder/graph.txt"]);
    assert_eq!((missing.code, missing.out.as_str()), (Some(2), ""));
    assert!(missing.err.contains("--volumes"), "{}", missing.err);
    for flags in [
        &["--volumes", "-", "--format", "json"][..],
        &["--volumes", placement, "--placement", placement],
        &["--html", placement, "--volumes", placement],
    ] {
        let refused = run(flags);
        assert_eq!(
            (refused.code, refused.out.as_str()),
            (Some(2), ""),
            "{flags:?}: {}",
            refused.err
        );
    }
    assert_eq!(fs::read_to_string(placement).unwrap(), "{}");
}
