//! The module of the Python wheel: the examples in it, with the command that the tests have built.

use std::env;
use std::path::Path;
use std::process::Command;

const TESTED: &str = "\
import sys
try:
    import numpy
except ImportError:
    sys.exit(99)
import doctest, cellworks
tested = doctest.testmod(cellworks, optionflags=doctest.ELLIPSIS)
print(tested.attempted, tested.failed)
";

#[test]
fn the_examples_of_the_python_module_work() {
    let command = Path::new(env!("CARGO_BIN_EXE_cellworks"));
    let mut folders = vec![command.parent().unwrap().to_path_buf()];
    folders.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
    let run = Command::new("python3")
        .args(["-B", "-c", TESTED])
        .env("PATH", env::join_paths(folders).unwrap())
        .env("PYTHONPATH", module)
        .output();
    let left_out = |why: &str| eprintln!("left out: {why}; `.ci/package` runs these examples");
    let Ok(run) = run else {
        return left_out("there is no python3");
    };
    if run.status.code() == Some(99) {
        return left_out("Python has no numpy");
    }
    let out = String::from_utf8_lossy(&run.stdout);
    let error = String::from_utf8_lossy(&run.stderr);
    let counts = out.lines().last().and_then(|line| line.split_once(' '));
    let (attempted, failed) = counts.unwrap_or_else(|| panic!("{out}{error}"));
    assert!(attempted.parse::<u32>().unwrap() > 10, "{out}");
    assert_eq!(failed, "0", "{out}");
}
