//! Which thread goes on when the running thread waits or has ended.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use super::Scheduler;
use crate::arch::Context;
use crate::block::{Block, State};
use crate::config::Verdict;
use crate::report::Cause;

impl Scheduler {
    /// Returns the thread to continue when the running thread waits or has ended. `waiting` is the
    /// running thread, or `None` if it has ended. Returns `None` if the running thread can go on.
    pub(super) fn next(&self, waiting: Option<&Block>) -> Option<Context> {
        loop {
            // This check is the first, because the running thread is in no queue, so no other code
            // would continue it.
            if waiting.is_some_and(|me| me.state.get() == State::Ready) {
                return None;
            }
            if !self.ready.is_empty() {
                return Some(self.ready.pop());
            }
            if self.is_cancelled() {
                let interrupted = self.run().interrupted.borrow_mut().pop_front();
                // The condition of a thread in `outlast` may be true by now.
                let outlasting = || self.next_that_outlasts();
                return interrupted.or_else(outlasting).or_else(|| {
                    let youngest = self.live.last().expect("the main thread is alive");
                    let continues_itself = waiting.is_some_and(|me| ptr::eq(me, youngest));
                    (!continues_itself).then(|| {
                        self.current.set(youngest);
                        Self::suspended_at(youngest)
                    })
                });
            }
            self.ask_outside();
        }
    }

    #[cold]
    pub(super) fn ask_outside(&self) {
        let run = self.run();
        // SAFETY: `run` borrows the hook and has not returned.
        let idle = unsafe { &*run.idle };
        let answer = self.frozen(|| catch_unwind(AssertUnwindSafe(|| idle.idle())));
        match answer {
            Ok(Verdict::Continue) => {}
            Ok(Verdict::Stuck) => self.cancel(Cause::Stuck),
            Err(payload) => {
                run.idle_panic.set(Some(payload));
                self.cancel(Cause::Cancelled);
            }
        }
    }
}
