//! The command `cellworks`.

mod args;
mod environment;
mod progress;
mod stats;
mod style;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

/// How the command ends other than well.
enum Failure {
    /// The arguments make no sense: exit code 2.
    Usage(String),
    /// The run failed: exit code 1.
    Run(String),
    /// Nobody reads the output any more: that is no error.
    ClosedPipe,
}

fn main() -> ExitCode {
    let Cli {
        command: Command::Stats(arguments),
    } = Cli::parse();
    match stats::run(&arguments) {
        Ok(()) | Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(Failure::Run(message)) => fail(&message, 1),
        Err(Failure::Usage(message)) => fail(&message, 2),
    }
}

fn fail(message: &str, code: u8) -> ExitCode {
    anstream::eprintln!(
        "{}error:{} {message}",
        style::BAD.render(),
        style::BAD.render_reset()
    );
    ExitCode::from(code)
}
