//! Cooperative threads of one SPE (CellMT, section 4).
//!
//! ```text
//!   ppe.spawn_threads(spe, arguments, program) ──► one program that starts a thread for each argument
//!   spe.threads(n, body) ────────────────────────► n threads, ids 0 to n - 1
//!   spe.thread_scope(|scope| ...) ───────────────► scope.spawn(f) ──► ThreadHandle ── join ──► result
//! ```
//!
//! A core switches to another thread only where the running thread waits or yields. Therefore
//! threads may share values that are not `Sync`. All threads end before their scope returns, so
//! they may borrow the caller's values.

// Rejected: a scope in which its threads can start more threads. Every machine would have to keep
// the scope alive until the last thread ends. A thread can open its own scope instead.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::rc::Rc;

use crate::error::Cancelled;
use crate::id::{SpeId, ThreadId};
use crate::local_store::{LocalBuffer, StageError};
use crate::panic_payload::Payload;
use crate::spe::core::{NewThread, SpeCore, StartThread};

/// The default stack size of a cooperative thread in a local store, in bytes (CellMT, listing 11).
pub const THREAD_STACK_BYTES: usize = 4096;

/// The alignment of a stack in a local store, in bytes.
const QUADWORD_BYTES: usize = 16;

/// The error if the local store has no room for the stacks of cooperative threads.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}: {source}; {} would fit: start fewer threads, or give them smaller stacks or less data",
    wanted(*.threads, *.stack_bytes),
    .fit
)]
pub struct StackError {
    threads: usize,
    stack_bytes: usize,
    fit: usize,
    source: StageError,
}

crate::debug_by_display!(StackError);

fn wanted(threads: usize, stack_bytes: usize) -> String {
    match threads {
        1 => format!("no room for the {stack_bytes}-byte stack of a cooperative thread"),
        _ => format!("no room for the {stack_bytes}-byte stacks of {threads} cooperative threads"),
    }
}

impl StackError {
    /// Returns the SPE without enough room.
    pub fn spe(&self) -> SpeId {
        self.source.spe()
    }

    /// Returns the number of threads that the program wanted to start.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Returns the number of threads that would have had room.
    pub fn fit(&self) -> usize {
        self.fit
    }
}

/// A scope of cooperative threads: see [`Spe::thread_scope`](crate::Spe::thread_scope).
pub struct ThreadScope<'scope, 'env: 'scope, S: SpeCore> {
    spe: &'env S,
    starter: &'scope dyn StartThread,
    started: Cell<usize>,
    panics: Rc<Panics>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// The panic payloads of threads that were not joined, in the order of the panics.
type Panics = RefCell<Vec<(ThreadId, Payload)>>;

/// The settings of a cooperative thread before it is spawned: see [`ThreadScope::builder`].
#[must_use = "a thread starts with `spawn`"]
pub struct ThreadBuilder<'a, 'scope, 'env: 'scope, S: SpeCore> {
    scope: &'a ThreadScope<'scope, 'env, S>,
    stack_bytes: Option<usize>,
}

/// A handle to the result of a cooperative thread. Dropping the handle does not end the thread.
pub struct ThreadHandle<'scope, R, S: SpeCore> {
    spe: &'scope S,
    id: ThreadId,
    result: Rc<ThreadOutcome<R>>,
    panics: Rc<Panics>,
}

struct ThreadOutcome<R> {
    value: Cell<Option<R>>,
    has_ended: Cell<bool>,
}

/// Runs `f` on `spe`, and waits for all threads that `f` starts.
#[track_caller]
pub(crate) fn scope<'env, S: SpeCore, R>(
    spe: &'env S,
    f: impl for<'scope> FnOnce(&ThreadScope<'scope, 'env, S>) -> R,
) -> R {
    scope_at(Location::caller(), spe, f)
}

