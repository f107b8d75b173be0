//! The scheduler of one core: who runs, who is ready, who waits.
//!
//! ```text
//!             ready queue: a ring of saved stack pointers
//!   yield_now  ┌──┬──┬──┬──┬──┬──┐  pushes the running context at the tail, pops the head, prefetches the frame
//!          ──► │  │  │  │  │  │  │  four further on; touches no control block
//!              └──┴──┴──┴──┴──┴──┘
//!   park       stores the context in the thread's block; unpark pushes it to the ring
//! ```
//!
//! It is found through a const thread-local without destructor, which is one load relative to the thread register. A
//! reference carried in each thread's frame would make the next queue entry wait for that frame (measured: twice as
//! slow). A thread never leaves its OS thread, so the address may be kept across switches.
//!
//! Four modes:
//!
//! - normal: threads run in the order of the ring;
//! - rotating: threads of one scope take turns among themselves, see `rotation`. The ring looks empty, and everything but
//!   a turn ends the mode first;
//! - frozen: the idle hook, or the `Display` of what a thread waits for, is running on a stack whose thread may itself be
//!   waiting. Nothing may switch then: the ring looks empty, threads that are unparked queue up aside, `park` and `spawn`
//!   panic;
//! - cancelled: the ring stays empty for good, so that every yield takes its slow path and unwinds. First the threads
//!   that were ready are continued, once each, then always the youngest thread alive. It never waits for another: those
//!   that it could join or drain are younger than itself.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt::{self, Display};
use std::io;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::panicking;

use crate::arch::{self, Context, Frame};
use crate::block::{Block, State};
use crate::list::List;
use crate::overflow::Guarded;
use crate::report::{Blocked, BlockedThread, Cause};
use crate::rotation::Rotation;
use crate::scope::ScopeState;
use crate::stack::Stack;

/// What a panic carries.
pub(crate) type Payload = Box<dyn Any + Send>;

/// What a cancelled thread is unwound with.
///
/// A program that catches it with `catch_unwind` is unwound again by its next blocking call. It cannot be made outside
/// of this crate.
#[derive(Debug)]
pub struct Cancelled(());

impl Cancelled {
    pub(crate) fn payload() -> Payload {
        Box::new(Cancelled(()))
    }
}

/// Stacks of a run.
#[derive(Clone, Debug)]
pub struct Config {
    /// Bytes of the stack of each thread that asks for no other size with
    /// [`Builder::stack_bytes`](crate::Builder::stack_bytes), 256 KiB by default.
    ///
    /// They are addresses, not memory: the kernel commits a page when it is first touched. Sizes below 16 KiB are
    /// raised to it, because a panic alone needs some. The main thread runs on the stack of its OS thread.
    pub stack_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            stack_bytes: 256 * 1024,
        }
    }
}

/// The least size of a stack: a panic with a backtrace needs about half of it.
const LEAST_STACK_BYTES: usize = 16 * 1024;

/// Distance between the tops of stacks, in bytes and in places. Tops at one offset in their page would share one set of
/// the L1 cache; measured, staggering is worth a factor of 2 with 16 threads and 3.5 with 1,000.
const STAGGER_BYTES: usize = 128;
const STAGGER_PLACES: usize = 32;

/// Blocks that are allocated together.
const BLOCKS_OF_A_CHUNK: usize = 16;

/// How far ahead in the ready queue frames are prefetched.
const PREFETCH_AHEAD: usize = 4;

/// Serial numbers are given to runs in portions, so that no two threads of a process ever have the same: a run lasts for
/// less than 2^40 threads, a process for less than 2^24 runs.
const SERIALS_OF_A_RUN: u64 = 1 << 40;
static NEXT_SERIALS: AtomicU64 = AtomicU64::new(SERIALS_OF_A_RUN);

/// What the world outside of a core has to say when none of its threads is ready.
pub trait Idle {
    /// Waits until something has happened outside, and unparks the threads that it concerns.
    ///
    /// Runs on the stack of the thread that has just waited or ended, when no thread is ready and at least one waits. It
    /// is called again if it returns [`Verdict::Continue`] without having unparked any. It may unpark threads, cancel
    /// the core and ask for [`blocked_threads`]; it cannot wait or spawn (that panics), and a yield does nothing. If it
    /// panics, the core is cancelled and the panic comes out of [`run`].
    fn idle(&self) -> Verdict;
}

/// The answer of [`Idle::idle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Look again whether a thread is ready.
    Continue,
    /// Nothing will ever wake a thread of this core: cancel them all, [`run`] returns [`Blocked`].
    Stuck,
}

/// The [`Idle`] of a core that only its own threads can wake: when all of them wait, they are stuck.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoOutside;

impl Idle for NoOutside {
    fn idle(&self) -> Verdict {
        Verdict::Stuck
    }
}

/// The part of a core that every switch touches.
pub(crate) struct Scheduler {
    /// `mask + 1` places, a power of two and at least the number of live threads. The `ready` ones from `head` on, which
    /// counts on for ever, hold threads.
    ring: Cell<*const Cell<Context>>,
    mask: Cell<usize>,
    head: Cell<usize>,
    ready: Cell<usize>,
    /// The running thread; null outside of `run`.
    current: Cell<*const Block>,
    mode: Cell<u8>,
    /// A suspended thread may be unwinding. See [`Scheduler::is_unwinding`].
    others_unwinding: Cell<bool>,
    /// Pool of stacks of the configured size, linked by `Block::next`.
    pool: Cell<*const Block>,
    /// All threads that have not ended, in order of creation.
    live: List,
    live_count: Cell<usize>,
    /// Serial number of the main thread of this run; 1 + the last one outside of a run.
    first_serial: Cell<u64>,
    next_serial: Cell<u64>,
    core: Cell<*const Core>,
}

const FROZEN: u8 = 1;
const CANCELLED: u8 = 2;
const ROTATING: u8 = 4;
/// While rotating: others are ready, too, or a single thread is in the rotation, so that not every turn is a switch.
const ROUNDS: u8 = 8;

thread_local! {
    static SCHEDULER: Scheduler = const {
        Scheduler {
            ring: Cell::new(ptr::null()),
            mask: Cell::new(0),
            head: Cell::new(0),
            ready: Cell::new(0),
            current: Cell::new(ptr::null()),
            mode: Cell::new(0),
            others_unwinding: Cell::new(false),
            pool: Cell::new(ptr::null()),
            live: List::new(),
            live_count: Cell::new(0),
            first_serial: Cell::new(1),
            next_serial: Cell::new(1),
            core: Cell::new(ptr::null()),
        }
    };
}

