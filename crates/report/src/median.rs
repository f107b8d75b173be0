//! The middle of numbers.

/// The median of sorted numbers. For an even number of them, it is the mean of the two in the
/// middle.
pub(crate) fn median(sorted: &[f64]) -> Option<f64> {
    let (low, high) = (sorted.len().checked_sub(1)? / 2, sorted.len() / 2);
    Some((sorted[low] + sorted[high]) / 2.0)
}
