//! The command at a terminal: closed pipes, messages, the progress bar, and Ctrl-C.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::process::{Command, Stdio};

use crate::common::terminal::{
    interrupt, read_all, read_until, terminal, terminal_of, wait_for_handler,
};
use crate::common::tree::{Shape, Tree};
use crate::common::{Run, list, stats_command};
use serde_json::Value;

fn cellworks(arguments: &str) -> Command {
    let mut command = stats_command(arguments);
    command.env("TERM", "xterm");
    command
}

/// The command `cellworks run` with the given arguments, not yet started.
fn program(arguments: &str) -> Command {
    let mut command = crate::common::cellworks();
    command.arg("run").args(arguments.split_whitespace());
    command.env("TERM", "xterm");
    command
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = cellworks("-f mailbox -i 10")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let run = Run::from(child.wait_with_output().unwrap());
    let warnings = run.measured();
    assert!(
        warnings.lines().all(|line| line.starts_with("warning: ")),
        "{warnings}"
    );
}

#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = cellworks("-f mailbox -i 10 --quiet")
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let err = String::from_utf8(output.stderr).unwrap();
    // If the computer is busy, a message about trust precedes this message.
    assert!(
        err.ends_with(
            "error: the result could not be written: No space left on device (os error 28); print \
             it to a disk that has room\n"
        ),
        "{err}"
    );
}

/// If a warning cannot be written, the command measures all the same.
#[test]
fn warnings_that_cannot_be_written_change_nothing() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = cellworks("-f mailbox -i 10").stderr(full).output().unwrap();
    // On a busy computer the exit code is 3. For an impossible number it would be 1.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.contains("\nmailbox: "), "{out}");
}

#[test]
fn ctrl_c_ends_it_with_130() {
    let child = cellworks("--quiet")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_handler(&child);
    interrupt(&child);
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!((run.code, run.err.as_str()), (Some(130), ""));
    for text in ["Not complete", "Not measured", "interrupted"] {
        assert!(run.out.contains(text), "{text}: {}", run.out);
    }
}

/// Runs a command on a terminal, and presses Ctrl-C when the terminal has shown one of `texts`.
/// Returns the JSON, which is marked as incomplete, and everything that was shown.
#[track_caller]
fn interrupted(mut command: Command, texts: &[&str]) -> (Value, String) {
    let (mut person, terminal) = terminal();
    // The JSON goes to a file, because the test does not read a pipe during the run.
    let json = tempfile::NamedTempFile::new().unwrap();
    command.stdout(json.reopen().unwrap()).stderr(terminal);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut shown = read_until(&mut person, texts);
    interrupt(&child);
    shown += &read_all(person);
    let run = Run {
        code: child.wait().unwrap().code(),
        out: std::fs::read_to_string(&json).unwrap(),
        err: String::new(),
        is_foreign: false,
    };
    assert_eq!(run.code, Some(130), "{shown:?}");
    let report = run.report();
    assert_eq!(report["complete"], false);
    (report, shown)
}

/// The measurement of everything is interrupted after its first measurements. The finished
/// measurements are printed and on the page, and the others are named.
#[test]
fn ctrl_c_in_the_middle_keeps_what_was_finished() {
    let folder = tempfile::tempdir().unwrap();
    let html = folder.path().join("p.html");
    let mut command = cellworks("--format json --html");
    command.arg(&html);
    // One of these texts appears when the third function or a later one is measured.
    let (report, shown) = interrupted(command, &["signal, ", "dmaget ", "dmaput "]);
    let measured = list(&report, "measurements");
    let functions: Vec<_> = measured.iter().map(|one| &one["function"]).collect();
    assert!(functions.len() >= 2, "{functions:?}");
    assert_eq!(functions[0], "mkthread");
    assert!(functions.contains(&&"mailbox".into()), "{functions:?}");
    let left = list(&report, "not_measured");
    let interrupted = left.iter().filter(|left| left["why"] == "interrupted");
    assert!(interrupted.count() > 20, "{left:?}");
    let page = std::fs::read_to_string(&html).unwrap();
    for text in ["Not complete", "mkthread", "interrupted"] {
        assert!(page.contains(text), "{text}");
    }

    assert!(shown.contains("mkthread, 1 CPU"), "{shown:?}");
    let last = shown.lines().last().unwrap();
    assert!(
        last.contains("interrupted: ") && last.contains(" measurements were finished"),
        "{shown:?}"
    );
    is_clean(&shown);
}

