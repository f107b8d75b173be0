//! A comparison of two reports of one kind, A and B: of two machines, or of two days of one
//! machine. A and B may each have several runs.
//!
//! ```text
//!   A.json ── read ──► Measured ─┐                             ┌─► table, csv, html   for people
//!                                ├─► Comparison: ratios B / A ─┤
//!   B.json ── read ──► Measured ─┘   of the values in both     └─► json::render       for scripts
//! ```

mod judge;
mod judgement;
mod markdown;
mod page;
mod values;
mod views;

use std::collections::BTreeMap;

use cellworks_stats::{STATES_RATIO_MIN, State, Storage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::envelope::{Envelope, Environment, Trust};
use crate::machine_info::MachineInfo;
use crate::median::median;
use crate::read::Measured;
use crate::text::{count, time};

use values::{Compare, contents, described, listed, values_of_side};

pub use judgement::Judgement;
pub use markdown::markdown;
pub use page::html;
pub use values::{CompareError, RatioKind, Spread};
pub use views::{csv, table};

/// The former name of [`RatioKind`].
#[deprecated(note = "use `RatioKind`")]
pub type Kind = RatioKind;

/// The ratios of B to A of all values that two reports have in common.
///
/// `machine` and `environment` are those of A. The machine and the environment of B are in `other`.
/// `trust` and `complete` hold only if they hold for both reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// The part that the results of all commands have in common.
    #[serde(flatten)]
    pub envelope: Envelope,
    /// The names of the reports, such as those of their files.
    pub compared: Compared,
    /// The machine and the circumstances of B.
    pub other: Other,
    /// Sentences about circumstances that differ between A and B, or between several runs of A or
    /// of B. These circumstances may explain differences between the numbers.
    pub notes: Vec<String>,
    /// All measurements and matrices, or results of a program, in a few numbers.
    pub summary: Summary,
    /// What a threshold says. `None` without a threshold, and in older files.
    #[serde(default)]
    pub judgement: Option<Judgement>,
    /// The ratios of measurements, then of findings, then of matrices, each in the order of A. In a
    /// comparison of programs, the ratios of results, grouped by name. The names, and the results
    /// of each name, are in the order of A.
    pub results: Vec<Ratio>,
    /// The values that are in A and not in B.
    pub only_in_a: Vec<String>,
    /// The values that are in B and not in A.
    pub only_in_b: Vec<String>,
    /// The values that are in A and in B and have no ratio, because a value is not above 0.
    pub without_ratio: Vec<String>,
}

/// The names of two reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compared {
    /// The name of the report to which ratios are relative. For several runs, it is the name of the
    /// first run and the number of further runs.
    pub a: String,
    /// The name of the report that is compared with A, in the same form.
    pub b: String,
    /// All runs of A.
    pub runs_of_a: Vec<String>,
    /// All runs of B.
    pub runs_of_b: Vec<String>,
}

impl Compared {
    fn has_several(&self) -> bool {
        self.runs_of_a.len().max(self.runs_of_b.len()) > 1
    }
}

/// The machine and the environment of B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Other {
    /// The machine of B.
    pub machine: MachineInfo,
    /// The program and the computer that measured B, and the time.
    pub environment: Environment,
}

/// All measurements and matrices, or all results of a program, in a few numbers, without findings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// The number of measurements, values of matrices or results that have a ratio.
    pub compared: usize,
    /// The geometric mean of the ratios of measurements and matrices, in which the ratio of a rate
    /// is inverted: 1.2 means that B takes 1.2 times as long. `None` without ratios. Results of a
    /// program have no mean.
    pub geometric_mean_ratio: Option<f64>,
    /// The median distance of the ratios from 1: 0.05 means that half of them are within 5 %.
    pub median_deviation: Option<f64>,
    /// The largest distance of a ratio from 1.
    pub largest_deviation: Option<f64>,
    /// The number of values that are faster in B and have intervals in A and B that do not overlap.
    /// The intervals describe only the compared runs: the same machine may be in another state the
    /// next day.
    pub faster: usize,
    /// The number of values that are slower in B and have intervals in A and B that do not overlap.
    pub slower: usize,
    /// The number of other values: their intervals overlap, or an interval is not known.
    pub undecided: usize,
}

