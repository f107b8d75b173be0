//! `cellworks completions`: a script for a shell, and the answers to its questions.
//!
//! ```text
//!   cellworks completions bash ──► a script, which the shell reads once
//!   a press of Tab: COMPLETE=bash cellworks -- cellworks stats --machine q ──► qs20, qs22
//! ```

// Rejected: scripts with all words in them. They can offer names or files, but not the names of
// machines and the files that describe one, and they offer every file where one of a kind is needed.

use std::ffi::OsStr;
use std::path::Path;

use cellworks_sim::Description;
use clap::{Arg, Args, Command, CommandFactory};
use clap_complete::Shell;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::{CompleteEnv, Shells};

use crate::args::{CompletionsArgs, HOST, MachineFlags};
use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::print;

/// The variable by which a script asks. Its value is the name of the shell.
const VARIABLE: &str = "COMPLETE";

const NAME: &str = "cellworks";

/// The extensions of the files that arguments name, by the identifiers of the arguments. If there
/// are none, all files are offered.
const FILES: &[(&str, &[&str])] = &[
    ("arguments", &[]),
    ("costs", &["csv", "json", "toml", "xml"]),
    ("csv", &["csv"]),
    ("file", &[]),
    ("files", &["json", "jsonl"]),
    ("graph", &[]),
    ("html", &["html"]),
    ("json", &["json"]),
    ("markdown", &["md"]),
    ("more", &["prof"]),
    ("placement", &["json"]),
    ("png", &["png"]),
    ("results", &["jsonl"]),
    ("trace", &["pftrace"]),
    ("volumes", &[]),
    ("with", &["json"]),
];

/// The identifiers of arguments that name a machine, or a file that describes one.
const MACHINES: [&str; 3] = ["machine", "a", "b"];

/// The extensions of files that describe a machine.
const MACHINE_FILES: &[&str] = &["toml", "csv"];

/// Prints the script for a shell.
pub(crate) fn completions(arguments: &CompletionsArgs) -> Result<(), Failure> {
    let shell = match arguments.shell {
        Shell::Bash => "bash",
        Shell::Elvish => "elvish",
        Shell::Fish => "fish",
        Shell::PowerShell => "powershell",
        Shell::Zsh => "zsh",
        other => {
            return Err(Failure::Usage(format!(
                "{other}: no script is known for it"
            )));
        }
    };
    let shells = Shells::builtins();
    let completer = shells
        .completer(shell)
        .expect("each shell above has a script");
    let mut script = Vec::new();
    completer
        .write_registration(VARIABLE, NAME, NAME, NAME, &mut script)
        .map_err(|error| Failure::Run(format!("the script could not be made: {error}")))?;
    print(&String::from_utf8_lossy(&script))
}

/// Answers the question of a script, and ends the process. Returns if no script asks.
pub(crate) fn answer() {
    // `exec` passes on its flags to another binary, so they are not among those of this one.
    let command = || Cli::command().mut_subcommand("exec", MachineFlags::augment_args);
    CompleteEnv::with_factory(|| completed(command())).complete();
}

/// Adds to each argument of a command and its subcommands what completes it.
fn completed(command: Command) -> Command {
    // `map explain` has placements A and B, which are no machines.
    let has_machines = command.get_name() != "explain";
    command
        .mut_args(|arg| match completer(&arg, has_machines) {
            Some(completer) => arg.add(completer),
            None => arg,
        })
        .mut_subcommands(completed)
}

fn completer(arg: &Arg, has_machines: bool) -> Option<ArgValueCompleter> {
    let id = arg.get_id().as_str();
    if has_machines && MACHINES.contains(&id) {
        return Some(ArgValueCompleter::new(machines));
    }
    let (_, extensions) = FILES.iter().find(|(name, _)| *name == id)?;
    Some(ArgValueCompleter::new(files(extensions)))
}

fn machines(begun: &OsStr) -> Vec<CompletionCandidate> {
    let names = [HOST].into_iter().chain(Description::built_in_names());
    let begun_text = begun.to_string_lossy();
    let names = names.filter(|name| name.starts_with(&*begun_text));
    let names = names.map(CompletionCandidate::new);
    names.chain(files(MACHINE_FILES).complete(begun)).collect()
}

fn files(extensions: &'static [&'static str]) -> PathCompleter {
    PathCompleter::any().filter(move |path: &Path| {
        let extension = path.extension().and_then(OsStr::to_str);
        let is_one = |known: &&str| extension.is_some_and(|one| one.eq_ignore_ascii_case(known));
        path.is_file() && (extensions.is_empty() || extensions.iter().any(is_one))
    })
}

#[cfg(test)]
mod tests {
    use clap::ValueHint;

    use super::*;

    /// Calls `check` with each argument of each command.
    fn each_argument(command: &Command, check: &mut impl FnMut(&Command, &Arg)) {
        command.get_arguments().for_each(|arg| check(command, arg));
        command
            .get_subcommands()
            .for_each(|sub| each_argument(sub, check));
    }

    #[test]
    fn every_file_has_a_kind() {
        let mut found = 0;
        each_argument(&Cli::command(), &mut |command, arg| {
            if arg.get_value_hint() == ValueHint::AnyPath {
                let (name, id) = (command.get_name(), arg.get_id());
                assert!(completer(arg, true).is_some(), "{name}: {id}");
                found += 1;
            }
        });
        assert!(found > FILES.len());
    }

    #[test]
    fn every_kind_is_of_an_argument() {
        let mut ids = std::collections::BTreeSet::new();
        each_argument(&Cli::command(), &mut |_, arg| {
            ids.insert(arg.get_id().to_string());
        });
        let known = FILES.iter().map(|(id, _)| *id).chain(MACHINES);
        for id in known {
            assert!(ids.contains(id), "{id}");
        }
    }
}
