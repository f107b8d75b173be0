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

#[test]
fn the_first_program_runs_by_the_commands_of_the_guide() {
    let folder = tempfile::tempdir().unwrap();
    for source in blocks("c") {
        let name = source.strip_prefix("/* ").unwrap();
        let (name, _) = name.split_once(" */").unwrap();
        fs::write(folder.path().join(name), source).unwrap();
    }
    let commands = blocks("sh").find(|block| block.contains("./hello"));
    let output = sh(folder.path(), commands.unwrap());
    let said = String::from_utf8_lossy(&output.stderr);
    let missing = ["is not on the PATH", "could not be fetched"];
    if missing.iter().any(|text| said.contains(text)) {
        return skipped(said.trim());
    }
    assert!(output.status.success(), "{said}");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "hello from an SPU\nthe SPU has ended\n".repeat(3)
    );
    let trace = fs::metadata(folder.path().join("hello.pftrace")).unwrap();
    assert!(trace.len() > 0);
}
