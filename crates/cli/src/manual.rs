//! `cellworks completions` and `cellworks man`: made from the definition of the arguments.

use clap::CommandFactory;

use crate::Failure;
use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::output::print;

pub(crate) fn completions(arguments: &CompletionsArgs) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "cellworks", &mut text);
    print(&String::from_utf8_lossy(&text))
}

pub(crate) fn man(arguments: &ManArgs) -> Result<(), Failure> {
    let mut command = Cli::command();
    command.build();
    let wanted = match &arguments.command {
        None => &command,
        Some(name) => command.find_subcommand(name).ok_or_else(|| {
            let names: Vec<&str> = command
                .get_subcommands()
                .map(clap::Command::get_name)
                .collect();
            Failure::Usage(format!(
                "{name}: there is no such command; use one of {}",
                names.join(", ")
            ))
        })?,
    };
    let mut text = Vec::new();
    // The page would show flags without their values otherwise.
    let usage = wanted.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    clap_mangen::Man::new(wanted.clone().override_usage(usage))
        .render(&mut text)
        .map_err(|error| Failure::Run(format!("the page could not be made: {error}")))?;
    print(&String::from_utf8_lossy(&text))
}
