//! The CPUs that a process may use.

use cellworks_mapping::Binding;
use cellworks_report::CpuBinding;
use rustix::thread::{CpuSet, sched_getaffinity};

use crate::failure::Failure;

pub(super) fn allowed() -> Result<CpuSet, Failure> {
    sched_getaffinity(None).map_err(unchangeable)
}

pub(super) fn unchangeable(error: rustix::io::Errno) -> Failure {
    Failure::Run(format!(
        "the CPUs of this process cannot be changed: {error}"
    ))
}

/// Fails if one of the CPUs is not allowed. `advice` tells the user what to do.
pub(super) fn refuse(cpus: &[usize], allowed: &CpuSet, advice: &str) -> Result<(), Failure> {
    let may_be_used = |cpu: usize| cpu < CpuSet::MAX_CPU && allowed.is_set(cpu);
    let mut refused: Vec<usize> = cpus
        .iter()
        .copied()
        .filter(|cpu| !may_be_used(*cpu))
        .collect();
    if refused.is_empty() {
        return Ok(());
    }
    refused.sort_unstable();
    let all = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    Err(Failure::Usage(format!(
        "nothing can be bound to CPU {}: this process may use CPU {}; {advice}",
        Binding::to(refused).cpu_list(),
        Binding::to(all.collect()).cpu_list()
    )))
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
