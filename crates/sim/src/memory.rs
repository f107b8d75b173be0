//! Memory of this computer that serves as main memory or as a local store of the simulated machine.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cellworks_machine::memory::{Backing, LINE_BYTES};

/// The alignment of regions. The sizes of regions are rounded up to this alignment.
pub(crate) const PAGE_BYTES: usize = 4096;

/// The number of used bytes of a memory module.
pub(crate) type Used = Arc<AtomicUsize>;

/// Zeroed bytes of a memory module. Dropping a `Zeroed` gives the bytes back to the module.
pub(crate) struct Zeroed {
    base: NonNull<u8>,
    /// The number of requested bytes, rounded up to whole lines.
    bytes: usize,
    /// The number of bytes that are counted as used in the module, in whole pages.
    taken: usize,
    /// The allocation, which is a page longer than `taken`. `base` is the first page boundary in
    /// the allocation.
    allocated: NonNull<u8>,
    layout: Layout,
    used: Used,
}

// SAFETY: the bytes belong to no thread, and `Zeroed` only returns their address.
unsafe impl Send for Zeroed {}
// SAFETY: the bytes belong to no thread, and `Zeroed` only returns their address.
unsafe impl Sync for Zeroed {}

// SAFETY: `base` is the first page boundary in an allocation of `layout.size()` zeroed bytes. The
// allocation is a page longer than `taken`, and `taken` is at least `bytes`. The allocation is
// freed only when the `Zeroed` is dropped. The address is given to no other owner.
unsafe impl Backing for Zeroed {
    fn base(&self) -> NonNull<u8> {
        self.base
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Zeroed {
    /// Allocates `bytes` bytes, rounded up to pages, in a module of `capacity` bytes.
    pub fn new(bytes: usize, capacity: usize, used: &Used) -> io::Result<Self> {
        let refused = |why: String| io::Error::new(io::ErrorKind::OutOfMemory, why);
        let layout_of = |bytes: usize| {
            let taken = bytes.checked_next_multiple_of(PAGE_BYTES)?;
            // An allocator uses pages that the operating system has zeroed only if the alignment is
            // small. For a larger alignment it writes zeros to all pages, which takes tens of
            // milliseconds for a large region.
            let layout = Layout::from_size_align(taken.checked_add(PAGE_BYTES)?, 16).ok()?;
            (taken > 0).then_some((taken, layout))
        };
        let (taken, layout) = layout_of(bytes)
            .ok_or_else(|| refused("there is no such amount of memory".to_owned()))?;
        // The update is atomic, because several OS threads may allocate at the same time.
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
        // SAFETY: the first page boundary is less than a page away, and the allocation is a page
        // longer than `taken`.
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

    pub fn base(&self) -> NonNull<u8> {
        self.base
    }
}

impl Drop for Zeroed {
    fn drop(&mut self) {
        self.used.fetch_sub(self.taken, Ordering::Relaxed);
        // SAFETY: the memory was allocated with this layout, and is not used after this call.
        unsafe { dealloc(self.allocated.as_ptr(), self.layout) };
    }
}
