//! `cellworks compare` as a process, with files that other runs of the command wrote.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::common::tree::{Shape, Tree};
use crate::common::{Run, cellworks, list, run_as_ordinary_user, stats_on};
use serde_json::{Value, json};

/// Two runs of `mailbox` and one of `signal`, as JSON.
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
        let mut report = run.json();
        // These tests must not depend on whether this computer is busy.
        report["trust"] = json!({"trustworthy": true, "reasons": [], "kinds": []});
        report["measurements"][0]["doubts"] = json!([]);
        let path = folder.join(name);
        fs::write(&path, report.to_string()).unwrap();
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

/// Asserts that a file with the given text is refused with the given message, both as the first and
/// as the second file.
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
    refused(
        &whole[..whole.len() / 2],
        "is cut off: it ends in the middle, at line 1; copy it again, or measure again",
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
fn how_many_files_there_may_be() {
    for (files, said) in [(1, "one file"), (3, "3 files")] {
        let run = Run::of(cellworks().arg("compare").args(vec![&RUNS.a; files]));
        run.refused(&format!(
            "error: {said} without --with: two files are compared, or several with several\n  example: \
             cellworks compare old.json new.json\n  example: cellworks compare old-1.json old-2.json --with \
             new-1.json new-2.json\n"
        ));
    }
}

#[test]
fn several_runs_of_each_side() {
    let folder = tempfile::tempdir().unwrap();
    let [a, a2, a3, b, b2, b3] =
        [100.0, 104.0, 130.0, 131.0, 150.0, 120.0].map(|p50| taking(folder.path(), p50, Some(0.1)));
    let compare = |a: &[&PathBuf], b: &[&PathBuf], flags: &[&str]| {
        let mut command = cellworks();
        Run::of(
            command
                .arg("compare")
                .args(a)
                .arg("--with")
                .args(b)
                .args(flags),
        )
    };
    // One run on each side cannot tell a change from what varies from run to run, and the runs of
    // one side differ as much as the two sides do.
    let one = compare(&[&a], &[&b2], &["--threshold", "5%"]);
    assert_eq!(one.code, Some(2), "{}", one.err);
    assert!(
        one.out
            .starts_with(&format!("{} compared with {}\n", b2.display(), a.display()))
    );
    assert!(
        one.err.contains(
            "have too few runs to tell a change from what varies from run to run; measure at least"
        ),
        "{}",
        one.err
    );
    let overlapping = compare(&[&a, &a2, &a3], &[&b, &b2, &b3], &["--threshold", "5%"]);
    assert_eq!((overlapping.code, overlapping.err.as_str()), (Some(0), ""));
    let a4 = taking(folder.path(), 102.0, Some(0.1));
    let apart = compare(&[&a, &a4, &a2], &[&b, &b2, &b3], &["--threshold", "5%"]);
    assert_eq!(apart.code, Some(4));
    assert!(
        apart
            .err
            .ends_with(&format!("\n  1.284 times  {MAILBOX}\n")),
        "{}",
        apart.err
    );

    let report = compare(&[&a, &a2], &[&b, &b2, &b3], &["--format", "json"]).report();
    assert_eq!(list(&report["compared"], "runs_of_b").len(), 3);
    let ratio = &list(&report, "results")[0];
    assert_eq!((&ratio["a"], &ratio["b"]), (&json!(102.0), &json!(131.0)));
    assert_eq!(
        ratio["spread_of_a"],
        json!({"runs": 2, "low": 100.0, "high": 104.0})
    );
    assert_eq!(
        ratio["spread_of_b"],
        json!({"runs": 3, "low": 120.0, "high": 150.0})
    );
    assert_eq!(ratio["verdict"], "slower");

    compare(&[&a], &[&b, &b2, &b], &[]).refused(&format!(
        "error: `{}` is named twice, and would count as two runs; name it once\n",
        b.display()
    ));
    let page = folder.path().join("1.04e2.json");
    let before = fs::read(&page).unwrap();
    let run = compare(&[&a, &a2], &[&b], &["--html", page.to_str().unwrap()]);
    run.refused(&format!(
        "error: --html: it would replace {}, which the command reads; name another file\n",
        page.display()
    ));
    assert_eq!(fs::read(&page).unwrap(), before);
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
        "kind,name,parameters,value_unit,a,b,ratio,ratio_low,ratio_high,verdict,a_low,a_high,b_low,b_high,noticeable_slowdown"
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

/// Three runs with the JSON of `run`.
fn thrice(run: &Path) -> [PathBuf; 3] {
    ["-1", "-2", "-3"].map(|number| {
        let path = PathBuf::from(format!("{}{number}", run.display()));
        fs::copy(run, &path).unwrap();
        path
    })
}

/// Compares three runs with the JSON of `a` with three with that of `b`.
fn compare_thrice(a: &Path, b: &Path, flags: &[&str]) -> Run {
    let mut command = cellworks();
    command.arg("compare").args(thrice(a)).arg("--with");
    Run::of(command.args(thrice(b)).args(flags))
}

/// The JSON of the first run, which has a median of 100 ns, with a change.
fn edited(folder: &Path, name: &str, change: impl FnOnce(&mut Value)) -> PathBuf {
    let text = fs::read_to_string(&RUNS.a).unwrap();
    let mut report: Value = serde_json::from_str(&text).unwrap();
    let mailbox = &mut report["measurements"][0];
    mailbox["latency_ns"]["p50"] = json!(100.0);
    mailbox["median_interval_ns"] = Value::Null;
    change(&mut report);
    let path = folder.join(name);
    fs::write(&path, report.to_string()).unwrap();
    path
}

/// A run with the given median, and with an interval that extends `to_either_side` from it.
fn taking(folder: &Path, p50: f64, to_either_side: Option<f64>) -> PathBuf {
    edited(folder, &format!("{p50:e}.json"), |report| {
        let mailbox = &mut report["measurements"][0];
        mailbox["latency_ns"]["p50"] = json!(p50);
        if let Some(width) = to_either_side {
            mailbox["median_interval_ns"] = json!({"low": p50 - width, "high": p50 + width});
        }
    })
}

const MAILBOX: &str = "mailbox (between=ppe-spe, cell=0, spes=1)";

#[test]
fn a_second_run_that_is_slower_by_more_than_the_threshold() {
    let folder = tempfile::tempdir().unwrap();
    for width in [None, Some(1.0)] {
        let [a, b] = [100.0, 110.0].map(|p50| taking(folder.path(), p50, width));
        for (first, second, percent, code) in [
            (&a, &b, "5%", 4),
            (&a, &b, "9.9 %", 4),
            (&a, &b, "10.1%", 0),
            (&b, &a, "0%", 0),
            (&b, &b, "0%", 0),
        ] {
            let run = compare_thrice(first, second, &["--threshold", percent]);
            assert_eq!(run.code, Some(code), "{percent}: {}", run.err);
            assert_eq!(run.err.is_empty(), code == 0, "{}", run.err);
            let expected = match code {
                0 => "\nNot slower: none of 1 time or rate is slower by more than ",
                _ => "\nSlower: 1 of 1 time or rate is slower by more than ",
            };
            assert!(run.out.contains(expected), "{}", run.out);
        }
        let slower = compare_thrice(&a, &b, &["--threshold", "5%"]);
        assert_eq!(
            slower.err,
            format!(
                "error: `{}-1 and 2 more` is slower than `{}-1 and 2 more` by more than 5 % in 1 of 1:\n  1.100 \
                 times  {MAILBOX}\n",
                b.display(),
                a.display()
            )
        );
    }
    // If the intervals overlap, it is unknown which run is slower.
    let [a, b] = [100.0, 110.0].map(|p50| taking(folder.path(), p50, Some(6.0)));
    let run = compare_thrice(&a, &b, &["--threshold", "5%"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
}

#[test]
fn a_run_that_cannot_be_relied_upon_is_left_out_beside_others() {
    let folder = tempfile::tempdir().unwrap();
    let sound = thrice(&taking(folder.path(), 100.0, Some(0.1)));
    let disturbed = edited(folder.path(), "disturbed.json", |report| {
        report["measurements"][0]["latency_ns"]["p50"] = json!(900.0);
        report["measurements"][0]["doubts"] = json!(["disturbed"]);
        report["trust"] = json!({
            "trustworthy": false, "reasons": ["others used the CPUs; end them."], "kinds": ["disturbed"],
        });
    });
    let said = format!(
        "warning: `{}` cannot be relied upon and is left out; --untrusted keeps it:\n  others used the CPUs; end \
         them.\n",
        disturbed.display()
    );
    let page = folder.path().join("comment.md");
    let mut command = cellworks();
    command.arg("compare").args(&sound).arg(&disturbed);
    command.arg("--with").arg(&disturbed).args(&sound);
    command.args(["--threshold", "5%", "--markdown"]).arg(&page);
    let run = Run::of(&mut command);
    assert_eq!((run.code, run.err), (Some(0), said.repeat(2)));
    let comment = fs::read_to_string(&page).unwrap();
    assert!(
        comment.starts_with("**Not slower: none of 1 time or rate is slower by more than 5 %.**\n"),
        "{comment}"
    );
    let note = format!(
        "- {} is left out: others used the CPUs; end them.\n",
        disturbed.display()
    );
    assert!(comment.contains(&note), "{comment}");

    let mut command = cellworks();
    command
        .args(["export", "bencher"])
        .arg(&disturbed)
        .args(&sound);
    let run = Run::of(&mut command);
    assert_eq!((run.code, run.err), (Some(0), said));
    assert!(!run.out.contains("900"), "{}", run.out);
    // Nothing is left.
    let twice = thrice(&disturbed);
    let mut command = cellworks();
    let run = Run::of(
        command
            .arg("compare")
            .args(&sound)
            .arg("--with")
            .args(&twice),
    );
    assert_eq!(run.code, Some(2));
    for file in &twice {
        let why = format!(
            "`{}` cannot be relied upon; measure again, or",
            file.display()
        );
        assert!(run.err.contains(&why), "{}", run.err);
    }
}

#[test]
fn markdown_goes_to_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = [100.0, 110.0].map(|p50| taking(folder.path(), p50, Some(0.1)));
    let run = compare(&a, &b, &["--markdown", a.to_str().unwrap()]);
    run.refused(&format!(
        "error: --markdown: it would replace {}, which the command reads; name another file\n",
        a.display()
    ));
    let page = folder.path().join("page");
    let page = page.to_str().unwrap();
    let run = compare(&a, &b, &["--markdown", page, "--html", page]);
    assert_eq!(run.code, Some(2), "{}", run.err);
    assert!(run.err.contains("is written there"), "{}", run.err);
    let run = compare(&a, &b, &["--markdown", "-"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(
        run.out.starts_with("| what | A | B | B/A | interval |\n"),
        "{}",
        run.out
    );
    assert!(run.err.contains(" compared with "), "{}", run.err);
}

#[test]
fn a_bandwidth_is_slower_where_it_is_less() {
    let folder = tempfile::tempdir().unwrap();
    let run = program(
        folder.path(),
        "aes.json",
        "aes --bytes 16k --block 1k --buffering single",
    );
    let mut report: Value = serde_json::from_str(&fs::read_to_string(&run).unwrap()).unwrap();
    for result in report["results"].as_array_mut().unwrap() {
        if result["name"] == "bandwidth" {
            result["value"] = json!(result["value"].as_f64().unwrap() / 2.0);
        }
    }
    let half = folder.path().join("half.json");
    fs::write(&half, report.to_string()).unwrap();
    let slower = compare(&run, &half, &["--threshold", "50%"]);
    assert_eq!(slower.code, Some(4), "{}", slower.err);
    // Time and bandwidth are judged. Cycles per byte are not, because they have no better
    // direction.
    assert!(
        slower
            .err
            .contains(" by more than 50 % in 1 of 2:\n  2.000 times  bandwidth (")
    );
    let faster = compare(&half, &run, &["--threshold", "0%"]);
    assert_eq!((faster.code, faster.err.as_str()), (Some(0), ""));
}

#[test]
fn a_threshold_that_is_none() {
    for text in ["5", "five%", "-5%", "%", "1e999%", "nan%"] {
        compare(&RUNS.a, &RUNS.b, &["--threshold", text]).refused(&format!(
            "error: invalid value '{text}' for '--threshold <PERCENT>': a threshold is a percentage of 0% or \
             more; use 5%\n\nFor more information, try '--help'.\n"
        ));
    }
}

#[test]
fn a_threshold_names_figures_that_it_does_not_judge() {
    let folder = tempfile::tempdir().unwrap();
    let more = edited(folder.path(), "more.json", |report| {
        let mut second = report["measurements"][0].clone();
        second["parameters"]["spes"] = json!(2);
        list_mut(report, "measurements").push(second);
    });
    let one = taking(folder.path(), 100.0, None);
    let run = compare_thrice(&more, &one, &["--threshold", "5%"]);
    assert_eq!(
        (run.code, run.err),
        (
            Some(0),
            format!(
                "warning: --threshold: not judged, because it is only in `{}-1 and 2 more`:\n  {}\n",
                more.display(),
                MAILBOX.replace("spes=1", "spes=2")
            )
        )
    );
    let size = |name| {
        edited(folder.path(), name, |report| {
            report["measurements"] = json!([]);
            report["results"] = json!([
                {"name": "cache_bytes", "value": 1024.0, "unit": "bytes", "parameters": {}}
            ]);
        })
    };
    let (a, b) = (size("a.json"), size("b.json"));
    compare(&a, &b, &["--threshold", "5%"]).refused(&format!(
        "error: --threshold: `{}` and `{}` have no time and no rate in common, so neither is slower; leave \
         --threshold out\n",
        a.display(),
        b.display()
    ));
}

#[test]
fn a_run_that_cannot_be_relied_upon_is_compared_if_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let sound = taking(folder.path(), 100.0, None);
    for (reasons, said) in [
        (
            json!(["others used the CPUs; end them", "a second one"]),
            "others used the CPUs; end them\n  a second one",
        ),
        (json!([]), "it does not say why"),
    ] {
        let doubtful = edited(folder.path(), "doubtful.json", |report| {
            report["trust"] = json!({"trustworthy": false, "reasons": reasons});
        });
        let page = folder.path().join("page.html");
        let flags = ["--html", page.to_str().unwrap()];
        for (a, b) in [(&sound, &doubtful), (&doubtful, &sound)] {
            compare(a, b, &flags).refused(&format!(
                "error: `{}` cannot be relied upon; measure again, or use it all the same with \
                 --untrusted:\n  {said}\n",
                doubtful.display()
            ));
            assert!(!page.exists());
            let run = compare(a, b, &["--untrusted", "--format", "json"]);
            assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
            assert_eq!(run.report()["trust"]["trustworthy"], false);
        }
    }
}

#[test]
fn numbers_that_cannot_be_true() {
    let folder = tempfile::tempdir().unwrap();
    let sound = taking(folder.path(), 100.0, None);
    for (p50, shown) in [
        (0.0, "0.0"),
        (-5.0, "-5.0"),
        (1e308, "1e+308"),
        (1e-308, "1e-308"),
    ] {
        let wrong = taking(folder.path(), p50, None);
        for (a, b) in [(&sound, &wrong), (&wrong, &sound)] {
            compare(a, b, &[]).refused(&format!(
                "error: `{}` has {shown} ns for {MAILBOX}, which cannot be true; measure again\n",
                wrong.display()
            ));
        }
    }
    let wrong = edited(folder.path(), "interval.json", |report| {
        report["measurements"][0]["median_interval_ns"] = json!({"low": 0.0, "high": 200.0});
    });
    compare(&wrong, &sound, &[]).refused(&format!(
        "error: `{}` has 0.0 ns for {MAILBOX}, which cannot be true; measure again\n",
        wrong.display()
    ));
}

#[test]
fn a_measurement_that_is_there_twice() {
    let folder = tempfile::tempdir().unwrap();
    let sound = taking(folder.path(), 100.0, None);
    let twice = edited(folder.path(), "twice.json", |report| {
        let mut second = report["measurements"][0].clone();
        second["latency_ns"]["p50"] = json!(200.0);
        list_mut(report, "measurements").push(second);
    });
    for (a, b) in [(&sound, &twice), (&twice, &sound)] {
        compare(a, b, &[]).refused(&format!(
            "error: `{}` has {MAILBOX} twice, with 100.0 and 200.0 ns, so which one counts is not known; measure \
             again\n",
            twice.display()
        ));
    }
}

fn list_mut<'v>(object: &'v mut Value, name: &str) -> &'v mut Vec<Value> {
    object[name].as_array_mut().expect("an array")
}

#[test]
fn a_run_on_standard_input_and_a_comparison_on_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = [100.0, 110.0].map(|p50| taking(folder.path(), p50, None));
    let mut command = cellworks();
    command.arg("compare").arg(&a).args(["-", "--json", "-"]);
    let run = Run::of(command.stdin(fs::File::open(&b).unwrap()));
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(list(&run.report(), "results")[0]["value"], 1.1);
    assert!(run.err.contains("/dev/stdin compared with"), "{}", run.err);
}

/// A file with the JSON of a program of `cellworks run`.
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
    // The results are time, bandwidth and cycles in three ways, for one SPE and for two. They are
    // the same in each run.
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

/// A run with the given times of its reference.
fn with_reference(folder: &Path, name: &str, exchange_ns: f64, line_ns: f64) -> PathBuf {
    let state = |ns: f64| json!([{"ns": ns, "share": 1.0}]);
    edited(folder, name, |report| {
        report["environment"]["build"] = json!("release");
        report["reference"] = json!({
            "spes": [0, 1],
            "readings": 7,
            "exchange": state(exchange_ns),
            "line": state(line_ns),
        });
    })
}

#[test]
fn two_runs_in_different_states_of_the_computer() {
    let folder = tempfile::tempdir().unwrap();
    let near = with_reference(folder.path(), "near.json", 136.0, 36.0);
    let again = with_reference(folder.path(), "again.json", 150.0, 40.0);
    let far = with_reference(folder.path(), "far.json", 495.0, 40.0);
    let both = with_reference(folder.path(), "both.json", 495.0, 180.0);
    let notes = |a: &Path, b: &Path| {
        let run = compare(a, b, &["--format", "json"]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
        list(&run.report(), "notes").to_vec()
    };
    let (in_near, in_far) = (near.display(), far.display());
    let said = |what: &str| {
        format!(
            "The two were taken in different states of the computer: between SPE 0 and SPE 1 {what}. What differs \
             as much may come from that; measure both again, in turns."
        )
    };
    let exchange = format!("an exchange took 136 ns in {in_near} and 495 ns in {in_far}");
    let in_both = both.display();
    let each = format!(
        "an exchange took 136 ns in {in_near} and 495 ns in {in_both}, and a cache line took 36.0 ns in {in_near} \
         and 180 ns in {in_both}"
    );
    assert_eq!(notes(&near, &again), [""; 0]);
    assert_eq!(notes(&near, &far), [said(&exchange)]);
    assert_eq!(notes(&near, &both), [said(&each)]);
    let table = compare(&near, &far, &[]);
    assert!(
        table.out.contains("different states of the computer"),
        "{}",
        table.out
    );
}

/// One side is not reliable, and the message has the reason.
#[test]
fn a_run_in_two_states_is_compared_if_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let why = "the computer was in two states during the run: a reference exchange between SPE 0 and SPE 1 took 136 \
               ns in 62 % and 495 ns in 38 % of 13 readings; measure again";
    let mixed = edited(folder.path(), "mixed.json", |report| {
        report["trust"] = json!({"trustworthy": false, "reasons": [why], "kinds": ["unsteady"]});
    });
    compare(&RUNS.a, &mixed, &[]).refused(&format!(
        "error: `{}` cannot be relied upon; measure again, or use it all the same with --untrusted:\n  {why}\n",
        mixed.display()
    ));
    let run = compare(&RUNS.a, &mixed, &["--untrusted", "--format", "json"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(run.report()["trust"]["kinds"], json!(["unsteady"]));
}
