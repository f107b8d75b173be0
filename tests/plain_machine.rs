//! A machine that is no Cell: its SPEs have no MFC, mailboxes, signals or local store of their own,
//! and it implements what every machine of cells can do, and nothing else.
//!
//! All programs are cooperative threads of the OS thread that calls `run`: one for the PPE, one for
//! each SPE, and those that programs start. A thread that waits is parked until its processor is
//! notified, or no thread is left that could run: then all that wait look again. If all look in
//! vain and none waits for a time, that is a deadlock.
//!
//! Tests of several crates include this file by its path, to run their contracts here too.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cellworks_machine::{
    Cancelled, CellId, Cycles, Machine, ModuleId, NewThread, OnCell, Outcome, Payload, Ppe,
    PpeCore, Processor, Program, RemoteWaker, RunEnd, RunError, RunId, Sleeper, Span, Spe, SpeCore,
    SpeId, SpeSite, StageError, StageRequest, StartThread, Time, Topology, Wait, Waiting, Wake,
};
use cellworks_threads::{self as threads, BlockedThread, Config, Idle, Owner, Thread, Verdict};

// SAFETY: it is used on the cores that `run` below begins, and programs cannot name it.
const OWNER: Owner = unsafe { Owner::new() };

/// What the thread that serves an SPE waits for when it has no program: not reported.
const NO_PROGRAM: &str = "a program to be spawned on its SPE";

/// What the PPE waits for when its main program has returned.
const ALL_PROGRAMS: &str = "the programs that it spawned to end";

/// The machine.
pub struct PlainMachine {
    topology: Topology,
}

impl PlainMachine {
    /// With this number of SPEs, all in one Cell.
    pub fn new(spes: usize) -> Self {
        let site = |spe| SpeSite {
            cell: CellId::new(0),
            core: None,
            place: format!("SPE {spe}"),
        };
        let sites = (0..spes).map(site).collect();
        Self {
            topology: Topology::new("a plain machine", vec![ModuleId::new(0)], sites),
        }
    }
}

/// What the programs of a run share.
struct World {
    id: RunId,
    topology: Topology,
    /// The call of `run`.
    caller: &'static Location<'static>,
    started: Instant,
    /// Threads that wait, each with its processor, and until when if it waits for a time.
    waiting: RefCell<Vec<Parked>>,
    /// The condition of a wait is being asked.
    in_condition: Cell<bool>,
    /// A thread has run since all that wait were asked: it may have changed what they wait for.
    has_run: Cell<bool>,
    /// Programs that were spawned and have not ended.
    programs: Cell<usize>,
    /// No program will come any more.
    ended: Cell<bool>,
    queues: Vec<RefCell<VecDeque<Program<PlainSpe>>>>,
    failures: RefCell<Vec<Failure>>,
    /// Who waited for what when all did.
    deadlock: RefCell<Option<Vec<Waiting>>>,
}

#[derive(Clone, Copy, PartialEq)]
struct Parked {
    thread: Thread,
    processor: Processor,
    deadline: Option<Time>,
}

/// A program that panicked.
struct Failure {
    at: SpeId,
    program: &'static str,
    outcome: Arc<Outcome>,
}

/// A thread is named among those that wait as long as this lives.
struct Announced<'a>(&'a World, Parked);

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        let mut waiting = self.0.waiting.borrow_mut();
        let place = waiting.iter().position(|parked| *parked == self.1);
        waiting.swap_remove(place.expect("it was announced"));
    }
}

impl World {
    fn now(&self) -> Time {
        Time::default() + Span::from(self.started.elapsed())
    }

    #[track_caller]
    fn wait(
        &self,
        processor: Processor,
        why: &dyn fmt::Display,
        deadline: Option<Time>,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        assert!(
            !self.in_condition.get(),
            "a wait within the condition of another wait; conditions must not wait"
        );
        let parked = Parked {
            thread: OWNER.current(),
            processor,
            deadline,
        };
        self.has_run.set(true);
        loop {
            // A cancelled thread does not look: what others drop may have made it come true.
            if !threads::is_cancelled() || threads::is_unwinding() {
                if self.ask(ready) {
                    return true;
                }
                if deadline.is_some_and(|deadline| deadline <= self.now()) {
                    return false;
                }
                if threads::is_cancelled() {
                    return false;
                }
            }
            self.waiting.borrow_mut().push(parked);
            let _announced = Announced(self, parked);
            OWNER.park(why);
        }
    }

