//! Finds out whether any thread of this process can ever run again.
//!
//! A thread that waits for a futex can continue after three events: another thread of the process
//! wakes it, another process or the kernel wakes it, or a signal handler runs on it. None of these
//! events can happen if all of the following facts hold. Files of `/proc/self` show the facts:
//!
//! | fact | where it is seen |
//! |---|---|
//! | Each thread waits for a futex without a time limit. | `task/N/syscall`: the number of the call, the operation, the time limit |
//! | All threads wait at the same time. (Threads are read one after the other, so one reading can show two threads as waiting although one of them always runs.) | two readings have the same calls, and by `task/N/status` no thread left its CPU in between |
//! | All threads were read. | `task` has as many folders as `Threads` in `status` counts |
//! | Each thread sleeps in the wait itself. Before, the kernel may have to fetch the page of the futex, which another process may provide (`userfaultfd`). | `task/N/wchan` names a function of futexes |
//! | Only a call of `futex` ends the wait. A wait for a lock with priority inheritance also ends when the lock's owner ends, and the owner may be in another process. | the operation is `FUTEX_WAIT` or `FUTEX_WAIT_BITSET` |
//! | Only a thread of this process can make that call: the futex is private, or it lies in memory that is private and writable, as in `pthread_join`. | `task/N/syscall`, `maps` |
//! | No memory is shared. Another process could wake a thread through shared memory, also by ending while it holds a robust mutex there. The kernel could wake a thread by a request in a queue of `io_uring`, which is shared memory. | `maps` has no writable mapping that is shared |
//! | No signal handler will run. The handler of a fault runs only on a running thread, and libc's own handlers run only when another thread requests it. | `SigCgt` in `status` |
//! | No debugger controls a thread. | `TracerPid` in `task/N/status` |
//!
//! A [`Standstill`] is one reading of all threads. If two readings are equal, the first two facts
//! hold. For each other fact that does not hold or cannot be read, [`Standstill::doubts`] returns a
//! sentence. If a thread waits for input, a child, a signal or several futexes (`futex_waitv`), it
//! may continue, so there is no standstill.
//!
//! These cases cannot be detected by these files, and are ignored:
//!
//! - A process that shares the address space and is not a thread (`clone` with only `CLONE_VM`). A
//!   caller of `vfork` or `posix_spawn` does not wait for a futex.
//! - An `io_uring` with queues that are not mapped (`IORING_SETUP_NO_MMAP`).
//! - Another process that sends the signal of a fault by `kill`.
//!
//! The formats come from `proc(5)` and `futex(2)`.

// Rejected: aborting whenever every thread waits for a futex in two readings. A thread of the crate
// `ctrlc` waits for its signal handler in this way.

use std::path::Path;

use crate::cpus::{Source, files};

/// All threads of the process except the watchdog, each of which waits for a futex without a time
/// limit. If two successive readings are equal, and the `status` of every thread could be read, no
/// thread ran between the readings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Standstill {
    waits: Vec<Wait>,
}

