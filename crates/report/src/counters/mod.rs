//! The counters of a simulated machine.

mod views;

use serde::{Deserialize, Serialize};

pub use views::table;
pub(crate) use views::{about, busiest, free_parts, sentences, tables};

/// The counters of the parts of a simulated machine in the window of a run. The window is the whole
/// run with the start of programs, unless a flag or the program has chosen another. It includes
/// warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counters {
    /// The time from the start of the run to the beginning of the window. 0 in files that an older
    /// version of the command wrote.
    #[serde(default)]
    pub began_ns: f64,
    /// The length of the window in simulated time.
    pub elapsed_ns: f64,
    /// The counters of each SPE.
    pub spes: Vec<SpeCounters>,
    /// The counters of the rings or links of the interconnect, the memory modules, and the link
    /// between Cells.
    pub resources: Vec<ResourceCounters>,
    /// The busiest part of each kind, such as the busiest memory bank. Kinds without a time, such as
    /// the access time of local stores, are left out, and so are MFCs, which are busy while they wait
    /// for other parts. Empty in older files.
    #[serde(default)]
    pub busiest: Vec<PartCounters>,
    /// The number of events that the simulation handled in the whole run.
    pub events: u64,
    /// The part that limits the result. `None` if the user did not ask for it, and in older files.
    #[serde(default)]
    pub bottleneck: Option<Bottleneck>,
}

/// The time of one part of a machine in the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PartCounters {
    /// The kind of the part, such as `the memory banks`.
    pub kind: String,
    /// The name of the part, such as `memory module 0, bank 3`.
    pub name: String,
    /// The time in which the part worked.
    pub busy_ns: f64,
}

/// What each part of a simulated machine costs a run. The run was simulated again for each part,
/// with the work of this part taking no time, or the shortest time that a description allows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bottleneck {
    /// The name of the result that the simulations are compared by.
    pub result: String,
    /// The unit of the result. A smaller result is better, except in `bytes/s`.
    pub unit: String,
    /// The result of the run.
    pub value: f64,
    /// The kind of the part that limits the result: the part without which the result improves
    /// most, or the requests of MFCs if these are all under way and wait for this part. `None` if
    /// no part alone improves the result by 1 % or more.
    pub part: Option<String>,
    /// A sentence about how the part limits. Empty if none does, and in older files.
    #[serde(default)]
    pub verdict: String,
    /// The parts in the order of the gain, with the largest first.
    pub parts: Vec<FreePart>,
}

/// The run of a program on a machine on which one kind of part takes no time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FreePart {
    /// The kind of the part, such as `the memory banks`.
    pub kind: String,
    /// The busiest part of this kind in the run, such as `memory module 0, bank 3`. `None` if the
    /// kind has no time, as the access time of local stores.
    pub busiest: Option<String>,
    /// The share of the window for which `busiest` is busy, 0 to 1.
    pub busy: Option<f64>,
    /// The result if this part takes no time.
    pub value: f64,
    /// The share of the time that is saved, 0 to 1. Below 0 if the run takes longer, which can happen
    /// because other transfers meet each other.
    pub saved: f64,
    /// The part that is then the busiest, in the window of that run.
    pub next: Option<String>,
    /// The share of the window for which `next` is busy, 0 to 1.
    pub next_busy: Option<f64>,
    /// What to change in the program or on the machine if this part limits.
    pub advice: String,
}

/// The time that an SPE spent in each activity, and the work of its MFC. An SPE waits while all
/// threads of its program wait. If the threads wait for different things, the time counts as a wait
/// for the thing that the last thread began to wait for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpeCounters {
    /// The time in which the SPE ran a program.
    pub computing_ns: f64,
    /// The time in which the SPE waited for a transfer.
    pub waiting_for_dma_ns: f64,
    /// The time in which the SPE waited for a word in a mailbox, or for room in a mailbox.
    pub waiting_for_mailbox_ns: f64,
    /// The time in which the SPE waited for a signal.
    pub waiting_for_signal_ns: f64,
    /// The time in which the SPE waited for a reservation or an atomic operation.
    pub waiting_for_lock_ns: f64,
    /// The time in which the SPE waited for something else, such as another thread, a process that
    /// is to start, or a point in time.
    pub waiting_for_other_ns: f64,
    /// The time in which the SPE had no program.
    pub idle_ns: f64,
    /// The number of MFC commands that were completed.
    pub commands: u64,
    /// The number of bytes that the MFC moved.
    pub bytes: u64,
}

/// The use of a part that several SPEs share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResourceCounters {
    /// The name, such as `Cell 0, ring 2`.
    pub name: String,
    /// The number of packets that the part transferred. For a memory module, it is the number of
    /// lines that were read or written.
    pub packets: u64,
    /// The number of bytes of data.
    pub bytes: u64,
    /// The time in which the part transferred at least one packet or line. A link also transfers
    /// commands and responses, which count only here.
    pub busy_ns: f64,
}
