//! The queues of programs that were spawned and have not begun.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cellworks_machine::{CellSpe, Processor, Program, SpeCore, SpeId};

use crate::run::{Run, is_cancellation, lock};
use crate::spe::HostSpe;

pub(crate) struct Programs {
    run: Arc<Run>,
    queues: Vec<Queue>,
}

#[derive(Default)]
struct Queue {
    programs: Mutex<VecDeque<Program<HostSpe>>>,
    /// The number of programs, which can be read without the lock.
    length: AtomicUsize,
}

impl Programs {
    pub(crate) fn of(run: Arc<Run>) -> Self {
        let queues = run.topology.spes().map(|_| Queue::default()).collect();
        Self { run, queues }
    }

    pub(crate) fn run(&self) -> &Arc<Run> {
        &self.run
    }

    /// Adds a program, and wakes the worker of its SPE.
    pub(crate) fn enqueue(&self, at: SpeId, program: Program<HostSpe>) {
        self.run.programs.fetch_add(1, Ordering::Relaxed);
        let queue = &self.queues[at.index()];
        lock(&queue.programs).push_back(program);
        queue.length.fetch_add(1, Ordering::Release);
        self.run.notify(Processor::Spe(at));
    }

    /// Takes the oldest program of an SPE.
    pub(crate) fn next(&self, at: SpeId) -> Option<Program<HostSpe>> {
        let queue = &self.queues[at.index()];
        if queue.length.load(Ordering::Acquire) == 0 {
            return None;
        }
        let program = lock(&queue.programs).pop_front()?;
        queue.length.fetch_sub(1, Ordering::Relaxed);
        Some(program)
    }

    pub(crate) fn execute(&self, spe: &HostSpe, at: SpeId, program: Program<HostSpe>) {
        let outcome = program.outcome();
        let name = program.name();
        self.run.runs(at, Some((name, program.spawned_at())));
        let mut panic = program.run(spe).err();
        self.run.runs(at, None);
        spe.set_place(None);
        if let Some(late) = spe.mfc().end_program()
            && panic.as_ref().is_none_or(is_cancellation)
        {
            panic = Some(Box::new(late));
        }
        self.run.end_program(at, name, &outcome, panic);
    }

    pub(crate) fn drop_queued(&self) {
        for at in self.run.topology.spes() {
            while let Some(program) = self.next(at) {
                let outcome = program.outcome();
                let name = program.name();
                let dropped = catch_unwind(AssertUnwindSafe(|| drop(program)));
                self.run.end_program(at, name, &outcome, dropped.err());
            }
        }
    }
}
