//! The control blocks of a run, and their stacks. A thread gets a block when it starts, and returns
//! the block when it has ended.

use std::cell::{Cell, RefCell};
use std::io;
use std::ptr;

use crate::block::Block;
use crate::stack::Stack;

/// The smallest size of a stack. A panic with a backtrace needs about 8 KiB.
const LEAST_STACK_BYTES: usize = 16 * 1024;

/// The step between the offsets of the tops of stacks in a page. Tops with the same offset would
/// share one set of the L1 cache. Different offsets were measured to be faster by a factor of 2
/// with 16 threads, and of 3.5 with 1,000.
const STAGGER_BYTES: usize = 128;
const STAGGER_PLACES: usize = 32;

/// The number of blocks that are allocated together.
const BLOCKS_OF_A_CHUNK: usize = 16;

/// The room for a closure or its result on every stack, in addition to the requested bytes.
pub(crate) const FREE_PAYLOAD_BYTES: usize = 512;

/// The blocks of a run. Each block has a stack.
pub(super) struct Blocks {
    /// The default size of a stack in bytes.
    stack_bytes: usize,
    /// The pool of stacks of the default size: blocks that are linked by `Block::next`.
    pool: Cell<*const Block>,
    /// The pools of stacks of other sizes. An entry holds the size in bytes and the first block.
    other_pools: RefCell<Vec<(usize, *const Block)>>,
    /// All blocks, in use or in a pool. A chunk never grows, so blocks stay in their places.
    chunks: RefCell<Vec<Vec<Block>>>,
    #[cfg(cellworks_sanitizer)]
    pub(super) sanitized: crate::sanitizer::Stacks,
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for block in self.chunks.get_mut().iter().flatten() {
            // SAFETY: all threads except the main thread have ended. If a `Thread` still points to
            // the block, its serial number is checked before the block is accessed.
            unsafe { block.stack.unmap() };
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

    /// Returns a block with a stack of at least `bytes` bytes plus `extra` bytes. If `bytes` is
    /// `None`, the stack has the default size plus `extra`.
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
            // SAFETY: null or a block of this run.
            if let Some(block) = unsafe { first.as_ref() } {
                self.pool.set(block.next.get());
            }
            first
        } else {
            self.take_other(bytes)
        };
        // SAFETY: null or a block of this run.
        let block = unsafe { pooled.as_ref() }.unwrap_or_else(|| self.map(bytes, name));
        #[cfg(cellworks_sanitizer)]
        crate::sanitizer::unpoison(block.stack.limit(), block.top);
        block
    }

    /// Puts the block of an ended thread, and its stack, into the pool.
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
            .and_then(Stack::map)
            .unwrap_or_else(|error| {
                panic!(
                    "cannot map a stack of {bytes} bytes for {} beside {} others: {error}; \
                     use smaller stacks or fewer threads (each stack takes two mappings of vm.max_map_count)",
                    name.map_or("an unnamed thread".to_owned(), |name| format!("thread '{name}'")),
                    stacks,
                )
            });
        #[cfg(cellworks_sanitizer)]
        self.sanitized.add(&stack);
        let top = stack.top().wrapping_sub(stagger);
        chunk.push(Block::new(stack, top, bytes));
        // SAFETY: a chunk is never reallocated, because its capacity is enough for all of its
        // blocks. Therefore a block stays in its place as long as `self` lives.
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
