//! One run, from the first program to the last.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;

use cellworks_machine::memory::Translation;
use cellworks_machine::{
    Cancelled, LocalStore, Outcome, Payload, Ppe, Processor, Program, RunEnd, RunError, SpeId,
    Timebase,
};
use cellworks_threads as threads;

use crate::atomic::AtomicCaches;
use crate::costs::Costs;
use crate::engine::{Failure, OWNER, PPE, World};
use crate::fabric::Fabric;
use crate::hazard::Hazards;
use crate::mfc::MfcState;
use crate::observe::Observer;
use crate::time::Femtoseconds;
use crate::watchdog::{self, Pulse};
use crate::{HazardWatch, PpeAccess, Sim, SimPpe, SimSpe};

/// What the programs of a run share with the machine.
pub(crate) struct Run {
    pub world: Rc<World>,
    pub ppe_access: PpeAccess,
    /// Programs that were spawned and have not ended.
    pub programs: Cell<usize>,
    /// No program will come any more.
    ended: Cell<bool>,
    queues: Vec<RefCell<VecDeque<Program<SimSpe>>>>,
    failures: RefCell<Vec<ProgramFailure>>,
}

/// A program that panicked.
struct ProgramFailure {
    at: SpeId,
    program: &'static str,
    outcome: Arc<Outcome>,
}

impl Run {
    pub fn enqueue(&self, at: SpeId, program: Program<SimSpe>) {
        self.programs.set(self.programs.get() + 1);
        self.queues[at.index()].borrow_mut().push_back(program);
        self.world.notify(self.world.spe(at));
    }

    fn next_program(&self, at: SpeId) -> Option<Program<SimSpe>> {
        self.queues[at.index()].borrow_mut().pop_front()
    }

    /// Runs the programs that are spawned on one SPE: a cooperative thread of its own.
    fn serve(&self, sim: &Sim, id: SpeId) {
        let world = &self.world;
        let core = world.spe(id);
        let me = world.adopt(core, 0);
        world.take_core(me);
        world.resume_now(Some(me));
        world.first_turn(me);
        let mut spe = self.spe(sim, id);
        loop {
            let mut next = None;
            let at = Location::caller();
            world.wait_without_program(core, at, &mut || {
                next = self.next_program(id);
                next.is_some() || self.ended.get()
            });
            let Some(program) = next else { break };
            self.execute(&spe, id, program);
            if !spe.is_as_new() {
                self.renew_mfc(id);
                spe = self.spe(sim, id);
            }
        }
        world.leave(core);
    }

    fn spe(&self, sim: &Sim, id: SpeId) -> SimSpe {
        let local_store = LocalStore::new(id, sim.local_stores[id.index()].clone());
        let local_store = match sim.options.hazards {
            HazardWatch::Off => local_store,
            _ => local_store.watched(self.world.local_store_watch(id)),
        };
        let timebase = Timebase::from_hertz(sim.description.clock.timebase_hz.value);
        SimSpe::new(id, Rc::clone(&self.world), timebase, local_store)
    }

    /// Takes out of an MFC what a program has left behind there: what is on the bus comes to its end, the rest
    /// does not begin.
    fn renew_mfc(&self, id: SpeId) {
        let mfc = &self.world.mfcs[id.index()];
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
        let core = world.spe(id);
        let outcome = program.outcome();
        let name = program.name();
        world
            .observer
            .borrow_mut()
            .program_began(world.now(), id, name);
        world.pulse.program_began(id, name, program.spawned_at());
        let result = program.run(spe);
        // The run may be cancelled while time passes, which must not lose the panic of this program.
        let passed = catch_unwind(AssertUnwindSafe(|| {
            if !threads::is_cancelled() {
                world.pass(core, Femtoseconds::ZERO);
                world.observer.borrow_mut().program_ended(world.now(), id);
                world.pass(core, world.costs.end_program);
            }
        }));
        world.pulse.program_ended(id);
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
        // Only a run that was cancelled cancels: a program may panic with any payload.
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
        self.programs.set(self.programs.get() - 1);
        self.world.notify(self.world.core(PPE));
    }

    /// Drops the programs that never began.
    fn drop_queued(&self) {
        for at in self.world.topology.spes() {
            while let Some(program) = self.next_program(at) {
                let (outcome, name) = (program.outcome(), program.name());
                let dropped = catch_unwind(AssertUnwindSafe(|| drop(program)));
                self.end_program(at, name, &outcome, dropped.err());
            }
        }
    }

