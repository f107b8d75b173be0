//! `cellworks completions` and `cellworks man`.

mod common;

use common::{Run, cellworks};

const SUBCOMMANDS: [&str; 7] = [
    "stats",
    "run",
    "compare",
    "reproduce",
    "machines",
    "completions",
    "man",
];

/// The long flags of `stats`.
const FLAGS: [&str; 16] = [
    "load",
    "matrix",
    "polling",
    "full",
    "budget",
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
    "quiet",
];

/// What a command prints that says nothing on standard error.
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
    for text in ["dmalistput", "Exit codes", "trustworthy"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    // What stands for the value of a flag is in the synopsis, too.
    assert!(page.contains("cellworks stats\\fR [OPTIONS]"), "{page}");
    let page = printed(&["man", "compare"]);
    assert!(page.contains("A.json") && page.contains("B.json"), "{page}");
}

#[test]
fn a_manual_page_of_an_unknown_command() {
    refused(
        &["man", "statistics"],
        "error: statistics: there is no such command; use one of stats, run, compare, reproduce, machines, completions, man, help\n",
    );
}
