//! The module of the Python wheel: the examples in it and in the guide, and sparse arrays, with the
//! command that the tests have built.

use std::env;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use crate::common::skipped;

/// Runs a program with the module, in an empty folder. Returns `None` if this computer cannot, and
/// says why.
#[track_caller]
fn python(program: &str) -> Option<String> {
    let command = Path::new(env!("CARGO_BIN_EXE_cellworks"));
    let mut folders = vec![command.parent().unwrap().to_path_buf()];
    folders.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
    let folder = tempfile::tempdir().unwrap();
    let run = |program: &str| -> Option<Output> {
        let mut python = Command::new("python3");
        python.args(["-B", "-c", program]).current_dir(&folder);
        python.env("PATH", env::join_paths(&folders).unwrap());
        python.env("PYTHONPATH", &module).output().ok()
    };
    if !run("import numpy").is_some_and(|run| run.status.success()) {
        skipped("there is no python3 with numpy; `.ci/package` has one");
        return None;
    }
    let run = run(program).unwrap();
    let error = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{error}");
    Some(String::from_utf8(run.stdout).unwrap())
}

#[test]
fn the_examples_of_the_python_module_work() {
    let Some(out) = python(
        "\
import doctest, cellworks
tested = doctest.testmod(cellworks, optionflags=doctest.ELLIPSIS)
print(tested.attempted, tested.failed)
",
    ) else {
        return;
    };
    let counts = out.lines().last().and_then(|line| line.split_once(' '));
    let (attempted, failed) = counts.unwrap_or_else(|| panic!("{out}"));
    assert!(attempted.parse::<u32>().unwrap() > 10, "{out}");
    assert_eq!(failed, "0", "{out}");
}

/// A class here has what the module uses of scipy's arrays. `.ci/package` has scipy.
#[test]
fn volumes_and_costs_can_be_sparse() {
    let Some(out) = python(
        "\
import cellworks, numpy

class Sparse:
    def __init__(self, dense):
        self.dense = numpy.array(dense)
        self.shape = self.dense.shape
    def tocoo(self):
        self.row, self.col = numpy.nonzero(self.dense)
        self.data = self.dense[self.row, self.col]
        return self
    def toarray(self):
        return self.dense

costs = Sparse([[0, 9, 1], [9, 0, 9], [1, 9, 0]])
found = cellworks.solve(Sparse([[0, 0, 5], [0, 0, 0], [2, 0, 0]]), costs)
print(found.cost, sorted(found.placement[[0, 2]].tolist()))
for wrong in [[0, 1, 2], [1, 0, 2]], [0, 1]:
    try:
        cellworks.solve(Sparse(wrong), costs)
    except ValueError as error:
        print(error)
",
    ) else {
        return;
    };
    assert_eq!(
        out,
        "7.0 [0, 2]\nvolumes have 2 rows and 3 columns: make them square\n\
         volumes have the shape (2,): make them square\n"
    );
}

#[test]
fn the_python_of_the_guide_runs() {
    const GUIDE: &str = include_str!("../../../../docs/mapping.md");
    let (_, block) = GUIDE.split_once("```python\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    if thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
        return skipped("it measures between two CPUs, and there is one");
    }
    let program = format!("{block}print(cellworks.load('placement.json').cost == found.cost)");
    let Some(out) = python(&program) else { return };
    assert!(out.ends_with("\nTrue\n"), "{out}");
}
