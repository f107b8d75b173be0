//! Begins and ends runs and threads.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;

use super::run::CoreData;
use super::{Scheduler, with};
use crate::arch::Context;
use crate::block::{Block, State};
use crate::cancelled::Cancelled;
use crate::config::{Config, Idle};
use crate::report::Blocked;
use crate::scope_state::ScopeState;
use crate::serials;
use crate::stack::Stack;

/// Runs a core as [`crate::run`] does. `is_owned` is true if the core has an owner.
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
    let cold = CoreData::new(config, idle, running_block);
    let block = Block::new(Stack::FOREIGN, ptr::null_mut(), 0);
    let was_owned = with(|s| {
        s.enter(&cold, &block);
        s.is_owned.replace(is_owned)
    });
    let outcome = catch_unwind(AssertUnwindSafe(main));
    with(|s| {
        s.leave(&block);
        s.is_owned.set(was_owned);
    });
    match (outcome, cold.idle_panic.take(), cold.blocked.take()) {
        (Err(payload), _, _) if !payload.is::<Cancelled>() => resume_unwind(payload),
        (_, Some(payload), _) => resume_unwind(payload),
        (_, None, Some(blocked)) => Err(blocked),
        (Ok(result), None, None) => Ok(result),
        // `main` has unwound with a `Cancelled` that it kept from an earlier run.
        (Err(payload), None, None) => resume_unwind(payload),
    }
}

impl Scheduler {
    fn enter(&self, run: &CoreData, main: &Block) {
        self.ready.begin(&run.places);
        self.mode.set(0);
        self.others_unwinding.set(false);
        let serials = serials::take();
        self.first_serial.set(serials.start);
        self.next_serial.set(serials.start);
        self.end_serial.set(serials.end);
        self.run.set(run);
        main.set_name(Some("main".into()));
        self.admit(main);
        self.current.set(main);
    }

    fn leave(&self, main: &Block) {
        self.live.remove(main);
        self.live_count.set(0);
        main.forget();
        self.ready.clear();
        serials::give_back(self.next_serial.get()..self.end_serial.get());
        self.next_serial.set(self.first_serial.get());
        self.current.set(ptr::null());
        self.run.set(ptr::null());
        self.mode.set(0);
    }

    /// Gives a new thread a serial number, adds it to `live`, and makes room in the ready queue.
    #[inline]
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
        if live > self.ready.capacity() {
            self.ready.grow(&self.run().places);
        }
    }

    /// Makes a new thread ready. `context` starts the thread.
    pub(crate) fn start(&self, block: &Block, context: Context) {
        self.end_turns();
        self.admit(block);
        block.context.set(context);
        // A cancelled core has no ready threads. It continues the youngest live thread.
        if !self.is_cancelled() {
            self.ready.push(context);
        }
    }

    pub(crate) fn take_block(
        &self,
        bytes: Option<usize>,
        extra: usize,
        name: Option<&str>,
    ) -> &Block {
        self.assert_not_frozen("spawn");
        self.run().blocks.take(bytes, extra, name)
    }

    pub(crate) fn recycle(&self, block: &Block) {
        self.run().blocks.put(block);
    }

    /// Records that the new thread `me` runs. Must be the first call on the thread's stack.
    pub(crate) fn arrive(&self, me: &Block) {
        #[cfg(cellworks_sanitizer)]
        self.run().blocks.sanitized.arrive_first();
        self.current.set(me);
    }

    /// Switches away from a thread that has ended.
    pub(crate) fn depart(&self, me: &Block) -> ! {
        let next = self.next(None).expect("an ended thread does not go on");
        // SAFETY: `next` came out of the ready queue, or is a suspended thread of a cancelled core.
        // So only this line continues `next`. Stacks of live threads are mapped. No thread ever
        // continues the context that is saved here.
        unsafe {
            #[cfg(not(cellworks_sanitizer))]
            crate::arch::switch(&me.context, next);
            #[cfg(cellworks_sanitizer)]
            self.run()
                .blocks
                .sanitized
                .switch_for_good(&me.context, next);
        }
        unreachable!("an ended thread was continued")
    }

    pub(crate) fn dismiss(&self, block: &Block) {
        self.live.remove(block);
        self.live_count.set(self.live_count.get() - 1);
        block.state.set(State::Ended);
    }
}

/// Returns the running thread and the text `Config::larger_stacks` if the guard of the thread
/// contains the address `in_guard`, otherwise `None`. A signal handler may call this function.
pub(crate) fn running_block(in_guard: usize) -> Option<(&'static Block, &'static str)> {
    with(|s| {
        // SAFETY: null or a block of this run. The run cannot end while this handler runs.
        let block = unsafe { s.current.get().as_ref() }?;
        // A turn and a switch to a rotation set `current` to the next thread while the stack of the
        // previous thread or of the parent is still in use. Therefore three guards are checked.
        // SAFETY: while rotating, the previous thread and the parent are threads of this run too.
        let leaving = s.is_rotating().then(|| unsafe {
            [
                &*block.behind.get(),
                &*(*ScopeState::of(block)).drainer.get(),
            ]
        });
        leaving
            .into_iter()
            .flatten()
            .chain([block])
            .find(|block| block.stack.guard().contains(&in_guard))
            .map(|block| (block, s.run().larger_stacks))
    })
}
