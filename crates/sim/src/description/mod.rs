//! What a simulated machine is made of and how long everything takes: a TOML file with a source for
//! every number.
//!
//! Every parameter is a [`Quantity`]: a whole number with its source and how sure it is. The name
//! of its key ends with its unit. There are no numbers of a machine anywhere else.
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
pub use load::LoadError;

use std::fmt;

use serde::de::{EnumAccess, Error as _, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A parameter: a number, where it comes from, and how sure it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// The number; the name of its key ends with its unit.
    pub value: u64,
    /// Where it comes from.
    pub source: String,
    /// How sure it is.
    pub sure: Certainty,
    /// The published number that the parameter was fitted to, if it was fitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fitted_to: Option<String>,
}

impl Quantity {
    /// A number without further information: its source is "not given", and it is uncertain.
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
    /// A named source states it.
    Stated,
    /// It follows from stated facts by arithmetic.
    Derived,
    /// It was recalled, or comes from a weak source.
    Uncertain,
    /// It was chosen so that a published number comes out. `fitted_to` names that number.
    Fitted,
}

/// A machine. The results of [`load`](Self::load) and [`from_toml`](Self::from_toml) are checked;
/// what serde reads, or a program changes, is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The name of the machine on the command line: lower-case letters, digits and dashes.
    pub name: String,
    /// The name of the machine for people.
    pub title: String,
    /// Clocks.
    pub clock: Clock,
    /// The chips, `[[cell]]`, from Cell 0 on: one, or two where rings connect the elements of each.
    #[serde(rename = "cell")]
    pub cells: Vec<Cell>,
    /// The memory modules, `[[memory]]`, from module 0 on; on rings, one at each Cell at the most.
    #[serde(rename = "memory")]
    pub modules: Vec<MemoryModule>,
    /// What carries data between the elements of a Cell.
    #[serde(deserialize_with = "interconnect")]
    pub interconnect: Interconnect,
    /// What carries commands.
    pub command: CommandBus,
    /// What connects two Cells; needed when there are two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// The Memory Flow Controller of each SPE.
    pub mfc: Mfc,
    /// The local store of each SPE.
    pub local_store: LocalStore,
    /// The registers that other processors reach: mailboxes and signals.
    pub registers: Registers,
    /// The atomic unit of each SPE.
    pub atomic: Atomic,
    /// The SPUs.
    pub spu: Spu,
    /// The PPE.
    pub ppe: Ppe,
}

impl Description {
    /// The SPEs that programs may use, in order of their ids: the Cell and the physical number of
    /// each.
    pub fn spes(&self) -> impl Iterator<Item = (u16, u16)> + '_ {
        let cells = (0..).zip(&self.cells);
        cells.flat_map(|(cell, Cell { spes, .. })| spes.iter().map(move |spe| (cell, *spe)))
    }
}

/// Clocks. A number of cycles lasts `cycles * 10^15 / hz` femtoseconds, rounded down. At 3.2 GHz
/// each cycle takes exactly 312,500 fs; at 14.318 MHz the first tick takes 69,842,156 fs, and 1,000
/// ticks take 69,842,156,725 fs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// The SPUs and the PPE. "Cycles" elsewhere are cycles of this clock.
    pub spu_hz: Quantity,
    /// The bus. "Bus cycles" elsewhere are cycles of this clock.
    pub bus_hz: Quantity,
    /// The decrementers.
    pub timebase_hz: Quantity,
}

/// One chip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The physical numbers of the SPEs that programs may use, in the order of their ids. SPEs of
    /// Cell 0 get the first ids, those of Cell 1 the next.
    pub spes: Vec<u16>,
    /// The memory module that is nearest to the Cell.
    pub nearest_module: u16,
}

