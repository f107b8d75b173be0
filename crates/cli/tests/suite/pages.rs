//! `cellworks stats --pages`: the size of the memory pages behind a number.

use std::fs;

use serde_json::Value;

use crate::common::tree::{Shape, Tree};
use crate::common::{Run, at_once, cellworks, is_emulated, list, skipped, stats, stats_on};

const ONE_CPU: Shape = Shape {
    sockets: 1,
    cells: 1,
    cores: 1,
    threads: 1,
};

/// A computer with one CPU, so that the test does not depend on the CPUs of this computer.
fn single() -> Tree {
    Tree::new(ONE_CPU, "A single")
}

/// The measurement or the cell that has the share of huge pages.
fn measured(report: &Value) -> &Value {
    match &report["memory_matrix"] {
        Value::Null => &list(report, "measurements")[0],
        matrix => &matrix["cells"][0][0],
    }
}

#[test]
fn the_pages_of_a_figure_are_shown_beside_it() {
    let tree = single();
    let enabled = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    // The emulator does not pass on the wish for huge pages.
    let has_huge = enabled.is_ok_and(|text| !text.contains("[never]")) && !is_emulated();
    at_once(
        [
            "-f dmaget -b 16m -i 1 -w 0",
            "-f dmaput -N 1 -b 16m -i 1 -w 0",
            "-f chase -b 16m -i 1 -w 0",
            "-f chase -b 16m -k 3 -i 1 -w 0",
            "--matrix memory -b 16m",
        ],
        |flags| {
            for (pages, least, most, said) in [("4k", 0.0, 0.0, "4 KB"), ("2m", 0.5, 1.0, "2 MB")] {
                if pages == "2m" && !has_huge {
                    skipped("the system gives no huge pages");
                    continue;
                }
                let run =
                    |format| stats_on(&tree, &format!("{flags} --pages {pages} --quiet {format}"));
                let report = run("--format json").json();
                let measured = measured(&report);
                let Some(share) = measured["huge_page_share"].as_f64() else {
                    skipped("the system does not tell which pages are huge");
                    continue;
                };
                assert!((least..=most).contains(&share), "{flags} {pages}: {share}");
                if !flags.contains("--matrix") {
                    let bytes = if pages == "4k" { 4 << 10 } else { 2 << 20 };
                    assert_eq!(measured["parameters"]["page_bytes"], bytes);
                }
                let table = run("").out;
                assert!(
                    table.contains(&format!(" {said}")),
                    "{flags} {pages}: {table}"
                );
            }
        },
    );
}

#[test]
fn pages_that_cannot_be() {
    let tree = single();
    for (flags, message) in [
        (
            "-f dmaget -b 16m --pages 1g",
            "error: --pages: pages of 1 GB: there are pages of 4k and of 2m; use one of these\n  example: \
             cellworks stats -f dmaget --pages 4k\n",
        ),
        (
            "-f dmaget -b 16k --pages 2m",
            "error: --pages: a buffer of 16 KB in pages of 2 MB: it takes at least two of them; use a larger \
             one (-b), or pages of 4k\n  example: cellworks stats -f dmaget --pages 2m -b 64m\n",
        ),
        (
            "-f mailbox --pages 4k",
            "error: --pages: mailbox has no page size: only transfers, chase and a memory matrix work on large regions \
             of memory; leave it out\n  example: cellworks stats -f mailbox -n 1\n",
        ),
        (
            "-f copy --pages 2m",
            "error: --pages: copy has no page size: each CPU allocates its blocks itself, near it, in the pages that \
             the system gives; dmaget and dmaput have blocks in pages of a size; leave it out\n  example: cellworks \
             stats -f copy -n 1\n",
        ),
        (
            "-f fetchadd --pages 4k",
            "error: --pages: fetchadd has no page size: a variable is a part of one page, whatever its size; leave it \
             out\n  example: cellworks stats -f fetchadd -n 1\n",
        ),
        (
            "--pages 4k",
            "error: --pages without -f: it belongs to one function, and without -f everything is measured; name a \
             function\n  example: cellworks stats -f dmaget -b 1k -i 1000\n",
        ),
    ] {
        stats_on(&tree, flags).refused(message);
    }
}

#[test]
fn a_program_has_the_pages_that_the_system_gives() {
    let run = Run::of(cellworks().args(["run", "lookup", "--pages", "2m"]));
    run.refused(
        "error: unexpected argument '--pages' found\n\n  tip: programs have their data in the pages that the system \
         gives, and only `stats` chooses their size; `cellworks stats -f chase --pages 2m` shows what it \
         changes\n\nFor more information, try '--help'.\n",
    );
}

#[test]
fn a_system_without_huge_pages_gives_advice() {
    let tree = single();
    tree.write(
        "sys/kernel/mm/transparent_hugepage/enabled",
        "always madvise [never]",
    );
    let run = stats_on(&tree, "-f dmaget -b 16m --pages 2m --quiet");
    assert_eq!(run.code, Some(1));
    assert_eq!(
        run.err,
        "error: dmaget 16 MB, 1 CPU: 16 MB of main memory in NUMA node 0 could not be allocated in pages of \
         2 MB: /sys/kernel/mm/transparent_hugepage/enabled says `never`; have an administrator write \
         `madvise` there, or take pages of 4 KB\n"
    );
    stats_on(&tree, "-f dmaget -b 16m -i 1 -w 0 --pages 4k --quiet").measured();
}

#[test]
fn the_buffers_between_two_cpus_have_no_pages_of_their_own() {
    let run = stats("-f dmaget -n 2 -s -b 16k --pages 4k");
    assert_eq!(run.code, Some(2));
    assert!(
        run.err.starts_with(
            "error: --pages: between CPUs the buffers lie in a local buffer; leave it out\n"
        ),
        "{}",
        run.err
    );
}
