//! The queued and the running programs of a run, and the failures of ended programs.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;

use cellworks_machine::{
    Cancelled, LocalStore, Outcome, Payload, Processor, Program, RunError, SpeId,
};
use cellworks_threads as threads;

use crate::hazard::HazardWatch;
use crate::index::PPE;
use crate::setup::{PpeAccess, Setup};
use crate::spe::SimSpe;
use crate::time::Femtoseconds;
use crate::world::World;

pub(crate) struct Programs {
    pub world: Rc<World>,
    pub ppe_access: PpeAccess,
    /// The number of spawned programs that have not ended.
    count: Cell<usize>,
    /// Whether no more programs will be spawned.
    ended: Cell<bool>,
    queues: Vec<RefCell<VecDeque<Program<SimSpe>>>>,
    failures: RefCell<Vec<ProgramFailure>>,
}

/// A program that has panicked.
struct ProgramFailure {
    at: SpeId,
    program: &'static str,
    outcome: Arc<Outcome>,
}

impl Programs {
    pub fn new(world: Rc<World>, ppe_access: PpeAccess) -> Self {
        let spes = world.topology.spes();
        Self {
            queues: spes.map(|_| RefCell::default()).collect(),
            world,
            ppe_access,
            count: Cell::new(0),
            ended: Cell::new(false),
            failures: RefCell::default(),
        }
    }

    pub fn have_ended(&self) -> bool {
        self.count.get() == 0
    }

    pub fn enqueue(&self, at: SpeId, program: Program<SimSpe>) {
        self.count.set(self.count.get() + 1);
        self.queues[at.index()].borrow_mut().push_back(program);
        self.world.notify(self.world.spe(at));
    }

    fn next_program(&self, at: SpeId) -> Option<Program<SimSpe>> {
        self.queues[at.index()].borrow_mut().pop_front()
    }

    /// Runs the programs of an SPE one after the other, in the calling cooperative thread.
    pub fn serve(&self, setup: &Setup, id: SpeId) {
        let world = &self.world;
        let processor = world.spe(id);
        let me = world.adopt(processor, 0);
        world.take_processor(me);
        world.resume_now(Some(me));
        world.first_turn(me);
        let mut spe = self.spe(setup, id);
        loop {
            let mut next = None;
            let at = Location::caller();
            world.wait_without_program(processor, at, &mut || {
                next = self.next_program(id);
                next.is_some() || self.ended.get()
            });
            let Some(program) = next else { break };
            self.execute(&spe, id, program);
            if !spe.is_as_new() {
                self.renew_mfc(id);
                spe = self.spe(setup, id);
            }
        }
        world.leave(processor);
    }

    fn spe(&self, setup: &Setup, id: SpeId) -> SimSpe {
        let local_store = LocalStore::new(id, setup.local_stores[id.index()].clone());
        let local_store = match setup.options.hazards {
            HazardWatch::Off => local_store,
            _ => local_store.watched(self.world.local_store_watch(id)),
        };
        SimSpe::new(id, Rc::clone(&self.world), setup.timebase(), local_store)
    }

    /// Resets the MFC of an SPE after a program that left commands in the MFC. Waits until the
    /// requests on the bus are complete, and drops the other requests.
    fn renew_mfc(&self, id: SpeId) {
        let mfc = &self.world.mfcs.of(id);
        self.world.close_mfc(id);
        let at = Location::caller();
        let mut is_quiet = || mfc.borrow().is_quiet();
        if self
            .world
            .wait_without_program(self.world.spe(id), at, &mut is_quiet)
        {
            mfc.borrow_mut().renew();
        }
    }

    fn execute(&self, spe: &SimSpe, id: SpeId, program: Program<SimSpe>) {
        let world = &self.world;
        let processor = world.spe(id);
        let outcome = program.outcome();
        let name = program.name();
        world
            .observers
            .observer
            .borrow_mut()
            .program_began(world.now(), id, name);
        if world.observers.window_begins_with(id) {
            world.begin_window_now();
        }
        world
            .observers
            .pulse
            .program_began(id, name, program.spawned_at());
        let result = program.run(spe);
        // If the run is cancelled, `pass` unwinds. `catch_unwind` keeps the panic in `result`.
        let passed = catch_unwind(AssertUnwindSafe(|| {
            if !threads::is_cancelled() {
                world.pass(processor, Femtoseconds::ZERO);
                world
                    .observers
                    .observer
                    .borrow_mut()
                    .program_ended(world.now(), id);
                if world.observers.window_ends_with_program() {
                    world.end_window_now();
                }
                world.pass(processor, world.costs.end_program);
            }
        }));
        world.observers.pulse.program_ended(id);
        processor.places.clear();
        let late = world.end_program_of_mfc(id);
        self.end_program(id, name, &outcome, result.err().or(late));
        if let Err(cancellation) = passed {
            resume_unwind(cancellation);
        }
    }

    fn end_program(
        &self,
        at: SpeId,
        program: &'static str,
        outcome: &Arc<Outcome>,
        payload: Option<Payload>,
    ) {
        // Checks both, because a program may panic with a payload that looks like a cancellation.
        let panic =
            payload.filter(|payload| !(threads::is_cancelled() && is_cancellation(payload)));
        let failed = panic.is_some();
        outcome.end(panic);
        if failed {
            self.failures.borrow_mut().push(ProgramFailure {
                at,
                program,
                outcome: Arc::clone(outcome),
            });
        }
        self.count.set(self.count.get() - 1);
        self.world.notify(self.world.processor(PPE));
    }

    pub fn drop_queued(&self) {
        for at in self.world.topology.spes() {
            while let Some(program) = self.next_program(at) {
                let (outcome, name) = (program.outcome(), program.name());
                let dropped = catch_unwind(AssertUnwindSafe(|| drop(program)));
                self.end_program(at, name, &outcome, dropped.err());
            }
        }
    }

    /// Takes the first panic of a program that no other program has joined.
    pub fn first_panic(&self) -> Option<RunError> {
        self.failures.borrow().iter().find_map(|failure| {
            Some(RunError::Panic {
                at: Processor::Spe(failure.at),
                program: failure.program.to_owned(),
                payload: failure.outcome.take_panic()?.into(),
            })
        })
    }

    /// Records that no more programs will be spawned, and wakes the SPEs.
    pub fn end(&self) {
        self.ended.set(true);
        let spes = self.world.topology.spes();
        spes.for_each(|spe| self.world.notify(self.world.spe(spe)));
    }
}

/// Returns whether `payload` unwinds a cancelled thread.
pub(crate) fn is_cancellation(payload: &Payload) -> bool {
    payload.is::<Cancelled>() || payload.is::<threads::Cancelled>()
}
