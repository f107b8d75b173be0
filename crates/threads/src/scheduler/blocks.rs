//! The control blocks of a run, with their stacks, and the pools for blocks of ended threads.

use std::cell::{Cell, RefCell};
use std::io;
use std::ptr;

use crate::block::Block;
use crate::stack::Stack;

/// The smallest size of a stack. A panic with a backtrace needs about 8 KiB.
const LEAST_STACK_BYTES: usize = 16 * 1024;

/// The difference between the page offsets of two stack tops. Addresses with the same page offset
/// compete for one set of the L1 cache. Different offsets were measured to be faster by a factor of
/// 2 with 16 threads, and of 3.5 with 1,000 threads.
const STAGGER_BYTES: usize = 128;
const STAGGER_PLACES: usize = 32;

/// The number of blocks that are allocated together.
const BLOCKS_OF_A_CHUNK: usize = 16;

/// The room on every stack for the closure or its result, in addition to the requested bytes.
pub(crate) const FREE_PAYLOAD_BYTES: usize = 512;

pub(super) struct Blocks {
    /// The default size of a stack in bytes.
    stack_bytes: usize,
    /// The first block of the pool for the default stack size. `Block::next` links the pool.
    pool: Cell<*const Block>,
    /// The pools of other stack sizes. An entry holds the size in bytes and the first block.
    other_pools: RefCell<Vec<(usize, *const Block)>>,
    /// All blocks, in use or in a pool. A chunk is never reallocated, so blocks are not moved.
    chunks: RefCell<Vec<Vec<Block>>>,
    #[cfg(cellworks_sanitizer)]
    pub(super) sanitized: crate::sanitizer::Stacks,
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for block in self.chunks.get_mut().iter().flatten() {
            // SAFETY: only the main thread is left. A `Thread` handle checks the serial number
            // before it accesses a block.
            unsafe { block.stack.give_back() };
        }
    }
}

impl Blocks {
    pub(super) fn new(stack_bytes: usize) -> Self {
        Blocks {
            stack_bytes: stack_bytes.max(LEAST_STACK_BYTES),
            pool: Cell::new(ptr::null()),
            other_pools: RefCell::default(),
            chunks: RefCell::default(),
            #[cfg(cellworks_sanitizer)]
            sanitized: Default::default(),
        }
    }

    /// Returns a block with a stack of at least `bytes` (or the default size) plus `extra` bytes.
    ///
    /// # Panics
    ///
    /// Panics if the kernel refuses to map another stack.
    #[inline]
    pub(super) fn take(&self, bytes: Option<usize>, extra: usize, name: Option<&str>) -> &Block {
        let bytes = bytes
            .map_or(self.stack_bytes, |bytes| bytes.max(LEAST_STACK_BYTES))
            .saturating_add(extra);
        let pooled = if bytes == self.stack_bytes {
            let first = self.pool.get();
            // SAFETY: the pointer is null or a block of this run.
            if let Some(block) = unsafe { first.as_ref() } {
                self.pool.set(block.next.get());
            }
            first
        } else {
            self.take_other(bytes)
        };
        // SAFETY: the pointer is null or a block of this run.
        let block = unsafe { pooled.as_ref() }.unwrap_or_else(|| self.map(bytes, name));
        #[cfg(cellworks_sanitizer)]
        crate::sanitizer::unpoison(block.stack.limit(), block.top);
        block
    }

    /// Puts the block of an ended thread into the pool for its stack size.
    #[inline]
    pub(super) fn put(&self, block: &Block) {
        block.forget();
        block.serial.set(0);
        if block.stack_bytes == self.stack_bytes {
            block.next.set(self.pool.replace(block));
        } else {
            self.put_other(block);
        }
    }

    #[cold]
    fn map(&self, bytes: usize, name: Option<&str>) -> &Block {
        let mut chunks = self.chunks.borrow_mut();
        if chunks
            .last()
            .is_none_or(|last| last.len() == BLOCKS_OF_A_CHUNK)
        {
            chunks.push(Vec::with_capacity(BLOCKS_OF_A_CHUNK));
        }
        let full = chunks.len() - 1;
        let chunk = &mut chunks[full];
        let stacks = full * BLOCKS_OF_A_CHUNK + chunk.len();
        let stagger = stacks % STAGGER_PLACES * STAGGER_BYTES;
        let above = STAGGER_PLACES * STAGGER_BYTES + FREE_PAYLOAD_BYTES;
        let stack = bytes
            .checked_add(above)
            .ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))
            .and_then(Stack::take)
            .unwrap_or_else(|error| {
                panic!(
                    "cannot map a stack of {bytes} bytes for {} beside {} others: {error}; \
                     use smaller stacks or fewer threads, or allow this process more memory (ulimit -v) or mappings \
                     (vm.max_map_count, of which a stack takes two)",
                    name.map_or("an unnamed thread".to_owned(), |name| format!("thread '{name}'")),
                    stacks,
                )
            });
        #[cfg(cellworks_sanitizer)]
        self.sanitized.add(&stack);
        let top = stack.top().wrapping_sub(stagger);
        chunk.push(Block::new(stack, top, bytes));
        // SAFETY: the chunk has enough capacity for all of its blocks, so none is moved.
        unsafe { &*ptr::from_ref(&chunk[chunk.len() - 1]) }
    }

    fn take_other(&self, bytes: usize) -> *const Block {
        let mut pools = self.other_pools.borrow_mut();
        let pool = pools
            .iter_mut()
            .find(|(size, first)| *size == bytes && !first.is_null());
        pool.map_or(ptr::null(), |(_, first)| {
            let block = *first;
            // SAFETY: `first` is not null, and blocks of this run stay in their places.
            *first = unsafe { (*block).next.get() };
            block
        })
    }

    fn put_other(&self, block: &Block) {
        let mut pools = self.other_pools.borrow_mut();
        match pools
            .iter_mut()
            .find(|(size, _)| *size == block.stack_bytes)
        {
            Some((_, first)) => block.next.set(std::mem::replace(first, block)),
            None => {
                block.next.set(ptr::null());
                pools.push((block.stack_bytes, block));
            }
        }
    }
}
