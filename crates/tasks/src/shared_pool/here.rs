//! Which worker the calling thread is, for calls that do not name their worker.
//!
//! Workers that share an OS thread take turns on it, and each of them runs its jobs on several
//! cooperative threads. So the record has all of them, and the calling one is found by its sleeper.

use std::cell::RefCell;
use std::collections::BTreeMap;

use cellworks_machine::{Sleeper, Spe};

use crate::worker::Worker;

thread_local! {
    /// The entries by their numbers, because they end in any order, and may be thousands.
    static HERE: RefCell<Entries> = const { RefCell::new(BTreeMap::new()) };
}

type Entries = BTreeMap<usize, Entry>;

struct Entry {
    pool: usize,
    /// The worker of a cooperative thread. `None` for the main program.
    worker: Option<OfThread>,
}

#[derive(Clone, Copy)]
struct OfThread {
    worker: *const (),
    sleeper: Sleeper,
    /// Returns the sleeper of the calling thread.
    caller: unsafe fn(*const ()) -> Sleeper,
}

/// What the calling thread is for a pool.
#[derive(Clone, Copy)]
pub(crate) enum Here {
    /// It does not belong to the pool.
    Elsewhere,
    /// It runs jobs of the pool with this `Worker`.
    Worker(*const ()),
    /// It is on an OS thread of the pool, and has no worker.
    Thread,
}

/// Returns what the calling thread is for a pool.
pub(crate) fn look(pool: usize) -> Here {
    let look = |entries: &RefCell<Entries>| {
        let mut here = Here::Elsewhere;
        for entry in entries.borrow().values().filter(|entry| entry.pool == pool) {
            here = Here::Thread;
            if let Some(of) = entry.worker {
                // SAFETY: the worker exists, because its entry exists.
                if unsafe { (of.caller)(of.worker) } == of.sleeper {
                    return Here::Worker(of.worker);
                }
            }
        }
        here
    };
    // In an OS thread that ends, destructors of its other thread-locals may use a pool when there
    // is no record any more.
    HERE.try_with(look).unwrap_or(Here::Elsewhere)
}

/// Returns whether the calling thread is on an OS thread of the pool.
pub(crate) fn is_of(pool: usize) -> bool {
    !matches!(look(pool), Here::Elsewhere)
}

/// Returns the numbers of all pools of the calling thread.
pub(crate) fn pools() -> Vec<usize> {
    let pools = |entries: &RefCell<Entries>| {
        let mut pools = Vec::from_iter(entries.borrow().values().map(|entry| entry.pool));
        pools.sort_unstable();
        pools.dedup();
        pools
    };
    HERE.try_with(pools).unwrap_or_default()
}

/// The number of an entry of the record, which is removed when this value is dropped. `None` if the
/// thread has no record.
pub(crate) struct Listed(Option<usize>);

impl Listed {
    /// Records the worker of the calling thread.
    ///
    /// # Safety
    ///
    /// The caller drops the result on this thread before it drops the worker.
    pub(crate) unsafe fn with<S: Spe>(worker: &Worker<'_, S>) -> Self {
        /// # Safety
        ///
        /// `worker` is a valid pointer to a `Worker` of this type.
        unsafe fn caller<S: Spe>(worker: *const ()) -> Sleeper {
            // SAFETY: by the contract of this function.
            unsafe { &*worker.cast::<Worker<'_, S>>() }.spe().sleeper()
        }
        let of = OfThread {
            worker: std::ptr::from_ref(worker).cast(),
            sleeper: worker.spe().sleeper(),
            caller: caller::<S>,
        };
        Self::new(worker.program().shared.number, Some(of))
    }

    /// Records the thread of the main program.
    pub(crate) fn without_worker(pool: usize) -> Self {
        Self::new(pool, None)
    }

    fn new(pool: usize, worker: Option<OfThread>) -> Self {
        let add = |entries: &RefCell<Entries>| {
            let mut entries = entries.borrow_mut();
            let number = entries.last_key_value().map_or(0, |(last, _)| last + 1);
            entries.insert(number, Entry { pool, worker });
            number
        };
        // An OS thread that ends has no record. Only simulated machines run workers on such a
        // thread, and they have no shared pools.
        Self(HERE.try_with(add).ok())
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        if let Some(number) = self.0 {
            let _ = HERE.try_with(|entries| entries.borrow_mut().remove(&number));
        }
    }
}
