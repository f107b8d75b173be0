//! Main memory of the host: pages from the operating system, on a NUMA node.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;

use cellworks_machine::bytemuck::Pod;
use cellworks_machine::memory::Backing;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use rustix::param::page_size;

/// The sizes of regions are multiples of this size. Pages have it, or 16 or 64 KB on some systems
/// for Arm. There the kernel maps and unmaps the rest of the last page, too.
const PAGE_BYTES: usize = 4096;

/// The smallest allocation in huge pages. With small pages, TLB misses would take more than half of
/// the time of random accesses to large memory.
const HUGE_PAGES_FROM_BYTES: usize = 4 << 20;

/// Zeroed pages. `drop` unmaps them.
pub(crate) struct Pages {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the pages belong to the process, not to a thread, and `Pages` only returns their address.
unsafe impl Send for Pages {}
// SAFETY: as for `Send`.
unsafe impl Sync for Pages {}

// SAFETY: `base` is the start of a private mapping of `bytes` bytes, which is readable, writable,
// zeroed and aligned to a page. Only `drop` unmaps it, and no other code gets the address.
unsafe impl Backing for Pages {
    fn base(&self) -> NonNull<u8> {
        self.base
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Pages {
    /// Allocates at least `bytes` bytes, on `node` if given. If `bytes` is below 4 GiB, the pages
    /// cross no multiple of 4 GiB, because all elements of a DMA list share the upper 32 bits of
    /// their address.
    pub(crate) fn new(bytes: usize, node: Option<u32>) -> io::Result<Self> {
        let pages = Self::of_any_size(bytes)?;
        if pages.bytes >= HUGE_PAGES_FROM_BYTES {
            // A failure is ignored: the kernel then uses small pages.
            let _ = pages.advise(Advice::LinuxHugepage);
        }
        if let Some(node) = node {
            pages.bind(node)?;
        }
        Ok(pages)
    }

    /// Like [`new`](Self::new), but requests huge pages only if `huge`, whatever `bytes` is. The
    /// kernel uses small pages if no huge pages are left.
    pub(crate) fn of_size(bytes: usize, node: Option<u32>, huge: bool) -> io::Result<Self> {
        let pages = Self::of_any_size(bytes)?;
        if huge {
            pages.advise(Advice::LinuxHugepage)?
        } else {
            // A failure is ignored: a kernel without huge pages does not support this advice.
            drop(pages.advise(Advice::LinuxNoHugepage))
        }
        if let Some(node) = node {
            pages.bind(node)?;
        }
        Ok(pages)
    }

    /// Chooses the size of the pages. Call this method before a page is touched.
    fn advise(&self, advice: Advice) -> io::Result<()> {
        // SAFETY: the range is the mapping of this value, and the advice changes no contents.
        unsafe { madvise(self.base.as_ptr().cast(), self.bytes, advice) }?;
        Ok(())
    }

    /// Allocates pages. The kernel chooses their address and whether they are huge.
    fn of_any_size(bytes: usize) -> io::Result<Self> {
        let too_large = || io::Error::from(io::ErrorKind::OutOfMemory);
        let bytes = bytes
            .checked_next_multiple_of(PAGE_BYTES)
            .ok_or_else(too_large)?;
        let mut pages = Self::map(bytes)?;
        if bytes < 1 << 32 && pages.to_multiple_of_4_gib() < bytes {
            let twice = bytes.checked_mul(2).ok_or_else(too_large)?;
            pages = Self::map(twice)?.cut(bytes);
        }
        Ok(pages)
    }

    fn map(bytes: usize) -> io::Result<Self> {
        // SAFETY: the kernel chooses an unused address, so the mapping changes no other memory.
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

    fn to_multiple_of_4_gib(&self) -> usize {
        (1 << 32) - (self.base.as_ptr() as usize & ((1 << 32) - 1))
    }

    /// Unmaps half of a mapping of `2 * bytes`, so that the rest crosses no multiple of 4 GiB.
    fn cut(self, bytes: usize) -> Self {
        let to_multiple = self.to_multiple_of_4_gib();
        let (skip, end) = part_without_multiple(to_multiple, bytes, page_size());
        let whole = std::mem::ManuallyDrop::new(self);
        // SAFETY: `skip <= bytes`, and `end` is used only if it is below `whole.bytes`. So no
        // offset exceeds `2 * bytes`, the size of the mapping.
        let at = |offset| unsafe { whole.base.add(offset) };
        let part = |from: usize, to: usize| Self {
            base: at(from),
            bytes: to - from,
        };
        drop((skip > 0).then(|| part(0, skip)));
        drop((end < whole.bytes).then(|| part(end, whole.bytes)));
        part(skip, skip + bytes)
    }

    /// Places the pages on a node. Call this method before a page is touched.
    fn bind(&self, node: u32) -> io::Result<()> {
        let mut mask = [0_u64; 16];
        let word = mask
            .get_mut(node as usize / 64)
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        *word |= 1 << (node % 64);
        // SAFETY: the range is a mapping of this value, and the mask has the given number of bits.
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

    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }
}

/// Returns the offset at which `bytes` bytes of a mapping of twice the size cross no multiple of
/// 4 GiB, and the offset of the first page behind them. The multiple is `to_multiple` bytes after
/// the start of the mapping.
fn part_without_multiple(to_multiple: usize, bytes: usize, page_bytes: usize) -> (usize, usize) {
    let skip = if to_multiple < bytes { to_multiple } else { 0 };
    (skip, (skip + bytes).next_multiple_of(page_bytes))
}

/// A slice in a memory module, from [`Host::allocate_slice`](crate::Host::allocate_slice).
pub struct MemorySlice<T> {
    pages: Pages,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: Pod> MemorySlice<T> {
    pub(crate) fn new(len: usize, node: Option<u32>) -> io::Result<Self> {
        const { assert!(align_of::<T>() <= PAGE_BYTES) };
        let bytes = len.checked_mul(size_of::<T>());
        let bytes = bytes.ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Self {
            // A mapping has at least one byte.
            pages: Pages::new(bytes.max(1), node)?,
            len,
            elements: PhantomData,
        })
    }
}

impl<T: Pod> Deref for MemorySlice<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the pages have room for `len` elements, are aligned to them, and belong only to
        // this value, which is borrowed. The bytes are initialised, and any bytes are a valid T,
        // because T is Pod.
        unsafe { slice::from_raw_parts(self.pages.base.cast().as_ptr(), self.len) }
    }
}

impl<T: Pod> DerefMut for MemorySlice<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and this value is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.pages.base.cast().as_ptr(), self.len) }
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for MemorySlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Returns the number of the NUMA node with the page of `address`. Returns an error if the page was
/// never written, or if a sandbox forbids the call.
pub(crate) fn node_of(address: usize) -> io::Result<u32> {
    let page = (address & !(PAGE_BYTES - 1)) as *const libc::c_void;
    let mut status: libc::c_int = -1;
    // SAFETY: without a list of nodes, `move_pages` moves nothing (move_pages(2)): the call reads
    // one address and writes one status.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            0,
            1_usize,
            &raw const page,
            std::ptr::null::<libc::c_int>(),
            &raw mut status,
            0,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    u32::try_from(status).map_err(|_| io::Error::from_raw_os_error(-status))
}

