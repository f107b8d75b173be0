//! `cellworks map ring` as a process.

use std::fs;
use std::process::Stdio;

use crate::common::terminal::{interrupt, wait_for_handler};
use crate::common::tree::{Shape, Tree};
use crate::common::{Run, cellworks, has_ratio, list, skipped};
use serde_json::{Value, json};

/// A ring that takes little time to simulate.
const SMALL: &str = "--machine ps3 --packet 512 --tasks 4 --runs 2 --rounds 5";

fn command(arguments: &str) -> std::process::Command {
    let mut command = cellworks();
    command
        .args(["map", "ring"])
        .args(arguments.split_whitespace());
    command
}

fn ring(arguments: &str) -> Run {
    Run::of(&mut command(arguments))
}

fn ring_json(arguments: &str) -> Value {
    ring(&format!("{arguments} --format json")).json()
}

/// The values of a result, each with its mapping.
fn values(report: &Value, name: &str) -> Vec<(String, f64)> {
    let results = list(report, "results").iter();
    let named = results.filter(|result| result["name"] == name);
    let value = |result: &Value| {
        let mapping = result["parameters"]["mapping"].as_str().unwrap_or("");
        (mapping.to_owned(), result["value"].as_f64().unwrap())
    };
    named.map(value).collect()
}

