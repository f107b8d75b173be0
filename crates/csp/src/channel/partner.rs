//! The partner of an end of a channel: the process with which the end last exchanged an item.

use super::lock::Lock;
use super::node::Node;
use super::prefetch;

/// The address of the last node of the partner, plus one if the partner was on another core. The
/// partner will probably wait with a node at the same address, so this address is prefetched.
#[derive(Clone, Copy, Default)]
pub(crate) struct Partner(usize);

impl Partner {
    #[inline(always)]
    pub(crate) fn prefetch(self) {
        prefetch::to_write(self.0);
    }

    /// Records the node that was just served, and whether its process is on this core.
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
