//! `cellworks map` as a process.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::common::{
    Run, cellworks, has_ratio, is_emulated, list, output_if_installed, skipped, stats_command,
};
use serde_json::{Value, json};

/// A file from the tests of the crate `mapping`.
fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mapping/tests/data");
    path.join(name).display().to_string()
}

fn solve(arguments: &[&str]) -> Run {
    Run::of(cellworks().args(["map", "solve"]).args(arguments))
}

/// The output of a command that succeeds without a message.
#[track_caller]
fn printed(arguments: &[&str]) -> String {
    let run = solve(arguments);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{arguments:?}");
    run.out
}

/// A text with one blank between its words, however its columns are.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn result(report: &Value, name: &str) -> f64 {
    let mut results = list(report, "results").iter();
    let found = results.find(|result| result["name"] == name);
    found.unwrap_or_else(|| panic!("{name}: {report}"))["value"]
        .as_f64()
        .unwrap()
}

/// A new folder with files that have the given names and texts.
pub(crate) fn files(of: &[(&str, &str)]) -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let paths = of.iter().map(|(name, text)| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    });
    let paths = paths.collect();
    (folder, paths)
}

#[test]
fn a_problem_of_qaplib_is_solved() {
    let report = solve(&[&data("nug12.dat"), "--time", "1", "--format", "json"]).json();
    assert_eq!(report["command"], "map solve");
    assert_eq!(report["complete"], true);
    assert_eq!(result(&report, "cost"), 578.0);
    let bound = result(&report, "bound");
    assert_eq!(bound, 493.0);
    assert_eq!(result(&report, "gap"), (578.0 - bound) / 578.0);
    assert!(result(&report, "time_to_best") <= result(&report, "time"));
    assert!(result(&report, "iterations") > 0.0);
    let mut placement: Vec<u64> = list(&report, "placement")
        .iter()
        .map(|place| place.as_u64().unwrap())
        .collect();
    placement.sort_unstable();
    assert_eq!(placement, Vec::from_iter(0..12));
    // The places are not CPUs.
    assert_eq!(report["binding"], json!(null));
}

#[test]
fn a_table_and_csv() {
    let file = data("nug12.dat");
    let table = printed(&[&file, "--time", "0.5"]);
    assert!(!table.contains('\u{1b}'), "styles in a pipe");
    for part in [
        ": 12 tasks, 12 places\n",
        "cost          578 ",
        " volume times cost of each pair, both directions added up\n",
        "bound         493 ",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let csv = printed(&[&file, "--time", "0.5", "--format", "csv", "--seed", "9"]);
    let line = csv.lines().nth(1).unwrap();
    assert!(
        line.starts_with(&format!("{file},,12,12,9,578,493,")),
        "{csv}"
    );
}

#[test]
fn a_problem_with_few_placements_is_solved_at_once_and_proven() {
    let (_folder, paths) = files(&[("row.dat", "3\n0 1 0\n0 0 1\n0 0 0\n0 1 2\n1 0 1\n2 1 0\n")]);
    let report = solve(&[
        paths[0].to_str().unwrap(),
        "--time",
        "100",
        "--format",
        "json",
    ])
    .json();
    assert_eq!(report["optimal"], true);
    assert_eq!(result(&report, "cost"), 2.0);
    assert_eq!(
        (result(&report, "bound"), result(&report, "gap")),
        (2.0, 0.0)
    );
}

#[test]
fn tasks_are_fixed_and_places_forbidden() {
    let (_folder, paths) = files(&[("row.dat", "3\n0 1 0\n0 0 0\n0 0 0\n0 1 2\n1 0 1\n2 1 0\n")]);
    let file = paths[0].to_str().unwrap();
    let flags = [
        "--format",
        "json",
        "--fix",
        "0=2,2=2",
        "--forbid",
        "1",
        "--capacity",
        "2",
    ];
    let report = solve(&[&[file], &flags[..]].concat()).json();
    assert_eq!(report["placement"], json!([2, 0, 2]));
    assert_eq!(result(&report, "cost"), 2.0);
    let fixed = json!([{"task": 0, "place": 2}, {"task": 2, "place": 2}]);
    assert_eq!(report["problem"]["fixed"], fixed);
}

#[test]
fn ranges_of_places_are_forbidden() {
    let (_folder, paths) = files(&[("cores.csv", CORES)]);
    let cores = paths[0].to_str().unwrap();
    let arguments = ["--pattern", "pairs", "--tasks", "2", "--costs", cores];
    let on =
        |flags: &[&str]| solve(&[&arguments[..], flags, &["--format", "json"]].concat()).json();
    for flags in [
        &["--forbid", "0,2-3"][..],
        &["--forbid", "2-3", "--forbid", "0"],
    ] {
        let flags = [flags, &["--capacity", "2"]].concat();
        let report = on(&flags);
        assert_eq!(report["placement"], json!([1, 1]), "{flags:?}");
        assert_eq!(report["problem"]["forbidden"], json!([0, 2, 3]));
    }
    let table = printed(&[&arguments[..], &["--forbid", "0-1"]].concat());
    assert!(
        table.contains("4 places, places 0-1 forbidden\n"),
        "{table}"
    );
    solve(&[&arguments[..], &["--forbid", "1-4"]].concat()).refused(&format!(
        "error: the pattern pairs on {cores}: place 4 is unknown: the problem has 4 places, numbered from 0\n"
    ));
}

#[test]
fn the_page_is_one_file_that_loads_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    printed(&[
        &data("nug12.dat"),
        "--time",
        "0",
        "--html",
        path.to_str().unwrap(),
    ]);
    let page = fs::read_to_string(&path).unwrap();
    assert!(page.contains("12 tasks, 12 places"));
    assert!(!page.contains("http") && !page.contains("src="));
}

#[test]
fn two_solutions_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["1", "2"].map(|seed| {
        let run = solve(&[
            &data("nug20.dat"),
            "--time",
            "0.2",
            "--seed",
            seed,
            "--format",
            "json",
        ]);
        run.json();
        let path = folder.path().join(seed);
        fs::write(&path, run.out).unwrap();
        path
    });
    assert!(has_ratio(&paths, "cost"));
}

#[test]
fn a_wrong_qaplib_file_is_named_with_line_and_rule() {
    let (_folder, paths) = files(&[("wrong.dat", "2\n0 1 1 0\n0 -1 1 0\n")]);
    let file = paths[0].to_str().unwrap();
    solve(&[file]).refused(&format!(
        "error: {file}, line 3: \"-1\" stands where a number from 0 to 1e100 has to be\n"
    ));
}

#[test]
fn flags_that_make_no_sense() {
    let file = data("nug12.dat");
    let refused = |flags: &[&str], message: &str| {
        solve(&[&[file.as_str()], flags].concat()).refused(&format!("error: {message}\n"));
    };
    refused(
        &["--fix", "12=0"],
        &format!("{file}: task 12 is unknown: the problem has 12 tasks, numbered from 0"),
    );
    refused(
        &["--forbid", "12"],
        &format!("{file}: place 12 is unknown: the problem has 12 places, numbered from 0"),
    );
    refused(
        &["--forbid", "3"],
        &format!(
            "{file}: 12 tasks do not fit on 12 places (forbidden: 1; tasks on each other place: 1): allow more \
             tasks a place (--capacity), or use fewer tasks"
        ),
    );
    refused(
        &["--fix", "0=3,0=4"],
        &format!("{file}: task 0 is fixed to place 3 and to place 4: fix it to one of them"),
    );
    refused(
        &["--time", "ten"],
        "invalid value 'ten' for '--time <SECONDS>': a time is a number of seconds, 0 or more, such as 10 or \
         0.5\n\nFor more information, try '--help'.",
    );
    refused(
        &["--time", "-1"],
        "invalid value '-1' for '--time <SECONDS>': a time is a number of seconds, 0 or more, such as 10 or \
         0.5\n\nFor more information, try '--help'.",
    );
    refused(
        &["--fix", "3"],
        "invalid value '3' for '--fix <TASK=PLACE>': it is a task, = and its place, both whole numbers from 0 on, \
         with commas between several, such as 0=3,1=2\n\nFor more information, try '--help'.",
    );
}

/// As the guide says: only forbidden places keep a job from being on one node.
#[test]
fn as_many_tasks_are_on_a_node_as_its_places_allow() {
    let machine = "node:2@1.8us core:8@60ns";
    for (flags, on_nodes) in [(&[][..], [0, 6]), (&["--forbid", "3-7,11-15"], [3, 3])] {
        let ring = ["--pattern", "ring", "--tasks", "6", "--costs", machine];
        let report = solve(&[&ring[..], flags, &["--time", "1", "--format", "json"]].concat());
        let report = report.json();
        let cpus = list(&report, "cpus");
        let on = |node: usize| cpus.iter().filter(|cpu| cpu["node"] == node).count();
        let mut counts = [on(0), on(1)];
        counts.sort_unstable();
        assert_eq!(counts, on_nodes, "{flags:?}");
    }
}

/// Four tasks. Tasks 0 and 2 communicate much, and so do tasks 1 and 3.
const GRAPH: &str = "tasks 4\n0 2 100\n1 3 100 # bytes\n0 1 1\n";

/// Four cores. Cores 0 and 1 are near each other, and so are cores 2 and 3.
const CORES: &str = ",,,\n10,,,\n50,50,,\n50,50,10,\n";

#[test]
fn a_graph_is_placed_on_the_cores_of_a_table() {
    let (_folder, paths) = files(&[("graph.txt", GRAPH), ("cores.csv", CORES)]);
    let [graph, cores] = [&paths[0], &paths[1]].map(|path| path.to_str().unwrap());
    let arguments = [graph, "--costs", cores, "--fix", "1=3"];
    let report = solve(&[&arguments[..], &["--format", "json"]].concat()).json();
    assert_eq!(result(&report, "cost"), 2_050.0);
    assert_eq!(report["optimal"], true);
    let binding = &report["binding"];
    assert_eq!(report["placement"], binding["cpus"]);
    assert_eq!(report["machine"]["spe_places"][3], "CPU 3");
    assert_eq!(binding["cpus"][1], 3);
    assert_eq!(binding["cpus"][3], 2);
    assert_eq!(binding["cpu_list"], "0-3");
    assert_eq!(binding["hwloc_cpusets"][1], "0x00000008");
    let table = printed(&arguments);
    let table = table.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "Assumed: cores.csv names no CPUs, so its rows were taken for CPU 0 to CPU 3; --cpus-of-rows names",
        "taskset: taskset --cpu-list 0-3 COMMAND # ",
        "numactl: numactl --physcpubind=0-3 COMMAND # ",
        "OpenMP: OMP_NUM_THREADS=4 OMP_PROC_BIND=close OMP_PLACES='{",
        "rmaps_rank_file_physical 1 --rankfile rankfile COMMAND # ",
        "MPICH: mpiexec.hydra -n 4 -bind-to user:",
        "Slurm: srun --nodes=1 --ntasks=4 --cpu-bind=map_cpu:",
        "hwloc: hwloc-bind 0x0000000f COMMAND # ",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
}

