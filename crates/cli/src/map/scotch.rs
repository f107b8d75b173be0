//! `cellworks map scotch`: converts a placement to a mapping of Scotch.

use std::path::PathBuf;

use cellworks_mapping::write;
use clap::Args;

use super::solution;
use crate::args::input;
use crate::failure::Failure;
use crate::output::print;

const AFTER_HELP: &str = "\
Examples:
  cellworks map solve mesh.grf --costs cluster.tgt --format json > best.json
  cellworks map scotch best.json > best.map
  gmtst mesh.grf cluster.tgt best.map
      What Scotch says of the placement that `map solve` found.

Exit codes: 0 done, 1 the result could not be written, 2 the arguments or files make no sense.";

/// Prints a placement as a mapping of Scotch.
///
/// Programs of Scotch such as `gmtst` and `gout` read it, together with the graph and the target.
/// It has the number of tasks, and for each task its number and the number of its place.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ScotchArgs {
    /// The JSON of `map solve`. `-` is standard input
    #[arg(value_name = "PLACEMENT", value_parser = input())]
    pub placement: PathBuf,

    /// The number of the first task in the graph of Scotch, 0 or 1
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=1))]
    pub first: u8,
}

pub(crate) fn run(arguments: &ScotchArgs) -> Result<(), Failure> {
    let places = solution::read(&arguments.placement, "not the JSON of a placement")?.placement;
    print(&write::scotch_mapping(&places, arguments.first.into()))
}
