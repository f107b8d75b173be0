//! Formats sizes, times and ratios for people, with units and three figures.

pub use cellworks_machine::sizes::size;

/// Formats a time in nanoseconds with three figures, in the unit that fits.
///
/// ```
/// assert_eq!(cellworks_stats::figures::time(1_680_000.0), "1.68 ms");
/// ```
pub fn time(ns: f64) -> String {
    scaled(ns, &[(1e0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")])
}

/// Formats a number of bytes per second in units that are powers of 1,000, as in the paper.
///
/// ```
/// assert_eq!(cellworks_stats::figures::bandwidth(24_600_000_000), "24.6 GB/s");
/// ```
pub fn bandwidth(bytes_per_s: u64) -> String {
    scaled(
        bytes_per_s as f64,
        &[(1e0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s")],
    )
}

/// Formats a number without a unit, such as a ratio, rounded to three figures.
///
/// ```
/// use cellworks_stats::figures::plain;
/// assert_eq!([0.98, 3.731, 15.96, 2_154.0].map(plain), ["0.98", "3.73", "16.0", "2,150"]);
/// ```
pub fn plain(number: f64) -> String {
    let mut step = 1.0;
    while number / step >= 999.5 && number.is_finite() {
        step *= 10.0;
    }
    if step == 1.0 {
        let decimals = decimals(number);
        return format!("{number:.decimals$}");
    }
    thousands(&format!("{:.0}", (number / step).round() * step))
}

/// Formats a whole number, which may be negative, with commas between thousands.
///
/// ```
/// assert_eq!(cellworks_stats::figures::thousands("-1234567"), "-1,234,567");
/// ```
pub fn thousands(number: &str) -> String {
    let digits = number.trim_start_matches('-');
    let mut grouped = number[..number.len() - digits.len()].to_owned();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    // A value such as 999.5 would be rounded to 1000, so it is written in the next unit.
    let (factor, unit) = units
        .iter()
        .rev()
        .find(|(factor, _)| value >= factor * 0.9995)
        .unwrap_or(&units[0]);
    let value = value / factor;
    let decimals = decimals(value);
    format!("{value:.decimals$} {unit}")
}

fn decimals(value: f64) -> usize {
    match value {
        _ if value < 9.995 => 2,
        _ if value < 99.95 => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_figures_and_a_unit() {
        let times = [
            0.5,
            9.994,
            9.996,
            99.96,
            999.4,
            999.6,
            1_680_000.0,
            2.5e9,
            1.0e12,
        ];
        let expected = [
            "0.50 ns", "9.99 ns", "10.0 ns", "100 ns", "999 ns", "1.00 us", "1.68 ms", "2.50 s",
            "1000 s",
        ];
        assert_eq!(times.map(time), expected);
        assert_eq!(bandwidth(24_600_000_000), "24.6 GB/s");
        assert_eq!(bandwidth(0), "0.00 B/s");
        assert_eq!(
            [1, 128, 1_024, 1_040, 16_384, 64 << 20].map(size),
            ["1 B", "128 B", "1 KB", "1040 B", "16 KB", "64 MB"]
        );
        assert_eq!(
            [0.0, 0.5, 9.996, 99.96, 999.4, 999.6, 12_345.0, 2e6].map(plain),
            [
                "0.00",
                "0.50",
                "10.0",
                "100",
                "999",
                "1,000",
                "12,300",
                "2,000,000"
            ]
        );
    }
}
