//! Reads the output of `cellworks map solve`.

use std::path::Path;

use cellworks_mapping::JobBinding;
use cellworks_report::{Measured, PlacementReport};

use super::binding::{CPUS_MAX, listed};
use super::costs::Nodes;
use crate::failure::Failure;

/// Reads a placement. If the file does not exist, the error message contains `instead`, which names
/// the arguments that are possible instead of a file.
pub(super) fn read(file: &Path, instead: &str) -> Result<PlacementReport, Failure> {
    let wrong = |why: String| Failure::Usage(format!("{}: {why}", file.display()));
    if !file.exists() {
        return Err(wrong(format!(
            "it is {instead}, and there is no such file; name what `cellworks map solve` printed with --format json"
        )));
    }
    match cellworks_report::read(file) {
        Ok(Measured::Placement(report)) => Ok(report),
        Ok(other) => Err(wrong(format!(
            "`cellworks {}` printed it, and it has no placement; name what `cellworks map solve` printed with \
             --format json",
            other.printed_by()
        ))),
        Err(error) => Err(Failure::usage(error)),
    }
}

/// Returns the node and the CPU of each task of a placement, which is a file or a list of CPUs.
/// `names` are the names of the nodes, in the order of the placement.
pub(super) fn job(placement: &Path, names: Option<&Nodes>) -> Result<JobBinding, Failure> {
    let wrong = |why: String| Failure::Usage(format!("{}: {why}", placement.display()));
    let (mut nodes, tasks) = match placement.to_str().and_then(listed) {
        Some(cpus) => (Vec::new(), cpus.into_iter().map(|cpu| (0, cpu)).collect()),
        None => placed(placement)?,
    };
    if tasks.is_empty() {
        return Err(wrong(
            "it has a CPU for no task; solve the problem again".to_owned(),
        ));
    }
    if let Some(Nodes(names)) = names {
        if names.len() != nodes.len().max(1) {
            return Err(wrong(format!(
                "--nodes names {}, and the placement is on {}; name each of them, in the order of the placement",
                names.len(),
                nodes.len().max(1)
            )));
        }
        nodes.clone_from(names);
    }
    if let Some((_, cpu)) = tasks.iter().find(|(_, cpu)| *cpu >= CPUS_MAX) {
        return Err(wrong(format!(
            "there is no CPU {cpu}: the numbers of CPUs end at {}",
            CPUS_MAX - 1
        )));
    }
    match tasks.iter().find(|(node, _)| *node >= nodes.len().max(1)) {
        Some((node, _)) => Err(wrong(format!(
            "a task is on node {node}, and it has {} nodes, numbered from 0; solve the problem again",
            nodes.len()
        ))),
        None => Ok(JobBinding::new(nodes, tasks)),
    }
}

/// The names of the nodes, and the node and the CPU of each task.
type Placed = (Vec<String>, Vec<(usize, usize)>);

fn placed(placement: &Path) -> Result<Placed, Failure> {
    let report = read(placement, "no list of CPUs, such as 6,4,2 or 0-3")?;
    let cpus = report.cpus.iter().map(|place| (place.node, place.cpu));
    match report.binding {
        _ if !report.nodes.is_empty() => Ok((report.nodes, cpus.collect())),
        Some(binding) => Ok((
            Vec::new(),
            binding.cpus.into_iter().map(|cpu| (0, cpu)).collect(),
        )),
        None => Err(Failure::Usage(format!(
            "{}: its places are no CPUs of a computer; solve the problem with --costs that were measured between \
             CPUs",
            placement.display()
        ))),
    }
}
