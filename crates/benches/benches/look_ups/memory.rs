//! Tables in pages of a chosen size.

use std::fmt;

/// The size of the pages in which memory is mapped.
#[derive(Clone, Copy)]
pub enum Pages {
    /// 2 MiB.
    Huge,
    /// 4 KiB.
    Small,
}

impl fmt::Display for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Huge => "pages of 2 MiB",
            Self::Small => "pages of 4 KiB",
        })
    }
}

/// A table of random words. Its length is a power of two.
pub struct Table {
    words: *mut u64,
    len: usize,
}

impl Table {
    pub fn new(bytes: usize, pages: Pages) -> Self {
        const HUGE: usize = 2 << 20;
        let mapped = bytes.next_multiple_of(HUGE) + HUGE;
        // SAFETY: a new anonymous mapping at an address that the kernel chooses touches no memory
        // in use. Only `drop` unmaps it.
        let (words, len) = unsafe {
            let mapping = libc::mmap(
                std::ptr::null_mut(),
                mapped,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            );
            assert_ne!(mapping, libc::MAP_FAILED, "no memory for the table");
            let begin = mapping.cast::<u8>();
            let advice = match pages {
                Pages::Huge => libc::MADV_HUGEPAGE,
                Pages::Small => libc::MADV_NOHUGEPAGE,
            };
            if libc::madvise(mapping, mapped, advice) != 0 {
                eprintln!("warning: the kernel does not take advice on the size of pages");
            }
            let aligned = begin.map_addr(|address| address.next_multiple_of(HUGE));
            // The pages before and after the table are unmapped, so that `drop` has one range.
            let before = aligned.addr() - begin.addr();
            if before > 0 {
                libc::munmap(mapping, before);
            }
            let end = aligned.wrapping_add(bytes.next_multiple_of(HUGE));
            libc::munmap(end.cast(), mapped - before - bytes.next_multiple_of(HUGE));
            (aligned.cast::<u64>(), bytes / size_of::<u64>())
        };
        assert!(len.is_power_of_two());
        let mut table = Self { words, len };
        let mut word = 0x1234_5678_9abc_def1_u64;
        for place in table.words_mut() {
            // xorshift64 gives every word except 0, in an order without pattern.
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            *place = word;
        }
        table
    }

    pub fn words(&self) -> &[u64] {
        // SAFETY: the mapping has `len` words, which this value owns.
        unsafe { std::slice::from_raw_parts(self.words, self.len) }
    }

    pub fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `words`, and the words are borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.words, self.len) }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let bytes = (self.len * size_of::<u64>()).next_multiple_of(2 << 20);
        // SAFETY: this is the rest of the mapping, and nothing borrows it any more.
        unsafe { libc::munmap(self.words.cast(), bytes) };
    }
}
