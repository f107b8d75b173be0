//! The slices of time after which a program that computes lets others run, on this computer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The slices of time of a run, which are counted outside of its programs.
#[derive(Clone, Default)]
pub(crate) struct Slices(Arc<AtomicU32>);

impl Slices {
    /// Begins the next slice.
    pub(crate) fn next(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The slice of a program that computes.
pub(crate) struct Slice {
    slices: Slices,
    at: u32,
}

impl Slice {
    pub(crate) fn of(slices: &Slices) -> Self {
        let at = slices.0.load(Ordering::Relaxed);
        let slices = slices.clone();
        Self { slices, at }
    }

    /// Returns whether another slice has begun since the last call.
    pub(super) fn is_over(&mut self) -> bool {
        let now = self.slices.0.load(Ordering::Relaxed);
        std::mem::replace(&mut self.at, now) != now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_over_once() {
        let slices = Slices::default();
        let mut slice = Slice::of(&slices);
        assert!(!slice.is_over());
        slices.next();
        slices.next();
        assert!(slice.is_over());
        assert!(!slice.is_over());
    }
}
