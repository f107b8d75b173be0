//! Messages about wrong arguments, by kind. Each message names a valid value.

use std::fs;

use crate::common::{Run, cellworks};

/// Asserts the message with which each command line is refused, in a folder with `files`.
#[track_caller]
fn refused(files: &[(&str, &str)], cases: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    for (words, message) in cases {
        let mut command = cellworks();
        command
            .current_dir(folder.path())
            .args(words.split_whitespace());
        Run::of(&mut command).refused(&format!("error: {message}\n"));
    }
}

/// The message about a value that a flag does not accept.
fn value(value: &str, flag: &str, why: &str) -> String {
    format!("invalid value '{value}' for '{flag}': {why}\n\nFor more information, try '--help'.")
}

const COUNTS: &str =
    "counts are whole numbers, with k for 1,000, m for 1,000,000 or g for 1,000,000,000";
const SIZES: &str = "sizes are whole bytes, with k, KB or KiB for 1,024, and so on for m and g";

#[test]
fn errors_of_lists_have_the_syntax() {
    const LIST: &str = "a list has values and ranges with commas between, such as";
    let counts = format!("{COUNTS}; {LIST} 1,2,4-8");
    let sizes = format!("{SIZES}; {LIST} 128,1k-16k");
    let orders = format!("orders are whole numbers, with k for 1,024; {LIST} 512,1k-4k");
    let cycles = format!("cycles are numbers from 0 on; {LIST} 0.1-10,11.7");
    let forbidden =
        "places are numbers and ranges with commas between, such as 0,5 or 96-191".to_owned();
    let fixed = "it is a task, = and its place, both whole numbers from 0 on, with commas between several, such as \
                 0=3,1=2";
    refused(
        &[],
        &[
            (
                "run switch --machine ps3 --threads 1,,2",
                &value("1,,2", "--threads <LIST>", &counts),
            ),
            (
                "run switch --machine ps3 --threads 1;2",
                &value("1;2", "--threads <LIST>", &counts),
            ),
            (
                "run aes --machine ps3 --bytes 16q",
                &value("16q", "--bytes <LIST>", &sizes),
            ),
            (
                "map ring --machine ps3 --packet 1k..2k",
                &value("1k..2k", "--packet <LIST>", &sizes),
            ),
            (
                "run dma-latency --machine ps3 --sizes x",
                &value("x", "--sizes <LIST>", &sizes),
            ),
            (
                "run knn --machine ps3 --points -1",
                &value("-1", "--points <LIST>", &counts),
            ),
            (
                "run lu --machine ps3 --size 1.5k",
                &value("1.5k", "--size <LIST>", &orders),
            ),
            (
                "run overlap --machine ps3 --cycles-per-byte x",
                &value("x", "--cycles-per-byte <LIST>", &cycles),
            ),
            (
                "run lookup --machine ps3 --method plain,none",
                "invalid value 'none' for '--method <LIST>'\n  [possible values: plain, prefetch, interleave]\n\n  \
                 tip: a list has values with commas between, such as plain,prefetch\n\nFor more information, try \
                 '--help'.",
            ),
            (
                "map ring --machine ps3 --mapping 0",
                "--mapping: [0] is no mapping of 6 tasks to 6 SPEs: it names 1; name the task of each SPE, and `-` for \
                 none, such as [012345]",
            ),
        ],
    );
    for wrong in ["x", "-1", "1-0", "0-", "1;2", "0,,1"] {
        let message = value(wrong, "--forbid <PLACES>", &forbidden);
        refused(
            &[],
            &[(&format!("map solve problem.dat --forbid {wrong}"), &message)],
        );
    }
    for wrong in ["x", "0:3", "0=x", "x=0", "-1=0"] {
        let message = value(wrong, "--fix <TASK=PLACE>", fixed);
        refused(
            &[],
            &[(&format!("map solve problem.dat --fix {wrong}"), &message)],
        );
    }
    for wrong in ["x", "0-", "3-1", "1,,2"] {
        let cpus = "CPUs are numbers and ranges with commas between; use 2,5 or 0-3";
        let message = value(wrong, "--cpus <CPUS>", cpus);
        for command in ["stats", "machine", "run switch --threads 1"] {
            refused(&[], &[(&format!("{command} --cpus {wrong}"), &message)]);
        }
    }
}

#[test]
fn errors_of_counts_have_an_example() {
    for (words, name, example) in [
        ("stats -f chase -k", "CHAINS", "8"),
        ("stats -f chase --load", "SPES", "1"),
        ("stats -f dmaget -n", "SPES", "2"),
        ("stats -f dmaget -N", "SPES", "2"),
        ("stats -f dmaget -i", "ITERATIONS", "10k"),
        ("map solve problem.dat --capacity", "TASKS", "1"),
        (
            "map solve --pattern stencil --costs c.csv --tasks",
            "TASKS",
            "4",
        ),
        ("map ring --tasks", "TASKS", "8"),
        ("map ring --spes", "SPES", "8"),
        ("map ring --sample", "MAPPINGS", "100"),
        ("map ring --runs", "RUNS", "3"),
        ("map ring --rounds", "ROUNDS", "50"),
    ] {
        let flag = words.split_whitespace().last().unwrap_or_default();
        for wrong in ["x", "-1", "1.5"] {
            let why = format!("{COUNTS}; use {example}");
            let message = value(wrong, &format!("{flag} <{name}>"), &why);
            refused(&[], &[(&format!("{words} {wrong}"), &message)]);
        }
    }
    let pages = value("x", "--pages <BYTES>", &format!("{SIZES}; use 4k"));
    refused(&[], &[("stats -f dmaget --pages x", &pages)]);
}

