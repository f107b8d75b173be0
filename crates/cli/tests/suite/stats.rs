//! `cellworks stats` as a process, on any computer.
//!
//! The tests ask the command once for the parts of this computer. They therefore pass with one CPU
//! and with many, and with one NUMA node and with several.

use std::sync::LazyLock;

use crate::common::{at_once, list, skipped, stats, stats_command};
use cellworks_stats::Setting;
use serde_json::Value;

/// The JSON of a run with the given arguments.
#[track_caller]
fn json(arguments: &str) -> Value {
    stats(&format!("{arguments} --quiet --format json")).json()
}

/// The reason why nothing is measured between SPEs.
const ONE_SPE: &str = "it takes two SPEs, and this computer has one CPU";

/// The parts of this computer.
struct Here {
    name: String,
    /// The name of the first SPE of this computer.
    first: String,
    spes: usize,
    /// The number of SPEs of each Cell.
    cells: Vec<usize>,
    modules: usize,
}

static HERE: LazyLock<Here> = LazyLock::new(|| {
    let report = json("-f mailbox -i 1 -w 0");
    let machine = &report["machine"];
    let number = |value: &Value| value.as_u64().unwrap() as usize;
    Here {
        name: machine["name"].as_str().unwrap().to_owned(),
        first: machine["spe_places"][0].as_str().unwrap().to_owned(),
        spes: number(&machine["spes"]),
        cells: machine["cells"]
            .as_array()
            .unwrap()
            .iter()
            .map(|cell| cell["spes"].as_array().unwrap().len())
            .collect(),
        modules: number(&machine["memory_modules"]),
    }
});

impl Here {
    /// The advice `use 2`, or `use 0 to 2`.
    fn range(from: usize, to: usize) -> String {
        if from >= to {
            to.to_string()
        } else {
            format!("{from} to {to}")
        }
    }

    /// The error about a number of SPEs that this computer does not have.
    fn too_many_spes(&self, flag: &str, asked: usize) -> String {
        format!(
            "error: {flag}: {asked} CPUs: {} has {}; use {}\n",
            self.name,
            self.spes,
            Self::range(1, self.spes)
        )
    }

    fn no_such(&self, flag: &str, noun: &str, asked: usize, has: usize) -> String {
        let parts = match has {
            1 => format!("only {noun} 0"),
            _ => format!("{noun}s 0 to {}", has - 1),
        };
        format!(
            "error: {flag}: {noun} {asked}: {} has {parts}; use {}\n",
            self.name,
            Self::range(0, has - 1)
        )
    }
}

/// One of the paper's example command lines with fewer iterations. Asserts the number of SPEs, the
/// flag with this number, the Cell, the memory module, and whether the measurement is between SPEs.
#[track_caller]
fn example(line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let value = |flag: &str| {
        let at = words.iter().position(|word| *word == flag)?;
        Some(words[at + 1].parse::<usize>().unwrap())
    };
    let (flag, spes) = match (value("-n"), value("-N")) {
        (Some(shared), _) => ("-n", shared),
        (None, Some(private)) => ("-N", private),
        (None, None) => panic!("{line}: every example has -n or -N"),
    };
    let (cell, module) = (value("-c").unwrap_or(0), value("-m"));
    let between_spes = words.contains(&"-s");
    let run = stats(&format!("{line} --quiet"));
    let here = &*HERE;
    let expected = if spes > here.spes || (between_spes && here.spes < 2) {
        here.too_many_spes(flag, spes)
    } else if cell >= here.cells.len() {
        here.no_such("-c", "L3 group", cell, here.cells.len())
    } else if module.is_some_and(|module| module >= here.modules) {
        here.no_such("-m", "NUMA node", module.unwrap_or(0), here.modules)
    } else if here.cells[cell] <= usize::from(between_spes && cell == 0) {
        format!("error: -c: L3 group {cell}: on {} it has no CPU", here.name)
    } else {
        String::new()
    };
    if expected.is_empty() {
        assert_eq!(run.measured(), "", "{line}");
        let out = run.out;
        let function = words[1].replace("dmaout", "dmaput");
        assert!(out.contains(&format!("\n{function}: ")), "{line}: {out}");
        assert!(
            out.contains(" mean ") && (out.contains(" ns ") || out.contains(" us ")),
            "{line}: {out}"
        );
    } else {
        let err = run.err;
        assert_eq!(run.code, Some(2), "{line}: {err}");
        assert!(
            err.starts_with(&expected),
            "{line}: {err}\nexpected {expected}"
        );
        assert!(err.contains("\n  example: cellworks stats -f "), "{err}");
    }
}

