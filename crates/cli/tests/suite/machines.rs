//! `cellworks machines` as a process.

use std::fs;
use std::path::Path;

use crate::common::{Run, cellworks, list};
use cellworks_sim::Description;
use serde_json::json;

fn names() -> Vec<&'static str> {
    Description::built_in_names().collect()
}

fn machines(arguments: &[&str]) -> Run {
    Run::of(cellworks().arg("machines").args(arguments))
}

/// The output of a command that succeeds without a message.
#[track_caller]
fn printed(arguments: &[&str]) -> String {
    let run = machines(arguments);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{arguments:?}");
    run.out
}

/// The first words of each line.
fn words(line: &str) -> Vec<&str> {
    line.split("  ")
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .collect()
}

#[test]
fn the_list_as_a_table() {
    let table = printed(&[]);
    let mut lines = table.lines();
    let headings = ["name", "SPEs", "Cells", "memory", "interconnect", "title"];
    assert_eq!(words(lines.next().unwrap()), headings);
    let row = |name: &str| {
        let line = table.lines().find(|line| line.starts_with(name)).unwrap();
        words(line)[1..5].join(", ")
    };
    assert_eq!(row("ps3 "), "6, 1, 256 MB, rings");
    assert_eq!(row("qs20 "), "16, 2, 2 x 512 MB, rings");
    assert_eq!(row("qs22 "), "16, 2, 2 x 4 GB, rings");
    assert_eq!(row("scc "), "24, 1, 4 x 16 GB, mesh");
    assert!(table.contains("PlayStation 3"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn the_list_as_json() {
    let run = machines(&["--format", "json"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let printed = run.report();
    assert_eq!(printed["schema_version"], 1);
    assert_eq!(printed["command"], "machines");
    let machines = list(&printed, "machines");
    let listed: Vec<_> = machines.iter().map(|machine| &machine["name"]).collect();
    assert_eq!(listed, names());
    let mut machines = machines.iter();
    let ps3 = machines.find(|machine| machine["name"] == "ps3");
    let mut ps3 = ps3.unwrap().clone();
    ps3.as_object_mut().unwrap().remove("title");
    assert_eq!(
        ps3,
        json!({
            "name": "ps3",
            "spes": 6,
            "cells": 1,
            "memory_modules": 1,
            "memory_bytes_per_module": 268_435_456,
            "interconnect": "rings",
        })
    );
}

#[test]
fn the_list_as_csv() {
    let csv = printed(&["--format", "csv"]);
    let mut lines = csv.lines();
    assert_eq!(
        lines.next(),
        Some("name,title,spes,cells,memory_modules,memory_bytes_per_module,interconnect")
    );
    let listed: Vec<_> = lines.map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(listed, names());
}

#[test]
fn a_machine_that_is_built_in_is_shown_as_it_was_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim/machines");
    for name in names() {
        let written = fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
        assert_eq!(printed(&[name]), written);
    }
}

#[test]
fn a_description_that_was_saved_and_edited_is_a_machine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.toml");
    let ps3 = printed(&["ps3"]);
    let usable = "[1, 3, 5, 6, 4, 2]";
    assert!(ps3.contains(usable));
    fs::write(&path, ps3.replace(usable, "[1, 3, 5]")).unwrap();
    let shown = printed(&[path.to_str().unwrap()]);
    assert!(shown.contains("\nspes = [1, 3, 5]\n"), "{shown}");
    // The printed text is a valid description, too.
    fs::write(&path, &shown).unwrap();
    assert_eq!(printed(&[path.to_str().unwrap()]), shown);
}

#[test]
fn a_measured_matrix_is_shown_as_a_description() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("three cores.csv");
    fs::write(&path, ",,\n17.75,,\n19.1,17.5,\n").unwrap();
    let shown = printed(&[path.to_str().unwrap()]);
    for line in [
        "title = \"3 cores, measured: three cores\"",
        "spes = [0, 1, 2]",
        "kind = \"matrix\"",
        "  [0, 17750, 19100],",
        "  [19100, 17500, 0],",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
}

#[test]
fn an_unknown_machine() {
    let built_in = names().join(", ");
    for (name, near) in [
        ("qs21", "did you mean `qs20`? "),
        ("PS3", "did you mean `ps3`? "),
        ("mainframe", ""),
        ("", ""),
    ] {
        machines(&[name]).refused(&format!(
            "error: no machine is called `{name}`; {near}built in: {built_in}; or name a file that ends in .toml \
             or .csv\n"
        ));
    }
}

/// `show` and `check` are no commands, and a guess should not end in a riddle.
#[test]
fn one_machine_is_shown_at_a_time() {
    for words in [["show", "ps3"], ["ps3", "qs20"]] {
        machines(&words).refused(
            "error: `cellworks machines` shows or checks one machine: name it and nothing else, such as \
             `cellworks machines ps3` or `cellworks machines mine.toml`\n",
        );
    }
}

/// A bus clock in MHz times a thousand is a slip that no other check finds.
#[test]
fn a_wrong_clock_of_the_bus_is_named_with_its_range() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let text = printed(&["ps3"]).replacen("value = 1_600_000_000", "value = 1_600_000", 1);
    fs::write(&file, text).unwrap();
    let mut command = cellworks();
    let run = Run::of(
        command
            .args(["stats", "-f", "mailbox", "--machine"])
            .arg(&file),
    );
    let path = file.display();
    run.refused(&format!(
        "error: --machine: {path}:17: clock.bus_hz is 1_600_000; allowed: 200_000_000 to 51_200_000_000, from a \
         sixteenth to sixteen times spu_hz, which is 3_200_000_000\n"
    ));
}

#[test]
fn files_that_describe_no_machine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.toml");
    let path = path.to_str().unwrap();
    machines(&[path]).refused(&format!(
        "error: {path} could not be read: No such file or directory (os error 2); name a file with a \
         machine's description\n"
    ));
    let near = folder.path().join("mine.toml");
    fs::write(&near, printed(&["ps3"])).unwrap();
    let wrong = folder.path().join("mime.toml");
    let (wrong, near) = (wrong.display().to_string(), near.display());
    machines(&[&wrong]).refused(&format!(
        "error: {wrong} could not be read: No such file or directory (os error 2); did you mean `{near}`? name a file \
         with a machine's description\n"
    ));
    let ps3 = printed(&["ps3"]);
    let ring = ps3.replace("\"SPE1\", ", "");
    let line = 1 + ring
        .lines()
        .take_while(|line| !line.starts_with("elements "))
        .count();
    fs::write(path, &ring).unwrap();
    machines(&[path]).refused(&format!(
        "error: {path}:{line}: interconnect.elements misses \"SPE1\"; allowed: with it, because cell[0].spes \
         lists the SPE 1\n"
    ));
    let matrix = folder.path().join("m.csv");
    fs::write(&matrix, "0,1\n-1,0\n").unwrap();
    let matrix = matrix.to_str().unwrap();
    machines(&[matrix]).refused(&format!(
        "error: {matrix}:2: column 1 is \"-1\"; allowed: a finite time of 0 or more, in nanoseconds, or nothing\n"
    ));
}

#[test]
fn a_description_has_one_format() {
    for format in ["json", "csv"] {
        machines(&["ps3", "--format", format]).refused(
            "error: --format with ps3: the description of a machine is TOML, which --machine reads; leave --format \
             out, or print the parts of the machine as JSON: cellworks machine ps3 --format json\n",
        );
    }
    let parts = Run::of(cellworks().args(["machine", "ps3", "--format", "json"]));
    assert_eq!(parts.report()["command"], "machine");
    // This computer has no description, so the command shows its parts.
    let parts = machines(&["host", "--format", "json"]);
    assert_eq!(parts.report()["command"], "machine");
}

#[test]
fn all_errors_of_a_description_are_reported_together() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let text = crate::common::Run::of(crate::common::cellworks().args(["machines", "ps3"])).out;
    let wrong = text
        .replacen("[clock]", "[clcok]", 1)
        .replacen("clockwise", "clockwsie", 1)
        .replacen("mmio_write_cycles = ", "mmio_write_cycles = -1 # ", 1);
    std::fs::write(&file, wrong).unwrap();
    let run = crate::common::Run::of(crate::common::cellworks().arg("machines").arg(&file));
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
    let about = [
        "ppe.mmio_write_cycles is -1; allowed: ",
        "clcok is no known key; did you mean clock?",
        "clockwsie is no known key",
    ];
    assert_eq!(run.err.lines().count(), about.len(), "{}", run.err);
    for text in about {
        assert!(run.err.contains(text), "{text}: {}", run.err);
    }
}