/// The part of a core that is rarely touched; lives in the frame of [`run`].
struct Core {
    idle: *const dyn Idle,
    stack_bytes: usize,
    ring: RefCell<Vec<Cell<Context>>>,
    /// Every block there is, in use or pooled, with its stack: in chunks that never grow, so that blocks stay in their places.
    blocks: RefCell<Vec<Vec<Block>>>,
    /// Pools of stacks of other sizes than the configured one: bytes and first block.
    other_pools: RefCell<Vec<(usize, *const Block)>>,
    /// Threads unparked while frozen, linked by `Block::next`, first and last.
    woken: Cell<(*const Block, *const Block)>,
    /// Threads that were ready when the core was cancelled.
    interrupted: RefCell<VecDeque<Context>>,
    blocked: Cell<Option<Blocked>>,
    idle_panic: Cell<Option<Payload>>,
    _guarded: Guarded,
    #[cfg(cellworks_sanitizer)]
    stacks: crate::sanitizer::Stacks,
}

impl Drop for Core {
    fn drop(&mut self) {
        for block in self.blocks.get_mut().iter().flatten() {
            // SAFETY: all threads but the main one have ended, and `Thread`s that still name the block are recognised by
            // their serial number before it is looked at.
            unsafe { block.stack.unmap() };
        }
    }
}

/// Runs `f` with the scheduler of this OS thread.
#[inline(always)]
pub(crate) fn with<R>(f: impl FnOnce(&Scheduler) -> R) -> R {
    SCHEDULER.with(f)
}

/// Makes the calling OS thread a core: `main` becomes its first cooperative thread, on the OS thread's own stack.
///
/// Returns what `main` returns, after all threads have ended; [`scope`](crate::scope) sees to it that `main` cannot
/// leave any behind. `idle` is asked whenever no thread is ready; [`NoOutside`] if nothing outside can wake a thread.
/// Stacks are kept in a pool and given back at the end.
///
/// ```
/// use cellworks_threads::{Config, NoOutside, run, scope, yield_now};
///
/// let sum = run(&Config::default(), &NoOutside, || {
///     scope(|s| {
///         let threads: Vec<_> = (0..3)
///             .map(|i| s.spawn(move || { yield_now(); i }))
///             .collect();
///         threads.into_iter().map(|t| t.join().unwrap()).sum::<i32>()
///     })
/// });
/// assert_eq!(sum, Ok(3));
/// ```
///
/// # Errors
///
/// [`Blocked`] if the threads were cancelled, because `idle` said [`Verdict::Stuck`] or by [`cancel_all`]. All threads
/// have been unwound by then.
///
/// # Panics
///
/// With the panic of `main`, of a thread that it did not join, or of `idle`; such a panic wins over the cancellation
/// that it may have caused. If the OS thread runs a core already. If the process has no memory left for an alternate
/// signal stack.
pub fn run<R>(config: &Config, idle: &dyn Idle, main: impl FnOnce() -> R) -> Result<R, Blocked> {
    assert!(
        !is_running(),
        "this OS thread already runs cooperative threads: `run` cannot be nested; use `scope` to start more threads"
    );
    let core = Core::new(config, idle);
    let block = Block::new(Stack::FOREIGN, ptr::null_mut(), 0);
    with(|s| s.enter(&core, &block));
    let outcome = catch_unwind(AssertUnwindSafe(main));
    with(|s| s.leave(&block));
    match (outcome, core.idle_panic.take(), core.blocked.take()) {
        (Err(payload), _, _) if !payload.is::<Cancelled>() => resume_unwind(payload),
        (_, Some(payload), _) => resume_unwind(payload),
        (_, None, Some(blocked)) => Err(blocked),
        (Ok(result), None, None) => Ok(result),
        // Kept from an earlier run and thrown again.
        (Err(payload), None, None) => resume_unwind(payload),
    }
}

impl Core {
    fn new(config: &Config, idle: &dyn Idle) -> Core {
        let guarded = Guarded::new().unwrap_or_else(|error| {
            panic!("cannot map an alternate signal stack for this OS thread: {error}")
        });
        // SAFETY: only the lifetime changes; `run` clears the pointer to the core before the borrow ends.
        let idle = unsafe { std::mem::transmute::<&dyn Idle, &'static dyn Idle>(idle) };
        Core {
            idle,
            stack_bytes: config.stack_bytes.max(LEAST_STACK_BYTES),
            ring: RefCell::new(vec![Cell::new(Context::NONE); 64]),
            blocks: RefCell::default(),
            other_pools: RefCell::default(),
            woken: Cell::new((ptr::null(), ptr::null())),
            interrupted: RefCell::default(),
            blocked: Cell::new(None),
            idle_panic: Cell::new(None),
            _guarded: guarded,
            #[cfg(cellworks_sanitizer)]
            stacks: Default::default(),
        }
    }
}

impl Scheduler {
    fn enter(&self, core: &Core, main: &Block) {
        let ring = core.ring.borrow();
        self.ring.set(ring.as_ptr());
        self.mask.set(ring.len() - 1);
        self.head.set(0);
        self.ready.set(0);
        self.mode.set(0);
        self.others_unwinding.set(false);
        self.pool.set(ptr::null());
        let first_serial = NEXT_SERIALS.fetch_add(SERIALS_OF_A_RUN, Ordering::Relaxed);
        self.first_serial.set(first_serial);
        self.next_serial.set(first_serial);
        self.core.set(core);
        main.set_name(Some("main".into()));
        self.admit(main);
        self.current.set(main);
    }

    fn leave(&self, main: &Block) {
        self.live.remove(main);
        self.live_count.set(0);
        main.set_name(None);
        self.ready.set(0);
        self.next_serial.set(self.first_serial.get());
        self.current.set(ptr::null());
        self.core.set(ptr::null());
        self.mode.set(0);
    }

    /// Whether a thread belongs to the present run of this core: if so its block is in its place.
    #[inline(always)]
    fn is_of_this_run(&self, thread: Thread) -> bool {
        (self.first_serial.get()..self.next_serial.get()).contains(&thread.serial)
    }

    /// The running thread.
    ///
    /// # Panics
    ///
    /// Outside of `run`.
    pub(crate) fn current(&self) -> &Block {
        // SAFETY: null or the block of a thread of this run, which stays in its place until its end.
        unsafe { self.current.get().as_ref() }.expect(
            "this OS thread runs no cooperative threads: call this inside `cellworks_threads::run`",
        )
    }

