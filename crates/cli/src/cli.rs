//! The commands of `cellworks`, as clap parses them.

use clap::{Parser, Subcommand};

use crate::args::{
    CompareArgs, CompletionsArgs, MachineArgs, MachinesArgs, ManArgs, MergeArgs, ReproduceArgs,
};
use crate::map::MapArgs;
use crate::run::RunArgs;
use crate::stats::StatsArgs;

/// Programs, measures and maps machines made of cells: cores with small local stores that move data
/// by DMA, mailboxes and signals.
#[derive(Parser)]
#[command(name = "cellworks", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Stats(Box<StatsArgs>),
    Run(Box<RunArgs>),
    Compare(CompareArgs),
    Reproduce(ReproduceArgs),
    Map(MapArgs),
    Merge(MergeArgs),
    Machine(MachineArgs),
    Machines(MachinesArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

impl Command {
    /// Whether the command measures, simulates or searches.
    pub fn is_a_run(&self) -> bool {
        match self {
            Self::Stats(_) | Self::Run(_) | Self::Reproduce(_) => true,
            Self::Map(arguments) => !arguments.starts_a_command(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
