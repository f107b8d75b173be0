//! Machines, and the interface of the main program, which runs on the PPE.
//!
//! ```text
//!   ppe::Machine       runs a main program on its PPE, and passes it a Ppe
//!   ppe::PpeCore       the methods that a machine implements for its Ppe
//!   ppe::CellMachine   a machine that is a Cell, so Ppe has more methods (ppe::CellPpeCore)
//! ```

// Rejected: an associated type for the features of a Cell (`Spe::as_cell`). Machines that are no
// Cell would have to implement 60 methods for uninhabited types.

mod cell;
pub(crate) mod core;

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Cancelled, RunError};
use crate::id::{ModuleId, Processor, SpeId, ThreadId};
use crate::memory::{AllocateError, Backing, Region};
use crate::mfc::EffectiveAddress;
use crate::panic_payload::Payload;
use crate::ppe::core::{CellPpeCore, PpeCore};
use crate::program::{Body, Outcome, Program};
use crate::program_panic::ProgramPanic;
use crate::spe::Spe;
use crate::spe::cell::CellSpe;
use crate::threads::StackError;
use crate::time::{Cycles, Time};
use crate::topology::Topology;
use crate::wake::{Wait, Wake};

/// A machine made of cells: a PPE, SPEs, and their connections.
///
/// # Safety
///
/// When [`run`](Self::run) returns or unwinds, every started [`Program`] must have ended or been
/// dropped, because the values that programs borrow may be dropped right after the call.
pub unsafe trait Machine: Sized {
    /// The type of the machine's SPEs.
    type Spe: Spe;
    /// The type of the machine's PPE.
    type Core: PpeCore<Spe = Self::Spe>;

    /// Returns the parts of the machine.
    fn topology(&self) -> &Topology;

    /// Runs `main` on the PPE until `main` and every program that it spawned have ended. Programs
    /// may borrow values that outlive the call.
    ///
    /// # Errors
    ///
    /// - Returns [`RunError::Panic`] if `main`, or a program that was not joined, panicked.
    /// - Returns [`RunError::Deadlock`] if `main` and all programs wait for each other.
    /// - Returns [`RunError::NoThread`] if the operating system provides no thread for an SPE.
    fn run<'env, R>(
        &'env self,
        main: impl for<'scope> FnOnce(&'scope Ppe<'scope, 'env, Self>) -> R,
    ) -> Result<R, RunError>;

    /// Runs `work` with the features of a Cell, or returns `None` if the machine is no Cell.
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
    /// fn entries_of_the_queue<M: Machine>(machine: &M) -> Result<usize, RunError> {
    ///     machine.on_cell(EntriesOfTheQueue).unwrap_or(Ok(0))
    /// }
    /// ```
    fn on_cell<W: OnCell<Self>>(&self, work: W) -> Option<W::Output>;
}

/// A piece of work for machines that are a Cell: see [`Machine::on_cell`].
pub trait OnCell<M: Machine> {
    /// The type of the result.
    type Output;

    /// Runs the work on `machine`.
    fn run(self, machine: &M) -> Self::Output
    where
        M: CellMachine;
}

/// A machine that is a Cell or behaves like one: SPEs have MFCs, mailboxes and signals, and
/// programs choose the memory module of each region.
pub trait CellMachine: Machine<Spe: CellSpe, Core: CellPpeCore> {
    /// Allocates `bytes` bytes of main memory in a memory module, zeroed and aligned to 4,096
    /// bytes. If `bytes` is less than 4 GiB, the region's addresses cross no multiple of 4 GiB,
    /// because the addresses of a DMA list must not cross one.
    ///
    /// # Errors
    ///
    /// Returns [`AllocateError`] if the machine has no such module or not enough memory.
    fn allocate(&self, module: ModuleId, bytes: usize) -> Result<Region, AllocateError>;

    /// Allocates bytes as [`allocate`](Self::allocate) does, in pages of `page_bytes` bytes. The
    /// size of pages determines how many loads miss the translation lookaside buffer (TLB).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`allocate`](Self::allocate), and [`AllocateError`] if the machine
    /// does not provide pages of this size.
    fn allocate_in_pages(
        &self,
        module: ModuleId,
        bytes: usize,
        page_bytes: usize,
    ) -> Result<Region, AllocateError> {
        let why = format!(
            "{} has no pages; leave the size of pages out",
            self.topology().name()
        );
        Err(AllocateError::NoSuchPages {
            bytes,
            module,
            page_bytes,
            why,
        })
    }