/// One value of B divided by that of A.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ratio {
    /// The kind of the value.
    pub kind: RatioKind,
    /// The name of the function, the finding or the result. For a matrix, it is the name of the
    /// primitive that carries the data, such as `mailbox`.
    pub name: String,
    /// The ratio: B divided by A. It is above 0.
    pub value: f64,
    /// The unit: `ratio`.
    pub unit: String,
    /// The parameters of the value, each with its name. Parameters that have no meaning for this
    /// value are left out.
    pub parameters: BTreeMap<String, Value>,
    /// The value in A. For a measurement, it is the median of the samples. For a matrix, it is the
    /// median of the times of the pairs. If several runs of A have the value, it is the median of
    /// the values of these runs.
    pub a: f64,
    /// The value in B.
    pub b: f64,
    /// The range of the runs of A. `None` if only one run has the value.
    pub spread_of_a: Option<Spread>,
    /// The range of the runs of B. `None` if only one run has the value.
    pub spread_of_b: Option<Spread>,
    /// The unit of both values, such as `ns`.
    pub value_unit: String,
    /// The smallest and the largest possible ratio if the true value of A and the true value of B
    /// are both in their intervals. If A has several runs, the interval of A covers the values of
    /// all these runs and their intervals. The same holds for B. `None` if the value in A or the
    /// value in B has no interval.
    pub interval: Option<RatioInterval>,
    /// Whether B differs from A by more than the intervals of both.
    pub verdict: Verdict,
    /// Where the data of a measurement lies, in both A and B. `None` if it differs, for other
    /// values, and in older files.
    #[serde(default)]
    pub lies_in: Option<Storage>,
    /// The smallest slowdown that would have set the intervals apart: 1.2 means that B would have
    /// been slower beyond both intervals from 20 % more time on. `None` without an interval, for
    /// other units than times and rates, and in older files.
    #[serde(default)]
    pub noticeable_slowdown: Option<f64>,
}

/// A range of ratios, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RatioInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Whether a time or a rate of B differs from that of A by more than the intervals. If A and B have
/// one run each, the verdict is about these two runs. A difference between two runs need not be a
/// difference between the machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The intervals of A and B do not overlap, and B takes less time or has a higher rate.
    Faster,
    /// The intervals of A and B do not overlap, and B takes more time or has a lower rate.
    Slower,
    /// The interval contains 1 or is not known, or the unit does not determine the faster side.
    Undecided,
}

impl Comparison {
    /// Compares B with A. Measurements are paired if their functions and parameters are equal.
    /// Findings and results of programs are paired if their names, units and parameters are equal.
    /// Medians of matrices are paired if the parameters of the matrices and the distance of the
    /// SPEs are equal.
    ///
    /// `names` are the names of A and B, such as the names of their files.
    ///
    /// # Errors
    ///
    /// [`CompareError`] if different commands or programs printed the reports, if the reports have
    /// no value in common, or if a value is impossible or appears twice. A measured time must be
    /// above 0. The absolute value of other numbers must be 0, or from 2⁻⁶⁴ to 2⁶⁴.
    pub fn of(a: &Measured, b: &Measured, names: [&str; 2]) -> Result<Self, CompareError> {
        Self::of_runs(&[(names[0], a)], &[(names[1], b)])
    }

