//! Compares two numbers by their intervals.
//!
//! ```text
//!        10 %  ╭─────╮
//!   ├──●──┤    ┆  ├──●──┤     different: more than 10 % apart, and the intervals are
//!                             disjoint and no wider than the difference
//!   ├────●──────┤
//!            ├──────●────┤    unclear: there is no advice
//!
//!   ├●┤ ├●┤                   equal: the upper limit of each interval is less than 10 %
//!                             above the lower limit of the other interval
//! ```

use crate::report::Measurement;

/// The ratio below which two numbers count as equal. A smaller difference is not worth rearranging
/// a program, and two runs may differ by 5 %.
pub(super) const DIFFERS: f64 = 1.1;

/// A time in nanoseconds or a bandwidth in bytes per second, finite and above 0, with the interval
/// of its median. Without an interval, `low` and `high` are the number itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Value {
    pub is: f64,
    pub low: f64,
    pub high: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Compared {
    /// The first value is greater, by this factor.
    More(f64),
    /// The second value is greater, by this factor.
    Less(f64),
    /// The values are less than 10 % apart, even from end to end of their intervals.
    Equal,
    Unclear,
}

impl Compared {
    pub fn more(self) -> Option<f64> {
        match self {
            Self::More(ratio) => Some(ratio),
            _ => None,
        }
    }

    pub fn less(self) -> Option<f64> {
        match self {
            Self::Less(ratio) => Some(ratio),
            _ => None,
        }
    }
}

/// Returns the factor by which one alternative is clearly better than another, or `None`.
pub(super) type Gain = fn(Compared) -> Option<f64>;

impl Value {
    /// Makes a number without an interval. Returns `None` unless the number is finite and above 0.
    pub fn exactly(is: f64) -> Option<Self> {
        (is.is_finite() && is > 0.0).then_some(Self {
            is,
            low: is,
            high: is,
        })
    }

    pub fn time(measurement: &Measurement) -> Option<Self> {
        let exactly = Self::exactly(measurement.latency_ns.p50)?;
        Some(match measurement.median_interval_ns {
            Some(interval) => Self {
                low: interval.low,
                high: interval.high,
                ..exactly
            },
            None => exactly,
        })
    }

    /// Returns the bandwidth of all SPEs together. Its interval is calculated from the interval of
    /// the median time. A few slow blocks can make the bandwidth far lower than this interval.
    pub fn bandwidth(measurement: &Measurement) -> Option<Self> {
        let exactly = Self::exactly(measurement.bandwidth_bytes_per_s? as f64)?;
        let p = &measurement.parameters;
        let elements = f64::from(p.settings.list_elements.unwrap_or(1));
        let bytes = p.settings.block_bytes? as f64 * elements * p.spes as f64;
        Some(match measurement.median_interval_ns {
            Some(interval) => Self {
                low: bytes * 1e9 / interval.high,
                high: bytes * 1e9 / interval.low,
                ..exactly
            },
            None => exactly,
        })
    }

    pub fn times(self, factor: f64) -> Self {
        Self {
            is: factor * self.is,
            low: factor * self.low,
            high: factor * self.high,
        }
    }

    pub fn beside(self, other: Self) -> Compared {
        if self.clearly_above(other) {
            Compared::More(self.is / other.is)
        } else if other.clearly_above(self) {
            Compared::Less(other.is / self.is)
        } else if self.nearly(other) {
            Compared::Equal
        } else {
            Compared::Unclear
        }
    }

    fn clearly_above(self, other: Self) -> bool {
        let difference = self.is - other.is;
        self.is >= DIFFERS * other.is
            && self.low > other.high
            && self.width() <= difference
            && other.width() <= difference
    }

    fn nearly(self, other: Self) -> bool {
        let ((low, high), (other_low, other_high)) = (self.ends(), other.ends());
        high < DIFFERS * other_low && other_high < DIFFERS * low
    }

    fn width(self) -> f64 {
        let (low, high) = self.ends();
        high - low
    }

    /// Returns the interval, extended to contain `is`. A bandwidth may be outside of its interval.
    fn ends(self) -> (f64, f64) {
        (self.low.min(self.is), self.high.max(self.is))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(is: f64, low: f64, high: f64) -> Value {
        Value { is, low, high }
    }

    #[test]
    fn values_are_apart_by_more_than_a_tenth_and_by_their_intervals() {
        let hundred = value(100.0, 99.0, 101.0);
        let exactly = |is| Value::exactly(is).unwrap();
        assert_eq!(exactly(250.0).beside(exactly(200.0)), Compared::More(1.25));
        assert_eq!(exactly(200.0).beside(exactly(250.0)), Compared::Less(1.25));
        assert_eq!(exactly(219.0).beside(exactly(200.0)), Compared::Equal);
        assert_eq!(
            value(150.0, 140.0, 160.0).beside(hundred),
            Compared::More(1.5)
        );
        assert_eq!(
            value(150.0, 100.5, 150.0).beside(hundred),
            Compared::Unclear
        );
        // The intervals do not overlap, but an interval is wider than the difference.
        assert_eq!(
            value(150.0, 140.0, 200.0).beside(hundred),
            Compared::Unclear
        );
        assert_eq!(
            hundred.beside(value(150.0, 140.0, 200.0)),
            Compared::Unclear
        );
    }

    #[test]
    fn values_are_equal_only_if_their_ends_are() {
        let hundred = value(100.0, 99.0, 101.0);
        assert_eq!(value(105.0, 104.0, 107.0).beside(hundred), Compared::Equal);
        assert_eq!(
            value(105.0, 104.0, 110.0).beside(hundred),
            Compared::Unclear
        );
        assert_eq!(value(105.0, 89.0, 106.0).beside(hundred), Compared::Unclear);
    }

    #[test]
    fn numbers_that_cannot_be_are_no_values() {
        assert_eq!(
            [0.0, -1.0, f64::NAN, f64::INFINITY].map(Value::exactly),
            [None; 4]
        );
    }
}
