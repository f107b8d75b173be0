//! `cellworks stats` with the topology of other computers, on the CPUs of this computer.

use crate::common::tree::{Shape, Tree};
use crate::common::{Run, cellworks, is_emulated, list, stats, stats_command, stats_on};
use serde_json::Value;

/// Two sockets with a memory node each: 576 CPUs in 24 Cells.
const LARGE: Shape = Shape {
    sockets: 2,
    cells: 12,
    cores: 12,
    threads: 2,
};

const PAIR: Shape = Shape {
    sockets: 1,
    cells: 1,
    cores: 2,
    threads: 1,
};

/// The machine in the JSON of a run.
fn machine(tree: &Tree) -> Value {
    let run = stats_on(tree, "-f mailbox -n 1 -i 1 -w 0 --quiet --format json");
    run.json()["machine"].clone()
}

/// The SPEs of a Cell.
fn spes_of(machine: &Value, cell: usize) -> Vec<u64> {
    let spes = machine["cells"][cell]["spes"].as_array().unwrap();
    spes.iter().map(|spe| spe.as_u64().unwrap()).collect()
}

#[test]
fn a_computer_of_576_cpus_has_as_many_spes_in_24_cells() {
    let machine = machine(&Tree::new(LARGE, "A large processor"));
    assert_eq!(machine["name"], "A large processor");
    assert_eq!(machine["spes"], 576);
    assert_eq!(machine["memory_modules"], 2);
    let cells = list(&machine, "cells");
    assert_eq!(cells.len(), 24);
    // The numbers of second hardware threads follow those of the first threads of all cores.
    let expected = (12..24).chain(300..312).collect::<Vec<_>>();
    assert_eq!(spes_of(&machine, 1), expected);
    assert_eq!(cells[11]["nearest_memory_module"], 0);
    assert_eq!(cells[12]["nearest_memory_module"], 1);
    assert_eq!(machine["spe_places"][575], "CPU 575");
}

#[test]
fn cpus_that_the_other_computer_switched_off_are_left_out() {
    let shape = Shape {
        sockets: 1,
        cells: 2,
        cores: 2,
        threads: 1,
    };
    let tree = Tree::new(shape, "A small processor");
    tree.write("sys/devices/system/cpu/online", "0,2-3");
    let machine = machine(&tree);
    assert_eq!(machine["spes"], 3);
    assert_eq!(
        (spes_of(&machine, 0), spes_of(&machine, 1)),
        (vec![0], vec![1, 2])
    );
}

#[test]
fn that_the_computer_is_another_is_said() {
    let shape = Shape {
        sockets: 1,
        cells: 1,
        cores: 1,
        threads: 1,
    };
    let tree = Tree::new(shape, "The smallest processor");
    let run = stats_on(&tree, "-f mailbox -i 1 -w 0");
    let err = run.measured();
    let expected = format!(
        "warning: CELLWORKS_FSROOT is set: the CPUs and NUMA nodes are those described in {}, \
         but the times are those of this computer\n",
        tree.root().display()
    );
    assert!(err.contains(&expected), "{err}");
}

/// The times are those of this computer, but the name is that of another computer.
#[test]
fn measurements_for_another_computer_are_never_trusted() {
    let tree = Tree::new(PAIR, "POWER7");
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let reason = format!(
        "the machine is the one described in {} (CELLWORKS_FSROOT), and the times are those of this \
         computer; unset CELLWORKS_FSROOT to measure this computer, or measure on the other one",
        tree.root().display()
    );
    let on_it = |arguments: &str| {
        let mut command = cellworks();
        command
            .args(arguments.split_whitespace())
            .arg("--html")
            .arg(file("page.html"));
        Run::of(command.env("CELLWORKS_FSROOT", tree.root()))
    };
    for arguments in [
        "stats -f mkthread -i 10 --quiet",
        "run switch --threads 2 --quiet",
    ] {
        let shown = on_it(arguments);
        assert_eq!(shown.code, Some(3), "{}", shown.err);
        assert!(
            shown.err.contains(&format!("  {reason}\n")),
            "{}",
            shown.err
        );
        // The table may break lines anywhere between words.
        let words: Vec<_> = shown.out.split_whitespace().collect();
        let table = words.join(" ");
        assert!(table.contains("Not trustworthy"), "{table}");
        assert!(table.contains(&reason), "{table}");
        let page = std::fs::read_to_string(file("page.html")).unwrap();
        for text in ["Not trustworthy", reason.as_str()] {
            assert!(page.contains(text), "{text}");
        }
        let report = on_it(&format!("{arguments} --format json")).json();
        let (reasons, kinds) = (
            list(&report["trust"], "reasons"),
            list(&report["trust"], "kinds"),
        );
        let at = reasons.iter().position(|one| *one == reason).unwrap();
        assert_eq!(kinds[at], "foreign");
    }
    // A comparison has the same warning.
    let measured = [
        (
            "this.json",
            stats("-f mkthread -i 10 --quiet --format json"),
        ),
        (
            "other.json",
            stats_on(&tree, "-f mkthread -i 10 --quiet --format json"),
        ),
    ];
    for (name, run) in &measured {
        run.json();
        std::fs::write(file(name), &run.out).unwrap();
    }
    let mut command = cellworks();
    command
        .arg("compare")
        .args(measured.map(|(name, _)| file(name)))
        .args(["--untrusted", "--format", "json"]);
    let comparison = Run::of(&mut command).report();
    assert_eq!(comparison["trust"]["trustworthy"], false);
    let notes = list(&comparison, "notes").iter();
    let says_it = |note: &Value| {
        let note = note.as_str().unwrap();
        note.contains("is not trustworthy: ") && note.contains(&reason)
    };
    assert!(notes.clone().any(says_it), "{notes:?}");
}

