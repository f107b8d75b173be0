//! The values of reports, in a form in which they can be compared.

use std::collections::BTreeMap;

use cellworks_stats::{Finding, Interval, Matrix, Measurement, MemoryMatrix, Parameters, Storage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::median::median;
use crate::read::Measured;
use crate::report::Report;

/// The kind of the two values that a ratio compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RatioKind {
    /// The medians of the same measurement in A and in B.
    Measurement,
    /// The values of a finding.
    Finding,
    /// The medians of the pairs of SPEs at one distance.
    Matrix,
    /// The values of a result of a program.
    Result,
}

/// The range of the values of several runs, in the unit of the value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    /// The number of runs that have the value.
    pub runs: usize,
    /// The smallest value.
    pub low: f64,
    /// The largest value.
    pub high: f64,
}

/// The reason why two reports cannot be compared. The message also tells the user what to do.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CompareError(pub(super) String);

cellworks_machine::debug_by_display!(CompareError);

impl CompareError {
    pub(crate) fn new(message: String) -> Self {
        Self(message)
    }
}

/// The largest number that a report may contain: 584 years in nanoseconds. The absolute value of a
/// number that is not 0 must be at least `1.0 / LARGEST`, so that ratios are finite.
const LARGEST: f64 = u64::MAX as f64;

/// A value of a report that can be compared with the same value of another report.
pub(super) struct Compare {
    pub kind: RatioKind,
    pub name: String,
    pub parameters: BTreeMap<String, Value>,
    pub unit: String,
    pub value: f64,
    /// The interval of the median. For several runs, it covers their values and their intervals.
    pub interval: Option<Interval>,
    /// The range of the values of several runs. `None` if only one run has the value.
    pub spread: Option<Spread>,
    /// Where the data of a measurement lies, in all runs. `None` if it differs.
    pub lies_in: Option<Storage>,
}

/// Returns all values of a report that can be compared. If a value is impossible or appears twice,
/// returns an error that contains `name`, the name of the report.
fn values_of(measured: &Measured, name: &str) -> Result<Vec<Compare>, CompareError> {
    let values = match measured {
        Measured::Stats(report) => values_of_stats(report),
        other => values_of_results(other.results()),
    };
    for (at, value) in values.iter().enumerate() {
        if let Some(wrong) = value.impossible() {
            return Err(CompareError(format!(
                "`{name}` has {} {} for {}, which cannot be true; measure again",
                Value::from(wrong),
                value.unit,
                value.describe()
            )));
        }
        if let Some(first) = values[..at].iter().find(|other| other.is_like(value)) {
            return Err(CompareError(format!(
                "`{name}` has {} twice, with {} and {} {}, so which one counts is not known; measure again",
                value.describe(),
                Value::from(first.value),
                Value::from(value.value),
                value.unit
            )));
        }
    }
    Ok(values)
}

/// Returns the median of each value over the runs that have the value.
pub(super) fn values_of_side(runs: &[(&str, &Measured)]) -> Result<Vec<Compare>, CompareError> {
    let mut alike: Vec<Vec<Compare>> = Vec::new();
    for (name, run) in runs {
        for value in values_of(run, name)? {
            match alike.iter_mut().find(|others| others[0].is_like(&value)) {
                Some(others) => others.push(value),
                None => alike.push(vec![value]),
            }
        }
    }
    Ok(alike.into_iter().map(Compare::of_runs).collect())
}

/// Returns the results of a program, grouped by name instead of by run.
fn values_of_results(results: &[Finding]) -> Vec<Compare> {
    let mut by_name: Vec<(&str, Vec<Compare>)> = Vec::new();
    for result in results {
        let value = of_finding(RatioKind::Result, result);
        match by_name.iter_mut().find(|(name, _)| *name == result.name) {
            Some((_, values)) => values.push(value),
            None => by_name.push((&result.name, vec![value])),
        }
    }
    by_name.into_iter().flat_map(|(_, values)| values).collect()
}

fn of_finding(kind: RatioKind, finding: &Finding) -> Compare {
    Compare {
        kind,
        name: finding.name.clone(),
        parameters: finding.parameters.clone(),
        unit: finding.unit.clone(),
        value: finding.value,
        interval: None,
        spread: None,
        lies_in: None,
    }
}

fn values_of_stats(report: &Report) -> Vec<Compare> {
    let findings = report.results.iter();
    let findings = findings.map(|finding| of_finding(RatioKind::Finding, finding));
    report
        .measurements
        .iter()
        .map(of_measurement)
        .chain(findings)
        .chain(report.matrices.iter().flat_map(of_matrix))
        .chain(report.memory_matrix.iter().flat_map(of_memory_matrix))
        .collect()
}

fn of_measurement(measurement: &Measurement) -> Compare {
    let Measurement {
        function,
        parameters,
        ..
    } = measurement;
    Compare {
        kind: RatioKind::Measurement,
        name: function.name().to_owned(),
        parameters: fields(parameters),
        unit: "ns".to_owned(),
        value: measurement.latency_ns.p50,
        interval: measurement.median_interval_ns,
        spread: None,
        lies_in: measurement.lies_in,
    }
}

fn of_matrix(matrix: &Matrix) -> impl Iterator<Item = Compare> {
    let mut parameters = BTreeMap::new();
    if let Some(polling) = matrix.polling {
        parameters.insert("polling".to_owned(), plain(&polling));
    }
    if let Some(bytes) = matrix.block_bytes {
        parameters.insert("block_bytes".to_owned(), plain(&bytes));
    }
    if let Some(module) = matrix.home.and_then(|home| home.module) {
        parameters.insert("module".to_owned(), plain(&module));
    }
    let name = matrix.primitive.name();
    matrix.classes.iter().filter_map(move |class| {
        let mut parameters = parameters.clone();
        parameters.insert("class".to_owned(), plain(&class.name));
        Some(Compare {
            kind: RatioKind::Matrix,
            name: name.to_owned(),
            parameters,
            unit: "ns".to_owned(),
            value: class.p50_ns?,
            interval: None,
            spread: None,
            lies_in: None,
        })
    })
}

