//! `cellworks run` as a process.

use std::fs;

use crate::common::list;
use crate::common::program::{json, measured_here, printed, run};
use serde_json::Value;

fn value(result: &Value) -> f64 {
    result["value"].as_f64().unwrap()
}

fn named<'v>(report: &'v Value, name: &str) -> Vec<&'v Value> {
    let results = list(report, "results").iter();
    results.filter(|result| result["name"] == name).collect()
}

const SMALL: &str = "--machine qs20 --bytes 64k --block 1k";

#[test]
fn aes_runs_each_way_and_threads_are_near_double_buffering() {
    let report = json(&format!("aes {SMALL} --threads 2,4"));
    assert_eq!(report["command"], "run");
    assert_eq!(report["program"], "aes");
    assert_eq!(report["complete"], true);
    assert_eq!(report["machine"]["simulation"]["description"], "qs20");
    let bandwidths = named(&report, "bandwidth");
    let ways: Vec<_> = bandwidths
        .iter()
        .map(|one| (one["parameters"]["buffering"].as_str().unwrap(), value(one)))
        .collect();
    let [
        ("single", single),
        ("double", double),
        ("threads", two),
        ("threads", four),
    ] = ways[..]
    else {
        panic!("{ways:?}");
    };
    assert!(double > single, "{ways:?}");
    for threads in [two, four] {
        assert!(threads > single && threads > 0.95 * double, "{ways:?}");
    }
    assert_eq!(bandwidths[3]["parameters"]["threads"], 4);
    assert_eq!(bandwidths[3]["parameters"]["block_bytes"], 1_024);
}

#[test]
fn every_program_runs_on_this_computer() {
    for arguments in [
        "aes --bytes 64k --threads 2",
        "switch --threads 1,2 --yields 1k",
        "overlap --bytes 64k --cycles-per-byte 1 --threads 2",
        "dma-latency --sizes 64",
        "lookup --bytes 64k --probes 1k",
    ] {
        let table = measured_here(arguments);
        assert!(table.lines().count() > 2, "{table}");
    }
}

#[test]
fn switches_cost_the_same_from_1_thread_to_16() {
    let report = json("switch --machine qs20 --threads 1,2,15-16 --yields 4k");
    let cycles = named(&report, "switch_cycles");
    assert_eq!(cycles.len(), 4);
    for one in cycles {
        assert!((180.0..184.0).contains(&value(one)), "{one}");
    }
    assert_eq!(list(&report, "figures").len(), 2);
}

#[test]
fn overlap_has_the_model_beside_and_the_crossover_below() {
    let report = json(&format!(
        "overlap {SMALL} --threads 2 --cycles-per-byte 0.5-5"
    ));
    assert_eq!(named(&report, "crossover").len(), 2);
    // There are values for transfers only, and for 0.5, 1, 2 and 5 cycles, each in 3 ways.
    assert_eq!(named(&report, "taken").len(), 15);
    assert_eq!(named(&report, "model").len(), 15);
    let figures = list(&report, "figures");
    let curves = list(&figures[1], "curves").iter();
    let names: Vec<_> = curves
        .map(|curve| curve["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "double",
            "2 threads",
            "crossover, double buffering",
            "crossover, 2 threads"
        ]
    );
    let table = printed(&format!("overlap {SMALL} --threads 2 --cycles-per-byte 1"));
    assert!(table.contains("crossover"), "{table}");
    // The skipped first lines have the name of the machine.
    let widest = table.lines().skip(3).map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{table}");
}

#[test]
fn latencies_of_gets_grow_with_size_and_company() {
    let report = json("dma-latency --machine qs20 --sizes 128,16k --spes 1,16");
    let cycles: Vec<f64> = named(&report, "latency_cycles")
        .into_iter()
        .map(value)
        .collect();
    let [small, large, small_of_16, large_of_16] = cycles[..] else {
        panic!("{cycles:?}");
    };
    assert!(
        small < large && small < small_of_16 && large < large_of_16,
        "{cycles:?}"
    );
}

#[test]
fn a_page_has_curves_and_a_trace_is_of_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("aes.html");
    printed(&format!("aes {SMALL} --spes 1,2 --html {}", page.display()));
    let html = fs::read_to_string(page).unwrap();
    assert!(html.contains("Encrypted by all SPEs together"));
    assert!(html.contains("double") && html.contains("threads"));

    let trace = folder.path().join("aes.pftrace");
    let one = format!(
        "aes {SMALL} --buffering double --counters --trace {}",
        trace.display()
    );
    assert!(printed(&one).contains("Counters"));
    assert!(fs::metadata(trace).unwrap().len() > 1_000);
}