    fn ask(&self, ready: &mut dyn FnMut() -> bool) -> bool {
        /// The condition has been asked, also if it panicked.
        struct Asked<'a>(&'a Cell<bool>);
        impl Drop for Asked<'_> {
            fn drop(&mut self) {
                self.0.set(false);
            }
        }
        self.in_condition.set(true);
        let _asked = Asked(&self.in_condition);
        // If it says true, or panics, the thread runs.
        let has_run = self.has_run.replace(true);
        let is_ready = ready();
        if !is_ready {
            self.has_run.set(has_run);
        }
        is_ready
    }

    #[track_caller]
    fn notify(&self, to: Processor) {
        if let Processor::Spe(spe) = to {
            assert!(
                spe.index() < self.queues.len(),
                "{spe} was named, but {} has {} SPEs; use `topology().spes()`",
                self.topology.name(),
                self.queues.len()
            );
        }
        for parked in self.waiting.borrow().iter() {
            if parked.processor == to {
                parked.thread.unpark();
            }
        }
    }

    fn sleeper(processor: Processor) -> Sleeper {
        // SAFETY: the numbers are those of a thread.
        unsafe { Sleeper::new(processor, OWNER.current().into_raw()) }
    }

    fn wake(sleeper: Sleeper) {
        // SAFETY: `sleeper` above is all that makes one, from the numbers of a thread.
        unsafe { Thread::from_raw(sleeper.thread()) }.unpark();
    }

    /// Runs the programs that are spawned on an SPE: a thread of its own.
    fn serve(self: &Rc<Self>, id: SpeId) {
        let spe = PlainSpe {
            world: Rc::clone(self),
            id,
        };
        loop {
            let mut next = None;
            self.wait(Processor::Spe(id), &NO_PROGRAM, None, &mut || {
                next = self.queues[id.index()].borrow_mut().pop_front();
                next.is_some() || self.ended.get()
            });
            let Some(program) = next else { return };
            let (outcome, name) = (program.outcome(), program.name());
            let result = program.run(&spe);
            self.end_program(id, name, &outcome, result.err());
        }
    }

    fn end_program(
        &self,
        at: SpeId,
        program: &'static str,
        outcome: &Arc<Outcome>,
        payload: Option<Payload>,
    ) {
        let panic =
            payload.filter(|payload| !(threads::is_cancelled() && is_cancellation(payload)));
        if panic.is_some() {
            self.failures.borrow_mut().push(Failure {
                at,
                program,
                outcome: Arc::clone(outcome),
            });
        }
        outcome.end(panic);
        self.programs.set(self.programs.get() - 1);
        self.notify(Processor::Ppe);
    }

    /// Drops the programs that never began.
    fn drop_queued(&self) {
        for at in self.topology.spes() {
            while let Some(program) = {
                let mut queue = self.queues[at.index()].borrow_mut();
                queue.pop_front()
            } {
                let (outcome, name) = (program.outcome(), program.name());
                let dropped = catch_unwind(AssertUnwindSafe(|| drop(program)));
                self.end_program(at, name, &outcome, dropped.err());
            }
        }
    }

    /// The first panic that was not joined.
    fn first_panic(&self) -> Option<RunError> {
        self.failures.borrow().iter().find_map(|failure| {
            Some(RunError::Panic {
                at: Processor::Spe(failure.at),
                program: failure.program.to_owned(),
                payload: failure.outcome.take_panic()?.into(),
            })
        })
    }
}

impl Idle for World {
    fn idle(&self) -> Verdict {
        let waiting = self.waiting.borrow();
        if self.has_run.replace(false) {
            waiting.iter().for_each(|parked| parked.thread.unpark());
            return Verdict::Continue;
        }
        let timed = waiting.iter().filter_map(|parked| parked.deadline);
        if let Some(first) = timed.min() {
            std::thread::sleep(Duration::from(first.since(self.now())));
            let now = self.now();
            for parked in waiting.iter() {
                if parked.deadline.is_some_and(|deadline| deadline <= now) {
                    parked.thread.unpark();
                }
            }
            return Verdict::Continue;
        }
        let mut blocked = threads::blocked_threads();
        blocked.retain(|thread| thread.waits_for != NO_PROGRAM);
        // The first thread is the PPE's, which comes last.
        blocked.sort_by_key(|thread| thread.name == "main");
        let of = |BlockedThread {
                      name,
                      thread,
                      waits_for,
                      at,
                  }| Waiting {
            who: match name.as_str() {
                "main" => Processor::Ppe.to_string(),
                _ => name,
            },
            location: match waits_for.as_str() {
                ALL_PROGRAMS => self.caller,
                _ => at,
            },
            place: None,
            what: waits_for,
            thread,
            since: None,
        };
        *self.deadlock.borrow_mut() = Some(blocked.into_iter().map(of).collect());
        Verdict::Stuck
    }
}