#[test]
fn the_rows_of_a_table_are_the_cpus_that_the_user_names() {
    let (_folder, paths) = files(&[("graph.txt", GRAPH), ("cores.csv", CORES)]);
    let [graph, cores] = [&paths[0], &paths[1]].map(|path| path.to_str().unwrap());
    let solve_with =
        |flags: &[&str]| solve(&[&[graph, "--costs", cores, "--fix", "1=3"], flags].concat());
    let report = solve_with(&["--cpus-of-rows", "4,6,0-1", "--format", "json"]).json();
    assert_eq!(report["problem"]["assumed"], Value::Null);
    assert_eq!(report["binding"]["cpus"][1], 1);
    assert_eq!(report["binding"]["cpus"][3], 0);
    assert_eq!(report["machine"]["spe_places"][1], "CPU 6");
    let assumed = solve_with(&["--format", "json"]).json();
    assert_eq!(
        assumed["problem"]["assumed"],
        "cores.csv names no CPUs, so its rows were taken for CPU 0 to CPU 3; --cpus-of-rows names the CPUs of a table \
         that was measured on others"
    );
    solve_with(&["--cpus-of-rows", "4,6"]).refused(
        "error: --cpus-of-rows: it names 2 CPUs, and the table has 4 rows; name one CPU for each row\n",
    );
    for (rows, message) in [
        ("4,6,4,1", "CPU 4 is named twice: each row has its own"),
        ("x", "such as 4,6 or 0-3"),
        (
            "70000-70003",
            "there is no CPU 70000: the numbers end at 65535",
        ),
    ] {
        let run = solve_with(&["--cpus-of-rows", rows]);
        assert!(
            run.code == Some(2) && run.err.contains(message),
            "{}",
            run.err
        );
    }
    solve(&["--pattern", "ring", "--costs", "qs22", "--cpus-of-rows", "0"]).refused(
        "error: --cpus-of-rows: it names the CPUs of a table of latencies, and --costs is none; leave it out\n",
    );
    let xml = Run::of(cellworks().args(["map", "hwloc", cores, "--cpus-of-rows", "4,6,0-1"]));
    assert!(xml.out.contains(r#"os_index="6""#), "{}", xml.out);
}

#[test]
fn a_table_may_name_its_cpus_and_have_semicolons() {
    let on = |table: &str| {
        let (_folder, paths) = files(&[("graph.txt", GRAPH), ("cores.csv", table)]);
        let [graph, cores] = [&paths[0], &paths[1]].map(|path| path.to_str().unwrap());
        solve(&[graph, "--costs", cores, "--fix", "1=3", "--format", "json"]).json()
    };
    for table in [
        ",4,6,8,9\n4,,,,\n6,10,,,\n8,50,50,,\n9,50,50,10,\n",
        ";CPU 4;CPU 6;CPU 8;CPU 9\r\n;;;;\r\n;10,0;;;\r\n;50;50;;\r\n;50;50;10,0;\r\n",
        " CPU 4 6 8 9\n 4 0 10 50 50\n 6 10 0 50 50\n 8 50 50 0 10\n 9 50 50 10 0\n",
    ] {
        let report = on(table);
        assert_eq!(report["problem"]["places"], 4, "{table}");
        assert_eq!(report["problem"]["assumed"], Value::Null, "{table}");
        assert_eq!(report["binding"]["cpus"][1], 9, "{table}");
    }
    // Other names, and numbers that no CPU has, say nothing of CPUs.
    for names in ["a,b,c,d", "0,1,2,70000"] {
        let report = on(&format!(
            ",{names}\n0,,,,\n1,10,,,\n2,50,50,,\n70000,50,50,10,\n"
        ));
        assert!(report["problem"]["assumed"].is_string(), "{names}");
        assert_eq!(report["binding"]["cpus"][1], 3, "{names}");
    }
}

/// The output of `stats --matrix` for a simulated machine of six SPEs.
static MATRIX: LazyLock<Value> = LazyLock::new(|| {
    let mut stats = stats_command("--machine ps3 --matrix atomic --format json");
    Run::of(&mut stats).json()
});

/// The matrix, as if it were that of a computer with the given CPUs.
fn matrix_of_cpus(cpus: [u32; 6]) -> Value {
    let mut matrix = MATRIX.clone();
    matrix["machine"]["kind"] = json!("host");
    matrix["machine"]["spe_places"] = cpus.map(|cpu| format!("CPU {cpu}")).to_vec().into();
    matrix
}

/// Places two tasks with the costs of a matrix. The first task sends 10 to the second.
fn solve_on(matrix: &str, flags: &[&str]) -> (Run, String) {
    let (folder, paths) = files(&[("graph.txt", "0 1 10\n"), ("matrix.json", matrix)]);
    let [graph, costs] = [&paths[0], &paths[1]].map(|path| path.to_str().unwrap());
    let run = solve(&[&[graph, "--costs", costs], flags].concat());
    (run, folder.path().display().to_string())
}

#[test]
fn a_graph_is_placed_on_what_stats_has_measured() {
    let matrix = matrix_of_cpus([2, 3, 5, 7, 11, 13]);
    let flags = ["--fix", "0=4,1=1", "--format", "json"];
    let report = solve_on(&matrix.to_string(), &flags).0.json();
    assert_eq!(report["machine"], matrix["machine"]);
    assert_eq!(report["placement"], json!([4, 1]));
    assert_eq!(report["binding"]["cpus"], json!([11, 3]));
    let ns = matrix["matrices"][0]["one_way_ns"][4][1].as_f64().unwrap();
    assert_eq!(result(&report, "cost"), 10.0 * ns);
}

#[test]
fn a_simulated_machine_has_places_and_no_cpus() {
    let report = solve_on(&MATRIX.to_string(), &["--format", "json"])
        .0
        .json();
    assert_eq!(report["machine"]["kind"], "simulated");
    assert_eq!(report["problem"]["places"], 6);
    assert_eq!(report["binding"], json!(null));
}

#[test]
fn costs_that_are_not_trustworthy_are_used_with_a_warning() {
    let mut matrix = MATRIX.clone();
    matrix["trust"] = json!({
        "trustworthy": false,
        "reasons": ["others used 80 % of the CPUs; end them"],
        "kinds": ["disturbed"],
    });
    let (run, folder) = solve_on(&matrix.to_string(), &["--format", "json"]);
    let warning = format!(
        "the costs in {folder}/matrix.json are not trustworthy: others used 80 % of the CPUs; end them"
    );
    assert_eq!(
        (run.code, run.err.as_str()),
        (Some(0), &*format!("warning: {warning}\n"))
    );
    let report = run.report();
    assert_eq!(
        report["trust"],
        json!({"trustworthy": false, "reasons": [warning], "kinds": ["disturbed"]})
    );
    assert_eq!(report["environment"]["warnings"], json!([]));
    // A table begins with it, so no message repeats it, and `--quiet` takes nothing from a result.
    for flags in [&[][..], &["--quiet"]] {
        let (table, folder) = solve_on(&matrix.to_string(), flags);
        assert_eq!((table.code, table.err.as_str()), (Some(0), ""));
        let says = format!(
            "Not trustworthy\n- the costs in {folder}/matrix.json are not trustworthy: others used 80 % of the CPUs; end them"
        );
        assert!(words(&table.out).contains(&words(&says)), "{}", table.out);
    }
    let (quiet, _) = solve_on(&matrix.to_string(), &["--format", "json", "--quiet"]);
    assert_eq!((quiet.code, quiet.err.as_str()), (Some(0), ""));
    assert_eq!(quiet.report()["trust"]["trustworthy"], false);
}

/// Asserts the message about a graph, a file with costs, or both. `{}` stands for their folder.
#[track_caller]
fn refused(graph: &str, (name, costs): (&str, &str), message: &str) {
    let (folder, paths) = files(&[("graph.txt", graph), (name, costs)]);
    let [graph, costs] = [&paths[0], &paths[1]].map(|path| path.to_str().unwrap());
    let page = folder.path().join("page.html");
    fs::write(&page, "what was there").unwrap();
    let html = page.to_str().unwrap();
    let message = message.replace("{}", &folder.path().display().to_string());
    solve(&[graph, "--costs", costs, "--html", html]).refused(&format!("error: {message}\n"));
    assert_eq!(fs::read_to_string(&page).unwrap(), "what was there");
}

#[test]
fn a_wrong_graph_is_named_with_line_and_rule() {
    let cores = ("cores.csv", CORES);
    refused(
        "tasks 2\n0 1 1\n1 2 1\n",
        cores,
        "{}/graph.txt, line 3: task 2 is unknown: the first line says that there are 2, numbered from 0",
    );
    refused(
        "0 1 1\n1 2 -4\n",
        cores,
        "{}/graph.txt, line 2: \"-4\" stands where a number from 0 to 1e100 has to be",
    );
    refused(
        "0 1 1\n1 two 4\n",
        cores,
        "{}/graph.txt, line 2: \"1 two 4\" is no edge: a line has a sending task, a receiving task and a \
         volume, as in `0 1 4096`; only the first may be `tasks N`",
    );
    refused(
        "0 4 1\n",
        cores,
        "{}/graph.txt on {}/cores.csv: 5 tasks do not fit on 4 places (forbidden: 0; tasks on each other place: \
         1): allow more tasks a place (--capacity), or use fewer tasks",
    );
    refused(
        "",
        cores,
        "{}/graph.txt: the problem has no tasks: give it one at least",
    );
}

#[test]
fn a_wrong_table_of_cores_is_named_with_line_and_rule() {
    refused(
        "0 1\n",
        ("cores.csv", ",,\n1,,\n2,3\n"),
        "{}/cores.csv, line 3: the row has 2 columns; allowed: 3, because there are 3 rows (with nothing between \
         commas where a latency is missing)",
    );
    refused(
        "0 1\n",
        ("cores.csv", ",,\n1,,\n,3,\n"),
        "{}/cores.csv, line 1: column 3 is empty, and so is column 1 of line 3; allowed: a time in one of them",
    );
    refused(
        "0 1\n",
        ("cores.csv", ",\nfast,\n"),
        "{}/cores.csv, line 2: column 1 is \"fast\"; allowed: a finite time of 0 or more, in nanoseconds, or nothing",
    );
    let (_folder, paths) = files(&[("graph.txt", "0 1\n")]);
    let graph = paths[0].to_str().unwrap();
    refused(
        "0 1\n",
        ("cores.csv", ",\n1,\n,\n2,\n"),
        "{}/cores.csv, line 3: a second table begins here: the file has 2 tables of 2 columns, such as those of several \
         benchmarks; allowed: one, so keep the 2 lines of one benchmark",
    );
    solve(&[graph, "--costs", "not/there.csv"]).refused(
        "error: not/there.csv: No such file or directory (os error 2): name a text file that can be read\n",
    );
    solve(&[graph]).refused(&format!(
        "error: {graph}: it has only volumes, which say nothing of places; name the costs between them with --costs\n"
    ));
}

#[test]
fn a_wrong_result_of_stats_is_named_with_its_rule() {
    let refused = |matrix: &Value, message: &str| {
        refused("0 1\n", ("matrix.json", &matrix.to_string()), message);
    };
    let mut hole = MATRIX.clone();
    hole["matrices"][0]["one_way_ns"][2][5] = json!(null);
    refused(
        &hole,
        "{}/matrix.json: the time from SPE 2 to SPE 5 was not measured, and placing takes all of them; measure \
         them with `cellworks stats --matrix atomic --full`",
    );
    let mut ragged = MATRIX.clone();
    ragged["matrices"][0]["one_way_ns"][3] = json!([1.0]);
    refused(
        &ragged,
        "{}/matrix.json: row 3 of `one_way_ns`, counted from 0, has 1 elements, and there are 6 rows: the matrix \
         has to be square",
    );
    let mut negative = MATRIX.clone();
    negative["matrices"][0]["one_way_ns"][0][1] = json!(-1.0);
    refused(
        &negative,
        "{}/matrix.json: the cost from place 0 to place 1 is -1: a cost is a number from 0 to 1e100, and each pair of \
         places has one; measure what is missing, or forbid a place",
    );
    let mut two = MATRIX.clone();
    two["matrices"] = json!([two["matrices"][0], two["matrices"][0]]);
    refused(
        &two,
        "{}/matrix.json: it has 2 matrices, and placing takes one; measure it with `cellworks stats --matrix \
         atomic --format json`",
    );
    let mut newer = MATRIX.clone();
    newer["schema_version"] = json!(7);
    refused(
        &newer,
        "`{}/matrix.json` has schema_version 7, and this command reads 1: update cellworks",
    );
    let whole = MATRIX.to_string();
    super::map::refused(
        "0 1\n",
        ("matrix.json", &whole[..whole.len() / 2]),
        "`{}/matrix.json` is cut off: it ends in the middle, at line 1; copy it again, or measure again",
    );
}

/// The CPUs that this process may use.
fn allowed() -> Vec<usize> {
    let cpus = cellworks_host::allowed_cpus().unwrap();
    cpus.into_iter().map(|cpu| cpu as usize).collect()
}

/// Two of the CPUs that this process may use, in descending order. `None` if there is only one.
#[track_caller]
pub(crate) fn two_allowed() -> Option<[usize; 2]> {
    match allowed()[..] {
        [first, second, ..] => Some([second, first]),
        _ => {
            skipped("it takes two CPUs");
            None
        }
    }
}

/// How the names of the variables of launchers and of OpenMP begin.
const OF_LAUNCHERS_AND_OPENMP: [&str; 11] = [
    "OMP_", "GOMP_", "KMP_", "OMPI_", "MV2_", "MPI_", "PALS_", "PMI_", "JSM_", "FLUX_", "SLURM_",
];

/// Runs `map exec` with only the given variables of launchers and OpenMP in its environment.
pub(crate) fn exec(placement: &str, environment: &[(&str, &str)], command: &[&str]) -> Run {
    let mut exec = cellworks();
    for name in env::vars_os().filter_map(|(name, _)| name.into_string().ok()) {
        if OF_LAUNCHERS_AND_OPENMP
            .iter()
            .any(|prefix| name.starts_with(prefix))
        {
            exec.env_remove(name);
        }
    }
    exec.envs(environment.iter().copied());
    Run::of(exec.args(["map", "exec", placement, "--"]).args(command))
}

/// A command that prints the CPUs of its process, and the variables of OpenMP.
const SHOW: [&str; 3] = [
    "sh",
    "-c",
    "sed -n 's/Cpus_allowed_list:\t//p' /proc/self/status; \
     echo ${OMP_NUM_THREADS-} ${OMP_PROC_BIND-} ${OMP_PLACES-}",
];

/// The output of `SHOW`.
#[track_caller]
fn shown(placement: &str, environment: &[(&str, &str)]) -> String {
    let run = exec(placement, environment, &SHOW);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    run.out
}

#[test]
fn a_command_runs_on_the_cpus_of_a_list() {
    let only = allowed()[0];
    assert_eq!(
        shown(&only.to_string(), &[]),
        format!("{only}\n1 close {{{only}}}\n")
    );
    let Some([first, second]) = two_allowed() else {
        return;
    };
    let both = shown(&format!("{first},{second}"), &[]);
    assert!(
        both.ends_with(&format!("\n2 close {{{first}}},{{{second}}}\n")),
        "{both}"
    );
}

#[test]
fn a_command_runs_on_the_cpus_of_a_placement() {
    let Some([first, second]) = two_allowed() else {
        return;
    };
    let mut cpus = [1_000, 1_001, 1_002, 1_003, 1_004, 1_005];
    (cpus[1], cpus[4]) = (first as u32, second as u32);
    let flags = ["--fix", "0=1,1=4", "--format", "json"];
    let (run, _) = solve_on(&matrix_of_cpus(cpus).to_string(), &flags);
    let (_folder, paths) = files(&[("placement.json", &run.out)]);
    let both = shown(paths[0].to_str().unwrap(), &[]);
    assert!(
        both.ends_with(&format!("\n2 close {{{first}}},{{{second}}}\n")),
        "{both}"
    );
}

/// A command that prints the variables that bind threads of OpenMP, and their number.
const SHOW_OPENMP: [&str; 3] = [
    "sh",
    "-c",
    "echo ${OMP_NUM_THREADS-none} ${OMP_PROC_BIND-none} ${OMP_PLACES-none} \
     ${GOMP_CPU_AFFINITY-none} ${KMP_AFFINITY-none}",
];

#[test]
fn variables_that_bind_threads_elsewhere_are_named_and_replaced() {
    let only = allowed()[0].to_string();
    let places = format!("{{{only}}}");
    let with = |environment: &[(&str, &str)]| exec(&only, environment, &SHOW_OPENMP);
    let of_placement = format!("1 close {places} none none\n");
    for (name, value, gets) in [
        ("OMP_PLACES", "cores", Some(places.as_str())),
        ("OMP_PROC_BIND", "false", Some("close")),
        ("OMP_NUM_THREADS", "3", Some("1")),
        ("GOMP_CPU_AFFINITY", "0-3", None),
        ("KMP_AFFINITY", "scatter", None),
    ] {
        let run = with(&[(name, value)]);
        assert_eq!(
            (run.code, run.out.as_str()),
            (Some(0), of_placement.as_str()),
            "{name}"
        );
        let then = match gets {
            Some(gets) => format!("the command gets {name}={gets}"),
            None => "the command does not get it".to_owned(),
        };
        assert_eq!(
            run.err,
            format!("warning: {name}={value} contradicts the placement, so {then}\n")
        );
    }
    // These say the same as the placement, or nothing.
    let run = with(&[
        ("OMP_PLACES", &places),
        ("OMP_PROC_BIND", "close"),
        ("KMP_AFFINITY", ""),
    ]);
    assert_eq!(
        (run.out.as_str(), run.err.as_str()),
        (of_placement.as_str(), "")
    );
}

#[test]
fn without_openmp_a_command_gets_no_variable_that_binds_threads() {
    let only = allowed()[0].to_string();
    let with = |environment: &[(&str, &str)]| {
        let mut exec = cellworks();
        for name in [
            "OMP_NUM_THREADS",
            "OMP_PROC_BIND",
            "OMP_PLACES",
            "GOMP_CPU_AFFINITY",
            "KMP_AFFINITY",
        ] {
            exec.env_remove(name);
        }
        exec.envs(environment.iter().copied());
        exec.args(["map", "exec", "--no-openmp", &only, "--"]);
        Run::of(exec.args(SHOW_OPENMP))
    };
    let run = with(&[]);
    assert_eq!(
        (run.out.as_str(), run.err.as_str()),
        ("none none none none none\n", "")
    );
    let run = with(&[("OMP_PLACES", "cores"), ("OMP_NUM_THREADS", "3")]);
    assert_eq!(run.out, "3 none none none none\n");
    assert_eq!(
        run.err,
        "warning: OMP_PLACES=cores contradicts the placement, so the command does not get it\n"
    );
}

/// A program that is linked with OpenMP and prints the CPUs of a thread of its own.
const PLAIN_THREAD: &str = r#"
    #define _GNU_SOURCE
    #include <pthread.h>
    #include <sched.h>
    #include <stdio.h>
    int omp_get_max_threads(void);
    static void *count(void *unused) {
        cpu_set_t cpus;
        sched_getaffinity(0, sizeof cpus, &cpus);
        printf("%d\n", CPU_COUNT(&cpus));
        return unused;
    }
    int main(void) {
        pthread_t thread;
        if (omp_get_max_threads() < 1 || pthread_create(&thread, NULL, count, NULL)) return 1;
        return pthread_join(thread, NULL);
    }
"#;

#[test]
fn threads_of_a_program_that_is_linked_with_libgomp_have_all_cpus_without_openmp() {
    let Some([first, second]) = two_allowed() else {
        return;
    };
    let (folder, paths) = files(&[("plain.c", PLAIN_THREAD)]);
    let program = folder.path().join("plain");
    let mut gcc = Command::new("gcc");
    gcc.arg(&paths[0])
        .arg("-o")
        .arg(&program)
        .args(["-fopenmp", "-pthread"]);
    if !gcc.output().is_ok_and(|output| output.status.success()) {
        return skipped("gcc cannot build a program with OpenMP");
    }
    let placement = format!("{first},{second}");
    let cpus = |flags: &[&str]| {
        let mut exec = cellworks();
        exec.env_remove("OMP_PROC_BIND").env_remove("OMP_PLACES");
        exec.args(["map", "exec"])
            .args(flags)
            .args([&placement, "--"]);
        Run::of(exec.arg(&program)).out
    };
    assert_eq!(cpus(&["--no-openmp"]), "2\n");
    // The reason for the flag.
    assert_eq!(cpus(&[]), "1\n");
}

#[test]
fn a_rank_runs_on_the_cpu_of_its_task() {
    let Some([first, second]) = two_allowed() else {
        return;
    };
    let placement = format!("{first},{second}");
    let is_bound = |environment: &[(&str, &str)], cpu: usize| {
        assert_eq!(
            shown(&placement, environment),
            format!("{cpu}\n1 close {{{cpu}}}\n"),
            "{environment:?}"
        );
    };
    for rank in [
        "SLURM_LOCALID",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "MPI_LOCALRANKID",
        "MV2_COMM_WORLD_LOCAL_RANK",
        "PALS_LOCAL_RANKID",
        "PMI_LOCAL_RANK",
        "JSM_NAMESPACE_LOCAL_RANK",
        "FLUX_TASK_LOCAL_ID",
    ] {
        is_bound(&[(rank, "0")], first);
        is_bound(&[(rank, "1")], second);
    }
    // PMI_RANK counts the processes of all computers, also if there are as many as tasks.
    is_bound(&[("PMI_RANK", "13"), ("SLURM_LOCALID", "1")], second);
    is_bound(
        &[
            ("PMI_RANK", "1"),
            ("PMI_SIZE", "2"),
            ("PMI_LOCAL_RANK", "0"),
        ],
        first,
    );
    is_bound(&[("PMI_RANK", "1"), ("PMI_SIZE", "2")], second);
    // Open MPI 5 with `--map-by package`: rank 1 has another number on the only computer.
    let by_package = [
        ("OMPI_COMM_WORLD_RANK", "1"),
        ("OMPI_COMM_WORLD_SIZE", "2"),
        ("OMPI_COMM_WORLD_LOCAL_RANK", "0"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
    ];
    is_bound(&by_package, second);
    // A batch script of Slurm has started mpirun.
    let of_both = [
        ("SLURM_JOB_ID", "7"),
        ("SLURM_LOCALID", "0"),
        ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
    ];
    is_bound(&of_both, second);
    // In a batch script, and in a single process, the threads use all CPUs of the placement.
    for alone in [
        &[("SLURM_JOB_ID", "7"), ("SLURM_LOCALID", "0")][..],
        &[("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_LOCALID", "0")],
        &[("PMI_RANK", "0"), ("PMI_SIZE", "1")],
        // The only process of the second computer.
        &[
            ("SLURM_STEP_NUM_TASKS", "3"),
            ("SLURM_STEP_TASKS_PER_NODE", "2,1"),
            ("SLURM_NODEID", "1"),
            ("SLURM_LOCALID", "0"),
        ],
        &[
            ("FLUX_JOB_SIZE", "2"),
            ("FLUX_JOB_NNODES", "2"),
            ("FLUX_TASK_LOCAL_ID", "0"),
        ],
        &[
            ("PMI_RANK", "1"),
            ("PMI_SIZE", "2"),
            ("PMI_LOCAL_RANK", "0"),
            ("PMI_LOCAL_SIZE", "1"),
        ],
    ] {
        let both = shown(&placement, alone);
        assert!(both.contains("\n2 close {"), "{alone:?}: {both}");
    }
}

#[test]
fn a_rank_among_the_processes_of_all_computers_is_not_taken_for_that_on_this_one() {
    let Some([first, second]) = two_allowed() else {
        return;
    };
    let placement = format!("{first},{second}");
    for (size, said) in [
        (Some("4"), "PMI_SIZE=4"),
        (None, "without a number in PMI_SIZE"),
    ] {
        let mut environment = vec![("PMI_RANK", "1")];
        environment.extend(size.map(|size| ("PMI_SIZE", size)));
        let run = exec(&placement, &environment, &SHOW);
        assert!(run.out.contains("\n2 close {"), "{}", run.out);
        assert_eq!(
            run.err,
            format!(
                "warning: PMI_RANK=1 ({said}) is not used: it numbers the processes of all computers, and the \
                 placement has 2 tasks; the command may use the CPUs of all tasks; to confine it to one, set \
                 PMI_LOCAL_RANK to its number on this computer\n"
            )
        );
    }
}

#[test]
fn mpirun_of_open_mpi_starts_ranks_on_the_cpus_of_their_tasks() {
    let version = Command::new("mpirun").arg("--version").output();
    let is_there = version.is_ok_and(|output| output.stdout.starts_with(b"mpirun (Open MPI)"));
    if !is_there {
        return skipped("mpirun of Open MPI is not installed");
    }
    let Some([first, second]) = two_allowed() else {
        return;
    };
    let mut mpirun = Command::new("mpirun");
    mpirun.args(["-n", "2", "--oversubscribe", "--bind-to", "none"]);
    mpirun.arg(cellworks().get_program());
    mpirun.args(["map", "exec", &format!("{first},{second}"), "--"]);
    let show =
        "echo $OMPI_COMM_WORLD_LOCAL_RANK $(sed -n 's/Cpus_allowed_list:\t//p' /proc/self/status)";
    mpirun.args(["sh", "-c", show]);
    // mpirun refuses to run as root unless both variables are set.
    mpirun.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
    mpirun.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let run = Run::of(&mut mpirun);
    let mut lines: Vec<&str> = run.out.lines().collect();
    lines.sort_unstable();
    let expected = [format!("0 {first}"), format!("1 {second}")];
    assert_eq!(
        (run.code, lines),
        (Some(0), expected.iter().map(String::as_str).collect()),
        "{}",
        run.err
    );
}

#[test]
fn ranks_that_have_no_task() {
    let only = allowed()[0].to_string();
    exec(&only, &[("SLURM_LOCALID", "1")], &SHOW).refused(
        "error: SLURM_LOCALID=1: the placement has 1 tasks, numbered from 0; start one process for each\n",
    );
    exec(&only, &[("PMI_RANK", "first")], &SHOW).refused(
        "error: PMI_RANK=first: a rank is a whole number, from 0 on; unset the variable if no launcher has set \
         it\n",
    );
}

#[test]
fn cpus_that_may_not_be_used_are_named_before_anything_starts() {
    let all = allowed();
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("started");
    let placement = format!("{},1022,1021-1022,4000", all[0]);
    let run = exec(&placement, &[], &["touch", trace.to_str().unwrap()]);
    let (code, err) = (run.code, run.err.as_str());
    assert_eq!(code, Some(2), "{err}");
    assert!(
        err.starts_with(
            "error: nothing can be bound to CPU 1021-1022,4000: this process may use CPU "
        ),
        "{err}"
    );
    assert!(
        err.ends_with(
            "; start it where it may use more (--bind-to none of mpirun, -bind-to none of mpiexec.hydra, \
             --cpu-bind=none of srun), or solve the problem for these\n"
        ),
        "{err}"
    );
    assert!(!trace.exists());
}

#[test]
fn a_command_that_does_not_exist_and_exit_codes_and_signals() {
    let only = allowed()[0].to_string();
    exec(&only, &[], &["no-such-command"]).refused(
        "error: no-such-command: No such file or directory (os error 2); name a program that can be started\n",
    );
    assert_eq!(exec(&only, &[], &["sh", "-c", "exit 7"]).code, Some(7));
    // The command runs in the process of `map exec`. A signal ends it, so there is no exit code.
    assert_eq!(exec(&only, &[], &["sh", "-c", "kill -TERM $$"]).code, None);
    // Rust ignores the signal of a closed pipe. The command must not inherit this.
    assert_eq!(exec(&only, &[], &["sh", "-c", "kill -PIPE $$"]).code, None);
}

#[test]
fn placements_that_are_none() {
    exec("6,4,x", &[], &SHOW).refused(
        "error: 6,4,x: it is no list of CPUs, such as 6,4,2 or 0-3, and there is no such file; name what \
         `cellworks map solve` printed with --format json\n",
    );
    exec("3-1", &[], &SHOW).refused(
        "error: 3-1: it is no list of CPUs, such as 6,4,2 or 0-3, and there is no such file; name what `cellworks \
         map solve` printed with --format json\n",
    );
    let of_qaplib = solve(&[&data("nug12.dat"), "--time", "0", "--format", "json"]);
    let of_stats = MATRIX.to_string();
    let mut of_later = of_qaplib.json();
    of_later["schema_version"] = json!(2);
    let mut of_none = of_qaplib.json();
    of_none["binding"] = json!({
        "cpus": [], "cpu_list": "", "omp_places": "", "slurm_cpu_bind": "", "hwloc_cpusets": [],
    });
    let (_folder, paths) = files(&[
        ("qaplib.json", &of_qaplib.out),
        ("stats.json", &of_stats),
        ("cut.json", &of_qaplib.out[..of_qaplib.out.len() / 2]),
        ("later.json", &of_later.to_string()),
        ("none.json", &of_none.to_string()),
    ]);
    let said = |at: usize| {
        let path = paths[at].to_str().unwrap();
        let run = exec(path, &[], &SHOW);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
        run.err.replace(path, "FILE")
    };
    assert_eq!(
        said(0),
        "error: FILE: its places are no CPUs of a computer; solve the problem with --costs that were measured \
         between CPUs\n"
    );
    assert_eq!(
        said(1),
        "error: FILE: `cellworks stats` printed it, and it has no placement; name what `cellworks map solve` \
         printed with --format json\n"
    );
    assert!(said(2).starts_with("error: `FILE` is cut off: it ends in the middle, at line "));
    assert_eq!(
        said(3),
        "error: `FILE` has schema_version 2, and this command reads 1: update cellworks\n"
    );
    assert_eq!(
        said(4),
        "error: FILE: it has a CPU for no task; solve the problem again\n"
    );
}

/// Latencies as XML of hwloc, made from a table of cores.
fn hwloc_of_cores() -> String {
    let (_folder, paths) = files(&[("cores.csv", CORES)]);
    let run = Run::of(cellworks().args(["map", "hwloc"]).arg(&paths[0]));
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    run.out
}

#[test]
fn latencies_go_through_xml_of_hwloc() {
    let (_folder, paths) = files(&[("graph.txt", GRAPH), ("cores.xml", &hwloc_of_cores())]);
    let [graph, cores] = [&paths[0], &paths[1]].map(|path| path.to_str().unwrap());
    let report = solve(&[graph, "--costs", cores, "--format", "json"]).json();
    // The file has picoseconds, and its name of the distances says so.
    assert_eq!(result(&report, "cost"), 2_050.0);
    assert_eq!(report["problem"]["unit"], "ns");
    assert_eq!(report["binding"]["cpu_list"], "0-3");
}

#[test]
fn lstopo_reads_the_xml() {
    let (_folder, paths) = files(&[("cores.xml", &hwloc_of_cores())]);
    let mut lstopo = Command::new("lstopo-no-graphics");
    let lstopo = lstopo.arg("--input").arg(&paths[0]).arg("--distances");
    let Some(output) = output_if_installed(lstopo.env("HWLOC_XML_VERBOSE", "1")) else {
        return skipped("lstopo of hwloc is not installed");
    };
    let run = Run::from(output);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    for part in ["OneWayLatencyInPicoseconds", "PU", "10000", "50000"] {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
}

#[test]
fn wrong_xml_of_hwloc_and_xml_without_cpus() {
    refused(
        "0 1\n",
        ("machine.xml", "<topology version=\"2.0\">\n<object>\n"),
        "{}/machine.xml, line 2: it is no XML: the root node was opened but never closed",
    );
    refused(
        "0 1\n",
        ("machine.xml", "<html/>\n"),
        "{}/machine.xml, line 1: the XML of hwloc 2 has an element `topology` with version 2.0 outside, and this \
         has `html` with version \"\"; write it by `lstopo FILE.xml`",
    );
    let said = |matrix: &Value| {
        let (_folder, paths) = files(&[("matrix.json", &matrix.to_string())]);
        let run = Run::of(cellworks().args(["map", "hwloc"]).arg(&paths[0]));
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
        run.err.replace(paths[0].to_str().unwrap(), "FILE")
    };
    assert_eq!(
        said(&MATRIX),
        "error: FILE: its places are no CPUs of a computer, and hwloc describes nothing else; measure this \
         computer\n"
    );
    assert_eq!(
        said(&matrix_of_cpus([0, 1, 0, 1, 0, 1])),
        "error: FILE: several of its SPEs share a CPU, and hwloc has each CPU once; measure fewer SPEs\n"
    );
}

/// A pair of tasks, and CPUs 0 and 1. The two directions between the CPUs have different costs.
fn a_pair() -> (tempfile::TempDir, [String; 2]) {
    let (folder, paths) = files(&[("pair.txt", "0 1 5\n"), ("costs.csv", "0,50\n40,0\n")]);
    (folder, [0, 1].map(|at| paths[at].display().to_string()))
}

/// Whether this process may use CPUs 0 and 1.
fn has_two_cpus() -> bool {
    let has = allowed().starts_with(&[0, 1]);
    if !has {
        skipped("it takes CPUs 0 and 1, and this process may not use both");
    }
    has
}

#[test]
fn a_command_decides_between_placements() {
    if !has_two_cpus() {
        return;
    }
    let (folder, [graph, costs]) = a_pair();
    // Each run writes a line with its CPUs and the variables of OpenMP.
    let seen = folder.path().join("seen");
    let script = format!(
        "echo $(taskset -cp $$ | sed 's/.*: //') ${{OMP_PLACES:-unbound}} >> {}",
        seen.display()
    );
    let run = solve(&[
        &graph, "--costs", &costs, "--format", "json", "--", "sh", "-c", &script,
    ]);
    let report = run.json();
    let trials = &report["trials"];
    assert_eq!(trials["command"], json!(["sh", "-c", script]));
    assert_eq!(list(trials, "unbound_ns").len(), 10);
    let placements = list(trials, "placements");
    let cost = |placement: &Value| placement["cost"].as_f64().unwrap();
    // The cheapest placement comes first.
    assert_eq!(
        placements.iter().map(cost).collect::<Vec<_>>(),
        [200.0, 250.0]
    );
    assert_eq!(list(&placements[0], "ns").len(), 10);
    let mut trials = placements.iter();
    let kept = trials.find(|trial| trial["placement"] == report["placement"]);
    let kept = kept.expect("one of them is kept");
    assert_eq!(kept["cpus"], report["binding"]["cpus"]);
    assert_eq!(cost(kept), result(&report, "cost"));
    assert_eq!(report["optimal"], cost(kept) == 200.0);
    assert_eq!(result(&report, "bound"), 200.0);
    let [least, gain, most] =
        ["gain_at_least", "gain", "gain_at_most"].map(|name| result(&report, name));
    assert!(0.0 < least && least <= gain && gain <= most);
    assert!(result(&report, "time_unbound") > 0.0 && result(&report, "time_bound") > 0.0);

    let seen = fs::read_to_string(seen).unwrap();
    let ends = |with: &str| seen.lines().filter(|line| line.ends_with(with)).count();
    // The first run without a binding only checks that the command works.
    let ways = ["0,1 {0},{1}", "0,1 {1},{0}", "unbound"].map(ends);
    assert_eq!(ways, [10, 10, 11], "{seen}");
}

#[test]
fn no_run_of_a_command_inherits_a_binding() {
    if !has_two_cpus() {
        return;
    }
    let (folder, [graph, costs]) = a_pair();
    let inherited = [
        ("OMP_NUM_THREADS", "7"),
        ("OMP_PLACES", "{1},{1}"),
        ("OMP_PROC_BIND", "spread"),
        ("GOMP_CPU_AFFINITY", "1"),
        ("KMP_AFFINITY", "compact"),
    ];
    let seen_with = |name: &str, flags: &[&str]| {
        let seen = folder.path().join(name);
        let script = format!("{} >> {}", SHOW_OPENMP[2], seen.display());
        let mut solve = cellworks();
        solve
            .args(["map", "solve", &graph, "--costs", &costs])
            .args(flags);
        let run = Run::of(solve.args(["--", "sh", "-c", &script]).envs(inherited));
        assert_eq!(run.code, Some(0), "{}", run.err);
        let seen = fs::read_to_string(seen).unwrap();
        let mut lines: Vec<String> = seen.lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 31);
        lines.sort_unstable();
        lines.dedup();
        (lines, run.err)
    };
    // A table begins with its warnings, and with JSON they are messages.
    let (seen, err) = seen_with("seen", &["--format", "json"]);
    // The runs without a binding have as many threads as the others.
    let ways = [
        "2 close {0},{1} none none",
        "2 close {1},{0} none none",
        "2 none none none none",
    ];
    assert_eq!(seen, ways);
    assert_eq!(
        err,
        "warning: OMP_NUM_THREADS=7 is not that of 2 tasks, so the command gets OMP_NUM_THREADS=2 in every run\n\
         warning: OMP_PROC_BIND=spread binds threads, so the command does not get it in any run\n\
         warning: OMP_PLACES={1},{1} binds threads, so the command does not get it in any run\n\
         warning: GOMP_CPU_AFFINITY=1 binds threads, so the command does not get it in any run\n\
         warning: KMP_AFFINITY=compact binds threads, so the command does not get it in any run\n"
    );
    let (seen, _) = seen_with("plain", &["--no-openmp"]);
    assert_eq!(seen, ["7 none none none none"]);
}

#[test]
fn a_command_that_cannot_be_measured() {
    if is_emulated() {
        return skipped("the emulator does not tell that a program cannot be started");
    }
    if !has_two_cpus() {
        return;
    }
    let (_folder, [graph, costs]) = a_pair();
    let with = |command: &[&str]| solve(&[&[&graph, "--costs", &costs, "--"], command].concat());
    with(&["no-such-program"]).refused(
        "error: no-such-program: No such file or directory (os error 2); name a program that can be started\n",
    );
    let failed = with(&["sh", "-c", "exit 3"]);
    assert_eq!(failed.code, Some(1));
    assert_eq!(
        failed.err,
        "error: `sh -c exit 3` has failed (exit status: 3), so it cannot be measured; run it by itself to see why\n"
    );
    solve(&[&data("nug12.dat"), "--", "true"]).refused(
        "error: a command is run on CPUs, and the places of this problem are none; name costs between CPUs with \
         --costs, or leave the command out\n",
    );
}

#[test]
fn a_command_on_cpus_that_may_not_be_used() {
    let (_folder, [graph, costs]) = a_pair();
    let mut command = Command::new("taskset");
    if allowed()[0] != 0 {
        skipped("it takes CPU 0, and this process may not use it");
        return;
    }
    command
        .args(["--cpu-list", "0"])
        .arg(cellworks().get_program())
        .args(["map", "solve", &graph, "--costs", &costs, "--", "true"]);
    Run::of(&mut command).refused(
        "error: nothing can be bound to CPU 1: this process may use CPU 0; forbid their places (--forbid), or start \
         it where it may use more\n",
    );
}

/// Four tasks in a chain, and five places, of which the last should not be used, nor places 0 and 1
/// by neighbours. `forbidden` is the cost that says this.
fn a_chain_with_forbidden_pairs(forbidden: &str) -> (tempfile::TempDir, [String; 2]) {
    let costs = "0,F,24,11,F\nF,0,35,14,F\n9,6,0,30,F\n23,56,53,0,F\nF,F,F,F,0\n";
    let costs = costs.replace('F', forbidden);
    let (folder, paths) = files(&[
        ("chain.txt", "tasks 4\n0 1 1\n1 2 0.5\n2 3 1\n"),
        ("costs.csv", &costs),
    ]);
    (folder, [0, 1].map(|at| paths[at].display().to_string()))
}

#[test]
fn pairs_of_places_are_forbidden_by_large_costs() {
    for forbidden in ["1e4", "1e17", "1e30", "1e100"] {
        let (_folder, [chain, costs]) = a_chain_with_forbidden_pairs(forbidden);
        let report = solve(&[&chain, "--costs", &costs, "--format", "json"]).json();
        assert_eq!(report["placement"], json!([2, 1, 3, 0]), "{forbidden}");
        assert_eq!(result(&report, "cost"), 36.0, "{forbidden}");
        assert_eq!(report["optimal"], true, "{forbidden}");
    }
    let (_folder, [chain, costs]) = a_chain_with_forbidden_pairs("1.7e308");
    solve(&[&chain, "--costs", &costs]).refused(&format!(
        "error: {costs}, line 1: 1.7e308 stands where a number from 0 to 1e100 has to be\n"
    ));
    refused(
        "tasks 3\n0 1 1.7976931348623157e308\n1 2 1\n",
        ("cores.csv", CORES),
        "{}/graph.txt, line 2: \"1.7976931348623157e308\" stands where a number from 0 to 1e100 has to be",
    );
    refused(
        "0 1\n",
        ("cores.xml", &hwloc_of_cores().replace("50000", "1e101")),
        "{}/cores.xml, line 13: \"1e101\" stands where a number from 0 to 1e100 has to be",
    );
}

#[test]
fn tasks_are_counted_before_they_take_memory() {
    let cores = ",,\n10,,\n40,40,\n";
    for (graph, tasks) in [
        ("0 4000000000\n", "4000000001"),
        ("tasks 100000000000\n0 1\n", "100000000000"),
        ("0 18446744073709551614\n", "18446744073709551615"),
    ] {
        refused(
            graph,
            ("cores.csv", cores),
            &format!(
                "{{}}/graph.txt on {{}}/cores.csv: {tasks} tasks do not fit on 3 places (forbidden: 0; tasks on each \
                 other place: 1): allow more tasks a place (--capacity), or use fewer tasks"
            ),
        );
    }
    for graph in [
        "0 18446744073709551615\n",
        "tasks 99999999999999999999999\n",
    ] {
        refused(
            graph,
            ("cores.csv", cores),
            "{}/graph.txt on {}/cores.csv: 2^64 or more tasks do not fit on 3 places: use smaller numbers of tasks",
        );
    }
    let (_folder, paths) = files(&[("cores.csv", cores), ("graph.txt", "0 4000000000\n")]);
    let [cores, graph] = [&paths[0], &paths[1]].map(|path| path.to_str().unwrap());
    let pattern = [
        "--pattern",
        "all-to-all",
        "--tasks",
        "1000000",
        "--costs",
        cores,
    ];
    solve(&pattern).refused(&format!(
        "error: the pattern all-to-all on {cores}: 1000000 tasks do not fit on 3 places (forbidden: 0; tasks on each \
         other place: 1): allow more tasks a place (--capacity), or use fewer tasks\n"
    ));
    let explain = |problem: &[&str]| {
        Run::of(
            cellworks()
                .args(["map", "explain", "0,1", "1,0"])
                .args(problem),
        )
    };
    explain(&pattern).refused(
        "error: 0,1: the placement has 2 places for 1000000 tasks: name one place for each task\n",
    );
    explain(&["--problem", graph, "--costs", cores]).refused(
        "error: 0,1: the placement has 2 places for 4000000001 tasks: name one place for each task\n",
    );
    let room = "its places have room for 12000000003 tasks, and a search takes memory for each pair: 16384 are \
                allowed; lower --capacity, or forbid places";
    solve(&[graph, "--costs", cores, "--capacity", "5000000000"])
        .refused(&format!("error: {graph} on {cores}: {room}\n"));
    let ring = ["map", "ring", "--machine", "ps3", "--spes", "2"];
    let ring = cellworks().args(ring).args(&pattern[..4]).output();
    let ring = Run::from(ring.unwrap());
    assert_eq!(ring.code, Some(2));
    assert!(
        ring.err.starts_with("error: --tasks 1000000: "),
        "{}",
        ring.err
    );
}

#[test]
fn products_that_the_search_ignores_are_named() {
    let (_folder, paths) = files(&[("graph.txt", "0 1 1\n1 2 1e14\n"), ("cores.csv", CORES)]);
    let [graph, cores] = [&paths[0], &paths[1]].map(|path| path.to_str().unwrap());
    let says = "the products of a volume and a cost reach from 1e1 to 5e15: the search ignores products below a 10^12th of \
                the cost; use numbers that are nearer to each other";
    let run = solve(&[graph, "--costs", cores, "--format", "csv"]);
    assert_eq!((run.code, run.err), (Some(0), format!("warning: {says}\n")));
    let table = printed(&[graph, "--costs", cores]);
    assert!(
        words(&table).contains(&format!("Warnings - {says}")),
        "{table}"
    );
}

#[test]
fn a_latency_that_hwloc_has_no_room_for_is_named() {
    let (_folder, paths) = files(&[("cores.csv", ",\n1e17,\n")]);
    let file = paths[0].to_str().unwrap();
    Run::of(cellworks().args(["map", "hwloc", file])).refused(&format!(
        "error: {file}: the latency from CPU 0 to CPU 1 is 1e17 ns, and a latency in hwloc's XML is below 2^64 ps, \
         which is 1.8e16 ns: lower it\n"
    ));
}

#[test]
fn a_pattern_takes_the_place_of_a_file() {
    let (_folder, paths) = files(&[("costs.csv", "0,1,9,9\n1,0,9,9\n9,9,0,1\n9,9,1,0\n")]);
    let costs = paths[0].display().to_string();
    let report = solve(&["--pattern", "pairs", "--costs", &costs, "--format", "json"]).json();
    assert_eq!(report["problem"]["file"], "the pattern pairs");
    assert_eq!(report["problem"]["tasks"], 4);
    assert_eq!(result(&report, "cost"), 4.0);
    // The places can be paired in three ways. One way costs 4, and the other two cost 36.
    assert!((result(&report, "average") - 76.0 / 3.0).abs() < 1e-9);
    let table = printed(&["--pattern", "tree", "--tasks", "3", "--costs", &costs]);
    assert!(table.contains("the pattern tree on"), "{table}");
    assert!(
        table.contains("what a placement by chance costs on average: 1.27 times as much"),
        "{table}"
    );
}

#[test]
fn the_cost_has_its_unit_and_says_what_is_added_up() {
    let (folder, paths) = files(&[("cores.csv", CORES), ("cores.xml", &hwloc_of_cores())]);
    let page = folder.path().join("page.html");
    let page = page.to_str().unwrap();
    let [cores, xml] = [&paths[0], &paths[1]].map(|path| path.to_str().unwrap());
    let on = |costs| ["--pattern", "pairs", "--tasks", "2", "--costs", costs];
    // Two of the cores are 10 ns apart.
    let summed = "volume times cost in ns of each pair, both directions added up";
    let table = printed(&[&on(cores)[..], &["--html", page]].concat());
    assert!(
        table.contains("cost          20 ") && table.contains(&format!(" {summed}\n")),
        "{table}"
    );
    assert!(fs::read_to_string(page).unwrap().contains(summed));
    let report = solve(&[&on("ps3")[..], &["--format", "json"]].concat()).json();
    assert_eq!(report["problem"]["unit"], "ns");
    // Our own XML of hwloc has its unit in the name of the distances. Other XML has no unit.
    let table = printed(&on(xml));
    assert!(
        table.contains("cost          20 ") && table.contains(summed),
        "{table}"
    );
    let text = fs::read_to_string(xml).unwrap();
    fs::write(
        xml,
        text.replace("OneWayLatencyInPicoseconds", "NUMALatency"),
    )
    .unwrap();
    let table = printed(&on(xml));
    assert!(
        table.contains("volume times cost of each pair, both directions"),
        "{table}"
    );
}

#[test]
fn the_cost_of_tasks_that_do_not_communicate_is_0() {
    let (_folder, paths) = files(&[("cores.csv", CORES), ("none.txt", "tasks 3\n")]);
    let [cores, none] = [&paths[0], &paths[1]].map(|path| path.to_str().unwrap());
    let on = [none, "--costs", cores];
    let table = printed(&on);
    assert!(table.contains("\ncost          0 "), "{table}");
    let csv = printed(&[&on[..], &["--format", "csv"]].concat());
    assert!(csv.contains(",3,4,0,0,0,"), "{csv}");
    let json = printed(&[&on[..], &["--format", "json"]].concat());
    assert!(!json.contains("-0"), "{json}");
}

#[test]
fn one_reader_takes_tables_for_costs_and_for_machines() {
    let half = ",,\n10,,\n40,40,\n\n";
    let (_folder, paths) = files(&[("half.csv", half), ("pair.txt", "0 1 1\n")]);
    let [table, graph] = [&paths[0], &paths[1]].map(|path| path.to_str().unwrap());
    let report = solve(&[graph, "--costs", table, "--format", "json"]).json();
    assert_eq!(result(&report, "cost"), 10.0);
    let run = Run::of(cellworks().args(["machine", table]));
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let printed = "Num cores: 2\n  0\n  1    40±0\n";
    let refusal = "this is the table that core-to-core-latency prints on a terminal; write one with \
                   `core-to-core-latency --csv > FILE`";
    refused(
        "0 1\n",
        ("printed.csv", printed),
        &format!("{{}}/printed.csv, line 1: {refusal}"),
    );
}

/// In 80 columns, each line except the last is too long to have room for the next word.
#[test]
fn the_exit_codes_in_the_help_fill_their_lines() {
    for command in [
        "map solve",
        "map ring",
        "stats",
        "run",
        "compare",
        "reproduce",
    ] {
        let help = cellworks()
            .args(command.split(' '))
            .arg("--help")
            .env("COLUMNS", "80")
            .output();
        let help = Run::from(help.unwrap()).out;
        let (_, codes) = help
            .split_once("Exit codes: ")
            .unwrap_or_else(|| panic!("{command}: {help}"));
        let lines: Vec<&str> = codes.trim_end().lines().collect();
        let first = lines[0].len() + "Exit codes: ".len();
        for (at, pair) in lines.windows(2).enumerate() {
            let length = if at == 0 { first } else { pair[0].len() };
            let next = pair[1].split(' ').next().unwrap().len();
            assert!(length <= 80 && length + 1 + next > 80, "{command}: {codes}");
        }
        assert!(lines.len() > 1, "{command}: {codes}");
    }
}

#[test]
fn patterns_that_cannot_be() {
    let (_folder, paths) = files(&[("costs.csv", "0,1,2\n1,0,2\n2,2,0\n")]);
    let costs = paths[0].display().to_string();
    solve(&["--pattern", "pairs", "--costs", &costs]).refused(
        "error: the pattern pairs with 3 tasks: it takes an even number of them; choose it with --tasks\n",
    );
    let refused = |arguments: &[&str], part: &str| {
        let run = solve(arguments);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
        assert!(run.err.contains(part), "{}", run.err);
    };
    refused(
        &["--pattern", "star", "--costs", &costs],
        "[possible values: ring, pairs, all-to-all, stencil, stencil3d, tree, butterfly]",
    );
    refused(&["--pattern", "ring"], "--costs <FILE>");
    refused(&["--costs", &costs], "<FILE>");
    let too_many = solve(&["--pattern", "ring", "--tasks", "4", "--costs", &costs]);
    assert_eq!(too_many.code, Some(2));
    assert!(
        too_many.err.starts_with("error: the pattern ring on "),
        "{}",
        too_many.err
    );
    assert!(
        too_many.err.contains("4 tasks do not fit on 3 places"),
        "{}",
        too_many.err
    );
}

/// A ring of eight tasks.
const RING_OF_8: [&str; 4] = ["--pattern", "ring", "--tasks", "8"];

#[test]
fn a_machine_of_nodes_is_described_in_one_line() {
    let machine = "node:2@1.8us package:2@120ns core:2@60ns";
    let run = [&RING_OF_8[..], &["--costs", machine, "--format", "json"]].concat();
    let report = solve(&run).json();
    // In each direction 4 pairs of cores, 2 pairs of packages and 2 pairs of nodes.
    assert_eq!(
        result(&report, "cost"),
        2.0 * (4.0 * 60.0 + 2.0 * 120.0 + 2.0 * 1800.0)
    );
    assert_eq!(report["problem"]["unit"], "ns");
    assert_eq!(report["nodes"], json!(["node 0", "node 1"]));
    assert_eq!(report["binding"], Value::Null);
    let placement = list(&report, "placement").iter();
    for (place, cpu) in placement.zip(list(&report, "cpus")) {
        let place = place.as_u64().unwrap();
        assert_eq!(
            *cpu,
            json!({"node": place / 4, "cpu": place % 4, "core": place % 4})
        );
    }
    assert_eq!(report["machine"]["spe_places"][5], "node 1 CPU 1");

    let text = printed(&[&RING_OF_8[..], &["--costs", machine]].concat());
    assert!(text.contains("\nnode 1: tasks "), "{text}");
    assert!(!text.contains("taskset --cpu-list"), "{text}");
    let csv = printed(&[&RING_OF_8[..], &["--costs", machine, "--format", "csv"]].concat());
    let nodes = csv.trim_end().rsplit(',').next().unwrap();
    assert_eq!(
        nodes.split(' ').filter(|node| *node == "1").count(),
        4,
        "{csv}"
    );

    let one = printed(&[&RING_OF_8[..], &["--costs", "package:2 core:2 pu:2"]].concat());
    assert!(one.contains("taskset --cpu-list 0-7 COMMAND"), "{one}");
    let tree = printed(&[&RING_OF_8[..], &["--costs", "tleaf 3 2 10 2 5 2 1"]].concat());
    // As many as above, at the costs of links, which add up: 4 * 1, 2 * 6 and 2 * 16, in each
    // direction.
    assert!(tree.contains("cost          96"), "{tree}");
    assert!(!tree.contains("CPU"), "{tree}");
}

#[test]
fn a_measured_node_is_repeated() {
    let (_folder, paths) = files(&[("node.csv", ",\n10,\n")]);
    let node = paths[0].to_str().unwrap();
    let of_two = |nodes: &[&'static str]| {
        let flags = [
            "--pattern",
            "ring",
            "--tasks",
            "4",
            "--costs",
            node,
            "--nodes",
        ];
        solve(&[&flags[..], nodes].concat())
    };
    let report = of_two(&["n01,n02", "--network", "1us", "--format", "json"]).json();
    assert_eq!(result(&report, "cost"), 2.0 * (2.0 * 10.0 + 2.0 * 1000.0));
    assert_eq!(report["nodes"], json!(["n01", "n02"]));
    assert_eq!(report["machine"]["spe_places"][3], "n02 CPU 1");
    assert_eq!(report["cpus"][0]["core"], Value::Null);
    let refused = |nodes: &[&'static str], message: &str| {
        let run = of_two(nodes);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{nodes:?}");
        assert!(run.err.contains(message), "{nodes:?}: {}", run.err);
    };
    refused(&["2"], "--network <COST>");
    refused(
        &["0", "--network", "1us"],
        "nodes are a number from 1 to 65536",
    );
    refused(&["a,b,a", "--network", "1us"], "a is named twice");
    refused(
        &["2", "--network", "1"],
        "--network: 1 has no unit, and the costs within a node have one, ns",
    );
    refused(
        &["2", "--network", "fast"],
        "--network: \"fast\" is no cost",
    );
}

#[test]
fn a_machine_that_cannot_be() {
    let refused = |costs: &[&str], message: &str| {
        let run = solve(&[&RING_OF_8[..], &["--costs"], costs].concat());
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{costs:?}");
        assert!(run.err.contains(message), "{costs:?}: {}", run.err);
    };
    refused(
        &["node:2 packet:4"],
        "--costs \"node:2 packet:4\": `packet` is no level of a computer",
    );
    refused(&["2 2"], "8 tasks do not fit on 4 places");
    refused(
        &["node:2 core:4", "--nodes", "2", "--network", "9"],
        "--nodes: the machine of --costs has nodes already",
    );
    refused(
        &["2 4", "--nodes", "2", "--network", "9"],
        "the places of --costs are no CPUs",
    );
    let command = ["node:2 core:4", "--", "true"];
    refused(&command, "the places of this problem are CPUs of several");
}

#[test]
fn the_worst_placement_and_what_is_known_are_shown() {
    // Three cores in a row: two neighbours cost 2, the ends 6.
    let (_folder, paths) = files(&[("row.csv", "0,1,3\n1,0,1\n3,1,0\n")]);
    let on = [
        "--pattern",
        "pairs",
        "--tasks",
        "2",
        "--costs",
        paths[0].to_str().unwrap(),
    ];
    let report = solve(&[&on[..], &["--format", "json"]].concat()).json();
    assert_eq!(result(&report, "worst"), 6.0);
    assert_eq!(report["quality"], "proven");
    // The worst placement, and the proof: all six placements were tried.
    let worst = &report["worst_placement"];
    assert!([json!([0, 2]), json!([2, 0])].contains(worst), "{worst}");
    assert_eq!(report["worst_proven"], true);
    let table = printed(&on);
    assert!(
        words(&table).contains("chosen badly 6 no placement costs more: 3.00 times as much"),
        "{table}"
    );
    assert!(
        table.contains("proven: nothing of the cost can be saved"),
        "{table}"
    );
    // A few exchanges say nothing of a problem whose bound is weak.
    let nug = solve(&[&data("nug12.dat"), "--time", "0", "--format", "json"]).json();
    assert_eq!(nug["quality"], "not_known");
    assert!(result(&nug, "worst") > result(&nug, "average"));
    assert_eq!(nug["worst_proven"], false);
    assert_eq!(list(&nug, "worst_placement").len(), 12);
    // Tasks in the order of the places, as launchers start them, and not at a forbidden one.
    let table = printed(&[&on[..], &["--forbid", "1"]].concat());
    let says = "in order 6 what the tasks cost in the order of the places: 1.00 times as much";
    assert!(words(&table).contains(says), "{table}");
}

#[test]
fn the_pairs_that_send_most_are_listed() {
    // Each of twelve tasks sends its number times ten to the next one, and the last one nothing.
    let graph: String = (1..12)
        .map(|task| format!("{} {task} {}\n", task - 1, task * 10))
        .collect();
    let (_folder, paths) = files(&[("graph.txt", &graph)]);
    let on = [
        paths[0].to_str().unwrap(),
        "--time",
        "0.1",
        "--costs",
        "node:2@2 core:6@1",
    ];
    let table = printed(&on);
    let (_, block) = table
        .split_once("Volumes: the 10 largest of 11 that tasks send to each other\n")
        .unwrap_or_else(|| panic!("{table}"));
    let rows: Vec<Vec<&str>> = block
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows[0], ["tasks", "volume", "places", "cost"]);
    assert_eq!(rows[1][..4], ["10", "to", "11", "110"]);
    assert_eq!(rows[10][..4], ["1", "to", "2", "20"]);
    assert_eq!(
        rows[1][4..9].concat().replace(char::is_numeric, ""),
        "nodeCPUto"
    );
    let report = solve(&[&on[..], &["--format", "json"]].concat()).json();
    assert_eq!(
        (&report["pairs"], list(&report, "heaviest").len()),
        (&json!(11), 10)
    );
    let heaviest = &report["heaviest"][0];
    assert_eq!(
        (&heaviest["from"], &heaviest["to"], &heaviest["volume"]),
        (&json!(10), &json!(11), &json!(110.0))
    );
    // The volumes of a pattern are known.
    assert!(!printed(&["--pattern", "ring", "--costs", "core:4"]).contains("Volumes:"));
}

#[test]
fn many_tasks_on_levels_take_no_matrix() {
    let machine = "rack:4@5us node:16@1.8us package:4@120ns core:16@30ns";
    let run = [
        "--pattern",
        "stencil3d",
        "--costs",
        machine,
        "--time",
        "0",
        "--format",
        "json",
    ];
    let report = solve(&run).json();
    assert_eq!(report["problem"]["tasks"], 4096);
    assert!(result(&report, "cost") < 0.5 * result(&report, "average"));
    assert!(result(&report, "bound") > 0.5 * result(&report, "cost"));
    assert!(result(&report, "worst") > result(&report, "average"));
    let refused = |flags: &[&str], message: &str| {
        let run = solve(flags);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
        assert!(run.err.contains(message), "{}", run.err);
    };
    let on = |pattern, costs| ["--pattern", pattern, "--costs", costs];
    refused(
        &[
            "--capacity",
            "2",
            "--pattern",
            "ring",
            "--costs",
            "node:1024 core:1024",
        ],
        "its places have room for 2097152 tasks, and 1048576 are allowed",
    );
    refused(
        &on("ring", "node:2048 core:1024"),
        "error: --costs \"node:2048 core:1024\": the machine has 2097152 places, each takes memory, and 1048576 are \
         allowed; describe a smaller machine",
    );
    refused(
        &on("all-to-all", "node:64 core:512"),
        "takes memory for each pair: 16384 are allowed",
    );
}

#[test]
fn a_stencil_of_16384_tasks_is_placed_on_five_levels() {
    let machine = "rack:4@5us node:8@1.8us package:8@120ns l3cache:8@60ns core:8@30ns";
    let on = ["--pattern", "stencil3d", "--costs", machine];
    let report = solve(&[&on[..], &["--time", "0.1", "--format", "json"]].concat()).json();
    assert_eq!(report["problem"]["tasks"], 16_384);
    let placement = list(&report, "placement").iter();
    let mut places: Vec<u64> = placement.map(|place| place.as_u64().unwrap()).collect();
    places.sort_unstable();
    assert_eq!(places, (0..16_384).collect::<Vec<u64>>());
    assert!(result(&report, "cost") < 0.2 * result(&report, "average"));
    assert!(result(&report, "bound") > 0.5 * result(&report, "cost"));
}

#[test]
fn one_cpu_of_each_core_takes_tasks() {
    let on = |machine: &str, more: &[&str]| {
        let pair = [
            "--pattern",
            "pairs",
            "--tasks",
            "2",
            "--costs",
            machine,
            "--format",
            "json",
        ];
        solve(&[&pair[..], more].concat())
    };
    let threads = "package:2 core:2 pu:2";
    assert_eq!(result(&on(threads, &[]).json(), "cost"), 2.0);
    let report = on(
        threads,
        &["--one-per-core", "--fix", "0=3", "--forbid", "0"],
    )
    .json();
    assert_eq!(report["problem"]["forbidden"], json!([0, 2, 5, 7]));
    assert_eq!(list(&report, "placement"), &[json!(3), json!(1)]);
    assert_eq!(result(&report, "cost"), 4.0);

    // `stats --matrix` names the cores. Here CPUs 0 and 2 are threads of one.
    let mut matrix = matrix_of_cpus([0, 1, 2, 3, 4, 5]);
    matrix["machine"]
        .as_object_mut()
        .unwrap()
        .remove("spe_cores")
        .unwrap();
    let (run, _) = solve_on(&matrix.to_string(), &["--one-per-core"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.err
            .contains("--one-per-core: the costs name no cores of CPUs"),
        "{}",
        run.err
    );
    matrix["machine"]["spe_cores"] = json!([0, 1, 0, 2, 3, 4]);
    let (run, _) = solve_on(&matrix.to_string(), &["--one-per-core", "--format", "json"]);
    assert_eq!(run.json()["problem"]["forbidden"], json!([2]));

    // hwloc's XML names them, too. Here CPUs 0 and 4 are threads of one.
    let core = |cpus: &[u32]| {
        let pu = |cpu: &u32| format!("<object type=\"PU\" os_index=\"{cpu}\"/>");
        let pus: String = cpus.iter().map(pu).collect();
        format!("<object type=\"Core\">{pus}</object>")
    };
    let xml = format!(
        "<topology version=\"2.0\"><object type=\"Machine\">{}{}</object><distances2 type=\"PU\" nbobjs=\"3\" \
         kind=\"6\" indexing=\"os\"><indexes length=\"5\">0 4 1</indexes><u64values length=\"17\">0 1 9 1 0 9 9 9 \
         0</u64values></distances2></topology>",
        core(&[0, 4]),
        core(&[1])
    );
    let (_folder, paths) = files(&[("machine.xml", &xml)]);
    let report = on(paths[0].to_str().unwrap(), &["--one-per-core"]).json();
    assert_eq!(report["problem"]["forbidden"], json!([1]));
    assert_eq!(result(&report, "cost"), 18.0);
}

#[test]
fn a_node_takes_fewer_tasks_than_it_has_cpus() {
    let machine = "node:2@1.8us package:2@120ns core:2@60ns";
    let ring = |tasks, more: &[&str]| {
        let on = ["--pattern", "ring", "--tasks", tasks, "--costs", machine];
        solve(&[&on[..], more].concat())
    };
    let json = |more: &[&str]| ring("4", &[more, &["--format", "json"]].concat()).json();
    // Without the flag all tasks are on one node.
    assert_eq!(result(&json(&[]), "cost"), 720.0);
    let report = json(&["--per-node", "2"]);
    assert_eq!(report["problem"]["forbidden"], json!([2, 3, 6, 7]));
    assert_eq!(result(&report, "cost"), 2.0 * (2.0 * 60.0 + 2.0 * 1800.0));
    let cpus = list(&report, "cpus").iter();
    let on_node = |node: u64| cpus.clone().filter(|cpu| cpu["node"] == node).count();
    assert_eq!([on_node(0), on_node(1)], [2, 2]);
    // What is applied follows.
    let text = ring("4", &["--per-node", "2"]).out;
    assert!(text.contains("--cpu-bind=map_cpu:0,1 "), "{text}");

    // The CPUs are near to those of --fix, and none is forbidden: CPU 2 is on the package of CPU 3.
    let report = json(&["--per-node", "2", "--fix", "0=3", "--forbid", "4"]);
    assert_eq!(report["problem"]["forbidden"], json!([0, 1, 4, 5]));
    // The nearest CPUs need not be the first.
    let table = "0,90,50\n90,0,90\n50,90,0\n";
    let (_folder, paths) = files(&[("node.csv", table)]);
    let node = paths[0].to_str().unwrap();
    let nodes = ["--nodes", "2", "--network", "1us", "--per-node", "2"];
    let pairs = ["--pattern", "pairs", "--tasks", "4", "--costs", node];
    let report = solve(&[&pairs[..], &nodes, &["--format", "json"]].concat()).json();
    assert_eq!(report["problem"]["forbidden"], json!([1, 4]));

    let refused = |run: Run, message: &str| {
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
        assert!(run.err.contains(message), "{}", run.err);
    };
    refused(
        ring("5", &["--per-node", "2"]),
        "5 tasks do not fit on 8 places (forbidden: 4; tasks on each other place: 1): allow more tasks a node \
         (--per-node), or use fewer tasks",
    );
    refused(
        ring("4", &["--per-node", "1", "--fix", "0=4,1=5"]),
        "error: --per-node: --fix has 2 places on node 1, which takes at most 1; fix fewer tasks there, or allow more",
    );
    refused(
        solve(&[&pairs[..], &["--per-node", "2"]].concat()),
        "error: --per-node: the places of --costs are not on several nodes; add --nodes and --network, or `node` in \
         --costs, or use fewer tasks",
    );
    refused(
        ring("4", &["--per-node", "2", "--capacity", "2"]),
        "cannot be used with",
    );
}

#[test]
fn a_tree_of_scotch_in_one_line_may_have_a_capital() {
    let tree = [
        "--pattern",
        "pairs",
        "--tasks",
        "2",
        "--costs",
        "Tleaf 2 2 10 2 1",
    ];
    let report = solve(&[&tree[..], &["--format", "json"]].concat()).json();
    assert_eq!(result(&report, "cost"), 2.0);
}

#[test]
fn the_page_shows_tasks_in_groups_before_and_after() {
    let page = |pattern: &str, costs: &str| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("page.html");
        let html = file.to_str().unwrap();
        printed(&[
            "--pattern",
            pattern,
            "--costs",
            costs,
            "--time",
            "0.1",
            "--html",
            html,
        ]);
        fs::read_to_string(&file).unwrap()
    };
    let small = page("ring", "node:2@1us package:2@100ns core:2@10ns");
    for part in [
        "aria-label=\"in the order of the places: cost ",
        "aria-label=\"as it was found: cost ",
        "data-hover=\"node 1\"",
        "data-hover=\"package 3\"",
        "data-hover=\"node 0 CPU 0: task ",
        // What it costs to choose badly.
        "chosen badly",
        "no placement costs more: ",
    ] {
        assert!(small.contains(part), "{part}: {small}");
    }
    assert!(small.contains(">1:3</text>"), "{small}");
    // More places than fit on a picture are drawn by level.
    let large = page("stencil", "node:4@1us package:2@100ns core:64@10ns");
    assert!(large.contains("data-hover=\"package 7: task "), "{large}");
    assert!(large.contains("data-hover=\"node 3\""), "{large}");
}

/// A path of three tasks in the format of Scotch, numbered from 1.
const SCOTCH: &str = "0\n3 4\n1 010\n1 7 2\n2 7 1 9 3\n1 9 2\n";

#[test]
fn files_of_scotch_are_read_and_written() {
    let (folder, paths) = files(&[
        ("path.grf", SCOTCH),
        ("tree.tgt", "tleaf 2 2 10 2 1\n"),
        ("scotch.map", "3\n1\t0\n2\t2\n3\t3\n"),
    ]);
    let [graph, target, mapping] = [0, 1, 2].map(|at| paths[at].to_str().unwrap());
    let run = solve(&[graph, "--costs", target, "--format", "json"]);
    let report = run.json();
    // Tasks 1 and 2 share a part, and task 0 is in the other one: links of both levels count.
    assert_eq!(result(&report, "cost"), 2.0 * (7.0 * 11.0 + 9.0));
    assert_eq!(report["cpus"], json!([]));
    let best = folder.path().join("best.json");
    fs::write(&best, run.out).unwrap();
    let best = best.to_str().unwrap();
    let places: Vec<u64> = list(&report, "placement")
        .iter()
        .map(|place| place.as_u64().unwrap())
        .collect();
    let expected = format!("3\n1\t{}\n2\t{}\n3\t{}\n", places[0], places[1], places[2]);
    let run = Run::of(cellworks().args(["map", "scotch", best, "--first", "1"]));
    assert_eq!((run.code, run.out), (Some(0), expected.clone()));

    let explain = |mapping: &str| {
        let problem = ["--problem", graph, "--costs", target, "--format", "json"];
        Run::of(
            cellworks()
                .args(["map", "explain", best, mapping])
                .args(problem),
        )
    };
    let report = explain(mapping).json();
    assert_eq!(result(&report, "cost_b"), 2.0 * (7.0 * 11.0 + 9.0));
    assert_eq!(report["placements"][1]["placement"], json!([0, 2, 3]));
    fs::write(mapping, "3\n1\t0\n2\t2\n3\t-1\n").unwrap();
    explain(mapping).refused(&format!(
        "error: {mapping}, line 4: task 3 has no place (-1)\n"
    ));
    Run::of(cellworks().args(["map", "scotch", "missing"])).refused(
        "error: missing: it is not the JSON of a placement, and there is no such file; name what `cellworks map solve` \
         printed with --format json\n",
    );
}

#[test]
fn a_matrix_of_volumes_is_solved() {
    let matrix = "0,9,1,1\n9,0,1,1\n1,1,0,9\n1,1,9,0\n";
    let (_folder, paths) = files(&[("volumes.csv", matrix), ("small.csv", "0,5\n5,0\n")]);
    let [file, small] = [0, 1].map(|at| paths[at].to_str().unwrap());
    let report = solve(&[file, "--costs", "package:2@10 core:2@1", "--format", "json"]).json();
    assert_eq!(result(&report, "cost"), 2.0 * 18.0 + 8.0 * 10.0);
    // What has two meanings is said.
    let run = solve(&[small, "--costs", "core:2", "--format", "json"]);
    assert_eq!(result(&run.json(), "cost"), 10.0);
    assert_eq!(
        run.err,
        format!(
            "warning: {small}: it is read as a matrix of 2 tasks; if it is a list of edges, begin it with `tasks N`\n"
        )
    );
    solve(&[file]).refused(&format!(
        "error: {file}: it has only volumes, which say nothing of places; name the costs between them with --costs\n"
    ));
    solve(&[file, "--costs", file, "--meant"]).refused(&format!(
        "error: {file}: there is no file of a rank of Open MPI's monitoring, such as NAME.0.prof\n"
    ));
}

/// A path of three tasks as a graph of METIS, with volumes 7 and 9.
const METIS: &str = "3 2 001\n2 7\n1 7 3 9\n2 9\n";

/// A path of three tasks in the format of Matrix Market, with volumes 7 and 9.
const MARKET: &str = "%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n2 1 7\n3 2 9\n";

#[test]
fn graphs_of_metis_and_matrices_of_matrix_market_are_tasks() {
    for (name, text) in [("path.graph", METIS), ("path.mtx", MARKET)] {
        let (_folder, paths) = files(&[(name, text)]);
        let file = paths[0].to_str().unwrap();
        let on = ["--costs", "package:2@10 core:2@1", "--format", "json"];
        let report = solve(&[&[file], &on[..]].concat()).json();
        assert_eq!(report["problem"]["tasks"], 3, "{name}");
        // Both directions of the smaller volume are between the packages.
        assert_eq!(result(&report, "cost"), 2.0 * (7.0 * 10.0 + 9.0), "{name}");
    }
}

#[test]
fn a_file_of_the_wrong_kind_is_named() {
    let tasks = "which has volumes: name it as the file with the tasks";
    for (graph, kind) in [
        (METIS, "a graph of METIS"),
        (SCOTCH, "a graph of Scotch"),
        (MARKET, "a matrix of Matrix Market"),
    ] {
        refused(
            "0 1\n",
            ("costs.txt", graph),
            &format!("{{}}/costs.txt, line 1: this is {kind}, {tasks}"),
        );
    }
    let cores = ("cores.csv", CORES);
    refused(
        "tleaf 2 2 10 2 1\n",
        cores,
        "{}/graph.txt, line 1: this is a target of Scotch, which has costs: name it with --costs",
    );
    refused(
        &MATRIX.to_string(),
        cores,
        "{}/graph.txt, line 1: this is JSON, which has no volumes: name what `stats --matrix` printed with --costs, and \
         what `map solve` printed in `map explain`",
    );
}

/// The file of a rank of Open MPI's monitoring, one of two, with the given lines between ranks and
/// of collectives.
fn of_rank(between: &str, collectives: &str) -> String {
    let sums = "O2A\t0\t0 bytes\t0 msgs sent\nA2O\t0\t0 bytes\t0 msgs sent\nA2A\t0\t0 bytes\t0 msgs sent\n";
    format!(
        "# POINT TO POINT\n{between}# OSC\n# COLLECTIVES\n{collectives}D\tMPI_COMM_WORLD\tprocs: 0,1\n{sums}"
    )
}

#[test]
fn files_of_open_mpi_that_do_not_mark_collectives_are_said() {
    // A broadcast of 40 bytes, which `pml_monitoring_enable 1` counts as a message of the program.
    let sent = "E\t0\t1\t540 bytes\t2 msgs sent\t1,1\n";
    let meant = "C\t0\t1\t40 bytes\t1 msgs sent\n";
    let (folder, _paths) = files(&[
        ("app.0.prof", &of_rank(sent, meant)),
        ("app.1.prof", &of_rank("", "")),
    ]);
    let name = folder.path().join("app").display().to_string();
    let on = [&name[..], "--costs", "core:2", "--format", "json"];
    let run = solve(&on);
    let unmarked =
        "no message is marked as one inside of a collective, as with `pml_monitoring_enable 1`";
    let warning = format!("{name}: {unmarked}: all messages count alike");
    assert_eq!(
        (run.code, run.err.as_str()),
        (Some(0), &*format!("warning: {warning}\n"))
    );
    let report = run.report();
    assert_eq!(report["environment"]["warnings"], json!([warning]));
    assert_eq!(result(&report, "cost"), 540.0);
    solve(&[&on[..], &["--meant"]].concat()).refused(&format!(
        "error: {name}: {unmarked}, so what the program meant cannot be told from it: measure with \
         `pml_monitoring_enable 2`\n"
    ));
}

#[test]
fn files_of_the_ranks_of_open_mpi_are_named_as_a_shell_does() {
    let message = "E\t0\t1\t500 bytes\t1 msgs sent\t0,1\nI\t0\t1\t40 bytes\t1 msgs sent\n";
    let silent = of_rank("", "");
    let (folder, paths) = files(&[
        ("app.0.prof", &of_rank(message, "")),
        ("app.1.prof", &silent),
        ("other.1.prof", &silent),
    ]);
    let [zero, one, other] = [0, 1, 2].map(|at| paths[at].to_str().unwrap());
    let name = folder.path().join("app").display().to_string();
    let pattern = format!("{name}.*.prof");
    let cost = |arguments: &[&str]| {
        let machine = ["--costs", "core:2", "--format", "json"];
        result(&solve(&[arguments, &machine].concat()).json(), "cost")
    };
    for named in [&[&name[..]][..], &[&pattern], &[one], &[zero, one]] {
        assert_eq!(cost(named), 540.0, "{named:?}");
    }
    assert_eq!(cost(&[&name, "--meant"]), 500.0);
    // The beginning of a name is none, and the run that it begins is named.
    let begin = &name[..name.len() - 1];
    solve(&[begin, "--costs", "core:2"]).refused(&format!(
        "error: {begin}: there is no such file, and there are the files app.*.prof of Open MPI's monitoring: name them \
         {name}\n"
    ));
    solve(&[zero, other, "--costs", "core:2"]).refused(&format!(
        "error: {other}: one file has all tasks, here {zero}; only the files that the ranks of one run of Open MPI's \
         monitoring have written can be several, such as NAME.0.prof and NAME.1.prof\n"
    ));
}

#[test]
fn a_search_on_levels_ends_if_nothing_can_be_exchanged() {
    let tasks = (0..299).map(|task| format!("{task}={task}"));
    let all_but_one = tasks.collect::<Vec<_>>().join(",");
    let all = format!("{all_but_one},299=299");
    for (fixed, last) in [(&all_but_one, 299), (&all, 299)] {
        let ring = [
            "--pattern",
            "ring",
            "--costs",
            "node:15@1000 core:20@10",
            "--fix",
            fixed,
            "--time",
            "60",
            "--format",
            "json",
        ];
        let report = solve(&ring).json();
        assert_eq!(list(&report, "placement").last(), Some(&json!(last)));
    }
}

#[test]
fn hwloc_takes_latencies_of_a_few_thousand_cpus() {
    let hwloc = |costs: &str| Run::of(cellworks().args(["map", "hwloc", costs]));
    assert!(
        hwloc("package:2@10ns core:4@5ns")
            .out
            .contains("OneWayLatencyInPicoseconds")
    );
    hwloc("package:2@10 core:4@5").refused(
        "error: package:2@10 core:4@5: its costs have no unit, and hwloc's XML has picoseconds; give each cost one, \
         such as 60ns\n",
    );
    hwloc("core:100000@1ns").refused(
        "error: core:100000@1ns: it has 100000 places, and hwloc's matrix has a number for each pair of them: 4096 places \
         are allowed\n",
    );
}

#[test]
fn the_network_has_one_cost() {
    let ring = ["--pattern", "ring", "--costs", "core:2@1ns", "--nodes", "2"];
    for network in ["1us core:4@2ns", "1.8 us", "1,8us"] {
        solve(&[&ring[..], &["--network", network]].concat()).refused(&format!(
            "error: --network: {network} is not one cost; write one, such as 1.8us\n"
        ));
    }
}
