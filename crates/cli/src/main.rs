//! The command `cellworks`.

mod args;
mod cli;
mod compare;
mod completion;
mod describe;
mod effects;
mod export;
mod failure;
mod machine;
mod machines;
mod manual;
mod map;
mod merge;
mod message;
mod output;
mod output_file;
mod parts;
mod progress;
mod reproduce;
mod run;
mod session;
mod simulated;
mod standard_output;
mod stats;
mod surroundings;
mod sweep;

use std::process::ExitCode;

use cellworks_stats::Setting;
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use cli::{Cli, Command};
use failure::{Failure, exit_code};
use output::{check_standard_output, print};
use surroundings::check_address_space;

fn main() -> ExitCode {
    completion::answer();
    let end = match Cli::try_parse() {
        Ok(cli) => run(&cli.command),
        Err(error) if error.use_stderr() => explained(error).exit(),
        // The user asked for the text of `--help` or `--version`.
        Err(asked) => print(&asked.render().ansi().to_string()),
    };
    ExitCode::from(exit_code(end))
}

/// Adds an explanation to an error about a flag that only another command has.
fn explained(mut error: clap::Error) -> clap::Error {
    let pages = Setting::PAGE_BYTES.flag;
    if error.kind() == ErrorKind::UnknownArgument
        && error.get(ContextKind::InvalidArg) == Some(&ContextValue::String(pages.to_owned()))
    {
        let tip = format!(
            "programs have their data in the pages that the system gives, and only `stats` chooses \
             their size; `cellworks stats -f chase {pages} 2m` shows what it changes"
        );
        let tips = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tips);
        // Clap suggests flags with similar names, but those flags do something else.
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Usage);
    }
    error
}

fn run(command: &Command) -> Result<(), Failure> {
    // `map exec` prints nothing, so it needs no standard output.
    if !matches!(command, Command::Map(arguments) if arguments.starts_a_command()) {
        check_standard_output()?;
    }
    if command.is_a_run() {
        check_address_space("a run", 0)?;
    }
    match command {
        Command::Stats(arguments) => stats::run(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Export(arguments) => export::run(arguments),
        Command::Reproduce(arguments) => reproduce::run(arguments),
        Command::Map(arguments) => map::run(arguments),
        Command::Merge(arguments) => merge::merge(arguments),
        Command::Machine(arguments) => describe::run(arguments),
        Command::Machines(arguments) => machines::run(arguments),
        Command::Completions(arguments) => completion::completions(arguments),
        Command::Man(arguments) => manual::man(arguments),
    }
}