#[test]
fn two_machines_are_compared_key_by_key() {
    let diff = |b: &str| {
        let mut command = crate::common::cellworks();
        crate::common::Run::of(command.args(["machines", "diff", "qs20", b]))
    };
    let run = diff("qs22");
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let lines: Vec<Vec<&str>> = run
        .out
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines[0], ["key", "qs20", "qs22"]);
    assert!(
        lines.contains(&vec!["memory[0].bytes", "536870912", "4294967296"]),
        "{}",
        run.out
    );
    assert_eq!(
        diff("qs20").out,
        "qs20 and qs20 describe the same machine\n"
    );
    let run = diff("qs23");
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
    assert!(
        run.err.contains("no machine is called `qs23`"),
        "{}",
        run.err
    );
}

#[test]
fn the_differences_have_their_effect() {
    let out = printed(&["diff", "ps3", "qs20"]);
    let row = |what: &str| {
        let line = out.lines().find(|line| line.starts_with(what));
        words(line.unwrap_or_else(|| panic!("{what}: {out}")))[1..].join(", ")
    };
    assert_eq!(row("effect"), "ps3, qs20");
    assert_eq!(row("one SPE gets 16 KB"), "16.4 GB/s, 7.18 GB/s");
    // The QS20 has eight SPEs in Cell 0.
    assert_eq!(row("all SPEs of Cell 0"), "24.6 GB/s, 24.6 GB/s");
    let text = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for reason in [
        "ps3: one SPE gets 16.4 GB/s because its MFC has 16 lines of 128 bytes under way",
        "qs20: one SPE gets 7.18 GB/s because its MFC has 16 lines of 128 bytes under way",
        "qs20: each line waits until the other Cell has answered its command",
        "without the link one SPE would get 16.",
    ] {
        assert!(text.contains(reason), "{reason}: {out}");
    }
    assert!(!text.contains("ps3: each line waits"), "{out}");

    // What it says about a program works as it stands.
    let (_, advice) = text.split_once("The effect on a program: ").unwrap();
    let [run, again, compare] = advice.split(", ").collect::<Vec<_>>()[..] else {
        panic!("{advice}");
    };
    let folder = tempfile::tempdir().unwrap();
    let first = run.strip_prefix("cellworks run PROGRAM ").unwrap();
    let second = again.strip_prefix("the same with ").unwrap();
    let program = "run commstime --spes 2 --rounds 5 --quiet";
    for flags in [first, second] {
        let mut command = cellworks();
        command.current_dir(&folder).args(program.split(' '));
        let run = Run::of(command.args(flags.split(' ')));
        assert_eq!(run.code, Some(0), "{flags}: {}", run.err);
    }
    let compare = compare.strip_prefix("and cellworks ").unwrap();
    let mut command = cellworks();
    let compared = Run::of(command.current_dir(&folder).args(compare.split(' ')));
    assert_eq!(compared.code, Some(0), "{}", compared.err);
    let words = compared
        .out
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(words.contains("1 result in both."), "{words}");
}

