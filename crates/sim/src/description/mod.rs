//! Descriptions of simulated machines: TOML files with the parts of a machine, the time of each
//! operation, and a source for every number.
//!
//! Every parameter is a [`Quantity`]: an integer with its source and its [`Certainty`]. The name of
//! its key ends with the unit.
//!
//! ```text
//!   name of a machine ──┐
//!   FILE.toml ──────────┼─► load ─► read: each value as allowed ─► check: all ─► Description
//!   FILE.csv ─► matrix ─┘                                                            │
//!               FILE.toml ◄────────────── write ◄────────────────────────────────────┘
//! ```

mod allowed;
mod check;
mod error;
mod file;
mod interconnect;
#[cfg(test)]
mod keys;
mod load;
mod matrix;
mod nearest;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use error::DescriptionError;
pub use interconnect::*;
pub use load::LoadError;

use serde::{Deserialize, Serialize};

/// A parameter: a number, the source of the number, and how sure the number is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// The number. The name of the parameter's key ends with its unit.
    pub value: u64,
    /// The source of the number.
    pub source: String,
    /// How sure the number is.
    pub sure: Certainty,
    /// The published number that the parameter was fitted to, if the parameter was fitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fitted_to: Option<String>,
}

impl Quantity {
    /// Makes an uncertain parameter from a number, with the source "not given".
    pub fn plain(value: u64) -> Self {
        Self {
            value,
            source: "not given".to_owned(),
            sure: Certainty::Uncertain,
            fitted_to: None,
        }
    }
}

/// How sure a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// A named source states the number.
    Stated,
    /// The number follows from stated facts by arithmetic.
    Derived,
    /// The number was recalled, or comes from a weak source.
    Uncertain,
    /// The number was chosen so that the simulation reproduces a published number. `fitted_to`
    /// names the published number.
    Fitted,
}

/// A machine. The results of [`load`](Self::load) and [`from_toml`](Self::from_toml) are checked. A
/// description that serde reads, or that a program changes, is not checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The name of the machine on the command line: lower-case letters, digits and dashes.
    pub name: String,
    /// The name of the machine for people.
    pub title: String,
    /// The clocks.
    pub clock: Clock,
    /// The chips, `[[cell]]`, from Cell 0 on. A machine with rings has one or two Cells. A machine
    /// with another interconnect has one Cell.
    #[serde(rename = "cell")]
    pub cells: Vec<Cell>,
    /// The memory modules, `[[memory]]`, from module 0 on. On rings, a Cell has at most one module.
    #[serde(rename = "memory")]
    pub modules: Vec<MemoryModule>,
    /// The interconnect that carries data between the elements of a Cell.
    #[serde(deserialize_with = "interconnect::read")]
    pub interconnect: Interconnect,
    /// The bus that carries commands.
    pub command: CommandBus,
    /// The link between two Cells. It is needed if there are two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// The Memory Flow Controller of each SPE.
    pub mfc: Mfc,
    /// The local store of each SPE.
    pub local_store: LocalStore,
    /// The registers that other processors can access: mailboxes and signals.
    pub registers: Registers,
    /// The atomic unit of each SPE.
    pub atomic: Atomic,
    /// The SPUs.
    pub spu: Spu,
    /// The PPE.
    pub ppe: Ppe,
}

impl Description {
    /// Returns the Cell and the physical number of each SPE, in the order of the SPE ids.
    pub fn spes(&self) -> impl Iterator<Item = (u16, u16)> + '_ {
        let cells = (0..).zip(&self.cells);
        cells.flat_map(|(cell, Cell { spes, .. })| spes.iter().map(move |spe| (cell, *spe)))
    }
}

/// The clocks. A number of cycles lasts `cycles * 10^15 / hz` femtoseconds, rounded down. At 3.2
/// GHz each cycle takes exactly 312,500 fs. At 14.318 MHz the first tick takes 69,842,156 fs, and
/// 1,000 ticks take 69,842,156,725 fs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// The clock of the SPUs and the PPE. "Cycles" elsewhere are cycles of this clock.
    pub spu_hz: Quantity,
    /// The clock of the bus, from a sixteenth to sixteen times `spu_hz`. "Bus cycles" elsewhere
    /// are cycles of this clock.
    pub bus_hz: Quantity,
    /// The clock of the decrementers, at most `spu_hz`.
    pub timebase_hz: Quantity,
}

/// One chip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The physical numbers of the SPEs that programs may use, in the order of their ids. The ids
    /// of Cell 0 come first, then the ids of Cell 1.
    pub spes: Vec<u16>,
    /// The memory module that is nearest to the Cell.
    pub nearest_module: u16,
}