    /// Makes memory of the caller a part of main memory, for instance the memory of a WebAssembly
    /// program, and returns it as a region. The machine chooses the effective address, which is a
    /// multiple of 4 GiB, so that the low 32 bits of an address are an offset. The region does not
    /// count against the size of the module.
    ///
    /// Stores of other machine code end the reservation of a line if they change its bytes. They do
    /// not if they store what was there, or if the bytes change back before the conditional store.
    /// On a host, a conditional store also overwrites a store of other code that falls between its
    /// last look at the line and its copy. So other code changes words that SPEs change under
    /// reservations by [`Ppe::fetch_update`], which misses nothing.
    ///
    /// # Errors
    ///
    /// Returns [`AllocateError`] if the machine has no such module, or the memory has no bytes. On
    /// a host, an effective address is an address of this process, so this method also returns
    /// [`AllocateError::Refused`] if the memory does not begin at a multiple of 4 GiB.
    ///
    /// # Panics
    ///
    /// On a host, panics if a part of the memory was adopted already.
    fn adopt(&self, module: ModuleId, memory: Box<dyn Backing>) -> Result<Region, AllocateError>;

    /// Returns the local store of an SPE as a region, for DMA by its effective address.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `spe`.
    fn local_store(&self, spe: SpeId) -> &Region;

    /// Returns the fraction of a region's bytes in huge pages, from 0 to 1, or `None` if unknown.
    fn huge_page_share(&self, _: &Region) -> Option<f64> {
        None
    }

    /// Returns the actual memory module of the byte at `ea`, which can differ from the requested
    /// module. Returns `None` if the module is unknown, for instance for untouched memory.
    fn home_of(&self, ea: EffectiveAddress) -> Option<ModuleId>;
}

/// The Power Processor Element, which runs the main program and starts programs on SPEs. A `Ppe`
/// belongs to the OS thread that called [`Machine::run`]. Programs on SPEs use [`Spe`] instead.
pub struct Ppe<'scope, 'env: 'scope, M: Machine> {
    core: M::Core,
    // The type is invariant in both lifetimes, like `std::thread::Scope`. Otherwise the compiler
    // could shorten a lifetime, and the values that a running program borrows could be dropped.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
    not_sync: PhantomData<*mut ()>,
}

