//! `cellworks merge`: prints the result of a sweep from the files of its shares.

// Rejected: merging the reports of shares number by number. Speed-ups and curves follow from steps
// of several shares, so the files have the results of steps, not reports.

use clap::{Parser, error::ErrorKind};

use crate::args::MergeArgs;
use crate::cli::{Cli, Command};
use crate::failure::Failure;
use crate::map::{self, MapArgs, MapCommand};
use crate::sweep::{ResultFile, SweepArgs};
use crate::{reproduce, run};

pub(crate) fn merge(arguments: &MergeArgs) -> Result<(), Failure> {
    let results = arguments.output.files()?;
    for file in &arguments.files {
        results.refuse_to_replace(file)?;
    }
    let files: Result<Vec<ResultFile>, Failure> = arguments
        .files
        .iter()
        .map(|path| ResultFile::read(path))
        .collect();
    let files = files?;
    // The other files are compared with the sweep that the first file describes.
    let first = &files[0];
    let typed = ["cellworks"].into_iter().map(str::to_owned);
    let wrong = |why: &str| {
        Failure::Usage(format!(
            "{}: its arguments are those of no sweep of this version: {why}; use the version that has written it",
            first.place(1)
        ))
    };
    let cli =
        Cli::try_parse_from(typed.chain(first.header.arguments.clone())).map_err(|error| {
            let kind = error.kind();
            wrong(kind.as_str().unwrap_or("they cannot be read"))
        })?;
    let sweep = SweepArgs {
        merged: files.clone(),
        ..SweepArgs::default()
    };
    match cli.command {
        Command::Run(mut command) => {
            let program = &mut command.program;
            program.sweep = sweep;
            program.common.output = arguments.output.clone();
            program.common.quiet = arguments.quiet;
            run::run(&command)
        }
        Command::Reproduce(mut command) => {
            command.sweep = sweep;
            command.output = arguments.output.clone();
            command.quiet = arguments.quiet;
            reproduce::run(&command)
        }
        Command::Map(MapArgs {
            command: MapCommand::Ring(mut command),
        }) => {
            command.sweep = sweep;
            command.output = arguments.output.clone();
            command.quiet = arguments.quiet;
            map::ring::run(&command)
        }
        _ => Err(wrong(
            ErrorKind::InvalidSubcommand.as_str().unwrap_or_default(),
        )),
    }
}