    /// The rarely touched part.
    fn core(&self) -> &Core {
        // SAFETY: null or in the frame of `run`, which clears the pointer before it ends.
        unsafe { self.core.get().as_ref() }.expect(
            "this OS thread runs no cooperative threads: call this inside `cellworks_threads::run`",
        )
    }

    #[inline(always)]
    fn place(&self, index: usize) -> *const Cell<Context> {
        // SAFETY: the mask keeps the index inside the ring, which only `admit` replaces.
        unsafe { self.ring.get().add(index & self.mask.get()) }
    }

    /// Whether a thread is ready.
    #[inline(always)]
    fn has_ready(&self) -> bool {
        self.ready.get() != 0
    }

    #[inline(always)]
    fn push_ready(&self, context: Context) {
        let ready = self.ready.get();
        // SAFETY: a place of the ring.
        unsafe { (*self.place(self.head.get().wrapping_add(ready))).set(context) };
        self.ready.set(ready + 1);
    }

    /// The first ready thread; there is one.
    #[inline(always)]
    fn first_ready(&self) -> Context {
        let head = self.head.get();
        // SAFETY: places of the ring, all initialised.
        let (first, ahead) = unsafe {
            (
                (*self.place(head)).get(),
                (*self.place(head.wrapping_add(PREFETCH_AHEAD))).get(),
            )
        };
        arch::prefetch(ahead);
        first
    }

    /// Takes the first ready thread; there is one.
    #[inline(always)]
    fn pop_ready(&self) -> Context {
        let first = self.first_ready();
        self.head.set(self.head.get().wrapping_add(1));
        self.ready.set(self.ready.get() - 1);
        first
    }

    /// Lets all ready threads run before the caller goes on. There is at least one.
    ///
    /// As many are ready afterwards as before, so there is one index to move. Stores are what a yield must be sparing
    /// with: where every one comes with a cache miss, those of the next few yields share the processor's store queue.
    #[inline(always)]
    fn go_round(&self) {
        let next = self.first_ready();
        let head = self.head.get();
        self.head.set(head.wrapping_add(1));
        let tail = head.wrapping_add(self.ready.get());
        let me = self.current.get();
        // SAFETY: the place at the tail is free, as the ring has room for all threads. `next` was in the ready queue,
        // which holds each suspended thread at most once: it was pushed by a yield, a wake-up or at its creation, and
        // taken out when continued.
        unsafe { self.switch(self.place(tail), next) };
        self.current.set(me);
    }

    /// # Safety
    ///
    /// As for [`arch::switch`].
    #[cfg(not(cellworks_sanitizer))]
    #[inline(always)]
    unsafe fn switch(&self, save: *const Cell<Context>, to: Context) {
        // SAFETY: by the contract of this function.
        unsafe { arch::switch(save, to) }
    }

    /// # Safety
    ///
    /// As for [`arch::switch`].
    #[cfg(cellworks_sanitizer)]
    unsafe fn switch(&self, save: *const Cell<Context>, to: Context) {
        // SAFETY: by the contract of this function.
        unsafe {
            let stacks = &self.core().stacks;
            stacks.announced(to, || arch::switch(save, to));
        }
    }

    /// # Safety
    ///
    /// As for [`arch::switch_to_frame`].
    unsafe fn switch_to_frame(&self, save: *const Cell<Context>, to: &Frame) {
        // SAFETY: by the contract of this function.
        unsafe {
            #[cfg(not(cellworks_sanitizer))]
            arch::switch_to_frame(save, to);
            #[cfg(cellworks_sanitizer)]
            {
                let stacks = &self.core().stacks;
                stacks.announced(to.context(), || arch::switch_to_frame(save, to));
            }
        }
    }

    /// Lets the next thread of the rotation go on.
    ///
    /// Whoever continues a thread that takes turns says that it runs now, so that there is one store for that and none in
    /// the frame of the thread.
    ///
    /// # Safety
    ///
    /// `me` runs, the core is rotating, and `next` is the next one, which is another.
    #[inline(always)]
    unsafe fn turn(&self, me: &Block, next: &Block) {
        self.current.set(next);
        // SAFETY: `next` is suspended in its frame, and is in no queue, so it is continued this once.
        unsafe {
            #[cfg(not(cellworks_sanitizer))]
            arch::turn(&me.frame, &next.frame);
            #[cfg(cellworks_sanitizer)]
            {
                let stacks = &self.core().stacks;
                stacks.announced(next.frame.context(), || arch::turn(&me.frame, &next.frame));
            }
        }
    }

    /// As [`turn`](Self::turn), where others may be ready, too: at the end of the round it is their turn.
    fn turn_in_round(&self) {
        let me = self.current();
        let scope = self.scope_of_running();
        if !scope.rotation.ends_with(me) || self.mode.get() == ROTATING {
            // SAFETY: while rotating the running thread is in the rotation, which is a circle of at least two then.
            return unsafe { self.turn(me, &*me.ahead.get()) };
        }
        if scope.rotation.ready.get() == 0 {
            return;
        }
        self.stop_rotating(scope);
        // SAFETY: as in `go_round`.
        unsafe { self.switch(me.frame.place(), self.pop_ready()) };
    }

    /// Lets the threads of a rotation take turns, until one of them does something else or it is the turn of others.
    /// False, at once, if there are none, or the core is cancelled.
    pub(crate) fn rotate(&self, rotation: &Rotation) -> bool {
        let Some(next) = rotation.next() else {
            return false;
        };
        self.end_turns();
        if self.mode.get() != 0 {
            return false;
        }
        let me = self.current();
        self.note_unwinding();
        let ready = self.ready.replace(0);
        rotation.ready.set(ready);
        let pauses = ready != 0 || rotation.ends_with(next);
        rotation.begin(pauses);
        self.mode.set(match pauses {
            true => ROTATING | ROUNDS,
            false => ROTATING,
        });
        self.current.set(next);
        // SAFETY: as in `turn`; `me` is in no queue, `stop_rotating` puts it there once.
        unsafe { self.switch_to_frame(&me.context, &next.frame) };
        self.current.set(me);
        true
    }

    /// Suspends the running thread to where it has its turns, in the rotation of its scope. False, at once, if its parent
    /// does not wait for the scope to end. At least one thread is ready.
    fn join_rotation(&self) -> bool {
        let me = self.current();
        // SAFETY: null or the scope of a thread, which outlives it.
        let Some(scope) = (unsafe { me.scope.get().as_ref() }) else {
            return false;
        };
        // SAFETY: null or a thread that is in `drain`.
        let Some(parent) = (unsafe { scope.drainer.get().as_ref() }) else {
            return false;
        };
        scope.rotation.push(me);
        // Else it is in the ready queue already.
        if parent.state.get() == State::Joining {
            self.wake(parent);
        }
        // SAFETY: as in `go_round`.
        unsafe { self.switch(me.frame.place(), self.pop_ready()) };
        true
    }

