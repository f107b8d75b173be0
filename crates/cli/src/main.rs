//! The command `cellworks`.

mod args;
mod compare;
mod machines;
mod manual;
mod output;
mod output_file;
mod progress;
mod reproduce;
mod run;
mod session;
mod simulated;
mod stats;
mod surroundings;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

/// How the command ends other than well.
enum Failure {
    /// The arguments make no sense, or the files that they name: exit code 2.
    Usage(String),
    /// The run failed: exit code 1.
    Run(String),
    /// What was measured was printed, but it cannot be relied upon, for these reasons: exit code 3.
    Untrusted(Vec<String>),
    /// Somebody pressed Ctrl-C: what a shell reports for a program that SIGINT ended, 128 + 2.
    Interrupted,
    /// Nobody reads the output any more: that is no error.
    ClosedPipe,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let end = match &cli.command {
        Command::Stats(arguments) => stats::run(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Reproduce(arguments) => reproduce::run(arguments),
        Command::Machines(arguments) => machines::run(arguments),
        Command::Completions(arguments) => manual::completions(arguments),
        Command::Man(arguments) => manual::man(arguments),
    };
    ExitCode::from(exit_code(end))
}

/// The exit code; says why if it is not 0.
fn exit_code(end: Result<(), Failure>) -> u8 {
    match end {
        Ok(()) | Err(Failure::ClosedPipe) => 0,
        Err(Failure::Run(message)) => {
            output::error(&message);
            1
        }
        Err(Failure::Usage(message)) => {
            output::error(&message);
            2
        }
        Err(Failure::Untrusted(reasons)) => {
            output::error(&format!(
                "measured, but not trustworthy:\n  {}",
                reasons.join("\n  ")
            ));
            3
        }
        Err(Failure::Interrupted) => 130,
    }
}
