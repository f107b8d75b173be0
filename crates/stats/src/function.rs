//! The functions of CellStats, named as in the paper's `-f` flag (section 3.1), and four functions
//! that the paper does not have: `wakeup`, `copy`, `chase` and `osthread`.

use std::fmt;

use cellworks_machine::mfc::Direction;
use serde::{Deserialize, Serialize};

/// A primitive that can be measured.
///
/// ```
/// use cellworks_stats::Function;
/// assert_eq!(Function::DmaListGet.to_string(), "dmalistget");
/// assert_eq!(Function::from_name("dmaout"), Some(Function::DmaPut));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Function {
    /// Starting an empty program on an SPE, and learning that it has ended.
    MkThread,
    /// A word to an SPE by mailbox, and the SPE's answer.
    Mailbox,
    /// A signal to an SPE, and the SPE's answer.
    Signal,
    /// DMA into the local store.
    DmaGet,
    /// DMA out of the local store.
    DmaPut,
    /// A list of DMA transfers into the local store.
    DmaListGet,
    /// A list of DMA transfers out of the local store.
    DmaListPut,
    /// Adding to a variable in main memory.
    FetchAdd,
    /// Subtracting from a variable in main memory.
    FetchSub,
    /// Adding 1 to a variable in main memory.
    FetchInc,
    /// Subtracting 1 from a variable in main memory.
    FetchDec,
    /// Replacing a variable in main memory, and returning its old value.
    FetchSet,
    /// Waking an SPE that waits for a word: from the write to the inbound mailbox until the SPE has
    /// the word. On a machine whose SPEs sleep, the SPE has waited long enough to be asleep.
    WakeUp,
    /// Copying a block of main memory to another place in main memory, by an SPE.
    Copy,
    /// Following chains of pointers, which lead in random order through a table in main memory.
    Chase,
    /// Creating a thread of the operating system that does nothing, and joining it. On a computer,
    /// [`MkThread`](Self::MkThread) creates no thread: it uses threads that wait for programs.
    OsThread,
    /// The one-way time from every SPE to every other SPE. The result is a
    /// [`Matrix`](crate::Matrix), so no [`Measurement`](crate::Measurement) has this function.
    #[serde(skip)]
    Matrix(Primitive),
    /// Reading every memory module from every Cell or NUMA node that has SPEs. The latency of a
    /// load instruction and the bandwidth at which one SPE reads are measured. The result is a
    /// [`MemoryMatrix`](crate::MemoryMatrix).
    #[serde(skip)]
    Memory,
}

/// The kinds of functions. The same code measures all functions of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Threads,
    Exchange(Channel),
    Transfer { direction: Direction, list: bool },
    Atomic,
    WakeUp,
    Copy,
    Chase,
    OsThread,
    Matrix(Primitive),
    Memory,
}

/// The carrier of the words of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    Mailbox,
    Signal,
}

impl Function {
    /// All functions that measure one operation, first those of the paper in the paper's order.
    pub const ALL: [Self; 16] = [
        Self::MkThread,
        Self::Mailbox,
        Self::Signal,
        Self::DmaGet,
        Self::DmaPut,
        Self::DmaListGet,
        Self::DmaListPut,
        Self::FetchAdd,
        Self::FetchSub,
        Self::FetchInc,
        Self::FetchDec,
        Self::FetchSet,
        Self::WakeUp,
        Self::Copy,
        Self::Chase,
        Self::OsThread,
    ];

    /// All functions that measure a matrix.
    pub const MATRICES: [Self; 5] = [
        Self::Matrix(Primitive::Mailbox),
        Self::Matrix(Primitive::Signal),
        Self::Matrix(Primitive::Atomic),
        Self::Matrix(Primitive::Copy),
        Self::Memory,
    ];

    /// Returns whether the function measures a matrix.
    pub const fn is_matrix(self) -> bool {
        matches!(self, Self::Matrix(_) | Self::Memory)
    }

