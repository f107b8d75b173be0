//! `cellworks compare` as a process, of files that other runs of the command wrote.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::common::tree::{Shape, Tree};
use crate::common::{Run, cellworks, list, run_as_ordinary_user, stats_on};
use serde_json::{Value, json};

/// A run of `mailbox`, another one, and one of `signal`, as JSON.
struct Runs {
    a: PathBuf,
    b: PathBuf,
    other: PathBuf,
}

static RUNS: LazyLock<Runs> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let single = Shape {
        sockets: 1,
        cells: 1,
        cores: 1,
        threads: 1,
    };
    let tree = Tree::new(single, "A single");
    let measured = |name: &str, arguments: &str| {
        let run = stats_on(&tree, &format!("{arguments} --quiet --format json"));
        run.json();
        let path = folder.join(name);
        fs::write(&path, run.out).unwrap();
        path
    };
    Runs {
        a: measured("a.json", "-f mailbox -i 100"),
        b: measured("b.json", "-f mailbox -i 100"),
        other: measured("other.json", "-f signal -i 100"),
    }
});

fn compare(a: &Path, b: &Path, flags: &[&str]) -> Run {
    Run::of(cellworks().arg("compare").arg(a).arg(b).args(flags))
}

/// Asserts what is said of a file with this text, in either place.
#[track_caller]
fn refused(text: &str, complaint: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrong.json");
    fs::write(&path, text).unwrap();
    refused_file(&path, complaint);
}

#[track_caller]
fn refused_file(path: &Path, complaint: &str) {
    let message = format!("error: `{}` {complaint}\n", path.display());
    compare(&RUNS.a, path, &[]).refused(&message);
    compare(path, &RUNS.a, &["--format", "json"]).refused(&message);
}

/// The JSON of a run with one field changed.
fn changed(field: &str, value: Value) -> String {
    let text = fs::read_to_string(&RUNS.a).unwrap();
    let mut report: Value = serde_json::from_str(&text).unwrap();
    report[field] = value;
    report.to_string()
}

#[test]
fn files_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.json");
    refused_file(
        &missing,
        &format!(
            "does not exist; write it: cellworks stats --format json > {}",
            missing.display()
        ),
    );
    refused_file(folder.path(), "is a directory; name a file in it");
    refused(
        "",
        "is empty: what should have written it has failed, so look at its errors and measure again",
    );
}

#[cfg(unix)]
#[test]
fn a_file_that_this_user_may_not_read() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let (other, secret) = (
        folder.path().join("a.json"),
        folder.path().join("secret.json"),
    );
    for path in [&other, &secret] {
        fs::copy(&RUNS.a, path).unwrap();
    }
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    for (a, b) in [(&other, &secret), (&secret, &other)] {
        let mut compare = cellworks();
        compare.arg("compare").args([a, b]);
        if !run_as_ordinary_user(&mut compare, folder.path()) {
            return;
        }
        Run::of(&mut compare).refused(&format!(
            "error: `{}` may not be read by this user; change its permissions, or copy it\n",
            secret.display()
        ));
    }
}

#[test]
fn files_of_something_else() {
    let what_to_do = "name what `cellworks stats`, `cellworks run` or `cellworks map` printed with --format json";
    refused(
        "function,spes\nmailbox,1\n",
        &format!("is not JSON (expected ident at line 1 column 2); {what_to_do}"),
    );
    refused(
        "{\"dependencies\": {}}",
        &format!(
            "is JSON, but not a report of cellworks (missing field `schema_version` at line 1 column 20); \
             {what_to_do}"
        ),
    );
    let comparison = compare(&RUNS.a, &RUNS.b, &["--format", "json"]).out;
    refused(
        &comparison,
        &format!("is what `cellworks compare` printed, which has no measurements; {what_to_do}"),
    );
}

#[test]
fn files_that_are_cut_off() {
    let whole = fs::read_to_string(&RUNS.a).unwrap();
    let half: String = whole.lines().take(20).collect::<Vec<_>>().join("\n");
    refused(
        &half,
        "is cut off: it ends in the middle, at line 20; copy it again, or measure again",
    );
}

#[test]
fn files_of_other_versions() {
    let this = "and this command reads 1";
    refused(
        &changed("schema_version", json!(2)),
        &format!("has schema_version 2, {this}: update cellworks"),
    );
    refused(
        &changed("schema_version", json!(0)),
        &format!("has schema_version 0, {this}: measure again"),
    );
}

#[test]
fn files_with_nothing_to_compare() {
    refused(
        &changed("measurements", json!([])),
        "has nothing in it that was measured: the run ended too early, so measure again",
    );
    let (a, other) = (RUNS.a.display(), RUNS.other.display());
    compare(&RUNS.a, &RUNS.other, &[]).refused(&format!(
        "error: `{a}` and `{other}` have nothing in common: `{a}` has mailbox with 1 SPE, `{other}` has \
         signal with 1 SPE; run both with the same flags, and with as many SPEs\n"
    ));
}

