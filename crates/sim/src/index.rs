//! Numbers of processors and of threads. Tables and events use them as names.

/// A processor of the machine: [`PPE`], or an SPE by its index plus one.
pub(crate) type ProcessorIndex = usize;

/// The PPE.
pub(crate) const PPE: ProcessorIndex = 0;

/// A thread of the run: its place in the table of threads.
pub(crate) type ThreadIndex = u32;
