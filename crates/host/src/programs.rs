//! Programs on their way to their SPEs, and the OS threads that run them.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cellworks_machine::{Processor, Program, SpeId, Wait};
use cellworks_threads as threads;

use crate::layout::WorkerLayout;
use crate::pin::Pinned;
use crate::run::{Run, lock};
use crate::spe::HostSpe;
use crate::worker::{NO_PROGRAM, OWNER, Worker};

/// The programs of a run that have been spawned and have not begun.
pub(crate) struct Programs {
    run: Arc<Run>,
    /// By SPE.
    queues: Vec<Queue>,
}

/// What an SPE has to do.
#[derive(Default)]
struct Queue {
    programs: Mutex<VecDeque<Program<HostSpe>>>,
    /// How many programs the queue has, to be looked at without the lock.
    queued: AtomicUsize,
}

impl Programs {
    pub(crate) fn new(run: Arc<Run>) -> Self {
        let queues = run.seats.iter().map(|_| Queue::default()).collect();
        Self { run, queues }
    }

    pub(crate) fn enqueue(&self, at: SpeId, program: Program<HostSpe>) {
        self.run.programs.fetch_add(1, Ordering::Relaxed);
        let queue = &self.queues[at.index()];
        lock(&queue.programs).push_back(program);
        queue.queued.fetch_add(1, Ordering::Release);
        self.run.notify(Processor::Spe(at));
    }

    fn next(&self, at: SpeId) -> Option<Program<HostSpe>> {
        let queue = &self.queues[at.index()];
        if queue.queued.load(Ordering::Acquire) == 0 {
            return None;
        }
        let program = lock(&queue.programs).pop_front()?;
        queue.queued.fetch_sub(1, Ordering::Relaxed);
        Some(program)
    }

    /// Runs a program on the SPE that it was spawned on.
    fn execute(&self, spe: &HostSpe, at: SpeId, program: Program<HostSpe>) {
        let outcome = program.outcome();
        let name = program.name();
        self.run.set_running(at, Some((name, program.spawned_at())));
        let result = program.run(spe);
        self.run.set_running(at, None);
        self.run.end_program(at, name, &outcome, result.err());
    }

    /// Drops the programs that never began.
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

    /// The life of a worker's OS thread: serves the SPEs until the run ends.
    pub(crate) fn serve(&self, seat: usize, layout: WorkerLayout) {
        // A host that may not pin has said so when it was built.
        let is_pinned = Pinned::to(layout.cpu).map(Pinned::for_good).is_ok();
        self.run.parking.sit(seat);
        let config = threads::Config {
            stack_bytes: self.run.stack_bytes,
        };
        let worker = Rc::new(Worker::new(Arc::clone(&self.run), seat, layout.with_ppe));
        let served = OWNER.run(&config, &*worker, || {
            OWNER.scope_at(Location::caller(), |scope| {
                for spe in layout.spes {
                    let worker = &worker;
                    let server = scope.builder().name(spe.to_string());
                    drop(server.spawn(move || self.serve_spe(worker, spe)));
                }
            });
        });
        // Which threads were cancelled, and why, is for the run to report.
        drop(served);
        if is_pinned {
            self.run.cpu_time.add(seat, 0);
        }
    }

    /// Runs the programs that are spawned on one SPE.
    fn serve_spe(&self, worker: &Rc<Worker>, id: SpeId) {
        let mut spe = HostSpe::new(id, Rc::clone(worker));
        let mut next = None;
        loop {
            let came = worker.wait_until(&NO_PROGRAM, &mut || {
                if !self.run.is_cancelled() {
                    next = self.next(id);
                }
                next.is_some() || self.run.has_ended()
            });
            match next.take() {
                Some(program) if came => self.execute(&spe, id, program),
                _ => return,
            }
            if !spe.is_as_new() {
                spe = HostSpe::new(id, Rc::clone(worker));
            }
        }
    }
}
