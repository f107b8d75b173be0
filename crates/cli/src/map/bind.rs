//! `cellworks map bind`: prints a placement in the notation of a launcher or of another tool.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cellworks_host::parse_cpus;
use cellworks_mapping::{Binding, JobBinding};
use cellworks_report::ToolCommand;
use clap::{Args, ValueEnum};

use super::costs::{Nodes, is_numbered};
use super::exec::{host_name, is_same};
use super::solution;
use crate::failure::Failure;
use crate::message::warn;
use crate::output::print;

const AFTER_HELP: &str = "\
Examples:
  cellworks map bind placement.json
      Whole commands for each launcher and tool, and when one of them may not give the placement.
  cellworks map bind placement.json --for openmpi > rankfile
  mpirun --use-hwthread-cpus --mca rmaps_rank_file_physical 1 --rankfile rankfile ./program
  cellworks map bind placement.json --nodes n01,n02 --for slurm > hosts
      Nodes that `map solve` has numbered get names when the job has them. In a job of Slurm these
      are $(scontrol show hostnames | paste -sd,).

Exit codes: 0 done, 1 the result could not be written, 2 the arguments or files make no sense.";

/// Prints a placement in the notation of a launcher, or the commands that apply it.
///
/// The placement is the JSON of `map solve`. The files for launchers have the names of the nodes:
/// those of `map solve --nodes n01,n02`, or of --nodes here.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct BindArgs {
    /// The placement: the JSON of `map solve`, or the CPUs of task 0, task 1 and so on, such as
    /// 6,4,2 or 0-3
    pub placement: PathBuf,

    /// Prints the file that this launcher or tool reads, and nothing else
    #[arg(long = "for", value_name = "TOOL", value_enum)]
    pub tool: Option<Tool>,

    /// The names of the nodes of the placement, in its order, such as n01,n02, if it has none or
    /// others
    #[arg(long, value_name = "NAMES")]
    pub nodes: Option<Nodes>,

    /// The node whose drop-in of systemd is printed, by its name
    #[arg(long, value_name = "NAME", requires = "tool")]
    pub node: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tool {
    /// A rankfile of Open MPI 4
    Openmpi,
    /// A host file for `srun --distribution=arbitrary` of Slurm
    Slurm,
    /// A host file of Hydra, the `mpiexec` of MPICH
    Hydra,
    /// A drop-in that confines a service to the CPUs of one node
    Systemd,
    /// The CPUs of each node as a list, for Kubernetes, containers and cpusets
    Cpusets,
}

pub(crate) fn run(arguments: &BindArgs) -> Result<(), Failure> {
    let file = &arguments.placement;
    let job = solution::job(file, arguments.nodes.as_ref())?;
    let wrong = |why: String| Failure::Usage(format!("{}: {why}", file.display()));
    if arguments.node.is_some() && arguments.tool != Some(Tool::Systemd) {
        return Err(Failure::usage(
            "--node chooses the node of --for systemd; leave it out: the files for other tools have all nodes",
        ));
    }
    if let Some(why) = of_missing_cpus(&job) {
        warn(&format!("{}: {why}", file.display()));
    }
    let Some(tool) = arguments.tool else {
        let lines = commands(&job, file, arguments.nodes.is_some())
            .into_iter()
            .map(|command| {
                let ToolCommand { tool, words, note } = command;
                format!("# {tool}: {note}\n{words}\n")
            });
        return print(&lines.collect::<Vec<_>>().join("\n"));
    };
    if job.nodes().iter().any(|node| is_numbered(node)) {
        return Err(wrong(format!(
            "its {} nodes have numbers, and launchers take names; name them with --nodes, such as --nodes n01,n02",
            job.nodes().len()
        )));
    }
    let text = match tool {
        Tool::Openmpi => job.rankfile(),
        Tool::Slurm => job.slurm_hosts(),
        Tool::Hydra => job.hydra_hosts(),
        Tool::Cpusets => job.cpusets(),
        Tool::Systemd => drop_in(&job, arguments.node.as_deref(), wrong)?,
    };
    print(&text)
}

/// Returns a warning if a node of the job is this computer, which does not have all of its CPUs.
fn of_missing_cpus(job: &JobBinding) -> Option<String> {
    let host = host_name();
    let number = job.nodes().iter().position(|node| is_same(node, &host))?;
    let present = fs::read_to_string("/sys/devices/system/cpu/present").ok()?;
    let present: BTreeSet<usize> = (parse_cpus(&present)?.into_iter())
        .map(|cpu| cpu as usize)
        .collect();
    let of_tasks: BTreeSet<usize> = job.on(number).cpus().iter().copied().collect();
    let list = |cpus: BTreeSet<usize>| Binding::to(cpus.into_iter().collect()).cpu_list();
    let missing = &of_tasks - &present;
    (!missing.is_empty()).then(|| {
        format!(
            "it has tasks on CPU {} of {}, which is this computer and has CPU {}; solve the problem with --costs that \
             describe its CPUs",
            list(missing),
            job.nodes()[number],
            list(present)
        )
    })
}

