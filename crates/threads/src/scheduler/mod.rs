//! The scheduler of one core.
//!
//! ```text
//!             ready queue: a ring buffer of saved stack pointers
//!   yield_now  ┌──┬──┬──┬──┬──┬──┐  pushes the running context at the tail, pops the head,
//!          ──► │  │  │  │  │  │  │  prefetches the frame four entries behind the head;
//!              └──┴──┴──┴──┴──┴──┘  accesses no control block
//!   park       stores the context in the thread's block; unpark pushes it at the tail
//! ```
//!
//! The scheduler is a const thread-local without destructor, so one load finds its address. With a
//! pointer to the scheduler in each thread's frame, a switch took twice as long, because the load
//! of the next queue entry waited for the load of the pointer.
//!
//! A scheduler has four modes:
//!
//! - normal: threads run in the order of the ready queue.
//! - rotating: threads of one scope take turns among themselves, see `rotation`. The ready queue
//!   appears empty, and every operation except a turn ends this mode first.
//! - frozen: the idle hook, or a `Display` passed to `park`, runs. No switch is allowed. The ready
//!   queue appears empty, unparked threads wait in another queue, and `park` and `spawn` panic.
//! - cancelled: the ready queue stays empty, so every yield takes its slow path and unwinds. Each
//!   thread that was ready is continued once. After that, the youngest live thread is continued,
//!   because a thread waits only for the threads of its scopes, which are younger.
//!
//! A file calls only methods of files before it in this order: `ready`, `blocks`, `run`, `switch`,
//! `turns`, `unwinding`, `frozen`, `cancellation`, `waking`, `next`, `parking`, `yielding`, `life`.

mod blocks;
mod cancellation;
mod frozen;
mod life;
mod next;
mod parking;
mod ready;
mod run;
mod switch;
mod turns;
mod unwinding;
mod waking;
mod yielding;

use std::cell::Cell;
use std::ptr;

use self::ready::Ready;
use self::run::CoreData;
use crate::block::Block;
use crate::list::List;

pub(crate) use self::blocks::FREE_PAYLOAD_BYTES;
pub(crate) use self::life::run;
pub(crate) use self::unwinding::resume;

/// The data of a core. Switches and wake-ups access only the first cache line of this structure.
#[repr(C, align(64))]
pub(crate) struct Scheduler {
    ready: Ready,
    /// The running thread; null outside of `run`.
    current: Cell<*const Block>,
    /// The serial numbers of the main thread and of the next new thread, equal outside of a run.
    first_serial: Cell<u64>,
    next_serial: Cell<u64>,
    mode: Cell<u8>,
    /// Whether a suspended thread may be unwinding. See [`is_unwinding`](Self::is_unwinding).
    others_unwinding: Cell<bool>,
    /// Whether the threads of this OS thread belong to an [`Owner`](crate::Owner).
    pub(crate) is_owned: Cell<bool>,
    /// The end of the range of serial numbers of this run.
    end_serial: Cell<u64>,
    /// All threads that have not ended, in the order of creation.
    live: List,
    pub(crate) live_count: Cell<usize>,
    /// The rarely accessed data of the core. Null outside of `run`.
    run: Cell<*const CoreData>,
}

const _: () = assert!(
    std::mem::offset_of!(Scheduler, is_owned) < 64,
    "what switches and wake-ups need is one cache line"
);

const FROZEN: u8 = 1;
const CANCELLED: u8 = 2;
const ROTATING: u8 = 4;
/// Set together with `ROTATING` if other threads are ready, or if the rotation has one thread.
const ROUNDS: u8 = 8;

thread_local! {
    static SCHEDULER: Scheduler = const {
        Scheduler {
            ready: Ready::new(),
            current: Cell::new(ptr::null()),
            mode: Cell::new(0),
            others_unwinding: Cell::new(false),
            live: List::new(),
            live_count: Cell::new(0),
            first_serial: Cell::new(1),
            next_serial: Cell::new(1),
            end_serial: Cell::new(1),
            is_owned: Cell::new(false),
            run: Cell::new(ptr::null()),
        }
    };
}

#[inline(always)]
pub(crate) fn with<R>(f: impl FnOnce(&Scheduler) -> R) -> R {
    SCHEDULER.with(f)
}

/// Returns the scheduler of this OS thread. Unlike [`with`], takes no closure, because a closure
/// might not be inlined.
#[inline(always)]
pub(crate) fn here() -> &'static Scheduler {
    // SAFETY: the scheduler has no destructor, so it lives as long as this OS thread.
    unsafe { &*with(ptr::from_ref) }
}

impl Scheduler {
    /// Returns whether the thread was started in the present run. If so, its block is valid.
    #[inline(always)]
    pub(crate) fn is_of_this_run(&self, serial: u64) -> bool {
        (self.first_serial.get()..self.next_serial.get()).contains(&serial)
    }

    #[inline(always)]
    pub(crate) fn is_running(&self) -> bool {
        !self.current.get().is_null()
    }

    #[inline(always)]
    pub(crate) fn runs(&self, block: *const Block) -> bool {
        ptr::eq(self.current.get(), block)
    }

    /// Panics with the name of the function `call` if this core has an owner.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn refuse_if_owned(&self, call: &str) {
        if self.is_owned.get() {
            refuse(call);
        }
    }

    /// Returns the running thread.
    ///
    /// # Panics
    ///
    /// Panics outside of `run`.
    pub(crate) fn current(&self) -> &Block {
        // SAFETY: the pointer is null or a block of this run. Blocks stay valid until the run ends.
        unsafe { self.current.get().as_ref() }.expect(
            "this OS thread runs no cooperative threads: call this inside `cellworks_threads::run`",
        )
    }

    pub(super) fn is_frozen(&self) -> bool {
        self.mode.get() & FROZEN != 0
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.mode.get() & CANCELLED != 0
    }

    pub(super) fn is_rotating(&self) -> bool {
        self.mode.get() & ROTATING != 0
    }

    fn run(&self) -> &CoreData {
        // SAFETY: the pointer is null or points into `life::run`, which clears it at its end.
        unsafe { self.run.get().as_ref() }.expect(
            "this OS thread runs no cooperative threads: call this inside `cellworks_threads::run`",
        )
    }
}

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
