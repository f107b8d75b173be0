//! The functions of CellStats, named as in the paper's `-f` flag (section 3.1), and four functions
//! that the paper does not have: `wakeup`, `copy`, `chase` and `osthread`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Declares [`Function`]. Each function that measures one operation has one row here: its name, the
/// operation, the flags that it does not take ([`Lack`]), and then those that it takes although
/// most functions do not.
macro_rules! functions {
    ($(
        $(#[$doc:meta])*
        $function:ident = $name:literal, $operation:literal, $lacks:ident, [$($takes:literal),*];
    )*) => {
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
            $($(#[$doc])* $function,)*
            /// The one-way time from every SPE to every other SPE. The result is a
            /// [`Matrix`](crate::Matrix), so no [`Measurement`](crate::Measurement) has this
            /// function.
            #[serde(skip)]
            Matrix(Primitive),
            /// Reading every memory module from every Cell or NUMA node that has SPEs. The latency
            /// of a load instruction and the bandwidth at which one SPE reads are measured. The
            /// result is a [`MemoryMatrix`](crate::MemoryMatrix).
            #[serde(skip)]
            Memory,
        }

        impl Function {
            /// All functions that measure one operation, first those of the paper in the paper's
            /// order.
            pub const ALL: [Self; 16] = [$(Self::$function),*];

            const fn row(self) -> Row {
                match self {
                    $(Self::$function => Row {
                        name: $name,
                        operation: $operation,
                        lacks: $lacks,
                        takes: &[$($takes),*],
                    },)*
                    Self::Matrix(primitive) => primitive.row(),
                    Self::Memory => Row {
                        name: "memory",
                        operation: "latency and read bandwidth from every Cell or NUMA node to \
                                    every memory module",
                        lacks: BLOCKS_OF_MODULES,
                        takes: &["--budget", "--pages"],
                    },
                }
            }
        }
    };
}

functions! {
    /// Starting an empty program on an SPE, and learning that it has ended.
    MkThread = "mkthread", "start an empty program on an SPE and see it end", THREAD, [];
    /// A word to an SPE by mailbox, and the SPE's answer.
    Mailbox = "mailbox", "a word there and a word back, by mailbox", WORD, [];
    /// A signal to an SPE, and the SPE's answer.
    Signal = "signal", "a signal there and its answer", WORD, [];
    /// DMA into the local store.
    DmaGet = "dmaget", "a block into the local store", BLOCK, ["--pages"];
    /// DMA out of the local store.
    DmaPut = "dmaput", "a block out of the local store", BLOCK, ["--pages"];
    /// A list of DMA transfers into the local store.
    DmaListGet = "dmalistget", "a list of blocks into the local store", BLOCK, ["-l", "--pages"];
    /// A list of DMA transfers out of the local store.
    DmaListPut = "dmalistput", "a list of blocks out of the local store", BLOCK, ["-l", "--pages"];
    /// Adding to a variable in main memory.
    FetchAdd = "fetchadd", "add to a variable in main memory", VARIABLE, [];
    /// Subtracting from a variable in main memory.
    FetchSub = "fetchsub", "subtract from a variable in main memory", VARIABLE, [];
    /// Adding 1 to a variable in main memory.
    FetchInc = "fetchinc", "add 1 to a variable in main memory", VARIABLE, [];
    /// Subtracting 1 from a variable in main memory.
    FetchDec = "fetchdec", "subtract 1 from a variable in main memory", VARIABLE, [];
    /// Replacing a variable in main memory, and returning its old value.
    FetchSet = "fetchset", "replace a variable in main memory", VARIABLE, [];
    /// Waking an SPE that waits for a word: from the write to the inbound mailbox until the SPE has
    /// the word. On a machine whose SPEs sleep, the SPE has waited long enough to be asleep.
    WakeUp = "wakeup", "a word to an SPE that has waited, one way", WORD, [];
    /// Copying a block of main memory to another place in main memory, by an SPE.
    Copy = "copy", "a block from main memory to main memory, by an SPE", COPY, [];
    /// Following chains of pointers, which lead in random order through a table in main memory.
    Chase = "chase", "a pointer followed at random through a table in main memory",
        CHASE, ["-k", "--load", "--pages"];
    /// Creating a thread of the operating system that does nothing, and joining it. On a computer,
    /// [`MkThread`](Self::MkThread) creates no thread: it uses threads that wait for programs.
    OsThread = "osthread", "create a thread of the operating system and join it", OS_THREAD, [];
}

/// The carrier of the words of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    Mailbox,
    Signal,
}

/// What is known of a function.
struct Row {
    name: &'static str,
    operation: &'static str,
    /// The flags that the function does not take, although most functions do.
    lacks: &'static [Lack],
    /// The flags that the function takes, although most functions, or those with the same `lacks`,
    /// do not.
    takes: &'static [&'static str],
}

