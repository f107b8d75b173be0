//! Sweeps that are divided among processes, with results in files that are merged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{Run, cellworks, list, skipped};

/// A sweep of six runs. Some of its conclusions need several runs.
const SWEEP: &str = "run knn --machine qs22 --spes 1-3 --points 60,90";

fn run(folder: &TempDir, arguments: &str) -> Run {
    Run::of(command(folder).args(arguments.split_whitespace()))
}

fn command(folder: &TempDir) -> Command {
    let mut command = cellworks();
    command.current_dir(folder);
    command
}

/// The JSON of a complete sweep, without the part about this computer.
#[track_caller]
fn whole(run: &Run) -> Value {
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let mut report = run.report();
    report.as_object_mut().unwrap().remove("environment");
    report
}

#[track_caller]
fn files(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The files of two shares of [`SWEEP`].
fn two_shares(folder: &TempDir) -> [PathBuf; 2] {
    [1, 2].map(|number| {
        let run = run(folder, &format!("{SWEEP} --share {number}/2"));
        assert_eq!((run.code, run.out.as_str()), (Some(0), ""), "{}", run.err);
        folder.path().join(format!("run-knn.{number}-of-2.jsonl"))
    })
}

#[test]
fn merged_shares_are_what_one_process_finds() {
    let folder = tempfile::tempdir().unwrap();
    let expected = whole(&run(&folder, &format!("{SWEEP} --format json")));
    two_shares(&folder);
    // The order of the files does not matter.
    let merge = "merge run-knn.2-of-2.jsonl run-knn.1-of-2.jsonl";
    let merged = run(&folder, &format!("{merge} --format json"));
    assert_eq!(whole(&merged), expected);
    let table = |arguments: &str| run(&folder, arguments).out;
    assert_eq!(table(merge), table(SWEEP));
    let page = run(&folder, &format!("{merge} --html page.html"));
    assert_eq!((page.code, page.err.as_str()), (Some(0), ""));
    assert!(
        fs::read_to_string(folder.path().join("page.html"))
            .unwrap()
            .contains("<svg")
    );
}

#[test]
fn shares_of_a_reproduction_are_merged() {
    let folder = tempfile::tempdir().unwrap();
    let expected = whole(&run(&folder, "reproduce cellmt --quiet --format json"));
    for number in 1..=3 {
        let share = run(
            &folder,
            &format!("reproduce cellmt --quiet --share {number}/3"),
        );
        assert_eq!(
            (share.code, share.out.as_str(), share.err.as_str()),
            (Some(0), "", "")
        );
    }
    let all =
        "reproduce-cellmt.1-of-3.jsonl reproduce-cellmt.2-of-3.jsonl reproduce-cellmt.3-of-3.jsonl";
    let merged = run(&folder, &format!("merge {all} --format json"));
    assert_eq!(whole(&merged), expected);
    let page = run(&folder, &format!("merge {all} --html page.html"));
    assert_eq!((page.code, page.err.as_str()), (Some(0), ""));
}

#[test]
fn a_share_names_the_file_of_its_results() {
    let folder = tempfile::tempdir().unwrap();
    let share = run(&folder, &format!("{SWEEP} --share 2/2"));
    assert_eq!(
        share.err,
        "note: share 2/2: 3 of 6 steps are in run-knn.2-of-2.jsonl; `cellworks merge` with the files of all \
         shares prints the whole\n"
    );
}

#[test]
fn steps_that_no_file_has_are_named() {
    let folder = tempfile::tempdir().unwrap();
    two_shares(&folder);
    let merged = run(&folder, "merge run-knn.1-of-2.jsonl --format json");
    assert_eq!(merged.code, Some(1));
    assert_eq!(
        merged.err,
        "error: 3 of 6 runs are in none of the files, as the result says; name the files of all shares, or \
         simulate these again\n"
    );
    let report = merged.report();
    let missing = list(&report, "not_measured");
    assert_eq!(missing.len(), 3);
    assert_eq!(missing[0]["why"], "no file has it");
    assert_eq!(report["trust"]["trustworthy"], true);
    assert_eq!(report["complete"], false);
}

#[test]
fn the_environment_divides_a_sweep_of_several_steps() {
    let folder = tempfile::tempdir().unwrap();
    let slurm = [
        ("SLURM_ARRAY_TASK_ID", "5"),
        ("SLURM_ARRAY_TASK_MIN", "4"),
        ("SLURM_ARRAY_TASK_COUNT", "2"),
    ];
    let share = Run::of(command(&folder).args(SWEEP.split_whitespace()).envs(slurm));
    assert_eq!((share.code, share.out.as_str()), (Some(0), ""));
    assert!(
        share.err.starts_with("note: share 2/2: 3 of 6 steps"),
        "{}",
        share.err
    );
    // A sweep of one step is not divided. The task simulates it, and prints the result.
    let one = "run knn --machine qs22 --spes 1 --points 60";
    let alone = Run::of(command(&folder).args(one.split_whitespace()).envs(slurm));
    assert!(alone.out.contains("knn: block points"), "{}", alone.err);
    assert_eq!(files(&folder), ["run-knn.2-of-2.jsonl"]);
}

#[test]
fn open_mpi_divides_a_sweep() {
    let version = Command::new("mpirun").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        skipped("there is no mpirun on the PATH; package openmpi-bin of Debian has it");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let expected = whole(&run(&folder, &format!("{SWEEP} --format json")));
    let mut mpirun = Command::new("mpirun");
    mpirun
        .args(["-n", "2", "--oversubscribe", "--allow-run-as-root"])
        .arg(cellworks().get_program())
        .args(SWEEP.split_whitespace())
        .args(["--results", "knn.jsonl"])
        .current_dir(&folder);
    let shares = Run::of(&mut mpirun);
    assert_eq!(shares.code, Some(0), "{}", shares.err);
    assert_eq!(files(&folder), ["knn.1-of-2.jsonl", "knn.2-of-2.jsonl"]);
    let merged = run(
        &folder,
        "merge knn.1-of-2.jsonl knn.2-of-2.jsonl --format json",
    );
    assert_eq!(whole(&merged), expected);
}

#[test]
fn a_run_goes_on_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let expected = run(&folder, SWEEP).out;
    let kept = format!("{SWEEP} --results all.jsonl");
    assert_eq!(run(&folder, &kept).out, expected);
    let file = folder.path().join("all.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    // The file of a run that ended after three steps, with another result of the first step.
    let mut lines: Vec<String> = text.lines().take(4).map(str::to_owned).collect();
    let mut first: Value = serde_json::from_str(&lines[1]).unwrap();
    first["found"][0][1] = json!(12_345.0);
    lines[1] = first.to_string();
    fs::write(&file, lines.join("\n") + "\n").unwrap();
    let resumed = run(&folder, &kept);
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    assert_ne!(
        resumed.out, expected,
        "what is in the file is not simulated again"
    );
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 7);
}

