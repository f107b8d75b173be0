//! Hostile inputs. The row of an input has the exit code, and words that the message must contain.
//! No row may end in a panic.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::common::tree::{Shape, Tree};
use crate::common::{
    ORDINARY_USER, Run, at_once, cellworks, is_emulated, run_as_ordinary_user, skipped,
};
use cellworks_runner::names;

/// The arguments of `cellworks`, the exit code, and parts of the message on standard error.
type Row = (&'static str, i32, &'static [&'static str]);

/// A folder with files that the commands of the rows cannot use.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    let made = Command::new("mkfifo")
        .arg(folder.path().join("fifo"))
        .status();
    assert!(made.unwrap().success());
    for (name, text) in [
        ("empty", ""),
        ("note.txt", "not what it should be\n"),
        ("note.json", "{\"schema_version\": 1}\n"),
        ("graph.txt", "0 1 1\n"),
        ("costs.csv", "0,1\n1,0\n"),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Asserts that each row ends with its exit code, and that its message contains the words.
#[track_caller]
fn check(rows: &[Row], command: impl Fn(&str) -> Command + Sync) {
    let folder = folder();
    let wrong = Mutex::new(Vec::new());
    at_once(rows, |(words, code, parts)| {
        let mut command = command(words);
        command.current_dir(folder.path()).stdin(Stdio::null());
        let run = Run::of(&mut command);
        let says_all = parts.iter().all(|part| run.err.contains(part));
        let is_panic = ["panicked", "backtrace", "RUST_"]
            .iter()
            .any(|word| run.err.contains(word));
        if run.code != Some(*code) || !says_all || is_panic || run.err.is_empty() {
            wrong.lock().unwrap().push(format!(
                "{words}: {code} {parts:?}, not {:?}: {}",
                run.code, run.err
            ));
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn plain(words: &str) -> Command {
    let mut command = cellworks();
    command.args(words.split_whitespace());
    command
}

/// The command of a row in a shell, after the command `before` and with a redirected output.
fn by_shell(before: &str, redirection: &str, words: &str) -> Command {
    let plain = plain(words);
    let mut shell = Command::new("env");
    shell.args([
        "sh",
        "-c",
        &format!("{before} exec \"$@\" {redirection}"),
        "sh",
    ]);
    shell.arg(plain.get_program()).args(plain.get_args());
    // With this variable a panic prints a backtrace, which `check` would find.
    shell.env("RUST_BACKTRACE", "1");
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

#[rustfmt::skip]
#[test]
fn arguments() {
    check(&[
        // Wrong lists.
        ("run switch --machine ps3 --threads 1,,2", 2, &["--threads <LIST>", "such as 1,2,4-8"]),
        ("run switch --machine ps3 --threads 1..4", 2, &["--threads <LIST>", "such as 1,2,4-8"]),
        ("stats --cpus 1..2", 2, &["--cpus <CPUS>", "numbers and ranges with commas", "2,5 or 0-3"]),
        ("stats --cpus 65000", 2, &["--cpus", "65000", "this process may use"]),
        ("map solve graph.txt --costs costs.csv --fix 0:1", 2, &["--fix", "0:1", "such as 0=3"]),
        ("map solve graph.txt --costs costs.csv --forbid x", 2, &["--forbid", "x", "such as 0,5"]),
        ("map solve graph.txt --costs costs.csv --forbid -1", 2, &["--forbid", "-1", "such as 0,5"]),
        ("map solve graph.txt --costs costs.csv --capacity x", 2, &["--capacity", "x", "whole numbers", "use 1"]),
        ("map ring --machine ps3 --tasks x", 2, &["--tasks", "x", "whole numbers", "use 8"]),
        ("map ring --machine ps3 --mapping x", 2, &["--mapping", "[x]", "such as [012345]"]),
        ("stats -f chase -k x", 2, &["-k", "x", "whole numbers", "use 8"]),
        ("run dma-latency --machine ps3 --sizes x", 2, &["--sizes", "x", "such as 128,1k-16k"]),
        ("run lookup --method none", 2, &["--method", "none", "plain, prefetch, interleave", "such as plain,prefetch"]),
        ("map exec x -- true", 2, &["x", "no list of CPUs, such as 6,4,2 or 0-3"]),
        ("run lu --machine ps3 --workers 1 --share 1,2", 2, &["--share", "1,2", "such as 3/64"]),
        ("reproduce cellstats --share 3/2", 2, &["3/2", "the last is 2/2"]),
        // Wrong numbers and sizes.
        ("stats -f dmaget -b 16q", 2, &["-b <SIZE>", "16q", "use 16k"]),
        ("stats -f dmaget -b -1", 2, &["-b <SIZE>", "-1", "use 16k"]),
        ("stats -f dmaget -b 1g", 2, &["-b", "a block of 1 GB", "at most 64 MB; use 64m\n", "example: "]),
        ("stats -f dmaget -n 0", 2, &["-n", "at least one takes part", "example: "]),
        ("stats -f dmaget -i 0", 2, &["-i", "0 iterations", "use 1000"]),
        ("stats -f dmalistget -l 99999999999", 2, &["-l", "99999999999", "more than 4294967295"]),
        ("run switch --machine ps3 --threads 0", 2, &["--threads", "use at least 1"]),
        ("map ring --machine ps3 --packet 0", 2, &["--packet", "0 bytes", "multiples of 16 bytes"]),
        ("stats --machine qs20 -f dmaget --seed -1", 2, &["--seed <NUMBER>", "-1", "use 1"]),
        ("compare note.json note.json --threshold 5", 2, &["--threshold", "'5'", "use 5%"]),
        // Wrong times.
        ("stats --budget 0s", 2, &["--budget <TIME>", "0s", "30s or 5m"]),
        ("stats --budget -1s", 2, &["--budget <TIME>", "-1s", "30s or 5m"]),
        ("stats --budget 5", 2, &["--budget <TIME>", "5", "30s or 5m"]),
        ("stats --machine qs20 --limit 0s", 2, &["--limit", "0s", "10ms or 2s"]),
        ("map solve graph.txt --costs costs.csv --time -1", 2, &["--time", "-1", "such as 10 or 0.5"]),
        ("map solve graph.txt --costs costs.csv --time nan", 2, &["--time", "nan", "such as 10 or 0.5"]),
        ("stats --machine qs20 --limit -5ms", 2, &["--limit", "-5ms", "10ms or 2s"]),
        ("compare note.json note.json --threshold -1%", 2, &["--threshold", "-1%", "use 5%"]),
        // Wrong names.
        ("stats -f dma", 2, &["-f <FUNCTION>", "dma", "dmaget"]),
        ("stats --machine ps4", 2, &["--machine", "ps4", "ps3", "ends in .toml or .csv"]),
        ("reproduce bible", 2, &["bible", "cellstats"]),
        ("man stat", 2, &["stat", "stats"]),
    ], plain);
}

#[rustfmt::skip]
#[test]
fn flags_that_do_nothing() {
    check(&[
        ("stats --samples", 2, &["--samples without --format json", "example: "]),
        ("stats -i 10", 2, &["-i without -f", "example: "]),
        ("stats --polling reads", 2, &["--polling without --matrix", "example: "]),
        ("stats --full", 2, &["--full without --matrix", "example: "]),
        ("stats --matrix atomic -i 10", 2, &["-i with --matrix", "example: "]),
        ("stats --matrix atomic --full --budget 1s", 2, &["--full with --budget", "example: "]),
        ("stats --machine qs20 --budget 1s", 2, &["--budget with --machine qs20", "--limit"]),
        ("stats --limit 1s", 2, &["--limit", "only a simulated machine has it"]),
        ("stats --counters", 2, &["--counters", "only a simulated machine has it"]),
        ("stats --machine qs20 --trace -", 2, &["--trace without -f", "example: "]),
        ("stats --machine qs20 --cpus 0", 2, &["--cpus with --machine qs20"]),
        ("machine qs20 --cpus 0", 2, &["--cpus with qs20"]),
        ("machines qs20 --format json", 2, &["--format with qs20", "TOML", "cellworks machine qs20 --format json"]),
        ("stats -f mailbox -b 1k", 2, &["-b", "mailbox has no block size"]),
        ("stats -f mailbox -m 0", 2, &["-m", "mailbox has no"]),
        ("stats -f dmaget -l 4", 2, &["-l", "only dmalistget and dmalistput move lists"]),
        ("stats -f dmaget -k 4", 2, &["-k", "only chase follows pointers"]),
        ("run lookup --pages 2m", 2, &["--pages", "the pages that the system gives", "stats -f chase --pages 2m"]),
        ("stats -f copy --pages 2m", 2, &["--pages", "copy has no page size", "dmaget"]),
        ("stats -f fetchadd --pages 4k", 2, &["--pages", "a part of one page"]),
        ("run aes --share 1/2", 2, &["--share", "only simulations give the same results"]),
        ("run lu --machine ps3 --workers 1 --share 1/2 --html a", 2, &["--html of a share", "merge"]),
    ], plain);
}

#[rustfmt::skip]
#[test]
fn inputs_that_are_none() {
    check(&[
        ("compare missing.json note.json", 2, &["missing.json", "does not exist", "write it: cellworks stats"]),
        ("compare folder note.json", 2, &["folder", "is a directory"]),
        ("compare empty note.json", 2, &["empty", "is empty"]),
        ("compare note.txt note.json", 2, &["note.txt"]),
        ("compare note.json note.json", 2, &["note.json"]),
        ("compare /proc/self/mem note.json", 2, &["/proc/self/mem", "cannot be read"]),
        ("compare note.json", 2, &["one file without --with", "example: "]),
        ("compare - -", 2, &["standard input can be read only once"]),
        ("merge missing", 2, &["missing", "cannot be read", "--results or --share"]),
        ("merge empty", 2, &["empty", "is empty", "--results or --share"]),
        ("merge folder", 2, &["folder", "cannot be read"]),
        ("machines note.txt", 2, &["note.txt", "no description of a machine", "machines qs20 > mine.toml"]),
        ("machines folder", 2, &["folder", "no description of a machine"]),
        ("machines /proc/self/mem", 2, &["/proc/self/mem", "could not be read"]),
        ("machines diff qs20 note.txt", 2, &["note.txt", "no description of a machine"]),
        ("stats --machine - -f dmaget", 2, &["--machine", "standard input", "write it to a file"]),
        ("stats --machine empty -f dmaget", 2, &["--machine", "empty"]),
        ("map solve missing --costs costs.csv", 2, &["missing", "name a text file that can be read"]),
        ("map solve folder --costs costs.csv", 2, &["folder", "name a text file that can be read"]),
        ("map solve graph.txt --costs empty", 2, &["empty", "the file is empty"]),
        ("map solve graph.txt --costs note.txt", 2, &["note.txt, line 1"]),
        ("map solve - --costs -", 2, &["standard input can be read only once"]),
        ("map explain 0,1 1,0 --problem - --costs -", 2, &["standard input can be read only once"]),
        ("map hwloc missing", 2, &["missing", "name a text file that can be read"]),
    ], plain);
}

/// These outputs are refused before the first measurement.
#[rustfmt::skip]
#[test]
fn outputs_that_cannot_be_written() {
    check(&[
        ("stats --html good.html/", 2, &["--html", "good.html/", "it is a folder", "name a file"]),
        ("stats --html folder", 2, &["--html", "folder", "it is a folder"]),
        ("stats --json missing/a.json", 2, &["--json", "missing/a.json", "name a file in a folder"]),
        ("stats --json a --csv a", 2, &["--csv", "--json is written there"]),
        ("stats --json - --csv -", 2, &["--csv", "--json is written there"]),
        ("stats --machine note.txt --json note.txt -f dmaget", 2, &["note.txt"]),
        ("compare note.json note.json --json note.json", 2, &["--json", "would replace note.json"]),
        ("map solve graph.txt --costs costs.csv --csv costs.csv", 2, &["--csv", "would replace costs.csv"]),
        ("stats --html fifo", 2, &["--html", "fifo", "no program reads it", "name a file"]),
        ("stats --json fifo", 2, &["--json", "fifo", "no program reads it"]),
        ("stats --machine qs20 -f mailbox --trace fifo", 2, &["--trace", "fifo", "no program reads it"]),
        ("run lu --machine ps3 --workers 1 --results fifo", 2, &["--results", "fifo", "no file on a disk", "name a file"]),
        ("run lu --machine ps3 --workers 1 --results /dev/full", 2, &["--results", "/dev/full", "no file on a disk"]),
        ("run lu --machine ps3 --workers 1 --results -", 2, &["--results", "- is no file on a disk", "--format"]),
        ("run lu --machine ps3 --workers 1 --results folder", 2, &["--results", "folder cannot be written", "name another file"]),
        ("run mandelbrot --machine ps3 --workers 1 --png note.json", 2, &["--png", "note.json", "name another one"]),
        ("merge note.json --html note.json", 2, &["--html", "would replace note.json"]),
    ], plain);
}

/// Commands that print quickly. `map explain` uses `graph.txt` and `costs.csv`.
const PRINTING: [&str; 13] = [
    "stats --machine ps3 -f mailbox -i 10 --quiet",
    "machine",
    "machine ps3",
    "machines",
    "machines ps3",
    "machines diff ps3 qs20",
    "run switch --machine ps3 --threads 4 --quiet",
    "map solve graph.txt --costs costs.csv --time 0 --quiet",
    "map explain 0,1 1,0 --problem graph.txt --costs costs.csv --quiet",
    "man stats",
    "completions bash",
    "--help",
    "--version",
];

/// Commands that check standard output first. Without this check they would take longer, or fail
/// for another reason.
const ASKING_FIRST: [&str; 4] = [
    "stats",
    "reproduce --quiet",
    "compare missing.json missing.json",
    "merge missing",
];

#[test]
fn a_closed_standard_output_is_an_error_before_anything_is_measured() {
    let parts: &[&str] = &["error: standard output is closed", "> /dev/null"];
    let rows: Vec<Row> = PRINTING
        .iter()
        .chain(&ASKING_FIRST)
        .map(|words| (*words, 1, parts))
        .collect();
    check(&rows, |words| by_shell("", ">&-", words));
    // This command prints nothing.
    let run = Run::of(&mut by_shell("", ">&-", "map exec 0 -- true"));
    assert!(!run.err.contains("closed"), "{}", run.err);
}

#[test]
fn a_full_disk_is_an_error() {
    let parts: &[&str] = &["error: the result could not be written: No space left on device"];
    let rows: Vec<Row> = PRINTING.iter().map(|words| (*words, 1, parts)).collect();
    check(&rows, |words| by_shell("", ">/dev/full", words));
}

/// 100 MB of address space are too little for a run, and 512 MB are too little for all buffers.
#[rustfmt::skip]
#[test]
fn a_small_address_space_is_named() {
    if is_emulated() {
        return skipped("the emulator itself takes more address space");
    }
    let limit: &[&str] = &["256 MB of address space", "100000 KB (RLIMIT_AS)", "ulimit -v"];
    let rows = [
        "stats", "stats -f chase", "stats --machine qs20 -f dmaget", "run switch --threads 1000", "run aes --bytes 200m",
        "reproduce", "map solve graph.txt --costs costs.csv", "map ring --machine ps3",
    ].map(|words| (words, 1, limit));
    check(&rows, |words| by_shell("ulimit -v 100000;", "", words));

    let shape = Shape { sockets: 1, cells: 1, cores: 2, threads: 1 };
    let tree = Tree::new(shape, "A computer");
    check(&[
        ("stats -f dmaget -N 2 -b 64m -t 300m --quiet", 1, &["64 MB, 300 MB apart", "500000 KB (RLIMIT_AS)", "ulimit -v"]),
        ("run aes --bytes 1g --quiet", 1, &["aes, ", "parameters as large as these takes 2304 MB of address space", "500000 KB (RLIMIT_AS)", "ulimit -v"]),
        ("run overlap --bytes 1g --quiet", 1, &["overlap, ", "takes 2304 MB", "ulimit -v"]),
        ("run lookup --bytes 1m,1g --structure hash-join --quiet", 1, &["lookup, hash join", "takes 1280 MB", "ulimit -v"]),
        ("run knn --points 1m --quiet", 1, &["knn, 1 SPE, 1 thread, 1000000 points", "takes 767.4 MB", "500000 KB (RLIMIT_AS)", "ulimit -v"]),
        ("run knn --machine ps3 --points 1m --quiet", 1, &["knn, ", "takes 767.4 MB", "ulimit -v"]),
        ("run switch --threads 1,2000 --quiet", 1, &["switch, 2000 threads", "takes 818.5 MB", "500000 KB (RLIMIT_AS)", "ulimit -v"]),
        ("run commstime --spes 2 --threads 1000 --quiet", 1, &["commstime, 2 SPEs, 1000 threads", "takes 818.5 MB", "ulimit -v"]),
        ("run lu --size 4k --workers 1 --quiet", 1, &["lu, ", "takes 640 MB", "ulimit -v"]),
        ("run server --clients 1k --workers 1k --quiet", 1, &["server, ", "takes 818.5 MB", "ulimit -v"]),
        // 2^24 places would take 2 GB: these are refused before any of them takes memory.
        ("map solve --pattern ring --costs node:16777216", 2, &["the machine has 16777216 places", "1048576 are allowed"]),
        ("map solve --pattern ring --costs core:4096 --nodes 4096 --network 9", 2, &["--nodes: the machine has 16777216 places"]),
    ], |words| {
        let mut command = by_shell("ulimit -v 500000;", "", words);
        command.env("CELLWORKS_FSROOT", tree.root());
        command
    });
}

/// The sizes are refused even if the address space has no limit.
#[rustfmt::skip]
#[test]
fn more_memory_than_any_computer_has() {
    check(&[
        ("run aes --bytes 1000000000g --quiet", 2, &["--bytes", "no memory for 1000000000 GB", "use less", "ulimit -v"]),
        ("run overlap --bytes 1000000000g --quiet", 2, &["--bytes", "no memory for 1000000000 GB"]),
        ("run lookup --bytes 1025g --quiet", 2, &["--bytes", "1025 GB are too many; use at most 1024g"]),
        ("run switch --threads 1g --quiet", 2, &["--threads", "1000000000 threads are too many; use at most 20000"]),
    ], plain);
}

/// The command runs as an ordinary user, because root may have any number of threads.
#[rustfmt::skip]
#[test]
fn a_computer_that_gives_no_more_threads() {
    if is_emulated() {
        return skipped("the emulator ends a process that gets no thread");
    }
    if !run_as_ordinary_user(&mut cellworks(), tempfile::tempdir().unwrap().path()) {
        return;
    }
    let is_root = Path::new("/proc/self").metadata().unwrap().uid() == 0;
    check(&[
        ("stats -f mailbox --quiet", 1, &["no thread for CPU 0", "ulimit -u"]),
        ("stats -f mkthread --quiet", 1, &["no thread for CPU 0", "ulimit -u"]),
        ("run switch --threads 4 --quiet", 1, &["no thread for", "ulimit -u"]),
        ("run commstime --spes 1 --threads 2 --quiet", 1, &["no thread for", "ulimit -u"]),
    ], |words| {
        let mut command = by_shell("ulimit -u 1 2>/dev/null || ulimit -p 1;", "", words);
        if is_root {
            command.uid(ORDINARY_USER).gid(ORDINARY_USER);
        }
        command
    });
}

/// Each program and each kind of refusal on a computer with one CPU. The example of each refusal
/// has to be a command that this computer does not refuse.
#[test]
fn the_examples_of_a_computer_with_one_cpu_work_there() {
    let shape = Shape {
        sockets: 1,
        cells: 1,
        cores: 1,
        threads: 1,
    };
    let tree = Tree::new(shape, "A single");
    let on_tree = |words: &str| {
        let mut command = plain(words);
        command.env("CELLWORKS_FSROOT", tree.root());
        Run::of(&mut command)
    };
    let programs = names().iter();
    let mut refused: Vec<String> = programs
        .map(|name| format!("run {name} --seed 1"))
        .collect();
    refused.extend(
        [
            "aes --spes 2",
            "barrier --spes 2",
            "commstime --spes 2",
            "lu --workers 2",
            "server --spes 2",
        ]
        .map(|words| format!("run {words}")),
    );
    refused.extend(
        [
            "--full",
            "--polling reads",
            "--matrix atomic",
            "--matrix atomic -n 2",
            "--matrix copy --full --budget 1s",
            "--matrix memory -n 2",
            "-f dmaget -n 2 -N 2",
            "-f mailbox -n 2 -s",
            "-f dmaget -N 2",
            "-f chase --load 1",
        ]
        .map(|words| format!("stats {words}")),
    );
    let mut examples = BTreeSet::new();
    for words in refused {
        let run = on_tree(&words);
        assert_eq!(run.code, Some(2), "{words}: {}", run.err);
        let example = run.err.lines().find_map(|line| {
            let example = line.trim_start().strip_prefix("example: cellworks ")?;
            Some(example.to_owned())
        });
        let example = example.unwrap_or_else(|| panic!("{words}: {}", run.err));
        examples.insert(example);
    }
    at_once(examples, |example| {
        // A refused command ends at once. Any other command is stopped after a second.
        let command = plain(&format!("{example} --quiet"));
        let mut in_time = Command::new("timeout");
        in_time
            .arg("1")
            .arg(command.get_program())
            .args(command.get_args());
        let run = Run::of(in_time.env("CELLWORKS_FSROOT", tree.root()));
        assert_ne!(run.code, Some(2), "{example}: {}", run.err);
    });
}

/// A quota of one CPU on a computer with two CPUs.
#[rustfmt::skip]
#[test]
fn a_quota_and_one_cpu_are_named_with_an_example_that_works() {
    let shape = Shape { sockets: 1, cells: 1, cores: 2, threads: 1 };
    let tree = Tree::new(shape, "A container");
    tree.write("sys/fs/cgroup/cpu.max", "100000 100000");
    tree.write("proc/self/cgroup", "0::/");
    tree.write("proc/self/mountinfo", "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
    let on_tree = |words: &str| {
        let mut command = plain(words);
        command.env("CELLWORKS_FSROOT", tree.root());
        command
    };
    let rows: &[Row] = &[
        ("stats -f mailbox -n 2", 2, &["A container has 1", "CPU 1 (a quota leaves 1.00 CPUs", "cpu.max", "raise it"]),
        ("stats --matrix atomic", 2, &["A container has 1", "a quota leaves 1.00 CPUs", "stats --machine qs20 --matrix atomic"]),
        ("stats -f chase --load 1", 2, &["A container has 1", "a quota leaves 1.00 CPUs", "--load 0"]),
        ("run barnes-hut --workers 2", 2, &["A container has 1", "a quota leaves 1.00 CPUs", "--bodies 10k --workers 1\n"]),
        ("run commstime --spes 2 --threads 1", 2, &["A container has 1", "a quota leaves 1.00 CPUs", "--spes 1 --threads 2-4\n"]),
    ];
    check(rows, on_tree);
}
