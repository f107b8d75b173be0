//! The command `cellworks-sdk`: `cellworks cc`, `cellworks exec`, and the compilers of the Cell SDK
//! by their names.

use std::ffi::OsString;
use std::process::ExitCode;

use cellworks_sdk::{driver, exec};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let executable = arguments.next().unwrap_or_default();
    let arguments: Vec<OsString> = arguments.collect();
    if let Some(code) = driver::run_tool(&executable, &arguments) {
        return ExitCode::from(code);
    }
    match arguments.split_first() {
        Some((command, rest)) if command == "cc" => ExitCode::from(driver::cc(rest)),
        Some((command, _)) if command == "exec" => {
            ExitCode::from(cellworks_cli::exit_code(exec::exec(arguments)))
        }
        _ => {
            eprintln!(
                "error: this is a part of cellworks; call `cellworks cc` or `cellworks exec`"
            );
            ExitCode::from(2)
        }
    }
}
