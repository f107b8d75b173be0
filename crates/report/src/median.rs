/// Returns the median of sorted numbers. For an even count it is the mean of the middle numbers.
pub(crate) fn median(sorted: &[f64]) -> Option<f64> {
    let (low, high) = (sorted.len().checked_sub(1)? / 2, sorted.len() / 2);
    Some((sorted[low] + sorted[high]) / 2.0)
}
