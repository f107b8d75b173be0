//! The command `cellworks`.

use std::process::ExitCode;

fn main() -> ExitCode {
    cellworks_cli::main()
}