/// Asserts that files are refused with a message about one of them, and are not changed.
#[track_caller]
fn refused(folder: &TempDir, arguments: &str, message: &str) {
    let before = contents(folder.path());
    run(folder, arguments).refused(&format!("error: {message}\n"));
    assert_eq!(contents(folder.path()), before);
}

fn contents(folder: &Path) -> Vec<(PathBuf, String)> {
    let paths = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = paths
        .map(|path| (path.clone(), fs::read_to_string(&path).unwrap()))
        .collect();
    all.sort();
    all
}

#[test]
fn files_of_another_sweep_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    two_shares(&folder);
    let another = run(
        &folder,
        "run knn --machine qs22 --spes 2 --points 60 --results another.jsonl",
    );
    assert_eq!(another.code, Some(0));
    let step = |spes: usize| {
        format!(
            "{{\"knn\":{{\"block_points\":50,\"dimensions\":72,\"neighbours\":10,\"points\":60,\"spes\":{spes},\
             \"threads\":1,\"transport\":\"direct\"}}}}"
        )
    };
    refused(
        &folder,
        "merge run-knn.1-of-2.jsonl another.jsonl",
        &format!(
            "another.jsonl, line 1: these are results of another sweep: step 0 is {} there, and {} here; name \
             another file",
            step(2),
            step(1)
        ),
    );
    refused(
        &folder,
        "run knn --machine qs22 --spes 2,3 --points 60 --results another.jsonl",
        "another.jsonl, line 1: these are results of another sweep: it has 1 steps, and this one 2; name another \
         file",
    );
    refused(
        &folder,
        "run knn --machine qs20 --spes 2 --points 60 --results another.jsonl",
        "another.jsonl, line 1: these are results of another machine, or of one that was simulated in another way; \
         name another file",
    );
}