#[test]
fn the_papers_example_of_thread_creation() {
    example("-f mkthread -n 1 -i 100");
}

#[test]
fn the_papers_examples_of_mailboxes_and_signals() {
    for function in ["mailbox", "signal"] {
        example(&format!("-f {function} -n 1 -i 100 -c 0"));
        example(&format!("-f {function} -n 1 -i 100 -c 1"));
        example(&format!("-f {function} -n 2 -i 100 -c 0 -s"));
        example(&format!("-f {function} -n 2 -i 100 -c 1 -s"));
    }
}

#[test]
fn the_papers_examples_of_dma() {
    example("-f dmaget -n 3 -i 100 -b 1k -c 0 -m 0");
    example("-f dmaout -n 6 -i 100 -b 1k -c 0 -m 1");
    example("-f dmaget -N 3 -b 1k -i 100 -t 2k -c 1 -m 0");
    example("-f dmaout -N 6 -b 1k -i 100 -t 2k -c 1 -m 1");
    example("-f dmaget -N 6 -b 32 -t 128 -i 100 -c 1 -m 1 -s");
    example("-f dmalistget -n 6 -l 16 -b 64 -i 100 -c 1 -m 1");
}

#[test]
fn the_papers_examples_of_atomic_operations() {
    example("-f fetchadd -n 3 -i 100 -c 0 -m 0");
    example("-f fetchsub -n 6 -i 100 -c 0 -m 1");
    example("-f fetchinc -N 3 -t 2k -i 100 -c 1 -m 0 -b 128");
    example("-f fetchset -N 6 -t 2k -i 100 -c 1 -m 1 -b 128");
}

/// The paper's examples for one SPE, one Cell and one module. Every computer has these parts.
#[test]
fn every_function_prints_a_result_on_every_computer() {
    let functions = "mkthread mailbox signal dmaget dmaput dmaout dmalistget dmalistput fetchadd \
                     fetchsub fetchinc fetchdec fetchset wakeup copy chase osthread";
    at_once(functions.split_whitespace(), |function| {
        example(&format!("-f {function} -n 1 -i 100 -c 0"));
    });
    example("-f fetchset -N 1 -t 2k -i 100 -c 0 -m 0 -b 128");
    example("-f dmaout -N 1 -b 1k -i 100 -t 2k -c 0 -m 0");
}

#[track_caller]
fn refused(arguments: &str, message: &str) {
    stats(arguments).refused(message);
}

#[test]
fn sizes_that_the_mfc_refuses() {
    let rule = "a DMA command moves 1, 2, 4, 8 or a multiple of 16 bytes";
    let example = "  example: cellworks stats -f dmaget -b 1k\n";
    for (bytes, legal) in [
        ("0", "1"),
        ("5", "4 or 8"),
        ("24", "16 or 32"),
        ("1000", "992 or 1008"),
    ] {
        let message =
            format!("error: -b: a block of {bytes} bytes: {rule}; use {legal}\n{example}");
        refused(&format!("-f dmaget -b {bytes}"), &message);
    }
    refused(
        "-f dmaget -b 65m",
        "error: -b: a block of 65 MB: here a block has at most 64 MB; use 64m\n  \
         example: cellworks stats -f dmaget -b 1k\n",
    );
    refused(
        "-f dmalistput -b 17k",
        "error: -b: a block of 17 KB: here a block has at most 16 KB; use 16k\n  \
         example: cellworks stats -f dmalistput -b 1k\n",
    );
    refused(
        "-f fetchadd -b 256",
        "error: -b: a variable of 256 bytes: an atomic operation takes a multiple of 4 bytes up to 128, a \
         reserved line; use 4 or 128\n  example: cellworks stats -f fetchadd -b 128\n",
    );
}

