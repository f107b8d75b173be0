//! The choice of a transport, and counts of the moved data.

use cellworks_machine::mailbox::Outbound;

/// How items and messages travel between processes, if SPEs are confined to their local stores: on
/// a simulated Cell, and on a strict host. On other hosts all transports are the same.
///
/// A network with a transport uses the signal registers and mailboxes of its SPEs, and their tag
/// groups from 16 on. The processes of the network must not use these resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "parameters",
    derive(clap::ValueEnum, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum Transport {
    /// Messages go from SPE to SPE by signals, and items by DMA. The SPEs perform the steps of
    /// channels. The paper (see the crate) proposes this transport for the future (section 4).
    #[default]
    #[cfg_attr(feature = "parameters", value(help = "SPE to SPE, by signals and DMA"))]
    Direct,
    /// The transport of the paper (see the crate): every request goes through the SPE handler to
    /// the request coordinator. The SPE handler and the request coordinator are both on the PPE
    /// (section 2.1). A channel made by [`one_to_one`](crate::Channel::one_to_one) takes two short
    /// cuts if its two processes never change (section 2.2.8): the SPE handler performs the steps
    /// of the channel itself, and if both processes are on one SPE, no request leaves the SPE.
    #[cfg_attr(
        feature = "parameters",
        value(help = "by requests to the PPE's request coordinator, as in the paper")
    )]
    Coordinator,
}

impl Transport {
    /// Returns the mailbox through which an SPE sends words to the PPE. The paper's SPE handler
    /// uses libspe2, which reads the interrupt mailbox through the kernel.
    pub(crate) const fn mailbox(self) -> Outbound {
        match self {
            Self::Direct => Outbound::Plain,
            Self::Coordinator => Outbound::Interrupt,
        }
    }
}

/// The numbers of items, messages and bytes that the [transport](Transport) of a network has moved.
/// All are 0 if processors share memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Items that were read.
    pub communications: u64,
    /// Messages from SPEs to the PPE: requests with [`Coordinator`](Transport::Coordinator), and
    /// wake-ups of the main process with [`Direct`](Transport::Direct).
    pub requests: u64,
    /// Bytes of items that DMA moved. The bytes of a flushed item are counted when the item is
    /// flushed, and again when it is read.
    pub bytes_moved: u64,
    /// Items that were flushed to main memory because a local store was full.
    pub items_flushed: u64,
}
