//! The guide to noticing regressions: its workflow and the exports for services.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Run, cellworks, list, stats};
use serde_json::{Value, json};

const GUIDE: &str = include_str!("../../../../docs/regressions.md");

/// Returns the script of the step of the workflow with the given name.
fn script(step: &str) -> String {
    let (_, step) = GUIDE
        .split_once(&format!("- name: {step}\n"))
        .unwrap_or_else(|| panic!("the guide has no step {step}"));
    let (_, script) = step.split_once("run: |\n").expect("the step has a script");
    let lines = script
        .lines()
        .take_while(|line| line.starts_with("          "));
    lines.fold(String::new(), |script, line| {
        script + line.trim_start() + "\n"
    })
}

/// Runs the script of a step as GitHub does, with a simulated machine in place of this computer.
fn run_step(step: &str, folder: &Path, run_id: &str, code: &str) -> Run {
    let program = cellworks();
    let program = Path::new(program.get_program());
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", program.parent().unwrap().display());
    Run::of(
        Command::new("bash")
            .args(["-e", "-o", "pipefail", "-c", &script(step)])
            .current_dir(folder)
            .env("PATH", path)
            .env("MEASURE", "stats --machine qs20 -f mailbox")
            .env("GITHUB_RUN_ID", run_id)
            .env("GITHUB_OUTPUT", folder.join("output"))
            .env("GITHUB_STEP_SUMMARY", folder.join("summary"))
            .env("CODE", code),
    )
}

fn json_of(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn the_workflow_keeps_runs_and_fails_at_slower_ones() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let succeeds = |step: &str, run_id: &str| {
        let run = run_step(step, folder, run_id, "0");
        assert_eq!(run.code, Some(0), "{step}: {run:?}");
    };
    let output = || fs::read_to_string(folder.join("output")).unwrap();
    // On the first day nothing is kept.
    for step in ["Measure", "Compare", "Keep", "End"] {
        succeeds(step, "1");
    }
    assert_eq!(output(), "code=0\n");
    assert!(folder.join("kept/1-3.json").exists());
    // On the second day everything takes as long.
    fs::remove_dir_all(folder.join("new")).unwrap();
    for step in ["Measure", "Compare", "Keep", "End"] {
        succeeds(step, "2");
    }
    assert_eq!(output(), "code=0\ncode=0\n");
    assert_eq!(fs::read_dir(folder.join("kept")).unwrap().count(), 6);
    // On the third day everything takes twice as long.
    for run in fs::read_dir(folder.join("new")).unwrap() {
        let path = run.unwrap().path();
        let mut report = json_of(&path);
        let measurement = &mut report["measurements"][0];
        let twice = |value: &Value| json!(2.0 * value.as_f64().unwrap());
        measurement["latency_ns"]["p50"] = twice(&measurement["latency_ns"]["p50"]);
        for end in ["low", "high"] {
            let interval = &mut measurement["median_interval_ns"];
            interval[end] = twice(&interval[end]);
        }
        fs::write(&path, report.to_string()).unwrap();
    }
    succeeds("Compare", "3");
    assert_eq!(output(), "code=0\ncode=0\ncode=4\n");
    let comment = fs::read_to_string(folder.join("comment.md")).unwrap();
    assert!(
        comment
            .starts_with("**Slower: 1 of 1 time or rate is slower by more than 5 %.**\n\n| what |"),
        "{comment}"
    );
    assert!(
        comment.contains("<details><summary>All ratios: "),
        "{comment}"
    );
    let summary = fs::read_to_string(folder.join("summary")).unwrap();
    assert!(summary.ends_with(&comment), "{summary}");
    assert_eq!(run_step("End", folder, "3", "4").code, Some(4));
    // On the fourth day others use the runner.
    for run in fs::read_dir(folder.join("new")).unwrap() {
        let path = run.unwrap().path();
        let mut report = json_of(&path);
        report["measurements"][0]["doubts"] = json!(["disturbed"]);
        report["trust"] = json!({
            "trustworthy": false, "reasons": ["it was so; measure again"], "kinds": ["disturbed"],
        });
        fs::write(folder.join("new/4.json"), report.to_string()).unwrap();
        fs::remove_file(path).unwrap();
    }
    succeeds("Keep", "4");
    assert!(!folder.join("kept/4.json").exists());
}

