//! How names, sizes and times are written, the same in every view.

use anstyle::Style;
use cellworks_stats::{Between, Buffers, Function, Parameters};

/// Titles in tables.
pub(crate) const TITLE: Style = Style::new().bold();

/// One measurement in a few words, for progress and errors.
pub fn title(function: Function, parameters: &Parameters) -> String {
    let Parameters {
        spes, block_bytes, ..
    } = parameters;
    let block = block_bytes
        .map(|bytes| format!(" {}", size(bytes)))
        .unwrap_or_default();
    let noun = if *spes == 1 { "SPE" } else { "SPEs" };
    format!("{function}{block}, {spes} {noun}")
}

/// The names of enum values, as JSON has them.
pub(crate) const fn between(between: Between) -> &'static str {
    match between {
        Between::PpeSpe => "ppe-spe",
        Between::SpeSpe => "spe-spe",
        Between::MemorySpe => "memory-spe",
    }
}

pub(crate) const fn buffers(buffers: Buffers) -> &'static str {
    match buffers {
        Buffers::Shared => "shared",
        Buffers::Private => "private",
    }
}

/// A size in the largest unit that divides it.
pub fn size(bytes: usize) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MB", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KB", bytes >> 10),
        _ => format!("{bytes} B"),
    }
}

/// Nanoseconds with three figures, in a unit that suits.
pub fn time(ns: f64) -> String {
    scaled(ns, &[(1e0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")])
}

/// Bytes per second; the units are powers of 1,000, as in the paper.
pub fn bandwidth(bytes_per_s: u64) -> String {
    scaled(
        bytes_per_s as f64,
        &[(1e0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s")],
    )
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    // 999.5 would be printed as 1000: it belongs to the next unit.
    let (factor, unit) = units
        .iter()
        .rev()
        .find(|(factor, _)| value >= factor * 0.9995)
        .unwrap_or(&units[0]);
    let value = value / factor;
    let decimals = match value {
        _ if value < 9.995 => 2,
        _ if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {unit}")
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
    }
}
