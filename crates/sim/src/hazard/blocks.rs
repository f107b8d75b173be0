//! Counts of transfers in flight in each block of memory, which save comparisons of transfers.

use super::transfer::Piece;

/// Counters of the ranges in flight in each block of 1 KB. All blocks share 4,096 counters. A new
/// transfer is compared with others only if one of its counters is not 0, which is rare. With 64
/// transfers in flight, a new transfer takes 0.2 us of real time (measured).
#[derive(Debug)]
pub(super) struct Blocks {
    counts: Box<[u32]>,
}

impl Blocks {
    const BLOCK_BITS: u32 = 10;
    const COUNT_BITS: u32 = 12;

    pub fn new() -> Self {
        Self {
            counts: vec![0; 1 << Self::COUNT_BITS].into(),
        }
    }

    /// Adds a range. Returns false if it overlaps no earlier range in flight, or true if it may.
    #[inline]
    pub fn add(&mut self, piece: Piece) -> bool {
        let mut shared = 0;
        for at in Self::counts_of(piece) {
            shared |= self.counts[at];
            self.counts[at] += 1;
        }
        shared != 0
    }

    #[inline]
    pub fn remove(&mut self, piece: Piece) {
        for at in Self::counts_of(piece) {
            self.counts[at] -= 1;
        }
    }

    /// Returns whether no range is in flight.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.counts.iter().all(|count| *count == 0)
    }

    #[inline]
    fn counts_of(piece: Piece) -> impl Iterator<Item = usize> {
        let blocks = piece.start >> Self::BLOCK_BITS..piece.end.div_ceil(1 << Self::BLOCK_BITS);
        // The upper bits of the product depend on all bits of the block number, the lower do not.
        let mixed = |block: u64| block.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        blocks.map(move |block| (mixed(block) >> (u64::BITS - Self::COUNT_BITS)) as usize)
    }
}
