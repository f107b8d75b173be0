//! Bindings: placements in the notations of other tools.

use crate::ids::Place;
use crate::placement::Placement;

/// The CPU of each task. CPUs have the numbers of the operating system. The methods write the
/// binding for tools that bind tasks to CPUs.
///
/// ```
/// use cellworks_mapping::{Binding, Costs, Problem, Volumes};
///
/// # fn main() -> Result<(), cellworks_mapping::ProblemError> {
/// let volumes = Volumes::from_edges(3, [(0, 1, 1.0), (1, 2, 1.0)])?;
/// let costs = Costs::from_fn(4, |from, to| from.0.abs_diff(to.0) as f64)?;
/// let placement = Problem::builder(volumes, costs).build()?.placement([3, 2, 1])?;
///
/// // The places are CPUs 0, 2, 4 and 6.
/// let binding = Binding::new(&placement, |place| 2 * place.0);
/// assert_eq!(binding.slurm(), "map_cpu:6,4,2");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    cpus: Vec<usize>,
}

impl Binding {
    /// Binds each task to the CPU of its place. `cpu_of` returns the number of this CPU.
    pub fn new(placement: &Placement, cpu_of: impl Fn(Place) -> usize) -> Self {
        Self {
            cpus: placement
                .places()
                .iter()
                .map(|place| cpu_of(*place))
                .collect(),
        }
    }

    /// Binds task 0 to the CPU `cpus[0]`, task 1 to the CPU `cpus[1]`, and so on.
    pub fn to(cpus: Vec<usize>) -> Self {
        Self { cpus }
    }

    /// Returns the CPU of task 0, of task 1 and so on.
    pub fn cpus(&self) -> &[usize] {
        &self.cpus
    }

    /// Returns all CPUs that have a task, as in `0-3,8`. `taskset --cpu-list` and `numactl
    /// --physcpubind` bind a process and all its threads to all these CPUs (manual pages taskset(1)
    /// of util-linux and numactl(8)).
    pub fn cpu_list(&self) -> String {
        let mut cpus = self.cpus.clone();
        cpus.sort_unstable();
        cpus.dedup();
        let ranges = cpus
            .chunk_by(|cpu, next| cpu + 1 == *next)
            .map(|range| match range {
                [first, .., last] => format!("{first}-{last}"),
                _ => range[0].to_string(),
            });
        ranges.collect::<Vec<_>>().join(",")
    }

    /// Returns the value of `OMP_PLACES`, as in `{6},{4},{2}`: for each thread of an OpenMP
    /// program, the CPU in braces. With `OMP_PROC_BIND=close` and `OMP_NUM_THREADS` set to the
    /// number of tasks, thread i is bound to the CPU of task i (OpenMP API 5.2).
    pub fn openmp(&self) -> String {
        self.joined(|cpu| format!("{{{cpu}}}"))
    }

    /// Returns the value of `srun --cpu-bind`, as in `map_cpu:6,4,2`: the CPU of each task of a
    /// node (manual page srun(1) of Slurm).
    pub fn slurm(&self) -> String {
        format!("map_cpu:{}", self.joined(usize::to_string))
    }

    /// Returns the cpuset of each task, such as `0x00000040`, for `hwloc-bind` and hwloc's XML
    /// (`hwloc_bitmap_snprintf` in the manual of hwloc 2).
    pub fn hwloc(&self) -> Vec<String> {
        self.cpus.iter().map(|cpu| cpuset(&[*cpu])).collect()
    }

    /// Returns all CPUs that have a task as one cpuset, for a process and all its threads.
    pub fn cpuset(&self) -> String {
        cpuset(&self.cpus)
    }

    /// Returns a drop-in of systemd that confines a service to the CPUs of all tasks
    /// (systemd.exec(5) and systemd.resource-control(5) of systemd 244 or later).
    pub fn systemd(&self) -> String {
        let cpus = self.cpu_list();
        // An empty value takes back what other files of the unit say. Otherwise the CPUs add up.
        format!("[Service]\nCPUAffinity=\nCPUAffinity={cpus}\nAllowedCPUs=\nAllowedCPUs={cpus}\n")
    }

    fn joined(&self, one: impl Fn(&usize) -> String) -> String {
        self.cpus.iter().map(one).collect::<Vec<_>>().join(",")
    }
}

/// Writes CPUs as a cpuset of hwloc: a number in which the bit of each CPU is set. Commas separate
/// words of 32 bits, and the highest word comes first.
pub(crate) fn cpuset(cpus: &[usize]) -> String {
    let highest = cpus.iter().max().map_or(0, |cpu| cpu / 32);
    let mut words = vec![0_u32; highest + 1];
    for cpu in cpus {
        words[highest - cpu / 32] |= 1 << (cpu % 32);
    }
    let words: Vec<String> = words.iter().map(|word| format!("0x{word:08x}")).collect();
    words.join(",")
}
