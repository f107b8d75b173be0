//! Points and lengths of simulated time in femtoseconds, with 64 bits. A run lasts at most five
//! hours, so 64 bits suffice. [`Time`] and [`Span`] have 128 bits, because a run on a host may last
//! longer.

// Rejected: `Time` and `Span` instead of the types of this file. An event with a 128-bit time would
// not fit into 128 bits.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

use cellworks_machine::{Span, Time};

const FEMTOSECONDS_PER_NANOSECOND: u64 = 1_000_000;
const FEMTOSECONDS_PER_PICOSECOND: u64 = 1_000;
const FEMTOSECONDS_PER_SECOND: u128 = 1_000_000_000_000_000;

/// A point in simulated time since the start of the run, which is printed as `1.234 us`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

/// A length of simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Femtoseconds(pub u64);

impl Moment {
    pub const START: Self = Self(0);
    /// A point in time after all events.
    pub const NEVER: Self = Self(u64::MAX);

    #[inline]
    pub const fn from_femtoseconds(femtoseconds: u64) -> Self {
        Self(femtoseconds)
    }

    #[inline]
    pub const fn as_femtoseconds(self) -> u64 {
        self.0
    }

    /// Returns the whole nanoseconds since the start of the run.
    pub const fn as_nanoseconds(self) -> u64 {
        self.0 / FEMTOSECONDS_PER_NANOSECOND
    }

    /// Adds a span, with [`NEVER`](Self::NEVER) as the largest result.
    #[inline]
    pub const fn saturating_add(self, span: Femtoseconds) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// Subtracts a span, with the start of the run as the smallest result.
    #[inline]
    pub const fn saturating_sub(self, span: Femtoseconds) -> Self {
        Self(self.0.saturating_sub(span.0))
    }

    /// Returns the time from the last multiple of `interval` up to this point.
    #[inline]
    pub const fn after_last_multiple_of(self, interval: Femtoseconds) -> Femtoseconds {
        Femtoseconds(self.0 % interval.0)
    }

    /// Returns the time from `earlier` to this point, or zero if `earlier` is after this point.
    #[inline]
    pub const fn saturating_since(self, earlier: Self) -> Femtoseconds {
        Femtoseconds(self.0.saturating_sub(earlier.0))
    }
}

impl Femtoseconds {
    pub const ZERO: Self = Self(0);

    /// Converts picoseconds.
    ///
    /// # Panics
    ///
    /// Panics if the span does not fit into 64 bits. Every span of a checked description fits.
    pub fn from_picoseconds(picoseconds: u64) -> Self {
        let span = picoseconds.checked_mul(FEMTOSECONDS_PER_PICOSECOND);
        Self(span.expect(BELOW_FIVE_HOURS))
    }

    /// Converts cycles of a clock of `hertz`, and rounds down to a femtosecond.
    ///
    /// # Panics
    ///
    /// Panics if the span does not fit into 64 bits.
    pub fn from_cycles(cycles: u64, hertz: u64) -> Self {
        let span = u128::from(cycles) * FEMTOSECONDS_PER_SECOND / u128::from(hertz);
        Self(u64::try_from(span).expect(BELOW_FIVE_HOURS))
    }

    /// Returns the time of a transfer, rounded up so that no transfer is faster than `bytes_per_s`.
    pub fn of_transfer(bytes: u64, bytes_per_s: u64) -> Self {
        let span = u128::from(bytes) * FEMTOSECONDS_PER_SECOND;
        let span = span.div_ceil(u128::from(bytes_per_s));
        Self(u64::try_from(span).expect("a rate of some bytes a second"))
    }

    #[inline]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    #[inline]
    pub const fn saturating_mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }

    #[inline]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

const BELOW_FIVE_HOURS: &str = "a time of the machine's description below five hours";

impl Add<Femtoseconds> for Moment {
    type Output = Self;
    #[inline]
    fn add(self, span: Femtoseconds) -> Self {
        Self(self.0 + span.0)
    }
}

impl Sub for Moment {
    type Output = Femtoseconds;
    #[inline]
    fn sub(self, earlier: Self) -> Femtoseconds {
        Femtoseconds(self.0 - earlier.0)
    }
}

impl Sub<Femtoseconds> for Moment {
    type Output = Self;
    #[inline]
    fn sub(self, span: Femtoseconds) -> Self {
        Self(self.0 - span.0)
    }
}

impl Add for Femtoseconds {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Femtoseconds {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl AddAssign<Femtoseconds> for Moment {
    #[inline]
    fn add_assign(&mut self, span: Femtoseconds) {
        self.0 += span.0;
    }
}

impl Mul<Femtoseconds> for u64 {
    type Output = Femtoseconds;
    #[inline]
    fn mul(self, span: Femtoseconds) -> Femtoseconds {
        Femtoseconds(self * span.0)
    }
}

impl From<Moment> for Time {
    fn from(moment: Moment) -> Self {
        Self::from_femtoseconds(moment.0.into())
    }
}

/// Converts a time. Times after the longest run become [`Moment::NEVER`].
impl From<Time> for Moment {
    fn from(time: Time) -> Self {
        Self(u64::try_from(time.as_femtoseconds()).unwrap_or(u64::MAX))
    }
}

impl From<Femtoseconds> for Span {
    fn from(span: Femtoseconds) -> Self {
        Self::from_femtoseconds(span.0.into())
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanoseconds = self.as_nanoseconds();
        write!(f, "{}.{:03} us", nanoseconds / 1_000, nanoseconds % 1_000)
    }
}
