//! The binary `cellworks-sdk`.
fn main() -> std::process::ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    cellworks_cli::exit_code(cellworks_sdk::exec::exec(arguments)).into()
}
