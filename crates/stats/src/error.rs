//! Why something cannot be measured, and why a measurement failed.

use cellworks_machine::memory::{AllocateError, LINE_BYTES};
use cellworks_machine::mfc::{MAX_LIST_ELEMENTS, MfcFault};
use cellworks_machine::{AtomicError, CellId, ModuleId, RunError, SpeId, StageError};

use crate::Function;
use crate::function::Kind;
use crate::report::Latency;
use crate::request::CHAINS_MAX;

/// A request cannot be fulfilled. Nothing was run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// No iterations, or more than can be counted.
    #[error("{asked} iterations: a measurement takes 1 to {}; use 1000", u32::MAX)]
    Iterations {
        /// How many were asked for.
        asked: u64,
    },
    /// More iterations of warm-up than can be counted.
    #[error(
        "{asked} iterations of warm-up: a measurement takes 0 to {}; use 1000",
        u32::MAX
    )]
    WarmUp {
        /// How many were asked for.
        asked: u64,
    },
    /// Nobody takes part.
    #[error("0 SPEs: at least one takes part; use {}", range(1, *.has))]
    NoSpes {
        /// How many SPEs the machine has.
        has: usize,
    },
    /// The machine has fewer SPEs.
    #[error("{asked} SPEs: {machine} has {has}; use {}", range(1, *.has))]
    TooManySpes {
        /// How many were asked for, or are needed at least.
        asked: usize,
        /// How many SPEs the machine has.
        has: usize,
        /// The machine's name.
        machine: String,
    },
    /// SPE 0 would be alone.
    #[error("1 SPE: {function} between SPEs takes SPE 0 and at least one more; use 2")]
    NoPartner {
        /// What was to be measured.
        function: Function,
    },
    /// The machine has no such Cell.
    #[error("{asked}: {machine} has {}; use {}", parts("Cell", *.has), range(0, .has - 1))]
    NoSuchCell {
        /// The Cell asked for.
        asked: CellId,
        /// How many Cells the machine has.
        has: usize,
        /// The machine's name.
        machine: String,
    },
    /// The Cell has no SPE that could take part.
    #[error(
        "{cell}: on {machine} it has no SPE{}; use another Cell",
        besides.map(|spe| format!(" besides {spe}, which is the other side")).unwrap_or_default()
    )]
    EmptyCell {
        /// The Cell asked for.
        cell: CellId,
        /// The SPE that is taken already.
        besides: Option<SpeId>,
        /// The machine's name.
        machine: String,
    },
    /// The machine has no such memory module.
    #[error("{asked}: {machine} has {}; use {}", parts("memory module", *.has), range(0, .has - 1))]
    NoSuchModule {
        /// The module asked for.
        asked: ModuleId,
        /// How many modules the machine has.
        has: usize,
        /// The machine's name.
        machine: String,
    },
    /// Something was asked for that has no meaning for the function.
    #[error("{function} has no {}: {}; leave it out", what.name(), what.reason(*.function))]
    Unused {
        /// What was to be measured.
        function: Function,
        /// What it has no use for.
        what: Unused,
    },
    /// A stride was given for one buffer.
    #[error(
        "a stride of {stride} bytes: the buffer is shared, and a stride is the distance between \
         private ones; ask for private buffers (-N), or leave it out"
    )]
    StrideOfShared {
        /// The stride in bytes.
        stride: usize,
    },
    /// No DMA command moves such a block.
    #[error(
        "a block of {bytes} bytes: a DMA command moves 1, 2, 4, 8 or a multiple of 16 bytes; use {}",
        neighbours(*.bytes, *.max)
    )]
    BlockSize {
        /// The size of the block.
        bytes: usize,
        /// The largest block.
        max: usize,
    },
    /// The block is too large.
    #[error("a block of {bytes} bytes: here a block has at most {max} bytes; use {max}")]
    BlockTooLarge {
        /// The size of the block.
        bytes: usize,
        /// The largest block.
        max: usize,
    },
    /// The variable is not made of words, or leaves its line.
    #[error(
        "a variable of {bytes} bytes: an atomic operation takes a multiple of 4 bytes up to \
         {LINE_BYTES}, a reserved line; use 4 or {LINE_BYTES}"
    )]
    Variable {
        /// The size of the variable.
        bytes: usize,
    },
    /// A list has too few or too many elements.
    #[error("a list of {elements} elements: a list command takes 1 to {MAX_LIST_ELEMENTS}; use 16")]
    ListElements {
        /// How many elements it has.
        elements: u32,
    },
    /// A list does not fit in the local store.
    #[error(
        "a list of {elements} elements of {element_bytes} bytes: with the list itself it takes \
         {need} bytes of a local store of {has}; use fewer elements, or smaller ones"
    )]
    ListTooLarge {
        /// How many elements it has.
        elements: u32,
        /// The size of each.
        element_bytes: u32,
        /// What all of it takes in a local store.
        need: usize,
        /// What a local store has.
        has: usize,
    },
    /// Private buffers would overlap.
    #[error(
        "a stride of {stride} bytes: private buffers of {bytes} bytes would overlap; use {bytes} or more"
    )]
    StrideTooSmall {
        /// The stride in bytes.
        stride: usize,
        /// The size of a buffer.
        bytes: usize,
    },
    /// Private buffers would not be aligned.
    #[error(
        "a stride of {stride} bytes: it must be a multiple of {multiple_of}, so that every buffer \
         is aligned; use {}",
        stride.next_multiple_of(*.multiple_of)
    )]
    StrideAlignment {
        /// The stride in bytes.
        stride: usize,
        /// What it must be a multiple of.
        multiple_of: usize,
    },
    /// A private variable would lie in two lines.
    #[error(
        "a stride of {stride} bytes: variable {variable}, of {bytes} bytes, would lie in two lines, \
         and an atomic operation covers one of {LINE_BYTES} bytes; use {}",
        stride.next_multiple_of(LINE_BYTES)
    )]
    CrossesLine {
        /// The stride in bytes.
        stride: usize,
        /// The size of a variable.
        bytes: usize,
        /// The first variable that crosses, counted from 0.
        variable: usize,
    },
    /// One buffer alone is too large.
    #[error("a buffer of {bytes} bytes: it may take {room} bytes of {where_to}; use a smaller one")]
    BufferTooLarge {
        /// The size of the buffer.
        bytes: usize,
        /// How many bytes it may take.
        room: usize,
        /// Where it would be.
        where_to: String,
    },
    /// The buffers are too large together.
    #[error(
        "{buffers} buffers of {bytes} bytes, {stride} bytes apart: together they may take {room} \
         bytes of {where_to}; use fewer, smaller or closer ones"
    )]
    Room {
        /// How many buffers, at least 2.
        buffers: usize,
        /// The size of each.
        bytes: usize,
        /// The distance between their starts.
        stride: usize,
        /// How many bytes they may take.
        room: usize,
        /// Where they would be.
        where_to: String,
    },
    /// Several SPEs would copy to one place.
    #[error(
        "{spes} SPEs on one buffer: each SPE of copy writes a block of its own; ask for private \
         buffers (-N), or use 1"
    )]
    SharedCopy {
        /// How many SPEs were asked for.
        spes: usize,
    },
    /// A block that is copied, or a table, is not made of whole units.
    #[error("{function} of {bytes} bytes: it takes a multiple of {unit}; use {}", multiples(*.bytes, *.unit))]
    Multiple {
        /// What was to be measured.
        function: Function,
        /// The size of the block or table.
        bytes: usize,
        /// What it must be a multiple of.
        unit: usize,
    },
    /// Several SPEs would follow pointers.
    #[error(
        "{asked} SPEs: one SPE follows the pointers of chase; use 1, and have others load the \
         memory meanwhile (--load)"
    )]
    OneChases {
        /// How many were asked for.
        asked: usize,
    },
    /// Too few or too many chains of pointers.
    #[error("{asked} chains: an SPE follows 1 to {CHAINS_MAX} at once; use 1")]
    Chains {
        /// How many were asked for.
        asked: u32,
    },
    /// The chains would not start at different nodes.
    #[error(
        "{chains} chains through a table of {bytes} bytes: each starts at another node of {node} \
         bytes; use a table of {} or more", *.chains as usize * *.node
    )]
    ChainsOfTable {
        /// How many chains.
        chains: u32,
        /// The size of the table.
        bytes: usize,
        /// The size of a node.
        node: usize,
    },
    /// The machine has fewer SPEs beside the one that is measured.
    #[error(
        "{asked} loading SPEs: {machine} has {has}, and one of them chases; use {}",
        range(0, .has - 1)
    )]
    TooManyLoading {
        /// How many were asked for.
        asked: usize,
        /// How many SPEs the machine has, at least 1.
        has: usize,
        /// The machine's name.
        machine: String,
    },
}

