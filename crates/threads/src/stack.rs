//! Memory for stacks, with a guard below each stack.

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;

/// The size of the guard below every stack. One page would be enough for Rust code, which probes
/// every page of a frame. A large frame of C code could skip such a small guard.
const GUARD_BYTES: usize = 16 * 1024;

/// The number of stacks that an OS thread keeps for its next run. To map a stack and to unmap it
/// takes five times as long as to run an empty thread, and more if other OS threads run, because
/// each of them must forget the addresses.
const MOST_KEPT: usize = 8;

/// The size of the largest stack that is kept. What a thread has touched stays in use.
const LARGEST_KEPT_BYTES: usize = 512 * 1024;

thread_local! {
    static KEPT: RefCell<Kept> = const { RefCell::new(Kept(Vec::new())) };
}

/// The stacks that an OS thread keeps.
struct Kept(Vec<Stack>);

impl Drop for Kept {
    fn drop(&mut self) {
        for stack in self.0.drain(..) {
            // SAFETY: no run uses a stack that is kept, and it has no copy.
            unsafe { stack.unmap() };
        }
    }
}

/// A mapping with the guard at its low end and the stack above the guard.
pub(crate) struct Stack {
    /// The lowest address of the guard. Null for the stack of an OS thread.
    mapping: *mut u8,
    guard_bytes: usize,
    mapped_bytes: usize,
}

impl Stack {
    /// The stack of an OS thread, which this crate has not mapped.
    pub(crate) const FOREIGN: Stack = Stack {
        mapping: ptr::null_mut(),
        guard_bytes: 0,
        mapped_bytes: 0,
    };

    /// Returns a stack of at least `bytes` bytes above a guard: one that this OS thread has kept, or
    /// a new mapping.
    pub(crate) fn take(bytes: usize) -> io::Result<Stack> {
        let kept = KEPT.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            let fits =
                |stack: &Stack| Self::mapped_bytes(bytes).is_some_and(|b| b == stack.mapped_bytes);
            let place = kept.0.iter().position(fits)?;
            Some(kept.0.swap_remove(place))
        });
        match kept {
            Ok(Some(stack)) => Ok(stack),
            // An OS thread that ends keeps no stacks any more.
            Ok(None) | Err(_) => Self::map(bytes),
        }
    }

    /// Keeps the stack for the next run of this OS thread, or frees its memory.
    ///
    /// # Safety
    ///
    /// No code uses the stack any more, and `self` and its copies are not used again.
    pub(crate) unsafe fn give_back(&self) {
        let is_kept = KEPT.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            let has_room = kept.0.len() < MOST_KEPT && self.mapped_bytes <= LARGEST_KEPT_BYTES;
            if has_room {
                kept.0.push(Stack { ..*self });
            }
            has_room
        });
        if !is_kept.unwrap_or(false) {
            // SAFETY: by the contract of this function.
            unsafe { self.unmap() };
        }
    }

    /// Returns the size of the mapping of a stack of `bytes` bytes, or `None` if it is too large.
    fn mapped_bytes(bytes: usize) -> Option<usize> {
        let page = page_bytes();
        let guard_bytes = GUARD_BYTES.next_multiple_of(page);
        bytes
            .checked_next_multiple_of(page)
            .and_then(|bytes| bytes.checked_add(guard_bytes))
            .filter(|&bytes| isize::try_from(bytes).is_ok())
    }

    /// Maps a stack of at least `bytes` bytes above a guard.
    pub(crate) fn map(bytes: usize) -> io::Result<Stack> {
        let guard_bytes = GUARD_BYTES.next_multiple_of(page_bytes());
        let mapped_bytes =
            Self::mapped_bytes(bytes).ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))?;
        // SAFETY: the kernel chooses the address, so the call changes no memory in use.
        let mapping = unsafe {
            libc::mmap(
                ptr::null_mut(),
                mapped_bytes,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK,
                -1,
                0,
            )
        };
        if mapping == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let stack = Stack {
            mapping: mapping.cast(),
            guard_bytes,
            mapped_bytes,
        };
        // SAFETY: the range is the upper part of the mapping that `mmap` has just made.
        let done = unsafe {
            libc::mprotect(
                stack.limit().cast(),
                mapped_bytes - guard_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
            )
        };
        if done != 0 {
            let error = io::Error::last_os_error();
            // SAFETY: no code has used the mapping yet.
            unsafe { stack.unmap() };
            return Err(error);
        }
        Ok(stack)
    }

    /// Frees the memory.
    ///
    /// # Safety
    ///
    /// No code uses the stack any more, and no copy of `self` is unmapped again.
    pub(crate) unsafe fn unmap(&self) {
        // SAFETY: `map` made the mapping, and no code uses it any more.
        let done = unsafe { libc::munmap(self.mapping.cast(), self.mapped_bytes) };
        debug_assert_eq!(done, 0, "munmap: {}", io::Error::last_os_error());
    }

    /// Returns the lowest address above the guard.
    pub(crate) fn limit(&self) -> *mut u8 {
        self.mapping.wrapping_add(self.guard_bytes)
    }

    /// Returns the address after the highest address of the stack.
    pub(crate) fn top(&self) -> *mut u8 {
        self.mapping.wrapping_add(self.mapped_bytes)
    }

    /// Returns the addresses of the guard. Empty for the stack of an OS thread.
    pub(crate) fn guard(&self) -> Range<usize> {
        self.mapping.addr()..self.limit().addr()
    }

    /// Returns the number of bytes from the lowest nonzero byte of this stack to the address `top`.
    pub(crate) fn touched_bytes(&self, top: *const u8) -> usize {
        let page = page_bytes();
        let pages = (self.mapped_bytes - self.guard_bytes) / page;
        let mut resident = vec![0; pages];
        // SAFETY: the range is mapped, and the vector has one byte for each of its pages.
        let done =
            unsafe { libc::mincore(self.limit().cast(), pages * page, resident.as_mut_ptr()) };
        assert_eq!(done, 0, "mincore: {}", io::Error::last_os_error());
        // A page that is not resident is untouched or swapped out, so the result may be too low.
        let Some(first) = resident.iter().position(|&page| page & 1 != 0) else {
            return 0;
        };
        let mut lowest = self.limit().wrapping_add(first * page).cast_const();
        // SAFETY: `lowest` stays below `top` in the readable part of the mapping. The read is
        // volatile because other frames wrote these bytes.
        while lowest < top && unsafe { lowest.read_volatile() } == 0 {
            lowest = lowest.wrapping_add(1);
        }
        top.addr() - lowest.addr()
    }
}

pub(crate) fn page_bytes() -> usize {
    static PAGE_BYTES: OnceLock<usize> = OnceLock::new();
    *PAGE_BYTES.get_or_init(|| {
        // SAFETY: the call reads a constant.
        let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(bytes).expect("the page size is known")
    })
}
