//! `cellworks map ring` as a process.

use std::fs;
use std::process::Stdio;

use crate::common::terminal::{interrupt, wait_for_handler};
use crate::common::{Run, cellworks, list};
use serde_json::{Value, json};

/// A ring that is simulated in a moment.
const SMALL: &str = "--machine ps3 --packet 512 --tasks 4 --runs 2 --rounds 5";

fn command(arguments: &str) -> std::process::Command {
    let mut command = cellworks();
    command
        .args(["map", "ring"])
        .args(arguments.split_whitespace());
    command
}

fn ring(arguments: &str) -> Run {
    Run::of(&mut command(arguments))
}

fn ring_json(arguments: &str) -> Value {
    ring(&format!("{arguments} --format json")).json()
}

/// The values of a result, each with its mapping.
fn values(report: &Value, name: &str) -> Vec<(String, f64)> {
    let results = list(report, "results").iter();
    let named = results.filter(|result| result["name"] == name);
    let value = |result: &Value| {
        let mapping = result["parameters"]["mapping"].as_str().unwrap_or("");
        (mapping.to_owned(), result["value"].as_f64().unwrap())
    };
    named.map(value).collect()
}

/// The only value of a result about all mappings.
#[track_caller]
fn value(report: &Value, name: &str) -> f64 {
    match values(report, name).as_slice() {
        [(_, value)] => *value,
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn every_mapping_has_its_times_and_what_they_say_follows_from_them() {
    let report = ring_json(&format!("{SMALL} --mapping [0213],0321"));
    assert_eq!(report["command"], "map ring");
    assert_eq!(report["complete"], true);
    let mut averages: Vec<(String, f64)> = list(&report, "mappings")
        .iter()
        .map(|one| {
            let runs: Vec<f64> = serde_json::from_value(one["runs_ns"].clone()).unwrap();
            assert_eq!(runs.len(), 2, "{one}");
            assert!(runs.iter().all(|ns| *ns > 0.0), "{one}");
            let mapping = one["mapping"].as_str().unwrap().to_owned();
            (mapping, runs.iter().sum::<f64>() / 2.0)
        })
        .collect();
    averages.sort_by(|a, b| a.1.total_cmp(&b.1));
    assert_eq!(averages.len(), 6);
    let best = averages[0].1;
    assert_eq!(value(&report, "worst_to_best"), averages[5].1 / best);
    assert_eq!(value(&report, "median_to_best"), averages[3].1 / best);
    assert_eq!(
        (value(&report, "best"), value(&report, "worst")),
        (best, averages[5].1)
    );
    assert!((0.0..=100.0).contains(&value(&report, "mapping_share")));
    for (mapping, rank) in values(&report, "rank") {
        let average = averages.iter().find(|one| one.0 == mapping).unwrap().1;
        let faster = averages.iter().filter(|one| one.1 < average).count();
        assert_eq!(rank, (faster + 1) as f64, "{mapping}");
        assert!(values(&report, "to_best").contains(&(mapping.clone(), average / best)));
        assert!(values(&report, "time").contains(&(mapping, average)));
    }
    for named in ["0123", "0213", "0321", &averages[0].0, &averages[5].0] {
        let ranks = values(&report, "rank");
        assert!(ranks.iter().any(|one| one.0 == named), "{named}: {ranks:?}");
    }
}

#[test]
fn a_cell_of_each_machine_is_taken_and_the_mappings_of_the_paper_are_named() {
    for (machine, tasks, mappings, named) in [
        ("ps3", 6, 120, &["012345", "024531", "013542", "043512"][..]),
        (
            "qs22 --sample 2",
            8,
            5,
            &["01234567", "02467531", "01357642"],
        ),
    ] {
        let report = ring_json(&format!("--machine {machine} --runs 1 --rounds 1"));
        let sweep = &report["sweep"];
        assert_eq!(
            (&sweep["tasks"], &sweep["spes"]),
            (&json!(tasks), &json!(tasks))
        );
        assert_eq!(sweep["packet_bytes"], json!([1_024]));
        assert_eq!(list(&report, "mappings").len(), mappings);
        let ranks = values(&report, "rank");
        for mapping in named {
            assert!(
                ranks.iter().any(|one| one.0 == *mapping),
                "{mapping}: {ranks:?}"
            );
        }
    }
}

#[test]
fn packets_of_each_size_have_a_sweep_and_curves() {
    let report = ring_json("--machine ps3 --packet 16-64,1k --tasks 3 --one-way --rounds 5");
    assert_eq!(values(&report, "worst_to_best").len(), 4);
    assert_eq!(report["sweep"]["directions"], 1);
    let figures = list(&report, "figures");
    assert_eq!(figures.len(), 5, "one of all sizes, and one of each");
    let curves: Vec<&str> = list(&figures[1], "curves")
        .iter()
        .map(|curve| curve["name"].as_str().unwrap())
        .collect();
    assert_eq!(curves, ["average", "run 1", "run 2", "run 3"]);
    let average = list(&list(&figures[1], "curves")[0], "points");
    assert!(average.is_sorted_by(|a, b| a[1].as_f64() <= b[1].as_f64()));
}

#[test]
fn the_same_seed_gives_the_same_and_another_one_other_times() {
    let mappings = |more: &str| ring_json(&format!("{SMALL} {more}"))["mappings"].clone();
    let first = mappings("");
    assert_eq!(first, mappings(""));
    assert_ne!(first, mappings("--seed 1"));
    assert_ne!(first, mappings("--placement default"));
}

#[test]
fn spes_may_stay_without_a_task() {
    let report = ring_json("--machine ps3 --tasks 3 --spes 4 --runs 1 --rounds 1");
    let mappings: Vec<&str> = list(&report, "mappings")
        .iter()
        .map(|one| one["mapping"].as_str().unwrap())
        .collect();
    assert_eq!(mappings, ["012-", "01-2", "021-", "02-1", "0-12", "0-21"]);
}

#[test]
fn a_table_csv_and_a_page() {
    let table = ring(SMALL);
    assert_eq!((table.code, table.err.as_str()), (Some(0), ""));
    assert!(!table.out.contains('\u{1b}'), "styles in a pipe");
    for part in ["worst to best", "mapping share", "mappings 6", "\n   0123 "] {
        assert!(table.out.contains(part), "{part}: {}", table.out);
    }
    let csv = ring(&format!("{SMALL} --format csv")).out;
    let header = "program,name,value,unit,directions,mapping,mappings,packet_bytes,placement,rounds,runs,spes,tasks\n";
    assert!(csv.starts_with(header), "{csv}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    ring(&format!("{SMALL} --quiet --html {}", path.display()));
    let page = fs::read_to_string(&path).unwrap();
    assert!(page.contains("Time of a round by rank"));
    assert!(!page.contains("http") && !page.contains("src="));
}

#[test]
fn two_rings_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["0", "1"].map(|seed| {
        let run = ring(&format!("{SMALL} --seed {seed} --format json"));
        let path = folder.path().join(seed);
        fs::write(&path, run.out).unwrap();
        path
    });
    let run = Run::of(
        cellworks()
            .arg("compare")
            .args(&paths)
            .args(["--format", "json"]),
    );
    let report = run.report();
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let results = list(&report, "results");
    assert!(results.iter().any(|ratio| ratio["name"] == "worst_to_best"));
}

#[test]
fn flags_that_make_no_sense() {
    let refused = |flags: &str, message: &str| {
        ring(&format!("--machine ps3 {flags}")).refused(&format!("error: {message}\n"));
    };
    let of_4 = |text: &str| format!("--mapping: [{text}] is no mapping of 4 tasks to 4 SPEs: ");
    refused(
        "--tasks 4 --mapping 0113",
        &(of_4("0113") + "it has task 1 on SPE 1 and on SPE 2; name each task once"),
    );
    refused(
        "--tasks 4 --mapping [1023]",
        &(of_4("1023") + "it begins with 1; SPE 0 has task 0, so begin with 0"),
    );
    for bytes in ["24", "32768"] {
        refused(
            &format!("--packet 1k,{bytes}"),
            &format!(
                "--packet: a packet of {bytes} bytes: a DMA command moves multiples of 16 up to 16,384"
            ),
        );
    }
    refused(
        "--packet 2k-1k",
        "invalid value '2k-1k' for '--packet <LIST>': 2k-1k is a range from more to less; use 1k-2k\n\nFor more \
         information, try '--help'.",
    );
    refused(
        "--tasks 8",
        "--tasks 8: each task takes an SPE, and ps3 has 6; use fewer, or another machine",
    );
    refused(
        "--tasks 5 --spes 4",
        "--spes: 5 tasks on 4 SPEs: each task takes an SPE; use fewer tasks or more SPEs",
    );
    refused("--tasks 2", "--tasks: a ring of 2 tasks: it takes 3 to 16");
    refused("--runs 0", "0 runs: give 1 at least");
    ring("--machine qs22 --tasks 16").refused(
        "error: --sample: 16 tasks have 1307674368000 mappings to 16 SPEs, and at most 50000 are all run: take a \
         sample of them\n",
    );
}

/// A result of which some mappings are missing, as Ctrl-C leaves it: in a file.
struct Part {
    folder: tempfile::TempDir,
    whole: Value,
}

impl Part {
    const FILE: &str = "part.json";

    /// Of [`SMALL`], without its last mappings, and changed.
    fn changed(change: impl FnOnce(&mut Value)) -> Self {
        let whole = ring_json(SMALL);
        let mut part = whole.clone();
        part["complete"] = json!(false);
        part["mappings"].as_array_mut().unwrap().truncate(4);
        change(&mut part);
        let this = Self {
            folder: tempfile::tempdir().unwrap(),
            whole,
        };
        this.write(&(serde_json::to_string_pretty(&part).unwrap() + "\n"));
        this
    }

    fn write(&self, text: &str) {
        fs::write(self.folder.path().join(Self::FILE), text).unwrap();
    }

    fn text(&self) -> String {
        fs::read_to_string(self.folder.path().join(Self::FILE)).unwrap()
    }

    fn resumed(&self, flags: &str) -> Run {
        let mut command = command(&format!("{flags} --format json --resume {}", Self::FILE));
        Run::of(command.current_dir(self.folder.path()))
    }

    /// Asserts that the file is refused so, and is as before.
    #[track_caller]
    fn refused(&self, flags: &str, message: &str) {
        let before = self.text();
        self.resumed(flags)
            .refused(&format!("error: --resume: {message}\n"));
        assert_eq!(self.text(), before);
    }
}

#[test]
fn a_run_goes_on_from_its_result() {
    let part = Part::changed(|_| {});
    let mut report = part.resumed(SMALL).json();
    let mut whole = part.whole.clone();
    for report in [&mut report, &mut whole] {
        report["environment"]["finished_unix_s"] = json!(0);
    }
    assert_eq!(report, whole);
}

#[test]
fn mappings_of_the_file_are_not_run_again() {
    let part = Part::changed(|part| part["mappings"][2]["runs_ns"] = json!([1.0, 2.0]));
    let report = part.resumed(SMALL).json();
    assert_eq!(report["mappings"][2]["runs_ns"], json!([1.0, 2.0]));
    assert_eq!(report["mappings"][3], part.whole["mappings"][3]);
    assert_eq!(report["mappings"][5], part.whole["mappings"][5]);
}

#[test]
fn files_from_which_no_run_goes_on() {
    /// The line on which a text stands for the first time, or for one of the next.
    fn line(part: &Part, text: &str, times_before: usize) -> usize {
        let all = part.text();
        let lines = all.lines().enumerate();
        let mut with_it = lines.filter(|(_, line)| line.contains(text));
        1 + with_it.nth(times_before).unwrap().0
    }
    let part = Part::changed(|_| {});
    let at = line(&part, "\"seed\"", 1);
    part.refused(
        &format!("{SMALL} --seed 7"),
        &format!(
            "part.json, line {at}: it is of another sweep: its `seed` of the sweep is 0, and here 7; give the flags \
             that it was run with, or start anew, without --resume"
        ),
    );
    let at = line(&part, "\"name\": \"Sony", 0);
    part.refused(
        &SMALL.replace("ps3", "qs20"),
        &format!(
            "part.json, line {at}: it is of another sweep: its `name` of the machine is \"Sony PlayStation 3: one \
             Cell/B.E. at 3.2 GHz, 6 SPEs, 256 MB XDR\", and here \"IBM BladeCenter QS20: two Cell/B.E. at 3.2 GHz, 16 \
             SPEs, 2 x 512 MB XDR\"; give the flags that it was run with, or start anew, without --resume"
        ),
    );
    let part = Part::changed(|part| part["environment"]["cellworks_version"] = json!("0.0.1"));
    let at = line(&part, "\"cellworks_version\"", 0);
    part.refused(
        SMALL,
        &format!(
            "part.json, line {at}: cellworks 0.0.1 wrote it, and this is {}, whose times may differ; start anew, \
             without --resume",
            env!("CARGO_PKG_VERSION")
        ),
    );
    let part = Part::changed(|part| part["schema_version"] = json!(9));
    part.refused(
        SMALL,
        "`part.json` has schema_version 9, and this command reads 1: update cellworks",
    );
    let part = Part::changed(|part| {
        let first = part["mappings"][0].clone();
        part["mappings"][3] = first;
    });
    let at = line(&part, "\"mapping\": \"", 3);
    part.refused(
        SMALL,
        &format!(
            "part.json, line {at}: the mapping 0123 with packets of 512 bytes is there twice, or is none of this sweep; \
             start anew, without --resume"
        ),
    );
    let part = Part::changed(|part| part["mappings"][3]["runs_ns"] = json!([1.5]));
    let at = line(&part, "\"mapping\": \"", 3);
    part.refused(
        SMALL,
        &format!(
            "part.json, line {at}: the mapping 0231 has the times [1.5], and has to have 2 above 0; start anew, without \
             --resume"
        ),
    );
    let whole = part.text();
    part.write(&whole[..whole.len() / 2]);
    let at = whole[..whole.len() / 2].lines().count();
    part.refused(
        SMALL,
        &format!(
            "`part.json` is cut off: it ends in the middle, at line {at}; copy it again, or measure again"
        ),
    );
    let other = Run::of(cellworks().args(["machines", "--format", "json"]));
    part.write(&other.out);
    part.refused(
        SMALL,
        "`part.json` is what `cellworks machines` printed; name what `cellworks map ring` printed with --format json",
    );
}

#[test]
fn the_page_does_not_replace_the_file_from_which_the_run_goes_on() {
    let part = Part::changed(|_| {});
    let before = part.text();
    part.resumed(&format!("{SMALL} --html part.json")).refused(
        "error: --html: the page would replace part.json, from which the run goes on; name another file\n",
    );
    assert_eq!(part.text(), before);
}

#[test]
fn ctrl_c_keeps_what_was_run_and_the_next_call_goes_on() {
    let flags = "--machine qs22 --packet 2k --format json";
    let folder = tempfile::tempdir().unwrap();
    let interrupted = |more: &str| {
        let child = command(&format!("{flags} {more}"))
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for_handler(&child);
        std::thread::sleep(std::time::Duration::from_secs(1));
        interrupt(&child);
        let run = Run::from(child.wait_with_output().unwrap());
        assert_eq!(run.code, Some(130), "{}", run.err);
        let report = run.report();
        assert_eq!(report["complete"], false);
        assert!(
            run.err.contains(" of 15120 runs were finished"),
            "{}",
            run.err
        );
        fs::write(folder.path().join("part.json"), &run.out).unwrap();
        report["mappings"].clone()
    };
    let first = interrupted("");
    let first = first.as_array().unwrap();
    let second = interrupted("--resume part.json");
    let second = second.as_array().unwrap();
    assert!(second.len() >= first.len());
    assert!(first.iter().all(|one| second.contains(one)));
}
