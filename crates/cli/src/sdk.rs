//! `cellworks cc` and `cellworks exec`: commands of a second binary, `cellworks-sdk`.

// Rejected: these commands in this binary. They need a compiler of WebAssembly, and would make the
// build and the start of all other commands slower.

use std::env;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::Command;

use clap::Args;

use crate::failure::Failure;

const BINARY: &str = "cellworks-sdk";

/// Compiles a Cell C program, and prints the variables for Makefiles: see `cellworks cc --help`
///
/// This command is in a second binary, cellworks-sdk, which gets all arguments.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct CcArgs {
    /// The arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
}

/// Runs a Cell C program on this computer or a simulated machine: see `cellworks exec --help`
///
/// This command is in a second binary, cellworks-sdk, which gets all arguments.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct ExecArgs {
    /// The arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
}

/// Makes this process run the second binary, which lies beside this one or on the PATH.
pub(crate) fn become_sdk(command: &str, arguments: &[OsString]) -> Result<(), Failure> {
    let own = env::current_exe().ok();
    let beside = own.map(|own| own.with_file_name(BINARY));
    let beside = beside.filter(|path| path.is_file());
    let binary = beside.unwrap_or_else(|| BINARY.into());
    // This returns only if the binary cannot be started.
    let error = Command::new(&binary).arg(command).args(arguments).exec();
    Err(match error.kind() {
        ErrorKind::NotFound => Failure::Usage(format!(
            "`cellworks {command}` is in a second binary, {BINARY}, which is neither beside cellworks nor on the \
             PATH; install it: cargo install --locked --path crates/sdk, in a clone of Cellworks"
        )),
        _ => Failure::Run(format!(
            "{}: {error}; install it again: cargo install --locked --path crates/sdk, in a clone of Cellworks",
            binary.display()
        )),
    })
}
