//! The process that an end of a channel met last.

use crate::lock::Lock;
use crate::node::Node;
use crate::prefetch;

/// Where the process waited that an end of a channel met last: probably it waits there again. So
/// its node can be on its way from another core's cache while the channel still is.
// An address, which is a multiple of 64, and one more if that process was of another core.
#[derive(Clone, Copy, Default)]
pub(crate) struct Partner(usize);

impl Partner {
    /// Has the processor fetch that node, to be written.
    #[inline(always)]
    pub(crate) fn prefetch(self) {
        prefetch::to_write(self.0);
    }

    /// Records which process was served, and whether it is of this core.
    #[inline(always)]
    pub(crate) fn has_met<L: Lock, T>(&mut self, node: *const Node<T>, is_here: bool) {
        if L::IS_SHARED {
            self.0 = node.addr() | usize::from(!is_here);
        }
    }

    /// Whether it was of another core.
    #[inline(always)]
    pub(crate) fn is_elsewhere(self) -> bool {
        self.0 & 1 == 1
    }
}
