//! Placements that launchers and other tools apply: `cellworks map bind` and `map exec`.
//!
//! The tests start each tool where it is installed, with the command that `map bind` prints, and
//! look where each rank or thread is. Two computers are two names of this one: a launcher starts
//! its processes there by a script in place of `ssh`, which changes the name.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::common::{EMULATED, Run, cellworks, list, output_if_installed, skipped};
use crate::map::{exec, files, two_allowed};

/// Prints the rank, the name of the computer and the CPUs of a process.
const WHERE: &str = "echo ${OMPI_COMM_WORLD_RANK-${PMI_RANK-${SLURM_PROCID-0}}} $(uname -n) \
                     $(sed -n 's/Cpus_allowed_list:\t//p' /proc/self/status)\n";

/// Starts a command on another computer, as `ssh` does, but only the name of the computer differs.
const ELSEWHERE: &str =
    "#!/bin/sh\nhost=$1\nshift\nexec unshare --uts sh -c \"hostname $host; $*\"\n";

/// Six tasks: three exchange much, and so do the others.
const TWO_GROUPS: &str = "0 2 9\n2 4 9\n4 0 9\n1 3 9\n3 5 9\n5 1 9\n0 1 1\n";

fn bind(arguments: &[&str]) -> Run {
    Run::of(cellworks().args(["map", "bind"]).args(arguments))
}

#[track_caller]
fn bound(arguments: &[&str]) -> String {
    let run = bind(arguments);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{arguments:?}");
    run.out
}

/// A folder with `placement.json`: six tasks on two nodes, each of which has the two given CPUs.
fn on_two_nodes(nodes: &str, [first, second]: [usize; 2]) -> tempfile::TempDir {
    let (folder, paths) = files(&[("graph.txt", TWO_GROUPS), ("node.csv", ",\n10,\n")]);
    let [graph, costs] = [&paths[0], &paths[1]].map(|path| path.to_str().unwrap());
    let mut solve = cellworks();
    solve.args([
        "map",
        "solve",
        graph,
        "--costs",
        costs,
        "--time",
        "1",
        "--capacity",
        "2",
    ]);
    solve.args([
        "--cpus-of-rows",
        &format!("{first},{second}"),
        "--nodes",
        nodes,
    ]);
    solve.args(["--network", "1us", "--format", "json"]);
    let placement = Run::of(&mut solve);
    assert_eq!(placement.code, Some(0), "{}", placement.err);
    fs::write(folder.path().join("placement.json"), placement.out).unwrap();
    folder
}

fn path(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

/// Returns `rank node CPU` of each task of `placement.json`.
fn expected(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("placement.json")).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    let nodes = list(&report, "nodes");
    let cpus = list(&report, "cpus").iter().enumerate();
    cpus.map(|(rank, cpu)| {
        let node = &nodes[cpu["node"].as_u64().unwrap() as usize];
        format!("{rank} {} {}", node.as_str().unwrap(), cpu["cpu"])
    })
    .collect()
}

/// Runs lines of a shell in a folder, where `cellworks` is this command, and launchers start
/// processes on other computers by `ELSEWHERE`.
fn shell(folder: &Path, lines: &str) -> Run {
    let cellworks = PathBuf::from(cellworks().get_program());
    let own = cellworks.parent().unwrap().to_owned();
    let others = env::var_os("PATH").unwrap_or_default();
    let all = [own].into_iter().chain(env::split_paths(&others));
    let elsewhere = folder.join("elsewhere");
    fs::write(&elsewhere, ELSEWHERE).unwrap();
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o755)).unwrap();
    let mut shell = Command::new("sh");
    shell
        .args(["-e", "-c", lines])
        .current_dir(folder)
        .env_clear();
    shell.env("PATH", env::join_paths(all).unwrap());
    shell.envs(env::var_os(EMULATED).map(|folder| (EMULATED, folder)));
    shell.env("OMPI_MCA_plm_rsh_agent", &elsewhere);
    shell.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
    shell.env("HYDRA_LAUNCHER", "rsh");
    shell.env("HYDRA_LAUNCHER_EXEC", &elsewhere);
    // mpirun refuses to run as root unless both variables are set.
    shell.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
    shell.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    Run::of(&mut shell)
}