/// Whether a payload is only what unwinds a cancelled program.
fn is_cancellation(payload: &Payload) -> bool {
    payload.is::<Cancelled>() || payload.is::<threads::Cancelled>()
}

/// An SPE.
pub struct PlainSpe {
    world: Rc<World>,
    id: SpeId,
}

impl Wait for PlainSpe {
    #[track_caller]
    fn wait_until(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        self.world.wait(Processor::Spe(self.id), why, None, ready)
    }
}

impl Wake for PlainSpe {
    fn run_id(&self) -> &RunId {
        &self.world.id
    }

    fn now(&self) -> Time {
        self.world.now()
    }

    fn is_cancelled(&self) -> bool {
        threads::is_cancelled()
    }

    #[track_caller]
    fn notify(&self, to: Processor) {
        self.world.notify(to);
    }

    fn sleeper(&self) -> Sleeper {
        World::sleeper(Processor::Spe(self.id))
    }

    fn outlast(&self, done: &mut dyn FnMut() -> bool) {
        OWNER.outlast(done);
    }

    fn wake_elsewhere(&self, sleeper: Sleeper) {
        World::wake(sleeper);
    }

    fn remote_waker(&self) -> RemoteWaker {
        RemoteWaker::new(World::wake)
    }

    #[track_caller]
    fn wait_until_deadline(
        &self,
        why: &dyn fmt::Display,
        deadline: Time,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        self.world
            .wait(Processor::Spe(self.id), why, Some(deadline), ready)
    }
}

/// Starts cooperative threads of an SPE.
struct Starter<'scope, 'env> {
    id: SpeId,
    scope: &'scope threads::Scope<'scope, 'env>,
}

impl StartThread for Starter<'_, '_> {
    fn start(&self, thread: NewThread) {
        let NewThread {
            id,
            stack_bytes,
            body,
        } = thread;
        let mut named = self.scope.builder();
        named = named.name(format!("{}, thread {}", self.id, id.0));
        if let Some(bytes) = stack_bytes {
            named = named.stack_bytes(bytes);
        }
        drop(named.spawn(body));
    }
}

// SAFETY: `hold` returns the memory that it is given, which the view has borrowed, so there is
// nothing to put back. A scope ends after all threads that were started in it.
unsafe impl SpeCore for PlainSpe {
    type Hold = ();

    fn run_threads(&self, at: &'static Location<'static>, main: &mut dyn FnMut(&dyn StartThread)) {
        let id = self.id;
        OWNER.scope_at(at, |scope| main(&Starter { id, scope }));
    }

    unsafe fn hold(&self, request: StageRequest) -> Result<(NonNull<u8>, ()), StageError> {
        Ok((request.memory, ()))
    }

    fn arrived(&self, (): &()) {
        self.yield_now();
    }

    fn look_outside(&self) {
        self.yield_now();
    }

    unsafe fn put_back(&self, (): &(), _: NonNull<u8>, _: NonNull<u8>, _: usize) {}

    fn departed(&self) {
        self.yield_now();
    }
}

impl Spe for PlainSpe {
    fn id(&self) -> SpeId {
        self.id
    }

    fn topology(&self) -> &Topology {
        &self.world.topology
    }

    fn compute(&self, _: Cycles) {}

    fn yield_now(&self) {
        // This thread may have changed what others of its SPE wait for.
        self.world.notify(Processor::Spe(self.id));
        OWNER.yield_now();
    }

    fn free_stack_bytes(&self) -> usize {
        threads::free_stack_bytes().expect("programs of SPEs have stacks of their own")
    }
}

/// The PPE.
pub struct PlainPpe(Rc<World>);

impl Wait for PlainPpe {
    #[track_caller]
    fn wait_until(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        self.0.wait(Processor::Ppe, why, None, ready)
    }
}

impl Wake for PlainPpe {
    fn run_id(&self) -> &RunId {
        &self.0.id
    }

    fn now(&self) -> Time {
        // So that a loop that looks whether programs have ended comes to an end.
        if !self.0.in_condition.get() {
            OWNER.yield_now();
        }
        self.0.now()
    }

    fn is_cancelled(&self) -> bool {
        threads::is_cancelled()
    }

