//! `cellworks map` as a process.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Run, cellworks, list};
use serde_json::{Value, json};

/// A file of the tests of the crate `mapping`.
fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mapping/tests/data");
    path.join(name).display().to_string()
}

fn solve(arguments: &[&str]) -> Run {
    Run::of(cellworks().args(["map", "solve"]).args(arguments))
}

/// What it prints that ends well and says nothing else.
#[track_caller]
fn printed(arguments: &[&str]) -> String {
    let run = solve(arguments);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{arguments:?}");
    run.out
}

fn result(report: &Value, name: &str) -> f64 {
    let mut results = list(report, "results").iter();
    let found = results.find(|result| result["name"] == name);
    found.unwrap_or_else(|| panic!("{name}: {report}"))["value"]
        .as_f64()
        .unwrap()
}

/// Files with these names and texts in a folder of their own.
fn files(of: &[(&str, &str)]) -> (tempfile::TempDir, Vec<PathBuf>) {
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
    // Its places are no CPUs.
    assert_eq!(report["binding"], json!(null));
}

#[test]
fn a_table_and_csv() {
    let file = data("nug12.dat");
    let table = printed(&[&file, "--time", "0.5"]);
    assert!(!table.contains('\u{1b}'), "styles in a pipe");
    for part in [
        ": 12 tasks, 12 places\n",
        "cost          578\n",
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
    let run = Run::of(
        cellworks()
            .arg("compare")
            .args(&paths)
            .args(["--format", "json"]),
    );
    let report = run.report();
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let results = list(&report, "results");
    assert!(
        results.iter().any(|ratio| ratio["name"] == "cost"),
        "{report}"
    );
}

#[test]
fn a_wrong_qaplib_file_is_named_with_line_and_rule() {
    let (_folder, paths) = files(&[("wrong.dat", "2\n0 1 1 0\n0 -1 1 0\n")]);
    let file = paths[0].to_str().unwrap();
    solve(&[file]).refused(&format!(
        "error: {file}, line 3: \"-1\" stands where a finite number of 0 or more has to be\n"
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
             tasks a place (`capacity`), or use fewer tasks"
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
        &["--fix", "3"],
        "invalid value '3' for '--fix <TASK=PLACE>': name a task and its place, such as 0=3\n\nFor more \
         information, try '--help'.",
    );
}