/// A program with hundreds of runs is interrupted after the first two. The finished runs are
/// printed and on the page, and the others are named.
#[test]
fn ctrl_c_between_runs_of_a_program_keeps_those_that_were_finished() {
    let folder = tempfile::tempdir().unwrap();
    let html = folder.path().join("p.html");
    let mut command = program(
        "aes --machine qs20 --bytes 64k --block 512 --spes 1-16 --threads 1-60 --format json --html",
    );
    command.arg(&html);
    let (report, shown) = interrupted(command, &[" threads, 1 SPE"]);
    let results = list(&report, "results");
    let bandwidths = results
        .iter()
        .filter(|result| result["name"] == "bandwidth");
    let finished = bandwidths.count();
    assert!(finished >= 2, "{results:?}");
    assert_eq!(results[0]["parameters"]["buffering"], "single");
    let left = list(&report, "not_measured");
    assert_eq!(finished + left.len(), 16 * 62);
    assert!(
        left.iter().all(|left| left["why"] == "interrupted"),
        "{left:?}"
    );
    let page = std::fs::read_to_string(&html).unwrap();
    for text in ["Not complete", "aes, 60 threads, 16 SPEs", "interrupted"] {
        assert!(page.contains(text), "{text}");
    }

    let last = shown.lines().last().unwrap();
    let expected = format!("interrupted: {finished} of 992 runs were finished");
    assert!(last.contains(&expected), "{shown:?}");
    is_clean(&shown);
}

/// The fourth run computes for an hour, so the thread of Ctrl-C prints the first three results.
#[test]
fn ctrl_c_in_the_middle_of_a_run_does_not_wait_for_it() {
    let command =
        program("overlap --bytes 16m --threads 2 --cycles-per-byte 1000000 --format json");
    let (report, shown) = interrupted(command, &["3/6"]);
    let results = list(&report, "results").iter();
    let ways: Vec<_> = results
        .filter(|result| result["name"] == "taken")
        .map(|result| &result["parameters"]["buffering"])
        .collect();
    assert_eq!(ways, ["single", "double", "threads"]);
    assert_eq!(list(&report, "not_measured").len(), 3);
    assert!(
        shown.contains("interrupted: 3 of 6 runs were finished"),
        "{shown:?}"
    );
    is_clean(&shown);
}

/// Thousands of simulations are interrupted, most of them for the curves of a page. The finished
/// simulations are in the report, and the comparisons without a result are named.
#[test]
fn ctrl_c_in_a_reproduction_keeps_the_simulations_that_were_finished() {
    let folder = tempfile::tempdir().unwrap();
    let html = folder.path().join("p.html");
    let mut command = crate::common::cellworks();
    command
        .args(["reproduce", "--format", "json", "--html"])
        .arg(&html);
    command.env("TERM", "xterm");
    // The first number that the bar shows can be any number above 0.
    let (report, shown) = interrupted(command, &["1/", "2/", "3/", "4/", "5/", "6/", "7/"]);
    assert_eq!(report["trust"]["trustworthy"], true);
    let missing = list(&report, "results")
        .iter()
        .filter(|result| result["not_simulated"] == "the run ended before");
    assert!(missing.count() > 0, "{report}");
    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.contains("Not complete"), "{page}");
    let last = shown.lines().last().unwrap();
    assert!(
        last.contains("interrupted: ") && last.contains(" simulations were finished"),
        "{shown:?}"
    );
    is_clean(&shown);
}

/// A search shows its present cost. If it is interrupted, it prints the best placement.
#[test]
fn ctrl_c_in_a_search_keeps_the_best_placement() {
    let folder = tempfile::tempdir().unwrap();
    let html = folder.path().join("p.html");
    let problem = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../mapping/tests/data/nug30.dat"
    );
    let mut command = crate::common::cellworks();
    command.args([
        "map", "solve", problem, "--time", "3600", "--format", "json",
    ]);
    command.arg("--html").arg(&html).env("TERM", "xterm");
    let (report, shown) = interrupted(command, &["/3600  cost "]);
    let results = list(&report, "results");
    let cost = results.iter().find(|result| result["name"] == "cost");
    assert!(cost.unwrap()["value"].as_f64().unwrap() >= 6_124.0);
    assert_eq!(list(&report, "placement").len(), 30);
    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.contains("Not complete"), "{page}");
    assert!(
        shown.contains("interrupted: 0 of 1 searches were finished"),
        "{shown:?}"
    );
    is_clean(&shown);
}

/// An interrupted matrix of 2016 pairs has the pairs that were measured before Ctrl-C.
#[test]
fn ctrl_c_in_a_matrix_keeps_the_pairs_measured_so_far() {
    let shape = Shape {
        sockets: 2,
        cells: 2,
        cores: 8,
        threads: 2,
    };
    let tree = Tree::new(shape, "A processor of 64 CPUs");
    let mut command = cellworks("--matrix mailbox --full --format json");
    command.env("CELLWORKS_FSROOT", tree.root());
    // When the bar shows the number of all pairs, at least one pair has been measured.
    let (report, shown) = interrupted(command, &["/2016 "]);
    let matrix = &report["matrices"][0];
    let measured = matrix["pairs_measured"].as_u64().unwrap();
    assert_eq!(matrix["pairs"], 2016);
    assert!((1..2016).contains(&measured), "{measured}");
    let rows = list(matrix, "one_way_ns").iter();
    let times = rows.flat_map(|row| row.as_array().unwrap());
    assert_eq!(
        times.filter(|time| time.is_f64()).count() as u64,
        2 * measured
    );
    is_clean(&shown);
}