#[test]
fn lists_out_of_range() {
    for elements in ["0", "2049"] {
        refused(
            &format!("-f dmalistget -l {elements} -b 16"),
            &format!(
                "error: -l: a list of {elements} elements: a list command takes 1 to 2048; use 16\n  \
                 example: cellworks stats -f dmalistget -l 16 -b 1k\n"
            ),
        );
    }
    refused(
        "-f dmalistget -l 2k -b 1k",
        "error: -l: a list of 2000 elements of 1 KB: with the list itself it takes 2064256 bytes of a \
         local buffer of 256 KB; use fewer elements, or smaller ones\n  \
         example: cellworks stats -f dmalistget -l 16 -b 1k\n",
    );
}

#[test]
fn counts_out_of_range() {
    refused(
        "-f mailbox -i 0",
        "error: -i: 0 iterations: a measurement takes 1 to 4294967295; use 1000\n  \
         example: cellworks stats -f mailbox -i 1000\n",
    );
    refused(
        "-f mailbox -i 5000m",
        "error: -i: 5000000000 iterations: a measurement takes 1 to 4294967295; use 1000\n  \
         example: cellworks stats -f mailbox -i 1000\n",
    );
    refused(
        "-f signal -w 5000m",
        "error: -w: 5000000000 iterations of warm-up: a measurement takes 0 to 4294967295; use 1000\n  \
         example: cellworks stats -f signal -w 1000\n",
    );
    let all = Here::range(1, HERE.spes);
    for flag in ["-n", "-N"] {
        refused(
            &format!("-f dmaget {flag} 0"),
            &format!(
                "error: {flag}: 0 CPUs: at least one takes part; use {all}\n  \
                 example: cellworks stats -f dmaget {flag} 1\n"
            ),
        );
        refused(
            &format!("-f dmaget {flag} 10k"),
            &format!(
                "{}  example: cellworks stats -f dmaget {flag} 1\n",
                HERE.too_many_spes(flag, 10_000)
            ),
        );
    }
    refused(
        "-f mailbox -c 999",
        &format!(
            "{}  example: cellworks stats -f mailbox -c 0\n",
            HERE.no_such("-c", "L3 group", 999, HERE.cells.len())
        ),
    );
    refused(
        "-f dmaget -m 999",
        &format!(
            "{}  example: cellworks stats -f dmaget -m 0\n",
            HERE.no_such("-m", "NUMA node", 999, HERE.modules)
        ),
    );
}

#[test]
fn strides_out_of_range() {
    refused(
        "-f dmaget -N 1 -b 128 -t 64",
        "error: -t: a stride of 64 bytes: private buffers of 128 bytes would overlap; use 128 or more\n  \
         example: cellworks stats -f dmaget -N 1 -b 128 -t 16k\n",
    );
    refused(
        "-f dmaget -N 1 -b 128 -t 130",
        "error: -t: a stride of 130 bytes: it must be a multiple of 16, so that every buffer is aligned; use \
         144\n  example: cellworks stats -f dmaget -N 1 -b 128 -t 16k\n",
    );
    if HERE.spes < 2 {
        return skipped(ONE_SPE);
    }
    refused(
        "-f fetchadd -N 2 -b 64 -t 100",
        "error: -t: a stride of 100 bytes: variable 1, of 64 bytes, would lie in two lines, and an atomic \
         operation covers one of 128 bytes; use 128\n  \
         example: cellworks stats -f fetchadd -N 2 -b 128 -t 16k\n",
    );
    refused(
        "-f dmaget -N 2 -t 8192m",
        "error: -N: 2 buffers of 1 KB, 8 GB apart: together they may take 4 GB of \
         main memory; use fewer, smaller or closer ones\n  example: cellworks stats -f dmaget -N 2 -b 128\n",
    );
}