/// With sub-NUMA clustering, a last-level cache spans two memory nodes.
#[test]
fn each_spe_has_the_memory_module_of_its_cpu() {
    let four = Shape { cores: 4, ..PAIR };
    let tree = Tree::new(four, "A processor in halves");
    for (node, cpus) in [(0, "0,2"), (1, "1,3")] {
        let folder = format!("sys/devices/system/node/node{node}");
        tree.write(&format!("{folder}/cpulist"), cpus);
        tree.write(&format!("{folder}/distance"), "10");
        tree.write(&format!("{folder}/meminfo"), "MemTotal: 1024 kB");
    }
    let run = stats_on(&tree, "-f mkthread -i 10 --format json");
    let report = run.json();
    let machine = &report["machine"];
    assert_eq!(list(machine, "cells").len(), 1);
    let places = ["CPU 0", "CPU 2", "CPU 1", "CPU 3"];
    assert_eq!(machine["spe_places"], serde_json::json!(places));
    assert_eq!(
        machine["spe_memory_modules"],
        serde_json::json!([0, 0, 1, 1])
    );
    // The lists of distances are too short. The command only prints a warning.
    let note = "sys/devices/system/node/node0/distance reads \"10\", but one distance for each node \
                that is online, here 2,";
    let warnings = list(&report["environment"], "warnings").iter();
    let has_note = |warning: &Value| warning.as_str().unwrap().contains(note);
    assert!(warnings.clone().any(has_note), "{warnings:?}");
    assert!(run.err.contains(note), "{}", run.err);
}

#[test]
fn a_folder_without_a_computer_ends_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().display();
    let run = Run::of(stats_command("-f mailbox").env("CELLWORKS_FSROOT", folder.path()));
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""));
    assert_eq!(
        run.err,
        format!(
            "error: CELLWORKS_FSROOT names {root}, which has no file \
             `sys/devices/system/cpu/online`, or an empty one, and no folder `cpu0` beside it; have \
             it name a folder with the `sys` and `proc` of a computer, or unset it to use this \
             computer\n"
        )
    );
}

/// The test `a_sampled_matrix_of_576_cpus_takes_less_than_five_minutes` of cellworks-stats checks
/// the time of such a matrix.
#[test]
fn a_matrix_of_576_spes_is_sampled_at_each_distance() {
    let tree = Tree::new(LARGE, "A large processor");
    let budget = if is_emulated() { "10s" } else { "2s" };
    let run = stats_on(
        &tree,
        &format!("--matrix mailbox --budget {budget} --quiet --format json"),
    );
    let report = run.json();
    let matrix = &report["matrices"][0];
    let number = |object: &Value, name: &str| object[name].as_u64().unwrap();
    assert_eq!(matrix["pairs"], 576 * 575 / 2);
    let measured = number(matrix, "pairs_measured");
    assert!((24..=1000).contains(&measured), "{measured}");
    let classes = list(matrix, "classes");
    let names: Vec<_> = classes.iter().map(|class| &class["name"]).collect();
    assert_eq!(
        names,
        [
            "same core",
            "same Cell",
            "across Cells",
            "across memory modules"
        ]
    );
    for class in classes {
        assert!(number(class, "pairs_measured") > 0, "{class}");
        assert!(class["p50_ns"].as_f64().unwrap() > 0.0, "{class}");
    }
    let in_classes: u64 = classes
        .iter()
        .map(|class| number(class, "pairs_measured"))
        .sum();
    assert_eq!(in_classes, measured);
}