    /// If the running thread takes turns, it leaves the rotation: it is a thread like others now.
    #[inline]
    pub(crate) fn end_turns(&self) {
        if self.is_rotating() {
            self.leave_rotation();
        }
    }

    #[cold]
    #[inline(never)]
    fn leave_rotation(&self) {
        let scope = self.scope_of_running();
        scope.rotation.remove(self.current());
        self.stop_rotating(scope);
    }

    /// The ready queue is what it was, and the parent stands there for those that are in the rotation.
    fn stop_rotating(&self, scope: &ScopeState) {
        self.mode.set(0);
        self.ready.set(scope.rotation.ready.get());
        // SAFETY: the parent is in `rotate`, as it is whenever its threads take turns.
        self.push_ready(unsafe { (*scope.drainer.get()).context.get() });
    }

    /// The scope of the running thread, which is not the main one.
    fn scope_of_running(&self) -> &ScopeState {
        // SAFETY: a scope outlives its threads.
        unsafe { &*self.current().scope.get() }
    }

    fn is_rotating(&self) -> bool {
        self.mode.get() & ROTATING != 0
    }

    /// Whether a thread but the running one is ready.
    fn has_others(&self) -> bool {
        match self.is_rotating() {
            true => self.mode.get() == ROTATING || self.has_others_in_round(),
            false => self.has_ready(),
        }
    }

    #[cold]
    fn has_others_in_round(&self) -> bool {
        let me = self.current();
        !ptr::eq(me.ahead.get(), me) || self.scope_of_running().rotation.ready.get() != 0
    }

    fn is_cancelled(&self) -> bool {
        self.mode.get() & CANCELLED != 0
    }

    fn is_frozen(&self) -> bool {
        self.mode.get() & FROZEN != 0
    }

    fn assert_not_frozen(&self, what: &str) {
        assert!(
            !self.is_frozen(),
            "`{what}` was called by `Idle::idle`, or by the `Display` of what a thread waits for, where nothing may wait or be started"
        );
    }

    /// Whether the running thread is unwinding.
    ///
    /// `std` counts panics for each OS thread, so `panicking()` is also true while another thread waits in a destructor
    /// during *its* unwinding. `others_unwinding` says whether that can be: it is set when a thread is suspended while
    /// `panicking()`, and cleared when the count is seen at zero. While it is not set, `panicking()` is exact. While it
    /// is, we go by what was last known of the running thread: exact, but for a thread that began a panic of its own, or
    /// caught one, in the meantime.
    #[inline(never)]
    fn is_unwinding(&self) -> bool {
        let me = self.current();
        if !panicking() {
            self.others_unwinding.set(false);
            me.unwinding.set(false);
        } else if !self.others_unwinding.get() {
            me.unwinding.set(true);
        }
        me.unwinding.get()
    }

    /// Takes down whether the running thread is unwinding, which is about to be suspended.
    #[inline(always)]
    fn note_unwinding(&self) {
        let unwinding = panicking();
        if unwinding {
            self.is_unwinding();
        }
        self.others_unwinding.set(unwinding);
    }

    /// Cancels the running thread, unless it is unwinding already: then waiting must end at once, not panic again.
    #[inline]
    fn unwind_if_cancelled(&self) {
        if self.is_cancelled() {
            self.unwind();
        }
    }

    #[cold]
    #[inline(never)]
    fn unwind(&self) {
        if !self.is_unwinding() {
            resume(Cancelled::payload());
        }
    }

    /// Ends the park of the thread that has this number, if it has not ended, or its next one.
    #[inline(always)]
    fn unpark(&self, block: &Block, serial: u64) {
        if block.serial.get() != serial {
            return;
        }
        if block.state.get() == State::Parked {
            self.wake(block);
        } else {
            block.token.set(true);
        }
    }

    /// Makes a thread that waits ready.
    #[inline(always)]
    pub(crate) fn wake(&self, block: &Block) {
        block.state.set(State::Ready);
        if self.mode.get() == 0 {
            self.push_ready(block.context.get());
        } else {
            self.wake_later(block);
        }
    }

    /// A cancelled core continues its threads in another order. A frozen one notes who is ready.
    #[cold]
    fn wake_later(&self, block: &Block) {
        if self.is_cancelled() {
            return;
        }
        if self.is_rotating() {
            self.leave_rotation();
            return self.push_ready(block.context.get());
        }
        let woken = &self.core().woken;
        let (first, last) = woken.get();
        block.next.set(ptr::null());
        // SAFETY: null or a block of this run.
        match unsafe { last.as_ref() } {
            Some(last) => {
                last.next.set(block);
                woken.set((first, block));
            }
            None => woken.set((block, block)),
        }
    }

    /// Runs `f`, which must not unwind, while nothing switches.
    fn frozen<R>(&self, f: impl FnOnce() -> R) -> R {
        if self.is_frozen() {
            return f();
        }
        self.mode.set(self.mode.get() | FROZEN);
        let ready = self.ready.replace(0);
        let result = f();
        self.ready.set(ready);
        self.mode.set(self.mode.get() & !FROZEN);
        let (mut woken, _) = self.core().woken.take_both();
        if self.is_cancelled() {
            self.interrupt_ready();
        } else {
            // SAFETY: null or a block of this run.
            while let Some(block) = unsafe { woken.as_ref() } {
                woken = block.next.get();
                // The thread whose stack this is has not been suspended; it looks at its state.
                if !ptr::eq(block, self.current.get()) {
                    self.push_ready(block.context.get());
                }
            }
        }
        result
    }

    /// Moves the ready threads of a cancelled core to where they are continued from once.
    fn interrupt_ready(&self) {
        let mut interrupted = self.core().interrupted.borrow_mut();
        while self.has_ready() {
            interrupted.push_back(self.pop_ready());
        }
    }