#[test]
fn contradictory_flags() {
    refused(
        "-f dmaget -n 1 -N 1",
        "error: -n 1 with -N 1: buffers are either shared or private; use one of them\n  \
         example: cellworks stats -f dmaget -n 1\n",
    );
    refused(
        "-f dmaget -n 1 -t 2k",
        "error: -t: a stride of 2 KB: the buffer is shared, and a stride is the distance between private \
         ones; ask for private buffers (-N), or leave it out\n  \
         example: cellworks stats -f dmaget -N 1 -t 16k\n",
    );
    refused(
        "-b 1k",
        "error: -b without -f: it belongs to one function, and without -f everything is measured; name a \
         function\n  example: cellworks stats -f dmaget -b 1k -i 1000\n",
    );
    refused(
        "-f dmaget --samples",
        "error: --samples without --format json: samples are in JSON only\n  \
         example: cellworks stats -f dmaget --samples --format json\n",
    );
    let word = "it carries one word of 4 bytes, and no buffer";
    let lists = "only dmalistget and dmalistput move lists";
    let empty = "its program is empty";
    for (function, flags, what, why) in [
        ("mailbox", "-b 4", "block size", word),
        ("signal", "-b 4", "block size", word),
        ("mailbox", "-N 1", "private buffers", word),
        ("mailbox", "-t 128", "stride", word),
        ("mailbox", "-m 0", "NUMA node", word),
        ("mkthread", "-b 4", "block size", empty),
        ("mkthread", "-N 1", "private buffers", empty),
        ("mkthread", "-m 0", "NUMA node", empty),
        (
            "mkthread",
            "-s",
            "form between CPUs",
            "only the main thread starts programs",
        ),
        (
            "fetchadd",
            "-s",
            "form between CPUs",
            "atomic operations work on main memory",
        ),
        ("dmaget", "-l 4", "list", lists),
        ("fetchinc", "-l 4", "list", lists),
        ("mailbox", "-l 4", "list", lists),
        (
            "copy",
            "-m 0",
            "NUMA node",
            "each CPU allocates its memory itself, near it",
        ),
        (
            "chase",
            "-N 1",
            "private buffers",
            "one CPU follows pointers, in a table of its own",
        ),
    ] {
        let flag = &flags[..2];
        let message = format!(
            "error: {flag}: {function} has no {what}: {why}; leave it out\n  \
             example: cellworks stats -f {function} -n 1\n"
        );
        refused(&format!("-f {function} {flags}"), &message);
    }
}

#[test]
fn copies_and_tables_that_cannot_be() {
    refused(
        "-f copy -n 999",
        &format!(
            "error: -n: 999 CPUs on one buffer: each CPU of copy writes a block of its own; ask for \
             private buffers (-N), or use 1\n  example: cellworks stats -f copy -N {}\n",
            HERE.spes
        ),
    );
    refused(
        "-f copy -b 1000",
        "error: -b: copy of 1000 bytes: it takes a multiple of 16; use 992 or 1008\n  \
         example: cellworks stats -f copy -b 1k\n",
    );
    refused(
        "-f chase -b 100",
        "error: -b: chase of 100 bytes: it takes a multiple of 64; use 64 or 128\n  \
         example: cellworks stats -f chase -b 1k\n",
    );
    refused(
        "-f chase -n 2",
        "error: -n: 2 CPUs: one CPU follows the pointers of chase; use 1, and have others load the \
         memory meanwhile (--load)\n  example: cellworks stats -f chase -n 1\n",
    );
}