#[test]
fn the_json_of_every_matrix_agrees_with_the_schema() {
    let tree = Tree::new(PAIR, "A pair");
    for (flags, primitive, polling, block_bytes) in [
        ("mailbox", "mailbox", Value::Null, Value::Null),
        ("signal", "signal", Value::Null, Value::Null),
        ("atomic", "atomic", "reads".into(), Value::Null),
        (
            "atomic --polling compare-and-swap",
            "atomic",
            "compare-and-swap".into(),
            Value::Null,
        ),
        ("copy -b 128", "copy", Value::Null, 128.into()),
    ] {
        let run = stats_on(
            &tree,
            &format!("--matrix {flags} --budget 5ms --quiet --format json"),
        );
        let report = run.json();
        let matrix = &report["matrices"][0];
        assert_eq!(matrix["primitive"], primitive);
        assert_eq!(matrix["polling"], polling);
        assert_eq!(matrix["block_bytes"], block_bytes);
        assert_eq!(matrix["pairs_measured"], 1);
        assert!(matrix["one_way_ns"][0][1].as_f64().unwrap() > 0.0);
        assert!(matrix["one_way_ns"][1][0].as_f64().unwrap() > 0.0);
        assert!(matrix["one_way_ns"][0][0].is_null());
        assert_eq!(report["complete"], true);
    }
}

#[test]
fn matrices_that_cannot_be() {
    let tree = Tree::new(LARGE, "A large processor");
    let refused = |flags: &str, message: &str| stats_on(&tree, flags).refused(message);
    refused(
        "--matrix mailbox --budget 1ms",
        "error: --budget: a budget of 1.00 ms: measuring some pairs at each distance takes 21.60 ms; use \
         that or more\n  example: cellworks stats --matrix mailbox\n",
    );
    refused(
        "--matrix atomic -m 2",
        "error: -m: NUMA node 2: A large processor has NUMA nodes 0 to 1; use 0 to 1\n  \
         example: cellworks stats --matrix atomic -m 0\n",
    );
    refused(
        "--matrix copy -b 17",
        "error: -b: a block of 17 bytes: a DMA command moves 1, 2, 4, 8 or a multiple of 16 bytes up to \
         16 KB; use 16\n  example: cellworks stats --matrix copy -b 1k\n",
    );
    refused(
        "--matrix signal --polling reads --full",
        "error: --polling: a signal matrix has no way of polling: only atomic has; leave it out\n  \
         example: cellworks stats --matrix signal --full\n",
    );
    refused(
        "--matrix mailbox -b 4",
        "error: -b: a mailbox matrix has no block size: it carries one word; leave it out\n  \
         example: cellworks stats --matrix mailbox\n",
    );
    refused(
        "--matrix copy -m 0",
        "error: -m: a copy matrix has no NUMA node: the block lies in the local buffer of the CPU that \
         sends; leave it out\n  example: cellworks stats --matrix copy\n",
    );
    let single = Shape { cores: 1, ..PAIR };
    let message = "error: --matrix: a matrix needs two CPUs, and A single has 1; use a machine that has \
                   more, or allow the process more CPUs\n  example: cellworks stats --machine qs20 --matrix atomic\n";
    stats_on(&Tree::new(single, "A single"), "--matrix atomic").refused(message);
}

