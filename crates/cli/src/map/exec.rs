//! `cellworks map exec`: starts a command on the CPUs of a placement.

// Rejected: `map exec` as the parent of the command. A parent would have to pass on signals and the
// exit code, so the process becomes the command instead.
// Rejected: adding CPUs to a process that a launcher has bound. The system allows this, but another
// rank may be bound to an added CPU, and both ranks would then share this CPU unnoticed.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use cellworks_mapping::{Binding, JobBinding};
use clap::Args;

use super::binding::{allowed, confine, contradicting, refuse, set_openmp, to_report};
use super::costs::{Nodes, is_numbered};
use super::launcher::{Process, in_job, rank};
use super::solution;
use crate::failure::Failure;
use crate::message;

const ADVICE: &str = "start it where it may use more (--bind-to none of mpirun, -bind-to none of mpiexec.hydra, \
                      --cpu-bind=none of srun), or solve the problem for these";

const AFTER_HELP: &str = "\
Examples:
  cellworks map solve graph.txt --costs matrix.json --format json > placement.json
  cellworks map exec placement.json -- ./program
      An OpenMP program: thread 0 on the CPU of task 0, thread 1 on that of task 1, and so on.
  mpirun --bind-to none cellworks map exec placement.json -- ./program
  srun --cpu-bind=none cellworks map exec placement.json -- ./program
      A process for each task: rank 0 of the computer on the CPU of task 0, and so on. For a placement
      on several nodes it is rank 0 of the job, and `map bind` prints the file with which a launcher
      starts each rank on its node.
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
/// and so on. If the placement is on several nodes, the rank is that in the whole job, and a
/// process that the launcher has started on another node than that of its task is refused. The
/// launcher must not bind the processes itself: use --bind-to none of mpirun, -bind-to none of
/// mpiexec.hydra, or --cpu-bind=none of srun.
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

    /// The names of the nodes of the placement, in its order, such as n01,n02, if it has none or
    /// others
    #[arg(long, value_name = "NAMES")]
    pub nodes: Option<Nodes>,

    /// The command to start, and its arguments
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
}

pub(crate) fn run(arguments: &ExecArgs) -> Result<(), Failure> {
    let job = solution::job(&arguments.placement, arguments.nodes.as_ref())?;
    let mine = if job.nodes().is_empty() {
        on_this_computer(&job)?
    } else {
        vec![in_the_job(&job)?]
    };
    refuse(&mine, &allowed()?, ADVICE)?;
    confine(mine.iter().copied()).map_err(Failure::Run)?;
    let [program, words @ ..] = &arguments.command[..] else {
        unreachable!("clap asks for a command")
    };
    let mut command = Command::new(program);
    command.args(words);
    let openmp = if arguments.no_openmp {
        Vec::new()
    } else {
        to_report(&Binding::to(mine)).openmp().to_vec()
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

/// Returns the CPUs for this process, if the placement is on one computer.
fn on_this_computer(job: &JobBinding) -> Result<Vec<usize>, Failure> {
    let binding = job.on(0);
    let cpus = binding.cpus();
    match rank(cpus.len())? {
        None => Ok(cpus.to_vec()),
        Some((rank, variable)) => match cpus.get(rank) {
            Some(cpu) => Ok(vec![*cpu]),
            None => Err(no_task(rank, variable, cpus.len())),
        },
    }
}

/// Returns the CPU for this process, which has to be on the node of its task.
fn in_the_job(job: &JobBinding) -> Result<usize, Failure> {
    let tasks = job.tasks().len();
    let Some(process) = in_job()? else {
        return Err(Failure::Usage(format!(
            "the placement is for a job, and no launcher has given this process its rank in a job; start it with \
             mpirun, mpiexec or srun, one process for each of the {tasks} tasks"
        )));
    };
    let Process { rank, variable, .. } = process;
    if let Some((size, variable)) = process.size.filter(|(size, _)| *size != tasks) {
        return Err(Failure::Usage(format!(
            "{variable}={size}: the placement has {tasks} tasks; start one process for each"
        )));
    }
    let Some((node, cpu)) = job.tasks().get(rank) else {
        return Err(no_task(rank, variable, tasks));
    };
    let elsewhere = |here: &str, there: &str, more: &str| {
        Err(Failure::Usage(format!(
            "{variable}={rank}: this process is on {here}, and the placement has task {rank} on {there}; start the job \
             with the file that `cellworks map bind` prints for the launcher{more}"
        )))
    };
    let name = &job.nodes()[*node];
    if is_numbered(name) {
        return match process.node {
            Some((here, _)) if here == *node => Ok(*cpu),
            Some((here, variable)) => elsewhere(&format!("node {here} ({variable})"), name, ""),
            None => Err(Failure::usage(
                "the placement does not name its nodes, and the launcher does not number them; name them with \
                 --nodes, such as --nodes n01,n02",
            )),
        };
    }
    let host = process.host.unwrap_or_else(host_name);
    if is_same(name, &host) {
        return Ok(*cpu);
    }
    let more = if job.nodes().iter().any(|name| is_same(name, &host)) {
        ""
    } else {
        ", or name the nodes as they name themselves with --nodes"
    };
    elsewhere(&format!("node {host}"), &format!("node {name}"), more)
}

fn no_task(rank: usize, variable: &str, tasks: usize) -> Failure {
    Failure::Usage(format!(
        "{variable}={rank}: the placement has {tasks} tasks, numbered from 0; start one process for each"
    ))
}

pub(super) fn host_name() -> String {
    // The kernel answers with the name in the namespace of this process, as `gethostname` does.
    let name = fs::read_to_string("/proc/sys/kernel/hostname");
    name.unwrap_or_default().trim().to_owned()
}

/// Returns whether two names are those of one node. One of them may lack the domain.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let has_domain = |name: &str| name.contains('.');
    if has_domain(one) == has_domain(other) {
        one.eq_ignore_ascii_case(other)
    } else {
        let short = |name: &str| name.split('.').next().unwrap_or_default().to_lowercase();
        short(one) == short(other)
    }
}
