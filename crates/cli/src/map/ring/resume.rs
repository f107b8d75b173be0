//! Going on from a result that was interrupted.

use std::collections::HashMap;
use std::path::Path;

use cellworks_report::{MachineInfo, MappingTimes, SweepReport, read_sweep};
use serde::Serialize;
use serde_json::Value;

use super::found::{Found, info};

/// Takes the times of a file over, if it is of this sweep on this machine. The message says which
/// line of the file is wrong.
pub(super) fn take_over(
    file: &Path,
    machine: &MachineInfo,
    found: &mut Found,
) -> Result<(), String> {
    let (report, text) = read_sweep(file).map_err(|error| format!("--resume: {error}"))?;
    let at =
        |line: usize, rule: String| format!("--resume: {}, line {line}: {rule}", file.display());
    is_the_same(&report, machine, found)
        .map_err(|Different { path, rule }| at(line_of(&text, &path), rule))?;
    let plan = found.plan();
    let runs = plan.sweep().runs;
    let sizes = plan.sweep().packet_bytes.iter().enumerate();
    let mappings = plan.mappings().iter().enumerate();
    let mut first_runs: HashMap<(u32, String), usize> = sizes
        .flat_map(|(size, bytes)| {
            let each = mappings.clone();
            each.map(move |(at, mapping)| ((*bytes, mapping.to_string()), plan.first_run(size, at)))
        })
        .collect();
    for (number, times) in report.mappings.iter().enumerate() {
        let wrong = |rule: String| at(line_of_mapping(&text, number), rule);
        let MappingTimes {
            packet_bytes,
            mapping,
            runs_ns,
        } = times;
        let first = first_runs
            .remove(&(*packet_bytes, mapping.clone()))
            .ok_or_else(|| {
                wrong(format!(
                    "the mapping {mapping} with packets of {packet_bytes} bytes is there twice, or is none of this \
                     sweep; start anew, without --resume"
                ))
            })?;
        let is_time = |ns: &f64| ns.is_finite() && *ns > 0.0;
        if runs_ns.len() != runs || !runs_ns.iter().all(is_time) {
            return Err(wrong(format!(
                "the mapping {mapping} has the times {runs_ns:?}, and has to have {runs} above 0; start anew, \
                 without --resume"
            )));
        }
        for (run, ns) in runs_ns.iter().enumerate() {
            found.ran(first + run, *ns);
        }
    }
    Ok(())
}

/// In what a file differs.
struct Different {
    /// Where it is: the names of fields, from the outermost.
    path: Vec<String>,
    rule: String,
}

fn is_the_same(
    report: &SweepReport,
    machine: &MachineInfo,
    found: &Found,
) -> Result<(), Different> {
    let written_by = &report.found.envelope.environment.cellworks_version;
    let version = env!("CARGO_PKG_VERSION");
    if written_by != version {
        return Err(Different {
            path: ["environment", "cellworks_version"]
                .map(str::to_owned)
                .into(),
            rule: format!(
                "cellworks {written_by} wrote it, and this is {version}, whose times may differ; start anew, without \
                 --resume"
            ),
        });
    }
    same("machine", &report.found.envelope.machine, machine)?;
    same("sweep", &report.sweep, &info(found.plan().sweep()))
}

/// Compares field by field.
fn same<T: Serialize>(of: &str, in_file: &T, wanted: &T) -> Result<(), Different> {
    let fields = |value: &T| match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (in_file, wanted) = (fields(in_file), fields(wanted));
    let is_different = |(name, value): &(&String, &Value)| wanted.get(*name) != Some(*value);
    // Another name says more than what follows from it.
    let named = in_file.iter().filter(|(name, _)| *name == "name");
    match named.chain(&in_file).find(is_different) {
        None => Ok(()),
        Some((name, value)) => Err(Different {
            path: vec![of.to_owned(), name.clone()],
            rule: format!(
                "it is of another sweep: its `{name}` of the {of} is {value}, and here {}; give the flags that it was \
                 run with, or start anew, without --resume",
                wanted.get(name).unwrap_or(&Value::Null)
            ),
        }),
    }
}

/// The line of a field.
fn line_of(text: &str, path: &[String]) -> usize {
    let mut at = 0;
    for name in path {
        let key = format!("\"{name}\"");
        at += text[at..].find(&key).unwrap_or(0);
    }
    line(text, at)
}

/// The line of the mapping with this number.
fn line_of_mapping(text: &str, number: usize) -> usize {
    let list = text.find("\"mappings\": [").or(text.find("\"mappings\":["));
    let begin = list.unwrap_or(0);
    let mut each = text[begin..].match_indices("\"mapping\"");
    line(text, begin + each.nth(number).map_or(0, |(at, _)| at))
}

fn line(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}