/// Returns the command that `map bind` prints for a tool. `program` stands for `COMMAND`.
#[track_caller]
fn printed(folder: &Path, placement: &str, tool: &str, program: &str) -> String {
    fs::write(folder.join("where"), WHERE).unwrap();
    let printed = shell(folder, &format!("cellworks map bind {placement}")).out;
    let begin = format!("# {tool}: ");
    let mut lines = printed.lines().skip_while(|line| !line.starts_with(&begin));
    let line = lines.nth(1).unwrap_or_else(|| panic!("{tool}: {printed}"));
    line.replace("COMMAND", program)
}

/// Runs a command, and returns its lines in order.
#[track_caller]
fn sorted(folder: &Path, command: &str) -> Vec<String> {
    let run = shell(folder, command);
    assert_eq!(run.code, Some(0), "{command}: {}{}", run.out, run.err);
    let mut lines: Vec<String> = run.out.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[track_caller]
fn run_printed(folder: &Path, placement: &str, tool: &str, program: &str) -> Vec<String> {
    sorted(folder, &printed(folder, placement, tool, program))
}

/// Returns whether a tool is installed, and if its version has to begin in a certain way, does.
fn has(tool: &str, version: &str) -> bool {
    let output = output_if_installed(Command::new(tool).arg("--version"));
    let is_there = output.is_some_and(|output| {
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).contains(version)
    });
    if !is_there {
        skipped(&format!("{tool} is not installed, or is not {version:?}"));
    }
    is_there
}

fn has_open_mpi_4() -> bool {
    has("mpirun", "mpirun (Open MPI) 4.")
}

/// Returns whether this process may give itself another name of the computer.
fn has_two_names() -> bool {
    let unshare = Command::new("unshare")
        .args(["--uts", "hostname", "n01"])
        .output();
    let may = unshare.is_ok_and(|output| output.status.success());
    if !may {
        skipped("`unshare --uts hostname` is not possible here");
    }
    may
}

fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    name.trim().to_owned()
}

#[test]
fn each_notation_is_printed_alone() {
    let folder = on_two_nodes("n01,n02", [7, 5]);
    let placement = path(&folder, "placement.json");
    let expected: Vec<[String; 3]> = expected(folder.path())
        .iter()
        .map(|line| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            words.try_into().unwrap()
        })
        .collect();
    let of_ranks =
        |line: &dyn Fn(&[String; 3]) -> String| -> String { expected.iter().map(line).collect() };
    assert_eq!(
        bound(&[&placement, "--for", "openmpi"]),
        of_ranks(&|[rank, node, cpu]| format!("rank {rank}={node} slot={cpu}\n"))
    );
    assert_eq!(
        bound(&[&placement, "--for", "slurm"]),
        of_ranks(&|[_, node, _]| format!("{node}\n"))
    );
    // Tasks 0 and 1 are on different nodes, and so on.
    assert_eq!(
        bound(&[&placement, "--for", "hydra"]),
        of_ranks(&|[_, node, _]| format!("{node}:1\n"))
    );
    assert_eq!(
        bound(&[&placement, "--for", "cpusets"]),
        "n01 5,7\nn02 5,7\n"
    );
    let drop_in = "[Service]\nCPUAffinity=\nCPUAffinity=5,7\nAllowedCPUs=\nAllowedCPUs=5,7\n";
    assert_eq!(
        bound(&[&placement, "--for", "systemd", "--node", "n02"]),
        drop_in
    );
    assert_eq!(bound(&["7,5", "--for", "systemd"]), drop_in);
    // Other names, in the order of the placement.
    let renamed = bound(&[&placement, "--for", "slurm", "--nodes", "a,b"]);
    assert_eq!(
        renamed,
        of_ranks(&|[_, node, _]| node.replace("n01", "a\n").replace("n02", "b\n"))
    );
}

