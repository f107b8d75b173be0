//! Waking: a thread that waits becomes ready.

use std::ptr;

use super::Scheduler;
use crate::block::{Block, State};

impl Scheduler {
    /// Returns the block if the thread was started in the present run of this core.
    #[inline(always)]
    fn of_this_run(&self, block: *const Block, serial: u64) -> Option<&Block> {
        // SAFETY: blocks stay in their places until the end of the run.
        self.is_of_this_run(serial).then(|| unsafe { &*block })
    }

    /// Returns the block if the thread belongs to the present run of this core and is parked.
    #[inline(always)]
    pub(super) fn parked(&self, block: *const Block, serial: u64) -> Option<&Block> {
        self.of_this_run(block, serial)
            .filter(|block| block.serial.get() == serial && block.state.get() == State::Parked)
    }

    /// See [`Thread::try_unpark`](crate::Thread::try_unpark).
    #[inline(always)]
    pub(crate) fn try_unpark(&self, block: *const Block, serial: u64) -> bool {
        let block = self.of_this_run(block, serial);
        if let Some(block) = block {
            self.unpark(block, serial);
        }
        block.is_some()
    }

    /// Ends the park of the thread with this serial number. If the thread is not parked, ends its
    /// next park instead. If the thread has ended, does nothing.
    #[inline(always)]
    fn unpark(&self, block: &Block, serial: u64) {
        if block.serial.get() != serial {
            return;
        }
        if block.state.get() == State::Parked {
            self.wake(block);
        } else {
            block.token.set(true);
        }
    }

    #[inline(always)]
    pub(crate) fn wake(&self, block: &Block) {
        block.state.set(State::Ready);
        if self.mode.get() == 0 {
            self.ready.push(block.context.get());
        } else {
            self.wake_later(block);
        }
    }

    /// Wakes a thread in a mode other than normal. On a cancelled core, does nothing, because a
    /// cancelled core continues all of its threads.
    #[cold]
    fn wake_later(&self, block: &Block) {
        if self.is_cancelled() {
            return;
        }
        if self.is_rotating() {
            self.leave_rotation();
            return self.ready.push(block.context.get());
        }
        let woken = &self.run().woken;
        let (first, last) = woken.get();
        block.next.set(ptr::null());
        // SAFETY: the pointer is null or a block of this run.
        match unsafe { last.as_ref() } {
            Some(last) => {
                last.next.set(block);
                woken.set((first, block));
            }
            None => woken.set((block, block)),
        }
    }

    /// See [`Owner::unpark_parked`](crate::Owner::unpark_parked).
    #[inline]
    pub(crate) fn unpark_parked(&self, block: *const Block, serial: u64) {
        if let Some(block) = self.parked(block, serial) {
            self.wake(block);
        }
    }
}