/// Returns the share of transparent huge pages in the touched bytes of the mapping with `address`,
/// or `None` if the system does not report it.
pub(crate) fn huge_page_share(address: usize) -> Option<f64> {
    share_in(&std::fs::read_to_string("/proc/self/smaps").ok()?, address)
}

/// Like [`huge_page_share`], from the text of `/proc/self/smaps`, which lists the addresses of each
/// mapping, followed by lines such as `AnonHugePages: 131072 kB`.
fn share_in(smaps: &str, address: usize) -> Option<f64> {
    let addresses = |line: &str| {
        let (from, to) = line.split_whitespace().next()?.split_once('-')?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        Some(number(from)?..number(to)?)
    };
    let mut lines = smaps.lines();
    lines.find(|line| addresses(line).is_some_and(|range| range.contains(&address)))?;
    let (mut resident, mut huge) = (None, None);
    for line in lines.take_while(|line| addresses(line).is_none()) {
        let kib = || -> Option<f64> { line.split_whitespace().nth(1)?.parse().ok() };
        match line.split(':').next() {
            Some("Rss") => resident = kib(),
            Some("AnonHugePages") => huge = kib(),
            _ => {}
        }
    }
    let (resident, huge) = (resident?, huge?);
    (resident > 0.0).then_some(huge / resident)
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value, and is not used any more.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "a mapping of ours can be unmapped");
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::skipped::skipped;

    #[test]
    fn pages_cross_no_multiple_of_4_gib() {
        // Some mappings would cross a multiple of 4 GiB if they were side by side.
        let all: Vec<Pages> = (0..12)
            .map(|_| Pages::new(1 << 30, None).unwrap())
            .collect();
        for pages in &all {
            assert_eq!(pages.bytes, 1 << 30);
            assert!(pages.to_multiple_of_4_gib() >= pages.bytes);
        }
    }

    #[test]
    fn the_share_of_huge_pages_is_that_of_the_mapping_of_the_address() {
        let smaps = "\
7f0000000000-7f0000400000 rw-p 00000000 00:00 0 
Size:               4096 kB
Rss:                4096 kB
AnonHugePages:      2048 kB
VmFlags: rd wr mr mw me ac hg
7f0000400000-7f0000800000 rw-p 00000000 00:00 0 
Rss:                   0 kB
AnonHugePages:         0 kB
7f0000800000-7f0000900000 r-xp 00000000 08:01 17 /usr/lib/a-library.so
Rss:                1024 kB
";
        assert_eq!(share_in(smaps, 0x7f00_0000_0000), Some(0.5));
        assert_eq!(share_in(smaps, 0x7f00_003f_ffff), Some(0.5));
        // No page of the first mapping was touched, the second has no line about huge pages, and
        // the third address is in no mapping.
        assert_eq!(share_in(smaps, 0x7f00_0040_0000), None);
        assert_eq!(share_in(smaps, 0x7f00_0080_0000), None);
        assert_eq!(share_in(smaps, 0x7f00_0090_0000), None);
    }

    #[test]
    fn small_pages_are_small_for_every_setting_of_the_system() {
        let pages = Pages::of_size(16 << 20, None, false).unwrap();
        for page in (0..pages.bytes).step_by(PAGE_BYTES) {
            // SAFETY: the byte lies in the mapping of `pages`.
            unsafe { pages.base.as_ptr().add(page).write(1) };
        }
        match huge_page_share(pages.base.as_ptr() as usize) {
            Some(share) => assert_eq!(share, 0.0),
            None => skipped("the system does not tell which pages are huge"),
        }
    }

    #[test]
    fn a_slice_is_zeroed_and_may_be_empty_but_not_larger_than_memory() {
        let mut numbers = MemorySlice::<u64>::new(3_000_000, None).unwrap();
        assert!(numbers.iter().all(|number| *number == 0));
        numbers[2_999_999] = 7;
        assert_eq!(numbers.iter().sum::<u64>(), 7);
        assert!(MemorySlice::<u64>::new(0, None).unwrap().is_empty());
        assert_eq!(
            format!("{:?}", MemorySlice::<u8>::new(2, None).unwrap()),
            "[0, 0]"
        );
        let error = MemorySlice::<u64>::new(usize::MAX, None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
    }

    #[test]
    fn a_page_has_a_node_once_it_is_written() {
        let pages = Pages::new(2 * PAGE_BYTES, None).unwrap();
        // SAFETY: the byte is the first byte of the mapping of `pages`.
        unsafe { pages.base.as_ptr().write(1) };
        let of_page = |page: usize| node_of(pages.base.as_ptr() as usize + page * PAGE_BYTES + 7);
        match of_page(0) {
            Ok(node) => {
                assert!(node < 1024, "{node}");
                let untouched = of_page(1).unwrap_err();
                assert_eq!(untouched.raw_os_error(), Some(libc::ENOENT));
            }
            Err(error) => {
                let is_forbidden = matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS));
                assert!(is_forbidden, "{error}");
                skipped("a sandbox forbids the question on which node a page is");
            }
        }
    }

    #[test]
    fn what_is_unmapped_begins_with_a_page_whatever_the_size_of_pages_is() {
        const KIB: usize = 1 << 10;
        let part = |to_multiple, page| part_without_multiple(to_multiple, 68 * KIB, page);
        assert_eq!(part(64 * KIB, 4 * KIB), (64 * KIB, 132 * KIB));
        assert_eq!(part(64 * KIB, 16 * KIB), (64 * KIB, 144 * KIB));
        assert_eq!(part(64 * KIB, 64 * KIB), (64 * KIB, 192 * KIB));
        // The multiple is behind the first half of the mapping.
        assert_eq!(part(128 * KIB, 64 * KIB), (0, 128 * KIB));
    }

    #[test]
    fn the_rest_of_a_cut_mapping_is_unmapped() {
        let twice = Pages::map(8 << 30).unwrap();
        let cut = twice.cut(4 << 30);
        assert_eq!((cut.bytes, cut.to_multiple_of_4_gib()), (4 << 30, 1 << 32));
        // SAFETY: the byte is the first byte of the mapping of `cut`.
        unsafe { cut.base.as_ptr().write(1) };
    }
}
