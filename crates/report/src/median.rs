/// Returns the median of sorted numbers: the middle number, or the mean of the two middle numbers.
pub(crate) fn median(sorted: &[f64]) -> Option<f64> {
    let (low, high) = (sorted.len().checked_sub(1)? / 2, sorted.len() / 2);
    Some((sorted[low] + sorted[high]) / 2.0)
}
