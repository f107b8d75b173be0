//! `cellworks map explain` as a process.

use std::fs;

use serde_json::json;

use crate::common::{Run, cellworks, has_ratio, list};
use crate::map::{files, result};

fn explain(arguments: &[&str]) -> Run {
    Run::of(cellworks().args(["map", "explain"]).args(arguments))
}

/// A ring of 8 tasks on one Cell of a blade.
const ON_QS22: [&str; 6] = ["--pattern", "ring", "--tasks", "8", "--costs", "qs22"];

#[test]
fn two_mappings_to_a_cell_differ_in_the_links_that_they_load() {
    let mappings = ["[01234567]", "[02467531]"];
    let run = explain(&[&mappings[..], &ON_QS22].concat());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    for part in [
        "the pattern ring on qs22: 8 tasks, 16 places\n",
        "[02467531]: 0 7 1 6 2 5 3 4\n",
        "Pairs of tasks: 16 of 16 pairs differ\n",
        "\nlink from SPE 3 to SPE 5 ",
        "\ncontention of A ",
    ] {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    let report = explain(&[&mappings[..], &ON_QS22, &["--format", "json"]].concat()).json();
    assert_eq!(report["command"], "map explain");
    assert_eq!(
        result(&report, "difference"),
        result(&report, "cost_b") - result(&report, "cost_a")
    );
    // With A five lines cross the busiest segment, and with B six lines, in 2.5 ns each. A fiftieth
    // of the cost of the busiest task is added.
    for (name, lines, of_task) in [("contended_a", 5.0, 306.25), ("contended_b", 6.0, 303.75)] {
        let (is, expected) = (result(&report, name), lines * 2.5 + 0.02 * of_task);
        assert!((is - expected).abs() < 1e-6, "{name}: {is}");
    }
    // The order around the rings is: PPE, SPE 1, 3, 5, 7, two interfaces, SPE 6, 4, 2, 0, memory.
    let around = json!([1, 3, 5, 7, 6, 4, 2, 0, 9, 11, 13, 15, 14, 12, 10, 8]);
    assert_eq!(report["around"], around);
    let links = list(&report, "links");
    let named = |name: &str| links.iter().find(|link| link["name"] == name);
    let link = named("link from SPE 3 to SPE 5").unwrap();
    assert_eq!(
        (&link["load_a"], &link["load_b"]),
        (&json!(2.0), &json!(6.0))
    );
    // Each task sends to both neighbours, regardless of its place.
    let port = named("out of SPE 7").unwrap();
    assert_eq!(
        (&port["load_a"], &port["load_b"]),
        (&json!(2.0), &json!(2.0))
    );
    assert_eq!(named("into SPE 8"), None, "no task is on the other Cell");
}

#[test]
fn the_result_of_solve_is_compared_with_a_list() {
    let (folder, paths) = files(&[
        ("graph.txt", "0 1 100\n1 2 1\n"),
        ("cores.csv", "0,9,1\n9,0,9\n1,9,0\n"),
    ]);
    let [graph, costs] = [&paths[0], &paths[1]].map(|path| path.to_str().unwrap());
    let solved =
        Run::of(cellworks().args(["map", "solve", graph, "--costs", costs, "--format", "json"]));
    let best = folder.path().join("best.json");
    fs::write(&best, &solved.out).unwrap();
    let page = folder.path().join("why.html");
    let arguments = [
        "0,1,2",
        best.to_str().unwrap(),
        "--problem",
        graph,
        "--costs",
        costs,
        "--html",
        page.to_str().unwrap(),
        "--format",
        "csv",
    ];
    let run = explain(&arguments);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let first = run.out.lines().nth(1).unwrap();
    assert!(first.starts_with("0,1,100,CPU 0,CPU 1,CPU "), "{first}");
    assert!(first.ends_with(",900,100,-800"), "{first}");
    let page = fs::read_to_string(&page).unwrap();
    let assumed =
        "cores.csv names no CPUs, so its rows were taken for CPU 0 to CPU 2; --cpus-of-rows names";
    assert!(page.contains(assumed), "{page}");
    let costs = [&arguments[..6], &["--format"]].concat();
    let on = |more: &[&str]| explain(&[&costs[..], more].concat()).out;
    assert!(on(&["json"]).contains(assumed));
    let table = on(&["table"]).replace('\n', " ");
    assert!(table.contains(&format!("Assumed: {assumed}")), "{table}");
    let named = on(&["table", "--cpus-of-rows", "4,6,8"]);
    assert!(!named.contains("Assumed"), "{named}");
    assert!(page.contains("aria-label=\"A: 0,1,2\""), "{page}");
    assert!(!page.contains("http") && !page.contains("src="));
}

#[test]
fn two_explanations_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["[02467531]", "[01357642]"].map(|mapping| {
        let run = explain(
            &[
                &["[01234567]", mapping],
                &ON_QS22[..],
                &["--format", "json"],
            ]
            .concat(),
        );
        let path = folder.path().join(mapping);
        fs::write(&path, run.out).unwrap();
        path
    });
    assert!(has_ratio(&paths, "cost_b"));
}