    /// Returns the value of the flag `-f`, or of the flag `--matrix` for a matrix.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MkThread => "mkthread",
            Self::Mailbox => "mailbox",
            Self::Signal => "signal",
            Self::DmaGet => "dmaget",
            Self::DmaPut => "dmaput",
            Self::DmaListGet => "dmalistget",
            Self::DmaListPut => "dmalistput",
            Self::FetchAdd => "fetchadd",
            Self::FetchSub => "fetchsub",
            Self::FetchInc => "fetchinc",
            Self::FetchDec => "fetchdec",
            Self::FetchSet => "fetchset",
            Self::WakeUp => "wakeup",
            Self::Copy => "copy",
            Self::Chase => "chase",
            Self::OsThread => "osthread",
            Self::Matrix(primitive) => primitive.name(),
            Self::Memory => "memory",
        }
    }

    /// Returns a second name of the function. The paper's examples write `dmaout` for `dmaput`.
    pub const fn other_name(self) -> Option<&'static str> {
        match self {
            Self::DmaPut => Some("dmaout"),
            _ => None,
        }
    }

    /// Returns the function with this name or second name, or `None` for the name of a matrix.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|function| function.name() == name || function.other_name() == Some(name))
    }

    /// Describes the measured operation in a few words.
    pub const fn operation(self) -> &'static str {
        match self {
            Self::MkThread => "start an empty program on an SPE and see it end",
            Self::Mailbox => "a word there and a word back, by mailbox",
            Self::Signal => "a signal there and its answer",
            Self::DmaGet => "a block into the local store",
            Self::DmaPut => "a block out of the local store",
            Self::DmaListGet => "a list of blocks into the local store",
            Self::DmaListPut => "a list of blocks out of the local store",
            Self::FetchAdd => "add to a variable in main memory",
            Self::FetchSub => "subtract from a variable in main memory",
            Self::FetchInc => "add 1 to a variable in main memory",
            Self::FetchDec => "subtract 1 from a variable in main memory",
            Self::FetchSet => "replace a variable in main memory",
            Self::WakeUp => "a word to an SPE that has waited, one way",
            Self::Copy => "a block from main memory to main memory, by an SPE",
            Self::Chase => "a pointer followed at random through a table in main memory",
            Self::OsThread => "create a thread of the operating system and join it",
            Self::Matrix(_) => "the way from every SPE to every other",
            Self::Memory => {
                "latency and read bandwidth from every Cell or NUMA node to every memory module"
            }
        }
    }

    pub(crate) const fn kind(self) -> Kind {
        match self {
            Self::MkThread => Kind::Threads,
            Self::Mailbox => Kind::Exchange(Channel::Mailbox),
            Self::Signal => Kind::Exchange(Channel::Signal),
            Self::DmaGet => Kind::Transfer {
                direction: Direction::Get,
                list: false,
            },
            Self::DmaPut => Kind::Transfer {
                direction: Direction::Put,
                list: false,
            },
            Self::DmaListGet => Kind::Transfer {
                direction: Direction::Get,
                list: true,
            },
            Self::DmaListPut => Kind::Transfer {
                direction: Direction::Put,
                list: true,
            },
            Self::FetchAdd | Self::FetchSub | Self::FetchInc | Self::FetchDec | Self::FetchSet => {
                Kind::Atomic
            }
            Self::WakeUp => Kind::WakeUp,
            Self::Copy => Kind::Copy,
            Self::Chase => Kind::Chase,
            Self::OsThread => Kind::OsThread,
            Self::Matrix(primitive) => Kind::Matrix(primitive),
            Self::Memory => Kind::Memory,
        }
    }
}

impl Kind {
    /// Returns the reason why a request cannot describe the memory buffers of a function of this
    /// kind. Must not be called for transfers and atomic operations, because a request describes
    /// their buffers.
    pub(crate) const fn why_no_buffers(self) -> &'static str {
        match self {
            Self::Threads => "its program is empty",
            Self::Exchange(_) | Self::WakeUp | Self::Transfer { .. } | Self::Atomic => {
                "it carries one word of 4 bytes, and no buffer"
            }
            Self::Copy | Self::Chase => "each SPE allocates its memory itself, near it",
            Self::OsThread => "its thread does nothing",
            Self::Matrix(_) => "it carries one word",
            Self::Memory => "it reads one block",
        }
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            matrix if matrix.is_matrix() => write!(f, "{} matrix", matrix.name()),
            function => f.write_str(function.name()),
        }
    }
}

/// The carrier of data from SPE to SPE in a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Primitive {
    /// A word in the inbound mailbox.
    Mailbox,
    /// A signal.
    Signal,
    /// A variable in main memory.
    Atomic,
    /// A block that the sending SPE wrote and the receiving SPE gets.
    Copy,
}

/// How the receiving SPE waits until the variable in main memory has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Polling {
    /// The SPE reads the variable until it has the expected value, and then writes the answer.
    Reads,
    /// The SPE repeats a compare-and-swap, which replaces the expected value by the answer, until
    /// the swap succeeds. The tool core-to-core-latency waits in the same way.
    CompareAndSwap,
}

impl Primitive {
    /// All primitives.
    pub const ALL: [Self; 4] = [Self::Mailbox, Self::Signal, Self::Atomic, Self::Copy];

    /// Returns the name of the primitive, as in JSON.
    ///
    /// ```
    /// use cellworks_stats::Primitive;
    /// assert_eq!(Primitive::ALL.map(Primitive::name), ["mailbox", "signal", "atomic", "copy"]);
    /// assert_eq!(serde_json::to_value(Primitive::Copy).unwrap(), Primitive::Copy.name());
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mailbox => "mailbox",
            Self::Signal => "signal",
            Self::Atomic => "atomic",
            Self::Copy => "copy",
        }
    }

    /// Describes the primitive in a few words.
    pub const fn carrier(self) -> &'static str {
        match self {
            Self::Mailbox => "a word in the inbound mailbox",
            Self::Signal => "a signal",
            Self::Atomic => "a variable in main memory",
            Self::Copy => "a block that one SPE wrote and the other gets",
        }
    }
}

impl Polling {
    /// The two ways of polling.
    pub const ALL: [Self; 2] = [Self::Reads, Self::CompareAndSwap];

    /// Returns the name of the way of polling, as in JSON.
    ///
    /// ```
    /// use cellworks_stats::Polling;
    /// for polling in Polling::ALL {
    ///     assert_eq!(serde_json::to_value(polling).unwrap(), polling.name());
    /// }
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::CompareAndSwap => "compare-and-swap",
        }
    }

    /// Describes the receiving SPE's actions in a few words.
    pub const fn way(self) -> &'static str {
        match self {
            Self::Reads => "read until it has changed, then write",
            Self::CompareAndSwap => {
                "try to replace it until that succeeds, as the tool core-to-core-latency does"
            }
        }
    }
}
