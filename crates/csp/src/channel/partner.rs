//! What an end of a channel knows of the process with which it last exchanged an item.

use crate::channel::lock::Lock;
use crate::channel::node::Node;

/// The process with which an end last exchanged an item: the address of its last node, plus one if
/// it was on another core. The partner will probably wait with a node at the same address, so this
/// address is prefetched.
#[derive(Clone, Copy, Default)]
pub(crate) struct Partner(pub(super) usize);

impl Partner {
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
