//! The names of the parts of a machine, the CPUs that are used, and the layout of results.

use std::fs;

use crate::common::tree::{Shape, Tree};
use crate::common::{Run, cellworks, list, stats, stats_command, stats_on};

const TWO_SOCKETS: Shape = Shape {
    sockets: 2,
    cells: 1,
    cores: 2,
    threads: 1,
};

/// The words of a Cell in a text, except those in names of values.
fn words_of_a_cell(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
    let of_a_cell = [
        "SPE",
        "SPEs",
        "PPE",
        "Cell",
        "Cells",
        "ppe-spe",
        "memory-spe",
    ];
    words.filter(|word| of_a_cell.contains(word)).collect()
}

#[test]
fn a_computer_has_the_words_of_computers_and_a_cell_those_of_a_cell() {
    let tree = Tree::new(TWO_SOCKETS, "A processor");
    let folder = tempfile::tempdir().unwrap();
    let (page, json) = (folder.path().join("p.html"), folder.path().join("r.json"));
    let arguments = format!(
        "-f mailbox -f dmaget -i 1 -w 0 --quiet --html {} --json {}",
        page.display(),
        json.display()
    );
    let run = stats_on(&tree, &arguments);
    run.measured();
    for text in [
        "A processor: 4 CPUs, 2 L3 groups, 2 NUMA nodes\n",
        "an L3 group is the CPUs under one last-level cache",
        "main thread on CPU 1; the others on CPU 0, CPU 1, CPU 2, CPU 3, taken in this order",
        "dmaget: copy in: a block into the local buffer\n",
        "main-CPU     1   0 ",
    ] {
        assert!(run.out.contains(text), "{text}: {}", run.out);
    }
    assert_eq!(words_of_a_cell(&run.out), [""; 0], "{}", run.out);
    let page = fs::read_to_string(page).unwrap();
    let (_, body) = page.split_once("<body>").unwrap();
    assert_eq!(
        words_of_a_cell(body.split("<script>").next().unwrap()),
        [""; 0]
    );
    assert!(body.contains("main thread on CPU 1"), "{body}");
    // The names in JSON are the same for all machines.
    let json = fs::read_to_string(json).unwrap();
    for name in [
        "\"spes\"",
        "\"cells\"",
        "\"memory_modules\"",
        "\"ppe-spe\"",
        "\"ppe_place\"",
    ] {
        assert!(json.contains(name), "{name}");
    }

    let run = stats("--machine qs20 -f mailbox -i 1");
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    for text in [
        ": 16 SPEs, 2 Cells, 2 memory",
        "an SPE is a core with a local store of its own",
        "ppe-spe ",
    ] {
        assert!(run.out.contains(text), "{text}: {}", run.out);
    }
}

/// The advice of a table under this heading, each piece as one line.
fn advice_of(table: &str, heading: &str) -> Vec<String> {
    let (_, advice) = table
        .split_once(&format!("\n{heading}\n"))
        .unwrap_or_else(|| panic!("{table}"));
    let (advice, _) = advice.split_once("\n\n").unwrap();
    let pieces = advice.strip_prefix("- ").unwrap().split("\n- ");
    let in_one_line = |piece: &str| piece.split_whitespace().collect::<Vec<_>>().join(" ");
    pieces.map(in_one_line).collect()
}

