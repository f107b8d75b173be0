//! Computation for a number of cycles: exact on a simulated machine, approximate on a real one.

use std::hint::black_box;

use cellworks_machine::{Cycles, Span, Spe};

/// The cycles of an iteration in [`spend`]: 1 for the shift, 1 for the xor, 3 for the product.
const LINK_CYCLES: u64 = 5;

/// An odd number, so that different numbers have different products modulo 2^64.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Computes for about `cycles` cycles. On a real machine each operation waits for the previous one.
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

/// The cycles of a timing. A read of the clock is much shorter, and interrupts are farther apart.
const TIMED_CYCLES: u64 = 20_000;
/// The number of timings. The result is the shortest timing, because no interrupt lengthened it.
const TIMED: usize = 5;

/// Returns the clock rate of the SPU in cycles a second, measured by timing [`spend`].
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
