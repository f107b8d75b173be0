//! What is to be measured, as it was asked for.

use cellworks_machine::{CellId, ModuleId, Span, Topology};

use crate::function::{Function, Polling};
use crate::settings::Settings;

/// A measurement as somebody asks for it, in the terms of CellStats' flags (section 3.1).
///
/// `None` leaves the choice to [`plan`](Self::plan).
///
/// A [`Function::Matrix`] takes every pair of SPEs, one at a time, and of the fields below
/// `settings` (a copy has a block), `module` (an atomic variable has one), `polling` and `budget`.
/// A [`Function::Memory`] takes every memory module, and of the fields below the block of
/// `settings` and `budget`.
///
/// SPEs that share a CPU, as on a computer with fewer CPUs than SPEs, take turns. Most functions
/// then take longer, and two say nothing: a [`Function::Chase`] under load is interrupted by the
/// load instead of competing with it for memory, and a [`Function::WakeUp`] waits until the sender
/// gives up the CPU.
///
/// ```
/// use cellworks_machine::{CellId, ModuleId, SpeSite, Topology};
/// use cellworks_stats::{Count, Function, Limits, Request, Settings};
///
/// let site = |cell| SpeSite { cell: CellId::new(cell), core: None, place: String::new() };
/// let blade = Topology::new("a small blade", vec![ModuleId::new(0)], vec![site(0), site(0)]);
/// let limits = Limits {
///     block_bytes_max: 16 << 10,
///     local_store_bytes: 256 << 10,
///     memory_bytes_max: 1 << 28,
///     staging_bytes_max: Some(16 << 10),
///     bandwidth_bytes_per_s_max: None,
/// };
///
/// let settings = Settings { block_bytes: Some(24), ..Settings::default() };
/// let request = Request { spes: Count::Shared(2), settings, ..Request::new(Function::DmaGet) };
/// assert_eq!(
///     request.plan(&blade, &limits).unwrap_err().to_string(),
///     "a block of 24 bytes: a DMA command moves 1, 2, 4, 8 or a multiple of 16 bytes; use 16 or 32",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// What to measure (`-f`).
    pub function: Function,
    /// How many SPEs, and whether on buffers of their own (`-n`, `-N`).
    pub spes: Count,
    /// How often (`-i`). An iteration of [`Function::Chase`] is a walk of 1,024 nodes along every
    /// chain, and the measurement says what a node takes.
    pub iterations: Iterations,
    /// How often before that, untimed (`-w`); `None` until 10 ms have passed. On a machine that [is
    /// steady](cellworks_machine::Capabilities::is_steady), `None` for a quarter of a round, and
    /// before exact iterations 16 times or as many as these, if they are fewer.
    pub warm_up: Option<u64>,
    /// The numbers that the function is measured with, each with a flag of its own
    /// ([`Setting::flag`](crate::Setting::flag)). What is `None` has the default that the help of
    /// its flag names. A copy takes blocks of a multiple of 16 bytes, a chase a table of one of 64.
    pub settings: Settings,
    /// The Cell whose SPEs are taken first (`-c`): the first that has an SPE to take if `None`,
    /// which is Cell 0 unless SPE 0 is alone there and apart from the others.
    pub cell: Option<CellId>,
    /// The memory module that holds what is accessed (`-m`): the one nearest to the Cell if
    /// `None`. Of a transfer between SPEs it holds only the control blocks.
    pub module: Option<ModuleId>,
    /// SPE 0 takes the place of the PPE in an exchange, and its local store that of main memory in
    /// a transfer (`-s`).
    pub between_spes: bool,
    /// Whether the result has every sample in it.
    pub keep_samples: bool,
    /// How the receiver of a [`Function::Matrix`] of an atomic variable waits (`--polling`): by
    /// reads if `None`.
    pub polling: Option<Polling>,
    /// How long all pairs of a matrix may take (`--budget`): as long as every pair needs if `None`.
    /// On a machine that [is steady](cellworks_machine::Capabilities::is_steady) each pair is
    /// measured for 10 us, and the budget decides how many pairs there are; on a simulated one it
    /// is simulated time.
    pub budget: Option<Span>,
}

/// A number of SPEs, and how buffers are spread over them. Functions without buffers take
/// [`Shared`](Self::Shared).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Count {
    /// So many SPEs on one buffer (`-n`).
    Shared(usize),
    /// So many SPEs, each on a buffer of its own (`-N`).
    Private(usize),
}

/// How often the timed loop runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Iterations {
    /// So often, on each SPE.
    Exactly(u64),
    /// In rounds, at least six, until the interval of the median is narrow or so much time is
    /// spent.
    ///
    /// On a machine that [is steady](cellworks_machine::Capabilities::is_steady), such as a
    /// simulated one, however much time that takes: in rounds of 2 to 128 iterations, until two
    /// that follow each other have the same median to a thousandth, and eight at the most. One
    /// visit is enough there. A round has as many iterations as move 256 KB, between 16 and 128;
    /// where an iteration is long, as the start of a program is, it has fewer.
    Within(Span),
}

/// What a machine allows beyond its topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest block. Above 16 KB, which is the most that a DMA command moves, a block is
    /// moved by several commands.
    pub block_bytes_max: usize,
    /// Bytes of each local store.
    pub local_store_bytes: usize,
    /// The most that all buffers of a measurement together may take in main memory.
    pub memory_bytes_max: usize,
    /// What one SPE can move at the very most, in bytes a second; [`measure`](crate::measure)
    /// refuses a result above it. On a computer this is what its widest instructions move: 64 bytes
    /// a cycle at the highest clock rate. `None` if it is not known.
    pub bandwidth_bytes_per_s_max: Option<u64>,
    /// The largest typed view that a program stages, such as 16 KB, so that a few fit into a local
    /// store; `None` where views are the memory itself and take no room.
    pub staging_bytes_max: Option<usize>,
}

impl Request {
    /// One SPE, everything else as it comes, for up to about 0.2 s.
    pub fn new(function: Function) -> Self {
        Self {
            function,
            spes: Count::Shared(1),
            iterations: Iterations::Within(Span::from_nanoseconds(200_000_000)),
            warm_up: None,
            settings: Settings::default(),
            cell: None,
            module: None,
            between_spes: false,
            keep_samples: false,
            polling: None,
            budget: None,
        }
    }

    /// The same with blocks of this size, which stands for -b.
    #[must_use]
    pub fn with_block(&self, bytes: usize) -> Self {
        Self {
            settings: Settings {
                block_bytes: Some(bytes),
                ..self.settings
            },
            ..self.clone()
        }
    }

    /// The fewest SPEs that this function takes on a machine, as a flag.
    pub(crate) fn fewest_flag(&self, topology: &Topology) -> String {
        let is_pair = self.between_spes && topology.spes().len() > 1;
        format!("{} {}", self.spes.flag(), if is_pair { 2 } else { 1 })
    }
}

impl Count {
    /// How many SPEs.
    pub const fn number(self) -> usize {
        match self {
            Self::Shared(number) | Self::Private(number) => number,
        }
    }

    /// The flag that asks for it.
    pub(crate) const fn flag(self) -> &'static str {
        match self {
            Self::Shared(_) => "-n",
            Self::Private(_) => "-N",
        }
    }
}