fn of_memory_matrix(matrix: &MemoryMatrix) -> Vec<Compare> {
    let mut values = Vec::new();
    for (row, cells) in matrix.rows.iter().zip(&matrix.cells) {
        for (module, cell) in matrix.numbers().into_iter().zip(cells) {
            let Some(cell) = cell else { continue };
            let parameters: BTreeMap<_, _> = [
                ("cell", row.cell),
                ("nearest_module", row.nearest_module),
                ("module", module),
                ("block_bytes", matrix.block_bytes),
            ]
            .map(|(name, value)| (name.to_owned(), plain(&value)))
            .into();
            let value = |name: &str, unit: &str, value, interval| Compare {
                kind: RatioKind::Matrix,
                name: name.to_owned(),
                parameters: parameters.clone(),
                unit: unit.to_owned(),
                value,
                interval,
                spread: None,
                lies_in: None,
            };
            let bandwidth = cell.bandwidth_bytes_per_s as f64;
            values.extend([
                value(
                    "memory latency",
                    "ns",
                    cell.latency_ns,
                    cell.latency_interval_ns,
                ),
                value("memory bandwidth", "bytes/s", bandwidth, None),
            ]);
        }
    }
    values
}

/// Returns the parameters as JSON fields, without those that do not apply.
fn fields(parameters: &Parameters) -> BTreeMap<String, Value> {
    match plain(parameters) {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect(),
        _ => BTreeMap::new(),
    }
}

fn plain(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("numbers, strings and structs of them")
}

impl Compare {
    fn of_runs(mut alike: Vec<Self>) -> Self {
        alike.sort_by(|a, b| a.value.total_cmp(&b.value));
        let values: Vec<f64> = alike.iter().map(|value| value.value).collect();
        let ends = alike.iter().flat_map(|one| one.interval);
        let ends: Vec<f64> = ends.flat_map(|ends| [ends.low, ends.high]).collect();
        let (least, largest) = (values[0], values[values.len() - 1]);
        let place = alike[0].lies_in;
        let is_same = alike.iter().all(|one| one.lies_in == place);
        let first = alike.swap_remove(0);
        if values.len() == 1 {
            return first;
        }
        Self {
            value: median(&values).unwrap_or(least),
            interval: Some(Interval {
                low: ends.iter().copied().fold(least, f64::min),
                high: ends.into_iter().fold(largest, f64::max),
            }),
            spread: Some(Spread {
                runs: values.len(),
                low: least,
                high: largest,
            }),
            lies_in: place.filter(|_| is_same),
            ..first
        }
    }

    pub(super) fn runs(&self) -> usize {
        self.spread.map_or(1, |spread| spread.runs)
    }

    /// Returns an impossible number among the value and the ends of its interval, or `None`. A
    /// measured time must be above 0. A finding or a result may be 0 or less.
    fn impossible(&self) -> Option<f64> {
        let is_time = matches!(self.kind, RatioKind::Measurement | RatioKind::Matrix);
        let interval = self.interval.iter().flat_map(|ends| [ends.low, ends.high]);
        [self.value].into_iter().chain(interval).find(|number| {
            let possible = 1.0 / LARGEST..=LARGEST;
            let is_nothing = *number == 0.0 || possible.contains(&-number);
            !(possible.contains(number) || !is_time && is_nothing)
        })
    }

    pub(super) fn is_like(&self, other: &Self) -> bool {
        (self.kind, &self.name, &self.unit) == (other.kind, &other.name, &other.unit)
            && self.parameters == other.parameters
    }

    pub(super) fn describe(&self) -> String {
        described(self.kind, &self.name, &self.parameters)
    }
}

pub(super) fn described(
    kind: RatioKind,
    name: &str,
    parameters: &BTreeMap<String, Value>,
) -> String {
    let noun = match kind {
        RatioKind::Measurement | RatioKind::Finding | RatioKind::Result => "",
        RatioKind::Matrix => "matrix of ",
    };
    match listed(parameters, ", ") {
        parameters if parameters.is_empty() => format!("{noun}{name}"),
        parameters => format!("{noun}{name} ({parameters})"),
    }
}

/// Joins parameters as `name=value`. Strings have no quotes.
pub(super) fn listed(parameters: &BTreeMap<String, Value>, separator: &str) -> String {
    let parameters: Vec<String> = parameters
        .iter()
        .map(|(name, value)| match value {
            Value::String(text) => format!("{name}={text}"),
            value => format!("{name}={value}"),
        })
        .collect();
    parameters.join(separator)
}

pub(super) fn contents(values: &[Compare]) -> String {
    let mut names: Vec<&str> = values.iter().map(|value| value.name.as_str()).collect();
    names.dedup();
    let mut spes: Vec<u64> = values
        .iter()
        .filter_map(|value| value.parameters.get("spes")?.as_u64())
        .collect();
    spes.sort_unstable();
    spes.dedup();
    let mut text = match names.len() {
        0 => "nothing".to_owned(),
        1..=3 => names.join(", "),
        more => format!("{} and {} more", names[..3].join(", "), more - 3),
    };
    if let Some((last, others)) = spes.split_last() {
        let others: Vec<String> = others.iter().map(u64::to_string).collect();
        let noun = if *last == 1 { "SPE" } else { "SPEs" };
        text += &if others.is_empty() {
            format!(" with {last} {noun}")
        } else {
            format!(" with {} or {last} {noun}", others.join(", "))
        };
    }
    text
}