#[test]
fn examples_keep_the_number_of_spes_and_the_form_between_spes() {
    if HERE.spes < 2 {
        return skipped(ONE_SPE);
    }
    let shared = "the buffer is shared, and a stride is the distance between private ones; ask for private \
                  buffers (-N), or leave it out";
    at_once([
        (
            "-f dmaget -n 2 -b 256k -s",
            "-b",
            format!(
                "a buffer of 256 KB: it may take 255.7 KB of the local buffer of {}; use a smaller one",
                HERE.first
            )
            .as_str(),
            "-f dmaget -b 1k -s",
        ),
        (
            "-f dmaget -n 2 -t 2k",
            "-t",
            &format!("a stride of 2 KB: {shared}"),
            "-f dmaget -N 2 -t 16k",
        ),
        (
            "-f dmalistget -n 2 -t 4k -s",
            "-t",
            &format!("a stride of 4 KB: {shared}"),
            "-f dmalistget -N 2 -t 2k -s",
        ),
        (
            "-f dmaput -N 2 -b 128 -t 64 -s",
            "-t",
            "a stride of 64 bytes: private buffers of 128 bytes would overlap; use 128 or more",
            "-f dmaput -N 2 -b 128 -t 2k -s",
        ),
        (
            "-f mailbox -i 0 -s",
            "-i",
            "0 iterations: a measurement takes 1 to 4294967295; use 1000",
            "-f mailbox -i 1000 -s",
        ),
        (
            "-f signal -b 4 -s",
            "-b",
            "signal has no block size: it carries one word of 4 bytes, and no buffer; leave it out",
            "-f signal -n 2 -s",
        ),
        (
            "-f mkthread -b 4 -s",
            "-s",
            "mkthread has no form between CPUs: only the main thread starts programs; leave it out",
            "-f mkthread -n 1",
        ),
    ], |(arguments, flag, error, example)| {
        let message = format!("error: {flag}: {error}\n  example: cellworks stats {example}\n");
        refused(arguments, &message);
        let run = stats(&format!("{example} --quiet"));
        assert_eq!(run.measured(), "", "{example}");
    });
    let err = stats("-f mailbox -c 999 -s").err;
    assert!(
        err.ends_with("\n  example: cellworks stats -f mailbox -n 2 -s\n"),
        "{err}"
    );
}

#[test]
fn chains_and_loads_that_cannot_be() {
    for chains in [0, 65] {
        refused(
            &format!("-f chase -k {chains}"),
            &format!(
                "error: -k: {chains} chains: a CPU follows 1 to 64 at once; use 1\n  \
                 example: cellworks stats -f chase -k 8\n"
            ),
        );
    }
    refused(
        "-f chase -k 8 -b 64",
        "error: -k: 8 chains through a table of 64 bytes: each starts at another node of 64 bytes; use a \
         table of 512 or more\n  example: cellworks stats -f chase -k 8 -b 64m\n",
    );
    let here = &*HERE;
    refused(
        "-f chase --load 10k",
        &format!(
            "error: --load: 10000 loading CPUs: {} has {}, and one of them chases; use {}\n  \
             example: cellworks stats -f chase --load 0\n",
            here.name,
            here.spes,
            Here::range(0, here.spes - 1)
        ),
    );
    for (function, flag, what, why) in [
        ("mailbox", "-k", "chains", "only chase follows pointers"),
        (
            "copy",
            "--load",
            "loading CPUs",
            "only chase follows pointers",
        ),
        (
            "copy",
            "-s",
            "form between CPUs",
            "a CPU works on main memory alone",
        ),
    ] {
        let value = if flag == "-s" { "" } else { "1" };
        refused(
            &format!("-f {function} {flag} {value}"),
            &format!(
                "error: {flag}: {function} has no {what}: {why}; leave it out\n  \
                 example: cellworks stats -f {function} -n 1\n"
            ),
        );
    }
    for flag in ["-k", "--load"] {
        refused(
            &format!("{flag} 1"),
            &format!(
                "error: {flag} without -f: it belongs to one function, and without -f everything is \
                 measured; name a function\n  example: cellworks stats -f dmaget -b 1k -i 1000\n"
            ),
        );
    }
}

