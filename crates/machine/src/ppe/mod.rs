//! Machines, and the PPE's side of them.
//!
//! ```text
//!   ppe::Machine       runs a main program on its PPE, which is handed a Ppe
//!   ppe::PpeCore       what a machine does for that Ppe
//!   ppe::CellMachine   a machine that is a Cell: more methods of Ppe, by ppe::CellPpeCore
//! ```

mod cell;
pub(crate) mod core;

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Cancelled, Payload, RunError};
use crate::id::{ModuleId, Processor, SpeId, ThreadId};
use crate::memory::{AllocateError, Region};
use crate::mfc::EffectiveAddress;
use crate::ppe::core::{CellPpeCore, PpeCore};
use crate::program::{Body, Outcome, Program};
use crate::spe::Spe;
use crate::spe::cell::CellSpe;
use crate::threads::StackError;
use crate::time::{Cycles, Time};
use crate::topology::Topology;
use crate::wake::{Wait, Wake};

/// A machine made of cells: a PPE, SPEs, and what connects them.
///
/// # Safety
///
/// Every [`Program`] that was started has been run, or dropped, before [`run`](Self::run) returns
/// or unwinds: programs may borrow what outlives the call.
pub unsafe trait Machine: Sized {
    /// Its SPEs.
    type Spe: Spe;
    /// What its PPE can do.
    type Core: PpeCore<Spe = Self::Spe>;

    /// What the machine is made of.
    fn topology(&self) -> &Topology;

    /// Runs `main` as the PPE's program, and returns when it and every program that it spawned
    /// have ended. Programs may borrow what outlives the call.
    ///
    /// # Errors
    ///
    /// [`RunError::Panic`] if a program panicked and was not joined, or `main` did;
    /// [`RunError::Deadlock`] if all of them wait for each other.
    fn run<'env, R>(
        &'env self,
        main: impl for<'scope> FnOnce(&'scope Ppe<'scope, 'env, Self>) -> R,
    ) -> Result<R, RunError>;

    /// Does `work` if this machine is a [Cell](CellMachine); `None`, and nothing done, if it is
    /// not.
    ///
    /// So a program that runs on every machine uses what only a Cell has where it is there.
    ///
    /// ```
    /// use cellworks_machine::{CellMachine, CellSpe, Machine, Mfc, OnCell, RunError, SpeId};
    ///
    /// struct EntriesOfTheQueue;
    ///
    /// impl<M: Machine> OnCell<M> for EntriesOfTheQueue {
    ///     type Output = Result<usize, RunError>;
    ///
    ///     fn run(self, machine: &M) -> Self::Output
    ///     where
    ///         M: CellMachine,
    ///     {
    ///         let entries = |spe: &M::Spe| spe.mfc().free_entries();
    ///         machine.run(|ppe| ppe.spawn(SpeId::new(0), entries).join().unwrap())
    ///     }
    /// }
    ///
    /// /// 0 where SPEs have no MFC.
    /// fn entries_of_the_queue<M: Machine>(machine: &M) -> Result<usize, RunError> {
    ///     machine.on_cell(EntriesOfTheQueue).unwrap_or(Ok(0))
    /// }
    /// ```
    fn on_cell<W: OnCell<Self>>(&self, work: W) -> Option<W::Output>;
}

/// What is to be done if a machine is a Cell: see [`Machine::on_cell`].
pub trait OnCell<M: Machine> {
    /// What comes of it.
    type Output;

    /// Does it.
    fn run(self, machine: &M) -> Self::Output
    where
        M: CellMachine;
}

/// A machine that is a Cell, or looks like one to programs: its SPEs have MFCs, mailboxes and
/// signals, and main memory is allocated by memory module.
pub trait CellMachine: Machine<Spe: CellSpe, Core: CellPpeCore> {
    /// Allocates `bytes` bytes of main memory in a memory module, zeroed, aligned to 4,096 bytes. A
    /// region of less than 4 GiB crosses no multiple of 4 GiB: the elements of a list share the
    /// upper half of their addresses.
    ///
    /// # Errors
    ///
    /// [`AllocateError`] if there is no such module or no such amount of memory.
    fn allocate(&self, module: ModuleId, bytes: usize) -> Result<Region, AllocateError>;

    /// The memory module in which the machine finds the byte at `ea` to be now, whatever was asked
    /// for; `None` if it cannot tell. Memory that was never written may be nowhere yet.
    fn home_of(&self, ea: EffectiveAddress) -> Option<ModuleId>;
}

/// The Power Processor Element: it runs the main program, starts programs on SPEs and talks to
/// them.
///
/// It belongs to the OS thread that called [`Machine::run`], so SPE programs cannot use it; they
/// have what they need in [`Spe`].
pub struct Ppe<'scope, 'env: 'scope, M: Machine> {
    core: M::Core,
    // Invariant in both lifetimes, as in `std::thread::scope`: 'scope must neither shrink, or
    // programs could borrow too little, nor grow.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
    not_sync: PhantomData<*mut ()>,
}

/// A program that was spawned on an SPE.
///
/// Dropping it does not stop the program: [`Machine::run`] waits for it, and reports its panic.
#[must_use = "a panic of the program can be handled where it is joined"]
pub struct Handle<'scope, R, M: Machine> {
    spe: SpeId,
    name: &'static str,
    outcome: Arc<Outcome>,
    value: Arc<Mutex<Option<R>>>,
    core: *const M::Core,
    scope: PhantomData<&'scope M>,
}

impl<'scope, 'env, M: Machine> Ppe<'scope, 'env, M> {
    /// The PPE of a machine: for [`Machine::run`] to make.
    pub fn new(core: M::Core) -> Self {
        Self {
            core,
            scope: PhantomData,
            env: PhantomData,
            not_sync: PhantomData,
        }
    }

