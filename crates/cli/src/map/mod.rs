//! `cellworks map`: places communicating tasks on cores.

mod costs;
pub(crate) mod ring;
mod solve;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Places communicating tasks on cores.
#[derive(Args)]
pub(crate) struct MapArgs {
    #[command(subcommand)]
    pub command: MapCommand,
}

#[derive(Subcommand)]
pub(crate) enum MapCommand {
    Solve(solve::SolveArgs),
    Ring(ring::RingArgs),
}

pub(crate) fn run(arguments: &MapArgs) -> Result<(), Failure> {
    match &arguments.command {
        MapCommand::Solve(arguments) => solve::run(arguments),
        MapCommand::Ring(arguments) => ring::run(arguments),
    }
}
