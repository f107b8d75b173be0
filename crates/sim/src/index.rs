//! The indices of processors and threads in tables and events.

/// The index of a processor: [`PPE`], or the index of an SPE plus one.
pub(crate) type ProcessorIndex = usize;

pub(crate) const PPE: ProcessorIndex = 0;

/// The index of a thread in the run's table of threads.
pub(crate) type ThreadIndex = u32;