    /// Compares the runs of B with the runs of A. Each run has a name. A value of A or B is the
    /// median of its runs. The interval of a value covers the values and intervals of these runs.
    ///
    /// # Errors
    ///
    /// [`CompareError`] like [`of`](Self::of), and also if A or B has no run.
    pub fn of_runs(a: &[(&str, &Measured)], b: &[(&str, &Measured)]) -> Result<Self, CompareError> {
        let (Some((_, first)), Some((_, first_of_b))) = (a.first(), b.first()) else {
            let why = "one side has no run; name a file for each";
            return Err(CompareError(why.to_owned()));
        };
        printed_by(a.iter().chain(b), "run the same command for both")?;
        let ([name_a, name_b], mut notes) = ([a, b].map(name_of), notes_of_runs(a, b));
        let (values_a, values_b) = (values_of_side(a)?, values_of_side(b)?);
        for (name, runs, values) in [(&name_a, a, &values_a), (&name_b, b, &values_b)] {
            let partial = values.iter().filter(|value| value.runs() < runs.len());
            match partial.count() {
                0 => {}
                lacking => notes.push(format!(
                    "Some runs of {name} lack {} that others have.",
                    count(lacking, "value")
                )),
            }
        }
        let mut results = Vec::new();
        let (mut only_in_a, mut without_ratio) = (Vec::new(), Vec::new());
        for value in &values_a {
            match values_b.iter().find(|other| other.is_like(value)) {
                None => only_in_a.push(value.describe()),
                Some(other) => match Ratio::of(value, other) {
                    Some(ratio) => results.push(ratio),
                    None => without_ratio.push(value.describe()),
                },
            }
        }
        let only_in_b: Vec<String> = values_b
            .iter()
            .filter(|value| !values_a.iter().any(|other| other.is_like(value)))
            .map(Compare::describe)
            .collect();
        if results.is_empty() {
            return Err(CompareError(format!(
                "`{name_a}` and `{name_b}` have nothing in common: `{name_a}` has {}, `{name_b}` has {}; run both \
                 with the same flags, and with as many SPEs",
                contents(&values_a),
                contents(&values_b)
            )));
        }
        let envelopes = || {
            let runs = a.iter().chain(b);
            runs.map(|(name, run)| (*name, run.envelope()))
        };
        let (reasons, kinds) = envelopes()
            .flat_map(|(name, envelope)| {
                let reasons = envelope.trust.reasons();
                reasons.map(move |(reason, kind)| (format!("{name}: {reason}"), kind))
            })
            .unzip();
        let (envelope, other) = (first.envelope(), first_of_b.envelope());
        Ok(Self {
            envelope: Envelope {
                // A report without reasons may still be marked as not trustworthy.
                trust: Trust {
                    trustworthy: envelopes().all(|(_, one)| one.trust.trustworthy),
                    reasons,
                    kinds,
                },
                ..Envelope::new(
                    "compare",
                    envelope.machine.clone(),
                    envelope.environment.clone(),
                    Vec::new(),
                    envelopes().all(|(_, one)| one.complete),
                )
            },
            notes,
            compared: Compared {
                a: name_a,
                b: name_b,
                runs_of_a: names_of(a),
                runs_of_b: names_of(b),
            },
            other: Other {
                machine: other.machine.clone(),
                environment: other.environment.clone(),
            },
            summary: Summary::of(&results),
            judgement: None,
            results,
            only_in_a,
            only_in_b,
            without_ratio,
        })
    }
}

/// A time or a rate of a run, or the median of several runs.
pub(crate) struct Exported {
    pub name: String,
    pub unit: String,
    pub is_a_rate: bool,
    pub value: f64,
    /// The interval of the value. For several runs, it covers the intervals of all runs.
    pub interval: Option<(f64, f64)>,
}

/// Returns the times and rates of runs of one command, for other programs. Unless they are those of
/// `stats`, their names begin with the program or the command: other programs have results with the
/// same names.
pub(crate) fn exported(runs: &[(&str, &Measured)]) -> Result<Vec<Exported>, CompareError> {
    let printed_by = printed_by(runs, "export each by itself")?;
    let of = match printed_by.strip_prefix("run ").unwrap_or(&printed_by) {
        "stats" => String::new(),
        program => format!("{program}: "),
    };
    let values = values_of_side(runs)?.into_iter();
    let values = values.filter_map(|value| {
        Some(Exported {
            name: format!("{of}{}", value.describe()),
            is_a_rate: is_a_rate(&value.unit)?,
            unit: value.unit,
            value: value.value,
            interval: value.interval.map(|interval| (interval.low, interval.high)),
        })
    });
    Ok(values.collect())
}

/// Returns the command that printed all runs. If there are several, the error ends with `advice`.
fn printed_by<'r>(
    runs: impl IntoIterator<Item = &'r (&'r str, &'r Measured)>,
    advice: &str,
) -> Result<String, CompareError> {
    let mut runs = runs.into_iter();
    let Some((first, run)) = runs.next() else {
        return Ok(String::new());
    };
    let command = run.printed_by();
    match runs.find(|(_, other)| other.printed_by() != command) {
        None => Ok(command),
        Some((name, other)) => Err(CompareError(format!(
            "`{first}` is what `cellworks {command}` printed, `{name}` what `cellworks {}` printed: they measure \
             different things; {advice}",
            other.printed_by()
        ))),
    }
}

fn names_of(runs: &[(&str, &Measured)]) -> Vec<String> {
    runs.iter().map(|(name, _)| (*name).to_owned()).collect()
}

fn name_of(runs: &[(&str, &Measured)]) -> String {
    match runs {
        [(name, _)] => (*name).to_owned(),
        runs => format!("{} and {} more", runs[0].0, runs.len() - 1),
    }
}

impl Ratio {
    /// Returns the name and the parameters in one line, such as `mailbox (cell=0, spes=1)`.
    pub fn describe(&self) -> String {
        described(self.kind, &self.name, &self.parameters)
    }

    /// Returns the slowdown of B, which is above 1 if B is slower. Returns `None` if the unit is
    /// neither a time nor a rate.
    fn slowdown(&self) -> Option<f64> {
        let slowdown = if is_a_rate(&self.value_unit)? {
            1.0 / self.value
        } else {
            self.value
        };
        Some(slowdown)
    }

