//! Points of curves: times and bandwidths for different sizes of blocks, or for different counts.

use super::value::Value;
use crate::figures::bandwidth;
use crate::report::Measurement;

/// A bandwidth counts as nearly the best if it is at least this share of the best bandwidth.
pub(super) const NEARLY_BEST: f64 = 0.9;

/// A size, a count or an index, with its time or bandwidth.
pub(super) type Point = (usize, Value);

/// Returns the first of the points with the least value. There must be a point.
pub(super) fn least(points: &[Point]) -> Point {
    *points
        .iter()
        .min_by(|a, b| a.1.is.total_cmp(&b.1.is))
        .expect("at least one point")
}

/// Returns the first of the points with the greatest value. There must be a point.
pub(super) fn most(points: &[Point]) -> Point {
    *points
        .iter()
        .rev()
        .max_by(|a, b| a.1.is.total_cmp(&b.1.is))
        .expect("at least one point")
}

pub(super) fn share(value: Value, best: Value) -> String {
    format!("{:.0} %", 100.0 * value.is / best.is)
}

pub(super) fn rate(bytes_per_s: Value) -> String {
    bandwidth(bytes_per_s.is as u64)
}

pub(super) fn block(measurement: &Measurement) -> Option<usize> {
    measurement.parameters.settings.block_bytes
}
