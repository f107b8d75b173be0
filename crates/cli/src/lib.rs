//! The command `cellworks`, and what other commands share with it: the flags of a machine, Ctrl-C,
//! progress, messages and exit codes.
//!
//! A second binary chooses a machine as `cellworks` does, and runs its own work on it:
//!
//! ```
//! use cellworks_cli::{Failure, MachineFlags, Settings, with_machine};
//! use cellworks_machine::CellMachine;
//! use cellworks_runner::CellWork;
//! use cellworks_sim::HazardWatch;
//! use clap::Parser;
//!
//! #[derive(Parser)]
//! struct Arguments {
//!     #[command(flatten)]
//!     machine: MachineFlags,
//! }
//!
//! struct CountSpes;
//!
//! impl CellWork for CountSpes {
//!     type Output = Result<usize, Failure>;
//!
//!     fn run<M: CellMachine>(self, machine: &M) -> Self::Output {
//!         Ok(machine.topology().spes().len())
//!     }
//! }
//!
//! let arguments = Arguments::parse_from(["mine", "--machine", "ps3"]);
//! let spes = with_machine(&arguments.machine, HazardWatch::Warn, Settings::default(), |cell, _| {
//!     cell.on_cell(CountSpes)
//! });
//! assert_eq!(spes.ok(), Some(6));
//! ```

mod args;
mod cli;
mod compare;
mod completion;
mod describe;
mod effects;
mod export;
mod failure;
mod foreign;
mod interrupt;
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
mod sdk;
mod session;
mod simulated;
mod standard_output;
mod stats;
mod surroundings;
mod sweep;

use std::process::ExitCode;

use cellworks_apps::Parts;
use cellworks_runner::{ProgramKind, kind, names};
use cellworks_stats::Setting;
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

pub use args::MachineFlags;
pub use failure::{Failure, exit_code};
pub use foreign::{Settings, with_machine};
pub use interrupt::Interrupt;
pub use message::{error, note, warn};
pub use progress::Progress;

use cli::{Cli, Command};
use output::{check_standard_output, print};
use surroundings::check_address_space;

/// Runs the command `cellworks` with the arguments of the process, and returns its exit code.
pub fn main() -> ExitCode {
    completion::answer();
    let end = match Cli::try_parse() {
        Ok(cli) => run(&cli.command),
        Err(error) if error.use_stderr() => explained(error).exit(),
        // The user asked for the text of `--help` or `--version`.
        Err(asked) => print(&asked.render().ansi().to_string()),
    };
    ExitCode::from(exit_code(end))
}

/// Adds an explanation to an error about arguments that only another command has.
fn explained(mut error: clap::Error) -> clap::Error {
    let prior = error.get(ContextKind::PriorArg);
    if error.kind() == ErrorKind::ArgumentConflict
        && prior == Some(&ContextValue::String("[MACHINE]".to_owned()))
    {
        let text = "`cellworks machines` shows or checks one machine: name it and nothing else, such \
                    as `cellworks machines ps3` or `cellworks machines mine.toml`\n";
        return clap::Error::raw(ErrorKind::ArgumentConflict, text);
    }
    let usage = error.get(ContextKind::Usage).map(ToString::to_string);
    let tip = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(flag)) => tip_about(flag, &usage.unwrap_or_default()),
        _ => None,
    };
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(tip) = tip
    {
        let tips = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tips);
        // Clap suggests flags with similar names, but those flags do something else.
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Usage);
    }
    error
}

/// Returns a tip for a flag that only some commands or programs have. `usage` begins with the
/// command that was given.
fn tip_about(flag: &str, usage: &str) -> Option<String> {
    let with = |has: fn(&ProgramKind) -> bool| {
        let kinds = names().iter().filter_map(|name| kind(name)).filter(has);
        let names: Vec<_> = kinds.map(|kind| kind.name).collect();
        names.join(", ")
    };
    let pages = Setting::PAGE_BYTES.flag;
    match flag {
        _ if flag == pages => Some(format!(
            "programs have their data in the pages that the system gives, and only `stats` chooses \
             their size; `cellworks stats -f chase {pages} 2m` shows what it changes"
        )),
        "--volumes" | "--placement" => {
            let after_run = usage.split_whitespace().skip_while(|word| *word != "run");
            let program = after_run.skip(1).find_map(kind);
            let why = match program.map(|kind| (kind.name, kind.parts)) {
                Some((name, Parts::None(why))) => format!("{name} has none of both, because {why}"),
                _ => String::new(),
            };
            let programs = format!(
                "{flag} is a flag of the programs of `cellworks run` that have processes ({}) or workers ({})",
                with(|kind| kind.parts == Parts::Processes),
                with(|kind| kind.parts == Parts::Workers)
            );
            let tip = [programs, why].into_iter().filter(|part| !part.is_empty());
            Some(tip.collect::<Vec<_>>().join("; "))
        }
        "--spes" if usage.split_whitespace().any(|word| word == "machines") => Some(
            "the machine that you name has its number of SPEs; for a Cell with 12 SPEs and the other numbers of the \
             PlayStation 3: cellworks machines new --spes 12 > mine.toml"
                .to_owned(),
        ),
        "--png" => Some(format!(
            "{flag} is a flag of the programs of `cellworks run` that draw: {}",
            with(|kind| kind.draws)
        )),
        _ => None,
    }
}

fn run(command: &Command) -> Result<(), Failure> {
    if !command.becomes_another() {
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
        Command::Cc(sdk) => sdk::become_sdk("cc", &sdk.arguments),
        Command::Exec(sdk) => sdk::become_sdk("exec", &sdk.arguments),
        Command::Completions(arguments) => completion::completions(arguments),
        Command::Man(arguments) => manual::man(arguments),
    }
}