#[test]
fn counters_after_the_start_are_shorter_by_the_start() {
    let of = |flag: &str| {
        let mut report = json(&format!(
            "commstime --machine ps3 --spes 4 --rounds 20 --counters {flag}"
        ));
        (report["counters"].take(), report["results"].take())
    };
    let ((all, results), (window, same)) = (of(""), of("--after-start"));
    assert_eq!(results, same, "the run is the same");
    let ns = |counters: &Value, name: &str| counters[name].as_f64().unwrap();
    let [began, elapsed] = ["began_ns", "elapsed_ns"].map(|name| ns(&window, name));
    assert_eq!(ns(&all, "began_ns"), 0.0);
    // Each of the four programs takes more than a millisecond to start.
    assert!(began > 4e6, "{window}");
    assert!(began + elapsed <= ns(&all, "elapsed_ns"), "{all} {window}");
    assert!(elapsed < ns(&all, "elapsed_ns") / 50.0, "{all} {window}");
    // The last SPE to start has no program for most of the run, and one for all of the window.
    let idle = |counters: &Value| ns(&list(counters, "spes")[3], "idle_ns");
    assert!(idle(&all) > 0.9 * ns(&all, "elapsed_ns"), "{all}");
    assert!(idle(&window) < 0.01 * elapsed, "{window}");
}

/// The programs wait for each other, so `--after-start` leaves out no SPE, however little it does.
#[test]
fn no_program_has_ended_when_the_last_one_starts() {
    for program in [
        "commstime --spes 6 --rounds 1",
        "server --spes 6 --clients 4 --workers 1 --requests 1",
        "prototein --spes 6 --prototein HP",
        "ratio --spes 6 --operations 1",
        "knn --spes 6 --points 6 --neighbours 1",
        "lu --workers 6 --size 64",
        "barrier --spes 6 --roots one",
        "dma-latency --spes 6 --sizes 16",
        "overlap --spes 6 --cycles-per-byte 1 --buffering single",
    ] {
        let counters =
            &json(&format!("{program} --machine ps3 --counters --after-start"))["counters"];
        let is_idle = |spe: &&Value| spe["idle_ns"] == counters["elapsed_ns"];
        let idle = list(counters, "spes").iter().filter(is_idle).count();
        assert_eq!(idle, 0, "{program}: {counters}");
    }
}

#[test]
fn the_bottleneck_of_a_program_is_found_by_its_first_number() {
    let flags = format!("aes {SMALL} --buffering double --bottleneck --format json");
    let report: serde_json::Value = serde_json::from_str(&printed(&flags)).unwrap();
    let bottleneck = &report["counters"]["bottleneck"];
    assert_eq!(bottleneck["result"], "time");
    assert_eq!(bottleneck["value"], report["results"][0]["value"]);
    assert_eq!(bottleneck["part"], "the SPUs");
}

#[test]
fn the_same_seed_gives_the_same_numbers() {
    let once = printed(&format!("aes {SMALL} --seed 5 --format csv"));
    assert_eq!(once, printed(&format!("aes {SMALL} --seed 5 --format csv")));
}

