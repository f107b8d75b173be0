//! How requests and items travel where processors share no memory.

/// How processes of a network reach each other on a simulated Cell. On a host they share memory, and it makes no difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// SPE to SPE, by signals and DMA, with the decisions made by the SPEs: what the paper proposes for the future
    /// (section 4).
    #[default]
    Direct,
    /// The paper's own: every request goes through the SPE handler to the request coordinator, both on the PPE
    /// (section 2.1), but for channels between two processes that never change.
    Coordinator,
}