/// A memory controller and its memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MemoryModule {
    /// The number of the Cell whose interconnect the module is attached to.
    pub cell: u16,
    /// The column and row of its tile on a mesh; elsewhere the key is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tile: Option<[u16; 2]>,
    /// How much memory, in bytes.
    pub bytes: Quantity,
    /// What its data pins carry, reads and writes together, in bytes a second.
    pub bytes_per_s: Quantity,
    /// From the command's arrival at the controller to the data at the bus, for a read of an idle
    /// bank.
    pub access_ps: Quantity,
    /// From the last byte of a write at the controller until the MFC has the answer that the write
    /// is complete.
    pub accept_ps: Quantity,
    /// Banks. Consecutive lines are in different banks.
    pub banks: Quantity,
    /// How long a bank is busy with a read.
    pub bank_read_ps: Quantity,
    /// How long a bank is busy with a write.
    pub bank_write_ps: Quantity,
    /// The time that the data pins lose when a read follows a write, or a write a read.
    pub turnaround_ps: Quantity,
    /// Writes are collected up to this number, unless there is nothing else to do, to save
    /// turnarounds.
    pub write_batch_lines: Quantity,
    /// Writes that the controller accepts before they are in a bank.
    pub write_queue_lines: Quantity,
    /// The shortest write that needs no read of its line before.
    pub whole_write_bytes: Quantity,
    /// How often the memory is refreshed.
    pub refresh_interval_ps: Quantity,
    /// How long the memory is not available during a refresh.
    pub refresh_ps: Quantity,
}

/// What carries data between the elements of a Cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Interconnect {
    /// Rings, as the Element Interconnect Bus has them.
    Rings(Rings),
    /// A mesh of tiles, routed first along the row and then along the column.
    Mesh(Mesh),
    /// Every element reaches every other in the same time.
    Crossbar(Crossbar),
    /// A measured one-way time for each pair of SPEs.
    Matrix(Matrix),
}

/// Reads an interconnect. One of its keys is its kind. The code that serde derives would read all
/// keys before it looks at the kind, and its errors could not name the place of a value.
fn interconnect<'de, D: Deserializer<'de>>(from: D) -> Result<Interconnect, D::Error> {
    struct Kinds;

    impl<'de> Visitor<'de> for Kinds {
        type Value = Interconnect;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an interconnect")
        }

        fn visit_newtype_struct<D: Deserializer<'de>>(
            self,
            from: D,
        ) -> Result<Interconnect, D::Error> {
            Interconnect::deserialize(from)
        }

        fn visit_enum<A: EnumAccess<'de>>(self, from: A) -> Result<Interconnect, A::Error> {
            let (kind, table) = from.variant::<String>()?;
            match kind.as_str() {
                "rings" => table.newtype_variant().map(Interconnect::Rings),
                "mesh" => table.newtype_variant().map(Interconnect::Mesh),
                "crossbar" => table.newtype_variant().map(Interconnect::Crossbar),
                "matrix" => table.newtype_variant().map(Interconnect::Matrix),
                _ => Err(A::Error::unknown_variant(&kind, &allowed::KINDS)),
            }
        }
    }

    from.deserialize_newtype_struct("Interconnect", Kinds)
}

/// Data rings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rings {
    /// The elements of a Cell in ring order: `PPE`, `SPE0`, `SPE1` and so on, any
    /// number of them, `MIC`, `IOIF0`, `IOIF1`. The link to the other Cell is at `IOIF0`.
    pub elements: Vec<String>,
    /// Where the order of the elements comes from.
    pub elements_source: String,
    /// Rings that run in the order of the elements.
    pub clockwise: Quantity,
    /// Rings that run against the order of the elements.
    pub counterclockwise: Quantity,
    /// How long a packet of up to 128 bytes holds a segment, and the ports at its ends.
    pub packet_bus_cycles: Quantity,
    /// How long a packet takes from one element to the next.
    pub hop_bus_cycles: Quantity,
    /// The shortest time between the starts of two packets on one ring.
    pub start_interval_bus_cycles: Quantity,
    /// The longest way that a packet may take.
    pub hops_max: Quantity,
}

