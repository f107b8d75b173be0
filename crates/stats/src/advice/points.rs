//! Times and bandwidths at sizes, of which advice compares the best.

use super::value::Value;
use crate::figures::bandwidth;
use crate::report::Measurement;

/// The share of the best bandwidth that is near enough to it.
pub(super) const NEARLY_BEST: f64 = 0.9;

/// A time or a bandwidth, at a size in bytes or at a number of something.
pub(super) type Point = (usize, Value);

/// The first with the least value.
///
/// # Panics
///
/// If there is no point.
pub(super) fn least(points: &[Point]) -> Point {
    *points
        .iter()
        .min_by(|a, b| a.1.is.total_cmp(&b.1.is))
        .expect("at least one point")
}

/// The first with the greatest value.
///
/// # Panics
///
/// If there is no point.
pub(super) fn most(points: &[Point]) -> Point {
    // `max_by` would take the last of equal ones.
    *points
        .iter()
        .rev()
        .max_by(|a, b| a.1.is.total_cmp(&b.1.is))
        .expect("at least one point")
}

/// How much of the best a value is, in percent.
pub(super) fn share(value: Value, best: Value) -> String {
    format!("{:.0} %", 100.0 * value.is / best.is)
}

pub(super) fn rate(bytes_per_s: Value) -> String {
    bandwidth(bytes_per_s.is as u64)
}

pub(super) fn block(measurement: &Measurement) -> Option<usize> {
    measurement.parameters.settings.block_bytes
}
