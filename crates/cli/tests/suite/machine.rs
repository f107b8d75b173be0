//! `cellworks machine`: the parts of a machine.

use std::fs;

use serde_json::{Value, json};

use crate::common::tree::{Shape, Tree};
use crate::common::{Run, cellworks};

fn machine(arguments: &str) -> Run {
    Run::of(
        cellworks()
            .arg("machine")
            .args(arguments.split_whitespace()),
    )
}

/// Two sockets with two L3 groups each. A group has two cores with two hardware threads each.
fn computer() -> Tree {
    let shape = Shape {
        sockets: 2,
        cells: 2,
        cores: 2,
        threads: 2,
    };
    let tree = Tree::new(shape, "A processor");
    for cpu in 0..shape.cpus() {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}");
        tree.write(&format!("{folder}/cache/index3/type"), "Unified");
        tree.write(&format!("{folder}/cache/index3/size"), "32768K");
        tree.write(&format!("{folder}/cpufreq/cpuinfo_max_freq"), "3500000");
    }
    tree.write("sys/fs/cgroup/cpu.max", "1200000 100000");
    tree.write("proc/self/cgroup", "0::/");
    tree.write(
        "proc/self/mountinfo",
        "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
    );
    tree
}

#[test]
fn through_a_pipe_lines_have_80_columns() {
    let tree = computer();
    let widest = |columns: Option<&str>| {
        let mut command = cellworks();
        command.arg("machine").env("CELLWORKS_FSROOT", tree.root());
        match columns {
            Some(columns) => command.env("COLUMNS", columns),
            None => command.env_remove("COLUMNS"),
        };
        let out = Run::of(&mut command).out;
        out.lines().map(|line| line.chars().count()).max().unwrap()
    };
    assert!((70..=80).contains(&widest(None)), "{}", widest(None));
    assert!(
        (81..=100).contains(&widest(Some("100"))),
        "{}",
        widest(Some("100"))
    );
}

#[test]
fn a_virtual_machine_says_what_its_caches_mean() {
    let tree = computer();
    let shown = |flags: &str, format: &[&str]| {
        tree.write(
            "proc/cpuinfo",
            &format!("model name\t: A processor\nflags\t\t: {flags}"),
        );
        let mut command = cellworks();
        command
            .arg("machine")
            .args(format)
            .env("CELLWORKS_FSROOT", tree.root());
        let run = Run::of(&mut command);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
        run
    };
    let guest = shown("fpu hypervisor lm", &[]).out.replace("\n  ", " ");
    assert!(
        guest.contains(
            "- a virtual machine: the caches are those of the real processor, whose other"
        ),
        "{guest}"
    );
    assert!(
        guest.contains("`cellworks stats` measures the sizes that its programs have"),
        "{guest}"
    );
    let real = shown("fpu lm", &[]).out;
    assert!(!real.contains("virtual machine"), "{real}");
    for (flags, is_guest) in [("fpu hypervisor", true), ("fpu nohypervisor", false)] {
        let report = shown(flags, &["--format", "json"]).report();
        assert_eq!(report["is_guest"], is_guest, "{flags}");
    }
}

