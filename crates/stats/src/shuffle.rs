//! A random order that is the same in each run and on every machine.

/// An arbitrary seed, which must not change.
const SEED: u64 = 0x0043_656c_6c42_4521;

/// Shuffles the items by the method of Fisher and Yates, with the random number generator
/// SplitMix64 (Steele, Lea, Flood: *Fast splittable pseudorandom number generators*).
#[inline]
pub(crate) fn shuffle<T>(items: &mut [T]) {
    let mut state = SEED;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    for last in (1..items.len()).rev() {
        // The upper half of this product is nearly uniform, as `last` is far smaller than 2^64.
        let at = (u128::from(next()) * (last as u128 + 1)) >> 64;
        items.swap(last, at as usize);
    }
}
