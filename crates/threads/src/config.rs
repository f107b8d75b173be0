//! The settings of a run: the size of its stacks, and the hook for a core without ready threads.

/// The settings of the stacks of a run.
#[derive(Clone, Debug)]
pub struct Config {
    /// The size of the stack of each thread in bytes. The default is 256 KiB.
    /// [`Builder::stack_bytes`](crate::Builder::stack_bytes) chooses another size for one thread.
    ///
    /// A new stack reserves addresses, but no memory. The kernel commits the memory of each page
    /// when the page is first touched. Sizes below 16 KiB are raised to 16 KiB, because a panic
    /// needs about 8 KiB. The main thread runs on the stack of its OS thread.
    pub stack_bytes: usize,
    /// The names of the calls that give a thread a larger stack, for the report of a stack
    /// overflow. The default names calls of this crate.
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

/// The hook that a core without ready threads calls, to wait for events outside of the core.
pub trait Idle {
    /// Waits until an event has happened outside of the core, and unparks the threads that the
    /// event concerns.
    ///
    /// The core calls this method when no thread is ready and at least one thread waits. The method
    /// runs on the stack of the thread that has just waited or ended. If no thread is ready after a
    /// [`Verdict::Continue`], the core calls the method again.
    ///
    /// The method may unpark threads, cancel the core and ask for
    /// [`blocked_threads`](crate::blocked_threads). In this method, calls that wait or spawn panic,
    /// and a yield does nothing. If the method panics, the core is cancelled, and
    /// [`run`](crate::run) passes the panic on to its caller.
    fn idle(&self) -> Verdict;

    /// Returns a line for each program that runs on the threads of this core. If a cancelled thread
    /// never ends, the error that ends the process shows these lines.
    fn programs(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The result of [`Idle::idle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The core checks again whether a thread is ready.
    Continue,
    /// No event will ever wake a thread of this core. All threads are cancelled, and
    /// [`run`](crate::run) returns [`Blocked`](crate::Blocked).
    Stuck,
}

/// The [`Idle`] of a core without events from outside. When all threads wait, the core is stuck.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoOutside;

impl Idle for NoOutside {
    fn idle(&self) -> Verdict {
        Verdict::Stuck
    }
}
