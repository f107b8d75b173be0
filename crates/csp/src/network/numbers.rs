//! The numbers of processes, and of threads outside the machine.

/// The smallest process number of outside threads. Processes on processors have smaller numbers.
pub(crate) const FIRST_OUTSIDE: u32 = 1 << 31;

pub(crate) fn is_outside(number: u32) -> bool {
    number >= FIRST_OUTSIDE
}
