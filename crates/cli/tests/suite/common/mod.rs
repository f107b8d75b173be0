//! Helpers that all tests of the command share.
//!
//! Tests run in parallel, and other programs may run on the computer. The command can therefore be
//! right if it reports that a measurement was disturbed or that numbers are uncertain.
//! [`Run::measured`] and [`Run::json`] accept such a report, so that tests of other subjects pass
//! on a busy computer. They fail at an impossible number, which has another exit code and message.

pub mod program;
#[path = "../../../../../tests/skipped.rs"]
mod skipped;
#[cfg(target_os = "linux")]
pub mod terminal;
pub mod tree;

use std::env;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::thread;

use jsonschema::Validator;
use serde_json::Value;

pub use skipped::skipped;
use tree::Tree;

/// The line before the reasons why numbers are not reliable.
const DOUBT: &str = "error: measured, but not trustworthy:\n";

/// The variable with the folder that holds another computer's files.
const FSROOT: &str = "CELLWORKS_FSROOT";

/// The message about numbers of this computer in a report that names another computer.
const FOREIGN: &str = "the times are those of this computer; unset CELLWORKS_FSROOT to measure this \
                       computer, or measure on the other one";

/// Whether an emulator runs the tests, which finds the C library by this variable. It takes 9 to 14
/// times as long, and does not show all that the system does.
pub fn is_emulated() -> bool {
    env::var_os(EMULATED).is_some()
}

/// The variable by which QEMU finds the C library of the emulated processor.
pub const EMULATED: &str = "QEMU_LD_PREFIX";

/// Runs a program of another project. Returns `None` if it is not installed: an emulator starts
/// nothing then, and ends with 127, as a shell does.
pub fn output_if_installed(command: &mut Command) -> Option<Output> {
    let output = command.output().ok()?;
    (output.status.code() != Some(127)).then_some(output)
}

/// The command, without variables for colours in its environment. Its tables have all columns, which
/// takes more than the 80 columns of a pipe.
pub fn cellworks() -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("cellworks"));
    // The tests may run as a task of a cluster. The command must not read its variables.
    for name in [
        "SLURM_ARRAY_TASK_ID",
        "SLURM_STEP_ID",
        "OMPI_COMM_WORLD_RANK",
        "PMI_RANK",
    ] {
        command.env_remove(name);
    }
    command
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR")
        .env_remove("CLICOLOR_FORCE")
        .env("COLUMNS", "100")
        .env_remove(FSROOT);
    command
}

/// The command `cellworks stats` with the given arguments, not yet started.
pub fn stats_command(arguments: &str) -> Command {
    let mut command = cellworks();
    command.arg("stats").args(arguments.split_whitespace());
    command
}

/// Runs `cellworks stats` with the given arguments on this computer.
pub fn stats(arguments: &str) -> Run {
    Run::of(&mut stats_command(arguments))
}

/// Runs `cellworks stats` with the given arguments on the computer that `tree` describes.
pub fn stats_on(tree: &Tree, arguments: &str) -> Run {
    Run::of(stats_command(arguments).env(FSROOT, tree.root()))
}

/// The number of the user `nobody` on most systems, which has no privileges.
pub const ORDINARY_USER: u32 = 65_534;

/// Makes the command run as a user without privileges, because modes of files do not restrict root.
/// The folder and its files then belong to this user. If this is not possible, reports by
/// [`skipped`] that the test is skipped, and returns false.
#[track_caller]
pub fn run_as_ordinary_user(command: &mut Command, folder: &Path) -> bool {
    let closed = tempfile::tempdir().unwrap();
    fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o000)).unwrap();
    let is_bound = fs::read_dir(closed.path()).is_err();
    if is_bound {
        return true;
    }
    let mut version = Command::new(command.get_program());
    version.arg("--version");
    for command in [command, &mut version] {
        command.uid(ORDINARY_USER).gid(ORDINARY_USER);
    }
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut paths = entries.chain([folder.to_owned()]);
    let is_possible = paths
        .all(|path| chown(path, Some(ORDINARY_USER), Some(ORDINARY_USER)).is_ok())
        && version.output().is_ok_and(|output| output.status.success());
    if !is_possible {
        skipped("root may read and write everything, and no other user may run the command here");
    }
    is_possible
}

