//! The settings of a run, and the hook for a core without ready threads.

/// The settings of the stacks of a run.
#[derive(Clone, Debug)]
pub struct Config {
    /// The size of each thread's stack in bytes, by default 256 KiB and at least 16 KiB.
    /// [`Builder::stack_bytes`](crate::Builder::stack_bytes) chooses another size for one thread.
    ///
    /// A stack takes memory only for touched pages. The main thread runs on the OS thread's stack.
    pub stack_bytes: usize,
    /// The functions that the error message of a stack overflow recommends for a larger stack.
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

/// The hook that a core without ready threads calls to wait for events outside of the core.
pub trait Idle {
    /// Waits for an event outside of the core, and unparks the threads that the event concerns.
    ///
    /// The core calls this method while a thread waits and no thread is ready.
    ///
    /// The method may unpark threads, cancel the core and call
    /// [`blocked_threads`](crate::blocked_threads). In this method, calls that wait or spawn panic,
    /// and a yield does nothing. If the method panics, the core is cancelled, and `run` passes the
    /// panic on.
    fn idle(&self) -> Verdict;

    /// Returns a line of text for each program that runs on this core. If a cancelled thread does
    /// not end, the process ends with an error that shows these lines.
    fn programs(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The result of [`Idle::idle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The core checks again whether a thread is ready.
    Continue,
    /// No event will wake a thread. All threads are cancelled, and `run` returns
    /// [`Blocked`](crate::Blocked).
    Stuck,
}

/// The [`Idle`] hook of a core without events from outside: if all threads wait, the core is stuck.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoOutside;

impl Idle for NoOutside {
    fn idle(&self) -> Verdict {
        Verdict::Stuck
    }
}