/// What a function may have no use for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unused {
    /// Elements of a list.
    ListElements,
    /// The size of a block.
    Block,
    /// Buffers for each SPE.
    PrivateBuffers,
    /// The distance between buffers.
    Stride,
    /// A memory module.
    Module,
    /// SPE 0 in the place of the PPE or of main memory.
    BetweenSpes,
    /// Chains of pointers.
    Chains,
    /// SPEs that load the memory.
    LoadingSpes,
}

impl Unused {
    const fn name(self) -> &'static str {
        match self {
            Self::ListElements => "list",
            Self::Block => "block size",
            Self::PrivateBuffers => "private buffers",
            Self::Stride => "stride",
            Self::Module => "memory module",
            Self::BetweenSpes => "form between SPEs",
            Self::Chains => "chains",
            Self::LoadingSpes => "loading SPEs",
        }
    }

    const fn reason(self, function: Function) -> &'static str {
        match (self, function.kind()) {
            (Self::ListElements, _) => "only dmalistget and dmalistput move lists",
            (Self::Chains | Self::LoadingSpes, _) => "only chase follows pointers",
            (Self::BetweenSpes, Kind::Threads) => "only the PPE starts programs",
            (Self::BetweenSpes, Kind::Copy | Kind::Chase) => "an SPE works on main memory alone",
            (Self::BetweenSpes, _) => "atomic operations work on main memory",
            (Self::PrivateBuffers, Kind::Chase) => {
                "one SPE follows pointers, in a table of its own"
            }
            (_, Kind::Copy | Kind::Chase) => "each SPE allocates its memory itself, near it",
            (_, Kind::Threads) => "its program is empty",
            _ => "it carries one word of 4 bytes, and no buffer",
        }
    }
}

