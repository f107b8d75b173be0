//! Prefetches of cache lines. A prefetch accesses no memory, so any address is allowed.

#[inline(always)]
pub(crate) fn to_read<T>(at: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch accesses no memory.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Prefetches a cache line for writing, which removes the line from other cores' caches.
#[inline(always)]
pub(crate) fn to_write(address: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch accesses no memory.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