/// A mesh of tiles, numbered along the rows. SPE number n is on tile n.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Mesh {
    /// Tiles in a row.
    pub columns: Quantity,
    /// Tiles in a column.
    pub rows: Quantity,
    /// The column and row of the PPE.
    pub ppe_tile: [u16; 2],
    /// How long the head of a packet takes from one tile to the next.
    pub hop_ps: Quantity,
    /// What a link between two tiles carries, in bytes a second, each way.
    pub link_bytes_per_s: Quantity,
}

/// A crossbar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Crossbar {
    /// How long the head of a packet takes from one element to any other.
    pub latency_ps: Quantity,
    /// What the port of an element carries, in bytes a second, each way.
    pub port_bytes_per_s: Quantity,
}

/// Measured one-way times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Matrix {
    /// The one-way time from SPE to SPE, in picoseconds: a row for each SPE that sends, with a
    /// column for each that receives; on the diagonal, from its local store to itself.
    pub one_way_ps: Vec<Vec<u64>>,
    /// Where the times come from.
    pub one_way_source: String,
    /// From an SPE to memory or the PPE, and the same back.
    pub to_memory_ps: Quantity,
    /// What the port of an element carries, in bytes a second, each way.
    pub port_bytes_per_s: Quantity,
}

/// What carries commands: every bus request is a command first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommandBus {
    /// From a command to the combined response of all units that snoop, within one Cell.
    pub phase_bus_cycles: Quantity,
    /// The shortest time between two commands in one Cell.
    pub interval_bus_cycles: Quantity,
    /// The shortest time between two coherent commands where several Cells snoop them.
    pub coherent_interval_bus_cycles: Quantity,
}

/// The link between two Cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// From the interconnect of one Cell to that of the other.
    pub latency_ps: Quantity,
    /// What the link carries each way, in bytes a second.
    pub bytes_per_s: Quantity,
    /// What the link carries with each packet of data, in bytes.
    pub packet_overhead_bytes: Quantity,
    /// The size of a command or a response on the link, in bytes.
    pub command_bytes: Quantity,
}

/// A Memory Flow Controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Mfc {
    /// The most bus requests that one MFC has under way.
    pub outstanding_requests: Quantity,
    /// The time of the channel writes on the SPU that issue a command.
    pub issue_cycles: Quantity,
    /// From the last channel write to the first bus request: queue, translation, unrolling.
    pub start_cycles: Quantity,
    /// The shortest time between two bus requests of one MFC.
    pub request_interval_bus_cycles: Quantity,
    /// Fetching and starting an element of a list.
    pub list_element_cycles: Quantity,
}

/// A local store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LocalStore {
    /// Its size, in bytes.
    pub bytes: Quantity,
    /// From the request for a line to its first byte at the bus.
    pub read_cycles: Quantity,
    /// From the last byte off the bus until the line is in the local store and the MFC knows it.
    pub write_cycles: Quantity,
}

/// Registers that other processors reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Registers {
    /// From the request for a register to its word at the bus.
    pub read_cycles: Quantity,
    /// From the word off the bus until the SPU can see it.
    pub write_cycles: Quantity,
}

/// An atomic unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Atomic {
    /// Lines in its cache.
    pub cache_lines: Quantity,
    /// `getllar` or `putllc` on a line in its cache, without the channel writes.
    pub hit_cycles: Quantity,
}

/// An SPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Spu {
    /// Reading or writing a channel.
    pub channel_cycles: Quantity,
    /// Switching from one cooperative thread to another.
    pub switch_cycles: Quantity,
}

/// A PPE.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ppe {
    /// A store to a register of an SPE, without what the bus takes.
    pub mmio_write_cycles: Quantity,
    /// A load from a register of an SPE, without what the bus takes.
    pub mmio_read_cycles: Quantity,
    /// A library call that goes through the kernel, to write or read a mailbox.
    pub mailbox_call_ps: Quantity,
    /// A library call that goes through the kernel, to send a signal.
    pub signal_call_ps: Quantity,
    /// Creating a context, loading a program and running it.
    pub start_program_ps: Quantity,
    /// Noticing that a program has ended.
    pub end_program_ps: Quantity,
    /// An atomic operation on a word in main memory.
    pub atomic_cycles: Quantity,
}
