//! Machines, and the PPE's side of them.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::mailbox::{MailboxFull, Outbound};
use crate::memory::{AllocateError, Region};
use crate::mfc::{EffectiveAddress, MfcFault, RawCommand, TagMask};
use crate::spe::{issue_when_there_is_room, wait_for_some};
use crate::{
    AtomicError, AtomicOp, Cycles, ModuleId, Processor, RunError, SignalMode, SignalRegister, Spe,
    SpeId, StackError, ThreadId, Time, Topology, TryIssueError, Wait, Wake,
};

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

    /// Runs `main` as the PPE's program, and returns when it and every program that it spawned
    /// have ended. Programs may borrow what outlives the call.
    ///
    /// # Errors
    ///
    /// [`RunError::Panic`] if a program panicked and nobody joined it, or `main` did;
    /// [`RunError::Deadlock`] if all of them wait for each other.
    fn run<'env, R>(
        &'env self,
        main: impl for<'scope> FnOnce(&'scope Ppe<'scope, 'env, Self>) -> R,
    ) -> Result<R, RunError>;
}

/// What a machine does for its PPE; programs use it through [`Ppe`].
pub trait PpeCore: Wake {
    /// The machine's SPEs.
    type Spe: Spe;

    /// The machine.
    fn topology(&self) -> &Topology;
    /// The time since the start of the run.
    fn now(&self) -> Time;
    /// See [`Ppe::compute`].
    fn compute(&self, cycles: Cycles);
    /// See [`Spe::is_confined_to_local_store`].
    fn are_spes_confined_to_local_store(&self) -> bool;
    /// See [`Spe::is_cancelled`].
    fn is_cancelled(&self) -> bool;
    /// Starts a program on an SPE, after those that were started there before.
    fn start(&self, at: SpeId, program: Program<Self::Spe>);
    /// See [`Spe::notify`].
    #[track_caller]
    fn notify(&self, to: Processor);
    /// See [`Spe::try_write_in_mbox_of`].
    #[expect(clippy::missing_errors_doc, reason = "documented where it is used")]
    fn try_write_in_mbox(&self, to: SpeId, word: u32) -> Result<(), MailboxFull>;
    /// See [`Spe::write_in_mbox_of`].
    #[track_caller]
    fn write_in_mbox(&self, to: SpeId, word: u32);
    /// Takes the word of an outbound mailbox.
    fn try_read_out_mbox(&self, from: SpeId, mailbox: Outbound) -> Option<u32>;
    /// See [`Spe::send_signal`].
    fn send_signal(&self, to: SpeId, register: SignalRegister, bits: u32);
    /// Chooses what a signal does to one that was not read yet.
    fn set_signal_mode(&self, spe: SpeId, register: SignalRegister, mode: SignalMode);
    /// See [`Spe::fetch_update`].
    #[expect(clippy::missing_errors_doc, reason = "documented where it is used")]
    fn fetch_update(&self, ea: EffectiveAddress, op: AtomicOp) -> Result<u32, AtomicError>;
    /// See [`Ppe::try_issue_proxy`].
    #[expect(clippy::missing_errors_doc, reason = "documented where it is used")]
    #[track_caller]
    fn try_issue_proxy(&self, spe: SpeId, command: RawCommand) -> Result<(), TryIssueError>;
    /// See [`Ppe::incomplete_proxy_tags`].
    #[track_caller]
    fn incomplete_proxy_tags(&self, spe: SpeId) -> TagMask;

    /// See [`Ppe::issue_proxy`].
    #[expect(clippy::missing_errors_doc, reason = "documented where it is used")]
    #[track_caller]
    fn issue_proxy(&self, spe: SpeId, command: RawCommand) -> Result<(), MfcFault> {
        let why = format_args!("a free entry in the MFC proxy queue of {spe}");
        issue_when_there_is_room(self, &why, || self.try_issue_proxy(spe, command))
    }
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

/// A program on its way to an SPE: for machines to run.
pub struct Program<S> {
    body: Body<'static, S>,
    outcome: Arc<Outcome>,
    name: &'static str,
    spawned_at: &'static Location<'static>,
}

/// What a program is once its result has a place to go.
type Body<'scope, S> = Box<dyn FnOnce(&S) -> Result<(), Payload> + Send + 'scope>;

/// What a panic carries.
pub type Payload = Box<dyn Any + Send>;

/// How a program ended, as far as its machine can see.
#[derive(Debug, Default)]
pub struct Outcome {
    ended: OnceLock<()>,
    panic: Mutex<Option<Payload>>,
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

impl<S> Program<S> {
    /// The type of the program's closure, which names the function that it stands in.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Where it was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }

    /// How it ended, to be kept while it runs.
    pub fn outcome(&self) -> Arc<Outcome> {
        Arc::clone(&self.outcome)
    }