/// A thread that waits for a futex without a time limit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wait {
    thread: u32,
    /// The content of `syscall`: the call with its arguments, stack pointer and program counter.
    call: String,
    futex: Futex,
    /// The kernel's function in which the thread waits, or `0` if the kernel hides the function.
    function: Option<String>,
    status: Option<ThreadStatus>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Futex {
    address: u64,
    operation: i32,
    /// Whether the flags of the operation allow only threads of this process to wake the thread.
    is_private: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ThreadStatus {
    /// The number of times that the thread left its CPU: voluntarily, and involuntarily.
    switches: [u64; 2],
    /// The identifier of the process that traces the thread, or 0.
    tracer: u64,
}

impl Standstill {
    /// Reads all threads of this process except the calling one. Returns `None` if one of them does
    /// not wait for a futex without a time limit, or cannot be read.
    pub fn read(source: &Source) -> Option<Self> {
        // The wait of the main thread often has an end. Then no other file is read.
        endless_wait_in(&source.path("proc/self"))?;
        let this = std::fs::read_link(source.path("proc/thread-self")).ok()?;
        let this: u32 = this.file_name()?.to_str()?.parse().ok()?;
        let threads = files::numbered(&source.path("proc/self/task"), "").ok()?;
        let others = || threads.iter().filter(|(thread, _)| *thread != this);
        // All calls are read before the other files. Usually at least one thread runs, so this
        // method returns `None` without reading the other files.
        let calls: Option<Vec<_>> = others()
            .map(|(_, folder)| endless_wait_in(folder))
            .collect();
        let waits = others()
            .zip(calls?)
            .map(|((thread, folder), (call, futex))| Wait::read(*thread, folder, call, futex));
        let waits: Option<Vec<Wait>> = waits.collect();
        waits.map(|waits| Self { waits })
    }

    /// Returns whether the same threads wait in the same calls. Threads may have run in between.
    pub fn waits_like(&self, other: &Self) -> bool {
        fn call(wait: &Wait) -> (u32, &str) {
            (wait.thread, &wait.call)
        }
        let (ours, theirs) = (self.waits.iter().map(call), other.waits.iter().map(call));
        ours.eq(theirs)
    }

    /// Returns the reasons why a thread might still continue, in sentences.
    pub fn doubts(&self, source: &Source) -> Vec<String> {
        let mut doubts = Vec::new();
        match text(&source.path("proc/self/status")) {
            Some(status) => {
                doubts.extend(self.doubt_by_count(&status));
                doubts.extend(doubt_by_handlers(&status, libc::SIGRTMIN()));
            }
            None => doubts.push(unreadable("/proc/self/status")),
        }
        let maps = text(&source.path("proc/self/maps"));
        match maps.as_deref().and_then(mappings) {
            Some(mappings) => {
                doubts.extend(doubt_by_shared_memory(&mappings));
                doubts.extend(self.doubt(|wait| wait.doubt_by_reach(&mappings)));
            }
            None => doubts.push(unreadable("/proc/self/maps")),
        }
        doubts.extend(self.doubt(Wait::doubt_by_operation));
        doubts.extend(self.doubt(Wait::doubt_by_function));
        doubts.extend(self.doubt(Wait::doubt_by_status));
        doubts
    }

    fn doubt(&self, of: impl Fn(&Wait) -> Option<String>) -> Option<String> {
        self.waits.iter().find_map(of)
    }

    fn doubt_by_count(&self, status: &str) -> Option<String> {
        let seen = self.waits.len() as u64 + 1;
        match figure(status, "Threads:") {
            Some(counted) if counted == seen => None,
            Some(counted) => Some(format!(
                "{seen} threads were seen, but the kernel counts {counted}"
            )),
            None => Some(unreadable("Threads in /proc/self/status")),
        }
    }
}

impl Wait {
    /// Reads the other facts about a thread, or returns `None` if the thread has left its wait.
    fn read(thread: u32, folder: &Path, call: String, futex: Futex) -> Option<Self> {
        let function = text(&folder.join("wchan"));
        let status = text(&folder.join("status")).and_then(|status| ThreadStatus::parse(&status));
        let wait = Self {
            thread,
            call,
            futex,
            function,
            status,
        };
        // The same call before and after `status` shows that `switches` belongs to this wait.
        (endless_wait_in(folder)?.0 == wait.call).then_some(wait)
    }

    fn doubt_by_reach(&self, mappings: &[Mapping]) -> Option<String> {
        let Self { thread, futex, .. } = self;
        // A private page that is read-only may belong to a file that other processes also map.
        let is_ours = |mapping: &Mapping| {
            mapping.begin <= futex.address
                && futex.address < mapping.end
                && !mapping.is_shared
                && mapping.is_writable
        };
        (!futex.is_private && !mappings.iter().any(is_ours)).then(|| {
            format!("thread {thread} waits for a futex by which another process can wake it")
        })
    }

    fn doubt_by_operation(&self) -> Option<String> {
        let Self { thread, futex, .. } = self;
        let operation = futex.operation;
        (!matches!(operation, libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET)).then(|| {
            format!(
                "thread {thread} waits by operation {operation} of futex(2), which not only a thread of \
                 this process can end"
            )
        })
    }

    fn doubt_by_function(&self) -> Option<String> {
        let thread = self.thread;
        match self.function.as_deref() {
            Some(function) if function.contains("futex") => None,
            Some("0") | None => Some(unreadable(&format!("/proc/self/task/{thread}/wchan"))),
            Some(function) => Some(format!(
                "thread {thread} waits in the kernel's `{function}`, which is not for futexes"
            )),
        }
    }

    fn doubt_by_status(&self) -> Option<String> {
        let thread = self.thread;
        match self.status {
            Some(ThreadStatus { tracer: 0, .. }) => None,
            Some(ThreadStatus { tracer, .. }) => {
                Some(format!("thread {thread} is traced by process {tracer}"))
            }
            None => Some(unreadable(&format!("/proc/self/task/{thread}/status"))),
        }
    }
}

impl ThreadStatus {
    fn parse(status: &str) -> Option<Self> {
        Some(Self {
            switches: [
                figure(status, "voluntary_ctxt_switches:")?,
                figure(status, "nonvoluntary_ctxt_switches:")?,
            ],
            tracer: figure(status, "TracerPid:")?,
        })
    }
}

/// Returns the content of a thread's `syscall`, and the result of [`endless_wait`].
fn endless_wait_in(folder: &Path) -> Option<(String, Futex)> {
    let call = text(&folder.join("syscall"))?;
    let futex = endless_wait(&call)?;
    Some((call, futex))
}

/// Returns the futex for which a thread waits without a time limit. `call` is the content of the
/// thread's file `syscall` in `/proc`: the number of the system call and its arguments, or
/// `running`.
fn endless_wait(call: &str) -> Option<Futex> {
    const WAITS: [i32; 5] = [
        libc::FUTEX_WAIT,
        libc::FUTEX_WAIT_BITSET,
        libc::FUTEX_WAIT_REQUEUE_PI,
        libc::FUTEX_LOCK_PI,
        libc::FUTEX_LOCK_PI2,
    ];

    let (number, arguments) = call.split_once(' ')?;
    let arguments: Option<Vec<u64>> = arguments
        .split_whitespace()
        .map(|argument| u64::from_str_radix(argument.strip_prefix("0x")?, 16).ok())
        .collect();
    let [address, operation, _, time_limit, ..] = arguments?[..] else {
        return None;
    };
    // The kernel reads only the lower 32 bits of the argument.
    let flagged = operation as i32;
    let operation = flagged & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    let waits =
        number.parse() == Ok(libc::SYS_futex) && WAITS.contains(&operation) && time_limit == 0;
    waits.then_some(Futex {
        address,
        operation,
        is_private: flagged & libc::FUTEX_PRIVATE_FLAG != 0,
    })
}

/// Returns a doubt if a signal handler may wake a thread. Libc uses the signals from 32 to below
/// `first_real_time`: 32 and 33 in glibc, and also 34 in musl.
pub(super) fn doubt_by_handlers(status: &str, first_real_time: i32) -> Option<String> {
    const FAULTS: [i32; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];
    const FIRST_OF_LIBC: i32 = 32;

    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigCgt:"));
    let Some(mask) = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()) else {
        return Some(unreadable("SigCgt in /proc/self/status"));
    };
    let handled: Vec<String> = (1..=64)
        .filter(|signal| mask >> (signal - 1) & 1 == 1)
        .filter(|signal| {
            !FAULTS.contains(signal) && !(FIRST_OF_LIBC..first_real_time).contains(signal)
        })
        .map(|signal| signal.to_string())
        .collect();
    match &handled[..] {
        [] => None,
        [signal] => Some(format!(
            "signal {signal} has a handler, which can wake a thread (`kill -l {signal}` names it)"
        )),
        _ => Some(format!(
            "signals {} have handlers, which can wake a thread (`kill -l` names them)",
            handled.join(", ")
        )),
    }
}

