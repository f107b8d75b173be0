//! Two reports of one kind side by side: two machines, or two days of one.
//!
//! ```text
//!   A.json ── read ──► Measured ─┐                             ┌─► table, csv, html   for people
//!                                ├─► Comparison: ratios B / A ─┤
//!   B.json ── read ──► Measured ─┘   of what is in both        └─► json::render       for scripts
//! ```

mod page;
mod values;
mod views;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::median::median;
use crate::{Envelope, Environment, MachineInfo, Measured, Trust};

use values::{Compare, contents, described, listed, values_of};

pub use page::html;
#[cfg(test)]
pub(crate) use views::CSV_HEADER;
pub use views::{csv, table};

/// What two reports have in common, as ratios of B to A.
///
/// `machine` and `environment` are those of A, because A is what B is compared with; those of B are
/// in `other`. `trust` and `complete` hold if they hold for both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// What all results have in common.
    #[serde(flatten)]
    pub envelope: Envelope,
    /// What the reports are called, such as the names of their files.
    pub compared: Compared,
    /// The machine and the circumstances of B.
    pub other: Other,
    /// What differs between the circumstances and may explain differences between the numbers, in
    /// sentences.
    pub notes: Vec<String>,
    /// All measurements, or results of a program, in a few numbers.
    pub summary: Summary,
    /// The ratios: of measurements, then of findings, then of matrices, each in the order of A; or
    /// of the results of a program, by name in the order of A.
    pub results: Vec<Ratio>,
    /// What is in A and not in B.
    pub only_in_a: Vec<String>,
    /// What is in B and not in A.
    pub only_in_b: Vec<String>,
    /// What is in both and has no ratio, because a value is not above 0.
    pub without_ratio: Vec<String>,
}

/// What two reports are called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// What ratios are relative to.
    pub a: String,
    /// What is compared with it.
    pub b: String,
}

/// Where B comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Other {
    /// The machine of B.
    pub machine: MachineInfo,
    /// What measured B, and when.
    pub environment: Environment,
}

/// All measurements in a few numbers, or all results of a program. Findings and matrices are not in
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// How many measurements or results have a ratio.
    pub compared: usize,
    /// The geometric mean of the ratios of measurements; `None` if there is none. Results of a
    /// program have none: some of them are better when larger.
    pub geometric_mean_ratio: Option<f64>,
    /// The median of how far their ratios are from 1: 0.05 says that half of them agree within 5 %.
    pub median_deviation: Option<f64>,
    /// The largest distance of a ratio from 1.
    pub largest_deviation: Option<f64>,
    /// How many are faster in B, and the intervals of A and B do not overlap. An interval is of one
    /// run: the same machine may be in another state the next day.
    pub faster: usize,
    /// How many are slower in B, and the intervals do not overlap.
    pub slower: usize,
    /// How many are neither: the intervals overlap, or one is not known.
    pub undecided: usize,
}

/// One value of B divided by that of A.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// What is compared.
    pub kind: Kind,
    /// The function, the finding, the result, or what carries data in the matrix.
    pub name: String,
    /// B divided by A; above 0.
    pub value: f64,
    /// `ratio`.
    pub unit: String,
    /// Under which circumstances: names and values. What has no meaning is not there.
    pub parameters: BTreeMap<String, Value>,
    /// The value in A: the median, if it is a time.
    pub a: f64,
    /// The value in B.
    pub b: f64,
    /// The unit of both values, such as `ns`.
    pub value_unit: String,
    /// From the least to the most that the ratio is if both medians are in their intervals. `None`
    /// if one of them has no interval.
    pub interval: Option<RatioInterval>,
    /// Whether B differs from A by more than the intervals of both.
    pub verdict: Verdict,
}

/// Of what a ratio is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The medians of a measurement.
    Measurement,
    /// The values of a finding.
    Finding,
    /// The medians of the pairs of SPEs at one distance.
    Matrix,
    /// The values of a result of a program.
    Result,
}

/// A range of ratios, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RatioInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Whether a time of B differs from that of A by more than their intervals. These are of one run
/// each, so this is about two runs, and not yet about two machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The whole interval is below 1: those of A and B do not overlap.
    Faster,
    /// The whole interval is above 1: those of A and B do not overlap.
    Slower,
    /// The interval has 1 in it, or there is none.
    Undecided,
}

