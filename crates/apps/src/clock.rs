//! Computing for a number of cycles, on machines that charge it and on those that do it.

use std::hint::black_box;

use cellworks_machine::{Cycles, Span, Spe};

/// What one link of the chain in [`spend`] takes on processors of the last fifteen years: a shift
/// and an exclusive or of one cycle each, and a multiplication of three.
const LINK_CYCLES: u64 = 5;

/// An odd number without pattern, which a multiplication by does not lose bits.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Computes for about `cycles` cycles: a simulated machine charges that number, a real one does a
/// chain of operations each of which needs the one before.
pub(crate) fn spend<S: Spe>(spe: &S, cycles: u64) {
    if cycles > 0 {
        spe.compute(Cycles(cycles));
    }
    let mut link = black_box(cycles);
    for _ in 0..cycles / LINK_CYCLES {
        link = (link ^ (link >> 32)).wrapping_mul(MULTIPLIER);
    }
    black_box(link);
}

/// How many cycles are timed to find the clock's rate: long against reading the clock, short
/// against the time between two interrupts.
const TIMED_CYCLES: u64 = 20_000;
/// How often. The shortest counts, because it was not interrupted.
const TIMED: usize = 5;

/// The rate of the SPU's clock in cycles a second, as [`spend`] counts them.
pub(crate) fn rate_hz<S: Spe>(spe: &S) -> f64 {
    let time = || {
        let begin = spe.now();
        spend(spe, TIMED_CYCLES);
        spe.now().since(begin)
    };
    let shortest = (0..TIMED).map(|_| time()).min();
    let shortest = shortest.unwrap_or(Span::from_nanoseconds(1));
    TIMED_CYCLES as f64 / shortest.as_seconds_f64()
}