/// The value of the result about all mappings together. There must be exactly one such result.
#[track_caller]
fn value(report: &Value, name: &str) -> f64 {
    match values(report, name).as_slice() {
        [(_, value)] => *value,
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn results_follow_from_the_times_of_every_mapping() {
    let report = ring_json(&format!("{SMALL} --mapping [0213],0321"));
    assert_eq!(report["command"], "map ring");
    assert_eq!(report["complete"], true);
    let mut averages: Vec<(String, f64)> = list(&report, "mappings")
        .iter()
        .map(|one| {
            let runs: Vec<f64> = serde_json::from_value(one["runs_ns"].clone()).unwrap();
            assert_eq!(runs.len(), 2, "{one}");
            assert!(runs.iter().all(|ns| *ns > 0.0), "{one}");
            let mapping = one["mapping"].as_str().unwrap().to_owned();
            (mapping, runs.iter().sum::<f64>() / 2.0)
        })
        .collect();
    averages.sort_by(|a, b| a.1.total_cmp(&b.1));
    assert_eq!(averages.len(), 6);
    let best = averages[0].1;
    assert_eq!(value(&report, "worst_to_best"), averages[5].1 / best);
    assert_eq!(value(&report, "median_to_best"), averages[3].1 / best);
    assert_eq!(
        (value(&report, "best"), value(&report, "worst")),
        (best, averages[5].1)
    );
    assert!((0.0..=100.0).contains(&value(&report, "mapping_share")));
    for (mapping, rank) in values(&report, "rank") {
        let average = averages.iter().find(|one| one.0 == mapping).unwrap().1;
        let faster = averages.iter().filter(|one| one.1 < average).count();
        assert_eq!(rank, (faster + 1) as f64, "{mapping}");
        assert!(values(&report, "to_best").contains(&(mapping.clone(), average / best)));
        assert!(values(&report, "time").contains(&(mapping, average)));
    }
    for named in ["0123", "0213", "0321", &averages[0].0, &averages[5].0] {
        let ranks = values(&report, "rank");
        assert!(ranks.iter().any(|one| one.0 == named), "{named}: {ranks:?}");
    }
}

#[test]
fn a_cell_of_each_machine_is_taken_and_the_mappings_of_the_paper_are_named() {
    for (machine, tasks, mappings, named) in [
        ("ps3", 6, 120, &["012345", "024531", "013542", "043512"][..]),
        (
            "qs22 --sample 2",
            8,
            5,
            &["01234567", "02467531", "01357642"],
        ),
    ] {
        let report = ring_json(&format!("--machine {machine} --runs 1 --rounds 1"));
        let sweep = &report["sweep"];
        assert_eq!(
            (&sweep["tasks"], &sweep["spes"]),
            (&json!(tasks), &json!(tasks))
        );
        assert_eq!(sweep["packet_bytes"], json!([1_024]));
        assert_eq!(list(&report, "mappings").len(), mappings);
        let ranks = values(&report, "rank");
        for mapping in named {
            assert!(
                ranks.iter().any(|one| one.0 == *mapping),
                "{mapping}: {ranks:?}"
            );
        }
    }
}

#[test]
fn packets_of_each_size_have_a_sweep_and_curves() {
    let report = ring_json("--machine ps3 --packet 16-64,1k --tasks 3 --one-way --rounds 5");
    assert_eq!(values(&report, "worst_to_best").len(), 4);
    assert_eq!(report["sweep"]["directions"], 1);
    let figures = list(&report, "figures");
    assert_eq!(figures.len(), 5, "one of all sizes, and one of each");
    let curves: Vec<&str> = list(&figures[1], "curves")
        .iter()
        .map(|curve| curve["name"].as_str().unwrap())
        .collect();
    assert_eq!(curves, ["average", "run 1", "run 2", "run 3"]);
    let average = list(&list(&figures[1], "curves")[0], "points");
    assert!(average.is_sorted_by(|a, b| a[1].as_f64() <= b[1].as_f64()));
}

#[test]
fn the_same_seed_gives_the_same_and_another_one_other_times() {
    let mappings = |more: &str| ring_json(&format!("{SMALL} {more}"))["mappings"].clone();
    let first = mappings("");
    assert_eq!(first, mappings(""));
    assert_ne!(first, mappings("--seed 1"));
    assert_ne!(first, mappings("--placement default"));
}

#[test]
fn spes_may_stay_without_a_task() {
    let report = ring_json("--machine ps3 --tasks 3 --spes 4 --runs 1 --rounds 1");
    let mappings: Vec<&str> = list(&report, "mappings")
        .iter()
        .map(|one| one["mapping"].as_str().unwrap())
        .collect();
    assert_eq!(mappings, ["012-", "01-2", "021-", "02-1", "0-12", "0-21"]);
}

#[test]
fn a_table_csv_and_a_page() {
    let table = ring(SMALL);
    assert_eq!((table.code, table.err.as_str()), (Some(0), ""));
    assert!(!table.out.contains('\u{1b}'), "styles in a pipe");
    for part in ["worst to best", "mapping share", "mappings 6", "\n   0123 "] {
        assert!(table.out.contains(part), "{part}: {}", table.out);
    }
    let csv = ring(&format!("{SMALL} --format csv")).out;
    let header = "program,name,value,unit,directions,mapping,mappings,packet_bytes,placement,rounds,runs,spes,tasks\n";
    assert!(csv.starts_with(header), "{csv}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    ring(&format!("{SMALL} --quiet --html {}", path.display()));
    let page = fs::read_to_string(&path).unwrap();
    assert!(page.contains("Time of a round by rank"));
    assert!(!page.contains("http") && !page.contains("src="));
}

#[test]
fn two_rings_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["0", "1"].map(|seed| {
        let run = ring(&format!("{SMALL} --seed {seed} --format json"));
        let path = folder.path().join(seed);
        fs::write(&path, run.out).unwrap();
        path
    });
    assert!(has_ratio(&paths, "worst_to_best"));
}

#[test]
fn flags_that_make_no_sense() {
    let refused = |flags: &str, message: &str| {
        ring(&format!("--machine ps3 {flags}")).refused(&format!("error: {message}\n"));
    };
    let of_4 = |text: &str| format!("--mapping: [{text}] is no mapping of 4 tasks to 4 SPEs: ");
    refused(
        "--tasks 4 --mapping 0113",
        &(of_4("0113") + "it has task 1 on SPE 1 and on SPE 2; name each task once"),
    );
    refused(
        "--tasks 4 --mapping [1023]",
        &(of_4("1023") + "it begins with 1; SPE 0 has task 0, so begin with 0"),
    );
    for (bytes, text) in [("24", "24 bytes"), ("32768", "32 KB")] {
        refused(
            &format!("--packet 1k,{bytes}"),
            &format!(
                "--packet: a packet of {text}: a DMA command moves multiples of 16 bytes up to 16 KB; use 1k"
            ),
        );
    }
    refused(
        "--packet 2k-1k",
        "invalid value '2k-1k' for '--packet <LIST>': 2k-1k is a range from more to less; use 1k-2k\n\nFor more \
         information, try '--help'.",
    );
    refused(
        "--tasks 8",
        "--tasks 8: each task takes an SPE, and ps3 has 6; use fewer, or another machine",
    );
    refused(
        "--tasks 5 --spes 4",
        "--spes: 5 tasks on 4 SPEs: each task takes an SPE; use fewer tasks or more SPEs",
    );
    refused("--tasks 2", "--tasks: a ring takes 3 to 16 tasks, not 2");
    refused("--spes 2", "--spes: a ring takes 3 to 16 tasks, not 2");
    refused("--runs 0", "0 runs: give 1 at least");
    ring("--machine qs22 --tasks 16").refused(
        "error: --sample: 16 tasks have 1307674368000 mappings to 16 SPEs, and at most 50000 are all run: take a \
         sample of them\n",
    );
}

#[test]
fn packets_for_which_a_local_store_has_no_room() {
    let run = ring("--machine scc --tasks 3 --packet 4k --runs 1");
    assert_eq!(run.code, Some(1), "{}", run.err);
    let said = "error: SPE 0: the local store of SPE 0 has no room: 16576 bytes aligned to 128 are needed for the packets \
                of a task";
    assert!(run.err.starts_with(said), "{}", run.err);
}

#[test]
fn a_computer_with_too_few_cpus() {
    let single = Shape {
        sockets: 1,
        cells: 1,
        cores: 1,
        threads: 1,
    };
    let tree = Tree::new(single, "A single");
    let on_it = |arguments: &str| Run::of(command(arguments).env("CELLWORKS_FSROOT", tree.root()));
    on_it("").refused(
        "error: a ring takes 3 to 16 tasks, not 1, and A single has 1 SPE; use another machine\n",
    );
    on_it("--tasks 3").refused(
        "error: --tasks 3: each task takes an SPE, and A single has 1; use fewer, or another machine\n",
    );
}

/// A file of results in a new folder.
struct Results(tempfile::TempDir);

impl Results {
    const FILE: &str = "ring.jsonl";

    /// The file of [`SMALL`] with the results of its first three mappings, as after Ctrl-C.
    fn of_three() -> (Self, Value) {
        let this = Self(tempfile::tempdir().unwrap());
        let whole = this.resumed(SMALL).json();
        let lines: Vec<String> = this.text().lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 7, "what it is of, and a line for each mapping");
        let is_of_three = |line: &&String| {
            ["_results", "\"step\":0,", "\"step\":1,", "\"step\":2,"]
                .iter()
                .any(|part| line.contains(part))
        };
        let kept: Vec<&String> = lines.iter().filter(is_of_three).collect();
        this.write(&(kept.iter().map(|line| format!("{line}\n"))).collect::<String>());
        (this, whole)
    }

    fn write(&self, text: &str) {
        fs::write(self.0.path().join(Self::FILE), text).unwrap();
    }

    fn text(&self) -> String {
        fs::read_to_string(self.0.path().join(Self::FILE)).unwrap()
    }

    fn command(&self, flags: &str) -> std::process::Command {
        let mut command = command(&format!("{flags} --format json --results {}", Self::FILE));
        command.current_dir(self.0.path());
        command
    }

    fn resumed(&self, flags: &str) -> Run {
        Run::of(&mut self.command(flags))
    }

    /// Asserts that the file is refused with the given message, and is unchanged.
    #[track_caller]
    fn refused(&self, flags: &str, message: &str) {
        let before = self.text();
        self.resumed(flags)
            .refused(&format!("error: ring.jsonl, line {message}\n"));
        assert_eq!(self.text(), before);
    }
}

fn without_environment(mut report: Value) -> Value {
    report.as_object_mut().unwrap().remove("environment");
    report
}

#[test]
fn a_run_goes_on_from_its_results() {
    let (results, whole) = Results::of_three();
    let report = results.resumed(SMALL).json();
    assert_eq!(without_environment(report), without_environment(whole));
    assert_eq!(results.text().lines().count(), 7);
}

#[test]
fn mappings_of_the_file_are_not_run_again() {
    let (results, whole) = Results::of_three();
    let lines = results.text();
    let (before, _) = lines.split_once("{\"step\":").unwrap();
    results.write(&format!("{before}{{\"step\":2,\"found\":[1.0,2.0]}}\n"));
    let report = results.resumed(SMALL).json();
    assert_eq!(report["mappings"][2]["runs_ns"], json!([1.0, 2.0]));
    for step in [0, 1, 3, 4, 5] {
        assert_eq!(report["mappings"][step], whole["mappings"][step]);
    }
}

#[test]
fn merged_shares_are_what_one_process_finds() {
    let folder = tempfile::tempdir().unwrap();
    let whole = ring_json(SMALL);
    for share in ["1/2", "2/2"] {
        let mut command = command(&format!("{SMALL} --share {share}"));
        let run = Run::of(command.current_dir(&folder));
        assert_eq!((run.code, run.out.as_str()), (Some(0), ""), "{}", run.err);
    }
    let mut merge = cellworks();
    merge.args(["merge", "map-ring.1-of-2.jsonl", "map-ring.2-of-2.jsonl"]);
    let run = Run::of(merge.args(["--format", "json"]).current_dir(&folder));
    assert_eq!(without_environment(run.json()), without_environment(whole));

    let mut half = cellworks();
    half.args(["merge", "map-ring.1-of-2.jsonl", "--format", "json"]);
    let half = Run::of(half.current_dir(&folder));
    assert_eq!(half.code, Some(1));
    assert!(
        half.err.contains("are in none of the files"),
        "{}",
        half.err
    );
    let report = half.report();
    let missing = &list(&report, "not_measured")[0];
    assert_eq!(missing["what"], "packets of 512 B, [0132]");
    assert_eq!(missing["why"], "no file has it");
}

#[test]
fn files_from_which_no_run_goes_on() {
    let (results, _) = Results::of_three();
    let step = |seed: u32| {
        format!(
            "{{\"ring\":{{\"mapping\":\"0123\",\"one_way\":false,\"packet_bytes\":512,\"placement\":\"pinned\",\
             \"rounds\":5,\"runs\":2,\"seed\":{seed},\"tasks\":4}}}}"
        )
    };
    results.refused(
        &format!("{SMALL} --seed 7"),
        &format!(
            "1: these are results of another sweep: step 0 is {} there, and {} here; name another file",
            step(0),
            step(7)
        ),
    );
    results.refused(
        &SMALL.replace("ps3", "qs20"),
        "1: these are results of another machine, or of one that was simulated in another way; name another file",
    );
    let sound = results.text();
    let version = env!("CARGO_PKG_VERSION");
    results.write(&sound.replace(
        &format!("\"cellworks_version\":\"{version}\""),
        "\"cellworks_version\":\"0.0.1\"",
    ));
    results.refused(
        SMALL,
        &format!(
            "1: these are results of cellworks 0.0.1, and this is {version}: use the version that has written the \
             file; name another file"
        ),
    );
    results.write(sound.trim_end());
    results.refused(
        SMALL,
        "4: the line was cut off; remove it, and its step is simulated again",
    );
    results.write(&format!("{sound}{{\"step\":5,\"found\":[1.5]}}\n"));
    results.refused(
        SMALL,
        "5: a mapping has 2 times above 0, and here are [1.5]; remove the line, and simulate the step again",
    );
}

#[test]
fn results_of_this_computer_are_not_kept() {
    ring("--results ring.jsonl").refused(
        "error: --results with --machine host: only simulations give the same results on every computer; choose a \
         simulated machine, such as --machine qs20, or leave --results out\n",
    );
}

#[test]
fn ctrl_c_keeps_what_was_run_and_the_next_call_goes_on() {
    let results = Results(tempfile::tempdir().unwrap());
    let interrupted = || {
        let child = results
            .command("--machine qs22 --packet 2k")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for_handler(&child);
        std::thread::sleep(std::time::Duration::from_secs(1));
        interrupt(&child);
        let run = Run::from(child.wait_with_output().unwrap());
        assert_eq!(run.code, Some(130), "{}", run.err);
        let report = run.report();
        assert_eq!(report["complete"], false);
        let said = " of 5040 mappings were finished";
        assert!(run.err.contains(said), "{}", run.err);
        report["mappings"].as_array().unwrap().clone()
    };
    let (first, second) = (interrupted(), interrupted());
    assert!(second.len() >= first.len());
    assert!(first.iter().all(|one| second.contains(one)));
}

#[test]
fn each_pattern_has_its_exchange() {
    let mut best = Vec::new();
    for pattern in ["pairs", "all-to-all", "stencil", "tree", "butterfly"] {
        let report = ring_json(&format!("{SMALL} --pattern {pattern}"));
        assert_eq!(report["program"], pattern);
        assert_eq!(report["sweep"]["pattern"], pattern);
        assert_eq!(report["sweep"]["directions"], json!(null));
        assert_eq!(list(&report, "mappings").len(), 6);
        best.push(value(&report, "best"));
    }
    // Each of the four tasks has one partner in the first graph, and three in the second.
    assert!(best[0] < best[1], "{best:?}");
}

#[test]
fn a_graph_is_run_with_packets_of_its_volumes() {
    let folder = tempfile::tempdir().unwrap();
    let graph = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let run = |graph: &str, packet: &str| {
        let machine = "--machine ps3 --runs 1 --rounds 20";
        ring_json(&format!("{machine} --graph {graph} --packet {packet}"))
    };
    let chain = graph("chain.txt", "0 1 1000\n1 2 10\n2 3 10\n");
    let report = run(&chain, "16k");
    assert_eq!(report["program"], "chain.txt");
    assert_eq!(report["sweep"]["tasks"], 4);
    assert_eq!(list(&report, "mappings").len(), 6);
    // A run with only the large packets takes the same time.
    let pair = graph("pair.txt", "0 1 5\n");
    let [chain_ns, pair_ns] = [&report, &run(&pair, "16k")].map(|report| value(report, "best"));
    assert!(
        (0.9..1.3).contains(&(chain_ns / pair_ns)),
        "{chain_ns} {pair_ns}"
    );
    let small = value(&run(&pair, "512"), "best");
    assert!(small * 1.5 < pair_ns, "{small} {pair_ns}");
    // A line of CSV has one field with the name of the file.
    let named = graph("a,b.txt", "0 1 5\n");
    let csv = ring(&format!(
        "--machine ps3 --runs 1 --rounds 2 --graph {named} --format csv"
    ));
    assert!(
        csv.out.contains("\n\"a,b.txt\",worst_to_best,1,times,"),
        "{}",
        csv.out
    );

    let refused = |flags: &str, message: &str| ring(flags).refused(&format!("error: {message}\n"));
    let large = graph("large.txt", "tasks 17\n0 1\n");
    refused(
        &format!("--machine qs22 --graph {large}"),
        &format!(
            "{large}, tasks 17: each task takes an SPE, and qs22 has 16; use fewer, or another machine"
        ),
    );
    let wrong = graph("wrong.txt", "0 1\n1 x\n");
    refused(
        &format!("--machine ps3 --graph {wrong}"),
        &format!(
            "{wrong}, line 2: \"1 x\" is no edge: a line has a sending task, a receiving task and a volume, as in \
             `0 1 4096`; only the first may be `tasks N`"
        ),
    );
    let alone = graph("alone.txt", "tasks 2\n0 0 4\n");
    refused(
        &format!("--machine ps3 --graph {alone}"),
        "0 pairs of tasks that communicate: give 1 at least",
    );
    refused(
        "--machine ps3 --tasks 3 --pattern pairs",
        "the pattern pairs with 3 tasks: it takes an even number of them; choose it with --tasks",
    );
    let both = ring(&format!("--machine ps3 --graph {pair} --pattern tree"));
    assert_eq!(both.code, Some(2));
    assert!(both.err.contains("cannot be used with"), "{}", both.err);
}

#[test]
fn a_warning_about_a_graph_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let graph = folder.path().join("two.txt");
    fs::write(&graph, "0 1\n1 0\n").unwrap();
    let graph = graph.display();
    let told = ring(&format!(
        "--machine ps3 --runs 2 --rounds 5 --graph {graph}"
    ));
    let warning = format!("{graph}: it is read as a matrix of 2 tasks");
    assert_eq!(told.err.matches(&warning).count(), 1, "{}", told.err);
}

