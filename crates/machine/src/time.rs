//! Time as integers in femtoseconds, because a cycle at 3.2 GHz is 312.5 ps.

// Rejected: 64 bits of femtoseconds, which overflow after five hours. Runs on hosts can be longer.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::time::Duration;

const FEMTOSECONDS_PER_NANOSECOND: u128 = 1_000_000;
const FEMTOSECONDS_PER_SECOND: u128 = 1_000_000_000_000_000;

/// A point in time, in femtoseconds from the start of the run. It reads as the [`Span`] since then.
///
/// ```
/// use std::time::Duration;
///
/// use cellworks_machine::{Span, Time};
///
/// let deadline = Time::default() + Duration::from_millis(10);
/// assert_eq!(deadline, Time::default() + Span::from_nanoseconds(10_000_000));
/// assert_eq!(deadline.to_string(), "10.00 ms");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u128);

/// A length of time in femtoseconds. `{}` rounds it, and `{:?}` has all digits.
///
/// ```
/// use cellworks_machine::Span;
///
/// let span = Span::from_nanoseconds(1_234_567);
/// assert_eq!(format!("{span}, {span:?}"), "1.23 ms, 1.234567 ms");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u128);

/// A number of cycles of an SPU's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cycles(pub u64);

impl Time {
    /// Returns the point that is `femtoseconds` after the start of the run.
    pub const fn from_femtoseconds(femtoseconds: u128) -> Self {
        Self(femtoseconds)
    }

    /// Returns the femtoseconds since the start of the run.
    pub const fn as_femtoseconds(self) -> u128 {
        self.0
    }

    /// Returns the time since `earlier`, or zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// Returns a span of `femtoseconds`.
    pub const fn from_femtoseconds(femtoseconds: u128) -> Self {
        Self(femtoseconds)
    }

    /// Returns a span of `nanoseconds`.
    pub const fn from_nanoseconds(nanoseconds: u64) -> Self {
        Self(nanoseconds as u128 * FEMTOSECONDS_PER_NANOSECOND)
    }

    /// Returns the span in femtoseconds.
    pub const fn as_femtoseconds(self) -> u128 {
        self.0
    }

    /// Returns the span in nanoseconds as a float, for reports.
    pub fn as_nanoseconds_f64(self) -> f64 {
        self.0 as f64 / FEMTOSECONDS_PER_NANOSECOND as f64
    }

    /// Returns the span in seconds as a float, for reports.
    pub fn as_seconds_f64(self) -> f64 {
        self.0 as f64 / FEMTOSECONDS_PER_SECOND as f64
    }
}

/// Rounds up to the next nanosecond, so that a wait of this duration is never too short.
impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        let nanoseconds = span.0.div_ceil(FEMTOSECONDS_PER_NANOSECOND);
        Self::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        Self(duration.as_nanos() * FEMTOSECONDS_PER_NANOSECOND)
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0 + span.0)
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, duration: Duration) -> Self {
        self + Span::from(duration)
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Span {
    type Output = Self;
    /// Returns the difference, or zero if it would be negative.
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Mul<u128> for Span {
    type Output = Self;
    fn mul(self, times: u128) -> Self {
        Self(self.0 * times)
    }
}

impl Div<u128> for Span {
    type Output = Self;
    /// Returns the quotient, rounded down to a femtosecond.
    fn div(self, parts: u128) -> Self {
        Self(self.0 / parts)
    }
}

impl Div for Span {
    type Output = u128;
    /// Returns how many times `other`, taken as at least 1 femtosecond, fits into this span.
    fn div(self, other: Self) -> u128 {
        self.0 / other.0.max(1)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.as_nanoseconds_f64();
        match ns {
            _ if ns < 1e3 => write!(f, "{ns:.1} ns"),
            _ if ns < 1e6 => write!(f, "{:.2} us", ns / 1e3),
            _ if ns < 1e9 => write!(f, "{:.2} ms", ns / 1e6),
            _ => write!(f, "{:.2} s", ns / 1e9),
        }
    }
}

/// Has all digits, because the two sides of a failed comparison would else often read the same.
impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, digits, name) = match self.0 / FEMTOSECONDS_PER_NANOSECOND {
            0..1_000 => (FEMTOSECONDS_PER_NANOSECOND, 6, "ns"),
            1_000..1_000_000 => (FEMTOSECONDS_PER_NANOSECOND * 1_000, 9, "us"),
            1_000_000..1_000_000_000 => (FEMTOSECONDS_PER_NANOSECOND * 1_000_000, 12, "ms"),
            _ => (FEMTOSECONDS_PER_SECOND, 15, "s"),
        };
        let (whole, rest) = (self.0 / unit, self.0 % unit);
        if rest == 0 {
            return write!(f, "{whole} {name}");
        }
        let fraction = format!("{rest:0digits$}");
        write!(f, "{whole}.{} {name}", fraction.trim_end_matches('0'))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.since(Self::default()), f)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.since(Self::default()), f)
    }
}

