//! The numbers that a launcher of parallel programs, such as `mpirun` or `srun`, gives a process.
//!
//! Sources: the manual pages srun(1) of Slurm and flux-environment(7) of Flux; the variables of
//! `mpirun` of Open MPI, of Hydra (MPICH, Intel MPI), of `mpirun_rsh` of MVAPICH2, of HPE's PALS and
//! of IBM's JSM (`jsrun`).

use std::env;

use crate::failure::Failure;
use crate::message;

/// The variables of a launcher.
struct Launcher {
    /// The number of the process among those that the launcher has started on this computer.
    rank: &'static str,
    /// The number of the process among those on all computers, and the number of these.
    in_job: [&'static str; 2],
    /// The number of the computer in the job, if the launcher sets it.
    node: Option<&'static str>,
    /// Returns the number of these processes, if the launcher sets it.
    processes: fn() -> Option<usize>,
}

/// The launchers, the innermost first. If one launcher starts another, such as `srun` starts
/// `mpirun`, the process has the variables of both, and those of the inner launcher count.
const LAUNCHERS: [Launcher; 8] = [
    Launcher {
        rank: "OMPI_COMM_WORLD_LOCAL_RANK",
        in_job: ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"],
        node: None,
        processes: || number("OMPI_COMM_WORLD_LOCAL_SIZE"),
    },
    Launcher {
        rank: "MV2_COMM_WORLD_LOCAL_RANK",
        in_job: ["MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"],
        node: None,
        processes: || number("MV2_COMM_WORLD_LOCAL_SIZE"),
    },
    Launcher {
        rank: "MPI_LOCALRANKID",
        in_job: [GLOBAL_RANK, GLOBAL_SIZE],
        node: None,
        processes: || number("MPI_LOCALNRANKS"),
    },
    Launcher {
        rank: "PALS_LOCAL_RANKID",
        in_job: ["PALS_RANKID", GLOBAL_SIZE],
        node: Some("PALS_NODEID"),
        processes: || number("PALS_LOCAL_SIZE"),
    },
    Launcher {
        rank: "PMI_LOCAL_RANK",
        in_job: [GLOBAL_RANK, GLOBAL_SIZE],
        node: None,
        processes: || number("PMI_LOCAL_SIZE"),
    },
    Launcher {
        rank: "JSM_NAMESPACE_LOCAL_RANK",
        in_job: ["JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"],
        node: None,
        processes: || number("JSM_NAMESPACE_LOCAL_SIZE"),
    },
    Launcher {
        rank: "FLUX_TASK_LOCAL_ID",
        in_job: ["FLUX_TASK_RANK", "FLUX_JOB_SIZE"],
        node: None,
        // Each computer of a job has at least one task.
        processes: || {
            let (tasks, computers) = (number("FLUX_JOB_SIZE")?, number("FLUX_JOB_NNODES")?);
            (tasks == computers).then_some(1)
        },
    },
    Launcher {
        rank: SLURM,
        in_job: ["SLURM_PROCID", "SLURM_STEP_NUM_TASKS"],
        node: Some("SLURM_NODEID"),
        processes: || match number("SLURM_STEP_NUM_TASKS") {
            Some(1) => Some(1),
            _ => tasks_of_slurm(
                &env::var("SLURM_STEP_TASKS_PER_NODE").ok()?,
                number("SLURM_NODEID")?,
            ),
        },
    },
];

/// The variable of Slurm that numbers the processes on a computer.
const SLURM: &str = "SLURM_LOCALID";

/// The variables of the Process Management Interface. They number the processes of all computers.
const GLOBAL_RANK: &str = "PMI_RANK";
const GLOBAL_SIZE: &str = "PMI_SIZE";

/// Returns the number that a launcher has given this process among the processes on this computer,
/// and the variable with this number: if all processes are on this computer, its rank. `tasks` is the number of tasks of the placement. Returns
/// `None` without a launcher, or if there is only one process on this computer.
///
/// # Errors
///
/// [`Failure::Usage`] if the variable is no number, or if the number of processes on this computer
/// is known, and is not that of the tasks.
pub(super) fn rank(tasks: usize) -> Result<Option<(usize, &'static str)>, Failure> {
    if let Some(launcher) = innermost() {
        return match (launcher.processes)() {
            Some(1) => Ok(None),
            Some(processes) if processes != tasks => Err(Failure::Usage(format!(
                "{}={}: the launcher has started {processes} processes on this computer, and the placement has \
                 {tasks} tasks; start one process for each",
                launcher.rank,
                env::var_os(launcher.rank).unwrap_or_default().display()
            ))),
            processes => {
                let [rank, size] = launcher.in_job;
                // Open MPI 5 may number the processes on a computer in another order than their ranks.
                let all_are_here = processes.is_some() && number(size) == processes;
                let name = if all_are_here && is_set(rank) {
                    rank
                } else {
                    launcher.rank
                };
                Ok(Some((rank_in(name)?, name)))
            }
        };
    }
    if !is_set(GLOBAL_RANK) {
        return Ok(None);
    }
    let rank = rank_in(GLOBAL_RANK)?;
    let size = number(GLOBAL_SIZE);
    if size == Some(tasks) && tasks > 1 {
        return Ok(Some((rank, GLOBAL_RANK)));
    }
    if size != Some(1) {
        let size = match size {
            Some(size) => format!("{GLOBAL_SIZE}={size}"),
            None => format!("without a number in {GLOBAL_SIZE}"),
        };
        message::warn(&format!(
            "{GLOBAL_RANK}={rank} ({size}) is not used: it numbers the processes of all computers, and the \
             placement has {tasks} tasks; the command may use the CPUs of all tasks; to confine it to one, set \
             PMI_LOCAL_RANK to its number on this computer"
        ));
    }
    Ok(None)
}

/// A process among those that a launcher has started on all computers.
pub(super) struct Process {
    pub rank: usize,
    /// The variable with the rank.
    pub variable: &'static str,
    /// The number of the processes, and its variable.
    pub size: Option<(usize, &'static str)>,
    /// The number of this computer in the job, and its variable.
    pub node: Option<(usize, &'static str)>,
    /// The name of this computer, if the launcher gives it one.
    pub host: Option<String>,
}

/// Returns what the launcher says of this process, or `None` without a launcher.
///
/// # Errors
///
/// [`Failure::Usage`] if the rank is no number.
pub(super) fn in_job() -> Result<Option<Process>, Failure> {
    let launcher = innermost();
    let [rank, size] = launcher.map_or([GLOBAL_RANK, GLOBAL_SIZE], |launcher| launcher.in_job);
    if !is_set(rank) {
        return Ok(None);
    }
    let numbered = |name: &'static str| Some((number(name)?, name));
    let is_slurm = launcher.is_some_and(|launcher| launcher.rank == SLURM);
    Ok(Some(Process {
        rank: rank_in(rank)?,
        variable: rank,
        size: numbered(size),
        node: launcher
            .and_then(|launcher| launcher.node)
            .and_then(numbered),
        host: env::var("SLURMD_NODENAME").ok().filter(|_| is_slurm),
    }))
}

/// Returns the launcher that has started this process.
fn innermost() -> Option<&'static Launcher> {
    // A batch script of Slurm has a number, but is not one of several processes.
    let is_script = is_set("SLURM_JOB_ID") && !is_set("SLURM_STEP_ID");
    let mut launchers = LAUNCHERS
        .iter()
        .filter(|launcher| !(launcher.rank == SLURM && is_script));
    launchers.find(|launcher| is_set(launcher.rank))
}

fn is_set(name: &str) -> bool {
    env::var_os(name).is_some()
}

fn number(name: &str) -> Option<usize> {
    env::var(name).ok()?.trim().parse().ok()
}

fn rank_in(name: &str) -> Result<usize, Failure> {
    number(name).ok_or_else(|| {
        Failure::Usage(format!(
            "{name}={}: a rank is a whole number, from 0 on; unset the variable if no launcher has set it",
            env::var_os(name).unwrap_or_default().display()
        ))
    })
}

/// Returns the number of tasks on the computer with the given number, from a list such as `2(x3),1`:
/// two tasks on each of three computers, and one on a fourth.
fn tasks_of_slurm(list: &str, computer: usize) -> Option<usize> {
    let mut first = 0_usize;
    for part in list.split(',') {
        let (tasks, computers) = match part.split_once("(x") {
            Some((tasks, computers)) => (tasks, computers.strip_suffix(')')?.parse().ok()?),
            None => (part, 1),
        };
        let next = first.saturating_add(computers);
        if (first..next).contains(&computer) {
            return tasks.parse().ok();
        }
        first = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::tasks_of_slurm;

    #[test]
    fn slurm_lists_the_tasks_of_computers() {
        let tasks = |list| [0, 2, 3, 4].map(|computer| tasks_of_slurm(list, computer));
        assert_eq!(tasks("2(x3),1"), [Some(2), Some(2), Some(1), None]);
        assert_eq!(tasks("1"), [Some(1), None, None, None]);
        for wrong in ["", "x", "2(x", "2(xa)"] {
            assert_eq!(tasks(wrong), [None; 4], "{wrong}");
        }
    }
}
