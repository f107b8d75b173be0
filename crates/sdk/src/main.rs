//! The command `cellworks-sdk`: `cellworks cc`, and the compilers of the Cell SDK by their names.

use std::ffi::OsString;
use std::process::ExitCode;

use cellworks_sdk::driver;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let executable = arguments.next().unwrap_or_default();
    let arguments: Vec<OsString> = arguments.collect();
    if let Some(code) = driver::run_tool(&executable, &arguments) {
        return ExitCode::from(code);
    }
    match arguments.split_first() {
        Some((command, arguments)) if command == "cc" => ExitCode::from(driver::cc(arguments)),
        _ => {
            eprintln!(
                "error: this is a part of cellworks; call `cellworks cc` or `cellworks exec`"
            );
            ExitCode::from(2)
        }
    }
}
