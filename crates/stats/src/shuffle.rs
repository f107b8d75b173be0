//! Random orders that are the same in each run and on every machine.

/// An arbitrary seed, which must not change.
const SEED: u64 = 0x0043_656c_6c42_4521;

/// The random number generator SplitMix64 (Steele, Lea, Flood: *Fast splittable pseudorandom number
/// generators*).
struct Random(u64);

impl Random {
    /// Returns a number below `count`. It is nearly uniform, as `count` is far smaller than 2^64.
    #[inline]
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ (mixed >> 31)) * count as u128) >> 64) as usize
    }
}

/// Shuffles the items by the method of Fisher and Yates.
pub(crate) fn shuffle<T>(items: &mut [T]) {
    let mut random = Random(SEED);
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last + 1));
    }
}

/// The numbers below a count, in a random order. The count can grow: the order of the larger count
/// takes only the time for the numbers that are added.
pub(crate) struct RandomOrder {
    random: Random,
    numbers: Vec<u32>,
}

impl RandomOrder {
    pub fn new() -> Self {
        Self {
            random: Random(SEED),
            numbers: Vec::new(),
        }
    }

    /// Returns the order of the numbers below `count`, which is the same in each run.
    ///
    /// Each number is put at a random place, and the number of this place moves to the end, which
    /// makes all orders equally probable (the "inside-out" variant of Fisher and Yates).
    #[inline]
    pub fn of(&mut self, count: u32) -> &[u32] {
        if (count as usize) < self.numbers.len() {
            *self = Self::new();
        }
        self.numbers
            .reserve_exact(count as usize - self.numbers.len());
        for number in self.numbers.len() as u32..count {
            self.numbers.push(number);
            let last = number as usize;
            self.numbers.swap(last, self.random.below(last + 1));
        }
        &self.numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_every_number_and_no_neighbours() {
        for count in [1, 2, 3, 64, 1_000] {
            let mut numbers = RandomOrder::new().of(count).to_vec();
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..count), "{count}");
        }
        let mut order = RandomOrder::new();
        let near = order
            .of(10_000)
            .windows(2)
            .filter(|pair| pair[0].abs_diff(pair[1]) <= 16)
            .count();
        // In a random order, about 32 of 10,000 pairs of successive numbers differ by at most 16.
        assert!(near < 100, "{near}");
    }

    #[test]
    fn an_order_depends_on_its_count_alone() {
        let mut order = RandomOrder::new();
        for count in [10, 1_000, 1_000, 64, 3_000] {
            let expected = RandomOrder::new().of(count).to_vec();
            assert_eq!(order.of(count), expected, "{count}");
        }
    }
}