/// A measurement failed.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// There was no memory for the buffers.
    #[error(transparent)]
    Allocate(#[from] AllocateError),
    /// The machine ended the run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The program on an SPE failed.
    #[error("{spe}: {source}")]
    OnSpe {
        /// Which SPE.
        spe: SpeId,
        /// What failed.
        source: SpeError,
    },
    /// The operations ran but did not do what they should have done.
    #[error(transparent)]
    Untrusted(#[from] Untrusted),
    /// All went well, but the result cannot be true.
    #[error(transparent)]
    Impossible(#[from] Impossible),
}

/// A program on an SPE could not do its part.
#[derive(Debug, thiserror::Error)]
pub enum SpeError {
    /// The local store has no room.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// The MFC refused a command.
    #[error(transparent)]
    Mfc(#[from] MfcFault),
    /// An atomic operation was refused.
    #[error(transparent)]
    Atomic(#[from] AtomicError),
    /// An operation did not do what it should have done.
    #[error(transparent)]
    Untrusted(#[from] Untrusted),
}

/// What the operations left behind is not what they should have, so their times mean nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the measurement cannot be trusted: {what}; the machine is at fault, please report it")]
pub struct Untrusted {
    what: String,
}

impl Untrusted {
    pub(crate) fn new(what: String) -> Self {
        Self { what }
    }
}

/// A result that cannot be true, whatever the machine is: it was measured, but it must not be shown as
/// one that was.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Impossible {
    /// An operation took no time, or none that is a number.
    #[error(
        "the result cannot be true: the {statistic} time of {function} is {ns} ns, and an operation \
         takes more than 0 ns; repeat it with more iterations, and if it stays {LOOK_AT_THE_CLOCK}"
    )]
    Time {
        /// What was measured.
        function: Function,
        /// Of all times of the operation: `mean` or `median`.
        statistic: &'static str,
        /// What it is, in nanoseconds.
        ns: f64,
    },
    /// A time that cannot be above another is.
    #[error(
        "the result cannot be true: of the times of {function} the minimum is {} ns, the median {} ns, \
         the 99th percentile {} ns and the maximum {} ns, and none can be below the one before; \
         {LOOK_AT_THE_CLOCK}",
        .latency.min, .latency.p50, .latency.p99, .latency.max
    )]
    Order {
        /// What was measured.
        function: Function,
        /// The times of the operation.
        latency: Latency,
    },
    /// More was moved than can be.
    #[error(
        "the result cannot be true: {function} moved {bytes_per_s} bytes a second with {spes} {}, \
         which can move {bytes_per_s_max} at the very most; {LOOK_AT_THE_CLOCK}",
        if *.spes == 1 { "SPE" } else { "SPEs" }
    )]
    Bandwidth {
        /// What was measured.
        function: Function,
        /// The bandwidth of all SPEs together.
        bytes_per_s: u64,
        /// How many SPEs moved blocks.
        spes: usize,
        /// What they can move together, see [`Limits`](crate::Limits).
        bytes_per_s_max: u64,
    },
}

/// What to do about a time that cannot be true.
const LOOK_AT_THE_CLOCK: &str = "look at the clock source of the machine, and at its hypervisor if \
                                 it has one; if they are right, please report this";

/// `2`, or `1 to 2`.
fn range(from: usize, to: usize) -> String {
    if from >= to {
        to.to_string()
    } else {
        format!("{from} to {to}")
    }
}

/// `only Cell 0`, or `Cells 0 to 1`.
fn parts(noun: &str, has: usize) -> String {
    if has == 1 {
        format!("only {noun} 0")
    } else {
        format!("{noun}s 0 to {}", has - 1)
    }
}

/// The multiples of `unit` next to `bytes`.
fn multiples(bytes: usize, unit: usize) -> String {
    match bytes / unit * unit {
        0 => unit.to_string(),
        below => format!("{below} or {}", below.saturating_add(unit)),
    }
}

/// The legal sizes next to `bytes`.
fn neighbours(bytes: usize, max: usize) -> String {
    match bytes {
        0 => "1".to_owned(),
        1..16 => format!("{} or {}", 1 << bytes.ilog2(), bytes.next_power_of_two()),
        _ => {
            let below = bytes - bytes % 16;
            if below + 16 > max {
                below.to_string()
            } else {
                format!("{below} or {}", below + 16)
            }
        }
    }
}
