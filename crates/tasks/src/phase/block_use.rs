/// A use of a block by a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockUse {
    /// The address of the slice to which the block belongs.
    pub(crate) slice: usize,
    pub(crate) block: usize,
    pub(crate) changes: bool,
    pub(crate) phase: usize,
}