/// Asserts that the bar was removed and the cursor is visible.
#[track_caller]
fn is_clean(shown: &str) {
    let shown_again = shown.rfind("\x1b[?25h");
    assert!(
        shown.rfind("\x1b[?25l") <= shown_again,
        "a hidden cursor: {shown:?}"
    );
    let after_clearing = shown.rsplit("\x1b[2K").next().unwrap();
    let is_message = |line: &str| line.trim().is_empty() || line.contains("warning:");
    assert!(after_clearing.lines().all(is_message), "{shown:?}");
}

#[test]
fn a_terminal_is_left_clean_by_a_run_that_ends() {
    let (person, program) = terminal();
    let mut command = cellworks("-f mkthread -n 1");
    command.stdout(Stdio::null()).stderr(program);
    let mut child = command.spawn().unwrap();
    drop(command);
    let shown = read_all(person);
    assert!(shown.contains("mkthread, 1 CPU"), "{shown:?}");
    let (bar, after_clearing) = shown.rsplit_once("\x1b[2K").unwrap();
    let run = Run {
        code: child.wait().unwrap().code(),
        out: String::new(),
        err: anstream::adapter::strip_str(after_clearing)
            .to_string()
            .replace('\r', ""),
        is_foreign: false,
    };
    assert_eq!(run.measured().trim(), "", "{bar:?}");
}

#[test]
fn the_first_result_of_each_function_is_shown_during_the_run() {
    let (person, program) = terminal_of(80);
    let mut command = cellworks("-f mkthread -f mailbox");
    command.stdout(Stdio::null()).stderr(program);
    let mut child = command.spawn().unwrap();
    drop(command);
    let shown = anstream::adapter::strip_str(&read_all(person)).to_string();
    assert!(
        matches!(child.wait().unwrap().code(), Some(0 | 3)),
        "{shown:?}"
    );
    let lines = shown.split(['\r', '\n']).map(str::trim);
    let results: Vec<&str> = lines.filter(|line| line.ends_with(" so far")).collect();
    let begins = results.iter().map(|line| line.split(": ").next().unwrap());
    assert_eq!(
        begins.collect::<Vec<_>>(),
        ["mkthread, 1 CPU", "mailbox, 1 CPU"],
        "{shown:?}"
    );
}

#[test]
fn progress_fits_a_narrow_terminal() {
    const COLUMNS: usize = 40;
    let (person, program) = terminal_of(COLUMNS as u16);
    let mut command = cellworks("--machine ps3 -f mailbox -f dmaget -f fetchadd -f mkthread");
    command.stdout(Stdio::null()).stderr(program);
    let mut child = command.spawn().unwrap();
    drop(command);
    let shown = read_all(person);
    assert_eq!(child.wait().unwrap().code(), Some(0), "{shown:?}");
    let mut bars = 0;
    for part in shown.split(['\r', '\n']) {
        let text = anstream::adapter::strip_str(part).to_string();
        bars += usize::from(text.contains("/4 "));
        assert!(text.trim_end().chars().count() <= COLUMNS, "{text:?}");
    }
    assert!(bars > 0, "{shown:?}");
}

#[test]
fn quiet_shows_nothing_on_a_terminal() {
    let (person, program) = terminal();
    let mut command = cellworks("-f mkthread --quiet");
    command.stdout(Stdio::null()).stderr(program);
    let mut child = command.spawn().unwrap();
    drop(command);
    let run = Run {
        err: anstream::adapter::strip_str(&read_all(person))
            .to_string()
            .replace('\r', ""),
        out: String::new(),
        code: child.wait().unwrap().code(),
        is_foreign: false,
    };
    assert_eq!(run.measured(), "");
}

#[test]
fn messages_fit_a_narrow_terminal_and_their_examples_stay_whole() {
    const COLUMNS: usize = 40;
    let (person, program) = terminal_of(COLUMNS as u16);
    let mut command = cellworks("--machine qs20 -f dmaget -b 1g -n 2");
    command.stdout(Stdio::null()).stderr(program);
    let mut child = command.spawn().unwrap();
    drop(command);
    let shown = anstream::adapter::strip_str(&read_all(person)).to_string();
    assert_eq!(child.wait().unwrap().code(), Some(2), "{shown:?}");
    let shown = shown.replace('\r', "");
    assert_eq!(
        shown,
        "error: -b: a block of 1 GB: here a block\n  has at most 64 MB; use 64m\n  example: cellworks stats \
         --machine qs20 -f dmaget -b 1k\n"
    );
}