/// A handle to a spawned program. If the handle is dropped, [`Machine::run`] returns any panic.
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
    /// Returns a PPE with this implementation. Machines call this function.
    pub fn new(core: M::Core) -> Self {
        Self {
            core,
            scope: PhantomData,
            env: PhantomData,
            not_sync: PhantomData,
        }
    }

    /// Returns the machine's implementation of this PPE.
    pub fn core(&self) -> &M::Core {
        &self.core
    }

    /// Returns the parts of the machine.
    pub fn topology(&self) -> &Topology {
        self.core.topology()
    }

    /// Returns the time since the start of the run.
    pub fn now(&self) -> Time {
        self.core.now()
    }

    /// Advances simulated time by `cycles` cycles of the PPE's clock. A real machine does nothing.
    pub fn compute(&self, cycles: Cycles) {
        self.core.compute(cycles);
    }

    /// Lets the SPEs that share the PPE's CPU run once, if there are any.
    ///
    /// A loop that polls a mailbox, an ordinary atomic or memory must call this method. Otherwise
    /// SPEs of the same CPU run only when the system stops the PPE, and on a simulated machine no
    /// SPE runs during a loop that polls memory. [`Spe::yield_now`](crate::Spe::yield_now) says on
    /// which machines a loop ends that waits for what never comes.
    #[track_caller]
    pub fn yield_now(&self) {
        self.core.yield_now();
    }

    /// Begins the window of the run: the time to which the counters of a simulated machine refer,
    /// and which its trace shows as a slice. Each call, also on an SPE, begins the window anew, so
    /// the window begins at the last call. It takes no simulated time. A real machine does nothing.
    ///
    /// Without a call, the window is the whole run, with the start of the programs, one after the
    /// other. A main program that has spawned all programs begins the window before it sends them
    /// the word for which they wait.
    pub fn begin_window(&self) {
        self.core.window_begins();
    }

    /// Ends the window that a call of [`begin_window`](Self::begin_window) has begun. The last call
    /// counts. Without a call, the window ends with the run.
    pub fn end_window(&self) {
        self.core.window_ends();
    }

    /// Starts `program` on an SPE, after the programs that were started there earlier. The program
    /// may borrow values that outlive the [run](Machine::run). At its start, the MFC queue is
    /// empty, and the SPE has no reservation and no reserved part of the local store. The bytes of
    /// the local store, words in mailboxes and signals remain from earlier programs.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `at`.
    #[track_caller]
    pub fn spawn<R, F>(&'scope self, at: SpeId, program: F) -> Handle<'scope, R, M>
    where
        R: Send + 'scope,
        F: FnOnce(&M::Spe) -> R + Send + 'scope,
    {
        self.spawn_named(at, std::any::type_name::<F>(), program)
    }

    /// Starts a program as [`spawn`](Self::spawn) does. Errors, reports of deadlocks and traces
    /// have the name `name` in place of that of the function that spawns the program.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `at`.
    #[track_caller]
    pub fn spawn_named<R, F>(
        &'scope self,
        at: SpeId,
        name: &'static str,
        program: F,
    ) -> Handle<'scope, R, M>
    where
        R: Send + 'scope,
        F: FnOnce(&M::Spe) -> R + Send + 'scope,
    {
        let spes = self.topology().spes().len();
        assert!(
            at.index() < spes,
            "a program was spawned on {at}, but {} has {spes} SPEs, 0 to {}; use `topology().spes()`",
            self.topology().name(),
            spes - 1
        );
        let value = Arc::new(Mutex::new(None));
        let result = Arc::clone(&value);
        let body: Body<'scope, M::Spe> = Box::new(move |spe| {
            catch_unwind(AssertUnwindSafe(|| {
                let value = program(spe);
                *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
                // Without a handle the result is dropped here, and its destructor may panic.
                drop(result);
            }))
        });
        // SAFETY: only the lifetime changes. The closure's borrows live until `Machine::run`
        // returns. By then every program has ended or was dropped (`Machine`'s contract).
        let body =
            unsafe { std::mem::transmute::<Body<'scope, M::Spe>, Body<'static, M::Spe>>(body) };
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

    /// Starts a program that calls `program` in a cooperative thread for each of `arguments` (as
    /// libspe2mt: CellMT, section 4.2). The handle returns the results in the same order, or a
    /// [`StackError`] if the local store has no room for all stacks, in which case no thread runs.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `at`.
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

    /// Makes the waiting threads of an SPE check their conditions again: see [`Wake::notify`].
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `spe`.
    #[track_caller]
    pub fn notify(&self, spe: SpeId) {
        self.core.notify(Processor::Spe(spe));
    }

    /// Waits until `ready` returns true: see [`Wait::wait_until`].
    #[track_caller]
    pub fn wait_until(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) {
        self.core.wait_until(why, ready);
    }
}

impl<R, M: Machine> Handle<'_, R, M> {
    /// Returns the SPE of the program.
    pub fn spe(&self) -> SpeId {
        self.spe
    }

    /// Returns whether the program has ended.
    pub fn is_finished(&self) -> bool {
        // SAFETY: as in `join`.
        let core = unsafe { &*self.core };
        // On a simulated machine, the program runs only while the time of the PPE advances. Reading
        // the clock advances this time, so a loop that calls only this method ends.
        core.now();
        self.outcome.has_ended()
    }

    /// Waits until the program has ended, and returns its result.
    ///
    /// # Errors
    ///
    /// Returns the program's panic, which the run then does not return.
    #[track_caller]
    pub fn join(self) -> Result<R, ProgramPanic> {
        // SAFETY: the core is a field of the `Ppe`. `main` has borrowed the `Ppe` for 'scope, and
        // the handle cannot outlive 'scope. Handles are not `Send`, because they contain a raw
        // pointer, so only the thread of the `Ppe` uses the core.
        let core = unsafe { &*self.core };
        if !self.outcome.has_ended() {
            let why = format_args!("{} on {} to end", self.name, self.spe);
            core.wait_until(&why, &mut || self.outcome.has_ended());
        }
        let panic = |payload: Payload| ProgramPanic {
            at: self.spe,
            program: self.name,
            payload: payload.into(),
        };
        if let Some(payload) = self.outcome.take_panic() {
            return Err(panic(payload));
        }
        let value = self
            .value
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        // A program with neither a value nor a panic was cancelled.
        value.ok_or_else(|| panic(Box::new(Cancelled)))
    }
}
