//! `cellworks cc` and `cellworks exec`, which are in a second binary, and what that binary shares
//! with the command.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use cellworks_cli::{Failure, MachineFlags, Settings, with_machine};
use cellworks_machine::{CellMachine, CellSpe, Mfc, SpeId};
use cellworks_runner::CellWork;
use cellworks_sim::{HazardWatch, PpeAccess};
use clap::Parser;

use crate::common::{Run, cellworks};

/// Writes a second binary that prints its name and its arguments, and ends with code 7.
fn write_sdk(folder: &Path, name: &str) {
    let path = folder.join("cellworks-sdk");
    let text = format!("#!/bin/sh\nprintf '%s|' {name} \"$@\"\nexit 7\n");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns a command `cellworks` in a folder of its own, where no other binary is.
fn alone(folder: &Path) -> Command {
    let path = folder.join("cellworks");
    let built = cellworks().get_program().to_owned();
    // A copy onto a link would empty the binary itself.
    if !path.exists() && fs::hard_link(&built, &path).is_err() {
        fs::copy(&built, &path).unwrap();
    }
    let mut command = Command::new(path);
    command.env("PATH", "/usr/bin:/bin");
    command
}

#[test]
fn the_second_binary_gets_all_arguments() {
    let [own, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    write_sdk(other.path(), "on-the-path");
    let path = env::join_paths([other.path(), Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    let words = ["exec", "--machine", "ps3", "a b.cell", "--", "-h", "--help"];
    let run = Run::of(alone(own.path()).args(words).env("PATH", &path));
    let passed = "exec|--machine|ps3|a b.cell|--|-h|--help|";
    assert_eq!(
        (run.code, run.out),
        (Some(7), format!("on-the-path|{passed}"))
    );

    // The binary that was installed together with the command comes first.
    write_sdk(own.path(), "beside");
    let run = Run::of(
        alone(own.path())
            .args(["cc", "--help", "-o", "x"])
            .env("PATH", &path),
    );
    assert_eq!(
        (run.code, run.out),
        (Some(7), "beside|cc|--help|-o|x|".to_owned())
    );
}

#[test]
fn without_the_second_binary_a_sentence_says_how_to_install_it() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["cc", "exec"] {
        Run::of(alone(folder.path()).args([command, "--help"])).refused(&format!(
            "error: `cellworks {command}` is in a second binary, cellworks-sdk, which is neither beside cellworks \
             nor on the PATH; install it: cargo install --locked --path crates/sdk, in a clone of Cellworks\n"
        ));
    }
    fs::write(folder.path().join("cellworks-sdk"), "not executable").unwrap();
    let run = Run::of(alone(folder.path()).arg("cc"));
    assert_eq!(run.code, Some(1));
    assert!(
        run.err.contains("cellworks-sdk: Permission denied"),
        "{}",
        run.err
    );
    assert!(run.err.contains("install it again"), "{}", run.err);
}

#[test]
fn help_lists_the_commands_of_the_second_binary() {
    let run = Run::of(cellworks().arg("help"));
    for command in ["cc", "exec"] {
        let line = format!("see `cellworks {command} --help`");
        let text = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&line), "{}", run.out);
    }
}

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    machine: MachineFlags,
}

fn flags(words: &str) -> MachineFlags {
    let words = ["test"].into_iter().chain(words.split_whitespace());
    Arguments::try_parse_from(words).unwrap().machine
}

/// Uses an SPE, and returns the number of SPEs.
struct UseAnSpe;

impl CellWork for UseAnSpe {
    type Output = Result<usize, Failure>;

    fn run<M: CellMachine>(self, machine: &M) -> Self::Output {
        machine
            .run(|ppe| {
                ppe.spawn(SpeId::new(0), |spe: &M::Spe| spe.mfc().free_entries())
                    .join()
            })
            .map_err(|error| Failure::Run(error.to_string()))?
            .map_err(|error| Failure::Run(format!("{error:?}")))?;
        Ok(machine.topology().spes().len())
    }
}

#[test]
fn work_of_others_runs_on_every_machine() {
    for (words, spes) in [("--machine ps3", Some(6)), ("", None)] {
        let end = with_machine(
            &flags(words),
            HazardWatch::Warn,
            Settings::default(),
            |cell, _| cell.on_cell(UseAnSpe),
        );
        let found = end.unwrap();
        assert!(
            found > 0 && spes.is_none_or(|spes| spes == found),
            "{words}: {found}"
        );
    }
}

#[test]
fn settings_are_chosen_before_the_machine_is_made() {
    let host = Settings {
        host: Box::new(|builder| builder.spes(3)),
        ..Settings::default()
    };
    let spes = with_machine(&flags(""), HazardWatch::Warn, host, |cell, _| {
        cell.on_cell(UseAnSpe)
    });
    assert_eq!(spes.unwrap(), 3);
    let mut called = false;
    let sim = Settings {
        sim: Box::new(|builder| {
            called = true;
            builder.ppe_access(PpeAccess::SystemCalls)
        }),
        ..Settings::default()
    };
    with_machine(&flags("--machine qs20"), HazardWatch::Warn, sim, |_, _| {
        Ok(())
    })
    .unwrap();
    assert!(called);
}

#[test]
fn a_trace_is_kept_if_the_work_ends_well() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.pftrace");
    let flags = || flags(&format!("--machine ps3 --quiet --trace {}", file.display()));
    let failed: Result<(), _> = with_machine(
        &flags(),
        HazardWatch::Warn,
        Settings::default(),
        |cell, _| {
            cell.on_cell(UseAnSpe)?;
            Err(Failure::Run("it went wrong".to_owned()))
        },
    );
    assert!(matches!(failed, Err(Failure::Run(why)) if why == "it went wrong"));
    assert!(!file.exists());
    with_machine(
        &flags(),
        HazardWatch::Warn,
        Settings::default(),
        |cell, _| cell.on_cell(UseAnSpe),
    )
    .unwrap();
    assert!(fs::metadata(&file).unwrap().len() > 0);
}

#[test]
fn flags_that_make_no_sense_are_refused() {
    for (words, part) in [
        ("--limit 1ms", "only a simulated machine has it"),
        ("--machine ps3 --cpus 0", "none of this computer's CPUs"),
        ("--machine ps3 --bottleneck", "use --counters"),
        ("--machine ps3 --trace -", "name a file"),
        (
            "--machine ps3 --after-start",
            "--after-start shows nothing by itself; add --counters or --trace FILE",
        ),
        ("--machine nothing", "--machine: "),
    ] {
        let end = with_machine(
            &flags(words),
            HazardWatch::Warn,
            Settings::default(),
            |_, _| Ok(()),
        );
        let Err(Failure::Usage(message)) = end else {
            panic!("{words}: {end:?}");
        };
        assert!(message.contains(part), "{words}: {message}");
    }
}
