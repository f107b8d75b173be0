//! `cellworks completions` and `cellworks man`.

use crate::common::{Run, cellworks};

const SUBCOMMANDS: [&str; 10] = [
    "stats",
    "run",
    "compare",
    "export",
    "reproduce",
    "map",
    "merge",
    "machines",
    "completions",
    "man",
];

/// The long flags of `stats`.
const FLAGS: [&str; 19] = [
    "load",
    "matrix",
    "polling",
    "full",
    "budget",
    "until-trusted",
    "samples",
    "machine",
    "trace",
    "limit",
    "seed",
    "hazards",
    "counters",
    "system-calls",
    "format",
    "html",
    "json",
    "csv",
    "quiet",
];

/// The output of a command that prints no message on standard error.
#[track_caller]
fn printed(arguments: &[&str]) -> String {
    let run = Run::of(cellworks().args(arguments));
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{arguments:?}");
    run.out
}

#[track_caller]
fn refused(arguments: &[&str], message: &str) {
    Run::of(cellworks().args(arguments)).refused(message);
}

#[test]
fn completions_have_the_subcommands_and_flags() {
    for shell in ["bash", "zsh", "fish"] {
        let script = printed(&["completions", shell]);
        for name in SUBCOMMANDS {
            assert!(script.contains(name), "{shell}: {name}");
        }
        // Fish writes `-l html` for `--html`.
        let dashes = if shell == "fish" { "-l " } else { "--" };
        for flag in FLAGS {
            assert!(
                script.contains(&format!("{dashes}{flag}")),
                "{shell}: {flag}"
            );
        }
        for value in ["dmalistput", "compare-and-swap", "csv"] {
            assert!(script.contains(value), "{shell}: {value}");
        }
    }
}

#[test]
fn the_completions_of_a_shell_that_is_none() {
    refused(
        &["completions", "cmd"],
        "error: invalid value 'cmd' for '<SHELL>'\n  [possible values: bash, elvish, fish, powershell, \
         zsh]\n\nFor more information, try '--help'.\n",
    );
}

#[test]
fn manual_pages_have_the_subcommands_and_flags() {
    let page = printed(&["man"]);
    assert!(page.contains(".TH cellworks 1"), "{page}");
    for name in SUBCOMMANDS {
        assert!(page.contains(name), "{name}: {page}");
    }
    let page = printed(&["man", "stats"]);
    for flag in FLAGS {
        let flag = flag.replace('-', "\\-");
        assert!(page.contains(&format!("\\-\\-{flag}")), "{flag}: {page}");
    }
    for text in [
        "dmalistput",
        "1 the run failed or a result cannot be true,",
        "3 measured, but disturbed, uncertain or unsteady,",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    // The name of a flag's value is in the synopsis, too.
    assert!(page.contains("cellworks stats\\fR [OPTIONS]"), "{page}");
    let page = printed(&["man", "compare"]);
    assert!(page.contains("A.json") && page.contains("B.json"), "{page}");
}

/// The help has the words of a Cell on every machine, because flags use these words.
#[test]
fn the_help_of_stats_defines_its_words() {
    let help = printed(&["stats", "--help"]);
    let (before, _) = help.split_once("Usage: ").unwrap();
    let before = before.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [
        "An SPE is a core with a local store, which is its own small memory; on this computer an SPE is a CPU.",
        "The PPE is the main core, which starts SPEs; on this computer it is the main thread.",
        "A Cell is a group of SPEs; on this computer it is an L3 group, the CPUs under one last-level cache.",
        "A memory module is a NUMA node on this computer.",
        "DMA copies between main memory and a local store.",
        "A mailbox passes a word.",
    ] {
        assert!(before.contains(text), "{text}: {before}");
    }
}

/// The programs of `run`, as its manual page lists them.
fn programs() -> Vec<String> {
    let page = printed(&["man", "run"]);
    let listed = page.lines().filter_map(|line| {
        let name = line
            .strip_prefix("cellworks\\-run\\-")?
            .strip_suffix("(1)")?;
        Some(name.replace("\\-", "-"))
    });
    listed.filter(|name| name != "help").collect()
}

#[test]
fn every_program_has_a_page_and_completions() {
    let programs = programs();
    assert!(programs.contains(&"dma-latency".to_owned()), "{programs:?}");
    let scripts = ["bash", "zsh", "fish"].map(|shell| printed(&["completions", shell]));
    for program in &programs {
        let page = printed(&["man", "run", program]);
        let name = program.replace('-', "\\-");
        for text in [
            format!(".TH cellworks-run-{program} 1"),
            format!("cellworks run {name}\\fR [OPTIONS]"),
            format!("cellworks\\-run\\-{name} \\- "),
            "\\-\\-machine".to_owned(),
        ] {
            assert!(page.contains(&text), "{text}: {page}");
        }
        for script in &scripts {
            assert!(script.contains(program.as_str()), "{program}: {script}");
        }
    }
    let page = printed(&["man", "run", "aes"]);
    for flag in ["buffering", "threads", "cycles\\-per\\-byte"] {
        assert!(page.contains(&format!("\\-\\-{flag}")), "{flag}: {page}");
    }
}

#[test]
fn the_commands_of_map_have_pages_and_completions() {
    let page = printed(&["man", "map", "solve"]);
    assert!(page.contains(".TH cellworks-map-solve 1"), "{page}");
    for flag in [
        "time", "seed", "capacity", "fix", "forbid", "format", "html", "quiet",
    ] {
        assert!(page.contains(&format!("\\-\\-{flag}")), "{flag}: {page}");
        let script = printed(&["completions", "bash"]);
        assert!(script.contains(&format!("--{flag}")), "{flag}: {script}");
    }
}

#[test]
fn map_ring_has_a_page_and_completions() {
    let page = printed(&["man", "map", "ring"]);
    assert!(page.contains(".TH cellworks-map-ring 1"), "{page}");
    let script = printed(&["completions", "bash"]);
    for flag in [
        "packet",
        "tasks",
        "spes",
        "one-way",
        "sample",
        "runs",
        "rounds",
        "placement",
        "mapping",
        "share",
        "results",
    ] {
        let written = flag.replace('-', "\\-");
        assert!(page.contains(&format!("\\-\\-{written}")), "{flag}: {page}");
        assert!(script.contains(&format!("--{flag}")), "{flag}: {script}");
    }
}

#[test]
fn every_command_of_map_has_a_page_with_its_exit_codes() {
    for name in ["solve", "ring", "exec", "hwloc"] {
        let page = printed(&["man", "map", name]);
        assert!(
            page.contains(&format!(".TH cellworks-map-{name} 1")),
            "{page}"
        );
        assert!(page.to_lowercase().contains("exit code"), "{page}");
    }
}

#[test]
fn a_manual_page_of_an_unknown_command() {
    refused(
        &["man", "run", "swich"],
        &format!(
            "error: swich: there is no such command; use one of {}, help\n",
            programs().join(", ")
        ),
    );
    refused(
        &["man", "stats", "dmaget"],
        "error: dmaget: `cellworks stats` has no commands; leave it out\n",
    );
    refused(
        &["man", "run", "dma-latency", "8"],
        "error: 8: `cellworks run dma-latency` has no commands; leave it out\n",
    );
    refused(
        &["man", "statistics"],
        "error: statistics: there is no such command; use one of stats, run, compare, export, reproduce, map, merge, machine, machines, completions, man, help\n",
    );
}