struct Mapping<'a> {
    begin: u64,
    end: u64,
    is_writable: bool,
    is_shared: bool,
    name: &'a str,
}

/// Parses lines of `maps`, such as `7f71a1ef000-7f71a1f6000 rw-s 00000000 00:01 2052 /dev/zero`.
fn mappings(maps: &str) -> Option<Vec<Mapping<'_>>> {
    let mapping = |line| {
        let mut fields = str::splitn(line, 6, ' ');
        let (begin, end) = fields.next()?.split_once('-')?;
        let permissions = fields.next()?.as_bytes();
        Some(Mapping {
            begin: u64::from_str_radix(begin, 16).ok()?,
            end: u64::from_str_radix(end, 16).ok()?,
            is_writable: *permissions.get(1)? == b'w',
            is_shared: *permissions.get(3)? == b's',
            name: fields.nth(3).unwrap_or_default().trim(),
        })
    };
    maps.lines().map(mapping).collect()
}

fn doubt_by_shared_memory(mappings: &[Mapping]) -> Option<String> {
    let mut shared = mappings
        .iter()
        .filter(|mapping| mapping.is_writable && mapping.is_shared);
    shared.next().map(|Mapping { name, .. }| {
        format!("{name} is writable memory that another process may share")
    })
}

fn text(path: &Path) -> Option<String> {
    files::text(path).ok()?
}

fn figure(text: &str, name: &str) -> Option<u64> {
    files::figure(Path::new(""), text, name).ok()?
}

fn unreadable(what: &str) -> String {
    format!("{what} cannot be read")
}