#[test]
fn two_nodes_never_get_one_list_that_does_not_suit_both() {
    let (folder, paths) = files(&[("graph.txt", "0 1\n1 2\n2 3\n")]);
    let graph = paths[0].to_str().unwrap();
    let solve = |fix: &str, format: &str| {
        let mut solve = cellworks();
        solve.args([
            "map",
            "solve",
            graph,
            "--costs",
            "node:2@9 core:4@1",
            "--fix",
            fix,
        ]);
        Run::of(solve.args(["--format", format]))
            .out
            .replace("\n  ", " ")
    };
    // Node 0 has CPUs 0 and 1, and node 1 has CPUs 3 and 2: places 7 and 6.
    let text = solve("0=0,1=1,2=7,3=6", "table");
    assert!(!text.contains("map_cpu"), "{text}");
    let by_exec = "--cpu-bind=none cellworks map exec placement.json --nodes NAMES -- COMMAND";
    assert!(text.contains(by_exec), "{text}");
    assert!(
        text.contains("Assumed: a machine in one line names no CPUs"),
        "{text}"
    );
    let alike = solve("0=0,1=1,2=4,3=5", "table");
    assert!(alike.contains("--cpu-bind=map_cpu:0,1 COMMAND"), "{alike}");
    let placement = path(&folder, "placement.json");
    fs::write(&placement, solve("0=0,1=1,2=7,3=6", "json")).unwrap();
    let mut report: Value = serde_json::from_str(&fs::read_to_string(&placement).unwrap()).unwrap();
    assert_eq!(report["commands"][1]["tool"], "Slurm");

    let refused = |arguments: &[&str], message: &str| {
        let run = bind(&[&[placement.as_str()], arguments].concat());
        run.refused(&format!("error: {placement}: {message}\n"));
    };
    refused(
        &["--for", "openmpi"],
        "its 2 nodes have numbers, and launchers take names; name them with --nodes, such as --nodes n01,n02",
    );
    refused(
        &["--for", "openmpi", "--nodes", "a,b,c"],
        "--nodes names 3, and the placement is on 2; name each of them, in the order of the placement",
    );
    refused(
        &["--for", "systemd", "--nodes", "a,b"],
        "a drop-in is for one computer, and it is on 2 nodes; choose one with --node a",
    );
    refused(
        &["--for", "systemd", "--nodes", "a,b", "--node", "c"],
        "it has no node c; its nodes are a, b",
    );
    report["cpus"][0]["node"] = json!(2);
    fs::write(&placement, report.to_string()).unwrap();
    refused(
        &[],
        "a task is on node 2, and it has 2 nodes, numbered from 0; solve the problem again",
    );
    bind(&["0-1", "--for", "slurm", "--node", "a"]).refused(
        "error: --node chooses the node of --for systemd; leave it out: the files for other tools have all nodes\n",
    );
    bind(&["70000"])
        .refused("error: 70000: there is no CPU 70000: the numbers of CPUs end at 65535\n");
}

#[test]
fn cpus_that_this_computer_does_not_have_are_named() {
    let here = host_name();
    let costs = "node:2@1us core:20000@1ns";
    let fix = "0=19998,1=39999";
    let solved = Run::of(cellworks().args(["map", "solve", "--costs", costs]).args([
        "--pattern",
        "pairs",
        "--tasks",
        "2",
        "--fix",
        fix,
        "--time",
        "0",
        "--format",
        "json",
    ]));
    let (_folder, paths) = files(&[("placement.json", &solved.out)]);
    let placement = paths[0].to_str().unwrap();
    let of_nodes = |nodes: &str| bind(&[placement, "--for", "openmpi", "--nodes", nodes]);
    let run = of_nodes(&format!("elsewhere.example,{here}"));
    assert_eq!(run.code, Some(0));
    let says = format!(
        "warning: {placement}: it has tasks on CPU 19999 of {here}, which is this computer and has CPU 0"
    );
    assert!(run.err.starts_with(&says), "{}", run.err);
    // Of other computers nothing is known.
    assert_eq!(of_nodes("n01.example,n02.example").err, "");
}

