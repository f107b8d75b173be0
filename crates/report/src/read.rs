//! Reading reports from their JSON.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{fs, io};

use cellworks_stats::{Doubt, Finding, Measurement};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use serde_json::error::Category;

use crate::envelope::{Envelope, ReasonKind, SCHEMA_VERSION, Trust};
use crate::explanation::{ExplainedPlacement, ExplanationReport};
use crate::placement::{PictureDrawing, PictureLine, PlacementReport};
use crate::program::ProgramReport;
use crate::report::Report;
use crate::views::Views;

const NAME_A_REPORT: &str =
    "name what `cellworks stats`, `cellworks run` or `cellworks map` printed with --format json";

/// The reason why a file is not a usable report, with the name of the file.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` {why}", .path.display())]
pub struct ReadError {
    path: PathBuf,
    why: String,
}

cellworks_machine::debug_by_display!(ReadError);

/// A report from a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// The report of `cellworks stats`.
    Stats(Report),
    /// The report of a program of `cellworks run`, or of `cellworks map ring`.
    Program(ProgramReport),
    /// The report of `cellworks map solve`.
    Placement(PlacementReport),
    /// The report of `cellworks map explain` about two placements.
    Explanation(ExplanationReport),
}

impl Measured {
    /// Returns the views of the report, its envelope and its results.
    fn parts(&self) -> (&dyn Views, &Envelope, &[Finding]) {
        match self {
            Self::Stats(report) => (report, &report.envelope, &report.results),
            Self::Program(report) => (report, &report.envelope, &report.results),
            Self::Placement(report) => (report, &report.envelope, &report.results),
            Self::Explanation(report) => (report, &report.envelope, &report.results),
        }
    }

    /// Returns the part that the results of all commands have in common.
    pub fn envelope(&self) -> &Envelope {
        self.parts().1
    }

    /// Returns the command that printed the report, with its program: `stats`, or `run aes`.
    pub fn printed_by(&self) -> String {
        match self {
            Self::Stats(_) => "stats".to_owned(),
            Self::Program(report) if report.envelope.command == "run" => {
                format!("run {}", report.program)
            }
            _ => self.envelope().command.clone(),
        }
    }

    /// Returns the page that the command writes with `--html`.
    pub fn html(&self) -> String {
        self.parts().0.html()
    }

    /// Removes the measurements and matrices that have doubts from a report of `stats`, and returns
    /// how many there were. What is only uncertain and has an interval stays, because the interval
    /// says how much is known, unless most of the report is uncertain. If the report is not
    /// trustworthy only because of what was removed, it counts as trustworthy afterwards. It then
    /// also loses its findings and its matrix of memory, which may rest on what was removed. A
    /// report is not changed if nothing trustworthy would be left.
    pub fn leave_out_doubts(&mut self) -> usize {
        let Self::Stats(report) = self else {
            return 0;
        };
        let is_uncertain = |(_, kind)| kind == Some(ReasonKind::Uncertain);
        let most_are_uncertain = report.envelope.trust.reasons().any(is_uncertain);
        let is_sound = |one: &Measurement| match one.doubts[..] {
            [] => true,
            [Doubt::Uncertain] => !most_are_uncertain && one.median_interval_ns.is_some(),
            _ => false,
        };
        let (all, matrices) = (report.measurements.len(), report.matrices.len());
        let sound = report.measurements.iter().filter(|one| is_sound(one));
        let sound_matrices = report.matrices.iter().filter(|one| one.doubts.is_empty());
        let left = sound.count() + sound_matrices.count();
        let removed = all + matrices - left;
        if removed == 0 || left == 0 {
            return 0;
        }
        let trust = &mut report.envelope.trust;
        if !trust.trustworthy {
            let is_of_rows = |kind| {
                let rows = [
                    ReasonKind::Disturbed,
                    ReasonKind::Unsteady,
                    ReasonKind::Uncertain,
                ];
                rows.map(Some).contains(&kind)
            };
            if trust.reasons.is_empty() || !trust.reasons().all(|(_, kind)| is_of_rows(kind)) {
                return 0;
            }
            *trust = Trust {
                trustworthy: true,
                reasons: Vec::new(),
                kinds: Vec::new(),
            };
            report.results.clear();
            report.memory_matrix = None;
        }
        report.measurements.retain(is_sound);
        report.matrices.retain(|one| one.doubts.is_empty());
        removed
    }