fn scope_at<'env, S: SpeCore, R>(
    at: &'static Location<'static>,
    spe: &'env S,
    f: impl for<'scope> FnOnce(&ThreadScope<'scope, 'env, S>) -> R,
) -> R {
    let panics = Rc::new(Panics::default());
    let mut f = Some(f);
    let mut result = None;
    let ended = catch_unwind(AssertUnwindSafe(|| {
        spe.run_threads(at, &mut |starter| {
            let scope = ThreadScope {
                spe,
                starter,
                started: Cell::new(0),
                panics: Rc::clone(&panics),
                scope: PhantomData,
                env: PhantomData,
            };
            let f = f.take().expect("a machine runs a scope's function once");
            result = Some(f(&scope));
        });
    }));
    let first = panics.take().into_iter().next();
    match (ended, first) {
        (Ok(()), None) => result.expect("a machine runs a scope's function"),
        (Ok(()), Some((_, panic))) => resume_unwind(panic),
        // The run was cancelled after the thread panicked, perhaps because of this panic.
        (Err(_), Some((_, panic))) if spe.is_cancelled() => resume_unwind(panic),
        (Err(own), _) => resume_unwind(own),
    }
}

#[track_caller]
pub(crate) fn threads<S: SpeCore>(
    spe: &S,
    count: usize,
    body: &impl Fn(ThreadId),
) -> Result<(), StackError> {
    let at = Location::caller();
    let stacks = (0..count).map(|_| stack_room(spe, None, at));
    let stacks: Vec<_> = collect_stacks(stacks, count, THREAD_STACK_BYTES)?;
    scope_at(at, spe, |scope| {
        for stack in stacks {
            scope.start(None, stack, body);
        }
    });
    Ok(())
}

/// Reserves memory for a stack in the local store, if stacks use the local store.
fn stack_room<S: SpeCore>(
    spe: &S,
    stack_bytes: Option<usize>,
    at: &'static Location<'static>,
) -> Result<Option<LocalBuffer>, StageError> {
    let Some(local_store) = spe.confined_to() else {
        return Ok(None);
    };
    let bytes = stack_bytes.unwrap_or(THREAD_STACK_BYTES);
    let bytes = bytes.next_multiple_of(QUADWORD_BYTES);
    let what = "the stack of a cooperative thread";
    let room = local_store.reserve_at(bytes, QUADWORD_BYTES as u32, what, at)?;
    Ok(Some(room))
}

fn collect_stacks(
    stacks: impl Iterator<Item = Result<Option<LocalBuffer>, StageError>>,
    threads: usize,
    stack_bytes: usize,
) -> Result<Vec<Option<LocalBuffer>>, StackError> {
    let mut room = Vec::with_capacity(threads);
    for stack in stacks {
        match stack {
            Ok(stack) => room.push(stack),
            Err(source) => {
                return Err(StackError {
                    threads,
                    stack_bytes,
                    fit: room.len(),
                    source,
                });
            }
        }
    }
    Ok(room)
}

impl<'scope, 'env, S: SpeCore> ThreadScope<'scope, 'env, S> {
    /// Starts a thread that calls `f` with its id, once the caller waits, yields or ends the scope.
    ///
    /// # Errors
    ///
    /// Returns [`StackError`] if stacks use the local store and it has no room.
    #[track_caller]
    pub fn spawn<R, F>(&self, f: F) -> Result<ThreadHandle<'scope, R, S>, StackError>
    where
        F: FnOnce(ThreadId) -> R + 'scope,
        R: 'scope,
    {
        self.builder().spawn(f)
    }