#[test]
fn a_computer_is_shown_with_all_its_parts_and_limits() {
    let tree = computer();
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("machine.html");
    let on_tree = |words: &[&str]| {
        let mut command = cellworks();
        command.args(words).env("CELLWORKS_FSROOT", tree.root());
        Run::of(&mut command)
    };
    let run = on_tree(&["machine", "--html", page.to_str().unwrap()]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    for text in [
        "A processor: 12 CPUs, 4 L3 groups, 2 NUMA nodes\n",
        "\npackage  L3 group  NUMA node  cores  first CPU of each  their other hardware threads\n\
         0        0         0          2      0-1                8-9\n",
        "\n1        3         1          2      6-7                14-15\n",
        "\n3      unified  32 MB  4         4             0-15\n",
        "\n1     64.0 GB  4-7, 12-15  21 10\n",
        "the CPUs and NUMA nodes are those described in ",
        "\n3.50 GHz  0-15\n",
        "- a quota of 12 CPUs, set in ",
        "- CPU 12-15: not paid for by the quota of CPU time\n",
    ] {
        assert!(run.out.contains(text), "{text}: {}", run.out);
    }
    assert_eq!(on_tree(&["machines", "host"]).out, run.out);

    let page = fs::read_to_string(page).unwrap();
    for text in [
        "package 1",
        "L3 group 3, NUMA node 1",
        "<div class=\"main\">1</div>",
        "a quota of 12 CPUs",
    ] {
        assert!(page.contains(text), "{text}");
    }
    let report = on_tree(&["machine", "--format", "json"]).report();
    assert_eq!(
        (&report["schema_version"], &report["command"]),
        (&json!(1), &json!("machine"))
    );
    let cpu = json!({"cpu": 9, "spe": 9, "has_ppe": false, "package": 0, "core": 1, "cache_group": 0,
        "numa_node": 0, "highest_clock_hz": 3_500_000_000_u64});
    assert_eq!(report["cpus"][9], cpu);
    let cache = json!({"level": 3, "kind": "Unified", "bytes": 32 << 20, "cpus": [0, 1, 8, 9]});
    assert_eq!(report["caches"][0], cache);
    assert_eq!(report["numa_nodes"][1]["distances"], json!([21, 10]));
    assert_eq!(report["quota"]["cpus"], 12.0);

    on_tree(&["machine", "--format", "csv"]).refused(
        "error: CSV has one header, and a machine has parts of many kinds; use --format json\n",
    );
}

#[test]
fn caches_are_those_of_the_topology_and_the_cpus_of_each_size_are_named() {
    let tree = computer();
    let cache = |cpu: u32| format!("sys/devices/system/cpu/cpu{cpu}/cache/index3");
    for cpu in 0..16 {
        // Programs that copy `/sys`, and old kernels, write only maps.
        let list = tree.root().join(cache(cpu)).join("shared_cpu_list");
        fs::remove_file(list).unwrap();
        let first_core = cpu % 8 / 2 * 2;
        let map = 0x303_u32 << first_core;
        tree.write(
            &format!("{}/shared_cpu_map", cache(cpu)),
            &format!("{map:08x}"),
        );
        if first_core == 2 {
            tree.write(&format!("{}/size", cache(cpu)), "98304K");
        }
    }
    // A list that lacks the CPU that it is about is not used.
    tree.write(&format!("{}/shared_cpu_list", cache(9)), "0-1");
    let on_tree = |words: &[&str]| {
        let mut command = cellworks();
        Run::of(command.args(words).env("CELLWORKS_FSROOT", tree.root()))
    };
    let run = on_tree(&["machine"]);
    let lines: Vec<Vec<&str>> = run
        .out
        .lines()
        .map(|line| {
            line.split("  ")
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .collect()
        })
        .collect();
    for row in [
        [
            "level",
            "for",
            "size",
            "how many",
            "CPUs at each",
            "which CPUs",
        ],
        ["3", "unified", "32 MB", "3", "4", "0-1, 4-9, 12-15"],
        ["3", "unified", "96 MB", "1", "4", "2-3, 10-11"],
    ] {
        assert!(
            lines.iter().any(|line| *line == row),
            "{row:?}: {}",
            run.out
        );
    }
    let report = on_tree(&["machine", "--format", "json"]).report();
    let groups = report["cpus"].as_array().unwrap();
    let groups = groups
        .iter()
        .map(|cpu| &cpu["cache_group"])
        .max_by_key(|group| group.as_u64());
    assert_eq!(
        (groups, report["caches"].as_array().unwrap().len()),
        (Some(&json!(3)), 4)
    );
    assert_eq!(report["caches"][0]["cpus"], json!([0, 1, 8, 9]));

    // If the CPUs are not known at all, neither the topology nor the table has the cache.
    for cpu in 0..16 {
        for file in ["shared_cpu_list", "shared_cpu_map"] {
            let _ = fs::remove_file(tree.root().join(cache(cpu)).join(file));
        }
    }
    let report = on_tree(&["machine", "--format", "json"]).report();
    assert_eq!(report["caches"], json!([]));
}

#[test]
fn a_simulated_machine_is_drawn_with_its_elements() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("machine.html");
    for (name, texts) in [
        (
            "qs20",
            [
                "Cell 1, rings",
                "class=\"ring\"",
                ">S15</text>",
                ">MIC</text>",
            ],
        ),
        (
            "scc",
            [
                "Cell 0, mesh",
                "data-hover=\"SPE 23\"",
                ">S23</text>",
                ">M3</text>",
            ],
        ),
    ] {
        let run = machine(&format!("{name} --html {}", page.display()));
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
        let page = fs::read_to_string(&page).unwrap();
        for text in texts {
            assert!(page.contains(text), "{name}: {text}");
        }
    }
    let report = machine("scc --format json").report();
    let interconnect = &report["interconnect"];
    assert_eq!(interconnect["kind"], "mesh");
    assert_eq!(
        interconnect["cells"][0][7],
        json!({"name": "SPE 7", "tile": [1, 1]})
    );
    let run = machine("--cpus 0 qs20");
    run.refused("error: --cpus with qs20: a simulated machine has none of this computer's CPUs; leave one of them out\n");
}

