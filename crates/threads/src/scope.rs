//! Scopes, and the handles to their threads.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::ptr;

use crate::arch;
use crate::block::{Block, State};
use crate::cancelled::{Cancelled, Payload, discard};
use crate::list::List;
use crate::scheduler::{FREE_PAYLOAD_BYTES, Scheduler, resume, with};
use crate::scope_state::ScopeState;

/// A scope, in which threads can be spawned. See [`scope`](crate::scope()).
pub struct Scope<'scope, 'env: 'scope> {
    state: ScopeState,
    /// Makes `'scope` invariant. Otherwise a thread could borrow a value that ends too early.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

pub(crate) fn scope_at<'env, R>(
    at: &'static Location<'static>,
    f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
) -> R {
    let scope = Scope {
        state: ScopeState::new(),
        scope: PhantomData,
        env: PhantomData,
    };
    let was_unwinding = with(|s| s.current().unwinding.get());
    let outcome = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    with(|s| {
        s.current().unwinding.set(was_unwinding);
        scope.state.drain(s, at);
    });
    match (outcome, scope.state.panic.take()) {
        (Ok(result), None) => result,
        (Ok(result), Some(panic)) => {
            // A second unwinding of the calling thread would end the process.
            if panic.is::<Cancelled>() && with(Scheduler::is_unwinding) {
                return result;
            }
            drop(result);
            resume(panic)
        }
        (Err(own), None) => resume(own),
        (Err(own), Some(panic)) if own.is::<Cancelled>() => resume(panic),
        (Err(own), Some(panic)) => {
            discard(panic);
            resume(own)
        }
    }
}

impl ScopeState {
    /// Waits for all threads of the scope, then drops the results that were not fetched. Never
    /// unwinds, because threads may borrow from the frames that unwinding would remove.
    fn drain(&self, s: &Scheduler, at: &'static Location<'static>) {
        // Results are dropped when all threads have ended, because a result may hold handles to
        // other threads or the scope. Blocks are recycled last, because handles point to blocks.
        let spent = List::new();
        loop {
            self.drainer.set(s.current());
            while self.running.get() > 0 {
                if !s.rotate(&self.rotation) {
                    s.wait(State::Joining, &Drained(self), at);
                }
            }
            self.drainer.set(ptr::null());
            let Some(block) = self.ended.last() else {
                break;
            };
            self.ended.remove(block);
            spent.push(block);
            let payload = block.payload.replace(ptr::null_mut());
            // SAFETY: the thread has ended, so `payload` holds its result, which only this line
            // takes.
            if let Some(panic) = unsafe { block.discard.get()(payload) } {
                self.keep(panic);
            }
        }
        while let Some(block) = spent.last() {
            spent.remove(block);
            s.recycle(block);
        }
    }
}

struct Drained<'a>(&'a ScopeState);

impl fmt::Display for Drained<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.running.get() {
            1 => write!(f, "1 thread of its scope to end"),
            n => write!(f, "{n} threads of its scope to end"),
        }
    }
}

struct Joined<'a>(&'a Block);

impl fmt::Display for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to end", self.0.label())
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts a thread that runs `f`. The thread does not run before the calling thread yields,
    /// waits or ends.
    ///
    /// The size of its stack is [`Config::stack_bytes`](crate::Config::stack_bytes).
    ///
    /// # Panics
    ///
    /// Panics if the kernel refuses to map another stack, and inside of
    /// [`Idle::idle`](crate::Idle::idle).
    pub fn spawn<F, R>(&'scope self, f: F) -> JoinHandle<'scope, R>
    where
        F: FnOnce() -> R + 'scope,
        R: 'scope,
    {
        self.builder().spawn(f)
    }

    /// Returns a builder, which sets the name and the stack size of a thread.
    pub fn builder(&'scope self) -> Builder<'scope, 'env> {
        Builder {
            scope: self,
            name: None,
            stack_bytes: None,
        }
    }
}

/// The settings of a thread that is not spawned yet. See [`Scope::builder`].
#[must_use = "a thread starts with `spawn`"]
pub struct Builder<'scope, 'env: 'scope> {
    scope: &'scope Scope<'scope, 'env>,
    name: Option<Box<str>>,
    stack_bytes: Option<usize>,
}