#[test]
fn a_process_is_bound_only_on_the_node_of_its_task() {
    let Some(cpus) = two_allowed() else {
        return;
    };
    let here = host_name();
    let folder = on_two_nodes(&format!("{here},elsewhere.example"), cpus);
    let placement = path(&folder, "placement.json");
    let lines = expected(folder.path());
    let cpu_of = |rank: usize| lines[rank].rsplit(' ').next().unwrap().to_owned();
    let is_here = |rank: &usize| lines[*rank].contains(&format!(" {here} "));
    let mine = (0..6).find(is_here).unwrap();
    let other = (0..6).find(|rank| !is_here(rank)).unwrap();
    let show = [
        "sh",
        "-c",
        "sed -n 's/Cpus_allowed_list:\t//p' /proc/self/status",
    ];
    let as_rank = |rank: usize, variables: [&str; 2]| {
        exec(
            &placement,
            &[(variables[0], &rank.to_string()), (variables[1], "6")],
            &show,
        )
    };
    for (local, variables) in [
        (
            "OMPI_COMM_WORLD_LOCAL_RANK",
            ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"],
        ),
        (
            "MV2_COMM_WORLD_LOCAL_RANK",
            ["MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"],
        ),
        ("MPI_LOCALRANKID", ["PMI_RANK", "PMI_SIZE"]),
        (
            "JSM_NAMESPACE_LOCAL_RANK",
            ["JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"],
        ),
        ("FLUX_TASK_LOCAL_ID", ["FLUX_TASK_RANK", "FLUX_JOB_SIZE"]),
        ("SLURM_LOCALID", ["SLURM_PROCID", "SLURM_STEP_NUM_TASKS"]),
    ] {
        let rank = mine.to_string();
        let environment = [
            (local, "0"),
            (variables[0], rank.as_str()),
            (variables[1], "6"),
        ];
        let run = exec(&placement, &environment, &show);
        assert_eq!(
            (run.out, run.code),
            (cpu_of(mine) + "\n", Some(0)),
            "{local}: {}",
            run.err
        );
    }
    as_rank(other, ["PMI_RANK", "PMI_SIZE"]).refused(&format!(
        "error: PMI_RANK={other}: this process is on node {here}, and the placement has task {other} on node \
         elsewhere.example; start the job with the file that `cellworks map bind` prints for the launcher\n"
    ));
    exec(&placement, &[("PMI_RANK", "0"), ("PMI_SIZE", "4")], &show)
        .refused("error: PMI_SIZE=4: the placement has 6 tasks; start one process for each\n");
    exec(&placement, &[("PMI_RANK", "6")], &show).refused(
        "error: PMI_RANK=6: the placement has 6 tasks, numbered from 0; start one process for each\n",
    );
    exec(&placement, &[], &show).refused(
        "error: the placement is for a job, and no launcher has given this process its rank in a job; start it with \
         mpirun, mpiexec or srun, one process for each of the 6 tasks\n",
    );
    // Slurm has names of its own for computers.
    let slurm = [
        ("SLURM_LOCALID", "0"),
        ("SLURM_PROCID", &*other.to_string()),
    ];
    let named = [&slurm[..], &[("SLURMD_NODENAME", "elsewhere")]].concat();
    assert_eq!(exec(&placement, &named, &show).out, cpu_of(other) + "\n");
    let unknown = exec(
        &placement,
        &[&slurm[..], &[("SLURMD_NODENAME", "n9")]].concat(),
        &show,
    );
    assert!(
        unknown.err.contains("this process is on node n9, and ")
            && unknown
                .err
                .ends_with(", or name the nodes as they name themselves with --nodes\n"),
        "{}",
        unknown.err
    );
}

