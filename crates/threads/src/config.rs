//! What a run is given: the size of its stacks, and what the world outside says when no thread is
//! ready.

/// Stacks of a run.
#[derive(Clone, Debug)]
pub struct Config {
    /// Bytes of the stack of each thread that asks for no other size with
    /// [`Builder::stack_bytes`](crate::Builder::stack_bytes), 256 KiB by default.
    ///
    /// They are addresses, not memory: the kernel commits a page when it is first touched. Sizes
    /// below 16 KiB are raised to it, because a panic alone needs some. The main thread runs on the
    /// stack of its OS thread.
    pub stack_bytes: usize,
    /// The calls that give a thread a larger stack, for the report of a stack that overflows: those
    /// of this crate by default. A machine that starts the threads names its own.
    pub larger_stacks: &'static str,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            stack_bytes: 256 * 1024,
            larger_stacks: "Config::stack_bytes or Builder::stack_bytes",
        }
    }
}

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
    /// [`Blocked`](crate::Blocked).
    Stuck,
}

/// The [`Idle`] of a core that only its own threads can wake: when all of them wait, they are
/// stuck.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoOutside;

impl Idle for NoOutside {
    fn idle(&self) -> Verdict {
        Verdict::Stuck
    }
}