#[test]
fn results_are_exported_for_each_service() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("today.json");
    let measured = stats(&format!(
        "--machine qs20 -f dmaget -f mailbox --json {}",
        path.display()
    ));
    assert_eq!(measured.code, Some(0), "{}", measured.err);
    let report = json_of(&path);
    let p50 = &report["measurements"][0]["latency_ns"]["p50"];
    let export = |format: &str| {
        let run = Run::of(cellworks().args(["export", format]).arg(&path));
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{format}");
        serde_json::from_str::<Value>(&run.out).unwrap()
    };
    let bencher = export("bencher");
    let (_, dmaget) = bencher
        .as_object()
        .unwrap()
        .iter()
        .find(|(name, _)| name.starts_with("dmaget ("))
        .unwrap();
    assert_eq!(&dmaget["latency"]["value"], p50);
    assert!(dmaget["latency"]["lower_value"].is_number());
    let times = export("smaller-is-better");
    let dmaget = times.as_array().unwrap().iter().find(|one| {
        let name = one["name"].as_str().unwrap();
        name.starts_with("dmaget (")
    });
    let dmaget = dmaget.unwrap();
    assert_eq!((&dmaget["value"], &dmaget["unit"]), (p50, &json!("ns")));
}

/// Asserts that an object has these keys with numbers or texts, perhaps some of the second, and no
/// others.
#[track_caller]
fn has_keys(object: &Value, required: &[(&str, Kind)], possible: &[(&str, Kind)]) {
    let object = object.as_object().unwrap();
    for (key, _) in required {
        assert!(object.contains_key(*key), "{key}: {object:?}");
    }
    for (key, value) in object {
        let mut allowed = required.iter().chain(possible);
        let (_, kind) = allowed
            .find(|(name, _)| name == key)
            .unwrap_or_else(|| panic!("{key}: {object:?}"));
        let is_right = match kind {
            Kind::Number => value.is_number(),
            Kind::Text => value.is_string(),
        };
        assert!(is_right, "{key}: {object:?}");
    }
}

enum Kind {
    Number,
    Text,
}

/// The keys and types of Bencher are those of <https://bencher.dev/bmf.json>, its limits those of
/// its page on the format. Those of github-action-benchmark are its `BenchmarkResult` in
/// `src/extract.ts`, commit 04dcc2c.
#[test]
fn exports_have_the_keys_and_types_that_the_services_define() {
    use Kind::{Number, Text};
    let folder = tempfile::tempdir().unwrap();
    let export = |of: &str, format: &str| {
        let path = folder.path().join("measured.json");
        let mut command = cellworks();
        command.args(of.split(' ')).arg("--json").arg(&path);
        let measured = Run::of(&mut command);
        assert_eq!(measured.code, Some(0), "{}", measured.err);
        let run = Run::of(cellworks().args(["export", format]).arg(&path));
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{format}");
        serde_json::from_str::<Value>(&run.out).unwrap()
    };
    const STATS: &str = "stats --machine qs20 -f dmaget -f mailbox";
    const RUN: &str = "run aes --machine qs20 --bytes 64k --block 1k --buffering single,double";
    for of in [STATS, RUN] {
        let benchmarks = export(of, "bencher");
        let benchmarks = benchmarks.as_object().unwrap();
        assert!(!benchmarks.is_empty());
        for (name, measures) in benchmarks {
            assert!((1..=1_024).contains(&name.chars().count()), "{name}");
            for (measure, metric) in measures.as_object().unwrap() {
                assert!((1..=64).contains(&measure.chars().count()), "{measure}");
                let bounds = [("lower_value", Number), ("upper_value", Number)];
                has_keys(metric, &[("value", Number)], &bounds);
            }
        }
    }
    for (of, format) in [
        (STATS, "smaller-is-better"),
        (RUN, "smaller-is-better"),
        (RUN, "bigger-is-better"),
    ] {
        let results = export(of, format);
        let results = results.as_array().unwrap();
        assert!(!results.is_empty(), "the action refuses an empty list");
        for result in results {
            let required = [("name", Text), ("value", Number), ("unit", Text)];
            has_keys(result, &required, &[("range", Text), ("extra", Text)]);
        }
    }
}

#[test]
fn exports_without_values_or_of_different_commands_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [stats_json, run_json] = ["stats.json", "run.json"].map(|name| folder.path().join(name));
    for (arguments, path) in [
        ("stats --machine qs20 -f mailbox", &stats_json),
        ("run switch --machine qs20", &run_json),
    ] {
        let mut command = cellworks();
        command.args(arguments.split(' ')).arg("--json").arg(path);
        assert_eq!(Run::of(&mut command).code, Some(0), "{arguments}");
    }
    Run::of(cellworks().args(["export", "bigger-is-better"]).arg(&stats_json)).refused(&format!(
        "error: `{}` has no rate, so there is nothing to export; name another file or another format\n",
        stats_json.display()
    ));
    Run::of(cellworks().args(["export", "bencher"]).args([&stats_json, &run_json])).refused(&format!(
        "error: `{}` is what `cellworks stats` printed, `{}` what `cellworks run switch` printed: they measure \
         different things; export each by itself\n",
        stats_json.display(),
        run_json.display()
    ));
}

