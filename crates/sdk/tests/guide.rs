//! The guide `docs/cell-c.md`: its programs compile and run by its commands.

#[path = "../../../tests/skipped.rs"]
mod skipped;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use skipped::skipped;

const GUIDE: &str = include_str!("../../../docs/cell-c.md");
const SDK: &str = env!("CARGO_BIN_EXE_cellworks-sdk");

/// Returns the blocks of the guide in a language.
fn blocks(language: &str) -> impl Iterator<Item = &'static str> {
    let mut fences = GUIDE.split("```");
    fences.next();
    let all: Vec<&str> = fences.step_by(2).collect();
    all.into_iter()
        .filter_map(move |block| block.strip_prefix(language)?.strip_prefix('\n'))
}

/// Runs commands in a folder, where `cellworks` is the command whose second program this is.
fn sh(folder: &Path, commands: &str) -> Output {
    let command = folder.join("cellworks");
    fs::write(&command, format!("#!/bin/sh\nexec '{SDK}' \"$@\"\n")).unwrap();
    fs::set_permissions(&command, fs::Permissions::from_mode(0o755)).unwrap();
    let commands = format!("set -e\nPATH='{}':\"$PATH\"\n{commands}", folder.display());
    let mut shell = Command::new("sh");
    shell.args(["-c", &commands]).current_dir(folder);
    shell.output().unwrap()
}

/// Writes the sources of the guide, and runs those of its commands that contain `part`. Returns
/// nothing if programs cannot be compiled here.
fn run(folder: &Path, part: &str) -> Option<[String; 2]> {
    for source in blocks("c") {
        let name = source.strip_prefix("/* ").unwrap();
        let (name, _) = name.split_once(" */").unwrap();
        fs::write(folder.join(name), source).unwrap();
    }
    let commands = blocks("sh").find(|block| block.contains(part));
    let output = sh(folder, commands.unwrap());
    let said = String::from_utf8_lossy(&output.stderr);
    let missing = ["is not on the PATH", "could not be fetched"];
    if missing.iter().any(|text| said.contains(text)) {
        skipped(said.trim());
        return None;
    }
    assert!(output.status.success(), "{said}");
    Some([output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()))
}

#[test]
fn the_first_program_runs_by_the_commands_of_the_guide() {
    let folder = tempfile::tempdir().unwrap();
    let Some([printed, _]) = run(folder.path(), "./hello") else {
        return;
    };
    assert_eq!(printed, "hello from an SPU\nthe SPU has ended\n".repeat(3));
    let trace = fs::metadata(folder.path().join("hello.pftrace")).unwrap();
    assert!(trace.len() > 0);
}

#[test]
fn programs_that_wait_for_each_other_are_all_in_the_time_after_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let Some([printed, said]) = run(folder.path(), "./ready") else {
        return;
    };
    assert_eq!(printed, "all SPUs have ended\n");
    let spes = said
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    let spes: Vec<_> = spes
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(spes, ["0", "1", "2", "3", "4", "5"], "{said}");
    assert!(!said.contains("had ended"), "{said}");
}