#[test]
fn nodes_without_names_are_those_that_the_launcher_numbers() {
    let Some(cpus) = two_allowed() else {
        return;
    };
    let folder = on_two_nodes("2", cpus);
    let placement = path(&folder, "placement.json");
    // Tasks 0, 2 and 4 are on one node.
    let node = if expected(folder.path())[0].starts_with("0 node 0 ") {
        ["0", "1"]
    } else {
        ["1", "0"]
    };
    let slurm = |node: &str| {
        let environment = [
            ("SLURM_LOCALID", "0"),
            ("SLURM_PROCID", "2"),
            ("SLURM_NODEID", node),
        ];
        exec(&placement, &environment, &["true"])
    };
    assert_eq!(slurm(node[0]).code, Some(0));
    let [there, here] = node;
    slurm(here).refused(&format!(
        "error: SLURM_PROCID=2: this process is on node {here} (SLURM_NODEID), and the placement has task 2 on node \
         {there}; start the job with the file that `cellworks map bind` prints for the launcher\n"
    ));
    exec(&placement, &[("PMI_RANK", "2")], &["true"]).refused(
        "error: the placement does not name its nodes, and the launcher does not number them; name them with --nodes, \
         such as --nodes n01,n02\n",
    );
}

#[test]
fn a_computer_with_too_few_or_too_many_processes_is_refused() {
    let Some([first, second]) = two_allowed() else {
        return;
    };
    let environment = [
        ("OMPI_COMM_WORLD_LOCAL_RANK", "0"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "3"),
    ];
    exec(&format!("{first},{second}"), &environment, &["true"]).refused(
        "error: OMPI_COMM_WORLD_LOCAL_RANK=0: the launcher has started 3 processes on this computer, and the placement \
         has 2 tasks; start one process for each\n",
    );
}

#[test]
fn tools_bind_a_program_to_the_cpus_of_all_tasks() {
    let Some([first, second]) = two_allowed() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let both = cellworks_mapping::Binding::to(vec![first, second]).cpu_list();
    let one = [format!("0 {} {both}", host_name())];
    for (name, tool) in [
        ("taskset", "taskset"),
        ("numactl", "numactl"),
        ("hwloc-bind", "hwloc"),
    ] {
        // Containers may forbid the system calls without which numactl does nothing.
        let is_possible =
            name != "numactl" || shell(folder.path(), "numactl --show").code == Some(0);
        if has(name, "") && is_possible {
            let placement = format!("{first},{second}");
            let lines = run_printed(folder.path(), &placement, tool, "sh where");
            assert_eq!(lines, one, "{name}");
        }
    }
}

#[test]
fn launchers_bind_each_rank_of_this_computer() {
    let Some([first, second]) = two_allowed() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let placement = format!("{first},{second}");
    let here = host_name();
    let ranks = [format!("0 {here} {first}"), format!("1 {here} {second}")];
    if has_open_mpi_4() {
        let lines = run_printed(folder.path(), &placement, "Open MPI", "sh where");
        assert_eq!(lines, ranks);
    }
    if has("mpiexec.hydra", "HYDRA") {
        let lines = run_printed(folder.path(), &placement, "MPICH", "sh where");
        assert_eq!(lines, ranks);
    }
}