fn drop_in(
    job: &JobBinding,
    node: Option<&str>,
    wrong: impl Fn(String) -> Failure,
) -> Result<String, Failure> {
    let names = job.nodes();
    let number = match (names, node) {
        ([] | [_], None) => 0,
        (_, None) => {
            return Err(wrong(format!(
                "a drop-in is for one computer, and it is on {} nodes; choose one with --node {}",
                names.len(),
                names[0]
            )));
        }
        (_, Some(node)) => names.iter().position(|name| name == node).ok_or_else(|| {
            wrong(match names {
                [] => format!(
                    "it has no node {node}, because it is on one computer; leave --node out"
                ),
                _ => format!("it has no node {node}; its nodes are {}", names.join(", ")),
            })
        })?,
    };
    let binding = job.on(number);
    match binding.cpus() {
        [] => Err(wrong(format!("{} has no task", names[number]))),
        _ => Ok(binding.systemd()),
    }
}

/// What the lines for Open MPI, Hydra and Slurm give, and when they do not.
const OF_OPEN_MPI: &str = "a rank for each task; Open MPI 4; the mask of taskset does not count; if a CPU does not exist, \
                           nothing is started, without a word";
const OF_HYDRA: &str = "a rank for each task; the mask of taskset does not count; a rank whose CPU does not exist is not \
                        bound, without a word";
const OF_SLURM: &str = "a rank for each task, in a job of whole nodes (salloc --exclusive) where Slurm binds tasks \
                        (task/affinity); CPUs that the job does not have are refused";

/// Returns the commands that apply a placement, each with what it gives and when it does not.
/// `file` is the placement, as the commands name it. `are_named` says that the user has given the
/// nodes other names than the file.
pub(super) fn commands(job: &JobBinding, file: &Path, are_named: bool) -> Vec<ToolCommand> {
    let file = quoted(&file.display().to_string());
    let tasks = job.tasks().len();
    let names = if are_named {
        format!(" --nodes {}", job.nodes().join(","))
    } else if job.nodes().iter().any(|node| is_numbered(node)) {
        " --nodes NAMES".to_owned()
    } else {
        String::new()
    };
    let bind = format!("cellworks map bind {file}{names} --for");
    let exec = format!("cellworks map exec {file}{names} -- COMMAND");
    let mut all = Vec::new();
    let mut add = |tool: &str, words: String, note: &str| {
        all.push(ToolCommand {
            tool: tool.to_owned(),
            words,
            note: note.to_owned(),
        });
    };
    let mpirun =
        "mpirun --use-hwthread-cpus --mca rmaps_rank_file_physical 1 --rankfile rankfile COMMAND";
    let openmpi = format!("{bind} openmpi > rankfile && {mpirun}");
    if job.nodes().is_empty() {
        let binding = job.on(0);
        let list = binding.cpu_list();
        add(
            "taskset",
            format!("taskset --cpu-list {list} COMMAND"),
            "all threads on all of these CPUs; CPUs that do not exist are left out without a word",
        );
        add(
            "numactl",
            format!("numactl --physcpubind={list} COMMAND"),
            "all threads on all of these CPUs; CPUs that do not exist, or are not in the mask of taskset, are refused",
        );
        add(
            "OpenMP",
            format!(
                "OMP_NUM_THREADS={tasks} OMP_PROC_BIND=close OMP_PLACES='{}' COMMAND",
                binding.openmp()
            ),
            "a thread for each task; if a CPU may not be used, its thread shares another",
        );
        add("Open MPI", openmpi, OF_OPEN_MPI);
        add(
            "MPICH",
            format!(
                "mpiexec.hydra -n {tasks} -bind-to {} COMMAND",
                job.hydra().unwrap_or_default()
            ),
            OF_HYDRA,
        );
        add(
            "Slurm",
            format!(
                "srun --nodes=1 --ntasks={tasks} --cpu-bind={} COMMAND",
                binding.slurm()
            ),
            OF_SLURM,
        );
        add(
            "hwloc",
            // `hwloc-bind` reads a list such as `0,2` as words of a mask.
            format!("hwloc-bind {} COMMAND", binding.cpuset()),
            "all threads on all of these CPUs; CPUs that do not exist are refused; the mask of taskset does not count",
        );
        return all;
    }
    add("Open MPI", openmpi, OF_OPEN_MPI);
    let how = |one_list: Option<String>, flag: &str, none: &str| match one_list {
        Some(list) => format!("{flag}{list} COMMAND"),
        None => format!("{flag}{none} {exec}"),
    };
    add(
        "Slurm",
        format!(
            "{bind} slurm > hosts && SLURM_HOSTFILE=hosts srun --ntasks={tasks} --distribution=arbitrary {}",
            how(job.slurm(), "--cpu-bind=", "none")
        ),
        match job.slurm() {
            Some(_) => OF_SLURM,
            None => {
                "a rank for each task, in a job of whole nodes (salloc --exclusive); no list of CPUs suits all nodes, so \
                 `map exec` binds the ranks"
            }
        },
    );
    add(
        "MPICH",
        format!(
            "{bind} hydra > hosts && mpiexec.hydra -f hosts -n {tasks} {}",
            how(job.hydra(), "-bind-to ", "none")
        ),
        match job.hydra() {
            Some(_) => OF_HYDRA,
            None => {
                "a rank for each task; no list of CPUs suits all lines of the file, so `map exec` binds the ranks"
            }
        },
    );
    all
}

/// Returns a word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+,:@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
