//! The command `cellworks`.

mod args;
mod cli;
mod compare;
mod describe;
mod failure;
mod machine;
mod machines;
mod manual;
mod map;
mod merge;
mod message;
mod output;
mod output_file;
mod progress;
mod reproduce;
mod run;
mod session;
mod simulated;
mod stats;
mod surroundings;
mod sweep;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use failure::exit_code;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let end = match &cli.command {
        Command::Stats(arguments) => stats::run(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Reproduce(arguments) => reproduce::run(arguments),
        Command::Map(arguments) => map::run(arguments),
        Command::Merge(arguments) => merge::merge(arguments),
        Command::Machine(arguments) => describe::run(arguments),
        Command::Machines(arguments) => machines::run(arguments),
        Command::Completions(arguments) => manual::completions(arguments),
        Command::Man(arguments) => manual::man(arguments),
    };
    ExitCode::from(exit_code(end))
}