#[test]
fn budgets_that_are_none() {
    let rule = "a budget is a time with its unit, such as 500ms, 30s or 5m";
    for (value, why) in [
        ("0s", "nothing can be measured in no time"),
        ("nonsense", "expected number at 0"),
        ("5", "time unit needed, for example 5sec or 5ms"),
    ] {
        refused(
            &format!("--budget {value}"),
            &format!(
                "error: invalid value '{value}' for '--budget <TIME>': {why}; {rule}\n\n\
                 For more information, try '--help'.\n"
            ),
        );
    }
    refused(
        "-f mailbox -i 5 --budget 1s",
        "error: -i 5 with --budget: a number of iterations takes as long as it takes; use one of them\n  \
         example: cellworks stats -f mailbox -i 5\n",
    );
    refused(
        "--matrix copy --full --budget 1s",
        "error: --full with --budget: every pair takes as long as it takes; use one of them\n  \
         example: cellworks stats --matrix copy --full\n",
    );
}

#[test]
fn flags_of_a_matrix_and_of_a_function_do_not_mix() {
    for (arguments, flag, example) in [
        ("--polling reads", "--polling", "--polling reads"),
        (
            "-f fetchadd --polling reads",
            "--polling",
            "--polling reads",
        ),
        ("--full", "--full", "--full"),
        ("--full --budget 1s", "--full", "--full"),
    ] {
        refused(
            arguments,
            &format!(
                "error: {flag} without --matrix: it says how a matrix is measured; name what it is of\n  \
                 example: cellworks stats --matrix atomic {example}\n"
            ),
        );
    }
    for flags in [
        "-f mailbox",
        "--samples",
        "-n 2",
        "-N 2",
        "-i 5",
        "-w 5",
        "-l 4",
        "-t 2k",
        "-c 0",
        "-s",
        "-k 2",
        "--load 1",
    ] {
        let flag = flags.split(' ').next().unwrap();
        refused(
            &format!("--matrix signal {flags}"),
            &format!(
                "error: {flag} with --matrix: a matrix takes every pair of SPEs as it is; leave {flag} out\n  \
                 example: cellworks stats --matrix signal\n"
            ),
        );
    }
    refused(
        "--matrix telepathy",
        "error: invalid value 'telepathy' for '--matrix <WHAT>'\n  \
         [possible values: mailbox, signal, atomic, copy, memory]\n\nFor more information, try '--help'.\n",
    );
}

#[test]
fn an_exchange_between_spes_takes_two() {
    if HERE.spes < 2 {
        return skipped(ONE_SPE);
    }
    refused(
        "-f mailbox -n 1 -s",
        &format!(
            "error: -n: 1 CPU: mailbox between CPUs takes {} and at least one more; use 2\n  \
             example: cellworks stats -f mailbox -n 2 -s\n",
            HERE.first
        ),
    );
}

#[test]
fn values_that_are_no_values() {
    let more = "\n\nFor more information, try '--help'.\n";
    let counts =
        "counts are whole numbers, with k for 1,000, m for 1,000,000 or g for 1,000,000,000";
    let of_many = format!("{counts}; use 10k");
    let of_few = format!("{counts}; use 2");
    let of_lists = format!("{counts}; use 16");
    let sizes =
        "sizes are whole bytes, with k, KB or KiB for 1,024, and so on for m and g; use 16k";
    let numbers = "Cells and memory modules have numbers from 0 to 65535; use 0";
    let largest = "more than 18446744073709551615, the largest number there is";
    for (flag, name, value, rule) in [
        ("-i", "ITERATIONS", "ten", of_many.clone()),
        ("-w", "WARM-UP", "1.5k", of_many.clone()),
        ("-n", "SPES", "1t", of_few.clone()),
        ("-N", "SPES", "0x2", of_few.clone()),
        ("-l", "ELEMENTS", "k", of_lists.clone()),
        ("-b", "SIZE", "16x", sizes.to_owned()),
        ("-t", "STRIDE", "1kk", sizes.to_owned()),
        ("-i", "ITERATIONS", "-1", of_many.clone()),
        ("-w", "WARM-UP", "-1", of_many.clone()),
        ("-n", "SPES", "-1", of_few.clone()),
        ("-N", "SPES", "-1", of_few.clone()),
        ("-l", "ELEMENTS", "-1", of_lists.clone()),
        ("-b", "SIZE", "-1", sizes.to_owned()),
        ("-t", "STRIDE", "-1", sizes.to_owned()),
        ("-c", "CELL", "-1", numbers.to_owned()),
        ("-c", "CELL", "70000", numbers.to_owned()),
        ("-m", "MODULE", "-1", numbers.to_owned()),
        (
            "-i",
            "ITERATIONS",
            "20000000000000m",
            format!("{largest}; {of_many}"),
        ),
        (
            "-b",
            "SIZE",
            "20000000000000m",
            format!("{largest}; {sizes}"),
        ),
    ] {
        refused(
            &format!("-f dmaget {flag} {value}"),
            &format!("error: invalid value '{value}' for '{flag} <{name}>': {rule}{more}"),
        );
    }
}