/// The numbers of a run with the CPUs of another computer are not about that computer.
#[test]
fn advice_on_a_computer_has_its_words_and_a_mark_if_it_is_doubtful() {
    const ALL: &str = "Advice (all of it is doubtful: it rests on numbers that have doubts)";
    const ADVISED: &str =
        "-f mailbox -f signal -f wakeup -f mkthread -f dmaget -f dmalistget -i 20";
    let tree = Tree::new(TWO_SOCKETS, "A processor");
    let run = stats_on(&tree, &format!("{ADVISED} --quiet"));
    run.measured();
    let advice = advice_of(&run.out, ALL);
    assert!(advice.len() > 1, "{}", run.out);
    for text in &advice {
        assert!(!text.contains("Doubtful: "), "said once: {text}");
        assert_eq!(words_of_a_cell(text), [""; 0], "{text}");
        for word in ["mailbox", "DMA", "local store"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }
    let report = stats_on(&tree, &format!("{ADVISED} --format json")).json();
    for piece in list(&report, "advice") {
        assert_eq!(piece["doubtful"], true, "{piece}");
    }

    let run = stats(&format!("--machine qs20 {ADVISED}"));
    let advice = advice_of(&run.out, "Advice");
    assert!(
        advice.iter().any(|piece| piece.contains("mailbox")),
        "{advice:?}"
    );
    assert!(!run.out.contains("Doubtful: "), "{}", run.out);
}

#[test]
fn cpus_can_be_chosen() {
    let tree = Tree::new(TWO_SOCKETS, "A processor");
    let run = stats_on(&tree, "--cpus 2,3 -f mailbox -i 1 -w 0 --quiet");
    run.measured();
    for text in [
        "A processor: 2 CPUs, 1 L3 group, ",
        "main thread on CPU 3; the others on CPU 2, CPU 3, taken in this order",
        "left out: CPU 0-1 (not chosen)",
    ] {
        assert!(run.out.contains(text), "{text}: {}", run.out);
    }
    // The example in an error keeps the CPUs that the user chose.
    stats_on(&tree, "--cpus 3 -f mailbox -n 2").refused(
        "error: -n: 2 CPUs: A processor has 1; use 1\n  example: cellworks stats --cpus 3 -f mailbox -n 1\n",
    );
    stats_on(&tree, "--cpus 3-5 -f mailbox").refused(
        "error: --cpus: CPUs 4-5 cannot be chosen: this process may use CPUs 0-3; choose some of these\n",
    );
    stats("--cpus 0 --machine qs20 -f mailbox").refused(
        "error: --cpus with --machine qs20: a simulated machine has none of this computer's CPUs; leave one of \
         them out\n",
    );
    for wrong in ["two", "3-1", ","] {
        let run = stats(&format!("--cpus {wrong} -f mailbox"));
        assert_eq!(run.code, Some(2));
        let why = "CPUs are numbers and ranges with commas between; use 2,5 or 0-3\n";
        assert!(run.err.contains(why), "{}", run.err);
    }
}

#[test]
fn through_a_pipe_everything_has_80_columns() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [
        "--help",
        "stats --help",
        "run --help",
        "run lu --help",
        "map --help",
        "map solve --help",
        "machines --help",
        "stats --machine qs20 -f mailbox -f dmaget -i 5",
        "stats --machine ps3 -f dmaget -i 5 -w 1 --counters --bottleneck",
        "map solve --pattern ring --tasks 4 --costs core:4@60ns",
        "run aes --machine qs20 --bytes 64k --block 1k",
    ] {
        let mut command = cellworks();
        command.args(arguments.split(' ')).env_remove("COLUMNS");
        let run = Run::of(command.current_dir(folder.path()));
        assert_eq!(run.code, Some(0), "{arguments}: {}", run.err);
        let widest = run.out.lines().map(|line| line.chars().count()).max();
        assert!(widest > Some(70), "{arguments}: {}", run.out);
        let wide = run.out.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None, "{arguments}");
    }
}

#[test]
fn advice_and_results_come_first_and_everything_fits_the_terminal() {
    let tree = Tree::new(
        TWO_SOCKETS,
        "A processor with quite a long name, as some of them have it",
    );
    for columns in [80, 120] {
        let on_terminal = |mut command: std::process::Command| {
            let run = Run::of(command.env("COLUMNS", columns.to_string()));
            let plain = anstream::adapter::strip_str(&run.out).to_string();
            let wide = plain.lines().find(|line| line.chars().count() > columns);
            assert_eq!(wide, None, "{columns} columns: {plain}");
            plain
        };
        let mut here = stats_command(
            "-f dmaget -f dmalistput -f fetchadd -f copy -f chase -f wakeup -i 1 -w 0 --quiet",
        );
        here.env("CELLWORKS_FSROOT", tree.root());
        let text = on_terminal(here);
        assert!(text.contains("\ndmaget: "), "{text}");
        let text = on_terminal(stats_command(
            "--machine qs20 -f mailbox -f signal -f dmaget -f wakeup",
        ));
        let at = |heading: &str| {
            text.find(heading)
                .unwrap_or_else(|| panic!("{heading}: {text}"))
        };
        let order = [
            "\nAdvice\n",
            "\nResults\n",
            "\nMeasurements\n",
            "\nmailbox: ",
        ]
        .map(at);
        assert!(order.is_sorted(), "{text}");
        let explained = "half of the samples took less than the median";
        assert!(text.replace('\n', " ").contains(explained), "{text}");
    }
}