#[test]
fn one_file_is_not_enough() {
    let run = Run::of(cellworks().arg("compare").arg(&RUNS.a));
    run.refused(
        "error: the following required arguments were not provided:\n  <B.json>\n\n\
         Usage: cellworks compare <A.json> <B.json>\n\nFor more information, try '--help'.\n",
    );
}

#[test]
fn two_runs_in_every_form() {
    let printed = |flags: &[&str]| {
        let run = compare(&RUNS.a, &RUNS.b, flags);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{flags:?}");
        run
    };
    let table = printed(&[]).out;
    assert!(
        table.contains("\nmailbox (") && table.contains("B/A"),
        "{table}"
    );
    assert!(!table.contains('\x1b'), "{table}");

    let report = printed(&["--format", "json"]).report();
    assert_eq!(report["command"], "compare");
    let a = RUNS.a.display().to_string();
    assert_eq!(report["compared"]["a"], a.as_str());
    let ratio = &list(&report, "results")[0];
    assert_eq!(
        (&ratio["name"], &ratio["unit"]),
        (&json!("mailbox"), &json!("ratio"))
    );
    let number = |name: &str| ratio[name].as_f64().unwrap();
    assert_eq!(number("value"), number("b") / number("a"));

    let csv = printed(&["--format", "csv"]).out;
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(
        lines[0],
        "kind,name,parameters,value_unit,a,b,ratio,ratio_low,ratio_high,verdict"
    );
    assert_eq!(lines.len(), 2);
    assert!(lines[1].starts_with("measurement,mailbox,"), "{csv}");

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    let with_page = printed(&["--html", path.to_str().unwrap()]);
    assert_eq!(with_page.out, table);
    let page = fs::read_to_string(&path).unwrap();
    assert!(
        page.starts_with("<!DOCTYPE html>") && page.contains("mailbox"),
        "{page}"
    );
}

/// What `cellworks run` printed as JSON, in a file.
fn program(folder: &Path, name: &str, arguments: &str) -> PathBuf {
    let mut command = cellworks();
    command.arg("run").args(arguments.split_whitespace());
    let run = Run::of(command.args(["--machine", "qs20", "--format", "json"]));
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let path = folder.join(name);
    fs::write(&path, run.out).unwrap();
    path
}

#[test]
fn two_runs_of_a_program() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, arguments: &str| program(folder.path(), name, arguments);
    let small = run("small.json", "aes --bytes 16k --block 1k --spes 1,2");
    let again = run("again.json", "aes --bytes 16k --block 1k --spes 2,1");
    let compared = compare(&small, &again, &["--format", "json"]);
    assert_eq!((compared.code, compared.err.as_str()), (Some(0), ""));
    let report = compared.report();
    // Three ways, one SPE and two, and time, bandwidth and cycles of each: the same on any day.
    let ratios = list(&report, "results");
    assert_eq!(ratios.len(), 18);
    for ratio in ratios {
        assert_eq!(
            (&ratio["kind"], &ratio["value"]),
            (&json!("result"), &json!(1.0))
        );
    }
    assert_eq!(report["summary"]["compared"], 18);
    assert_eq!(report["summary"]["largest_deviation"], 0.0);

    let fewer = run(
        "fewer.json",
        "aes --bytes 16k --block 512 --buffering single",
    );
    compare(&small, &fewer, &[]).refused(&format!(
        "error: `{small}` and `{fewer}` have nothing in common: `{small}` has time, bandwidth, taken with 1 or 2 \
         SPEs, `{fewer}` has time, bandwidth, taken with 1 SPE; run both with the same flags, and with as many \
         SPEs\n",
        small = small.display(),
        fewer = fewer.display(),
    ));
}

#[test]
fn results_of_different_commands() {
    let folder = tempfile::tempdir().unwrap();
    let aes = program(
        folder.path(),
        "aes.json",
        "aes --bytes 16k --buffering single",
    );
    let switch = program(
        folder.path(),
        "switch.json",
        "switch --threads 1 --yields 10",
    );
    for (a, b, of_a, of_b) in [
        (&RUNS.a, &aes, "stats", "run aes"),
        (&aes, &RUNS.a, "run aes", "stats"),
        (&aes, &switch, "run aes", "run switch"),
    ] {
        compare(a, b, &[]).refused(&format!(
            "error: `{}` is what `cellworks {of_a}` printed, `{}` what `cellworks {of_b}` printed: they measure \
             different things; run the same command for both\n",
            a.display(),
            b.display()
        ));
    }
}

#[test]
fn a_comparison_that_is_refused_leaves_no_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    let run = compare(&RUNS.a, &RUNS.other, &["--html", path.to_str().unwrap()]);
    assert_eq!(run.code, Some(2));
    assert!(!path.exists());
}