#[test]
fn files_that_are_wrong_are_refused_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let [first, _] = two_shares(&folder);
    let text = fs::read_to_string(&first).unwrap();
    let write = |text: &str| fs::write(folder.path().join("wrong.jsonl"), text).unwrap();
    let line_two = text.lines().nth(1).unwrap();

    write(text.trim_end());
    refused(
        &folder,
        "merge wrong.jsonl",
        "wrong.jsonl, line 4: the line was cut off; remove it, and its step is simulated again",
    );
    write(&text[..100]);
    refused(
        &folder,
        "merge wrong.jsonl",
        "wrong.jsonl, line 1: the line was cut off; remove it, and its step is simulated again",
    );
    write(&text.replace("\"cellworks_version\":\"", "\"cellworks_version\":\"0.0."));
    let version = env!("CARGO_PKG_VERSION");
    refused(
        &folder,
        "merge wrong.jsonl",
        &format!(
            "wrong.jsonl, line 1: these are results of cellworks 0.0.{version}, and this is {version}: use the \
             version that has written the file; name another file"
        ),
    );
    write("{\"name\": \"a report\"}\n");
    refused(
        &folder,
        "merge wrong.jsonl",
        "wrong.jsonl, line 1: this is no file of results; name one that --results or --share has written",
    );
    write("");
    refused(
        &folder,
        "merge wrong.jsonl",
        "wrong.jsonl, line 1: the file is empty; name one that --results or --share has written",
    );
    write(&text.replace("\"step\":2", "\"step\":6"));
    refused(
        &folder,
        "merge wrong.jsonl",
        "wrong.jsonl, line 3: there is no step 6: the sweep has 6, numbered from 0; remove the line",
    );
    write(&text.replace(line_two, "{\"step\":0}"));
    refused(
        &folder,
        "merge wrong.jsonl",
        "wrong.jsonl, line 2: this is no result of a step: missing field `found` at line 1 column 10; remove the \
         line, and simulate the step again",
    );
    write(&text.replace(line_two, "{\"step\":0,\"found\":[[\"luck\",7.0]]}"));
    refused(
        &folder,
        "merge wrong.jsonl",
        "wrong.jsonl, line 2: knn does not find any `luck`; remove the line, and simulate the step again",
    );
    write(&text.replace(line_two, "{\"step\":0,\"found\":[[\"run time\",7.0]]}"));
    refused(
        &folder,
        "merge run-knn.1-of-2.jsonl wrong.jsonl",
        "wrong.jsonl, line 2: step 0 has found something else than run-knn.1-of-2.jsonl, line 2 says, but a \
         simulation repeats exactly; simulate the step again, and leave out the wrong file",
    );
    refused(
        &folder,
        "merge missing.jsonl",
        "missing.jsonl cannot be read: No such file or directory (os error 2); name a file that --results or \
         --share has written",
    );
}

#[test]
fn shares_of_what_cannot_be_shared() {
    let folder = tempfile::tempdir().unwrap();
    let example = "\n  example: cellworks run knn --points 5k --neighbours 10 --spes 1,2";
    refused(
        &folder,
        "run knn --spes 1 --points 60 --share 1/2",
        &format!(
            "--share with --machine host: only simulations give the same results on every computer; choose a \
             simulated machine, such as --machine qs20, or leave --share out{example}"
        ),
    );
    refused(
        &folder,
        "run knn --machine qs22 --spes 1 --points 60 --results a.jsonl --counters",
        &format!(
            "--results with --counters: --counters shows a run as it happens, and a file of results has only what \
             it found; leave one of them out{example} --machine qs22"
        ),
    );
    let page = run(&folder, &format!("{SWEEP} --share 1/2 --html page.html"));
    assert_eq!((page.code, page.out.as_str()), (Some(2), ""));
    assert_eq!(
        page.err,
        "error: --html of a share of a sweep, which prints nothing; give it to `cellworks merge`\n"
    );
    assert!(!folder.path().join("page.html").exists());
    let wrong = run(&folder, &format!("{SWEEP} --share 3/2"));
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.err.contains("there is no share 3 of 2"),
        "{}",
        wrong.err
    );
}