#[test]
fn bad_input_is_refused_with_what_to_do() {
    const EXAMPLE: &str = "aes --buffering threads --threads 4 --block 4k --machine qs20";
    for (arguments, message) in [
        (
            "--threads 0",
            "--threads: 0 threads do nothing; use at least 1",
        ),
        (
            "--block 100",
            "--block: 100 bytes are not a multiple of 16, a block of AES; use 112",
        ),
        ("--block 0", "--block: 0 bytes do nothing; use at least 1"),
        (
            "--spes 17",
            "--spes: qs20 has 16 SPEs, not 17; use at most 16",
        ),
        (
            "--buffering single --threads 2",
            "--threads: single buffering has no threads; leave them out, or choose the buffering `threads`",
        ),
    ] {
        let run = run(&format!("aes --machine qs20 {arguments}"));
        let expected = format!("error: {message}\n  example: cellworks run {EXAMPLE}\n");
        assert_eq!((run.code, run.err), (Some(2), expected));
    }
    for (arguments, runs, example) in [
        (
            "aes --machine qs20 --trace never-written",
            "--trace with 3 runs",
            "aes --buffering single --machine qs20 --trace never-written",
        ),
        (
            "dma-latency --machine ps3 --spes 6 --bottleneck",
            "--bottleneck with 12 runs",
            "dma-latency --sizes 8 --spes 6 --machine ps3 --bottleneck",
        ),
        (
            "overlap --machine ps3 --bytes 4k --block 1k --buffering threads --cycles-per-byte 0.5,1 --counters",
            "--counters with ",
            "",
        ),
    ] {
        let refused = run(arguments);
        assert_eq!(refused.code, Some(2), "{}", refused.err);
        let (message, shown) = refused
            .err
            .split_once("\n  example: cellworks run ")
            .unwrap();
        assert!(message.starts_with(&format!("error: {runs}")), "{message}");
        assert!(
            message.ends_with(": it is of one run; give each flag one value"),
            "{message}"
        );
        if !example.is_empty() {
            assert_eq!(shown.trim_end(), example);
        }
        if !example.contains("--trace") {
            let shown = run(shown.trim_end());
            assert_eq!((shown.code, shown.err.as_str()), (Some(0), ""));
        }
    }
    // The program adds no run of its own where only one is wanted.
    let one =
        "overlap --machine ps3 --bytes 4k --buffering double --cycles-per-byte 0.5 --counters";
    let one = run(one);
    assert_eq!((one.code, one.err.as_str()), (Some(0), ""));
    let host = run("aes --seed 1");
    assert!(
        host.err
            .starts_with("error: --seed with --machine host: only a simulated machine has it;"),
        "{}",
        host.err
    );
    let large = run("aes --machine qs20 --buffering single --block 300k");
    assert_eq!(large.code, Some(2));
    assert!(
        large.err.contains(
            "--block: aes, single buffering, 1 SPE: the local store of SPE 0 has no room"
        ),
        "{}",
        large.err
    );
    let unknown = run("swich");
    assert_eq!(unknown.code, Some(2));
    assert!(
        unknown.err.contains("'swich'") && unknown.err.contains("'switch'"),
        "{}",
        unknown.err
    );
    let range = run("switch --threads 8-4");
    assert!(
        range
            .err
            .contains("8-4 is a range from more to less; use 4-8"),
        "{}",
        range.err
    );
}

#[test]
fn a_run_past_its_limit_fails_and_names_the_running_programs() {
    let run = run(&format!("aes {SMALL} --buffering single --limit 1us"));
    assert_eq!(run.code, Some(1));
    for text in [
        "\nNot complete\n",
        "\nNot measured\n- aes, single buffering, 1 SPE: the run ended before\n",
    ] {
        assert!(run.out.contains(text), "{}", run.out);
    }
    assert!(
        run.err
            .contains("aes, single buffering, 1 SPE: the run was ended after"),
        "{}",
        run.err
    );
}

#[test]
fn a_report_of_a_limit_names_no_function_of_the_pool() {
    let run = run("mandelbrot --machine ps3 --workers 2 --limit 4ms");
    assert_eq!(run.code, Some(1));
    assert!(
        run.err
            .contains("SPE 1 runs a worker of the pool, begun at"),
        "{}",
        run.err
    );
    assert!(!run.err.contains("cellworks_tasks"), "{}", run.err);
}

#[test]
fn every_method_looks_up_in_every_structure_and_has_a_gain() {
    let report = json("lookup --machine qs20 --bytes 32k --probes 4k");
    assert_eq!(report["program"], "lookup");
    let times = named(&report, "time_per_probe");
    assert_eq!(times.len(), 3 * 3);
    let of = &times[1]["parameters"];
    assert_eq!(
        (&of["structure"], &of["method"]),
        (&"b-tree".into(), &"plain".into())
    );
    let gains = named(&report, "gain");
    assert_eq!(gains.len(), 3 * 2);
    for gain in gains {
        assert!(value(gain) > 1.0, "{gain}");
        assert_ne!(gain["parameters"]["method"], "plain");
    }
    let table = printed("lookup --machine qs20 --structure graph-walk --bytes 32k --probes 100");
    for text in [
        "graph-walk",
        "prefetch",
        "interleave",
        "time per probe",
        "in flight",
        "gain",
    ] {
        assert!(table.contains(text), "{text}: {table}");
    }
}

#[test]
fn sizes_of_structures_that_make_no_sense_are_refused() {
    let refused = run("lookup --bytes 1k --machine qs20");
    assert_eq!(
        (refused.code, &*refused.err),
        (
            Some(2),
            "error: --bytes: 1 KB have no room for a structure; use at least 4k\n  example: cellworks run \
             lookup --structure hash-join --bytes 1m,16m,256m --machine qs20\n"
        )
    );
}
