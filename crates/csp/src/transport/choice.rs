//! Which transport a network uses, and what the transport had to move.

use cellworks_machine::mailbox::Outbound;

/// How processes of a network reach each other where SPEs are confined to their local stores: on a
/// simulated Cell, and on a strict host, where it takes no simulated time. On any other host they
/// share memory, and it makes no difference.
///
/// There the signal registers, the mailboxes and the tag groups from 16 on of its SPEs are the
/// network's: its processes must not use them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "parameters",
    derive(clap::ValueEnum, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum Transport {
    /// SPE to SPE, by signals and DMA, with the decisions made by the SPEs: what the paper proposes
    /// for the future (section 4).
    #[default]
    #[cfg_attr(feature = "parameters", value(help = "SPE to SPE, by signals and DMA"))]
    Direct,
    /// The paper's own: every request goes through the SPE handler to the request coordinator, both
    /// on the PPE (section 2.1). Two short cuts (section 2.2.8): between two processes that never
    /// change, of a channel made by [`one_to_one`](crate::Channel::one_to_one), the SPE handler
    /// decides alone, and if they are on one SPE nothing leaves it.
    #[cfg_attr(
        feature = "parameters",
        value(help = "by requests to the PPE's request coordinator, as in the paper")
    )]
    Coordinator,
}

impl Transport {
    /// The mailbox in which an SPE has words for the PPE. The SPE handler of the paper is libspe2's
    /// user, which reads the one that can interrupt through the kernel.
    pub(crate) const fn mailbox(self) -> Outbound {
        match self {
            Self::Direct => Outbound::Plain,
            Self::Coordinator => Outbound::Interrupt,
        }
    }
}

/// What the channels of a network had to move where [transports](Transport) are used: all 0 where
/// processors share memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Items that were read.
    pub communications: u64,
    /// Messages of SPEs to the PPE: requests to the [coordinator](Transport::Coordinator), wake-ups
    /// of the main process with the [direct](Transport::Direct) transport.
    pub requests: u64,
    /// Bytes of items that were moved by DMA, between local stores, or to and from main memory.
    /// Those that were flushed count twice, when they leave and when they are read.
    pub bytes_moved: u64,
    /// Items that were put to main memory because a local store was full.
    pub items_flushed: u64,
}
