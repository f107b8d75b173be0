//! The tasks that wait for the end of another pool.
//!
//! A pool ends after its last task. So if a task of a pool waits for the end of another pool, and a
//! task of that one for the end of the first, neither ends.

use std::panic::Location;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::shared_pool::here;

static WAITS: Mutex<Vec<Wait>> = Mutex::new(Vec::new());

struct Wait {
    /// The numbers of the pools of the waiting thread.
    waiting: Vec<usize>,
    /// The number of the pool that is to end.
    target: usize,
    /// The call that started the target.
    target_started_at: &'static Location<'static>,
}

fn waits() -> MutexGuard<'static, Vec<Wait>> {
    WAITS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The wait of the calling thread for the end of the pool with this number.
pub(super) struct WaitForEnd(usize);

impl WaitForEnd {
    /// Records the wait. `started_at` is the call that started the pool.
    ///
    /// # Errors
    ///
    /// Returns the call that started a pool of the calling thread, if a task of the pool `target`
    /// already waits for the end of this pool, by itself or through the waits of further pools.
    pub(super) fn begin(
        target: usize,
        started_at: &'static Location<'static>,
    ) -> Result<Self, &'static Location<'static>> {
        let here = here::pools();
        let mut waits = waits();
        let mut held_up_by = vec![target];
        let mut next = 0;
        while let Some(pool) = held_up_by.get(next).copied() {
            for wait in waits.iter().filter(|wait| wait.waiting.contains(&pool)) {
                if here.contains(&wait.target) {
                    return Err(wait.target_started_at);
                }
                if !held_up_by.contains(&wait.target) {
                    held_up_by.push(wait.target);
                }
            }
            next += 1;
        }
        waits.push(Wait {
            waiting: here,
            target,
            target_started_at: started_at,
        });
        Ok(Self(target))
    }
}

impl Drop for WaitForEnd {
    fn drop(&mut self) {
        // Only the last handle of a pool waits for its end.
        waits().retain(|wait| wait.target != self.0);
    }
}