    /// Returns a builder for a thread with another stack size.
    pub fn builder(&self) -> ThreadBuilder<'_, 'scope, 'env, S> {
        ThreadBuilder {
            scope: self,
            stack_bytes: None,
        }
    }

    fn start<R, F>(
        &self,
        stack_bytes: Option<usize>,
        stack: Option<LocalBuffer>,
        f: F,
    ) -> ThreadHandle<'scope, R, S>
    where
        F: FnOnce(ThreadId) -> R + 'scope,
        R: 'scope,
    {
        let spe: &'scope S = self.spe;
        let id = ThreadId(self.started.get());
        self.started.set(id.0 + 1);
        let result = Rc::new(ThreadOutcome {
            value: Cell::new(None),
            has_ended: Cell::new(false),
        });
        let panics = Rc::clone(&self.panics);
        let outcome = Rc::clone(&result);
        let body: Box<dyn FnOnce() + 'scope> = Box::new(move || {
            let _stack = stack;
            match catch_unwind(AssertUnwindSafe(|| f(id))) {
                Ok(value) => outcome.value.set(Some(value)),
                // The run was cancelled. The thread continues to unwind so that the run can end.
                Err(panic) if spe.is_cancelled() => resume_unwind(panic),
                Err(panic) => panics.borrow_mut().push((id, panic)),
            }
            outcome.has_ended.set(true);
        });
        // SAFETY: only the lifetime changes. The closure's borrows live until `run_threads`
        // returns. By then every body has ended or was dropped (`SpeCore`'s contract).
        let body = unsafe {
            std::mem::transmute::<Box<dyn FnOnce() + 'scope>, Box<dyn FnOnce() + 'static>>(body)
        };
        self.starter.start(NewThread {
            id,
            stack_bytes,
            body,
        });
        ThreadHandle {
            spe,
            id,
            result,
            panics: Rc::clone(&self.panics),
        }
    }
}

impl<'scope, S: SpeCore> ThreadBuilder<'_, 'scope, '_, S> {
    /// Sets the size of the thread's stack in bytes. A simulated SPE rounds the size up to 16 bytes
    /// and reserves the stack in its local store. The default is [`THREAD_STACK_BYTES`]. A host
    /// allocates at least 16 KiB. On a host the default is a setting of the machine.
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.stack_bytes = Some(bytes);
        self
    }

    /// Starts the thread: see [`ThreadScope::spawn`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ThreadScope::spawn`].
    #[track_caller]
    pub fn spawn<R, F>(self, f: F) -> Result<ThreadHandle<'scope, R, S>, StackError>
    where
        F: FnOnce(ThreadId) -> R + 'scope,
        R: 'scope,
    {
        let Self { scope, stack_bytes } = self;
        let stack = stack_room(scope.spe, stack_bytes, Location::caller()).map_err(|source| {
            StackError {
                threads: 1,
                stack_bytes: stack_bytes.unwrap_or(THREAD_STACK_BYTES),
                fit: 0,
                source,
            }
        })?;
        Ok(scope.start(stack_bytes, stack, f))
    }
}

impl<R, S: SpeCore> ThreadHandle<'_, R, S> {
    /// Returns the number of the thread in its scope.
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// Returns whether the thread has ended, so that [`join`](Self::join) would not wait.
    pub fn is_finished(&self) -> bool {
        self.result.has_ended.get()
    }

    /// Waits until the thread has ended and returns its result, while other threads run.
    ///
    /// # Errors
    ///
    /// Returns the payload of the thread's panic, which the scope then does not resume. Returns
    /// [`Cancelled`] if the run was cancelled and the caller is unwinding.
    #[track_caller]
    pub fn join(self) -> Result<R, Box<dyn Any + Send>> {
        let has_ended = &self.result.has_ended;
        self.spe
            .wait_until(&Ending(self.id), &mut || has_ended.get());
        if let Some(value) = self.result.value.take() {
            return Ok(value);
        }
        let mut panics = self.panics.borrow_mut();
        let place = panics.iter().position(|(thread, _)| *thread == self.id);
        Err(match place {
            Some(place) => panics.remove(place).1,
            None => Box::new(Cancelled),
        })
    }
}

struct Ending(ThreadId);

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {} to end", self.0.0)
    }
}