    /// Divides B by A. Returns `None` if A or B is not above 0.
    fn of(a: &Compare, b: &Compare) -> Option<Self> {
        let quotient = |b: f64, a: f64| {
            let ratio = b / a;
            (a > 0.0 && b > 0.0 && ratio.is_finite() && ratio > 0.0).then_some(ratio)
        };
        let value = quotient(b.value, a.value)?;
        let interval = a.interval.zip(b.interval).and_then(|(a, b)| {
            Some(RatioInterval {
                low: quotient(b.low, a.high)?,
                high: quotient(b.high, a.low)?,
            })
        });
        Some(Self {
            kind: a.kind,
            name: a.name.clone(),
            value,
            unit: "ratio".to_owned(),
            parameters: a.parameters.clone(),
            a: a.value,
            b: b.value,
            spread_of_a: a.spread,
            spread_of_b: b.spread,
            value_unit: a.unit.clone(),
            interval,
            verdict: verdict(interval, is_a_rate(&a.unit)),
            lies_in: a.lies_in.filter(|_| a.lies_in == b.lies_in),
            noticeable_slowdown: noticeable(a, b),
        })
    }
}

/// Returns the slowdown from which on the intervals of A and B would have been apart, if the
/// interval of a slower B had been as wide, in relation to its value, as that of B.
fn noticeable(a: &Compare, b: &Compare) -> Option<f64> {
    let (of_a, of_b) = a.interval.zip(b.interval)?;
    let slowdown = if is_a_rate(&a.unit)? {
        (a.value / of_a.low) * (of_b.high / b.value)
    } else {
        (of_a.high / a.value) * (b.value / of_b.low)
    };
    slowdown.is_finite().then_some(slowdown.max(1.0))
}

/// Returns true for the unit of a rate, false for the unit of a time, and `None` for other units.
fn is_a_rate(unit: &str) -> Option<bool> {
    match unit {
        "ns" | "us" | "s" | "cycles" => Some(false),
        rate if rate.ends_with("/s") => Some(true),
        _ => None,
    }
}

fn verdict(interval: Option<RatioInterval>, is_a_rate: Option<bool>) -> Verdict {
    let (Some(interval), Some(is_a_rate)) = (interval, is_a_rate) else {
        return Verdict::Undecided;
    };
    let (less, more) = if is_a_rate {
        (Verdict::Slower, Verdict::Faster)
    } else {
        (Verdict::Faster, Verdict::Slower)
    };
    match interval {
        RatioInterval { high, .. } if high < 1.0 => less,
        RatioInterval { low, .. } if low > 1.0 => more,
        _ => Verdict::Undecided,
    }
}

impl Summary {
    fn of(results: &[Ratio]) -> Self {
        let all = || {
            results
                .iter()
                .filter(|ratio| ratio.kind != RatioKind::Finding)
        };
        let number = |verdict| all().filter(|ratio| ratio.verdict == verdict).count();
        let slowdowns = || {
            let measured = all().filter(|ratio| ratio.kind != RatioKind::Result);
            measured.filter_map(Ratio::slowdown)
        };
        let logarithms: f64 = slowdowns().map(f64::ln).sum();
        let measurements = slowdowns().count();
        let mut deviations: Vec<f64> = all().map(|ratio| (ratio.value - 1.0).abs()).collect();
        deviations.sort_by(f64::total_cmp);
        Self {
            compared: all().count(),
            geometric_mean_ratio: (measurements > 0)
                .then(|| (logarithms / measurements as f64).exp()),
            median_deviation: median(&deviations),
            largest_deviation: deviations.last().copied(),
            faster: number(Verdict::Faster),
            slower: number(Verdict::Slower),
            undecided: number(Verdict::Undecided),
        }
    }
}

/// Returns possible reasons why A and B differ, and why the runs within A or within B differ.
fn notes_of_runs(a: &[(&str, &Measured)], b: &[(&str, &Measured)]) -> Vec<String> {
    let mut notes = differences_from(&a[0], &b[..1]);
    notes.extend(differences_from(&a[0], &a[1..]));
    notes.extend(differences_from(&b[0], &b[1..]));
    notes.extend(other_state(&a[0], &b[0]));
    let all = a.iter().chain(b);
    notes.extend(all.flat_map(|(name, run)| doubts(run.envelope(), name)));
    notes
}