/// The CPUs are those of a described computer, so the test can remove them.
#[cfg(target_os = "linux")]
#[test]
fn cpus_that_vanish_end_the_run_and_keep_what_was_finished() {
    use crate::common::terminal::{read_all, read_until, terminal};

    let four = Shape { cores: 4, ..PAIR };
    let tree = Tree::new(four, "A small processor");
    let folder = tempfile::tempdir().unwrap();
    let (json, html) = (folder.path().join("out.json"), folder.path().join("p.html"));
    let (mut person, program) = terminal();
    let mut command = stats_command("--format json --html");
    command
        .arg(&html)
        .env("CELLWORKS_FSROOT", tree.root())
        .env("TERM", "xterm")
        .stdout(std::fs::File::create(&json).unwrap())
        .stderr(program);
    let mut child = command.spawn().unwrap();
    drop(command);
    // One of these texts appears when the second function or a later one is measured.
    let mut shown = read_until(&mut person, &["mailbox, ", "signal, ", "dmaget "]);
    tree.write("sys/devices/system/cpu/online", "0-1,3");
    shown += &read_all(person);
    let (_, said) = shown.rsplit_once("\x1b[2K").unwrap();
    let run = Run {
        code: child.wait().unwrap().code(),
        out: std::fs::read_to_string(&json).unwrap(),
        err: anstream::adapter::strip_str(said)
            .to_string()
            .replace('\r', ""),
        is_foreign: true,
    };
    let gone = "CPU 2 went offline, while the host still has CPUs there; give them back, or start again \
                to do with those that are left";
    assert_eq!(run.code, Some(3));
    let report = run.json();
    assert_eq!(report["trust"]["reasons"][0], gone);
    assert_eq!(report["trust"]["kinds"][0], "disturbed");
    assert_eq!(report["complete"], false);
    assert_eq!(report["measurements"][0]["function"], "mkthread");
    let left = list(&report, "not_measured");
    assert!(left.len() > 20, "{left:?}");
    assert!(
        left.iter()
            .all(|left| left["why"] == "the run ended before")
    );
    let page = std::fs::read_to_string(&html).unwrap();
    for text in ["Not trustworthy", "CPU 2 went offline", "Not complete"] {
        assert!(page.contains(text), "{text}");
    }
}

/// The rows and the number of columns of a computer's memory matrix. A row is the reading SPE, its
/// Cell and its nearest memory module. Asserts that each cell was measured.
#[track_caller]
fn shape_of_the_memory_matrix(tree: &Tree) -> (Vec<[u64; 3]>, u64) {
    let run = stats_on(tree, "--matrix memory -b 64k --full --quiet --format json");
    let report = run.json();
    assert_eq!(report["complete"], true);
    let matrix = &report["memory_matrix"];
    assert_eq!(matrix["block_bytes"], 64 << 10);
    let number = |row: &Value, name: &str| row[name].as_u64().unwrap();
    let row = |row| ["spe", "cell", "nearest_module"].map(|name| number(row, name));
    let rows: Vec<[u64; 3]> = list(matrix, "rows").iter().map(row).collect();
    let modules = number(matrix, "modules");
    let cells = list(matrix, "cells");
    assert_eq!(cells.len(), rows.len());
    for row in cells {
        let row = row.as_array().unwrap();
        assert_eq!(row.len() as u64, modules);
        for cell in row {
            assert!(cell["latency_ns"].as_f64().unwrap() > 0.0, "{cell}");
            assert!(number(cell, "bandwidth_bytes_per_s") > 0, "{cell}");
            // The memory is that of this computer, at an unknown place.
            assert!(cell["verified"].is_null(), "{cell}");
        }
    }
    (rows, modules)
}

#[test]
fn a_memory_matrix_has_a_row_for_each_node_with_cpus_and_a_column_for_each_node() {
    let sockets = Tree::new(LARGE, "A large processor");
    assert_eq!(
        shape_of_the_memory_matrix(&sockets),
        (vec![[0, 0, 0], [144, 12, 1]], 2)
    );
    assert_eq!(
        shape_of_the_memory_matrix(&Tree::new(PAIR, "A pair")),
        (vec![[0, 0, 0]], 1)
    );
}

#[test]
fn nodes_under_one_last_level_cache_have_rows_of_their_own() {
    let four = Shape { cores: 4, ..PAIR };
    let tree = Tree::new(four, "Clustered");
    for (node, cpus) in [(0, "0-1"), (1, "2-3")] {
        let folder = format!("sys/devices/system/node/node{node}");
        tree.write(&format!("{folder}/cpulist"), cpus);
        tree.write(&format!("{folder}/distance"), "10 11");
        let memory = format!("Node {node} MemTotal: 67108864 kB");
        tree.write(&format!("{folder}/meminfo"), &memory);
    }
    let (rows, modules) = shape_of_the_memory_matrix(&tree);
    let of_one_cell: Vec<_> = rows
        .iter()
        .map(|[_, cell, module]| [*cell, *module])
        .collect();
    assert_eq!((of_one_cell, modules), (vec![[0, 0], [0, 1]], 2));
}

/// A pair of cores. Node 1 is memory behind CXL.
fn with_cxl() -> Tree {
    let tree = Tree::new(PAIR, "A pair");
    let folder = "sys/devices/system/node/node1";
    tree.write(&format!("{folder}/cpulist"), "");
    tree.write(&format!("{folder}/distance"), "20 10");
    tree.write("sys/devices/system/node/node0/distance", "10 20");
    tree.write(&format!("{folder}/meminfo"), "Node 1 MemTotal: 67108864 kB");
    tree
}

