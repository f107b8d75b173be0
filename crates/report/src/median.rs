//! The median of numbers.

/// The median of sorted numbers. If two numbers are in the middle, it is their mean.
pub(crate) fn median(sorted: &[f64]) -> Option<f64> {
    let (low, high) = (sorted.len().checked_sub(1)? / 2, sorted.len() / 2);
    Some((sorted[low] + sorted[high]) / 2.0)
}
