//! `cellworks completions` and `cellworks man`.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

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
const FLAGS: [&str; 21] = [
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
    "after-start",
    "bottleneck",
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

/// What the command offers to bash for the last of the words, in `folder`.
#[track_caller]
fn offered_in(folder: &Path, words: &[&str]) -> Vec<String> {
    let mut command = cellworks();
    command
        .current_dir(folder)
        .env("COMPLETE", "bash")
        .env("_CLAP_IFS", "\n")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .args(["--", "cellworks"])
        .args(words);
    let run = Run::of(&mut command);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{words:?}");
    run.out.lines().map(str::to_owned).collect()
}

fn offered(words: &[&str]) -> Vec<String> {
    offered_in(Path::new(env!("CARGO_TARGET_TMPDIR")), words)
}

#[test]
fn the_script_of_each_shell_asks_the_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&["completions", shell]);
        for text in ["cellworks", "COMPLETE"] {
            assert!(script.contains(text), "{shell}: {text}: {script}");
        }
    }
}

#[test]
fn commands_flags_values_and_programs_are_offered() {
    let has = |words: &[&str], expected: &[&str]| {
        let offered = offered(words);
        for text in expected {
            assert!(
                offered.iter().any(|one| one == text),
                "{words:?}: {text}: {offered:?}"
            );
        }
    };
    has(&[""], &SUBCOMMANDS);
    let flags = FLAGS.map(|flag| format!("--{flag}"));
    has(&["stats", "--"], &flags.each_ref().map(String::as_str));
    has(&["stats", "-f", ""], &["mailbox", "dmalistput"]);
    has(&["stats", "--polling", ""], &["compare-and-swap"]);
    has(&["stats", "--format", ""], &["table", "json", "csv"]);
    has(&["run", ""], &["aes", "knn", "lu"]);
    has(&["export", ""], &["bencher", "smaller-is-better"]);
}

#[test]
fn machines_and_files_of_the_right_kind_are_offered() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for name in [
        "mine.toml",
        "cores.csv",
        "today.json",
        "page.html",
        "part.jsonl",
        "notes.txt",
    ] {
        fs::write(folder.join(name), "").unwrap();
    }
    fs::create_dir(folder.join("runs")).unwrap();
    let offered = |words: &[&str]| offered_in(folder, words);
    let machines = offered(&["stats", "--machine", ""]);
    for name in [
        "host",
        "ps3",
        "qs20",
        "qs22",
        "mine.toml",
        "cores.csv",
        "runs/",
    ] {
        assert!(
            machines.iter().any(|one| one == name),
            "{name}: {machines:?}"
        );
    }
    for name in ["today.json", "notes.txt"] {
        assert!(
            !machines.iter().any(|one| one == name),
            "{name}: {machines:?}"
        );
    }
    assert_eq!(
        offered(&["run", "aes", "--machine", "qs2"]),
        ["qs20", "qs22"]
    );
    assert_eq!(offered(&["machine", "mi"]), ["mine.toml"]);
    for (words, expected) in [
        (
            &["compare", ""][..],
            &["part.jsonl", "today.json", "runs/"][..],
        ),
        (
            &["compare", "a.json", "--with", ""],
            &["today.json", "runs/"],
        ),
        (&["stats", "--html", ""], &["page.html", "runs/"]),
        (&["exec", "--machine", "qs2"], &["qs20", "qs22"]),
        (&["exec", "--machine", "ps3", "no"], &["notes.txt"]),
        (&["cc", "-o", "program", "no"], &["notes.txt"]),
        (&["stats", "--json", "to"], &["today.json"]),
    ] {
        let offered = offered(words);
        let values: Vec<&str> = offered.iter().map(String::as_str).collect();
        let values: Vec<&str> = values
            .into_iter()
            .filter(|one| !one.starts_with('-'))
            .collect();
        assert_eq!(values, expected, "{words:?}");
    }
}