#[test]
fn several_functions_are_measured_in_one_run() {
    let measured = |arguments: &str| {
        let run = stats(&format!(
            "--machine qs20 {arguments} -w 0 --quiet --format json"
        ));
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{arguments}");
        list(&run.report(), "measurements").to_vec()
    };
    let both = measured("-f signal -f mailbox -f signal -i 3 -n 2");
    let each = ["signal", "mailbox"].map(|function| measured(&format!("-f {function} -i 3 -n 2")));
    assert_eq!(both, each.concat());
    // The times of both functions become steady after some rounds.
    assert_eq!(measured("-f signal -f mailbox").len(), 2);
    refused(
        "--machine qs20 -f dmaget -f mailbox -b 2k",
        "error: -b: mailbox has no block size: it carries one word of 4 bytes, and no buffer; leave it out\n  \
         example: cellworks stats --machine qs20 -f mailbox -n 1\n",
    );
    refused(
        "--machine qs20 -f dmaget -f mailbox --counters",
        "error: --counters with 2 functions: it is of one run, and each function has its own; name one of \
         them\n  example: cellworks stats --machine qs20 -f dmaget --counters\n",
    );
}

#[test]
fn several_functions_share_a_budget() {
    let report = json("-f signal -f mailbox --budget 200ms");
    let measured = list(&report, "measurements");
    assert_eq!(measured.len(), 2);
    assert!(measured.iter().all(|one| one["rounds"].as_u64() > Some(1)));
}

#[test]
fn sizes_are_as_people_write_them() {
    for size in ["2k", "2K", "2KB", "2KiB", "2048", "2048B"] {
        let report = stats(&format!(
            "--machine qs20 -f dmaget -i 3 -w 0 -b {size} --quiet --format json"
        ))
        .report();
        let parameters = &list(&report, "measurements")[0]["parameters"];
        assert_eq!(parameters["block_bytes"], 2_048, "{size}");
    }
}

#[test]
fn unknown_functions_get_the_list_and_a_suggestion() {
    let values = "[possible values: mkthread, mailbox, signal, dmaget, dmaput, dmalistget, dmalistput, \
                  fetchadd, fetchsub, fetchinc, fetchdec, fetchset, wakeup, copy, chase, osthread]";
    refused(
        "-f dmaputt",
        &format!(
            "error: invalid value 'dmaputt' for '-f <FUNCTION>'\n  {values}\n\n  tip: a similar value exists: \
             'dmaput'\n\nFor more information, try '--help'.\n"
        ),
    );
}

