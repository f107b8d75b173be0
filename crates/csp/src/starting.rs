//! The programs that start processes while their network runs, and the count of living processes.
//!
//! The queues of processes to start are in [`crate::start`], which knows the types of the bodies.
//! This module has the data that carriers and processes need.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cellworks_machine::SpeId;

use crate::pending;
use crate::sync::locked;
use crate::waker::{Waker, Woken};

#[derive(Debug, Default)]
pub(crate) struct Starting {
    programs: Mutex<BTreeMap<SpeId, Program>>,
    /// The number of processes that have not ended, including those that have not begun.
    living: AtomicUsize,
}

/// The program of an SPE.
#[derive(Debug, Default)]
struct Program {
    /// The waker of the thread that starts processes, or `None` until this thread is ready.
    waker: Option<Waker>,
    /// How many requests from other processors the thread has not taken.
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
        // The order is `AcqRel`, so that a thread that reads 0 also sees everything that the
        // processes did before they ended.
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
    /// Returns whether all processes have ended, so that no process can start another process.
    pub fn is_over(&self) -> bool {
        self.living.load(Ordering::Acquire) == 0
    }

    /// Records that the program of `spe` starts processes from now on, on the thread of `waker`.
    pub fn serves(&self, spe: SpeId, waker: Waker) {
        locked(&self.programs).entry(spe).or_default().waker = Some(waker);
    }

    /// Returns the waker of the thread that starts the processes of `spe`. If the result is `None`,
    /// this thread checks for requests before its first wait.
    pub fn waker_of(&self, spe: SpeId) -> Option<Waker> {
        let programs = locked(&self.programs);
        programs.get(&spe).and_then(|program| program.waker)
    }

    /// Called when a request of another processor has come to `spe`. Returns the waker to wake.
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

    /// Takes a request that has come to `spe`. Returns whether there was a request.
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