/// Each script puts the machines beside the typed word into its shell.
#[test]
fn the_shells_that_are_installed_complete_machines() {
    let command = Path::new(env!("CARGO_BIN_EXE_cellworks"));
    let mut folders = vec![command.parent().unwrap().to_path_buf()];
    folders.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    let folders = env::join_paths(folders).unwrap();
    for (shell, flags, asks) in [
        (
            "bash",
            &["--norc", "-c"][..],
            "source <(cellworks completions bash); COMP_WORDS=(cellworks stats --machine qs2); COMP_CWORD=3; \
             _clap_complete_cellworks cellworks qs2 --machine; printf '%s\\n' \"${COMPREPLY[@]}\"",
        ),
        (
            "zsh",
            &["-f", "-c"],
            "compdef() { : }; _describe() { print -rl -- ${(P)3} }; eval \"$(cellworks completions zsh)\"; \
             words=(cellworks stats --machine qs2); CURRENT=4; _clap_dynamic_completer_cellworks",
        ),
        (
            "fish",
            &["--no-config", "-c"],
            "cellworks completions fish | source; complete --do-complete 'cellworks stats --machine qs2'",
        ),
    ] {
        let mut asked = Command::new(shell);
        asked.args(flags).arg(asks).env("PATH", &folders);
        let Ok(run) = asked.output() else {
            eprintln!("left out: there is no {shell}");
            continue;
        };
        let words = String::from_utf8(run.stdout).unwrap();
        let why = String::from_utf8_lossy(&run.stderr);
        let words: Vec<&str> = words.lines().collect();
        assert_eq!(words, ["qs20", "qs22"], "{shell}: {why}");
    }
}

#[test]
fn the_help_says_where_completions_are() {
    let help = printed(&["--help"]);
    assert!(help.contains("  cellworks completions bash\n"), "{help}");
    let until = printed(&["stats", "--help"]);
    assert!(
        until.contains("if less time is left after everything was measured once"),
        "{until}"
    );
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
    let mut programs = commands_of(&["run"]);
    assert_eq!(programs.pop().as_deref(), Some("help"));
    programs
}

/// The commands that the manual page of a command lists. That of `cellworks` itself has no name.
fn commands_of(command: &[&str]) -> Vec<String> {
    let page = printed(&[&["man"], command].concat());
    let before = ["cellworks"].iter().chain(command);
    let before: String = before.map(|word| format!("{word}\\-")).collect();
    let listed = page.lines().filter_map(|line| {
        let name = line.strip_prefix(&before)?.strip_suffix("(1)")?;
        Some(name.replace("\\-", "-"))
    });
    listed.collect()
}

#[test]
fn every_program_has_a_page_and_completions() {
    let programs = programs();
    assert!(programs.contains(&"dma-latency".to_owned()), "{programs:?}");
    let offered = offered(&["run", ""]);
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
        assert!(offered.contains(program), "{program}: {offered:?}");
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
        let offered = offered(&["map", "solve", "--"]);
        assert!(
            offered.contains(&format!("--{flag}")),
            "{flag}: {offered:?}"
        );
    }
}

#[test]
fn map_ring_has_a_page_and_completions() {
    let page = printed(&["man", "map", "ring"]);
    assert!(page.contains(".TH cellworks-map-ring 1"), "{page}");
    let offered = offered(&["map", "ring", "--"]);
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
        assert!(
            offered.contains(&format!("--{flag}")),
            "{flag}: {offered:?}"
        );
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
    for (command, unknown) in [(&["run"][..], "swich"), (&[], "statistics")] {
        refused(
            &[&["man"], command, &[unknown]].concat(),
            &format!(
                "error: {unknown}: there is no such command; use one of {}\n",
                commands_of(command).join(", ")
            ),
        );
    }
    refused(
        &["man", "stats", "dmaget"],
        "error: dmaget: `cellworks stats` has no commands; leave it out\n",
    );
    refused(
        &["man", "run", "dma-latency", "8"],
        "error: 8: `cellworks run dma-latency` has no commands; leave it out\n",
    );
}
