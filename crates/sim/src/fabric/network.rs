//! The interconnect of a Cell: rings, a mesh, a crossbar or a measured matrix.

use super::crossbar::Crossbar;
use super::matrix::Matrix;
use super::mesh::{Attached, Mesh};
use super::packet::Packet;
use super::rings::Rings;
use cellworks_machine::memory::LINE_BYTES;

use crate::description::{Description, Interconnect, Quantity};
use crate::observe::{PartCounters, ResourceCounters};
use crate::time::{Femtoseconds, Moment};

#[derive(Clone, Copy, Debug)]
pub(super) enum Element {
    Ppe,
    /// The SPE with this physical number, at this index among the SPEs of the Cell.
    Spe {
        number: u16,
        index: usize,
    },
    Memory {
        module: usize,
    },
    /// The interface to the link to the other Cell.
    Link,
}

#[derive(Debug)]
pub(super) enum Network {
    /// Rings, on which events of the arbiter start packets.
    Rings(Rings),
    /// A mesh. Like a crossbar and a matrix, it computes the arrival of a packet without events.
    Mesh(Mesh),
    Crossbar(Crossbar),
    Matrix(Matrix),
}

impl Network {
    pub fn new(description: &Description, cell: usize) -> Self {
        let names = || -> Vec<String> {
            let numbers = 0..description.cells[cell].spes.len();
            let spes = numbers.map(|index| format!("SPE {index}"));
            let others = ["the PPE".to_owned(), "the link".to_owned()];
            let modules = 0..description.modules.len();
            let modules = modules.map(|module| format!("memory module {module}"));
            spes.chain(others).chain(modules).collect()
        };
        match &description.interconnect {
            Interconnect::Rings(rings) => {
                let names = names_on_rings(description, cell, &rings.elements);
                Self::Rings(Rings::new(rings, &description.clock.bus_hz).named(names))
            }
            Interconnect::Crossbar(crossbar) => Self::Crossbar(Crossbar::new(crossbar, names())),
            Interconnect::Matrix(matrix) => {
                Self::Matrix(Matrix::new(matrix, beside_the_way(description), names()))
            }
            Interconnect::Mesh(mesh) => {
                let columns = mesh.columns.value as u16;
                let spes = description.cells[cell].spes.iter();
                let tiles = spes.map(|number| [number % columns, number / columns]);
                // A mesh has no link to another Cell, so the tile of the link does not matter.
                let tiles = tiles.chain([mesh.ppe_tile; 2]);
                let modules = description.modules.iter();
                let tiles = tiles.chain(modules.map(|module| module.tile.unwrap_or(mesh.ppe_tile)));
                let attached = names().into_iter().zip(tiles);
                let attached = attached.map(|(name, tile)| Attached { name, tile });
                Self::Mesh(Mesh::new(mesh, attached.collect()))
            }
        }
    }

    /// Returns the identifier by which a [`Packet`] names an element. Panics if there is none.
    pub fn port(description: &Description, cell: usize, element: Element) -> u16 {
        let spes = description.cells[cell].spes.len();
        let port = match (&description.interconnect, element) {
            (Interconnect::Rings(rings), element) => {
                let name = match element {
                    Element::Ppe => "PPE".to_owned(),
                    Element::Spe { number, .. } => format!("SPE{number}"),
                    Element::Memory { .. } => "MIC".to_owned(),
                    Element::Link => "IOIF0".to_owned(),
                };
                super::rings::element(rings, &name)
            }
            (_, Element::Spe { index, .. }) => index,
            (_, Element::Ppe) => spes,
            (_, Element::Link) => spes + 1,
            (_, Element::Memory { module }) => spes + 2 + module,
        };
        port as u16
    }

