//! `cellworks man`.

use clap::CommandFactory;

use crate::args::ManArgs;
use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::print;

pub(crate) fn man(arguments: &ManArgs) -> Result<(), Failure> {
    let mut command = Cli::command();
    command.build();
    let mut wanted = &command;
    for name in &arguments.command {
        wanted = wanted
            .find_subcommand(name)
            .ok_or_else(|| unknown(name, wanted))?;
    }
    let mut text = Vec::new();
    // Without this call the page would show flags without their values.
    let usage = wanted.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    clap_mangen::Man::new(wanted.clone().override_usage(usage))
        .render(&mut text)
        .map_err(|error| Failure::Run(format!("the page could not be made: {error}")))?;
    print(&String::from_utf8_lossy(&text))
}

fn unknown(name: &str, command: &clap::Command) -> Failure {
    let names = command.get_subcommands().map(clap::Command::get_name);
    let names: Vec<&str> = names.collect();
    Failure::Usage(if names.is_empty() {
        let whole = command.get_bin_name().unwrap_or_default();
        format!("{name}: `{whole}` has no commands; leave it out")
    } else {
        format!(
            "{name}: there is no such command; use one of {}",
            names.join(", ")
        )
    })
}