/// Two reports cannot be compared. The message names them and says why, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CompareError(String);

impl Comparison {
    /// Compares B with A. Measurements belong together if function and parameters are equal,
    /// findings and results of programs if name, unit and parameters are, and matrices by what
    /// carries the data, how, from where, and the class of the pairs.
    ///
    /// `names` are what A and B are called, such as the names of their files.
    ///
    /// # Errors
    ///
    /// [`CompareError`] if different commands or programs printed them, nothing is in both, or a
    /// report has a number twice or one that cannot be true: a measured time of 0 or less, or
    /// anything beyond 2⁶⁴.
    pub fn of(a: &Measured, b: &Measured, names: [&str; 2]) -> Result<Self, CompareError> {
        let [name_a, name_b] = names.map(str::to_owned);
        let (of_a, of_b) = (a.printed_by(), b.printed_by());
        if of_a != of_b {
            return Err(CompareError(format!(
                "`{name_a}` is what `cellworks {of_a}` printed, `{name_b}` what `cellworks {of_b}` printed: they \
                 measure different things; run the same command for both"
            )));
        }
        let (values_a, values_b) = (values_of(a, &name_a)?, values_of(b, &name_b)?);
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
        let (a, b) = (a.envelope(), b.envelope());
        if results.is_empty() {
            return Err(CompareError(format!(
                "`{name_a}` and `{name_b}` have nothing in common: `{name_a}` has {}, `{name_b}` has {}; run both \
                 with the same flags, and with as many SPEs",
                contents(&values_a),
                contents(&values_b)
            )));
        }
        let (reasons, kinds) = [(&name_a, a), (&name_b, b)]
            .into_iter()
            .flat_map(|(name, envelope)| {
                let reasons = envelope.trust.reasons();
                reasons.map(move |(reason, kind)| (format!("{name}: {reason}"), kind))
            })
            .unzip();
        Ok(Self {
            envelope: Envelope {
                // A report may doubt its numbers without a reason.
                trust: Trust {
                    trustworthy: a.trust.trustworthy && b.trust.trustworthy,
                    reasons,
                    kinds,
                },
                ..Envelope::new(
                    "compare",
                    a.machine.clone(),
                    a.environment.clone(),
                    Vec::new(),
                    a.complete && b.complete,
                )
            },
            notes: notes(a, b, names),
            compared: Compared {
                a: name_a,
                b: name_b,
            },
            other: Other {
                machine: b.machine.clone(),
                environment: b.environment.clone(),
            },
            summary: Summary::of(&results),
            results,
            only_in_a,
            only_in_b,
            without_ratio,
        })
    }

    /// The ratios that have a slower side, with how many times as slow B is: those of measurements,
    /// matrices and results of programs that are times, cycles or rates. A finding follows from
    /// measurements, and is not among them.
    pub fn slowdowns(&self) -> impl Iterator<Item = (&Ratio, f64)> {
        let judged = self
            .results
            .iter()
            .filter(|ratio| ratio.kind != Kind::Finding);
        judged.filter_map(|ratio| Some((ratio, ratio.slowdown()?)))
    }

    /// Those of [`slowdowns`](Self::slowdowns) in which B takes more than `1 + share` times as long
    /// as A, or gets done less than A divided by that. Where intervals are known, they must not
    /// overlap.
    pub fn slower_by(&self, share: f64) -> impl Iterator<Item = (&Ratio, f64)> {
        let is_certain =
            |ratio: &Ratio| ratio.interval.is_none() || ratio.verdict == Verdict::Slower;
        self.slowdowns()
            .filter(move |(ratio, slowdown)| *slowdown > 1.0 + share && is_certain(ratio))
    }
}

impl Ratio {
    /// Name and circumstances in one line, such as `mailbox (cell=0, spes=1)`.
    pub fn describe(&self) -> String {
        described(self.kind, &self.name, &self.parameters)
    }

