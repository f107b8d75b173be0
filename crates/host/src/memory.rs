//! Main memory of the host: pages from the operating system, at home on a NUMA node.

use std::io;
use std::ptr::NonNull;

use cellworks_machine::memory::Backing;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// What regions are rounded up to: a multiple of every page and line.
const PAGE_BYTES: usize = 4096;

/// From this size on, memory is asked for in huge pages: translation misses cost more than half
/// of the time of random accesses to large memory otherwise.
const HUGE_PAGES_FROM_BYTES: usize = 4 << 20;

/// Zeroed pages, unmapped when dropped.
pub(crate) struct Pages {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the pages belong to the process, not to a thread; `Pages` only gives their address away.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

// SAFETY: `base` is the start of a private mapping of `bytes` bytes, readable and writable, zeroed
// by the kernel, aligned to a page, which is unmapped only when the value is dropped. Nobody else
// is given the address.
unsafe impl Backing for Pages {
    fn base(&self) -> NonNull<u8> {
        self.base
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Pages {
    /// At least `bytes` bytes, on NUMA node `node` if one is named. They do not cross a multiple
    /// of 4 GiB unless they are larger than that, because all elements of a DMA list share the
    /// upper half of their address.
    pub(crate) fn new(bytes: usize, node: Option<u32>) -> io::Result<Self> {
        let too_large = || io::Error::from(io::ErrorKind::OutOfMemory);
        let bytes = bytes
            .checked_next_multiple_of(PAGE_BYTES)
            .ok_or_else(too_large)?;
        let mut pages = Self::map(bytes)?;
        if pages.crosses_4_gib() && bytes < 1 << 32 {
            // While the first mapping stands, a second cannot overlap it.
            pages = Self::map(bytes)?;
        }
        if bytes >= HUGE_PAGES_FROM_BYTES {
            // SAFETY: the range is a mapping of ours; the advice changes no contents.
            let advised =
                unsafe { madvise(pages.base.as_ptr().cast(), bytes, Advice::LinuxHugepage) };
            // A kernel without huge pages serves small ones, which is only slower.
            let _ = advised;
        }
        if let Some(node) = node {
            pages.bind(node)?;
        }
        Ok(pages)
    }

    fn map(bytes: usize) -> io::Result<Self> {
        // SAFETY: a new private mapping at an address of the kernel's choice touches nothing.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }?;
        let base = NonNull::new(base.cast()).expect("a mapping does not start at address 0");
        Ok(Self { base, bytes })
    }

    fn crosses_4_gib(&self) -> bool {
        let first = self.base.as_ptr() as usize;
        first >> 32 != (first + self.bytes - 1) >> 32
    }

    /// Has the kernel place the pages, none of which was touched yet, on a node.
    fn bind(&self, node: u32) -> io::Result<()> {
        let mut mask = [0_u64; 16];
        let word = mask
            .get_mut(node as usize / 64)
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        *word |= 1 << (node % 64);
        // SAFETY: the range is a mapping of ours and the mask has the number of bits that is
        // given, of which the kernel reads one less.
        let result = unsafe {
            libc::syscall(
                libc::SYS_mbind,
                self.base.as_ptr(),
                self.bytes,
                libc::MPOL_BIND,
                mask.as_ptr(),
                mask.len() * 64,
                0,
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// The first byte.
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody uses it any more.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "a mapping of ours can be unmapped");
    }
}
