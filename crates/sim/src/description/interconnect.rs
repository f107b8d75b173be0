//! The interconnects that a description can have, and what differs between them for a user.

use std::fmt;

use serde::de::{EnumAccess, Error as _, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::{Clock, Description, Quantity};

const PACKET_BYTES: u64 = 128;

/// The values of the key `kind`.
pub(super) const KINDS: [&str; 4] = ["rings", "mesh", "crossbar", "matrix"];

/// The interconnect that carries data between the elements of a Cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Interconnect {
    /// Rings like those of the Element Interconnect Bus.
    Rings(Rings),
    /// A mesh of tiles. Data is routed first along the row and then along the column.
    Mesh(Mesh),
    /// Every element reaches every other element in the same time.
    Crossbar(Crossbar),
    /// A measured one-way time for each pair of SPEs.
    Matrix(Matrix),
}

/// Data rings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rings {
    /// The elements of a Cell in ring order: `PPE`, any number of SPEs (`SPE0`, `SPE1` and so on),
    /// `MIC`, `IOIF0`, `IOIF1`. The link to the other Cell is at `IOIF0`.
    pub elements: Vec<String>,
    /// The source of the order of the elements.
    pub elements_source: String,
    /// The number of rings that run in the order of the elements.
    pub clockwise: Quantity,
    /// The number of rings that run against the order of the elements.
    pub counterclockwise: Quantity,
    /// How long a packet of up to 128 bytes occupies a segment, and the ports at its ends.
    pub packet_bus_cycles: Quantity,
    /// How long a packet takes from one element to the next.
    pub hop_bus_cycles: Quantity,
    /// The shortest time between the starts of two packets on one ring.
    pub start_interval_bus_cycles: Quantity,
    /// The longest way that a packet may take, in hops.
    pub hops_max: Quantity,
}

/// A mesh of tiles, which are numbered along the rows. SPE number n is on tile n.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Mesh {
    /// The number of tiles in a row.
    pub columns: Quantity,
    /// The number of tiles in a column.
    pub rows: Quantity,
    /// The column and row of the PPE's tile.
    pub ppe_tile: [u16; 2],
    /// How long the head of a packet takes from one tile to the next.
    pub hop_ps: Quantity,
    /// The data rate of a link between two tiles, in bytes a second for each direction.
    pub link_bytes_per_s: Quantity,
}

/// A crossbar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Crossbar {
    /// How long the head of a packet takes from one element to any other.
    pub latency_ps: Quantity,
    /// The data rate of an element's port, in bytes a second for each direction.
    pub port_bytes_per_s: Quantity,
}

/// Measured one-way times between SPEs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Matrix {
    /// The one-way times from SPE to SPE, in picoseconds. Each sending SPE has a row, with a column
    /// for each receiving SPE. On the diagonal an SPE sends to its own local store.
    pub one_way_ps: Vec<Vec<u64>>,
    /// The source of the times.
    pub one_way_source: String,
    /// The one-way time between an SPE and the memory or the PPE.
    pub to_memory_ps: Quantity,
    /// The data rate of an element's port, in bytes a second for each direction.
    pub port_bytes_per_s: Quantity,
}

/// Reads an interconnect, first its key `kind`, which decides the other keys. Errors of the code
/// that serde derives have no line number, because this code reads all keys before the kind.
pub(super) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Interconnect, D::Error> {
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
                _ => Err(A::Error::unknown_variant(&kind, &KINDS)),
            }
        }
    }

    from.deserialize_newtype_struct("Interconnect", Kinds)
}

/// An element of a Cell: an SPE, the PPE, a memory controller or an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// The name, such as `SPE 3` or `memory 0`. SPEs have the ids by which programs know them.
    pub name: String,
    /// The column and the row of the element's tile on a mesh. `None` on other interconnects.
    pub tile: Option<[u16; 2]>,
}