/// Checks all items at the same time. A command on this computer mostly waits: it watches the CPUs
/// before it measures.
pub fn at_once<T: Send>(items: impl IntoIterator<Item = T>, check: impl Fn(T) + Sync) {
    let check = &check;
    thread::scope(|checks| {
        for item in items {
            checks.spawn(move || check(item));
        }
    });
}

/// The result of a run of the command.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
    /// Whether files described another computer to the command.
    pub is_foreign: bool,
}

impl Run {
    pub fn of(command: &mut Command) -> Self {
        let mut variables = command.get_envs();
        let is_foreign = variables.any(|(name, value)| name == FSROOT && value.is_some());
        Self {
            is_foreign,
            ..Self::from(command.output().unwrap())
        }
    }

    /// The reasons why the numbers are not reliable, if the command ended with reasons.
    fn doubts(&self) -> Option<Vec<&str>> {
        let (_, reasons) = self.err.split_once(DOUBT)?;
        Some(
            reasons
                .lines()
                .map(|line| line.strip_prefix("  ").expect("a reason is indented"))
                .collect(),
        )
    }

    /// Asserts that the command measured: the exit code is 0, or it is 3 and the message has the
    /// reasons why the numbers are not reliable. Returns the rest of the messages.
    #[track_caller]
    pub fn measured(&self) -> &str {
        let doubts = self.doubts();
        let expected = if doubts.is_some() { 3 } else { 0 };
        assert_eq!(self.code, Some(expected), "{}", self.err);
        assert!(doubts.is_none_or(|doubts| !doubts.is_empty()), "no reason");
        assert_eq!(self.err.contains(FOREIGN), self.is_foreign, "{}", self.err);
        self.err.split(DOUBT).next().unwrap()
    }

    /// Asserts that the command measured, and that its JSON and its exit code agree about trust.
    #[track_caller]
    pub fn json(&self) -> Value {
        self.measured();
        let report = self.report();
        let doubts = self.doubts();
        assert_eq!(report["trust"]["trustworthy"], doubts.is_none());
        assert_eq!(
            report["trust"]["reasons"],
            serde_json::json!(doubts.clone().unwrap_or_default())
        );
        let kinds = list(&report["trust"], "kinds");
        assert_eq!(kinds.len(), doubts.unwrap_or_default().len());
        let (foreign, others): (Vec<_>, Vec<_>) =
            kinds.iter().partition(|kind| **kind == "foreign");
        assert_eq!(foreign.len(), usize::from(self.is_foreign), "{kinds:?}");
        let of_a_busy_computer = ["disturbed", "uncertain", "unsteady"];
        let is_of_a_busy_computer =
            |kind: &&Value| of_a_busy_computer.iter().any(|one| **kind == *one);
        assert!(others.iter().all(is_of_a_busy_computer), "{kinds:?}");
        report
    }

    /// The JSON that the command printed, even if it failed. Asserts that the JSON fits the
    /// published schema, and has no further fields.
    #[track_caller]
    pub fn report(&self) -> Value {
        static SCHEMA: LazyLock<Validator> = LazyLock::new(|| {
            let schema = cellworks_report::schema::closed();
            jsonschema::validator_for(&schema).expect("the schema is one")
        });
        let report: Value = serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.out, self.err));
        let complaints: Vec<_> = SCHEMA
            .iter_errors(&report)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(complaints.is_empty(), "{complaints:?}");
        report
    }

    /// Asserts that the command was refused before the first measurement.
    #[track_caller]
    pub fn refused(&self, message: &str) {
        assert_eq!(
            (self.code, self.out.as_str(), self.err.as_str()),
            (Some(2), "", message)
        );
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
            is_foreign: false,
        }
    }
}

/// Whether `compare` finds the ratio of a result in two reports.
#[track_caller]
pub fn has_ratio(reports: &[PathBuf; 2], name: &str) -> bool {
    let mut compare = cellworks();
    let run = Run::of(
        compare
            .arg("compare")
            .args(reports)
            .args(["--format", "json"]),
    );
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let report = run.report();
    let mut ratios = list(&report, "results").iter();
    ratios.any(|ratio| ratio["name"] == name)
}

/// The elements of the array in the given field.
#[track_caller]
pub fn list<'v>(object: &'v Value, name: &str) -> &'v [Value] {
    object[name].as_array().expect("an array")
}