#[test]
fn memory_without_cpus_has_a_column_and_no_row() {
    let tree = with_cxl();
    assert_eq!(shape_of_the_memory_matrix(&tree), (vec![[0, 0, 0]], 2));
    let run = stats_on(&tree, "--matrix memory -b 64k --full --quiet");
    let text = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "From NUMA node to CPU: latency, and read bandwidth of one CPU",
        "One CPU at a time reads a block of 64 KB: its latency is that of loads at random, each of which \
         depends on the one before, its bandwidth that of getting all of the block.",
        "Beside NUMA node 1 there is no CPU that was measured: it has a column and no row.",
        "The machine cannot confirm in which NUMA nodes the blocks lay.",
    ] {
        assert!(text.contains(said), "{said}\n{}", run.out);
    }
    for heading in ["latency in ns", "GB/s"] {
        let lines: Vec<_> = run.out.lines().collect();
        let at = lines.iter().position(|line| line.starts_with(heading));
        let words = |line: &str| line.split_whitespace().count();
        let at = at.unwrap_or_else(|| panic!("{}", run.out));
        assert!(lines[at].ends_with("node 0  node 1"), "{}", run.out);
        // The row has the name `node 0 (CPU 0)` and two numbers.
        assert!(lines[at + 1].starts_with("node 0 (CPU "), "{}", run.out);
        assert_eq!(words(lines[at + 1]), 6, "{}", run.out);
    }
}

#[test]
fn a_memory_matrix_is_a_table_of_cells_in_csv() {
    let run = stats_on(
        &with_cxl(),
        "--matrix memory -b 64k --full --quiet --format csv",
    );
    let lines: Vec<Vec<&str>> = run
        .out
        .lines()
        .map(|line| line.split(',').collect())
        .collect();
    assert_eq!(
        lines[0].join(","),
        "spe,place,cell,nearest_module,module,block_bytes,latency_ns,latency_low_ns,latency_high_ns,\
         bandwidth_bytes_per_s,huge_page_share"
    );
    let cells: Vec<String> = lines[1..].iter().map(|line| line[..6].join(",")).collect();
    assert_eq!(cells, ["0,CPU 0,0,0,0,65536", "0,CPU 0,0,0,1,65536"]);
    for line in &lines[1..] {
        assert_eq!(line.len(), lines[0].len());
        assert!(line[6].parse::<f64>().unwrap() > 0.0, "{line:?}");
    }
}

#[test]
fn memory_matrices_that_cannot_be() {
    let tree = Tree::new(PAIR, "A pair");
    for (flags, message) in [
        (
            "-m 0",
            "error: -m: a memory matrix has no NUMA node: it takes one CPU of each NUMA node or L3 group, and every \
             NUMA node; leave it out\n  example: cellworks stats --matrix memory\n",
        ),
        (
            "-n 2",
            "error: -n with --matrix: a matrix takes one SPE of each NUMA node or Cell, and every memory module; \
             leave -n out\n  example: cellworks stats --matrix memory\n",
        ),
        (
            "-b 100",
            "error: -b: memory matrix of 100 bytes: it takes a multiple of 64; use 64 or 128\n  example: cellworks \
             stats --matrix memory -b 1k\n",
        ),
        (
            "-b 3g",
            "error: -b: a buffer of 3 GB: it may take 2 GB of main memory; use a smaller \
             one\n  example: cellworks stats --matrix memory -b 1k\n",
        ),
        (
            "--polling reads",
            "error: --polling: a memory matrix has no way of polling: only atomic has; leave it out\n  example: \
             cellworks stats --matrix memory\n",
        ),
    ] {
        stats_on(&tree, &format!("--matrix memory {flags}")).refused(message);
    }
}

#[test]
fn everything_says_what_comes_next_on_a_computer_with_two_numa_nodes() {
    let shape = Shape {
        sockets: 2,
        cells: 1,
        cores: 1,
        threads: 1,
    };
    let tree = Tree::new(shape, "Two nodes");
    let run = stats_on(&tree, "--budget 6s --quiet");
    for text in [
        "\nNext\n",
        "`cellworks map solve --pattern pairs --tasks 2 --costs",
        "`cellworks stats --matrix memory`",
    ] {
        assert!(run.out.contains(text), "{text}: {}{}", run.out, run.err);
    }
}
