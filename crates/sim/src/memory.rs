//! Memory of this computer that serves as memory of the simulated machine.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cellworks_machine::memory::{Backing, LINE_BYTES};

/// Regions are aligned to this, and their sizes are rounded up to it.
pub(crate) const PAGE_BYTES: usize = 4096;

/// How much of a memory module is in use, in bytes.
pub(crate) type Used = Arc<AtomicUsize>;

/// Zeroed bytes. They are given back to their module when they are dropped.
pub(crate) struct Zeroed {
    base: NonNull<u8>,
    /// The bytes that were requested, in whole lines.
    bytes: usize,
    /// The bytes that the module has given: whole pages.
    taken: usize,
    /// The allocation, which is a page longer than needed; `base` is the first address in it that
    /// is aligned to a page.
    allocated: NonNull<u8>,
    layout: Layout,
    used: Used,
}

// SAFETY: the bytes belong to no thread; `Zeroed` only gives their address away.
unsafe impl Send for Zeroed {}
// SAFETY: as above.
unsafe impl Sync for Zeroed {}

// SAFETY: `base` is the first page in an allocation of `layout.size()` zeroed bytes, a page more
// than `taken`, which is no less than `bytes`; the allocation is freed only when the value is
// dropped. The address is given to no other owner.
unsafe impl Backing for Zeroed {
    fn base(&self) -> NonNull<u8> {
        self.base
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Zeroed {
    /// `bytes` bytes, rounded up to pages, of a module of `capacity` bytes.
    pub fn new(bytes: usize, capacity: usize, used: &Used) -> io::Result<Self> {
        let refused = |why: String| io::Error::new(io::ErrorKind::OutOfMemory, why);
        let layout_of = |bytes: usize| {
            let taken = bytes.checked_next_multiple_of(PAGE_BYTES)?;
            // Allocators have pages that are zero already only for alignments that need no search.
            // For others they would write zeros to all pages, and a large region that is hardly
            // used would take tens of milliseconds.
            let layout = Layout::from_size_align(taken.checked_add(PAGE_BYTES)?, 16).ok()?;
            (taken > 0).then_some((taken, layout))
        };
        let (taken, layout) = layout_of(bytes)
            .ok_or_else(|| refused("there is no such amount of memory".to_owned()))?;
        // In one atomic step: several OS threads may allocate at the same time.
        let take = |in_use: usize| {
            let after = in_use.checked_add(taken)?;
            (after <= capacity).then_some(after)
        };
        used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .map_err(|in_use| {
                let free = capacity.saturating_sub(in_use);
                refused(format!(
                    "the module has {capacity} bytes, of which {free} are free"
                ))
            })?;
        // SAFETY: the layout has at least one page.
        let Some(allocated) = NonNull::new(unsafe { alloc_zeroed(layout) }) else {
            used.fetch_sub(taken, Ordering::Relaxed);
            return Err(refused("this computer has no memory for it".to_owned()));
        };
        let to_page = allocated.align_offset(PAGE_BYTES);
        // SAFETY: the first multiple of a page is less than a page away, and the allocation has one
        // page more than is used.
        let base = unsafe { allocated.add(to_page) };
        Ok(Self {
            base,
            bytes: bytes.next_multiple_of(LINE_BYTES),
            taken,
            allocated,
            layout,
            used: Arc::clone(used),
        })
    }

    /// The first byte.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }
}

impl Drop for Zeroed {
    fn drop(&mut self) {
        self.used.fetch_sub(self.taken, Ordering::Relaxed);
        // SAFETY: it was allocated with this layout, and is not used after this.
        unsafe { dealloc(self.allocated.as_ptr(), self.layout) };
    }
}