    #[track_caller]
    fn notify(&self, to: Processor) {
        self.0.notify(to);
    }

    fn sleeper(&self) -> Sleeper {
        World::sleeper(Processor::Ppe)
    }

    fn outlast(&self, done: &mut dyn FnMut() -> bool) {
        OWNER.outlast(done);
    }

    fn wake_elsewhere(&self, sleeper: Sleeper) {
        World::wake(sleeper);
    }

    fn remote_waker(&self) -> RemoteWaker {
        RemoteWaker::new(World::wake)
    }

    #[track_caller]
    fn wait_until_deadline(
        &self,
        why: &dyn fmt::Display,
        deadline: Time,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        self.0.wait(Processor::Ppe, why, Some(deadline), ready)
    }
}

impl PpeCore for PlainPpe {
    type Spe = PlainSpe;

    fn topology(&self) -> &Topology {
        &self.0.topology
    }

    fn compute(&self, _: Cycles) {}

    fn are_spes_confined_to_local_store(&self) -> bool {
        false
    }

    fn start(&self, at: SpeId, program: Program<PlainSpe>) {
        self.0.programs.set(self.0.programs.get() + 1);
        self.0.queues[at.index()].borrow_mut().push_back(program);
        self.0.notify(Processor::Spe(at));
    }
}

// SAFETY: all programs that began have ended when the scope of their threads has, and the others
// are dropped.
unsafe impl Machine for PlainMachine {
    type Spe = PlainSpe;
    type Core = PlainPpe;

    fn topology(&self) -> &Topology {
        &self.topology
    }

    #[track_caller]
    fn run<'env, R>(
        &'env self,
        main: impl for<'scope> FnOnce(&'scope Ppe<'scope, 'env, Self>) -> R,
    ) -> Result<R, RunError> {
        let mut result = None;
        self.run_main(Box::new(|ppe| result = Some(main(ppe))))?;
        Ok(result.expect("the main program has returned"))
    }

    fn on_cell<W: OnCell<Self>>(&self, _: W) -> Option<W::Output> {
        None
    }
}

type Main<'a, 'env> = Box<dyn for<'scope> FnOnce(&'scope Ppe<'scope, 'env, PlainMachine>) + 'a>;

impl PlainMachine {
    /// Compiled once, not once for each main program.
    #[track_caller]
    fn run_main<'env>(&'env self, main: Main<'_, 'env>) -> Result<(), RunError> {
        let caller = Location::caller();
        let spes = self.topology.spes();
        let world = Rc::new(World {
            id: RunId::new(&self.topology),
            topology: self.topology.clone(),
            caller,
            started: Instant::now(),
            waiting: RefCell::default(),
            in_condition: Cell::new(false),
            has_run: Cell::new(true),
            programs: Cell::new(0),
            ended: Cell::new(false),
            queues: spes.clone().map(|_| RefCell::default()).collect(),
            failures: RefCell::default(),
            deadlock: RefCell::default(),
        });
        let ppe = Ppe::new(PlainPpe(Rc::clone(&world)));
        let mut result = None;
        let mut was_cancelled = false;
        let mut panic_before = None;
        // Who was cancelled, and why, is known without what this returns.
        let _ = OWNER.run(&Config::default(), &*world, || {
            OWNER.scope_at(caller, |scope| {
                for spe in spes {
                    let world = &world;
                    let server = scope.builder().name(spe.to_string());
                    drop(server.spawn(move || world.serve(spe)));
                }
                let ended = catch_unwind(AssertUnwindSafe(|| {
                    main(&ppe);
                    world.wait(Processor::Ppe, &ALL_PROGRAMS, None, &mut || {
                        world.programs.get() == 0
                    });
                }));
                // Asked before others fail because the PPE did.
                panic_before = world.first_panic();
                was_cancelled = threads::is_cancelled();
                if ended.is_err() {
                    OWNER.cancel_all();
                }
                result = Some(ended);
                world.ended.set(true);
                self.topology
                    .spes()
                    .for_each(|spe| world.notify(Processor::Spe(spe)));
            });
        });
        world.drop_queued();
        let main = result.expect("the main program was run");
        let waits = world.deadlock.take();
        RunEnd {
            main_was_cancelled: main.as_ref().is_err_and(is_cancellation),
            main,
            was_cancelled,
            panic_before,
            panic_after: world.first_panic(),
            cancelled_for: waits.map(|waits| RunError::Deadlock { waits }),
        }
        .conclude()
    }
}