#[test]
fn placements_that_cannot_be() {
    let refused = |placements: [&str; 2], message: &str| {
        explain(&[&placements[..], &ON_QS22].concat()).refused(&format!("error: {message}\n"));
    };
    let identity = "0,1,2,3,4,5,6,7";
    refused(
        [identity, "0,1,2"],
        "0,1,2: the placement has 3 places for 8 tasks: name one place for each task",
    );
    refused(
        [identity, "0,1,2,3,4,5,6,16"],
        "0,1,2,3,4,5,6,16: place 16 is unknown: the problem has 16 places, numbered from 0",
    );
    refused(
        ["[01234566]", identity],
        "[01234566] is no mapping of 8 tasks to 8 SPEs: it has task 6 on SPE 6 and on SPE 7; name each task once",
    );
    refused(
        [identity, "best.json"],
        "best.json: it is no list of places, such as 0,2,4, and no mapping, such as [021], and there is no such file; \
         name what `cellworks map solve` printed with --format json",
    );
    let (_folder, paths) = files(&[("rankfile", "rank 0=n01 slot=1\nrank 1=n02 slot=0\n")]);
    let rankfile = paths[0].to_str().unwrap();
    refused(
        [identity, rankfile],
        &format!(
            "{rankfile}: it is no placement; name the JSON of `map solve`, a mapping of Scotch, the places of task 0, task \
             1 and so on, such as 0,2,1, or the tasks of place 0, place 1 and so on, such as [021]"
        ),
    );
    let run = explain(&[identity, identity, "--pattern", "ring"]);
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
    assert!(run.err.contains("--costs <FILE>"), "{}", run.err);
    let run = explain(&[identity, identity, "--costs", "qs22"]);
    assert!(run.err.contains("--problem <FILE>"), "{}", run.err);
}

#[test]
fn the_constraints_of_solve_change_nothing() {
    let placements = ["0,0,1,1,2,2,3,3", "0,1,2,3,4,5,6,7"];
    let on = [&placements[..], &ON_QS22].concat();
    let constraints = ["--capacity", "2", "--forbid", "8-15", "--forbid", "7"];
    let more = ["--fix", "0=0", "--one-per-core", "--per-node", "4"];
    let run = explain(&[&on[..], &constraints, &more].concat());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    assert_eq!(run.out, explain(&on).out);
}

#[test]
fn a_report_without_a_placement_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ring.json");
    let ran = Run::of(
        cellworks()
            .args(["map", "ring", "--machine", "ps3", "--tasks", "3"])
            .args(["--format", "json"]),
    );
    fs::write(&path, ran.out).unwrap();
    let name = path.to_str().unwrap();
    explain(&[&["[01234567]", name], &ON_QS22[..]].concat()).refused(&format!(
        "error: {name}: `cellworks map ring` printed it, and it has no placement; name what `cellworks map solve` \
         printed with --format json\n"
    ));
}

#[test]
fn costs_are_those_of_a_described_machine() {
    let solve = |costs: &str| {
        let mut command = cellworks();
        command.args([
            "map",
            "solve",
            "--pattern",
            "ring",
            "--time",
            "0.2",
            "--format",
            "json",
        ]);
        Run::of(command.args(["--costs", costs]))
    };
    let built_in = solve("ps3").json();
    assert_eq!(built_in["problem"]["places"], 6);
    assert_eq!(built_in["machine"]["spe_places"][5], "SPE 5");
    let described = Run::of(cellworks().args(["machines", "ps3"]));
    let (_folder, paths) = files(&[("mine.toml", &described.out), ("wrong.toml", "name = 1\n")]);
    let [mine, wrong] = [&paths[0], &paths[1]].map(|path| path.to_str().unwrap());
    let of_file = solve(mine).json();
    assert_eq!(result(&of_file, "cost"), result(&built_in, "cost"));
    let refused = solve(wrong);
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""));
    assert!(
        refused.err.starts_with("error: --costs: "),
        "{}",
        refused.err
    );
}
