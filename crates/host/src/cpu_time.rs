//! The CPU time of threads.

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::time::{ClockId, clock_gettime};

pub(crate) const NS_PER_S: u64 = 1_000_000_000;

/// The CPU time that the threads of a host have used in all runs, by seat (the index of a thread).
pub(crate) struct CpuTime {
    ns: Box<[AtomicU64]>,
}

impl CpuTime {
    pub(crate) fn new(seats: usize) -> Self {
        Self {
            ns: (0..seats).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    pub(crate) fn of_seat(&self, seat: usize) -> u64 {
        self.ns[seat].load(Ordering::Relaxed)
    }

    /// Adds the CPU time of the calling thread, less `before_ns`, to a seat.
    pub(crate) fn add(&self, seat: usize, before_ns: u64) {
        let used_ns = cpu_time_of_this_thread().saturating_sub(before_ns);
        self.ns[seat].fetch_add(used_ns, Ordering::Relaxed);
    }
}

/// Returns the CPU time of the calling thread, in nanoseconds.
pub(crate) fn cpu_time_of_this_thread() -> u64 {
    read_clock(ClockId::ThreadCPUTime)
}

/// Returns the time of a clock, in nanoseconds.
pub(crate) fn read_clock(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    // The clocks of this crate are not negative, and 64 bits of nanoseconds last for 584 years.
    time.tv_sec as u64 * NS_PER_S + time.tv_nsec as u64
}