/// Runs of two machines have no common median, but runs with other flags are a union.
#[test]
fn an_export_warns_of_runs_of_different_machines() {
    let folder = tempfile::tempdir().unwrap();
    let measured = |name: &str, arguments: &str| {
        let path = folder.path().join(name);
        let mut command = cellworks();
        command.args(arguments.split(' ')).arg("--json").arg(&path);
        assert_eq!(Run::of(&mut command).code, Some(0), "{arguments}");
        path
    };
    let large = measured("large.json", "stats --machine ps3 -f dmaget -b 16k");
    let small = measured("small.json", "stats --machine ps3 -f dmaget -b 1k");
    let blade = measured("blade.json", "stats --machine qs20 -f dmaget -b 16k");
    let exported = |files: [&std::path::PathBuf; 2]| {
        let run = Run::of(cellworks().args(["export", "bencher"]).args(files));
        assert_eq!(run.code, Some(0), "{}", run.err);
        let values: Value = serde_json::from_str(&run.out).unwrap();
        (values.as_object().unwrap().len(), run.err)
    };
    assert_eq!(exported([&large, &small]), (2, String::new()));
    let (values, warning) = exported([&large, &blade]);
    assert_eq!(values, 1);
    let begin = format!(
        "warning: these runs differ, so their medians may mean nothing; export together only files that are alike:\n  \
         Machines differ: Sony PlayStation 3: one Cell/B.E. at 3.2 GHz, 6 SPEs, 256 MB XDR (simulated) in {}, ",
        large.display()
    );
    assert!(warning.starts_with(&begin), "{warning}");
}

#[test]
fn the_page_of_a_result_is_made_again_from_its_json() {
    let folder = tempfile::tempdir().unwrap();
    let [json, html] = ["kept.json", "kept.html"].map(|name| folder.path().join(name));
    for arguments in [
        "stats --machine ps3 --matrix atomic",
        "run switch --machine qs20 --threads 1-3",
        "map solve --pattern ring --tasks 6 --costs node:2@1.8us,core:4@60ns",
        "map explain [0123] [0213] --pattern ring --tasks 4 --costs qs22",
        "map ring --machine ps3 --tasks 3 --runs 1",
    ] {
        let mut command = cellworks();
        command.args(arguments.split(' ').map(|word| word.replace(',', " ")));
        command.arg("--json").arg(&json).arg("--html").arg(&html);
        assert_eq!(Run::of(&mut command).code, Some(0), "{arguments}");
        let page = fs::read_to_string(&html).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>"), "{arguments}");
        let run = Run::of(cellworks().args(["export", "html"]).arg(&json));
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{arguments}");
        assert_eq!(run.out, page, "{arguments}");
    }
    Run::of(cellworks().args(["export", "html"]).arg(&json).arg(&html)).refused(
        "error: html: a page has one result, and there are 2 files; name one, or put two beside each other with \
         `cellworks compare A.json B.json --html FILE`\n",
    );
}

/// Marks the first of the measurements of a run as disturbed.
#[test]
fn measurements_with_doubts_are_not_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("today.json");
    let flags = "--machine qs20 -f mailbox -f signal --json";
    assert_eq!(stats(&format!("{flags} {}", path.display())).code, Some(0));
    let mut report = json_of(&path);
    let doubted = |report: &mut Value, kind: &str| {
        report["measurements"][0]["doubts"] = json!([kind]);
        report["trust"] = json!({
            "trustworthy": false, "reasons": ["it was so; measure again"], "kinds": [kind],
        });
    };
    doubted(&mut report, "unsteady");
    let other = folder.path().join("unsteady.json");
    fs::write(&other, report.to_string()).unwrap();
    let compare = |flags: &[&str]| {
        let files = [&path, &other];
        Run::of(
            cellworks()
                .arg("compare")
                .args(files)
                .args(["--format", "json"])
                .args(flags),
        )
    };
    let run = compare(&[]);
    assert_eq!(
        (run.code, run.err.as_str()),
        (
            Some(0),
            &*format!(
                "warning: `{}`: 1 of its measurements and matrices have doubts and are left out; --untrusted keeps \
                 them\n",
                other.display()
            )
        )
    );
    let comparison = run.report();
    assert_eq!(list(&comparison, "only_in_a").len(), 1);
    assert_eq!(comparison["trust"]["trustworthy"], true);
    let all = compare(&["--untrusted"]).report();
    assert_eq!(list(&all, "only_in_a").len(), 0);
    assert_eq!(all["trust"]["trustworthy"], false);
}

#[test]
fn repetition_is_of_this_computer_and_takes_a_time() {
    stats("--machine qs20 --until-trusted 10m").refused(
        "error: --until-trusted with --machine qs20: nothing disturbs a simulated machine; leave it out\n  example: \
         cellworks stats --machine qs20\n",
    );
    let refused = stats("--until-trusted 0s");
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(
        refused.err.contains("nothing can be measured in no time"),
        "{}",
        refused.err
    );
}