    /// Returns the results that follow from what was measured or computed.
    pub(crate) fn results(&self) -> &[Finding] {
        self.parts().2
    }

    fn is_empty(&self) -> bool {
        let is_measured = |report: &Report| {
            !report.measurements.is_empty()
                || !report.matrices.is_empty()
                || report.memory_matrix.is_some()
        };
        self.results().is_empty() && !matches!(self, Self::Stats(report) if is_measured(report))
    }
}

/// Returns true if all places and tasks that the report names by numbers are in it.
fn is_consistent(measured: &Measured) -> bool {
    match measured {
        Measured::Stats(_) | Measured::Program(_) => true,
        Measured::Placement(report) => report.picture.iter().all(|picture| {
            let places = picture.places.len();
            let is_there = |line: &PictureLine| line.places.iter().all(|place| *place < places);
            let fits =
                |one: &PictureDrawing| one.tasks.len() == places && one.lines.iter().all(is_there);
            picture.drawings.iter().all(fits)
        }),
        Measured::Explanation(report) => {
            let places = report.around.len();
            let of = |one: &ExplainedPlacement| {
                let is_there = |task: usize| task < one.placement.len();
                one.placement.iter().all(|place| *place < places)
                    && report
                        .pairs
                        .iter()
                        .all(|pair| is_there(pair.from) && is_there(pair.to))
            };
            report.around.iter().all(|place| *place < places)
                && report.placements.len() == 2
                && report.placements.iter().all(of)
        }
    }
}

/// The fields that decide which type of report the file contains.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Head {
    schema_version: u64,
    command: String,
    measurements: Option<IgnoredAny>,
}

/// Reads the JSON of `cellworks stats`, `cellworks run` or `cellworks map` (`--format json`) into
/// memory. The file may be a pipe. Unknown fields are ignored. Control characters become
/// `\u{fffd}`, in the report and in errors, because the text is shown on a terminal.
///
/// # Errors
///
/// [`ReadError`] if the file is not such a report, or has no results.
pub fn read(path: &Path) -> Result<Measured, ReadError> {
    checked(path).map_err(|why| ReadError {
        path: path.to_owned(),
        why,
    })
}

/// Reads a report. The error is the end of a sentence that begins with the name of the file.
fn checked(path: &Path) -> Result<Measured, String> {
    let text = fs::read(path).map_err(|error| unreadable(path, &error))?;
    if text.trim_ascii().is_empty() {
        return Err(
            "is empty: what should have written it has failed, so look at its errors and measure again".to_owned(),
        );
    }
    let explain = |error: serde_json::Error| match error.classify() {
        _ if ends_too_early(&text, &error) => format!(
            "is cut off: it ends in the middle, at line {}; copy it again, or measure again",
            error.line()
        ),
        Category::Data => format!(
            "is JSON, but not a report of cellworks ({}); {NAME_A_REPORT}",
            shown(&error.to_string())
        ),
        Category::Syntax | Category::Eof | Category::Io => {
            format!(
                "is not JSON ({}); {NAME_A_REPORT}",
                shown(&error.to_string())
            )
        }
    };
    // The whole file is parsed first, so that a syntax error is reported before a wrong field.
    serde_json::from_slice::<IgnoredAny>(&text).map_err(explain)?;
    let head: Head = serde_json::from_slice(&text).map_err(explain)?;
    let (found, known) = (head.schema_version, u64::from(SCHEMA_VERSION));
    if found != known {
        let instead = if found > known {
            "update cellworks"
        } else {
            "measure again"
        };
        return Err(format!(
            "has schema_version {found}, and this command reads {known}: {instead}"
        ));
    }
    let measured = match head.command.as_str() {
        "run" | "map ring" => parsed(&text).map(Measured::Program),
        "map solve" => parsed(&text).map(Measured::Placement),
        "map explain" => parsed(&text).map(Measured::Explanation),
        other if head.measurements.is_none() && other != "stats" => {
            return Err(format!(
                "is what `cellworks {}` printed, which has no measurements; {NAME_A_REPORT}",
                shown(other)
            ));
        }
        _ => parsed(&text).map(Measured::Stats),
    };
    let measured = measured.map_err(explain)?;
    if measured.is_empty() {
        return Err(
            "has nothing in it that was measured: the run ended too early, so measure again"
                .to_owned(),
        );
    }
    if !is_consistent(&measured) {
        return Err(
            "contradicts itself: it names a place or a task that is not in it; measure again"
                .to_owned(),
        );
    }
    Ok(measured)
}

