//! Sizes in bytes as text, for messages and results.

const UNITS: [&str; 4] = ["B", "KB", "MB", "GB"];

/// Returns the text of a size in the largest unit that gives a whole number.
///
/// ```
/// use cellworks_machine::sizes::size;
/// assert_eq!([128, 1_040, 16_384, 1 << 30].map(size), ["128 B", "1040 B", "16 KB", "1 GB"]);
/// ```
pub fn size(bytes: usize) -> String {
    let (number, unit) = divided(bytes);
    format!("{number} {}", UNITS[unit])
}

/// Returns the text of [`size`] with "bytes" written out, for sentences.
///
/// ```
/// use cellworks_machine::sizes::in_words;
/// assert_eq!([1, 1_040, 16_384].map(in_words), ["1 byte", "1040 bytes", "16 KB"]);
/// ```
pub fn in_words(bytes: usize) -> String {
    match divided(bytes) {
        (1, 0) => "1 byte".to_owned(),
        (number, 0) => format!("{number} bytes"),
        (number, unit) => format!("{number} {}", UNITS[unit]),
    }
}

/// Returns the text of a size for command-line flags.
///
/// ```
/// use cellworks_machine::sizes::in_flags;
/// assert_eq!([128, 1_040, 16_384, 1 << 30].map(in_flags), ["128", "1040", "16k", "1g"]);
/// ```
pub fn in_flags(bytes: usize) -> String {
    let (number, unit) = divided(bytes);
    format!("{number}{}", ["", "k", "m", "g"][unit])
}

/// Returns the text of [`in_words`] if its number is less than 10,000. Otherwise returns the size
/// in the largest possible unit, rounded down to a tenth of this unit.
///
/// ```
/// use cellworks_machine::sizes::rounded;
/// assert_eq!([65_536, 4_096_000, 8_192_123].map(rounded), ["64 KB", "4000 KB", "7.8 MB"]);
/// ```
pub fn rounded(bytes: usize) -> String {
    if divided(bytes).0 < 10_000 {
        return in_words(bytes);
    }
    let unit = (bytes.ilog2() as usize / 10).min(UNITS.len() - 1);
    let of: usize = 1 << (10 * unit);
    let tenths = bytes % of * 10 / of;
    format!("{}.{tenths} {}", bytes / of, UNITS[unit])
}

/// Returns a size as a whole number of its largest unit, and the index of this unit.
fn divided(bytes: usize) -> (usize, usize) {
    let fits = |unit: &usize| bytes >= 1 << (10 * unit) && bytes.is_multiple_of(1 << (10 * unit));
    let unit = (1..UNITS.len()).rev().find(fits).unwrap_or(0);
    (bytes >> (10 * unit), unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_the_largest_unit_that_divides_them() {
        let sizes = [0, 1, 128, 1_024, 1_040, 16_384, 64 << 20, 5 << 40];
        assert_eq!(
            sizes.map(size),
            [
                "0 B", "1 B", "128 B", "1 KB", "1040 B", "16 KB", "64 MB", "5120 GB"
            ]
        );
        assert_eq!(
            sizes.map(in_flags),
            ["0", "1", "128", "1k", "1040", "16k", "64m", "5120g"]
        );
    }

    #[test]
    fn sizes_with_many_digits_are_rounded_down() {
        assert_eq!(
            [0, 9_999, 10_001, 512_000_000, (20 << 30) - 1, usize::MAX].map(rounded),
            [
                "0 bytes",
                "9999 bytes",
                "9.7 KB",
                "488.2 MB",
                "19.9 GB",
                "17179869183.9 GB"
            ]
        );
    }
}