    /// The thread to continue when the running one cannot go on. `None` if that one waits itself and may go on after all,
    /// because it was woken or cancelled; it is `waiting`, or has ended.
    fn next(&self, waiting: Option<&Block>) -> Option<Context> {
        loop {
            // Before the others: it is in no queue, so whoever is continued now would never come back to it.
            if waiting.is_some_and(|me| me.state.get() == State::Ready) {
                return None;
            }
            if self.has_ready() {
                return Some(self.pop_ready());
            }
            if self.is_cancelled() {
                let interrupted = self.core().interrupted.borrow_mut().pop_front();
                return interrupted.or_else(|| {
                    let youngest = self.live.last().expect("the main thread is alive");
                    let continues_itself = waiting.is_some_and(|me| ptr::eq(me, youngest));
                    (!continues_itself).then(|| {
                        self.current.set(youngest);
                        // It may have been suspended where it has its turns.
                        // SAFETY: it does not run, as the running thread waits or has ended; blocks stay where they are.
                        let in_turn = unsafe { youngest.frame.take() };
                        in_turn.unwrap_or(youngest.context.get())
                    })
                });
            }
            self.ask_outside();
        }
    }

    #[cold]
    fn ask_outside(&self) {
        let core = self.core();
        // SAFETY: the hook is borrowed by `run`, which has not returned.
        let idle = unsafe { &*core.idle };
        let answer = self.frozen(|| catch_unwind(AssertUnwindSafe(|| idle.idle())));
        match answer {
            Ok(Verdict::Continue) => {}
            Ok(Verdict::Stuck) => self.cancel(Cause::Stuck),
            Err(payload) => {
                core.idle_panic.set(Some(payload));
                self.cancel(Cause::Cancelled);
            }
        }
    }