#[test]
fn a_template_is_a_machine_with_as_many_spes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, printed(&["new", "--spes", "12"])).unwrap();
    let mut command = crate::common::stats_command("-f dmaget -n 12 -i 10 --machine");
    let run = Run::of(command.arg(&file));
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    assert!(run.out.contains(": 12 SPEs, 1 Cell, "), "{}", run.out);
    for spes in ["0", "1025", "many"] {
        let run = machines(&["new", "--spes", spes]);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
        assert!(run.err.contains("--spes"), "{}", run.err);
    }
}

#[test]
fn more_spes_in_a_cell_take_one_round_of_errors() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("twelve.toml");
    let spes = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]";
    let text = printed(&["ps3"]).replace("[1, 3, 5, 6, 4, 2]", spes);
    fs::write(&file, &text).unwrap();
    let run = machines(&[file.to_str().unwrap()]);
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
    let about = [
        "interconnect.elements misses \"SPE8\"",
        "interconnect.elements misses \"SPE9\"",
        "interconnect.elements misses \"SPE10\"",
        "interconnect.elements misses \"SPE11\"",
        "interconnect.hops_max is 6; allowed: 8 or more, because the farthest of 16 elements is 8 hops away",
    ];
    assert_eq!(run.err.lines().count(), about.len(), "{}", run.err);
    for text in about {
        assert!(run.err.contains(text), "{text}: {}", run.err);
    }
    // With what the errors say, the file describes a machine.
    let text = text.replace(
        "\"MIC\"]",
        "\"MIC\", \"SPE8\", \"SPE9\", \"SPE10\", \"SPE11\"]",
    );
    fs::write(
        &file,
        text.replace("{ value = 6, sure", "{ value = 8, sure"),
    )
    .unwrap();
    printed(&[file.to_str().unwrap()]);
}