impl<'scope> Builder<'scope, '_> {
    /// Sets the name of the thread in reports and errors.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into().into_boxed_str());
        self
    }

    /// Sets the size of the thread's stack in bytes, at least 16 KiB. The default is
    /// [`Config::stack_bytes`](crate::Config::stack_bytes). Each size has its own pool of stacks.
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.stack_bytes = Some(bytes);
        self
    }

    /// Starts the thread. See [`Scope::spawn`].
    ///
    /// # Panics
    ///
    /// See [`Scope::spawn`].
    #[inline]
    pub fn spawn<F, R>(self, f: F) -> JoinHandle<'scope, R>
    where
        F: FnOnce() -> R + 'scope,
        R: 'scope,
    {
        let state = &self.scope.state;
        with(|s| {
            let block = s.take_block(
                self.stack_bytes,
                Room::<F, R>::EXTRA_BYTES,
                self.name.as_deref(),
            );
            let payload = Room::<F, R>::below(block);
            // SAFETY: the payload is at the top of the stack, which is not used yet.
            unsafe { payload.cast::<F>().write(f) };
            block.state.set(State::Ready);
            block.token.set(false);
            block.detached.set(false);
            block.unwinding.set(false);
            block.patience.restore();
            block.joiner.set(ptr::null());
            block.scope.set(ptr::from_ref(state).cast());
            block.payload.set(payload.cast());
            block.discard.set(discard_result::<R>);
            if self.name.is_some() {
                block.set_name(self.name);
            }
            // SAFETY: no other code uses the stack below the payload until the thread has ended.
            let context = unsafe {
                arch::prepare(
                    block.stack.limit(),
                    payload.cast(),
                    enter::<F, R>,
                    ptr::from_ref(block).cast(),
                )
            };
            s.start(block, context);
            state.running.set(state.running.get() + 1);
            JoinHandle {
                block,
                scope: PhantomData,
                result: PhantomData,
            }
        })
    }
}

/// The room on a thread's stack for its closure, and later for its result.
union Room<F, R> {
    _closure: ManuallyDrop<F>,
    _result: ManuallyDrop<std::thread::Result<R>>,
}

impl<F, R> Room<F, R> {
    /// The bytes to add to the requested stack size, for a large closure or result.
    const EXTRA_BYTES: usize = {
        let bytes = size_of::<Self>() + align_of::<Self>();
        if bytes <= FREE_PAYLOAD_BYTES {
            0
        } else {
            bytes.next_multiple_of(4096)
        }
    };

    fn below(block: &Block) -> *mut u8 {
        block
            .top
            .wrapping_sub(size_of::<Self>())
            .map_addr(|address| address & !(align_of::<Self>() - 1))
    }
}

/// Drops the result at `payload`. Returns the panic of the thread or of the destructor, if any.
///
/// # Safety
///
/// `payload` points to an initialised `thread::Result<R>`, and no code reads it again.
unsafe fn discard_result<R>(payload: *mut ()) -> Option<Payload> {
    // SAFETY: by the contract of this function.
    let result = unsafe { payload.cast::<std::thread::Result<R>>().read() };
    discard_value(result)
}

fn discard_value<R>(result: std::thread::Result<R>) -> Option<Payload> {
    match result {
        Ok(value) => catch_unwind(AssertUnwindSafe(|| drop(value))).err(),
        Err(panic) => Some(panic),
    }
}

/// Runs the closure of a new thread and ends the thread. This is the first function on the stack of
/// the thread.
///
/// The frame of this function is small. Therefore a closure that is too large for the stack
/// overflows the stack in `run_closure`, after `arrive` has recorded the running thread.
///
/// # Safety
///
/// `block` is the block of the thread, and `spawn` prepared it for the same `F` and `R`.
unsafe extern "C" fn enter<F: FnOnce() -> R, R>(block: *const ()) -> ! {
    // SAFETY: by the contract of this function.
    let block = unsafe { &*block.cast::<Block>() };
    with(|s| s.arrive(block));
    // SAFETY: by the contract of this function.
    unsafe { run_closure::<F, R>(block) };
    if block.detached.get() {
        // SAFETY: `run_closure` has just written the result, and no handle can fetch it.
        if let Some(panic) = unsafe { block.discard.get()(block.payload.get()) } {
            // SAFETY: the scope waits for this thread, so the scope's state is alive.
            unsafe { (*ScopeState::of(block)).keep(panic) };
        }
    }
    with(|s| end(s, block))
}

/// Runs the closure in the payload of the thread, and replaces the closure by its result.
///
/// # Safety
///
/// See [`enter`].
#[inline(never)]
unsafe fn run_closure<F: FnOnce() -> R, R>(block: &Block) {
    let payload = block.payload.get();
    let result = payload.cast::<std::thread::Result<R>>();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: `spawn` wrote the closure to `payload`, and only this line reads it.
        let f = unsafe { payload.cast::<F>().read() };
        if with(Scheduler::is_cancelled) {
            drop(f);
            resume(Cancelled::payload());
        }
        let value = f();
        // SAFETY: the payload has room for the result, and the closure was moved out of it.
        unsafe { result.write(Ok(value)) };
    }));
    if let Err(panic) = outcome {
        // SAFETY: the payload has room for the result, and holds no other value.
        unsafe { result.write(Err(panic)) };
    }
}