    /// What the machine does for this PPE.
    pub fn core(&self) -> &M::Core {
        &self.core
    }

    /// What the machine is made of.
    pub fn topology(&self) -> &Topology {
        self.core.topology()
    }

    /// The time since the start of the run.
    pub fn now(&self) -> Time {
        self.core.now()
    }

    /// Says that the main program computes for `cycles` cycles of the PPE's clock: simulated
    /// machines charge the time, real ones do nothing, since they spend it anyway.
    pub fn compute(&self, cycles: Cycles) {
        self.core.compute(cycles);
    }

    /// Starts `program` on an SPE. It may borrow what outlives the [run](Machine::run).
    ///
    /// An SPE runs one program at a time: one that is spawned while another runs there waits for
    /// it to end. It finds the local store, the MFC and the reservation as new; the bytes of the
    /// local store, words in mailboxes and signals stay from one program to the next.
    ///
    /// # Panics
    ///
    /// If the machine has no SPE `at`.
    #[track_caller]
    pub fn spawn<R, F>(&'scope self, at: SpeId, program: F) -> Handle<'scope, R, M>
    where
        R: Send + 'scope,
        F: FnOnce(&M::Spe) -> R + Send + 'scope,
    {
        let spes = self.topology().spes().len();
        assert!(
            at.index() < spes,
            "a program was spawned on {at}, but {} has {spes} SPEs; use `topology().spes()`",
            self.topology().name()
        );
        let value = Arc::new(Mutex::new(None));
        let result = Arc::clone(&value);
        let body: Body<'scope, M::Spe> = Box::new(move |spe| {
            catch_unwind(AssertUnwindSafe(|| {
                let value = program(spe);
                *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
                // If the handle was dropped this drops the value, which may panic too.
                drop(result);
            }))
        });
        // SAFETY: only the lifetime changes. What the closure borrows lives for 'scope, which
        // lasts until `Machine::run` returns, and an implementation of the unsafe trait `Machine`
        // has run or dropped every program by then.
        let body =
            unsafe { std::mem::transmute::<Body<'scope, M::Spe>, Body<'static, M::Spe>>(body) };
        let name = std::any::type_name::<F>();
        let (program, outcome) = Program::new(body, name, Location::caller());
        self.core.start(at, program);
        Handle {
            spe: at,
            name,
            outcome,
            value,
            core: &raw const self.core,
            scope: PhantomData,
        }
    }

    /// Starts a program on an SPE that runs `program` in a cooperative thread for each of
    /// `arguments`, and returns their results in the order of the arguments (the pattern of
    /// libspe2mt: CellMT, section 4.2).
    ///
    /// The handle's result is a [`StackError`] if the local store has no room for the stacks of so
    /// many threads; none of them has run then.
    ///
    /// # Panics
    ///
    /// If the machine has no SPE `at`.
    #[track_caller]
    pub fn spawn_threads<A, R, F>(
        &'scope self,
        at: SpeId,
        arguments: impl IntoIterator<Item = A>,
        program: F,
    ) -> Handle<'scope, Result<Vec<R>, StackError>, M>
    where
        A: Send + 'scope,
        R: Send + 'scope,
        F: Fn(&M::Spe, ThreadId, A) -> R + Send + 'scope,
    {
        let arguments: Vec<A> = arguments.into_iter().collect();
        self.spawn(at, move |spe| {
            let arguments: Vec<_> = arguments.into_iter().map(Some).map(Cell::new).collect();
            let results: Vec<_> = arguments.iter().map(|_| Cell::new(None)).collect();
            spe.threads(arguments.len(), |thread| {
                let argument = arguments[thread.0].take();
                let argument = argument.expect("each thread has an id of its own");
                results[thread.0].set(Some(program(spe, thread, argument)));
            })?;
            let results = results.into_iter().map(Cell::into_inner);
            Ok(results
                .map(|result| result.expect("all threads have returned"))
                .collect())
        })
    }

    /// Has the threads of an SPE ask again what they wait for; see [`Wake::notify`].
    ///
    /// # Panics
    ///
    /// If the machine has no SPE `spe`.
    #[track_caller]
    pub fn notify(&self, spe: SpeId) {
        self.core.notify(Processor::Spe(spe));
    }

    /// Waits until `ready` says true; see [`Wait::wait_until`].
    #[track_caller]
    pub fn wait_until(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) {
        self.core.wait_until(why, ready);
    }
}

impl<R, M: Machine> Handle<'_, R, M> {
    /// The SPE on which the program was spawned.
    pub fn spe(&self) -> SpeId {
        self.spe
    }

    /// Whether the program has ended.
    pub fn is_finished(&self) -> bool {
        // SAFETY: as in `join`.
        let core = unsafe { &*self.core };
        // A look at the clock lets time pass where it is simulated: a loop that asks this comes to
        // an end.
        core.now();
        self.outcome.has_ended()
    }

    /// Waits for the program to end.
    ///
    /// # Errors
    ///
    /// What the program's panic carried; it then counts as handled.
    #[track_caller]
    pub fn join(self) -> Result<R, Payload> {
        // SAFETY: a handle lives inside 'scope, during which the `Ppe` that holds the core is
        // borrowed by the call of `main` that made it; a raw pointer keeps a handle from being
        // sent to another OS thread.
        let core = unsafe { &*self.core };
        if !self.outcome.has_ended() {
            let why = format_args!("{} on {} to end", self.name, self.spe);
            core.wait_until(&why, &mut || self.outcome.has_ended());
        }
        if let Some(payload) = self.outcome.take_panic() {
            return Err(payload);
        }
        let value = self
            .value
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        // Without a value and without a panic the program was cancelled.
        value.ok_or_else(|| Box::new(Cancelled) as Payload)
    }
}
