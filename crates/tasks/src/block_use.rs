//! That a task uses a block of its phase.

/// That a task uses a block.
#[derive(Clone, Copy, Debug)]
pub struct BlockUse {
    /// The address of the slice whose block it is.
    pub(crate) slice: usize,
    pub(crate) block: usize,
    pub(crate) changes: bool,
    pub(crate) phase: usize,
}