#[test]
fn files_that_are_no_machine() {
    let write = "write one: cellworks machines qs20 > mine.toml";
    let toml = "(note.txt:1: no TOML: key with no value, expected `=`)";
    let note = format!("note.txt is no description of a machine {toml}; {write}");
    let folder = format!("folder is no file, and so no description of a machine; {write}");
    let input =
        "a machine is read more than once, so it cannot be standard input; write it to a file";
    refused(
        &[("note.txt", "not a machine\n")],
        &[
            ("machines note.txt", &note),
            ("machines folder", &folder),
            (
                "stats --machine note.txt -f dmaget",
                &format!("--machine: {note}"),
            ),
            (
                "run switch --threads 1 --machine folder",
                &format!("--machine: {folder}"),
            ),
            ("map ring --machine -", &format!("--machine: {input}")),
        ],
    );
}

#[test]
fn seeds() {
    let rule = "a seed is a whole number from 0 to 18446744073709551615; use 1";
    for wrong in ["x", "-1", "1.5", "18446744073709551616"] {
        let message = value(wrong, "--seed <NUMBER>", rule);
        for command in [
            "stats --machine qs20 -f dmaget",
            "run switch --machine qs20 --threads 1",
            "map ring --machine ps3",
            "map solve problem.dat",
        ] {
            refused(&[], &[(&format!("{command} --seed {wrong}"), &message)]);
        }
    }
}

#[test]
fn times_of_0_and_less() {
    let budget = "nothing can be measured in no time; a budget is a time with its unit, such as 500ms, 30s or 5m";
    let limit =
        "nothing happens in no time; a limit is a simulated time with its unit, such as 10ms or 2s";
    for wrong in ["-1s", "0s", "-500ms"] {
        refused(
            &[],
            &[
                (
                    &format!("stats --budget {wrong}"),
                    &value(wrong, "--budget <TIME>", budget),
                ),
                (
                    &format!("stats --machine qs20 --limit {wrong}"),
                    &value(wrong, "--limit <SIMULATED_TIME>", limit),
                ),
            ],
        );
    }
}

/// Messages show numbers as the user has typed them.
#[test]
fn numbers_that_are_too_large() {
    let why = "more than 4294967295, the largest number that it can be; use less";
    refused(
        &[],
        &[
            (
                "stats -f dmalistget -l 99999999999",
                &value("99999999999", "-l <ELEMENTS>", why),
            ),
            ("stats -f chase -k 100g", &value("100g", "-k <CHAINS>", why)),
        ],
    );
}

#[test]
fn flags_that_would_do_nothing() {
    let samples = |function: &str| {
        format!(
            "--samples without --format json: samples are in JSON only\n  example: cellworks stats -f {function} \
             --samples --format json"
        )
    };
    refused(
        &[],
        &[
            (
                "stats --machine qs20 -f dmaget --counters --format csv",
                "--counters with --format csv: CSV has no counters; add --json FILE, or leave one of them out",
            ),
            (
                "stats --machine qs20 -f dmaget --bottleneck --format csv",
                "--bottleneck with --format csv: CSV has no counters; add --json FILE, or leave one of them out",
            ),
            ("stats --samples", &samples("dmaget")),
            ("stats --samples --csv all.csv", &samples("dmaget")),
            ("stats -f mailbox --samples", &samples("mailbox")),
        ],
    );
}

#[test]
fn standard_input_as_a_file() {
    let run = |words: &str, input: &str| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("graph.txt"), "0 1 1\n").unwrap();
        fs::write(folder.path().join("costs.csv"), "0,1\n1,0\n").unwrap();
        let path = folder.path().join("input");
        fs::write(&path, input).unwrap();
        let mut command = cellworks();
        command
            .current_dir(folder.path())
            .args(words.split_whitespace());
        Run::of(command.stdin(fs::File::open(path).unwrap()))
    };
    for (words, input) in [
        (
            "map solve - --costs costs.csv --time 0.1 --quiet",
            "0 1 1\n",
        ),
        (
            "map solve graph.txt --costs - --time 0.1 --quiet",
            "0,1\n1,0\n",
        ),
        (
            "map explain 0,1 1,0 --problem - --costs costs.csv --quiet",
            "0 1 1\n",
        ),
    ] {
        let run = run(words, input);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{words}");
    }
    let merged = run("merge -", "no results\n");
    assert!(
        merged.err.starts_with("error: /dev/stdin, line 1: "),
        "{}",
        merged.err
    );
}