    /// Suspends the running thread until it is woken or the core is cancelled.
    pub(crate) fn wait(&self, state: State, why: &dyn Display, at: &'static Location<'static>) {
        self.end_turns();
        let me = self.current();
        // SAFETY: only the lifetime changes. The pointer is used only while `state` says that this call is waiting.
        let why = unsafe { std::mem::transmute::<&dyn Display, &'static dyn Display>(why) };
        me.why.set(Some(NonNull::from(why)));
        me.at.set(at);
        me.state.set(state);
        self.note_unwinding();
        if let Some(next) = self.next(Some(me)) {
            // SAFETY: `next` came out of the ready queue, or is a suspended thread of a cancelled core, whose ready
            // queue is empty and stays so: it is continued this once. Contexts of live threads lie on mapped stacks.
            unsafe { self.switch(&me.context, next) };
            self.current.set(me);
        }
        me.state.set(State::Ready);
    }

    /// Parks the running thread and continues the first that is ready: there is one, and the core is not cancelled.
    #[inline(always)]
    fn give_way(&self, me: &Block, why: &dyn Display, at: &'static Location<'static>) {
        // First, so that its stack pointer, which all that follows the switch waits for, is on its way meanwhile.
        let next = self.pop_ready();
        // SAFETY: as in `wait`.
        let why = unsafe { std::mem::transmute::<&dyn Display, &'static dyn Display>(why) };
        me.why.set(Some(NonNull::from(why)));
        me.at.set(at);
        me.state.set(State::Parked);
        self.note_unwinding();
        // SAFETY: as in `go_round`: it came out of the ready queue.
        unsafe { self.switch(&me.context, next) };
        self.current.set(me);
        me.state.set(State::Ready);
        self.unwind_if_cancelled();
        me.token.set(false);
    }

    /// Parks the running thread and continues one that is parked; the core is not cancelled.
    #[inline(always)]
    fn exchange(
        &self,
        me: &Block,
        next: &Block,
        why: &dyn Display,
        at: &'static Location<'static>,
    ) {
        // SAFETY: as in `wait`.
        let why = unsafe { std::mem::transmute::<&dyn Display, &'static dyn Display>(why) };
        me.why.set(Some(NonNull::from(why)));
        me.at.set(at);
        me.state.set(State::Parked);
        self.note_unwinding();
        next.state.set(State::Ready);
        // SAFETY: `next` was parked, so it is suspended and in no queue, and is continued this once: it is ready from now
        // on. Contexts of live threads lie on mapped stacks.
        unsafe { self.switch(&me.context, next.context.get()) };
        self.current.set(me);
        me.state.set(State::Ready);
        self.unwind_if_cancelled();
        me.token.set(false);
    }

    /// Leaves a thread that has ended, for good.
    pub(crate) fn depart(&self, me: &Block) -> ! {
        let next = self.next(None).expect("an ended thread does not go on");
        // SAFETY: as in `wait`. What is saved is never continued.
        unsafe {
            #[cfg(not(cellworks_sanitizer))]
            arch::switch(&me.context, next);
            #[cfg(cellworks_sanitizer)]
            self.core().stacks.switch_for_good(&me.context, next);
        }
        unreachable!("an ended thread was continued")
    }

    /// To be called first on the stack of a new thread.
    pub(crate) fn arrive(&self, me: &Block) {
        #[cfg(cellworks_sanitizer)]
        self.core().stacks.arrive_first();
        self.current.set(me);
    }

    /// Takes a new thread in: it gets a number, and the ring a place for it.
    fn admit(&self, block: &Block) {
        let serial = self.next_serial.get();
        self.next_serial.set(serial + 1);
        block.serial.set(serial);
        block.number.set(serial - self.first_serial.get());
        self.live.push(block);
        let live = self.live_count.get() + 1;
        self.live_count.set(live);
        if live > self.mask.get() + 1 {
            self.grow_ring();
        }
    }

    #[cold]
    fn grow_ring(&self) {
        let mut larger = vec![Cell::new(Context::NONE); 2 * (self.mask.get() + 1)];
        let mut ready = 0;
        while self.has_ready() {
            larger[ready] = Cell::new(self.pop_ready());
            ready += 1;
        }
        self.head.set(0);
        self.ready.set(ready);
        self.mask.set(larger.len() - 1);
        self.ring.set(larger.as_ptr());
        self.core().ring.replace(larger);
    }

    /// Makes the thread whose block and first frame are prepared ready to run.
    pub(crate) fn start(&self, block: &Block, context: Context) {
        self.end_turns();
        self.admit(block);
        block.context.set(context);
        // A cancelled core continues the youngest thread alive.
        if !self.is_cancelled() {
            self.push_ready(context);
        }
    }

    /// Takes the thread out of those alive: it has ended.
    pub(crate) fn dismiss(&self, block: &Block) {
        self.live.remove(block);
        self.live_count.set(self.live_count.get() - 1);
        block.state.set(State::Ended);
    }

    /// A block with a stack of at least `bytes` bytes.
    ///
    /// # Panics
    ///
    /// If the kernel refuses to map another stack.
    pub(crate) fn take_block(
        &self,
        bytes: Option<usize>,
        extra: usize,
        name: Option<&str>,
    ) -> &Block {
        self.assert_not_frozen("spawn");
        let core = self.core();
        let bytes = bytes
            .map_or(core.stack_bytes, |bytes| bytes.max(LEAST_STACK_BYTES))
            .saturating_add(extra);
        let pooled = if bytes == core.stack_bytes {
            let first = self.pool.get();
            // SAFETY: null or a block of this run.
            if let Some(block) = unsafe { first.as_ref() } {
                self.pool.set(block.next.get());
            }
            first
        } else {
            core.take_other(bytes)
        };
        // SAFETY: null or a block of this run.
        let block = unsafe { pooled.as_ref() }.unwrap_or_else(|| core.map_block(bytes, name));
        #[cfg(cellworks_sanitizer)]
        crate::sanitizer::unpoison(block.stack.limit(), block.top);
        block
    }

    /// Puts the block of an ended thread, and its stack, into the pool.
    pub(crate) fn recycle(&self, block: &Block) {
        block.set_name(None);
        block.serial.set(0);
        let core = self.core();
        if block.stack_bytes == core.stack_bytes {
            block.next.set(self.pool.replace(block));
        } else {
            core.put_other(block);
        }
    }

    fn cancel(&self, cause: Cause) {
        if self.is_cancelled() {
            return;
        }
        self.end_turns();
        self.mode.set(self.mode.get() | CANCELLED);
        self.live
            .iter()
            .for_each(|block| block.turn.set(ptr::null()));
        let core = self.core();
        core.woken.take_both();
        self.interrupt_ready();
        let threads = self.blocked_threads();
        core.blocked.set(Some(Blocked { threads, cause }));
    }

    fn blocked_threads(&self) -> Vec<BlockedThread> {
        self.end_turns();
        self.frozen(|| {
            let waiting = self
                .live
                .iter()
                .filter(|block| block.state.get() != State::Ready);
            waiting.map(describe).collect()
        })
    }
}

/// What a report says of a waiting thread.
fn describe(block: &Block) -> BlockedThread {
    let text = catch_unwind(AssertUnwindSafe(|| {
        let why = block.why.get();
        // SAFETY: the thread waits, so its call of `wait` still borrows this; the core is frozen, so it goes on waiting
        // while we look.
        why.map(|why| unsafe { why.as_ref() }.to_string())
    }));
    let waits_for = match text {
        Ok(text) => text.unwrap_or_default(),
        Err(payload) => {
            discard(payload);
            "something whose description panicked".to_owned()
        }
    };
    BlockedThread {
        name: block.name(),
        waits_for,
        at: block.at.get(),
    }
}

impl Core {
    #[cold]
    fn map_block(&self, bytes: usize, name: Option<&str>) -> &Block {
        let mut chunks = self.blocks.borrow_mut();
        if chunks
            .last()
            .is_none_or(|last| last.len() == BLOCKS_OF_A_CHUNK)
        {
            chunks.push(Vec::with_capacity(BLOCKS_OF_A_CHUNK));
        }
        let full = chunks.len() - 1;
        let chunk = &mut chunks[full];
        let stacks = full * BLOCKS_OF_A_CHUNK + chunk.len();
        let stagger = stacks % STAGGER_PLACES * STAGGER_BYTES;
        let above = STAGGER_PLACES * STAGGER_BYTES + FREE_PAYLOAD_BYTES;
        let stack = bytes
            .checked_add(above)
            .ok_or_else(|| io::Error::from_raw_os_error(libc::ENOMEM))
            .and_then(Stack::map)
            .unwrap_or_else(|error| {
                panic!(
                    "cannot map a stack of {bytes} bytes for {} beside {} others: {error}; \
                     use smaller stacks or fewer threads (each stack takes two mappings of vm.max_map_count)",
                    name.map_or("an unnamed thread".to_owned(), |name| format!("thread '{name}'")),
                    stacks,
                )
            });
        #[cfg(cellworks_sanitizer)]
        self.stacks.add(&stack);
        let top = stack.top().wrapping_sub(stagger);
        chunk.push(Block::new(stack, top, bytes));
        // SAFETY: chunks have room for what is pushed, so a block stays where it is as long as `self` lives.
        unsafe { &*ptr::from_ref(&chunk[chunk.len() - 1]) }
    }

    fn take_other(&self, bytes: usize) -> *const Block {
        let mut pools = self.other_pools.borrow_mut();
        let pool = pools
            .iter_mut()
            .find(|(size, first)| *size == bytes && !first.is_null());
        pool.map_or(ptr::null(), |(_, first)| {
            let block = *first;
            // SAFETY: not null, and blocks of this run stay in their places.
            *first = unsafe { (*block).next.get() };
            block
        })
    }

    fn put_other(&self, block: &Block) {
        let mut pools = self.other_pools.borrow_mut();
        match pools
            .iter_mut()
            .find(|(size, _)| *size == block.stack_bytes)
        {
            Some((_, first)) => block.next.set(std::mem::replace(first, block)),
            None => {
                block.next.set(ptr::null());
                pools.push((block.stack_bytes, block));
            }
        }
    }
}

/// Room for a closure or its result that every stack has beyond the bytes asked for.
pub(crate) const FREE_PAYLOAD_BYTES: usize = 512;

trait TakeBoth {
    fn take_both(&self) -> (*const Block, *const Block);
}

impl TakeBoth for Cell<(*const Block, *const Block)> {
    fn take_both(&self) -> (*const Block, *const Block) {
        self.replace((ptr::null(), ptr::null()))
    }
}

/// Drops a payload that lost to another one, even if its destructor panics.
pub(crate) fn discard(payload: Payload) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}

/// Goes on unwinding the running thread.
pub(crate) fn resume(payload: Payload) -> ! {
    with(|s| s.current().unwinding.set(true));
    resume_unwind(payload)
}

/// Whether the running thread is unwinding; outside of [`run`], whether the OS thread is.
///
/// What `std::thread::panicking` says belongs to the OS thread: it is true for all threads of a core while one of them
/// waits in a destructor.
pub fn is_unwinding() -> bool {
    if with(|s| s.current.get().is_null()) {
        return panicking();
    }
    with(Scheduler::is_unwinding)
}

/// The running thread, if this OS thread is a core and the thread's guard has the address. Usable in a signal handler.
pub(crate) fn running_block(in_guard: usize) -> Option<&'static Block> {
    with(|s| {
        // SAFETY: null or the block of a thread of this run; the signal handler does not outlive it.
        let block = unsafe { s.current.get().as_ref() }?;
        // A turn says that the next thread runs before it has left the stack of the one before that, or of the parent.
        // SAFETY: while rotating, both are threads of this run, too.
        let leaving = s
            .is_rotating()
            .then(|| unsafe { [&*block.behind.get(), &*(*block.scope.get()).drainer.get()] });
        leaving
            .into_iter()
            .flatten()
            .chain([block])
            .find(|block| block.stack.guard().contains(&in_guard))
    })
}

/// Lets every other ready thread of this core run once, then goes on.
///
/// Returns at once if no other thread is ready. Outside of [`run`] it does nothing.
///
/// During unwinding it returns at once as well: destructors that yield would show other threads a
/// `std::thread::panicking()` that is not theirs. If the core has been cancelled it unwinds, as every call that waits.
#[inline(always)]
pub fn yield_now() {
    with(|s| {
        if s.has_ready() && !panicking() {
            s.go_round();
        } else if s.has_ready() || s.mode.get() != 0 {
            yield_slowly(s);
        }
    });
}

#[cold]
#[inline(never)]
fn yield_slowly(s: &Scheduler) {
    if s.is_frozen() {
        return;
    }
    s.unwind_if_cancelled();
    // With nobody else in its unwinding, `panicking()` is about this thread.
    if panicking() && !s.others_unwinding.get() {
        return;
    }
    if s.is_rotating() {
        s.turn_in_round();
    } else if s.has_ready() {
        s.go_round();
    }
}

/// If the running thread takes turns with others, lets each of them have its turn and says true; else returns false, at
/// once.
///
/// Threads of one scope take turns that have called [`begin_turns`], as long as their parent waits for them: a turn is a
/// switch without the ready queue, as it is known who is next. A thread that waits, or starts or wakes another, takes none
/// until it calls `begin_turns` again. During unwinding nobody does.
///
/// ```
/// use cellworks_threads::{Config, NoOutside, begin_turns, run, scope, take_turn};
///
/// run(&Config::default(), &NoOutside, || {
///     scope(|s| {
///         for _ in 0..2 {
///             s.spawn(|| {
///                 for _ in 0..1_000 {
///                     if !take_turn() {
///                         begin_turns();
///                     }
///                 }
///             });
///         }
///     });
/// }).unwrap();
/// ```
#[inline(always)]
pub fn take_turn() -> bool {
    // SAFETY: nothing is called, and this is inside of `run`.
    is_running() && unsafe { take_turn_after(|| ()) }
}

/// As [`take_turn`], but calls `before` first, if there is a turn to take: so one question serves both.
///
/// # Safety
///
/// To be called inside of [`run`]. `before` calls nothing of this crate, not even through others: it could end what has
/// just been found out.
#[inline(always)]
pub unsafe fn take_turn_after(before: impl FnOnce()) -> bool {
    // Not the rest within `with`, which is no longer inlined then.
    // SAFETY: it has no destructor, so it lives as long as this OS thread, which cooperative threads do not leave.
    let s = unsafe { &*with(ptr::from_ref) };
    // SAFETY: inside of `run` there is a running thread, whose block stays in its place until the end.
    let me = unsafe { &*s.current.get() };
    // SAFETY: null or a block of the same rotation.
    match unsafe { me.turn.get().as_ref() } {
        Some(next) if !panicking() => {
            before();
            // SAFETY: `turn` is set of threads in a rotation, to the next one, and what ends the rotation takes the
            // running thread out of it. A rotation of one pauses at it.
            unsafe { s.turn(me, next) };
            true
        }
        _ => false,
    }
}

/// As [`yield_now`], and from then on the running thread [takes turns](take_turn) with those of its scope that do, too.
#[inline(always)]
pub fn begin_turns() {
    with(|s| {
        // One branch: for a word in a cache each counts.
        if s.ready.get() | usize::from(s.mode.get()) != 0 {
            yield_to_rotation();
        }
    });
}

/// It finds the scheduler itself: the caller, which may take turns all the time, would keep its address in its frame.
#[inline(never)]
fn yield_to_rotation() {
    with(|s| {
        if panicking() || !s.has_ready() {
            yield_slowly(s);
        } else if !s.join_rotation() {
            s.go_round();
        }
    });
}

/// Waits until somebody calls [`Thread::unpark`] on this thread; if somebody did before, consumes that and returns.
///
/// `why` says what is waited for, as in "thread 'a' waits for *a word in its mailbox*"; it is formatted only when a
/// report is made. It can return without an unpark only if the core was cancelled while this thread was unwinding, and
/// a second unpark before the park is not counted; so call it in a loop that looks at what is waited for, and, if it can
/// run in a destructor, at [`is_cancelled`].
///
/// During unwinding it waits as well. Other threads then see `std::thread::panicking()` say `true`.
///
/// # Panics
///
/// Unwinds with [`Cancelled`] if the core has been cancelled. Panics outside of [`run`] and inside of [`Idle::idle`].
#[track_caller]
#[inline(always)]
pub fn park(why: &dyn Display) {
    if !try_park(why) {
        park_slowly(why, Location::caller());
    }
}

/// As [`park`], if another thread is ready to run meanwhile and nothing else stands against it; else does nothing and says
/// false, at once.
///
/// For callers that do something else before they [`park`] when they are alone: look again, for instance.
#[track_caller]
#[inline(always)]
pub fn try_park(why: &dyn Display) -> bool {
    let at = Location::caller();
    // Not the rest within `with`, which is no longer inlined then.
    // SAFETY: it has no destructor, so it lives as long as this OS thread, which cooperative threads do not leave.
    let s = unsafe { &*with(ptr::from_ref) };
    if !s.has_ready() {
        return false;
    }
    debug_assert_eq!(s.mode.get(), 0, "the ring looks empty in every other mode");
    // SAFETY: a thread is ready, so this is inside of `run`, whose threads' blocks stay in their places until its end.
    let me = unsafe { &*s.current.get() };
    if me.token.get() {
        me.token.set(false);
    } else {
        s.give_way(me, why, at);
    }
    true
}

#[inline(never)]
fn park_slowly(why: &dyn Display, at: &'static Location<'static>) {
    with(|s| {
        let me = s.current();
        if me.token.replace(false) {
            return;
        }
        wait_cancellably(s, State::Parked, why, at);
        me.token.set(false);
    });
}

/// Ends the [`park`] of `next`, parks the running thread, and continues `next` at once, before threads that are ready.
///
/// As `next.unpark()` and then [`park`], but for that order, and in fewer steps: for a scheduler on top of this one that
/// decides itself who runs. If `next` is not parked it is only unparked, and the running thread parks.
///
/// # Panics
///
/// As [`park`].
#[track_caller]
#[inline(always)]
pub fn hand_over(next: Thread, why: &dyn Display) {
    let at = Location::caller();
    // Not the rest within `with`, which is no longer inlined then.
    // SAFETY: it has no destructor, so it lives as long as this OS thread, which cooperative threads do not leave.
    let s = unsafe { &*with(ptr::from_ref) };
    let me = s.current();
    // SAFETY: as in `unpark`: the block is only looked at if it belongs to this run, and stays in its place until its end.
    let parked = s
        .is_of_this_run(next)
        .then(|| unsafe { &*next.block })
        .filter(|block| block.serial.get() == next.serial && block.state.get() == State::Parked);
    match parked {
        Some(block) if s.mode.get() == 0 && !me.token.get() => s.exchange(me, block, why, at),
        _ => unpark_and_park(next, why),
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn unpark_and_park(next: Thread, why: &dyn Display) {
    next.unpark();
    park(why);
}

/// Waits, unless the core is cancelled: then unwinds, or returns if that is being done already.
pub(crate) fn wait_cancellably(
    s: &Scheduler,
    state: State,
    why: &dyn Display,
    at: &'static Location<'static>,
) {
    s.assert_not_frozen("park");
    s.unwind_if_cancelled();
    if !s.is_cancelled() {
        s.wait(state, why, at);
        s.unwind_if_cancelled();
    }
}

/// A thread of this core: what to [unpark](Thread::unpark).
///
/// It may be kept for longer than the thread lives; it cannot go to another OS thread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Thread {
    block: *const Block,
    serial: u64,
}

impl Thread {
    /// Ends the thread's [`park`], or its next one if it is not parked. Nothing happens if it has ended.
    #[inline(always)]
    pub fn unpark(self) {
        self.try_unpark();
    }

    /// As [`unpark`](Self::unpark), if this is, or was, a thread of this run of this core. Else it does nothing and says false.
    #[inline(always)]
    pub fn try_unpark(self) -> bool {
        with(|s| {
            let is_ours = s.is_of_this_run(self);
            if is_ours {
                // SAFETY: blocks of this run stay in their places until its end.
                s.unpark(unsafe { &*self.block }, self.serial);
            }
            is_ours
        })
    }

    /// Whether it is the running thread, if it is known that it has not ended: otherwise another one may have its place.
    #[inline(always)]
    pub fn runs(self) -> bool {
        with(|s| ptr::eq(s.current.get(), self.block))
    }
}

impl Thread {
    /// The thread as two numbers, which can go to other OS threads.
    #[inline]
    pub fn into_raw(self) -> (usize, u64) {
        (self.block.expose_provenance(), self.serial)
    }

    /// The thread of which [`into_raw`](Self::into_raw) gave the numbers. On an OS thread that is not its core, and after
    /// the end of its run, unparking it does nothing.
    ///
    /// # Safety
    ///
    /// The numbers came from one call of `into_raw` in this process, or the second is 0, which names no thread.
    #[inline]
    pub unsafe fn from_raw((block, serial): (usize, u64)) -> Self {
        Self {
            block: ptr::with_exposed_provenance(block),
            serial,
        }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Thread").field(&self.serial).finish()
    }
}

/// Ends the [`park`] of every thread of this core that is parked, in the order in which they were created.
///
/// For something outside that may concern any of them: each looks whether it does, and parks again if not.
pub fn unpark_all() {
    with(|s| {
        let parked = |block: &&Block| block.state.get() == State::Parked;
        s.live.iter().filter(parked).for_each(|block| s.wake(block));
    });
}

/// The running thread.
///
/// # Panics
///
/// Outside of [`run`].
#[inline]
pub fn current() -> Thread {
    with(|s| {
        let block = s.current();
        Thread {
            block,
            serial: block.serial.get(),
        }
    })
}

/// Whether another thread of this core wants to run: whether spinning would keep it from doing so.
#[inline]
pub fn others_ready() -> bool {
    with(Scheduler::has_others)
}

/// How many threads of this core have been spawned and have not ended, and the main thread; 0 outside of [`run`].
#[inline]
pub fn alive() -> usize {
    with(|s| s.live_count.get())
}

/// Cancels all threads of this core; does nothing if that has been done, or outside of [`run`].
///
/// Every thread that waits is unwound with [`Cancelled`], youngest first, so that children end before their parents.
/// This begins when the calling thread waits or ends. Threads that run or are ready, the calling one included, are
/// unwound by their next call that waits or yields; threads that have not begun drop their closure. [`run`] returns
/// [`Blocked`] with the threads that waited at the time of this call.
pub fn cancel_all() {
    with(|s| {
        if !s.core.get().is_null() {
            s.cancel(Cause::Cancelled);
        }
    });
}

/// Whether this OS thread runs cooperative threads: whether this is inside of [`run`].
#[inline]
pub fn is_running() -> bool {
    with(|s| !s.current.get().is_null())
}

/// Whether the threads of this core have been cancelled.
#[inline]
pub fn is_cancelled() -> bool {
    with(Scheduler::is_cancelled)
}

/// The threads of this core that wait at this moment, in order of creation; none outside of [`run`].
pub fn blocked_threads() -> Vec<BlockedThread> {
    with(|s| {
        if s.core.get().is_null() {
            Vec::new()
        } else {
            s.blocked_threads()
        }
    })
}

/// How many bytes of its stack the running thread has used at most, its closure included.
///
/// Finds the lowest byte that is not zero. A stack from the pool may have been used by other threads before: the figure
/// is the deepest use since it was mapped. Frames whose lowest bytes were only written with zeros, or not at all, are
/// missed. Costs a system call and up to a page of reading. `None` for the main thread, whose stack is the OS thread's.
///
/// # Panics
///
/// Outside of [`run`].
pub fn stack_high_water_bytes() -> Option<usize> {
    with(|s| {
        let block = s.current();
        let ours = !block.stack.guard().is_empty();
        ours.then(|| block.stack.touched_bytes(block.top))
    })
}

/// How many bytes of its stack the running thread has not used: from this call's frame to the guard. `None` for the
/// main thread, whose stack is the OS thread's.
///
/// # Panics
///
/// Outside of [`run`].
pub fn free_stack_bytes() -> Option<usize> {
    with(|s| {
        let block = s.current();
        let here = 0_u8;
        let ours = !block.stack.guard().is_empty();
        ours.then(|| (&raw const here).addr() - block.stack.limit().addr())
    })
}
