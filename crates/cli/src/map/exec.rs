//! `cellworks map exec`: starts a command on the CPUs of a placement.

// Rejected: `map exec` as the parent of the command. A parent would have to pass on signals and the
// exit code, so the process becomes the command instead.
// Rejected: adding CPUs to a process that a launcher has bound. The system allows this, but another
// rank may be bound to an added CPU, and both ranks would then share this CPU unnoticed.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellworks_mapping::Binding;
use clap::Args;

use super::binding::{allowed, confine, contradicting, refuse, set_openmp, to_report};
use super::launcher::rank;
use super::solution;
use crate::failure::Failure;
use crate::message;

const ADVICE: &str = "start it where it may use more (--bind-to none of mpirun, --cpu-bind=none of srun), or solve \
                      the problem for these";

/// The length at which a range of CPUs is cut. No system has so many.
const CPUS_MAX: usize = 1 << 16;

const AFTER_HELP: &str = "\
Examples:
  cellworks map solve graph.txt --costs matrix.json --format json > placement.json
  cellworks map exec placement.json -- ./program
      An OpenMP program: thread 0 on the CPU of task 0, thread 1 on that of task 1, and so on.
  mpirun --bind-to none cellworks map exec placement.json -- ./program
  srun --cpu-bind=none cellworks map exec placement.json -- ./program
      A process for each task, rank 0 of the computer on the CPU of task 0, and so on.
  cellworks map exec --no-openmp 6,4,2 -- make -j3
      Any program: the system assigns its threads and processes to these CPUs.

The exit code is that of the command. 2: the arguments or files make no sense, a CPU may not be used, or
there is no such command; then nothing was started.";

/// Starts a command on the CPUs of a placement.
///
/// The command, and every process that it starts, is confined to the CPUs of the placement. The
/// variables OMP_NUM_THREADS, OMP_PROC_BIND and OMP_PLACES tell an OpenMP program to bind a thread
/// to the CPU of each task, as in the runs of `map solve`. If another value of these, or
/// GOMP_CPU_AFFINITY or KMP_AFFINITY, is in the environment, the command does not get it, and a
/// warning says so. If mpirun or srun starts several processes on a computer, each process is
/// confined to one CPU: rank 0 of that computer to the CPU of task 0, rank 1 to the CPU of task 1,
/// and so on. The launcher must not bind the processes itself: use --bind-to none or
/// --cpu-bind=none.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ExecArgs {
    /// The placement: the JSON of `map solve`, or the CPUs of task 0, task 1 and so on, such as
    /// 6,4,2 or 0-3
    pub placement: PathBuf,

    /// Sets no variable of OpenMP. Use it for a program that is linked with OpenMP and also has
    /// other threads or starts processes: otherwise OpenMP binds its first thread to the CPU of
    /// task 0 before `main`, and these threads and processes stay there, too
    #[arg(long)]
    pub no_openmp: bool,

    /// The command to start, and its arguments
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
}

pub(crate) fn run(arguments: &ExecArgs) -> Result<(), Failure> {
    let cpus = cpus_of(&arguments.placement)?;
    let mine = match rank(cpus.len())? {
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
    refuse(&mine, &allowed()?, ADVICE)?;
    confine(mine.iter().copied()).map_err(Failure::Run)?;
    let [program, words @ ..] = &arguments.command[..] else {
        unreachable!("clap asks for a command")
    };
    let mut command = Command::new(program);
    command.args(words);
    let openmp = match arguments.no_openmp {
        true => Vec::new(),
        false => to_report(&Binding::to(mine)).openmp().to_vec(),
    };
    for (name, here, then) in contradicting(&openmp) {
        let here = here.display();
        message::warn(&match then {
            Some(then) => format!(
                "{name}={here} contradicts the placement, so the command gets {name}={then}"
            ),
            None => {
                format!("{name}={here} contradicts the placement, so the command does not get it")
            }
        });
    }
    set_openmp(&mut command, &openmp);
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
        cpus.extend((first..=last).take(CPUS_MAX));
    }
    Some(cpus)
}
