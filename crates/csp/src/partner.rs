//! The process that an end of a channel met last, its partner.

use crate::lock::Lock;
use crate::node::Node;
use crate::prefetch;

/// The node of the process that an end of a channel met last. This process will probably wait at
/// the same address again, so the node can be prefetched from another core's cache.
// The value is the address of the node, which is a multiple of 64, plus one if the process was on
// another core.
#[derive(Clone, Copy, Default)]
pub(crate) struct Partner(usize);

impl Partner {
    #[inline(always)]
    pub(crate) fn prefetch(self) {
        prefetch::to_write(self.0);
    }

    /// Records the served node of the partner, and whether the partner is on this core.
    #[inline(always)]
    pub(crate) fn has_met<L: Lock, T>(&mut self, node: *const Node<T>, is_here: bool) {
        if L::IS_SHARED {
            self.0 = node.addr() | usize::from(!is_here);
        }
    }

    #[inline(always)]
    pub(crate) fn is_elsewhere(self) -> bool {
        self.0 & 1 == 1
    }
}
