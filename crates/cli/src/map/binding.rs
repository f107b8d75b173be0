//! The CPUs that a process may use, and how a command is told its CPUs.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::process::Command;

use cellworks_host::{allowed_cpus, confine_to};
use cellworks_mapping::Binding;
use cellworks_report::CpuBinding;

use crate::failure::Failure;

/// The environment variables that bind threads in the run-time libraries of OpenMP: those of all
/// libraries, of GCC and of LLVM. The variables of one library come before those of all.
const BINDING_VARIABLES: [&str; 4] = [
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",
];

/// The length at which a range of CPUs is cut. No system has more CPUs.
pub(super) const CPUS_MAX: usize = 1 << 16;

pub(super) fn allowed() -> Result<BTreeSet<usize>, Failure> {
    let cpus = allowed_cpus().map_err(|error| {
        Failure::Run(format!(
            "the CPUs of this process cannot be read: {error}; sandboxes may forbid `sched_getaffinity`: allow it"
        ))
    })?;
    Ok(cpus.into_iter().map(|cpu| cpu as usize).collect())
}

/// Confines this thread, and the commands that it starts, to the given CPUs.
pub(super) fn confine(cpus: impl IntoIterator<Item = usize>) -> Result<(), String> {
    let cpus = cpus.into_iter().filter_map(|cpu| u32::try_from(cpu).ok());
    confine_to(&cpus.collect())
        .map_err(|error| format!("the CPUs of this process cannot be changed: {error}"))
}

/// Fails if one of the CPUs is not allowed. `advice` tells the user what to do.
pub(super) fn refuse(
    cpus: &[usize],
    allowed: &BTreeSet<usize>,
    advice: &str,
) -> Result<(), Failure> {
    let refused = cpus.iter().filter(|cpu| !allowed.contains(cpu));
    let refused: BTreeSet<usize> = refused.copied().collect();
    if refused.is_empty() {
        return Ok(());
    }
    let list = |cpus: &BTreeSet<usize>| Binding::to(cpus.iter().copied().collect()).cpu_list();
    Err(Failure::Usage(format!(
        "nothing can be bound to CPU {}: this process may use CPU {}; {advice}",
        list(&refused),
        list(allowed)
    )))
}

/// Sets the variables of OpenMP in the environment of a command: those in `set`, and no other one
/// that binds threads.
pub(super) fn set_openmp(command: &mut Command, set: &[(&'static str, String)]) {
    for name in BINDING_VARIABLES {
        command.env_remove(name);
    }
    command.envs(set.iter().map(|(name, value)| (name, value)));
}

/// Returns the variables of this process that [`set_openmp`] changes, each with its value here and
/// its value for the command.
pub(super) fn contradicting<'a>(
    set: &'a [(&'static str, String)],
) -> impl Iterator<Item = (&'static str, OsString, Option<&'a str>)> {
    let of_set = set.iter().map(|(name, _)| *name);
    let removed = BINDING_VARIABLES.into_iter();
    let removed = removed.filter(move |name| set.iter().all(|(other, _)| other != name));
    of_set.chain(removed).filter_map(move |name| {
        let here = env::var_os(name).filter(|value| !value.is_empty())?;
        let mut same_name = set.iter().filter(|(other, _)| *other == name);
        let then = same_name.next().map(|(_, value)| value.as_str());
        (then.is_none_or(|value| here != value)).then_some((name, here, then))
    })
}

pub(super) fn to_report(binding: &Binding) -> CpuBinding {
    CpuBinding {
        cpus: binding.cpus().to_vec(),
        cpu_list: binding.cpu_list(),
        omp_places: binding.openmp(),
        slurm_cpu_bind: binding.slurm(),
        hwloc_cpusets: binding.hwloc(),
    }
}

/// Parses a list such as `6,4,0-2`. Returns `None` if the text is not such a list.
pub(super) fn listed(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if first > last {
            return None;
        }
        // `take` limits the length of a huge range. A CPU that does not exist is refused later,
        // before the process is confined to it.
        cpus.extend((first..=last).take(CPUS_MAX));
    }
    Some(cpus)
}
