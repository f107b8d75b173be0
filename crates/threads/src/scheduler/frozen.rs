//! The mode *frozen*: the idle hook, or a `Display` passed to `park`, runs on the stack of a thread
//! that may be waiting. The block of this thread records the wait, and a second wait would
//! overwrite the record. Therefore no switch is allowed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use super::{FROZEN, Scheduler};
use crate::block::{Block, State};
use crate::cancelled::discard;
use crate::report::BlockedThread;
use crate::thread::Thread;

impl Scheduler {
    pub(super) fn assert_not_frozen(&self, what: &str) {
        assert!(
            !self.is_frozen(),
            "`{what}` was called by `Idle::idle`, or by the `Display` of what a thread waits for, where nothing may wait or be started"
        );
    }

    /// Runs `f`, which must not unwind, in the mode *frozen*.
    pub(super) fn frozen<R>(&self, f: impl FnOnce() -> R) -> R {
        if self.is_frozen() {
            return f();
        }
        self.mode.set(self.mode.get() | FROZEN);
        let ready = self.ready.hide();
        let result = f();
        self.ready.show(ready);
        self.mode.set(self.mode.get() & !FROZEN);
        let (mut woken, _) = self.run().take_woken();
        if self.is_cancelled() {
            self.run().interrupt(&self.ready);
        } else {
            // SAFETY: the pointer is null or a block of this run.
            while let Some(block) = unsafe { woken.as_ref() } {
                woken = block.next.get();
                // The running thread was not suspended, so it must not be in the queue.
                if !ptr::eq(block, self.current.get()) {
                    self.ready.push(block.context.get());
                }
            }
        }
        result
    }

    pub(crate) fn blocked_threads(&self) -> Vec<BlockedThread> {
        if self.run.get().is_null() {
            return Vec::new();
        }
        self.end_turns();
        self.frozen(|| {
            let waiting = self
                .live
                .iter()
                .filter(|block| block.state.get() != State::Ready);
            waiting.map(describe).collect()
        })
    }
}

/// Returns the entry of a waiting thread for a report.
fn describe(block: &Block) -> BlockedThread {
    let text = catch_unwind(AssertUnwindSafe(|| {
        let why = block.why.get();
        // SAFETY: the thread waits, so its call of `wait` still borrows the description. No thread
        // runs meanwhile, because the core is frozen.
        why.map(|why| unsafe { why.as_ref() }.to_string())
    }));
    let waits_for = match text {
        Ok(text) => text.unwrap_or_default(),
        Err(payload) => {
            discard(payload);
            "something whose description panicked".to_owned()
        }
    };
    BlockedThread {
        name: block.name(),
        thread: Thread::of(block).into_raw(),
        waits_for,
        at: block.at.get(),
    }
}
