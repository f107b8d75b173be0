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
use std::fmt::Display;
use std::io;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::ptr::{self, NonNull};
use std::thread::panicking;

use crate::arch::{self, Context, Frame};
use crate::block::{Block, State};
use crate::list::List;
use crate::overflow::Guarded;
use crate::report::{Blocked, BlockedThread, Cause};
use crate::rotation::Rotation;
use crate::scope::ScopeState;
use crate::serials;
use crate::stack::Stack;
use crate::thread::Thread;

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

/// What the world outside of a core has to say when none of its threads is ready.
pub trait Idle {
    /// Waits until something has happened outside, and unparks the threads that it concerns.
    ///
    /// Runs on the stack of the thread that has just waited or ended, when no thread is ready and
    /// at least one waits. It is called again if it returns [`Verdict::Continue`] without having
    /// unparked any. It may unpark threads, cancel the core and ask for
    /// [`blocked_threads`](crate::blocked_threads); it cannot wait or spawn (that panics), and a
    /// yield does nothing. If it panics, the core is cancelled and the panic comes out of
    /// [`run`](crate::run).
    fn idle(&self) -> Verdict;

    /// What runs on the threads of this core, a line each: for the error that ends a process whose
    /// threads cannot be ended.
    fn programs(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The answer of [`Idle::idle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Look again whether a thread is ready.
    Continue,
    /// Nothing will ever wake a thread of this core: cancel them all, [`run`](crate::run) returns
    /// [`Blocked`].
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

/// The part of a core that every switch touches: what switches and wake-ups need comes first, in
/// one cache line.
#[repr(C, align(64))]
pub(crate) struct Scheduler {
    /// `mask + 1` places, a power of two and at least the number of live threads. The `ready` ones from `head` on, which
    /// counts on for ever, hold threads.
    ring: Cell<*const Cell<Context>>,
    mask: Cell<usize>,
    head: Cell<usize>,
    ready: Cell<usize>,
    /// The running thread; null outside of `run`.
    current: Cell<*const Block>,
    /// Serial number of the main thread of this run, and that of the next thread. Outside of a run
    /// they are equal.
    first_serial: Cell<u64>,
    next_serial: Cell<u64>,
    mode: Cell<u8>,
    /// A suspended thread may be unwinding. See [`Scheduler::is_unwinding`].
    others_unwinding: Cell<bool>,
    /// The threads of this OS thread are an [`Owner`](crate::Owner)'s, and programs are kept from
    /// interfering.
    pub(crate) is_owned: Cell<bool>,
    /// Where the numbers end that the run has to itself.
    end_serial: Cell<u64>,
    /// Pool of stacks of the configured size, linked by `Block::next`.
    pool: Cell<*const Block>,
    /// All threads that have not ended, in order of creation.
    live: List,
    pub(crate) live_count: Cell<usize>,
    core: Cell<*const Core>,
}

const _: () = assert!(
    std::mem::offset_of!(Scheduler, is_owned) < 64,
    "what switches and wake-ups need is one cache line"
);

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
            end_serial: Cell::new(1),
            is_owned: Cell::new(false),
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

/// The scheduler of this OS thread.
///
/// Where a call has to be inlined as a whole: what is within [`with`] then is not always.
#[inline(always)]
pub(crate) fn here() -> &'static Scheduler {
    // SAFETY: it has no destructor, so it lives as long as this OS thread, which a reference to
    // cells does not leave.
    unsafe { &*with(ptr::from_ref) }
}

/// See [`crate::run`]. The threads are an [`Owner`](crate::Owner)'s if `is_owned`.
pub(crate) fn run<R>(
    config: &Config,
    idle: &dyn Idle,
    main: impl FnOnce() -> R,
    is_owned: bool,
) -> Result<R, Blocked> {
    assert!(
        with(|s| s.current.get().is_null()),
        "this OS thread already runs cooperative threads: `run` cannot be nested; use `scope` to start more threads"
    );
    let core = Core::new(config, idle);
    let block = Block::new(Stack::FOREIGN, ptr::null_mut(), 0);
    let was_owned = with(|s| {
        s.enter(&core, &block);
        s.is_owned.replace(is_owned)
    });
    let outcome = catch_unwind(AssertUnwindSafe(main));
    with(|s| {
        s.leave(&block);
        s.is_owned.set(was_owned);
    });
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
        let serials = serials::take();
        self.first_serial.set(serials.start);
        self.next_serial.set(serials.start);
        self.end_serial.set(serials.end);
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
        serials::give_back(self.next_serial.get()..self.end_serial.get());
        self.next_serial.set(self.first_serial.get());
        self.current.set(ptr::null());
        self.core.set(ptr::null());
        self.mode.set(0);
    }

    /// Whether a thread belongs to the present run of this core: if so its block is in its place.
    #[inline(always)]
    pub(crate) fn is_of_this_run(&self, thread: Thread) -> bool {
        (self.first_serial.get()..self.next_serial.get()).contains(&thread.serial)
    }

    /// Whether this OS thread runs cooperative threads.
    #[inline(always)]
    pub(crate) fn is_running(&self) -> bool {
        !self.current.get().is_null()
    }

    /// Whether the running thread has this block.
    #[inline(always)]
    pub(crate) fn runs(&self, block: *const Block) -> bool {
        ptr::eq(self.current.get(), block)
    }

    /// Refuses a call of a program that would interfere with the owner of this core, if it has one.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn refuse_if_owned(&self, call: &str) {
        if self.is_owned.get() {
            refuse(call);
        }
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
    pub(crate) fn has_others(&self) -> bool {
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

    pub(crate) fn is_cancelled(&self) -> bool {
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
    pub(crate) fn is_unwinding(&self) -> bool {
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
        let patience = &self.current().patience;
        let who = self.current().label();
        // SAFETY: the hook is borrowed by `run`, which has not returned.
        let programs = || unsafe { &*self.core().idle }.programs();
        if self.is_unwinding() {
            patience.waits(&who, &programs);
        } else {
            patience.unwinds(&who, &programs);
            resume(Cancelled::payload());
        }
    }

    /// Ends the park of the thread that has this number, if it has not ended, or its next one.
    #[inline(always)]
    pub(crate) fn unpark(&self, block: &Block, serial: u64) {
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

    /// See [`crate::yield_now`].
    #[inline(always)]
    pub(crate) fn yield_now(&self) {
        if self.has_ready() && !panicking() {
            self.go_round();
        } else if self.has_ready() || self.mode.get() != 0 {
            self.yield_slowly();
        }
    }

    #[cold]
    #[inline(never)]
    fn yield_slowly(&self) {
        if self.is_frozen() {
            return;
        }
        self.unwind_if_cancelled();
        // If no other thread unwinds, `panicking()` is about this thread.
        if panicking() && !self.others_unwinding.get() {
            return;
        }
        if self.is_rotating() {
            self.turn_in_round();
        } else if self.has_ready() {
            self.go_round();
        }
    }

    /// See [`Owner::take_turn_after`](crate::Owner::take_turn_after).
    ///
    /// # Safety
    ///
    /// There is a running thread, and `before` calls nothing of this crate.
    #[inline(always)]
    pub(crate) unsafe fn take_turn_after(&self, before: impl FnOnce()) -> bool {
        // SAFETY: there is a running thread, whose block stays in its place until the end.
        let me = unsafe { &*self.current.get() };
        // SAFETY: null or a block of the same rotation.
        match unsafe { me.turn.get().as_ref() } {
            Some(next) if !panicking() => {
                before();
                // SAFETY: `turn` is set of threads in a rotation, to the next one, and what ends
                // the rotation takes the running thread out of it. A rotation of one pauses at it.
                unsafe { self.turn(me, next) };
                true
            }
            _ => false,
        }
    }

    /// See [`crate::begin_turns`].
    #[inline(always)]
    pub(crate) fn begin_turns(&self) {
        // One branch: for a word in a cache each counts.
        if self.ready.get() | usize::from(self.mode.get()) != 0 {
            yield_to_rotation();
        }
    }

    /// See [`crate::park`].
    #[track_caller]
    #[inline(always)]
    pub(crate) fn park(&self, why: &dyn Display) {
        if !self.try_park(why) {
            self.park_slowly(why, Location::caller());
        }
    }

    /// See [`Owner::try_park`](crate::Owner::try_park).
    #[track_caller]
    #[inline(always)]
    pub(crate) fn try_park(&self, why: &dyn Display) -> bool {
        let at = Location::caller();
        if !self.has_ready() {
            return false;
        }
        debug_assert_eq!(
            self.mode.get(),
            0,
            "the ring looks empty in every other mode"
        );
        // SAFETY: a thread is ready, so this is inside of `run`, whose threads' blocks stay in
        // their places until its end.
        let me = unsafe { &*self.current.get() };
        if me.token.get() {
            me.token.set(false);
        } else {
            self.give_way(me, why, at);
        }
        true
    }

    #[inline(never)]
    fn park_slowly(&self, why: &dyn Display, at: &'static Location<'static>) {
        let me = self.current();
        if me.token.replace(false) {
            return;
        }
        self.wait_cancellably(State::Parked, why, at);
        me.token.set(false);
    }

    /// Waits, unless the core is cancelled: then unwinds, or returns if that is being done already.
    pub(crate) fn wait_cancellably(
        &self,
        state: State,
        why: &dyn Display,
        at: &'static Location<'static>,
    ) {
        self.assert_not_frozen("park");
        self.unwind_if_cancelled();
        if !self.is_cancelled() {
            self.wait(state, why, at);
            self.unwind_if_cancelled();
        }
    }

    /// See [`Owner::hand_over`](crate::Owner::hand_over).
    #[track_caller]
    #[inline(always)]
    pub(crate) fn hand_over(&self, next: Thread, why: &dyn Display) {
        let at = Location::caller();
        let me = self.current();
        // SAFETY: as in `try_unpark`: the block is only looked at if it belongs to this run, and
        // stays in its place until its end.
        let parked = self
            .is_of_this_run(next)
            .then(|| unsafe { &*next.block })
            .filter(|block| {
                block.serial.get() == next.serial && block.state.get() == State::Parked
            });
        match parked {
            Some(block) if self.mode.get() == 0 && !me.token.get() => {
                self.exchange(me, block, why, at);
            }
            _ => self.unpark_and_park(next, why),
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn unpark_and_park(&self, next: Thread, why: &dyn Display) {
        next.unpark();
        self.park(why);
    }

    /// See [`Owner::unpark_all`](crate::Owner::unpark_all).
    pub(crate) fn unpark_all(&self) {
        let parked = |block: &&Block| block.state.get() == State::Parked;
        self.live
            .iter()
            .filter(parked)
            .for_each(|block| self.wake(block));
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
        assert!(
            serial < self.end_serial.get(),
            "this run has started {} threads, and there is no number for another one",
            serial - self.first_serial.get()
        );
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

    /// Cancels all threads of this core; does nothing if that has been done, or outside of a run.
    pub(crate) fn cancel(&self, cause: Cause) {
        if self.is_cancelled() || self.core.get().is_null() {
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

    pub(crate) fn blocked_threads(&self) -> Vec<BlockedThread> {
        if self.core.get().is_null() {
            return Vec::new();
        }
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

/// It finds the scheduler itself: the caller, which may take turns all the time, would keep its address in its frame.
#[inline(never)]
fn yield_to_rotation() {
    with(|s| {
        if panicking() || !s.has_ready() {
            s.yield_slowly();
        } else if !s.join_rotation() {
            s.go_round();
        }
    });
}

/// See [`Scheduler::refuse_if_owned`].
#[cold]
#[inline(never)]
#[track_caller]
fn refuse(call: &str) -> ! {
    panic!(
        "`cellworks_threads::{call}` was called in a program of a machine, which alone starts, suspends and wakes the threads of \
         its cores: use what the machine offers (`Spe::threads`, `Spe::yield_now`, `Wait::wait_until`), or start an OS thread \
         and make that a core with `cellworks_threads::run`"
    )
}