/// Returns a sentence if the same computer was in different states during two runs.
fn other_state(a: &(&str, &Measured), b: &(&str, &Measured)) -> Option<String> {
    let (Measured::Stats(in_a), Measured::Stats(in_b)) = (a.1, b.1) else {
        return None;
    };
    let (reference_a, reference_b) = (in_a.reference.as_ref()?, in_b.reference.as_ref()?);
    let is_one_computer =
        in_a.envelope.machine == in_b.envelope.machine && reference_a.spes == reference_b.spes;
    let usual = |states: &[State]| {
        let usual = states.iter().max_by(|a, b| a.share.total_cmp(&b.share))?;
        Some(usual.ns)
    };
    let differ = |what: &str, in_a: &[State], in_b: &[State]| {
        let (ns_a, ns_b) = (usual(in_a)?, usual(in_b)?);
        let is_far = ns_a > ns_b * STATES_RATIO_MIN || ns_b > ns_a * STATES_RATIO_MIN;
        is_far.then(|| {
            format!(
                "{what} took {} in {} and {} in {}",
                time(ns_a),
                a.0,
                time(ns_b),
                b.0
            )
        })
    };
    let [first, second] = reference_a.spes;
    let exchange = differ("an exchange", &reference_a.exchange, &reference_b.exchange);
    let line = differ("a cache line", &reference_a.line, &reference_b.line);
    let both: Vec<String> = exchange.into_iter().chain(line).collect();
    (is_one_computer && !both.is_empty()).then(|| {
        format!(
            "The two were taken in different states of the computer: between SPE {first} and SPE {second} {}. What \
             differs as much may come from that; measure both again, in turns.",
            both.join(", and ")
        )
    })
}

/// Returns what differs between the machine and circumstances of `first` and those of each of
/// `others`, in sentences.
pub(crate) fn differences_from(
    first: &(&str, &Measured),
    others: &[(&str, &Measured)],
) -> Vec<String> {
    let (name, run) = first;
    let each = others.iter();
    each.flat_map(|(other, another)| {
        differences(run.envelope(), another.envelope(), [*name, *other])
    })
    .collect()
}

fn differences(a: &Envelope, b: &Envelope, names: [&str; 2]) -> Vec<String> {
    let [name_a, name_b] = names;
    let mut notes = Vec::new();
    let mut differ = |what: &str, of: &dyn Fn(&Envelope) -> String| {
        let [in_a, in_b] = [of(a), of(b)];
        if in_a != in_b {
            notes.push(format!(
                "{what} differ: {in_a} in {name_a}, {in_b} in {name_b}."
            ));
        }
    };
    differ("Machines", &|of| {
        format!("{} ({})", of.machine.name, of.machine.kind)
    });
    differ("Numbers of SPEs", &|of| of.machine.spes.to_string());
    differ("Numbers of Cells", &|of| of.machine.cells.len().to_string());
    differ("Numbers of memory modules", &|of| {
        of.machine.memory_modules.to_string()
    });
    if !is_real(a) && !is_real(b) {
        differ("Simulations", &|of| {
            let simulation = of.machine.simulation.as_ref();
            simulation.map_or_else(String::new, crate::text::simulation)
        });
    }
    // The results of a simulation do not depend on the computer that simulates.
    if is_real(a) && is_real(b) {
        differ("Operating systems", &|of| {
            let e = &of.environment;
            let kernel = e.kernel.as_deref().unwrap_or("of unknown release");
            format!("{} {kernel} on {}", e.operating_system, e.architecture)
        });
        differ("Frequency governors", &|of| match &of.environment.host {
            Some(host) if !host.governors.is_empty() => host.governors.join(" and "),
            _ => "unknown".to_owned(),
        });
        differ("CPU quotas", &|of| {
            let quota = of
                .environment
                .host
                .as_ref()
                .and_then(|host| host.quota_cpus);
            quota.map_or_else(|| "none".to_owned(), crate::text::quota)
        });
    }
    differ("Versions of cellworks", &|of| {
        of.environment.cellworks_version.clone()
    });
    notes
}

fn doubts(envelope: &Envelope, name: &str) -> Vec<String> {
    let mut doubts = Vec::new();
    if envelope.environment.build == "debug" && is_real(envelope) {
        doubts.push(format!(
            "{name} was measured by a debug build, whose times mean little."
        ));
    }
    if !envelope.trust.trustworthy {
        let reasons = envelope.trust.reasons.join("; ");
        let reasons = reasons.strip_suffix('.').unwrap_or(&reasons);
        doubts.push(format!("{name} is not trustworthy: {reasons}."));
    }
    if !envelope.complete {
        doubts.push(format!("{name} is not complete: its run ended early."));
    }
    doubts
}

fn is_real(envelope: &Envelope) -> bool {
    envelope.machine.simulation.is_none()
}

#[cfg(test)]
mod tests;
