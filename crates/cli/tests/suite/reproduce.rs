//! `cellworks reproduce` as a process, with a paper that takes little time to simulate. The tests
//! of the library simulate other papers.

use std::fs;

use crate::common::{Run, cellworks, list};
use cellworks_reproduce::Paper;
use serde_json::{Value, json};

fn reproduce(arguments: &[&str]) -> Run {
    Run::of(cellworks().arg("reproduce").args(arguments))
}

/// The output of a command that succeeds without a message.
#[track_caller]
fn printed(arguments: &[&str]) -> String {
    let run = reproduce(arguments);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{arguments:?}");
    run.out
}

#[test]
fn a_table_of_published_and_simulated_numbers() {
    let table = printed(&["cellmt", "--quiet"]);
    assert!(!table.contains('\u{1b}'), "styles in a pipe");
    for part in [
        "Derived\n",
        "Predictions\n",
        "Not simulated\n",
        "context switch",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
}

#[test]
fn json_agrees_with_the_schema_and_names_numbers_kept_back() {
    let run = reproduce(&["cellmt", "--format", "json"]);
    let report = run.json();
    assert_eq!(report["command"], "reproduce");
    assert_eq!(report["machine"]["kind"], "simulated");
    let results = list(&report, "results");
    let kept: Vec<&Value> = results.iter().filter(|r| r["kept_back"] == true).collect();
    assert_eq!(kept.len(), 1);
    for result in kept {
        assert_eq!(result["published"], json!(null), "{result}");
    }
    assert_eq!(report["summary"]["predictions"], 1);
}

#[test]
fn csv_has_a_line_for_each_number() {
    let csv = printed(&["cellmt", "--format", "csv", "--quiet"]);
    let json = reproduce(&["cellmt", "--format", "json"]).json();
    assert_eq!(csv.lines().count(), 1 + list(&json, "results").len());
}

#[test]
fn numbers_are_simulated_and_predicted() {
    let report = reproduce(&["cellmt", "--format", "json"]).json();
    let number = |name: &str| {
        let mut results = list(&report, "results").iter();
        results.find(|result| result["name"] == name).unwrap()
    };
    assert!(number("switch")["error_percent"].as_f64().unwrap().abs() < 5.0);
    let predicted = number("get-16-spes");
    assert_eq!(
        (&predicted["kept_back"], &predicted["published"]),
        (&json!(true), &json!(null))
    );
    assert!(predicted["value"].as_f64().unwrap() > 0.0);
}

#[test]
fn the_page_is_one_file_that_loads_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    printed(&["cellmt", "--quiet", "--html", path.to_str().unwrap()]);
    let page = fs::read_to_string(&path).unwrap();
    assert!(page.contains("Cooperative Multithreading on the Cell/B.E., simulated"));
    assert!(!page.contains("http") && !page.contains("src="));
}

#[test]
fn an_unknown_paper() {
    reproduce(&["cellstat"]).refused(&format!(
        "error: invalid value 'cellstat' for '[PAPER]'\n  [possible values: {}]\n\n  tip: a similar value \
         exists: 'cellstats'\n\nFor more information, try '--help'.\n",
        Paper::names().join(", ")
    ));
}

#[test]
fn a_page_that_cannot_be_written_is_refused_before_anything_is_simulated() {
    let run = reproduce(&["--html", "/nowhere/page.html"]);
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
    assert!(
        run.err
            .starts_with("error: --html: /nowhere/page.html cannot be written"),
        "{}",
        run.err
    );
}