    /// Runs the program; never unwinds. The machine then hands the result to [`Outcome::end`], and
    /// notifies the PPE.
    ///
    /// # Errors
    ///
    /// What the program's panic carried.
    pub fn run(self, spe: &S) -> Result<(), Payload> {
        (self.body)(spe)
    }
}

impl<S> fmt::Debug for Program<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} spawned at {}", self.name, self.spawned_at)
    }
}

impl Outcome {
    /// Says that the program has ended, with the payload of its panic if it panicked.
    pub fn end(&self, panic: Option<Payload>) {
        *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = panic;
        let _ = self.ended.set(());
    }

    /// Whether the program has ended.
    pub fn has_ended(&self) -> bool {
        self.ended.get().is_some()
    }

    /// Takes the payload of the program's panic, unless somebody has taken it before.
    pub fn take_panic(&self) -> Option<Payload> {
        self.panic
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
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

    /// Says that the main program computes for `cycles` cycles of the PPE's clock: simulated machines charge the time,
    /// real ones do nothing, since they spend it anyway.
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
        let outcome = Arc::new(Outcome::default());
        let result = Arc::clone(&value);
        let body: Body<'scope, M::Spe> = Box::new(move |spe| {
            catch_unwind(AssertUnwindSafe(|| {
                let value = program(spe);
                *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
                // If nobody holds the handle any more this drops the value, which may panic too.
                drop(result);
            }))
        });
        // SAFETY: only the lifetime changes. What the closure borrows lives for 'scope, which
        // lasts until `Machine::run` returns, and an implementation of the unsafe trait `Machine`
        // has run or dropped every program by then.
        let body =
            unsafe { std::mem::transmute::<Body<'scope, M::Spe>, Body<'static, M::Spe>>(body) };
        let name = std::any::type_name::<F>();
        self.core.start(
            at,
            Program {
                body,
                outcome: Arc::clone(&outcome),
                name,
                spawned_at: Location::caller(),
            },
        );
        Handle {
            spe: at,
            name,
            outcome,
            value,
            core: &raw const self.core,
            scope: PhantomData,
        }
    }

    /// Starts a program on an SPE that runs `program` in a cooperative thread for each of `arguments`, and returns
    /// their results in the order of the arguments (the pattern of libspe2mt: CellMT, section 4.2).
    ///
    /// The handle's result is a [`StackError`] if the local store has no room for the stacks of so many threads; none
    /// of them has run then.
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

    /// Puts a word into the inbound mailbox of an SPE.
    ///
    /// # Errors
    ///
    /// [`MailboxFull`] if it holds four words.
    ///
    /// # Panics
    ///
    /// If the machine has no SPE `to`.
    pub fn try_write_in_mbox(&self, to: SpeId, word: u32) -> Result<(), MailboxFull> {
        self.core.try_write_in_mbox(to, word)
    }

    /// Puts a word into the inbound mailbox of an SPE; waits while it is full.
    ///
    /// # Panics
    ///
    /// If the machine has no SPE `to`.
    #[track_caller]
    pub fn write_in_mbox(&self, to: SpeId, word: u32) {
        self.core.write_in_mbox(to, word);
    }

    /// Takes the word of an SPE's outbound mailbox, or `None` if it is empty.
    ///
    /// # Panics
    ///
    /// If the machine has no SPE `from`.
    pub fn try_read_out_mbox(&self, from: SpeId, mailbox: Outbound) -> Option<u32> {
        self.core.try_read_out_mbox(from, mailbox)
    }

    /// Takes the word of an SPE's outbound mailbox; waits while it is empty. In a destructor that
    /// runs because the run was cancelled it does not wait, and returns 0.
    ///
    /// # Panics
    ///
    /// If the machine has no SPE `from`.
    #[track_caller]
    pub fn read_out_mbox(&self, from: SpeId, mailbox: Outbound) -> u32 {
        let why = format_args!("a word in the {} of {from}", mailbox.name());
        wait_for_some(&self.core, &why, || self.try_read_out_mbox(from, mailbox))
    }

    /// Sends a signal; what it does to one that was not read yet is for the register's
    /// [mode](Self::set_signal_mode) to say. Never waits.
    ///
    /// # Panics
    ///
    /// If the machine has no SPE `to`.
    pub fn send_signal(&self, to: SpeId, register: SignalRegister, bits: u32) {
        self.core.send_signal(to, register, bits);
    }

    /// Chooses what a signal does to one that was not read yet; a machine starts in
    /// [`SignalMode::Overwrite`].
    ///
    /// # Panics
    ///
    /// If the machine has no SPE `spe`.
    pub fn set_signal_mode(&self, spe: SpeId, register: SignalRegister, mode: SignalMode) {
        self.core.set_signal_mode(spe, register, mode);
    }

    /// Applies `op` to the 32-bit word of main memory at `ea`, as one indivisible step, and
    /// returns what it was before.
    ///
    /// # Errors
    ///
    /// As [`Spe::fetch_update`].
    pub fn fetch_update(&self, ea: EffectiveAddress, op: AtomicOp) -> Result<u32, AtomicError> {
        self.core.fetch_update(ea, op)
    }

    /// Enqueues a command in the proxy queue of an SPE's MFC: the raw level of the PPE.
    ///
    /// The queue has 8 entries, and tag groups and an order of its own: nothing orders its commands with those that
    /// the SPE's program issues. As for that program, `put` goes from the local store to the effective address.
    /// Whoever issues a command has to know which bytes of the local store nobody else uses.
    ///
    /// It takes what [`Mfc::try_issue`](crate::Mfc::try_issue) takes, but for lists and atomic commands. The SPE needs
    /// no program, and the end of one leaves these commands alone. A run does not wait for commands that are not
    /// complete when it ends.
    ///
    /// ```
    /// # use cellworks_machine::{Machine, ModuleId, SpeId};
    /// use cellworks_machine::mfc::{LsAddr, RawCommand, Tag};
    ///
    /// # fn example<M: Machine>(machine: &M) -> Result<(), Box<dyn std::error::Error>> {
    /// const TAG: Tag = Tag::of::<3>();
    /// let region = machine.allocate(ModuleId::new(0), 4_096)?;
    /// machine.run(|ppe| {
    ///     let spe = SpeId::new(0);
    ///     ppe.issue_proxy(spe, RawCommand::get(LsAddr(0x1000), region.at(0), 4_096, TAG))?;
    ///     ppe.wait_all_proxy(spe, TAG.mask());
    ///     Ok::<_, cellworks_machine::mfc::MfcFault>(())
    /// })??;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`TryIssueError::Full`] if the queue has no free entry, [`TryIssueError::Fault`] if the command is not
    /// legal. It has no effect and takes no entry then.
    ///
    /// # Panics
    ///
    /// If the machine has no SPE `spe`, or if a command that had to wait in this queue turned out to be illegal: its
    /// memory is gone. So do the four calls below.
    ///
    /// Source: `spe_mfcio_put` and its relatives in libspe2; CBEA s.7.4 p.59 (no lists), s.7.8 p.65 (no atomics);
    /// Handbook s.19.3.3.2 p.522 (the entries).
    #[track_caller]
    pub fn try_issue_proxy(&self, spe: SpeId, command: RawCommand) -> Result<(), TryIssueError> {
        self.core.try_issue_proxy(spe, command)
    }

    /// Enqueues a command in the proxy queue of an SPE's MFC; waits while the queue is full. See
    /// [`try_issue_proxy`](Self::try_issue_proxy).
    ///
    /// # Errors
    ///
    /// [`MfcFault`] if the command is not legal.
    #[track_caller]
    pub fn issue_proxy(&self, spe: SpeId, command: RawCommand) -> Result<(), MfcFault> {
        self.core.issue_proxy(spe, command)
    }

    /// The tag groups that have commands under way in the proxy queue of an SPE's MFC.
    #[track_caller]
    pub fn incomplete_proxy_tags(&self, spe: SpeId) -> TagMask {
        self.core.incomplete_proxy_tags(spe)
    }

    /// Waits until every command of the tag groups in `tags` is complete in the proxy queue of an SPE's MFC.
    ///
    /// Source: `spe_mfcio_tag_status_read` of libspe2 with `SPE_TAG_ALL`.
    #[track_caller]
    pub fn wait_all_proxy(&self, spe: SpeId, tags: TagMask) {
        let why = format_args!("DMA of all tag groups in {tags} of the MFC proxy queue of {spe}");
        wait_for_some(&self.core, &why, || {
            (self.core.incomplete_proxy_tags(spe) & tags)
                .is_empty()
                .then_some(())
        });
    }

    /// Waits until at least one of the tag groups in `tags` is complete in the proxy queue of an SPE's MFC, and
    /// returns those that are. A group without commands is complete.
    ///
    /// Source: `spe_mfcio_tag_status_read` of libspe2 with `SPE_TAG_ANY`.
    #[track_caller]
    pub fn wait_any_proxy(&self, spe: SpeId, tags: TagMask) -> TagMask {
        let why = format_args!("DMA of any tag group in {tags} of the MFC proxy queue of {spe}");
        wait_for_some(&self.core, &why, || {
            let complete = tags & !self.core.incomplete_proxy_tags(spe);
            (!complete.is_empty() || tags.is_empty()).then_some(complete)
        })
    }

    /// Has the threads of an SPE ask again what they wait for; see [`Spe::notify`].
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
        // A look at the clock lets time pass where it is simulated: a loop that asks this comes to an end.
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
        value.ok_or_else(|| Box::new(crate::Cancelled) as Payload)
    }
}