/// Returns the end of the error if the operating system cannot read the file.
fn unreadable(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => format!(
            "does not exist; write it: cellworks stats --format json > {}",
            path.display()
        ),
        ErrorKind::PermissionDenied => {
            "may not be read by this user; change its permissions, or copy it".to_owned()
        }
        ErrorKind::IsADirectory => "is a directory; name a file in it".to_owned(),
        _ => format!("cannot be read: {error}; name a file that can be, or measure again"),
    }
}

/// Parses a report, and replaces its control characters by `\u{fffd}`.
fn parsed<R: DeserializeOwned>(text: &[u8]) -> serde_json::Result<R> {
    // The text of the file is parsed first, so that errors have the line numbers of the file.
    serde_json::from_slice::<R>(text)?;
    let mut json = serde_json::from_slice(text)?;
    show(&mut json);
    serde_json::from_slice(&serde_json::to_vec(&json)?)
}

fn show(value: &mut Value) {
    match value {
        Value::String(text) => *text = shown(text),
        Value::Array(values) => values.iter_mut().for_each(show),
        Value::Object(fields) => {
            *fields = std::mem::take(fields)
                .into_iter()
                .map(|(name, mut value)| {
                    show(&mut value);
                    (shown(&name), value)
                })
                .collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn shown(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// Returns true if the file is cut off. If such a file ends in a number, `error` is a syntax error.
fn ends_too_early(text: &[u8], error: &serde_json::Error) -> bool {
    match error.classify() {
        Category::Eof => true,
        Category::Syntax => {
            let mut lines = text
                .split(|byte| *byte == b'\n')
                .skip(error.line().saturating_sub(1));
            let wrong = lines.next().unwrap_or_default();
            let is_object = text.trim_ascii_start().starts_with(b"{");
            is_object && lines.next().is_none() && error.column() >= wrong.len()
        }
        Category::Data | Category::Io => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::compare::Comparison;
    use crate::made_up;

    /// Returns the error of `read` for a file `report.json` with the given text.
    fn error_of(text: &[u8]) -> String {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.json");
        fs::write(&path, text).unwrap();
        complaint(&path, directory.path())
    }

    fn complaint(path: &Path, directory: &Path) -> String {
        let error = read(path).expect_err("the file is wrong");
        error
            .to_string()
            .replace(&format!("{}/", directory.display()), "")
    }

    fn error_about(report: &Value) -> String {
        error_of(report.to_string().as_bytes())
    }

    fn sound() -> Value {
        serde_json::to_value(made_up::report()).unwrap()
    }

    #[test]
    fn what_was_written_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.json");
        let report = made_up::report();
        fs::write(&path, crate::json::render(&report)).unwrap();
        assert_eq!(read(&path).unwrap(), Measured::Stats(report));
    }

    #[test]
    fn what_a_program_found_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("aes.json");
        let mut report = made_up::program();
        fs::write(&path, crate::json::render(&report)).unwrap();
        assert_eq!(read(&path).unwrap(), Measured::Program(report.clone()));
        report.results.clear();
        assert_eq!(
            error_about(&serde_json::to_value(report).unwrap()),
            "`report.json` has nothing in it that was measured: the run ended too early, so measure again"
        );
    }

    #[test]
    fn fields_of_later_versions_are_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.json");
        let mut report = sound();
        report["invented"] = json!([1, 2]);
        report["measurements"][0]["parameters"]["invented"] = json!("yes");
        fs::write(&path, report.to_string()).unwrap();
        assert_eq!(read(&path).unwrap(), Measured::Stats(made_up::report()));
    }

    #[test]
    fn places_and_tasks_that_are_not_there_are_refused() {
        let contradicts = "`report.json` contradicts itself: it names a place or a task that is not in it; measure again";
        let mut drawn = serde_json::to_value(made_up::placement()).unwrap();
        drawn["picture"] = json!({
            "places": ["CPU 0"],
            "rings": [],
            "drawings": [{
                "title": "found",
                "cost": null,
                "tasks": [[0]],
                "lines": [{"places": [0, 1], "volume": 1.0, "cost": 1.0}],
            }],
        });
        assert_eq!(error_about(&drawn), contradicts);
        drawn["picture"]["drawings"][0]["lines"] = json!([]);
        drawn["picture"]["drawings"][0]["tasks"] = json!([]);
        assert_eq!(error_about(&drawn), contradicts);
        let explained = serde_json::to_value(made_up::explanation()).unwrap();
        for (field, wrong) in [
            ("/around/0", json!(99)),
            ("/placements/0/placement/0", json!(99)),
            ("/placements/1/placement", json!([])),
            ("/pairs/0/to", json!(99)),
            ("/placements", json!([])),
        ] {
            let mut explained = explained.clone();
            *explained.pointer_mut(field).unwrap() = wrong;
            assert_eq!(error_about(&explained), contradicts, "{field}");
        }
    }

    /// Older commands with the same schema version do not write the field `states`.
    #[test]
    fn a_report_without_states_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.json");
        let mut old = sound();
        old.as_object_mut().unwrap().remove("reference");
        for measurement in old["measurements"].as_array_mut().unwrap() {
            measurement.as_object_mut().unwrap().remove("states");
        }
        fs::write(&path, old.to_string()).unwrap();
        let mut expected = made_up::report();
        expected.reference = None;
        for measurement in &mut expected.measurements {
            measurement.states.clear();
        }
        assert_eq!(read(&path).unwrap(), Measured::Stats(expected));
    }

    /// Older commands with the same schema version do not write the field `kinds`.
    #[test]
    fn reasons_without_kinds_are_read_and_compared() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.json");
        let mut report = sound();
        report["trust"] =
            json!({"trustworthy": false, "reasons": ["others used the CPUs; end them"]});
        fs::write(&path, report.to_string()).unwrap();
        let old = read(&path).unwrap();
        assert_eq!(old.envelope().trust.kinds, []);
        let mut new = made_up::report();
        new.envelope.trust = Trust {
            trustworthy: false,
            reasons: vec!["most medians are known only roughly; give them more time".to_owned()],
            kinds: vec![Some(ReasonKind::Uncertain)],
        };
        let both = Comparison::of(&old, &Measured::Stats(new), ["old", "new"]).unwrap();
        assert_eq!(
            serde_json::to_value(both.envelope.trust).unwrap(),
            json!({
                "trustworthy": false,
                "reasons": [
                    "old: others used the CPUs; end them",
                    "new: most medians are known only roughly; give them more time",
                ],
                "kinds": [null, "uncertain"],
            })
        );
    }

    #[test]
    fn measurements_with_doubts_are_left_out_and_the_rest_can_be_trusted() {
        let untrusted = |kind| Trust {
            trustworthy: false,
            reasons: vec!["the computer was in two states; measure again".to_owned()],
            kinds: vec![Some(kind)],
        };
        let report = |trust: Option<Trust>, doubted: usize| {
            let mut report = made_up::report();
            report.envelope.trust = trust.unwrap_or(report.envelope.trust);
            let all = report.measurements.iter_mut();
            all.take(doubted)
                .for_each(|one| one.doubts = vec![Doubt::Unsteady]);
            Measured::Stats(report)
        };
        let left = |measured: &Measured| match measured {
            Measured::Stats(report) => (
                report.measurements.len(),
                report.results.is_empty(),
                report.envelope.trust.trustworthy,
            ),
            _ => panic!("`stats` wrote it"),
        };
        let all = made_up::report().measurements.len();
        let mut unsteady = report(Some(untrusted(ReasonKind::Unsteady)), 2);
        assert_eq!(unsteady.leave_out_doubts(), 2);
        assert_eq!(left(&unsteady), (all - 2, true, true));
        // A short disturbance: the run is trustworthy as a whole, and keeps its findings.
        let mut short = report(None, 1);
        assert_eq!(short.leave_out_doubts(), 1);
        assert_eq!(left(&short), (all - 1, false, true));
        // A wide interval says how much is known, so the row stays, unless most of the run is so.
        let uncertain = |trust| {
            let mut uncertain = report(trust, 2);
            if let Measured::Stats(report) = &mut uncertain {
                report.measurements[0].doubts = vec![Doubt::Uncertain];
                report.measurements[1].doubts = vec![Doubt::Uncertain];
                report.measurements[1].median_interval_ns = None;
            }
            uncertain.leave_out_doubts()
        };
        assert_eq!(uncertain(None), 1);
        assert_eq!(uncertain(Some(untrusted(ReasonKind::Uncertain))), 2);
        // The reason is not that of some measurements alone, or no measurement has doubts.
        for (kind, doubted) in [(ReasonKind::Foreign, 2), (ReasonKind::Disturbed, 0)] {
            let mut refused = report(Some(untrusted(kind)), doubted);
            assert_eq!(refused.leave_out_doubts(), 0);
            assert_eq!(left(&refused), (all, false, false));
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_to_be_written() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(
            complaint(&directory.path().join("day1.json"), directory.path()),
            "`day1.json` does not exist; write it: cellworks stats --format json > day1.json"
        );
    }

    #[test]
    fn a_directory_is_not_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results");
        fs::create_dir(&path).unwrap();
        assert_eq!(
            complaint(&path, directory.path()),
            "`results` is a directory; name a file in it"
        );
    }

    #[test]
    fn a_file_that_may_not_be_read_is_an_error_with_the_reason() {
        // The test may run as administrator, who can read any file, so it makes the error itself.
        let error_of = |error: io::Error| {
            let path = PathBuf::from("report.json");
            let why = unreadable(&path, &error);
            ReadError { path, why }.to_string()
        };
        assert_eq!(
            error_of(ErrorKind::PermissionDenied.into()),
            "`report.json` may not be read by this user; change its permissions, or copy it"
        );
        assert_eq!(
            error_of(io::Error::other("disk on fire")),
            "`report.json` cannot be read: disk on fire; name a file that can be, or measure again"
        );
    }

    #[test]
    fn a_file_with_nothing_in_it_is_empty() {
        let expected = "`report.json` is empty: what should have written it has failed, so look at its errors \
                        and measure again";
        assert_eq!(error_of(b""), expected);
        assert_eq!(error_of(b" \n\n"), expected);
    }

    #[test]
    fn the_error_of_a_file_that_is_cut_off_has_the_place_of_its_end() {
        let whole = crate::json::render(&made_up::report());
        let lines: Vec<&str> = whole.lines().take(20).collect();
        assert_eq!(
            error_of(lines.join("\n").as_bytes()),
            "`report.json` is cut off: it ends in the middle, at line 20; copy it again, or measure again"
        );
    }

    #[test]
    fn it_may_be_cut_off_anywhere() {
        let whole = crate::json::render(&made_up::report());
        for length in (1..whole.trim_end().len()).step_by(13) {
            let message = error_of(&whole.as_bytes()[..length]);
            assert!(
                message.starts_with("`report.json` is cut off: it ends in the middle, at line "),
                "after {length} bytes: {message}"
            );
        }
    }

    #[test]
    fn the_error_of_a_file_that_is_not_json_has_the_place() {
        assert_eq!(
            error_of(b"function,spes\nmailbox,1\n"),
            "`report.json` is not JSON (expected ident at line 1 column 2); name what `cellworks stats`, \
             `cellworks run` or `cellworks map` printed with --format json"
        );
        assert_eq!(
            error_of(b"\x7fELF\x02"),
            "`report.json` is not JSON (expected value at line 1 column 1); name what `cellworks stats`, \
             `cellworks run` or `cellworks map` printed with --format json"
        );
        let two = crate::json::render(&made_up::report()).repeat(2);
        let lines = two.lines().count() / 2;
        assert_eq!(
            error_of(two.as_bytes()),
            format!(
                "`report.json` is not JSON (trailing characters at line {} column 1); name what `cellworks \
                 stats`, `cellworks run` or `cellworks map` printed with --format json",
                lines + 1
            )
        );
    }

    #[test]
    fn json_of_something_else_names_what_is_missing() {
        assert_eq!(
            error_of(b"{\"dependencies\": {}}"),
            "`report.json` is JSON, but not a report of cellworks (missing field `schema_version` at line 1 \
             column 20); name what `cellworks stats`, `cellworks run` or `cellworks map` printed \
             with --format json"
        );
        assert_eq!(
            error_of(b"42"),
            "`report.json` is JSON, but not a report of cellworks (invalid type: integer `42`, expected an \
             object at line 1 column 2); name what `cellworks stats`, `cellworks run` or `cellworks map` printed \
             with --format json"
        );
        let mut report = sound();
        report.as_object_mut().unwrap().remove("machine");
        let message = error_about(&report);
        assert!(
            message.starts_with(
                "`report.json` is JSON, but not a report of cellworks (missing field `machine` at line 1 column "
            ),
            "{message}"
        );
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.json");
        let mut report = made_up::report();
        report.envelope.machine.name = "a \u{1b}[31mred\u{7}\u{9b}m machine\n".to_owned();
        let parameters = json!({"odd\r": "\u{8}text"});
        report.results[0].parameters = serde_json::from_value(parameters).unwrap();
        fs::write(&path, crate::json::render(&report)).unwrap();
        let Measured::Stats(read) = read(&path).unwrap() else {
            panic!("`stats` wrote it");
        };
        assert_eq!(
            read.envelope.machine.name,
            "a \u{fffd}[31mred\u{fffd}\u{fffd}m machine\u{fffd}"
        );
        assert_eq!(
            json!(read.results[0].parameters),
            json!({"odd\u{fffd}": "\u{fffd}text"})
        );
        let mut of_another_command = sound();
        of_another_command["command"] = json!("\u{1b}[2J");
        of_another_command["measurements"] = json!(null);
        let mut unknown_function = sound();
        unknown_function["measurements"][0]["function"] = json!("\u{1b}[2J");
        for wrong in [of_another_command, unknown_function] {
            let message = error_about(&wrong);
            assert!(message.contains("\u{fffd}[2J"), "{message:?}");
            assert!(!message.contains(char::is_control), "{message:?}");
        }
    }

    #[test]
    fn a_newer_schema_asks_for_an_update() {
        // In a file of a later version, only these two fields are known.
        assert_eq!(
            error_about(&json!({"schema_version": 7, "command": "stats"})),
            "`report.json` has schema_version 7, and this command reads 1: update cellworks"
        );
    }

    #[test]
    fn an_older_schema_asks_for_a_new_measurement() {
        assert_eq!(
            error_about(&json!({"schema_version": 0, "command": "stats"})),
            "`report.json` has schema_version 0, and this command reads 1: measure again"
        );
    }

    #[test]
    fn a_comparison_has_no_measurements() {
        assert_eq!(
            error_about(&json!({"schema_version": 1, "command": "compare", "results": []})),
            "`report.json` is what `cellworks compare` printed, which has no measurements; name what `cellworks \
             stats`, `cellworks run` or `cellworks map` printed with --format json"
        );
    }

    #[test]
    fn a_run_that_measured_nothing_is_to_be_repeated() {
        let mut report = sound();
        for field in ["measurements", "matrices", "results"] {
            report[field] = json!([]);
        }
        assert_eq!(
            error_about(&report),
            "`report.json` has nothing in it that was measured: the run ended too early, so measure again"
        );
    }
}
