//! Memory of this computer that holds the bytes of main memory or of a local store.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cellworks_machine::memory::{Backing, LINE_BYTES};

/// The alignment in bytes of regions. Sizes of regions are rounded up to a multiple of it.
pub(crate) const PAGE_BYTES: usize = 4096;

/// The number of used bytes of a memory module.
pub(crate) type Used = Arc<AtomicUsize>;

/// Zeroed bytes of a memory module. Dropping a `Zeroed` frees the bytes.
pub(crate) struct Zeroed {
    base: NonNull<u8>,
    /// The requested size, rounded up to whole cache lines.
    bytes: usize,
    /// The size that is counted as used in the module, in whole pages.
    taken: usize,
    /// The allocation, a page longer than `taken`. `base` is the first page boundary in it.
    allocated: NonNull<u8>,
    layout: Layout,
    used: Used,
}

// SAFETY: `Zeroed` owns its bytes and only returns their address.
unsafe impl Send for Zeroed {}
// SAFETY: `Zeroed` owns its bytes and only returns their address.
unsafe impl Sync for Zeroed {}

// SAFETY: the bytes from `base` are zeroed and in the allocation: `base` is less than a page after
// the start of the allocation, which is a page longer than `taken`, and `taken` is at least
// `bytes`. The allocation lives as long as the `Zeroed`, and has no other owner.
unsafe impl Backing for Zeroed {
    fn base(&self) -> NonNull<u8> {
        self.base
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Zeroed {
    /// Allocates `bytes` bytes of a module of `capacity` bytes, rounded up to pages.
    pub fn new(bytes: usize, capacity: usize, used: &Used) -> io::Result<Self> {
        let refused = |why: String| io::Error::new(io::ErrorKind::OutOfMemory, why);
        let layout_of = |bytes: usize| {
            let taken = bytes.checked_next_multiple_of(PAGE_BYTES)?;
            // The alignment is small. For a large alignment, an allocator writes zeros to all
            // pages, which takes tens of milliseconds for a large region.
            let layout = Layout::from_size_align(taken.checked_add(PAGE_BYTES)?, 16).ok()?;
            (taken > 0).then_some((taken, layout))
        };
        let (taken, layout) = layout_of(bytes)
            .ok_or_else(|| refused("there is no such amount of memory".to_owned()))?;
        // One atomic update, because several OS threads may allocate at the same time.
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
        // SAFETY: `to_page` is less than a page, and the allocation is a page longer than `taken`.
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
