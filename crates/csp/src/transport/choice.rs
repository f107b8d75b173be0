//! The choice of a transport, and counts of what it has moved.

use cellworks_machine::mailbox::Outbound;

/// How items and messages travel between the processes of a network where SPEs are confined to
/// their local stores: on a simulated Cell, and on a strict host. On other hosts processes share
/// memory, and the transport makes no difference.
///
/// On such machines the network uses the signal registers, the mailboxes and the tag groups from 16
/// on of its SPEs. Its processes must not use them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "parameters",
    derive(clap::ValueEnum, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum Transport {
    /// From SPE to SPE, by signals and DMA. The SPEs themselves perform the steps of channels. This
    /// is what the paper proposes for the future (section 4).
    #[default]
    #[cfg_attr(feature = "parameters", value(help = "SPE to SPE, by signals and DMA"))]
    Direct,
    /// The transport of the paper: every request goes through the SPE handler to the request
    /// coordinator, which are both on the PPE (section 2.1). There are two short cuts (section
    /// 2.2.8), for a channel made by [`one_to_one`](crate::Channel::one_to_one) whose two processes
    /// never change: the SPE handler performs its steps alone, and if both processes are on one
    /// SPE, no request leaves the SPE.
    #[cfg_attr(
        feature = "parameters",
        value(help = "by requests to the PPE's request coordinator, as in the paper")
    )]
    Coordinator,
}

impl Transport {
    /// The mailbox through which an SPE sends words to the PPE. The SPE handler of the paper uses
    /// libspe2, which reads the interrupt mailbox through the kernel.
    pub(crate) const fn mailbox(self) -> Outbound {
        match self {
            Self::Direct => Outbound::Plain,
            Self::Coordinator => Outbound::Interrupt,
        }
    }
}

/// What the channels of a network had to move by their [transport](Transport). All numbers are 0
/// where processors share memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Items that were read.
    pub communications: u64,
    /// Messages of SPEs to the PPE: requests to the [coordinator](Transport::Coordinator), wake-ups
    /// of the main process with the [direct](Transport::Direct) transport.
    pub requests: u64,
    /// Bytes of items that were moved by DMA, between local stores, or to and from main memory. The
    /// bytes of flushed items count twice: when they are flushed and when they are read.
    pub bytes_moved: u64,
    /// Items that were flushed to main memory because a local store was full.
    pub items_flushed: u64,
}
