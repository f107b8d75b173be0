//! The settings of a run: the size of its stacks, and the hook that is called when no thread is
//! ready.

/// The settings of the stacks of a run.
#[derive(Clone, Debug)]
pub struct Config {
    /// The size of the stack of each thread in bytes, unless another one is chosen with
    /// [`Builder::stack_bytes`](crate::Builder::stack_bytes). The default is 256 KiB.
    ///
    /// A stack takes addresses at first, and memory only page by page when it is touched. Sizes
    /// below 16 KiB are raised to 16 KiB, because a panic alone needs about half of that. The main
    /// thread runs on the stack of its OS thread.
    pub stack_bytes: usize,
    /// The names of the calls that give a thread a larger stack, for the report of a stack
    /// overflow. The default names calls of this crate. A machine that starts the threads names its
    /// own calls.
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

/// The hook of a core that is called when none of its threads is ready: it knows the events outside
/// of the core.
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

    /// The programs that run on the threads of this core, one in each line. The error that ends a
    /// process shows them, if a thread cannot be ended.
    fn programs(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The answer of [`Idle::idle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Check again whether a thread is ready.
    Continue,
    /// Nothing will ever wake a thread of this core. All threads are cancelled, and
    /// [`run`](crate::run) returns [`Blocked`](crate::Blocked).
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