fn end(s: &Scheduler, block: &Block) -> ! {
    // SAFETY: the scope waits for its threads, so the state lives until the last thread has ended.
    let scope = unsafe { &*ScopeState::of(block) };
    s.end_turns();
    s.dismiss(block);
    let joiner = block.joiner.get();
    if block.detached.get() {
        // This thread still uses its stack. No new thread can take the stack before this thread has
        // left it, because only a running thread spawns threads.
        s.recycle(block);
    } else {
        scope.ended.push(block);
    }
    let running = scope.running.get() - 1;
    scope.running.set(running);
    // SAFETY: the pointer is null or a thread in `join`. This thread clears the pointer before its
    // `join` returns.
    if let Some(joiner) = unsafe { joiner.as_ref() } {
        s.wake(joiner);
    }
    if running == 0 {
        // SAFETY: the pointer is null or the thread that is in `drain`.
        if let Some(drainer) = unsafe { scope.drainer.get().as_ref() }
            && drainer.state.get() == State::Joining
        {
            s.wake(drainer);
        }
    }
    s.depart(block)
}

/// A handle to the result of a thread. Dropping the handle does not end the thread.
pub struct JoinHandle<'scope, R> {
    block: *const Block,
    scope: PhantomData<&'scope ()>,
    result: PhantomData<R>,
}

impl<R> JoinHandle<'_, R> {
    /// Waits for the thread to end and returns its result.
    ///
    /// # Errors
    ///
    /// Returns the payload if the thread panicked. Returns [`Cancelled`] if the core is cancelled,
    /// the caller is unwinding, and the thread has not ended. Returns a `&str` if the end of the
    /// scope has dropped the result.
    ///
    /// # Panics
    ///
    /// Unwinds the caller with [`Cancelled`] if the core is cancelled and the thread has not ended.
    #[track_caller]
    pub fn join(self) -> std::thread::Result<R> {
        let at = Location::caller();
        with(|s| {
            let block = self.block();
            if block.state.get() != State::Ended {
                self.wait(s, at);
            }
            if block.state.get() != State::Ended {
                return Err(Cancelled::payload());
            }
            ManuallyDrop::new(self)
                .take(s)
                .unwrap_or_else(|| Err(Box::new("the scope of the thread has dropped its result")))
        })
    }

    /// Returns whether the thread has ended, so that [`join`](Self::join) does not wait.
    pub fn is_finished(&self) -> bool {
        self.block().state.get() == State::Ended
    }

    fn block(&self) -> &Block {
        // SAFETY: the block is recycled only when this handle is consumed or dropped, or at the end
        // of the scope.
        unsafe { &*self.block }
    }

    fn wait(&self, s: &Scheduler, at: &'static Location<'static>) {
        /// A guard that clears the pointer to the joining thread, even if the wait unwinds.
        struct Waiting<'a>(&'a Block);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.joiner.set(ptr::null());
            }
        }
        let block = self.block();
        block.joiner.set(s.current());
        let _waiting = Waiting(block);
        s.wait_cancellably(State::Joining, &Joined(block), at);
    }

    /// Takes the result of the ended thread and recycles its stack. Returns `None` if the scope has
    /// dropped the result. The handle must not be used afterwards.
    fn take(&self, s: &Scheduler) -> Option<std::thread::Result<R>> {
        let block = self.block();
        let payload = block.payload.replace(ptr::null_mut());
        if payload.is_null() {
            return None;
        }
        // SAFETY: the thread has ended, so `payload` holds its result, which only this line takes.
        let result = unsafe { payload.cast::<std::thread::Result<R>>().read() };
        // SAFETY: the scope outlives this handle.
        unsafe { (*ScopeState::of(block)).ended.remove(block) };
        s.recycle(block);
        Some(result)
    }
}

impl<R> Drop for JoinHandle<'_, R> {
    fn drop(&mut self) {
        let block = self.block();
        if block.state.get() != State::Ended {
            block.detached.set(true);
            return;
        }
        // SAFETY: the scope outlives this handle.
        let scope = unsafe { &*ScopeState::of(block) };
        match with(|s| self.take(s)) {
            Some(Err(panic)) => scope.keep(panic),
            Some(Ok(value)) => drop(value),
            None => {}
        }
    }
}