/// Flags that a function does not take, and the reason.
type Lack = (&'static [&'static str], &'static str);

/// The flags that describe buffers.
const BUFFERS: &[&str] = &["-N", "-m", "-b", "-t"];

const BLOCK: &[Lack] = &[];

const THREAD: &[Lack] = &[
    (&["-s"], "only the PPE starts programs"),
    (BUFFERS, "its program is empty"),
];

const OS_THREAD: &[Lack] = &[
    (&["-s"], "no SPE takes part"),
    (BUFFERS, "its thread does nothing"),
];

const WORD: &[Lack] = &[(BUFFERS, "it carries one word of 4 bytes, and no buffer")];

const VARIABLE: &[Lack] = &[
    (&["-s"], "atomic operations work on main memory"),
    (
        &["--pages"],
        "a variable is a part of one page, whatever its size",
    ),
];

const MEMORY_ALONE: Lack = (&["-s"], "an SPE works on main memory alone");
const OWN_MEMORY: Lack = (
    &["-m", "-t"],
    "each SPE allocates its memory itself, near it",
);

const COPY: &[Lack] = &[
    MEMORY_ALONE,
    OWN_MEMORY,
    (
        &["--pages"],
        "each SPE allocates its blocks itself, near it, in the pages that the system gives; dmaget and dmaput have \
         blocks in pages of a size",
    ),
];

const CHASE: &[Lack] = &[
    MEMORY_ALONE,
    OWN_MEMORY,
    (&["-N"], "one SPE follows pointers, in a table of its own"),
];

const ALL_PAIRS: Lack = (
    &["-s", "-N", "-n", "-c"],
    "it takes every pair of SPEs as it is",
);
const WORD_OF_A_PAIR: Lack = (&["-b", "-t"], "it carries one word");
const BY_TIME: Lack = (&["-i", "-w"], "each pair is measured for a time");
const NO_SAMPLES: Lack = (&["--samples"], "it has a median of each pair");
const NO_POLLING: Lack = (&["--polling"], "only atomic has");

const WORDS_OF_PAIRS: &[Lack] = &[
    ALL_PAIRS,
    (&["-m"], "it carries a word from SPE to SPE"),
    WORD_OF_A_PAIR,
    BY_TIME,
    NO_SAMPLES,
    NO_POLLING,
];

const BLOCKS_OF_PAIRS: &[Lack] = &[
    ALL_PAIRS,
    (
        &["-m"],
        "the block lies in the local store of the SPE that sends",
    ),
    WORD_OF_A_PAIR,
    BY_TIME,
    NO_SAMPLES,
    NO_POLLING,
];

const BLOCKS_OF_MODULES: &[Lack] = &[
    (
        &["-s", "-N", "-n", "-c", "-m"],
        "it takes one SPE of each NUMA node or Cell, and every memory module",
    ),
    (&["-t"], "it reads one block"),
    BY_TIME,
    NO_SAMPLES,
    NO_POLLING,
];

impl Function {
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
        self.row().name
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
        self.row().operation
    }

    /// Returns the reason why the function does not take a flag, or `None` if it does. `most` is
    /// the reason of most functions, or `None` if most functions take the flag.
    pub(crate) fn why_unused(self, flag: &str, most: Option<&'static str>) -> Option<&'static str> {
        let row = self.row();
        if row.takes.contains(&flag) {
            return None;
        }
        let mut lacks = row.lacks.iter();
        let lack = lacks.find(|(flags, _)| flags.contains(&flag));
        lack.map(|(_, why)| *why).or(most)
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

    const fn row(self) -> Row {
        let (lacks, takes): (_, &[_]) = match self {
            Self::Mailbox | Self::Signal => (WORDS_OF_PAIRS, &["--budget"]),
            Self::Atomic => (WORDS_OF_PAIRS, &["--budget", "-m", "--polling"]),
            Self::Copy => (BLOCKS_OF_PAIRS, &["--budget", "-b"]),
        };
        Row {
            name: self.name(),
            operation: "the way from every SPE to every other",
            lacks,
            takes,
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
