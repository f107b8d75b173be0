//! Memory that stands for that of the simulated machine.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cellworks_machine::memory::{Backing, LINE_BYTES};

/// What regions are rounded up and aligned to.
pub(crate) const PAGE_BYTES: usize = 4096;

/// How much of a memory module is in use, in bytes.
pub(crate) type Used = Arc<AtomicUsize>;

/// Zeroed bytes; given back to their module when dropped.
pub(crate) struct Zeroed {
    base: NonNull<u8>,
    /// How many were asked for, in whole lines.
    bytes: usize,
    layout: Layout,
    used: Used,
}

// SAFETY: the bytes belong to no thread; `Zeroed` only gives their address away.
unsafe impl Send for Zeroed {}
// SAFETY: as above.
unsafe impl Sync for Zeroed {}

// SAFETY: `base` is the start of an allocation of `layout.size()` zeroed bytes, no fewer than `bytes`, aligned to a page, which
// is freed only when the value is dropped. Nobody else is given the address.
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
        let layout = bytes
            .checked_next_multiple_of(PAGE_BYTES)
            .filter(|bytes| *bytes > 0)
            .and_then(|bytes| Layout::from_size_align(bytes, PAGE_BYTES).ok())
            .ok_or_else(|| refused("there is no such amount of memory".to_owned()))?;
        // In one step: OS threads may allocate at once.
        let take = |in_use: usize| {
            let after = in_use.checked_add(layout.size())?;
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
        let Some(base) = NonNull::new(unsafe { alloc_zeroed(layout) }) else {
            used.fetch_sub(layout.size(), Ordering::Relaxed);
            return Err(refused("this computer has no memory for it".to_owned()));
        };
        Ok(Self {
            base,
            bytes: bytes.next_multiple_of(LINE_BYTES),
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
        self.used.fetch_sub(self.layout.size(), Ordering::Relaxed);
        // SAFETY: it was allocated with this layout, and nobody uses it any more.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}
