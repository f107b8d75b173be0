//! Summarizes the timed loops of a measurement, and refuses an impossible result.

use super::outcome::Outcome;
use crate::error::{Impossible, MeasureError};
use crate::plan::{Plan, Timed};
use crate::report::Measurement;
use crate::sample::Samples;
use crate::state::lasting;

pub(super) fn summarize(plan: &Plan, outcome: &Outcome) -> Result<Measurement, MeasureError> {
    let samples = Samples::of(&outcome.loops, outcome.operations_per_iteration);
    let (latency_ns, outliers) = samples.latency();
    let measurement = Measurement {
        function: plan.function(),
        parameters: plan.parameters().clone(),
        iterations: samples.iterations(),
        rounds: samples.rounds() as u32,
        samples: samples.count(),
        outliers,
        latency_ns,
        median_interval_ns: match plan.pace.timed {
            Timed::Steady(_) => samples.range_of_rounds(&plan.pace.earlier, latency_ns.p50),
            _ => samples.median_interval(&plan.pace.earlier, latency_ns.p50),
        },
        bandwidth_bytes_per_s: samples.bandwidth_bytes_per_s(outcome.bytes_per_iteration),
        samples_ns: plan.keep_samples.then(|| samples.all_ns()),
        // No states for several loops: the slowest SPE runs alone at the end of a round, so its
        // samples can have two peaks although the computer had one state.
        states: match outcome.loops.len() {
            1 if !plan.capabilities().is_steady => lasting(&samples.all_ns()),
            _ => Vec::new(),
        },
        shared_cpu: plan.shared_cpu.clone(),
        lies_in: None,
        bare_ns: bare_ns(outcome),
        huge_page_share: outcome.huge_page_share,
        doubts: Vec::new(),
    };
    check_times(&measurement)?;
    check_bandwidth(
        &measurement,
        outcome.loops.len(),
        plan.bandwidth_bytes_per_s_max,
    )?;
    Ok(measurement)
}

/// Returns the median of the processor's own instruction, if it was timed and the clock advanced.
fn bare_ns(outcome: &Outcome) -> Option<f64> {
    let is_timed = !outcome.bare.is_empty();
    let bare = is_timed.then(|| Samples::of(&outcome.bare, 1).latency().0.p50);
    bare.filter(|ns| *ns > 0.0)
}

pub(super) fn check_times(measurement: &Measurement) -> Result<(), Impossible> {
    let function = measurement.function;
    let latency = measurement.latency_ns;
    for (statistic, ns) in [("mean", latency.mean), ("median", latency.p50)] {
        if !ns.is_finite() || ns <= 0.0 {
            return Err(Impossible::time(function, statistic, ns));
        }
    }
    let ascending = [latency.min, latency.p50, latency.p99, latency.max];
    if !ascending.is_sorted() {
        return Err(Impossible::order(function, latency));
    }
    Ok(())
}

/// Refuses a bandwidth of more than `max` for each of `spes` SPEs.
fn check_bandwidth(
    measurement: &Measurement,
    spes: usize,
    max: Option<u64>,
) -> Result<(), Impossible> {
    let (Some(bytes_per_s), Some(max)) = (measurement.bandwidth_bytes_per_s, max) else {
        return Ok(());
    };
    let together = max.saturating_mul(spes as u64);
    if bytes_per_s <= together {
        return Ok(());
    }
    let function = measurement.function;
    Err(Impossible::bandwidth(function, bytes_per_s, spes, together))
}
