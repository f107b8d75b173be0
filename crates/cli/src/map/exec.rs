//! `cellworks map exec`: starts a command on the CPUs of a placement.

// Rejected: `map exec` as the parent of the command. A parent would have to pass on signals and the
// exit code, so the process becomes the command instead.
// Rejected: adding CPUs to a process that a launcher has bound. The system allows this, but another
// rank may be bound to an added CPU, and both ranks would then share this CPU unnoticed.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellworks_mapping::Binding;
use clap::Args;
use rustix::thread::{CpuSet, sched_setaffinity};

use super::binding::{allowed, refuse, to_report, unchangeable};
use super::solution;
use crate::failure::Failure;

const AFTER_HELP: &str = "\
Examples:
  cellworks map solve graph.txt --costs matrix.json --format json > placement.json
  cellworks map exec placement.json -- ./program
      An OpenMP program: thread 0 on the CPU of task 0, thread 1 on that of task 1, and so on.
  mpirun --bind-to none cellworks map exec placement.json -- ./program
  srun --cpu-bind=none cellworks map exec placement.json -- ./program
      A process for each task, rank 0 of the computer on the CPU of task 0, and so on.
  cellworks map exec 6,4,2 -- make -j3
      Any program: its threads and processes stay on these CPUs.

The exit code is that of the command. 2: the arguments or files make no sense, a CPU may not be used, or
there is no such command; then nothing was started.";

/// Starts a command on the CPUs of a placement.
///
/// The command, and every process that it starts, is confined to the CPUs of the placement. The
/// variables OMP_NUM_THREADS, OMP_PROC_BIND and OMP_PLACES tell an OpenMP program to bind a thread
/// to the CPU of each task; a variable that is already set is not changed. If mpirun or srun starts
/// several processes on a computer, each process is confined to one CPU: rank 0 of that computer to
/// the CPU of task 0, rank 1 to the CPU of task 1, and so on. The launcher must not bind the
/// processes itself: use --bind-to none or --cpu-bind=none.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ExecArgs {
    /// The placement: the JSON of `map solve`, or the CPUs of task 0, task 1 and so on, such as
    /// 6,4,2 or 0-3
    pub placement: PathBuf,

    /// The command to start, and its arguments
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
}

pub(crate) fn run(arguments: &ExecArgs) -> Result<(), Failure> {
    let cpus = cpus_of(&arguments.placement)?;
    let mine = match rank()? {
        None => cpus,
        Some((rank, variable)) => match cpus.get(rank) {
            Some(cpu) => vec![*cpu],
            None => {
                return Err(Failure::Usage(format!(
                    "{variable}={rank}: the placement has {} tasks, numbered from 0; start one process for each",
                    cpus.len()
                )));
            }
        },
    };
    confine_to(&mine)?;
    let [program, words @ ..] = &arguments.command[..] else {
        unreachable!("clap asks for a command")
    };
    let mut command = Command::new(program);
    command.args(words);
    for (name, value) in to_report(&Binding::to(mine)).openmp() {
        if env::var_os(name).is_none() {
            command.env(name, value);
        }
    }
    // This returns only if the command cannot be started.
    let error = command.exec();
    Err(Failure::Usage(format!(
        "{}: {error}; name a program that can be started",
        program.display()
    )))
}

/// Returns the CPU of each task.
fn cpus_of(placement: &Path) -> Result<Vec<usize>, Failure> {
    if let Some(cpus) = placement.to_str().and_then(listed) {
        return Ok(cpus);
    }
    let wrong = |why: &str| Failure::Usage(format!("{}: {why}", placement.display()));
    let report = solution::read(placement, "no list of CPUs, such as 6,4,2 or 0-3")?;
    match report.binding {
        Some(binding) if binding.cpus.is_empty() => {
            Err(wrong("it has a CPU for no task; solve the problem again"))
        }
        Some(binding) => Ok(binding.cpus),
        None => Err(wrong(
            "its places are no CPUs of a computer; solve the problem with --costs that were measured between \
             CPUs",
        )),
    }
}

/// Parses a list such as `6,4,0-2`. Returns `None` if the text is not such a list.
fn listed(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if first > last {
            return None;
        }
        // `take` limits the length of a huge range. A CPU that does not exist is refused later,
        // before the process is confined to it.
        cpus.extend((first..=last).take(CpuSet::MAX_CPU + 1));
    }
    Some(cpus)
}

/// The variables in which a launcher, such as `mpirun`, sets the number of this process and the
/// number of processes.
struct Launcher {
    rank: &'static str,
    processes: &'static str,
}

/// The launchers, the innermost first. If one launcher starts another, such as `srun` starts
/// `mpirun`, the process has the variables of both, and those of the inner launcher count.
const LAUNCHERS: [Launcher; 4] = [
    // Open MPI.
    Launcher {
        rank: "OMPI_COMM_WORLD_LOCAL_RANK",
        processes: "OMPI_COMM_WORLD_LOCAL_SIZE",
    },
    // Hydra, the launcher of MPICH and Intel MPI.
    Launcher {
        rank: "MPI_LOCALRANKID",
        processes: "MPI_LOCALNRANKS",
    },
    // Slurm. Its `PMI_RANK` numbers the processes of all computers together, so it is not used.
    Launcher {
        rank: "SLURM_LOCALID",
        processes: "SLURM_STEP_NUM_TASKS",
    },
    // Other launchers with the Process Management Interface.
    Launcher {
        rank: "PMI_RANK",
        processes: "PMI_SIZE",
    },
];

/// Returns the number that a launcher has given this process, and the variable with this number.
/// Returns `None` without a launcher, or if there is only one process.
fn rank() -> Result<Option<(usize, &'static str)>, Failure> {
    let is_set = |name: &str| env::var_os(name).is_some();
    // A batch script of Slurm has a number, but is not one of several processes.
    let is_script = is_set("SLURM_JOB_ID") && !is_set("SLURM_STEP_ID");
    let launchers = LAUNCHERS.iter();
    let mut launchers =
        launchers.filter(|launcher| !(launcher.rank == "SLURM_LOCALID" && is_script));
    let Some(launcher) = launchers.find(|launcher| is_set(launcher.rank)) else {
        return Ok(None);
    };
    if env::var_os(launcher.processes).as_deref() == Some(OsStr::new("1")) {
        return Ok(None);
    }
    let rank = env::var_os(launcher.rank).unwrap_or_default();
    match rank.to_str().and_then(|rank| rank.parse().ok()) {
        Some(rank) => Ok(Some((rank, launcher.rank))),
        None => Err(Failure::Usage(format!(
            "{}={}: a rank is a whole number, from 0 on; unset the variable if no launcher has set it",
            launcher.rank,
            rank.display()
        ))),
    }
}

/// Confines this process, and the command that it becomes, to the given CPUs.
fn confine_to(cpus: &[usize]) -> Result<(), Failure> {
    const ADVICE: &str = "start it where it may use more (--bind-to none of mpirun, --cpu-bind=none of srun), or \
                          solve the problem for these";
    refuse(cpus, &allowed()?, ADVICE)?;
    let mut chosen = CpuSet::new();
    for cpu in cpus {
        chosen.set(*cpu);
    }
    sched_setaffinity(None, &chosen).map_err(unchangeable)
}
