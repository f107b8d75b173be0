//! How many tasks a worker stages ahead.

use crate::pool::settings::Staging;

/// The largest number of tasks that `Staging::Automatic` stages ahead.
const AHEAD_MAX: usize = 8;

/// A task's wait for its data is *long* if it takes more than 1/20 (1 divided by this number) of
/// the time from the start of the wait to the end of the task. After a long wait, one more task is
/// staged ahead.
const WAIT_TOLERATED: u128 = 20;

/// After this number of successive tasks without a long wait, one task fewer is staged ahead.
const TASKS_WITHOUT_WAIT: u32 = 16;

/// The number of tasks that a worker stages ahead.
pub(crate) struct Depth {
    staging: Staging,
    pub(crate) ahead: usize,
    without_wait: u32,
}

impl Depth {
    /// `is_confined` is true if tasks can use data only in the local store.
    pub(crate) fn new(staging: Staging, is_confined: bool) -> Self {
        let ahead = match staging {
            Staging::Ahead(tasks) => tasks,
            // Tasks that are not confined use data in place, and the CPU prefetches the data.
            Staging::Automatic => usize::from(is_confined),
            Staging::Off => 0,
        };
        Self {
            staging,
            ahead,
            without_wait: 0,
        }
    }

    /// Adapts the number of tasks that are staged ahead. The last task took the time `took`, which
    /// includes the time `waited` in which it waited for its data.
    pub(crate) fn learn(&mut self, waited: u128, took: u128) {
        if self.ahead == 0 || self.staging != Staging::Automatic {
            return;
        }
        if waited.saturating_mul(WAIT_TOLERATED) > took {
            self.without_wait = 0;
            self.ahead = (self.ahead + 1).min(AHEAD_MAX);
        } else {
            self.without_wait += 1;
            if self.without_wait == TASKS_WITHOUT_WAIT {
                self.without_wait = 0;
                self.ahead = (self.ahead - 1).max(1);
            }
        }
    }
}