/// The tick rate of a machine's decrementers in hertz: 14.318 MHz on a QS20 (CellMT's listing),
/// 79.8 MHz on a PS3 (measured by cellmark), 1 GHz on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timebase {
    hertz: u64,
}

impl Timebase {
    /// Returns a timebase with `hertz` ticks per second.
    ///
    /// # Panics
    ///
    /// Panics if `hertz` is 0.
    pub const fn from_hertz(hertz: u64) -> Self {
        assert!(hertz > 0, "a timebase counts at least once a second");
        Self { hertz }
    }

    /// Returns the ticks per second.
    pub const fn hertz(self) -> u64 {
        self.hertz
    }

    /// Returns the span of `ticks` ticks, rounded down to a femtosecond.
    pub const fn span_of(self, ticks: u64) -> Span {
        Span(ticks as u128 * FEMTOSECONDS_PER_SECOND / self.hertz as u128)
    }

    /// Returns the number of whole ticks in `span`.
    pub const fn ticks_in(self, span: Span) -> u128 {
        // Whole seconds and the remainder are converted separately, so that no product overflows.
        let seconds = span.0 / FEMTOSECONDS_PER_SECOND;
        let rest = span.0 % FEMTOSECONDS_PER_SECOND;
        seconds * self.hertz as u128 + rest * self.hertz as u128 / FEMTOSECONDS_PER_SECOND
    }
}

/// An SPE's decrementer: a 32-bit register that decrements at each tick of the timebase and wraps
/// (CBEA section 9.7). The value depends only on the time, so all machines share this type.
#[derive(Clone, Copy, Debug, Default)]
pub struct Decrementer {
    written: u32,
    at: Time,
}

impl Decrementer {
    /// Returns a decrementer that was set to `value` at `now`.
    pub const fn set(value: u32, now: Time) -> Self {
        Self {
            written: value,
            at: now,
        }
    }

    /// Returns the value of the register at `now`.
    pub const fn read(self, now: Time, timebase: Timebase) -> u32 {
        self.written
            .wrapping_sub(timebase.ticks_in(now.since(self.at)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decrementer_counts_down_at_the_timebase_and_wraps() {
        let qs20 = Timebase::from_hertz(14_318_000);
        let start = Time::from_femtoseconds(7);
        let decrementer = Decrementer::set(1, start);
        let tick = qs20.span_of(1);
        assert_eq!(decrementer.read(start, qs20), 1);
        // `span_of` rounds down, so two spans of one tick are less than two ticks.
        assert_eq!(decrementer.read(start + tick + tick, qs20), 0);
        assert_eq!(
            decrementer.read(start + Span::from_nanoseconds(210), qs20),
            u32::MAX - 1
        );
    }

    #[test]
    fn ticks_of_long_runs_do_not_overflow() {
        let ghz = Timebase::from_hertz(1_000_000_000);
        let century = Span::from_femtoseconds(3_155_760_000 * FEMTOSECONDS_PER_SECOND);
        assert_eq!(ghz.ticks_in(century), 3_155_760_000_000_000_000);
    }

    #[test]
    fn spans_choose_their_unit() {
        assert_eq!(Span::from_femtoseconds(312_500).to_string(), "0.3 ns");
        assert_eq!(Span::from_nanoseconds(1_500).to_string(), "1.50 us");
        assert_eq!(Span::from_nanoseconds(1_680_000).to_string(), "1.68 ms");
        assert_eq!(Span::from_nanoseconds(2_000_000_000).to_string(), "2.00 s");
    }

    #[test]
    fn failures_show_all_digits_of_spans_and_times() {
        let debug = |femtoseconds| format!("{:?}", Span::from_femtoseconds(femtoseconds));
        assert_eq!(debug(0), "0 ns");
        assert_eq!(debug(312_500), "0.3125 ns");
        assert_eq!(debug(999_999_999), "999.999999 ns");
        assert_eq!(debug(1_000_000_001), "1.000000001 us");
        assert_eq!(debug(1_500_000_000_000), "1.5 ms");
        assert_eq!(
            debug(1_680 * FEMTOSECONDS_PER_SECOND + 1),
            "1680.000000000000001 s"
        );
        let time = Time::from_femtoseconds(1_234_500_000);
        assert_eq!(format!("{time} {time:?}"), "1.23 us 1.2345 us");
    }
}