impl Interconnect {
    /// Returns the kind of the interconnect, as in a description.
    ///
    /// ```
    /// let qs20 = cellworks_sim::Description::load("qs20")?;
    /// assert_eq!(qs20.interconnect.kind(), "rings");
    /// # Ok::<(), cellworks_sim::LoadError>(())
    /// ```
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Rings(_) => "rings",
            Self::Mesh(_) => "mesh",
            Self::Crossbar(_) => "crossbar",
            Self::Matrix(_) => "matrix",
        }
    }

    /// Returns the data rate of the port of an SPE, in bytes a second for each direction.
    ///
    /// ```
    /// let qs20 = cellworks_sim::Description::load("qs20")?;
    /// assert_eq!(qs20.interconnect.port_bytes_per_s(&qs20.clock), 25_600_000_000);
    /// # Ok::<(), cellworks_sim::LoadError>(())
    /// ```
    pub fn port_bytes_per_s(&self, clock: &Clock) -> u64 {
        match self {
            Self::Rings(rings) => {
                let packet_cycles = rings.packet_bus_cycles.value.max(1);
                PACKET_BYTES * clock.bus_hz.value / packet_cycles
            }
            Self::Mesh(mesh) => mesh.link_bytes_per_s.value,
            Self::Crossbar(crossbar) => crossbar.port_bytes_per_s.value,
            Self::Matrix(matrix) => matrix.port_bytes_per_s.value,
        }
    }

    /// Lets packets take no time between the ports, and frees the links between them, which carry
    /// `fast` bytes a second.
    pub(crate) fn free_ways(&mut self, fast: u64) {
        match self {
            Self::Rings(rings) => {
                for direction in [&mut rings.clockwise, &mut rings.counterclockwise] {
                    // A machine may have no ring of a direction.
                    let has_rings = direction.value > 0;
                    direction.value = if has_rings { 16 } else { 0 };
                }
                rings.start_interval_bus_cycles.value = 1;
                rings.hop_bus_cycles.value = 1;
            }
            Self::Mesh(mesh) => {
                mesh.hop_ps.value = 0;
                mesh.link_bytes_per_s.value = fast;
            }
            Self::Crossbar(crossbar) => crossbar.latency_ps.value = 0,
            Self::Matrix(matrix) => {
                matrix.to_memory_ps.value = 0;
                let times = matrix.one_way_ps.iter_mut().flatten();
                times.for_each(|ps| *ps = 0);
            }
        }
    }

    /// Lets the ports carry `fast` bytes a second. Those of rings and of a mesh are free by a
    /// setting of the simulation instead.
    pub(crate) fn free_ports(&mut self, fast: u64) {
        match self {
            Self::Crossbar(crossbar) => crossbar.port_bytes_per_s.value = fast,
            Self::Matrix(matrix) => matrix.port_bytes_per_s.value = fast,
            Self::Rings(_) | Self::Mesh(_) => {}
        }
    }
}

impl Description {
    /// Returns the elements of each Cell. On rings, they are in the order of the rings.
    ///
    /// ```
    /// let qs20 = cellworks_sim::Description::load("qs20")?;
    /// let cells = qs20.elements();
    /// assert_eq!((cells.len(), cells[0].len()), (2, 12));
    /// assert_eq!(cells[0][0].name, "PPE");
    /// # Ok::<(), cellworks_sim::LoadError>(())
    /// ```
    pub fn elements(&self) -> Vec<Vec<Element>> {
        let element = |name: String| Element { name, tile: None };
        let spe = |cell: u16, number: u16| match self.spes().position(|at| at == (cell, number)) {
            Some(id) => format!("SPE {id}"),
            None => format!("unused SPE{number}"),
        };
        let memories = |cell: u16| {
            let modules = self.modules.iter().enumerate();
            modules.filter(move |(_, module)| module.cell == cell)
        };
        let of_cell = |(cell, spes): (u16, &[u16])| -> Vec<Element> {
            match &self.interconnect {
                Interconnect::Rings(rings) => {
                    let name = |name: &String| match name.strip_prefix("SPE").map(str::parse) {
                        Some(Ok(number)) => spe(cell, number),
                        _ => name.clone(),
                    };
                    rings.elements.iter().map(name).map(element).collect()
                }
                Interconnect::Mesh(mesh) => {
                    let columns = u16::try_from(mesh.columns.value).unwrap_or(u16::MAX);
                    let spes = spes.iter().map(|number| Element {
                        name: spe(cell, *number),
                        tile: Some([number % columns, number / columns]),
                    });
                    let memories = memories(cell).map(|(number, module)| Element {
                        name: format!("memory {number}"),
                        tile: module.tile,
                    });
                    let ppe = Element {
                        name: "PPE".to_owned(),
                        tile: Some(mesh.ppe_tile),
                    };
                    spes.chain(memories).chain([ppe]).collect()
                }
                Interconnect::Crossbar(_) | Interconnect::Matrix(_) => {
                    let spes = spes.iter().map(|number| spe(cell, *number));
                    let memories = memories(cell).map(|(number, _)| format!("memory {number}"));
                    let all = ["PPE".to_owned()].into_iter().chain(spes).chain(memories);
                    all.map(element).collect()
                }
            }
        };
        let cells = self.cells.iter().map(|cell| cell.spes.as_slice());
        (0..).zip(cells).map(of_cell).collect()
    }
}
