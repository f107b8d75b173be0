//! `cellworks stats` on the topology of other computers, on whatever CPUs are here.

mod tree;

use assert_cmd::Command;
use serde_json::Value;
use tree::{Shape, Tree};

/// Runs `cellworks stats` on the computer below `root`: exit code, standard output, standard error.
fn stats(root: &std::path::Path, arguments: &str) -> (Option<i32>, String, String) {
    let output = Command::new(assert_cmd::cargo::cargo_bin!("cellworks"))
        .env("CELLWORKS_FSROOT", root)
        .arg("stats")
        .args(arguments.split_whitespace())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// What the JSON says about the machine.
fn machine(tree: &Tree) -> Value {
    let once = "-f mailbox -n 1 -i 1 -w 0 --quiet --format json";
    let (code, out, err) = stats(tree.root(), once);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let report: Value = serde_json::from_str(&out).unwrap();
    report["machine"].clone()
}

/// The SPEs of a Cell.
fn spes_of(machine: &Value, cell: usize) -> Vec<u64> {
    let spes = machine["cells"][cell]["spes"].as_array().unwrap();
    spes.iter().map(|spe| spe.as_u64().unwrap()).collect()
}

#[test]
fn a_computer_of_576_cpus_has_as_many_spes_in_24_cells() {
    let shape = Shape {
        sockets: 2,
        cells: 12,
        cores: 12,
        threads: 2,
    };
    let machine = machine(&Tree::new(shape, "A large processor"));
    assert_eq!(machine["name"], "A large processor");
    assert_eq!(machine["spes"], 576);
    assert_eq!(machine["memory_modules"], 2);
    let cells = machine["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 24);
    // The second hardware threads come after the first ones of all cores.
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
    let (code, _, err) = stats(tree.root(), "-f mailbox -i 1 -w 0");
    assert_eq!(code, Some(0));
    let expected = format!(
        "warning: CELLWORKS_FSROOT is set: the CPUs and memory modules are those described in {}, \
         but the times are those of this computer\n",
        tree.root().display()
    );
    assert!(err.contains(&expected), "{err}");
}

#[test]
fn a_folder_without_a_computer_ends_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().display();
    let (code, out, err) = stats(folder.path(), "-f mailbox");
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert_eq!(
        err,
        format!(
            "error: CELLWORKS_FSROOT names {root}, which has no file \
             `sys/devices/system/cpu/online`, or an empty one; have it name a folder with the `sys` \
             and `proc` of a computer, or unset it to use this computer\n"
        )
    );
}