/// A file of an older command, without the fields that were added to the JSON since.
#[test]
fn files_of_older_commands_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let [old, new] = ["old.json", "new.json"].map(|name| folder.path().join(name));
    let mut stats = cellworks();
    stats.args([
        "stats",
        "--machine",
        "qs20",
        "-f",
        "mailbox",
        "-i",
        "1",
        "--json",
    ]);
    assert_eq!(Run::of(stats.arg(&new)).code, Some(0));
    let mut report: Value = serde_json::from_str(&fs::read_to_string(&new).unwrap()).unwrap();
    for name in ["ppe_place", "spe_cores", "spe_memory_modules"] {
        assert!(
            report["machine"]
                .as_object_mut()
                .unwrap()
                .remove(name)
                .is_some(),
            "{name}"
        );
    }
    assert!(
        report["trust"]
            .as_object_mut()
            .unwrap()
            .remove("kinds")
            .is_some()
    );
    fs::write(&old, report.to_string()).unwrap();
    let run = Run::of(cellworks().arg("compare").args([&old, &new]));
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{}", run.out);
    assert!(run.out.contains("1 measurement in both"), "{}", run.out);
    // A file of a later version is refused.
    report["schema_version"] = json!(2);
    fs::write(&old, report.to_string()).unwrap();
    let run = Run::of(cellworks().arg("compare").args([&old, &new]));
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("version 2"), "{}", run.err);
}

/// The nodes 0 to 3 of a guest that was booted: 0 and 2 have CPUs and memory, 1 has CPUs alone, and
/// 3 has memory alone.
#[test]
fn numa_nodes_have_the_numbers_of_the_system_everywhere() {
    let shape = Shape {
        sockets: 4,
        cells: 1,
        cores: 2,
        threads: 1,
    };
    let tree = Tree::new(shape, "A processor");
    let node = |node: u32, file: &str, line: &str| {
        tree.write(&format!("sys/devices/system/node/node{node}/{file}"), line);
    };
    node(1, "meminfo", "Node 1 MemTotal: 0 kB");
    node(2, "cpulist", "4-7");
    node(3, "cpulist", "");
    let on_tree = |words: &[&str]| {
        let mut command = cellworks();
        Run::of(command.args(words).env("CELLWORKS_FSROOT", tree.root()))
    };
    let report = on_tree(&["machine", "--format", "json"]).report();
    assert_eq!(
        report["machine"]["spe_memory_modules"],
        json!([0, 0, 0, 0, 2, 2, 2, 2])
    );
    assert_eq!(report["machine"]["memory_modules"], 3);
    let warnings = report["warnings"].to_string();
    assert!(
        warnings.contains(
            "NUMA node 1 has no memory, so CPUs 2-3 are next to no memory, and that of node 0 counts as theirs"
        ),
        "{warnings}"
    );

    let stats = [
        "stats", "--matrix", "memory", "-b", "64k", "--budget", "10s", "--quiet",
    ];
    let run = on_tree(&stats);
    for text in [
        "latency in ns   node 0  node 2  node 3\n",
        "\nnode 2 (CPU 4) ",
        "Beside NUMA node 3 there is no CPU that was measured",
    ] {
        assert!(run.out.contains(text), "{text}: {}", run.out);
    }
    let matrix = &on_tree(&[&stats[..], &["--format", "json"]].concat()).json()["memory_matrix"];
    assert_eq!(matrix["module_numbers"], json!([0, 2, 3]));
    assert_eq!(matrix["rows"][1]["nearest_module"], 2);
    let run = on_tree(&["stats", "-f", "fetchadd", "-m", "1"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.err
            .contains("has NUMA nodes 0, 2, 3; use one of these\n"),
        "{}",
        run.err
    );
}
