//! The data by which programs of SPEs start processes, and the count of living processes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cellworks_machine::SpeId;

use crate::channel::waker::{Waker, Woken};
use crate::process::pending;
use crate::sync::locked;

#[derive(Debug, Default)]
pub(crate) struct Starting {
    programs: Mutex<BTreeMap<SpeId, Program>>,
    /// The number of processes that have not ended, including those that have not begun.
    living: AtomicUsize,
}

#[derive(Debug, Default)]
struct Program {
    /// The waker of the thread that starts processes, or `None` until this thread is ready.
    waker: Option<Waker>,
    /// The number of requests from other processors that the thread has not taken.
    delivered: usize,
}

/// Counts a process of the network as living, as long as this value lives.
#[derive(Debug)]
pub(crate) struct Living(Arc<Starting>);

impl Living {
    pub fn new(starting: &Arc<Starting>) -> Self {
        starting.living.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(starting))
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        // The order is `AcqRel`, so that a thread that reads 0 sees all that the processes did.
        if self.0.living.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        let programs = locked(&self.0.programs);
        let wakers = Vec::from_iter(programs.values().filter_map(|program| program.waker));
        drop(programs);
        for waker in wakers {
            pending::wake(Woken::One(waker));
        }
    }
}

impl Starting {
    pub fn is_over(&self) -> bool {
        self.living.load(Ordering::Acquire) == 0
    }

    /// Records that the thread that `waker` wakes starts the processes of `spe` from now on.
    pub fn serves(&self, spe: SpeId, waker: Waker) {
        locked(&self.programs).entry(spe).or_default().waker = Some(waker);
    }

    /// Returns the waker of the thread that starts the processes of `spe`. If the result is `None`,
    /// the thread need not be woken: it checks for requests before its first wait.
    pub fn waker_of(&self, spe: SpeId) -> Option<Waker> {
        let programs = locked(&self.programs);
        programs.get(&spe).and_then(|program| program.waker)
    }

    /// Counts a request from another processor to `spe`. Returns the waker of the thread to wake.
    pub fn deliver(&self, spe: SpeId) -> Option<Waker> {
        let mut programs = locked(&self.programs);
        let program = programs.entry(spe).or_default();
        program.delivered += 1;
        program.waker
    }

    /// Returns whether the thread that starts the processes of `spe` has a request to take.
    pub fn has_delivered(&self, spe: SpeId) -> bool {
        let programs = locked(&self.programs);
        programs
            .get(&spe)
            .is_some_and(|program| program.delivered > 0)
    }

    pub fn take_delivered(&self, spe: SpeId) -> bool {
        let mut programs = locked(&self.programs);
        let program = programs.entry(spe).or_default();
        let is_there = program.delivered > 0;
        program.delivered -= usize::from(is_there);
        is_there
    }

    /// Returns whether the machine's thread `thread` starts the processes of an SPE.
    pub fn is_thread(&self, thread: (usize, u64)) -> bool {
        let programs = locked(&self.programs);
        let mut wakers = programs.values().filter_map(|program| program.waker);
        wakers.any(|waker| waker.sleeper.thread() == thread)
    }
}