    /// Sends a packet that is ready now, and returns the time at which its last byte arrives.
    /// Returns `None` on rings, where the arbiter decides this time later.
    pub fn arrival(&mut self, now: Moment, packet: &Packet) -> Option<Moment> {
        let (from, to) = (usize::from(packet.from), usize::from(packet.to));
        match self {
            Self::Rings(_) => None,
            Self::Mesh(mesh) => Some(mesh.arrival(now, from, to, packet.bytes)),
            Self::Crossbar(crossbar) => Some(crossbar.arrival(now, from, to, packet.bytes)),
            Self::Matrix(matrix) => {
                Some(matrix.arrival(now, [from, to], packet.bytes, packet.between_caches))
            }
        }
    }

    /// Returns the time of a word between SPEs, or `None` if packets may delay the word.
    pub fn word(&self, from: u16, to: u16) -> Option<Femtoseconds> {
        match self {
            Self::Rings(_) | Self::Mesh(_) => None,
            Self::Crossbar(crossbar) => Some(crossbar.latency()),
            Self::Matrix(matrix) => Some(matrix.latency(from.into(), to.into())),
        }
    }

    /// Lets any number of packets pass a port at once. A crossbar and a matrix have fast ports
    /// by their description instead: see `Part::free_in`.
    pub fn free_ports(&mut self) {
        match self {
            Self::Rings(rings) => rings.free_ports(),
            Self::Mesh(mesh) => mesh.free_ports(),
            Self::Crossbar(_) | Self::Matrix(_) => {}
        }
    }

    pub fn parts(&self, cell: usize) -> Vec<PartCounters> {
        match self {
            Self::Rings(rings) => rings.parts(cell),
            Self::Mesh(mesh) => mesh.parts(),
            Self::Crossbar(crossbar) => crossbar.parts(),
            Self::Matrix(matrix) => matrix.parts(),
        }
    }

    pub fn resources(&self, cell: usize) -> Vec<ResourceCounters> {
        match self {
            Self::Rings(rings) => rings.resources(cell).collect(),
            Self::Mesh(mesh) => mesh.resources().collect(),
            Self::Crossbar(crossbar) => crossbar.resources().collect(),
            Self::Matrix(matrix) => matrix.resources().collect(),
        }
    }
}

/// Returns the names of the elements of a Cell's rings in reports. A description has the physical
/// numbers of SPEs, and a program has other numbers: `SPE1` may be `SPE 0` of the program.
fn names_on_rings(description: &Description, cell: usize, elements: &[String]) -> Vec<String> {
    let (before, from) = description.cells.split_at(cell);
    let first: usize = before.iter().map(|cell| cell.spes.len()).sum();
    let name = |element: &String| {
        let number = element.strip_prefix("SPE").map(str::parse::<u16>);
        let Some(Ok(number)) = number else {
            return element.clone();
        };
        match from[0].spes.iter().position(|spe| *spe == number) {
            Some(index) => format!("SPE {}", first + index),
            None => format!("the unused {element}"),
        }
    };
    elements.iter().map(name).collect()
}

/// Returns the part of a measured one-way time in which the line is not on its way between the
/// caches: two requests (for the line and for the claim), the instructions, the accesses to both
/// caches, the transfer of the packet's body, and half a poll.
fn beside_the_way(description: &Description) -> Femtoseconds {
    let Description {
        atomic,
        clock,
        command,
        mfc,
        local_store,
        spu,
        ..
    } = description;
    let cycles = |cycles: &Quantity| cycles.cycles_of(&clock.spu_hz);
    let request = cycles(&mfc.start_cycles) + command.phase_bus_cycles.cycles_of(&clock.bus_hz);
    let instructions = cycles(&mfc.issue_cycles) + cycles(&spu.channel_cycles);
    let caches = cycles(&local_store.read_cycles) + cycles(&local_store.write_cycles);
    let body = match &description.interconnect {
        Interconnect::Matrix(matrix) => {
            Femtoseconds::of_transfer(LINE_BYTES as u64, matrix.port_bytes_per_s.value)
        }
        _ => Femtoseconds::ZERO,
    };
    // The waiting processor polls the line, and on average notices a change after half a poll.
    let half_a_look = Femtoseconds(cycles(&atomic.hit_cycles).0 / 2);
    request + request + instructions + caches + body + half_a_look
}
