//! The commands of `cellworks`, as clap parses them.

use clap::{Parser, Subcommand};

use crate::args::{
    CompareArgs, CompletionsArgs, ExportArgs, MachineArgs, MachinesArgs, ManArgs, MergeArgs,
    ReproduceArgs,
};
use crate::map::MapArgs;
use crate::output::width_of_help;
use crate::run::RunArgs;
use crate::sdk::{CcArgs, ExecArgs};
use crate::stats::StatsArgs;

const AFTER_HELP: &str = "\
Where to begin:
  cellworks stats
      What communication between the cores of this computer costs, with advice, in under a minute.
  cellworks stats --matrix atomic --full --json matrix.json
      Which cores are near each other: the time from each core to each other one.
  cellworks map solve --pattern pairs --tasks 2 --costs matrix.json
      On which two cores two threads that talk to each other should run, and what others cost on average.
  cellworks stats --machine qs20
      What communication costs on a simulated Cell blade.
  cellworks completions bash
      A script with which bash completes commands, flags, machines and programs; zsh and fish have one too.";

/// Measures and simulates machines made of cells, runs programs on them, and maps tasks to their
/// cells. A cell is a core with a small local store, and moves data by DMA, mailboxes and signals.
#[derive(Parser)]
#[command(name = "cellworks", version, max_term_width = width_of_help(), after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Stats(Box<StatsArgs>),
    Run(Box<RunArgs>),
    Compare(CompareArgs),
    Export(ExportArgs),
    Reproduce(ReproduceArgs),
    Map(MapArgs),
    Merge(MergeArgs),
    Machine(MachineArgs),
    Machines(MachinesArgs),
    Cc(CcArgs),
    Exec(ExecArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

impl Command {
    /// Returns true if this process becomes another program. Then it prints nothing itself, so it
    /// needs no standard output.
    pub fn becomes_another(&self) -> bool {
        match self {
            Self::Cc(_) | Self::Exec(_) => true,
            Self::Map(arguments) => arguments.starts_a_command(),
            _ => false,
        }
    }

    /// Returns true if the command measures, simulates or searches.
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
