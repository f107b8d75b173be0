//! Indices of processors and of threads, with which tables and events refer to them.

/// A processor of the machine: [`PPE`], or an SPE by its index plus one.
pub(crate) type ProcessorIndex = usize;

/// The index of the PPE.
pub(crate) const PPE: ProcessorIndex = 0;

/// The index of a thread in the run's table of threads.
pub(crate) type ThreadIndex = u32;