/// A memory controller and its memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MemoryModule {
    /// The number of the Cell to which the module is attached.
    pub cell: u16,
    /// The column and row of the module's tile on a mesh. With other kinds of interconnect, the key
    /// is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tile: Option<[u16; 2]>,
    /// The size of the module, in bytes.
    pub bytes: Quantity,
    /// The data rate of the module's pins, for reads and writes together, in bytes a second.
    pub bytes_per_s: Quantity,
    /// The time of a read of an idle bank: from the command's arrival at the controller until the
    /// data is at the bus.
    pub access_ps: Quantity,
    /// The time from the last byte of a write at the controller until the MFC has the answer that
    /// the write is complete.
    pub accept_ps: Quantity,
    /// The number of banks. Consecutive lines are in different banks.
    pub banks: Quantity,
    /// How long a bank is busy with a read.
    pub bank_read_ps: Quantity,
    /// How long a bank is busy with a write.
    pub bank_write_ps: Quantity,
    /// The time that the data pins lose when a read follows a write, or when a write follows a
    /// read.
    pub turnaround_ps: Quantity,
    /// The number of writes that the controller collects before it begins to write, to save
    /// turnarounds. If no read waits, the controller begins with fewer writes.
    pub write_batch_lines: Quantity,
    /// The number of writes that the controller accepts before they are in a bank.
    pub write_queue_lines: Quantity,
    /// The size of the shortest write that needs no earlier read of its line.
    pub whole_write_bytes: Quantity,
    /// The time between the starts of two refreshes.
    pub refresh_interval_ps: Quantity,
    /// How long the memory is not available during a refresh.
    pub refresh_ps: Quantity,
}

/// The bus that carries commands. Every bus request begins with a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommandBus {
    /// The time from a command to the combined response of all units that snoop, within one Cell.
    pub phase_bus_cycles: Quantity,
    /// The shortest time between two commands in one Cell.
    pub interval_bus_cycles: Quantity,
    /// The shortest time between two coherent commands if several Cells snoop them.
    pub coherent_interval_bus_cycles: Quantity,
}

/// The link between two Cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The time from the interconnect of one Cell to the interconnect of the other Cell.
    pub latency_ps: Quantity,
    /// The data rate of the link, in bytes a second for each direction.
    pub bytes_per_s: Quantity,
    /// The size of the header of each data packet on the link, in bytes.
    pub packet_overhead_bytes: Quantity,
    /// The size of a command or a response on the link, in bytes.
    pub command_bytes: Quantity,
}

/// A Memory Flow Controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Mfc {
    /// The maximum number of bus requests that one MFC has under way.
    pub outstanding_requests: Quantity,
    /// The time that the SPU needs to issue a command by channel writes.
    pub issue_cycles: Quantity,
    /// The time from the last channel write to the first bus request: queue, translation,
    /// unrolling.
    pub start_cycles: Quantity,
    /// The shortest time between two bus requests of one MFC.
    pub request_interval_bus_cycles: Quantity,
    /// The time to fetch and start an element of a list.
    pub list_element_cycles: Quantity,
}

/// A local store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LocalStore {
    /// The size of the local store, in bytes.
    pub bytes: Quantity,
    /// The time from the request for a line until its first byte is at the bus.
    pub read_cycles: Quantity,
    /// The time from the last byte on the bus until the MFC knows that the line is in the local
    /// store.
    pub write_cycles: Quantity,
}

/// The registers that other processors can access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Registers {
    /// The time from the request for a register until its word is at the bus.
    pub read_cycles: Quantity,
    /// The time from the word on the bus until the SPU can see it.
    pub write_cycles: Quantity,
}

/// An atomic unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Atomic {
    /// The number of lines in the cache of the atomic unit.
    pub cache_lines: Quantity,
    /// The time of `getllar` or `putllc` on a line in the cache, without the channel writes.
    pub hit_cycles: Quantity,
}

/// An SPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Spu {
    /// The time to read or write a channel.
    pub channel_cycles: Quantity,
    /// The time to switch from one cooperative thread to another.
    pub switch_cycles: Quantity,
}

/// A PPE.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ppe {
    /// The time of a store to a register of an SPE, without the time of the bus.
    pub mmio_write_cycles: Quantity,
    /// The time of a load from a register of an SPE, without the time of the bus.
    pub mmio_read_cycles: Quantity,
    /// The time of a library call through the kernel that writes or reads a mailbox.
    pub mailbox_call_ps: Quantity,
    /// The time of a library call through the kernel that sends a signal.
    pub signal_call_ps: Quantity,
    /// The time to create a context, load a program and start it.
    pub start_program_ps: Quantity,
    /// The time to notice that a program has ended.
    pub end_program_ps: Quantity,
    /// The time of an atomic operation on a word in main memory.
    pub atomic_cycles: Quantity,
}