/// What each line says of CPUs that do not exist, and of the mask of `taskset`.
#[test]
fn lines_say_when_they_may_not_give_the_placement() {
    let no_mask = "the mask of taskset does not count";
    let not_started = "if a CPU does not exist, nothing is started, without a word";
    let not_bound = "a rank whose CPU does not exist is not bound, without a word";
    let notes = |printed: &str, of: &[(&str, &[&str])]| {
        for (tool, said) in of {
            let begin = format!("# {tool}: ");
            let note = printed.lines().find(|line| line.starts_with(&begin));
            let note = note.unwrap_or_else(|| panic!("{tool}: {printed}"));
            for words in *said {
                assert!(note.contains(words), "{words}: {note}");
            }
        }
    };
    let whole = "in a job of whole nodes (salloc --exclusive)";
    let on_one: [(&str, &[&str]); 6] = [
        (
            "taskset",
            &["CPUs that do not exist are left out without a word"],
        ),
        (
            "numactl",
            &["CPUs that do not exist, or are not in the mask of taskset, are refused"],
        ),
        ("Open MPI", &[no_mask, not_started]),
        ("MPICH", &[no_mask, not_bound]),
        (
            "Slurm",
            &[whole, "CPUs that the job does not have are refused"],
        ),
        ("hwloc", &["CPUs that do not exist are refused", no_mask]),
    ];
    notes(&bound(&["0-1"]), &on_one);
    let folder = on_two_nodes("n01,n02", [7, 5]);
    let unlike: [(&str, &[&str]); 2] = [on_one[2], ("Slurm", &[whole])];
    notes(&bound(&[&path(&folder, "placement.json")]), &unlike);
    // One list of CPUs suits both nodes.
    let mut solve = cellworks();
    solve.args(["map", "solve", "--pattern", "pairs", "--tasks", "4"]);
    solve.args(["--costs", "node:2@9 core:4@1", "--fix", "0=0,1=1,2=4,3=5"]);
    let alike = Run::of(solve.args(["--format", "json"]));
    fs::write(folder.path().join("alike.json"), alike.out).unwrap();
    let alike = bound(&[&path(&folder, "alike.json"), "--nodes", "n01,n02"]);
    notes(&alike, &on_one[2..5]);
}