#[test]
fn a_pattern_runs_on_this_computer() {
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
        return skipped("two tasks take two CPUs");
    }
    let report = ring("--tasks 2 --pattern pairs --runs 2 --rounds 50 --format json").report();
    assert_eq!(report["program"], "pairs");
    assert_eq!(list(&report, "mappings").len(), 1);
    assert!(value(&report, "best") > 0.0);
}

#[test]
fn a_placement_that_was_found_is_faster_than_most_at_random() {
    let matrix = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../mapping/tests/data/apple-m1-pro.csv"
    );
    for pattern in ["stencil", "butterfly"] {
        let mut command = cellworks();
        command.args([
            "map",
            "solve",
            "--pattern",
            pattern,
            "--costs",
            matrix,
            "--fix",
            "0=0",
        ]);
        let solved = Run::of(command.args(["--format", "json"])).json();
        let mut mapping = vec!["-".to_owned(); 8];
        for (task, place) in list(&solved, "placement").iter().enumerate() {
            mapping[place.as_u64().unwrap() as usize] = task.to_string();
        }
        let mapping = mapping.concat();
        let flags = "--packet 1k --sample 30 --runs 2 --rounds 20";
        let report = ring_json(&format!(
            "--machine {matrix} --pattern {pattern} --mapping {mapping} {flags}"
        ));
        let median = value(&report, "best") * value(&report, "median_to_best");
        let times = values(&report, "time");
        let found = times.iter().find(|one| one.0 == mapping).unwrap().1;
        assert!(found < median, "{pattern}: {found} {median}");
    }
}