#[test]
fn json_has_the_documented_fields() {
    let report = json("-f dmalistput -i 7 -l 4 -b 64");
    assert_eq!(
        (
            report["schema_version"].as_u64(),
            report["command"].as_str()
        ),
        (Some(1), Some("stats"))
    );
    assert_eq!(report["machine"]["kind"], "host");
    assert_eq!(
        report["environment"]["cellworks_version"],
        env!("CARGO_PKG_VERSION")
    );
    let measurements = report["measurements"].as_array().unwrap();
    assert_eq!(measurements.len(), 1);
    let measurement = &measurements[0];
    assert_eq!(measurement["function"], "dmalistput");
    assert_eq!(measurement["iterations"], 7);
    let mut parameters = serde_json::json!({
        "spes": 1, "cell": 0, "module": measurement["parameters"]["module"], "between": "memory-spe",
        "buffers": "shared", "block_bytes": 64, "list_elements": 4,
    });
    let fields = parameters.as_object_mut().unwrap();
    for setting in &Setting::ALL {
        fields.entry(setting.name).or_insert(Value::Null);
    }
    assert_eq!(measurement["parameters"], parameters);
    assert!(measurement["parameters"]["module"].is_u64());
    for field in ["mean", "min", "p50", "p99", "max"] {
        assert!(
            measurement["latency_ns"][field].as_f64().unwrap() > 0.0,
            "{field}"
        );
    }
    assert!(measurement["bandwidth_bytes_per_s"].as_u64().unwrap() > 0);
    let mailbox = json("-f mailbox -i 7");
    let mailbox = &mailbox["measurements"][0];
    assert!(
        mailbox["bandwidth_bytes_per_s"].is_null() && mailbox["parameters"]["module"].is_null()
    );
}

#[test]
fn samples_are_there_if_asked_for() {
    for arguments in ["-f dmaget -b 128 -i 1000", "-f mailbox --budget 50ms"] {
        let report = json(&format!("{arguments} --samples"));
        let measurement = &report["measurements"][0];
        let samples = list(measurement, "samples_ns");
        assert_eq!(measurement["samples"], samples.len());
        assert!(samples.iter().all(|ns| ns.as_f64().unwrap() > 0.0));
        let without = json(arguments);
        assert!(without["measurements"][0]["samples_ns"].is_null());
    }
}

#[test]
fn csv_has_a_header_and_a_line_for_each_measurement() {
    let run = stats("-f dmaget -i 5 -b 128 -m 0 --format csv --quiet");
    assert_eq!(run.measured(), "");
    let out = run.out;
    let lines: Vec<&str> = out.lines().collect();
    let described = include_str!("../../../../docs/csv.md");
    assert!(
        described.contains(&format!("```\n{}\n```", lines[0])),
        "{out}"
    );
    assert_eq!(lines.len(), 2);
    assert!(
        lines[1].starts_with("dmaget,1,0,0,memory-spe,shared,128,,,,,5,1,"),
        "{out}"
    );
    assert_eq!(lines[1].split(',').count(), lines[0].split(',').count());
}

#[test]
fn a_table_in_a_pipe_has_no_colors_and_no_progress() {
    let run = stats("-f dmalistget -i 5 --quiet");
    assert_eq!(run.measured(), "");
    let out = run.out;
    assert!(!out.contains('\x1b'), "{out}");
    assert!(out.starts_with(&HERE.name), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    let mut forced = stats_command("-f mailbox -i 5");
    forced.env("CLICOLOR_FORCE", "1");
    assert!(forced.output().unwrap().stdout.contains(&0x1b));
    let mut wrong = stats_command("-f mailbox -i 0");
    wrong.env("CLICOLOR_FORCE", "1");
    assert!(wrong.output().unwrap().stderr.contains(&0x1b));
    for mut both in [forced, wrong] {
        let output = both.env("NO_COLOR", "1").output().unwrap();
        let all = [output.stdout, output.stderr].concat();
        assert!(!all.contains(&0x1b));
    }
}

#[test]
fn help_has_the_flags_and_examples() {
    let run = stats("--help");
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let out = run.out;
    for flag in [
        "-f",
        "-n",
        "-N",
        "-i",
        "-w",
        "-b",
        "-l",
        "-t",
        "-c",
        "-m",
        "-s",
        "-k",
        "--load",
        "--matrix",
        "--polling",
        "--full",
        "--budget",
        "--samples",
        "--machine",
        "--trace",
        "--limit",
        "--seed",
        "--hazards",
        "--counters",
        "--after-start",
        "--bottleneck",
        "--system-calls",
        "--format",
        "--html",
        "--quiet",
    ] {
        let is_described = |line: &str| line.split_whitespace().next() == Some(flag);
        assert!(out.lines().any(is_described), "{flag}: {out}");
    }
    assert!(
        out.contains("Examples:") && out.contains("Exit codes:"),
        "{out}"
    );
}