#[test]
fn what_lines_say_of_cpus_that_do_not_exist_is_so() {
    let Some([first, _]) = two_allowed() else {
        return;
    };
    const ABSENT: usize = 1000;
    if Path::new(&format!("/sys/devices/system/cpu/cpu{ABSENT}")).exists() {
        return skipped("this computer has more than 1,000 CPUs");
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let placement = format!("{first},{ABSENT}");
    let here = host_name();
    let start = |tool: &str| shell(folder, &printed(folder, &placement, tool, "sh where"));
    let nothing = |tool: &str| {
        let run = start(tool);
        assert_ne!(run.code, Some(0), "{tool}");
        assert!(!run.out.contains(&here), "{tool}: {}", run.out);
    };
    if has("taskset", "") {
        let run = start("taskset");
        assert_eq!(run.out, format!("0 {here} {first}\n"), "{}", run.err);
    }
    if has("numactl", "") {
        nothing("numactl");
    }
    if has("hwloc-bind", "") {
        nothing("hwloc");
    }
    if has_open_mpi_4() {
        nothing("Open MPI");
    }
    if has("mpiexec.hydra", "HYDRA") {
        let run = start("MPICH");
        assert_eq!(run.code, Some(0), "{}", run.err);
        let of_rank = |rank: &str| run.out.lines().find(|line| line.starts_with(rank));
        assert_eq!(of_rank("0 "), Some(&*format!("0 {here} {first}")));
        let unbound = of_rank("1 ").unwrap_or_default();
        assert_ne!(unbound, format!("1 {here} {ABSENT}"));
        assert!(unbound.contains([',', '-']), "{unbound}");
    }
}

#[test]
fn openmp_binds_each_thread() {
    const PROGRAM: &str = "#define _GNU_SOURCE\n#include <omp.h>\n#include <sched.h>\n#include <stdio.h>\n\
        int main(void) {\n#pragma omp parallel\n#pragma omp critical\n\
        printf(\"%d %d\\n\", omp_get_thread_num(), sched_getcpu());\nreturn 0;\n}\n";
    let Some([first, second]) = two_allowed() else {
        return;
    };
    let (folder, _) = files(&[("threads.c", PROGRAM)]);
    let compiled = shell(folder.path(), "cc -fopenmp threads.c -o threads");
    if compiled.code != Some(0) {
        return skipped("no C compiler with OpenMP is installed");
    }
    let placement = format!("{first},{second}");
    let lines = run_printed(folder.path(), &placement, "OpenMP", "./threads");
    assert_eq!(lines, [format!("0 {first}"), format!("1 {second}")]);
}

#[test]
fn systemd_accepts_the_drop_in() {
    if !has("systemd-analyze", "systemd") {
        return;
    }
    let (folder, _) = files(&[("x.service", "[Service]\nExecStart=/bin/true\n")]);
    let drop_ins = folder.path().join("x.service.d");
    fs::create_dir(&drop_ins).unwrap();
    let verify = || {
        shell(
            folder.path(),
            "SYSTEMD_UNIT_PATH=$PWD: systemd-analyze verify x.service",
        )
    };
    let of = |cpus: &str| fs::write(drop_ins.join("cpus.conf"), cpus).unwrap();
    of("[Service]\nCPUAffinity=x\n");
    if !verify().err.contains("CPU affinity") {
        return skipped("systemd-analyze does not find a mistake in a drop-in here");
    }
    of(&bound(&["3,0-1", "--for", "systemd"]));
    let run = verify();
    assert!(!run.err.contains("cpus.conf"), "{}", run.err);
}

#[test]
fn a_job_on_two_computers_lands_where_it_is_placed() {
    let Some(cpus) = two_allowed() else {
        return;
    };
    if !has_two_names() {
        return;
    }
    let folder = on_two_nodes("n01,n02", cpus);
    let (place, expected) = (folder.path(), expected(folder.path()));
    if has_open_mpi_4() {
        assert_eq!(
            run_printed(place, "placement.json", "Open MPI", "sh where"),
            expected
        );
        let by_rank = "mpirun --use-hwthread-cpus --mca rmaps_rank_file_physical 1 --rankfile rankfile \
                       cellworks map exec placement.json -- sh where";
        assert_eq!(sorted(place, by_rank), expected);
        let by_node = "cellworks map bind placement.json --for slurm > hosts
             mpirun --hostfile hosts --map-by seq --bind-to none sh where";
        let nodes = |lines: Vec<String>| -> Vec<String> {
            let node = |line: &String| line.rsplit_once(' ').unwrap().0.to_owned();
            lines.iter().map(node).collect()
        };
        assert_eq!(nodes(sorted(place, by_node)), nodes(expected.clone()));
        let by_slot = "mpirun --host n01:3,n02:3 -n 6 --bind-to none cellworks map exec placement.json -- true";
        let run = shell(place, by_slot);
        assert_ne!(run.code, Some(0));
        assert!(
            run.err.contains("error: OMPI_COMM_WORLD_RANK=")
                && run.err.contains(": this process is on node n0"),
            "{}",
            run.err
        );
    }
    if has("mpiexec.hydra", "HYDRA") {
        assert_eq!(
            run_printed(place, "placement.json", "MPICH", "sh where"),
            expected
        );
    }
}

/// Needs Slurm with idle nodes n01 and n02, which are this computer: `launchers/slurm.sh` starts it.
#[test]
fn slurm_places_each_rank() {
    let Some([first, second]) = two_allowed() else {
        return;
    };
    let idle = Command::new("sinfo")
        .args(["--noheader", "--Node", "--states=idle", "--format=%N"])
        .output();
    let is_idle = idle.is_ok_and(|idle| String::from_utf8_lossy(&idle.stdout) == "n01\nn02\n");
    if !is_idle {
        return skipped("no Slurm runs here with two idle nodes, n01 and n02");
    }
    let (folder, _) = files(&[("node.csv", ",\n10,\n")]);
    let folder = folder.path();
    let in_a_job = |nodes: &str, placement: &str| {
        let line = printed(folder, placement, "Slurm", "sh where");
        fs::write(folder.join("line"), line).unwrap();
        let job = "salloc --quiet --exclusive --immediate=60";
        sorted(folder, &format!("{job} --nodelist={nodes} sh -e line"))
    };
    assert_eq!(
        in_a_job("n02", &format!("{second},{first}")),
        [format!("0 n02 {second}"), format!("1 n02 {first}")]
    );
    // One list of CPUs for both nodes, and none that suits both. Tasks 0 and 1 are on different
    // nodes each time.
    for (fix, has_list) in [("0=1,1=3,2=0,3=2", true), ("0=2,1=1,2=3,3=0", false)] {
        let solve = format!(
            "cellworks map solve --pattern pairs --tasks 4 --costs node.csv --cpus-of-rows {first},{second} \
             --nodes n01,n02 --network 1us --fix {fix} --format json > placement.json"
        );
        assert_eq!(sorted(folder, &solve), [""; 0]);
        let expected = expected(folder);
        assert_eq!(in_a_job("n01,n02", "placement.json"), expected, "{fix}");
        let line = fs::read_to_string(folder.join("line")).unwrap();
        assert_eq!(line.contains("--cpu-bind=map_cpu:"), has_list, "{line}");
    }
    // What the line says of CPUs that the job does not have.
    let absent = printed(folder, &format!("{first},1000"), "Slurm", "sh where");
    let run = shell(folder, &absent);
    assert_ne!(run.code, Some(0));
    assert_eq!(run.out, "");
}

#[test]
fn the_walk_of_the_guide_ends_where_the_placement_says() {
    const GUIDE: &str = include_str!("../../../../docs/mapping.md");
    const PROGRAM: &str = include_str!("launchers/program.c");
    let Some([first, second]) = two_allowed() else {
        return;
    };
    if !has_open_mpi_4() || !has_two_names() {
        return;
    }
    let (folder, _) = files(&[("program.c", PROGRAM), ("node.csv", ",\n10,\n")]);
    let compile = "mpicc.openmpi program.c -o program || mpicc program.c -o program";
    if shell(folder.path(), compile).code != Some(0) {
        return skipped("no program can be compiled with Open MPI");
    }
    let (_, walk) = GUIDE.split_once("### A job on two computers").unwrap();
    let mut blocks = walk.split("```sh\n").skip(1);
    let mut block = || blocks.next().unwrap().split_once("```").unwrap().0;
    let (walk, on_one_computer) = (block(), block());
    // What the guide says for a computer with two CPUs.
    assert!(GUIDE.contains("`map solve` needs `--capacity 3 --forbid 1,2`"));
    let costs =
        format!("--costs node.csv --cpus-of-rows {first},{second} --capacity 3 --forbid 1,2");
    let walk = walk.replace("--costs node.json", &costs);
    // What the tests prepare, the guide does itself.
    let unprepared = "rm elsewhere; unset $(env | sed -n 's/^\\(OMPI_[^=]*\\)=.*/\\1/p')\n";
    let run = shell(
        folder.path(),
        &[unprepared, on_one_computer, &walk].concat(),
    );
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    let mut lines: Vec<&str> = run.out.lines().collect();
    lines.sort_unstable();
    let expected = expected(folder.path());
    let says = |line: &String| {
        let words: Vec<&str> = line.split(' ').collect();
        format!("rank {} on {} CPU {}", words[0], words[1], words[2])
    };
    assert_eq!(lines, expected.iter().map(says).collect::<Vec<_>>());
    let node_of = |rank: usize| expected[rank].split(' ').nth(1);
    assert!(
        [2, 4].iter().all(|rank| node_of(*rank) == node_of(0)),
        "{expected:?}"
    );
    assert!(
        [3, 5].iter().all(|rank| node_of(*rank) == node_of(1)),
        "{expected:?}"
    );
}