    /// The first panic that nobody joined.
    fn first_panic(&self) -> Option<RunError> {
        self.failures.borrow().iter().find_map(|failure| {
            Some(RunError::Panic {
                at: Processor::Spe(failure.at),
                program: failure.program.to_owned(),
                payload: failure.outcome.take_panic()?,
            })
        })
    }

    /// Tells the SPEs that no program will come.
    fn end(&self) {
        self.ended.set(true);
        let spes = self.world.topology.spes();
        spes.for_each(|spe| self.world.notify(self.world.spe(spe)));
    }
}

/// Whether a payload is only what unwinds a cancelled program.
fn is_cancellation(payload: &Payload) -> bool {
    payload.is::<Cancelled>() || payload.is::<threads::Cancelled>()
}

/// Runs `main` on `sim`; see [`Machine::run`](cellworks_machine::Machine::run).
#[track_caller]
pub(crate) fn run<'env, R>(
    sim: &'env Sim,
    main: impl for<'scope> FnOnce(&'scope Ppe<'scope, 'env, Sim>) -> R,
) -> Result<R, RunError> {
    let caller = Location::caller();
    let _running = sim.begin_run();
    let world = Rc::new(world_of(sim));
    let spes = sim.topology.spes();
    let run = Rc::new(Run {
        world: Rc::clone(&world),
        ppe_access: sim.options.ppe_access,
        programs: Cell::new(0),
        ended: Cell::new(false),
        queues: spes.clone().map(|_| RefCell::default()).collect(),
        failures: RefCell::default(),
    });
    let translation = Translation::new(Arc::clone(&sim.space));
    let ppe = Ppe::new(SimPpe::new(Rc::clone(&run), translation));
    let config = threads::Config {
        stack_bytes: sim.options.stack_bytes,
    };
    let mut result = None;
    let mut was_cancelled = false;
    let mut panic_before = None;
    // Who was cancelled, and why, is known without what this returns.
    let watching = watchdog::watch(&world.pulse);
    let _ = OWNER.run(&config, &*world, || {
        OWNER.scope_at(caller, |scope| {
            for spe in spes {
                let run = &run;
                let server = scope.builder().name(spe.to_string());
                drop(server.spawn(move || run.serve(sim, spe)));
            }
            let me = world.adopt(world.core(PPE), 0);
            world.take_core(me);
            // Each SPE comes as far as its first turn.
            OWNER.yield_now();
            result = Some(catch_unwind(AssertUnwindSafe(|| {
                let value = main(&ppe);
                ppe.core().wait_for_programs(caller);
                value
            })));
            // Asked before others fail because the PPE did.
            panic_before = run.first_panic();
            was_cancelled = threads::is_cancelled();
            if result.as_ref().is_some_and(Result::is_err) {
                world.cancel_all();
            } else {
                world.leave(world.core(PPE));
                run.end();
            }
        });
    });
    drop(watching);
    run.drop_queued();
    sim.finish(&world);
    let main = result.expect("the main program was run");
    RunEnd {
        main_was_cancelled: main.as_ref().is_err_and(is_cancellation),
        main,
        was_cancelled,
        panic_before,
        panic_after: run.first_panic(),
        cancelled_for: world.take_failure().map(|failure| match failure {
            Failure::TimeLimit(programs) => RunError::TimeLimit {
                limit: sim.options.limit,
                programs,
            },
            Failure::Deadlock(waits) => RunError::Deadlock { waits },
        }),
    }
    .conclude()
}

fn world_of(sim: &Sim) -> World {
    let costs = Costs::of(&sim.description);
    let mfc = |spe: SpeId| {
        let local_store = LocalStore::new(spe, sim.local_stores[spe.index()].clone());
        let lines = costs.outstanding_requests;
        RefCell::new(MfcState::new(spe, &sim.space, local_store, lines))
    };
    let spes = sim.topology.spes();
    let local_stores = spes.clone().map(|spe| {
        let region = &sim.local_stores[spe.index()];
        region.at(0).0..region.at(region.bytes()).0
    });
    let hazards = Hazards::new(sim.options.hazards, local_stores.collect());
    let caches = sim.description.atomic.cache_lines.value as usize;
    World::new(
        sim.topology.clone(),
        costs.clone(),
        Fabric::new(&sim.description),
        Observer::new(sim.topology.name(), spes.len(), sim.take_trace()),
        hazards,
        sim.options.seed,
        sim.limit(),
        spes.clone().map(mfc).collect(),
        AtomicCaches::new(spes.len(), caches),
        Pulse::new(sim.topology.name(), spes.len()),
    )
}
