//! `cellworks map hwloc`: converts latencies between CPUs to XML of hwloc.

use std::path::PathBuf;

use cellworks_mapping::write;
use clap::Args;

use super::costs::{CpusOfRows, Places};
use crate::failure::Failure;
use crate::output::print;

const AFTER_HELP: &str = "\
Examples:
  cellworks stats --matrix atomic --full --format json > matrix.json
  cellworks map hwloc matrix.json > machine.xml
  lstopo --input machine.xml --distances
      Shows them.
  cellworks map solve graph.txt --costs machine.xml
      Places tasks by them.

Exit codes: 0 done, 1 the result could not be written, 2 the arguments or files make no sense.";

/// Prints measured latencies as XML of hwloc.
///
/// The XML has the CPUs, and the latencies as distances between them, in picoseconds. It has no
/// caches and no memory, because a file of latencies does not contain them.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct HwlocArgs {
    /// The latencies: a file that `map solve` accepts for --costs
    #[arg(value_name = "COSTS")]
    pub costs: PathBuf,

    /// The CPUs of the rows of a table of latencies, in the order of the rows, such as 4,6
    #[arg(long, value_name = "CPUS")]
    pub cpus_of_rows: Option<CpusOfRows>,
}

/// The largest number of places. hwloc's matrix has a number for each pair of them.
const PLACES_MAX: usize = 4_096;

pub(crate) fn run(arguments: &HwlocArgs) -> Result<(), Failure> {
    let file = &arguments.costs;
    let wrong = |why: &str| Failure::Usage(format!("{}: {why}", file.display()));
    let mut places = Places::read(file)?;
    if let Some(rows) = &arguments.cpus_of_rows {
        places = places.with_cpus_of_rows(rows)?;
    }
    let Places {
        costs, cpus, unit, ..
    } = places;
    if unit.is_none() {
        return Err(wrong(
            "its costs have no unit, and hwloc's XML has picoseconds; give each cost one, such as 60ns",
        ));
    }
    if costs.places() > PLACES_MAX {
        return Err(wrong(&format!(
            "it has {} places, and hwloc's matrix has a number for each pair of them: {PLACES_MAX} places are allowed",
            costs.places()
        )));
    }
    let cpus = cpus.and_then(|cpus| cpus.on_one()).ok_or_else(|| {
        wrong("its places are no CPUs of a computer, and hwloc describes nothing else; measure this computer")
    })?;
    let mut each_once = cpus.clone();
    each_once.sort_unstable();
    each_once.dedup();
    if each_once.len() < cpus.len() {
        return Err(wrong(
            "several of its SPEs share a CPU, and hwloc has each CPU once; measure fewer SPEs",
        ));
    }
    print(&write::hwloc(&costs, &cpus).map_err(|error| wrong(&error.to_string()))?)
}