    /// How many times as slow B is; `None` if its unit does not say which side is slower.
    fn slowdown(&self) -> Option<f64> {
        match self.value_unit.as_str() {
            "ns" | "us" | "s" | "cycles" => Some(self.value),
            rate if rate.ends_with("/s") => Some(1.0 / self.value),
            _ => None,
        }
    }

    /// B divided by A; `None` unless both are above 0.
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
            value_unit: a.unit.clone(),
            interval,
            verdict: match interval {
                Some(interval) if interval.high < 1.0 => Verdict::Faster,
                Some(interval) if interval.low > 1.0 => Verdict::Slower,
                _ => Verdict::Undecided,
            },
        })
    }
}

impl Summary {
    fn of(results: &[Ratio]) -> Self {
        let of = |kind| results.iter().filter(move |ratio| ratio.kind == kind);
        let all = || of(Kind::Measurement).chain(of(Kind::Result));
        let number = |verdict| all().filter(|ratio| ratio.verdict == verdict).count();
        let measurements = of(Kind::Measurement).count();
        let logarithms: f64 = of(Kind::Measurement).map(|ratio| ratio.value.ln()).sum();
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

/// What may explain that numbers differ.
fn notes(a: &Envelope, b: &Envelope, names: [&str; 2]) -> Vec<String> {
    let [name_a, name_b] = names;
    let mut notes = Vec::new();
    let mut differ = |what: &str, in_a: String, in_b: String| {
        if in_a != in_b {
            notes.push(format!(
                "{what} differ: {in_a} in {name_a}, {in_b} in {name_b}."
            ));
        }
    };
    let (machine_a, machine_b) = (&a.machine, &b.machine);
    let machine = |m: &MachineInfo| format!("{} ({})", m.name, m.kind);
    differ("Machines", machine(machine_a), machine(machine_b));
    let number = |number: usize| number.to_string();
    differ(
        "Numbers of SPEs",
        number(machine_a.spes),
        number(machine_b.spes),
    );
    let cells = |m: &MachineInfo| number(m.cells.len());
    differ("Numbers of Cells", cells(machine_a), cells(machine_b));
    let modules = |m: &MachineInfo| number(m.memory_modules);
    differ(
        "Numbers of memory modules",
        modules(machine_a),
        modules(machine_b),
    );
    let simulation = |m: &MachineInfo| m.simulation.as_ref().map(crate::text::simulation);
    if let (Some(in_a), Some(in_b)) = (simulation(machine_a), simulation(machine_b)) {
        differ("Simulations", in_a, in_b);
    }
    let (env_a, env_b) = (&a.environment, &b.environment);
    let is_real = |envelope: &Envelope| envelope.machine.simulation.is_none();
    let system = |e: &Environment| {
        let kernel = e.kernel.as_deref().unwrap_or("of unknown release");
        format!("{} {kernel} on {}", e.operating_system, e.architecture)
    };
    let governors = |e: &Environment| match &e.host {
        Some(host) if !host.governors.is_empty() => host.governors.join(" and "),
        _ => "unknown".to_owned(),
    };
    let quota = |e: &Environment| match e.host.as_ref().and_then(|host| host.quota_cpus) {
        Some(cpus) => crate::text::quota(cpus),
        None => "none".to_owned(),
    };
    // What a simulation says does not depend on the computer that runs it.
    if is_real(a) && is_real(b) {
        differ("Operating systems", system(env_a), system(env_b));
        differ("Frequency governors", governors(env_a), governors(env_b));
        differ("CPU quotas", quota(env_a), quota(env_b));
    }
    let version = |e: &Environment| e.cellworks_version.clone();
    differ("Versions of cellworks", version(env_a), version(env_b));
    for (name, envelope) in [(name_a, a), (name_b, b)] {
        if envelope.environment.build == "debug" && is_real(envelope) {
            notes.push(format!(
                "{name} was measured by a debug build, whose times mean little."
            ));
        }
        if !envelope.trust.trustworthy {
            let reasons = envelope.trust.reasons.join("; ");
            let reasons = reasons.strip_suffix('.').unwrap_or(&reasons);
            notes.push(format!("{name} is not trustworthy: {reasons}."));
        }
        if !envelope.complete {
            notes.push(format!("{name} is not complete: its run ended early."));
        }
    }
    notes
}

#[cfg(test)]
mod tests;