/// A researcher's first experiment: a ring with more SPEs than a Cell has.
#[test]
fn a_ring_of_twelve_spes_is_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("twelve.toml");
    let text = crate::common::Run::of(crate::common::cellworks().args(["machines", "ps3"])).out;
    let mut machine: toml::Table = text.parse().unwrap();
    let numbers = (0..12).map(toml::Value::from).collect::<Vec<_>>();
    machine["cell"][0]["spes"] = numbers.into();
    let elements = ["PPE".to_owned(), "MIC".to_owned()];
    let elements = elements
        .into_iter()
        .chain((0..12).map(|spe| format!("SPE{spe}")));
    machine["interconnect"]["elements"] = elements.collect::<Vec<_>>().into();
    machine["interconnect"]["hops_max"] = 7.into();
    std::fs::write(&file, machine.to_string()).unwrap();
    let mut command = crate::common::stats_command("-f dmaget -n 12 -i 10 --machine");
    let run = crate::common::Run::of(command.arg(&file));
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    assert!(run.out.contains(": 12 SPEs, 1 Cell, "), "{}", run.out);
}

#[test]
fn messages_say_where_a_missing_table_and_another_number_of_spes_come_from() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("no-spu.toml");
    let mut machine: toml::Table = printed(&["ps3"]).parse().unwrap();
    machine.remove("spu").unwrap();
    fs::write(&file, machine.to_string()).unwrap();
    for (arguments, part) in [
        (
            vec![file.to_str().unwrap()],
            "spu is missing; allowed: a table of keys; copy it from the output of `cellworks machines ps3`",
        ),
        (
            vec!["ps3", "--spes", "12"],
            "cellworks machines new --spes 12 > mine.toml",
        ),
    ] {
        let run = machines(&arguments);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(run.err.contains(part), "{arguments:?}: {}", run.err);
    }
}

/// Two files may describe machines of one name, so the reasons have the names of the files.
#[test]
fn the_reasons_for_differences_name_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let ps3 = printed(&["ps3"]);
    let line = |key: &str| ps3.lines().find(|line| line.starts_with(key)).unwrap();
    let paths = ["8", "12"].map(|requests| {
        let path = folder.path().join(format!("{requests}.toml"));
        let changed = format!("outstanding_requests = {requests}");
        fs::write(&path, ps3.replace(line("outstanding_requests"), &changed)).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let out = printed(&["diff", &paths[0], &paths[1]]);
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for path in paths {
        assert!(words.contains(&format!("{path}: one SPE gets ")), "{out}");
    }
}

#[test]
fn the_keys_of_differences_stay_whole_on_a_narrow_terminal() {
    let run = Run::of(
        cellworks()
            .args(["machines", "diff", "ps3", "qs20"])
            .env("COLUMNS", "80"),
    );
    assert_eq!(run.code, Some(0), "{}", run.err);
    let lines = run.out.lines().filter(|line| !line.is_empty());
    let keys: Vec<&str> = lines.map(|line| words(line)[0]).collect();
    assert!(
        keys.contains(&"memory[1].refresh_interval_ps"),
        "{}",
        run.out
    );
    assert!(run.out.lines().all(|line| line.chars().count() <= 80));
}
