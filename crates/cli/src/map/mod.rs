//! `cellworks map`: places communicating tasks on cores, and starts programs there.

mod bind;
mod binding;
mod costs;
mod exec;
mod explain;
mod hwloc;
mod launcher;
mod measure;
mod picture;
mod problem;
pub(crate) mod ring;
mod scotch;
mod solution;
mod solve;

use std::path::Path;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Places communicating tasks on cores, and starts programs there.
#[derive(Args)]
pub(crate) struct MapArgs {
    #[command(subcommand)]
    pub command: MapCommand,
}

impl MapArgs {
    /// Returns true if the command starts another program, and prints nothing itself.
    pub fn starts_a_command(&self) -> bool {
        matches!(self.command, MapCommand::Exec(_))
    }
}

#[derive(Subcommand)]
pub(crate) enum MapCommand {
    Solve(solve::SolveArgs),
    Explain(explain::ExplainArgs),
    Bind(bind::BindArgs),
    Exec(exec::ExecArgs),
    Hwloc(hwloc::HwlocArgs),
    Scotch(scotch::ScotchArgs),
    Ring(ring::RingArgs),
}

/// Returns the place of each task: `name` is a list such as `3,0,1`, or a file that `map solve` has
/// printed.
pub(crate) fn places_of(name: &str) -> Result<Vec<usize>, Failure> {
    if let Some(places) = explain::listed(name) {
        return Ok(places);
    }
    let instead = "no list of places, such as 3,0,1";
    Ok(solution::read(Path::new(name), instead)?.placement)
}

pub(crate) fn run(arguments: &MapArgs) -> Result<(), Failure> {
    match &arguments.command {
        MapCommand::Solve(arguments) => solve::run(arguments),
        MapCommand::Explain(arguments) => explain::run(arguments),
        MapCommand::Bind(arguments) => bind::run(arguments),
        MapCommand::Exec(arguments) => exec::run(arguments),
        MapCommand::Hwloc(arguments) => hwloc::run(arguments),
        MapCommand::Scotch(arguments) => scotch::run(arguments),
        MapCommand::Ring(arguments) => ring::run(arguments),
    }
}
