//! What carries data between the elements of one Cell: a choice of the machine's description.

use super::Packet;
use super::rings::Rings;
use crate::{Description, Interconnect, ResourceCounters};

/// What is attached to the interconnect of a Cell.
#[derive(Clone, Copy, Debug)]
pub(super) enum Element {
    Ppe,
    /// The SPE with this physical number, at this place in the list of the Cell's SPEs.
    Spe {
        number: u16,
        index: usize,
    },
    /// The memory controller of a module.
    Memory {
        module: usize,
    },
    /// The end of the link to the other Cell.
    Link,
}

/// The interconnect of one Cell.
#[derive(Debug)]
pub(super) enum Network {
    /// An arbiter decides when a packet starts: it needs events of its own.
    Rings(Rings),
    /// The way of a packet follows by arithmetic from those that were ready before it.
    Crossbar(Crossbar),
}

impl Network {
    /// The idle interconnect of a Cell.
    pub fn new(description: &Description, cell: usize) -> Self {
        let ports = description.cells[cell].spes.len() + 2 + description.modules.len();
        match &description.interconnect {
            Interconnect::Rings(rings) => Self::Rings(Rings::new(rings, &description.clock.bus_hz)),
            Interconnect::Crossbar(crossbar) => Self::Crossbar(Crossbar::new(
                super::ps_fs(&crossbar.latency_ps),
                crossbar.port_bytes_per_s.value,
                ports,
            )),
            // Every way as long as the longest.
            Interconnect::Mesh(mesh) => Self::Crossbar(Crossbar::new(
                super::ps_fs(&mesh.hop_ps) * (mesh.columns.value + mesh.rows.value - 2),
                mesh.link_bytes_per_s.value,
                ports,
            )),
            // Every way as long as that to memory.
            Interconnect::Matrix(matrix) => Self::Crossbar(Crossbar::new(
                super::ps_fs(&matrix.to_memory_ps),
                matrix.port_bytes_per_s.value,
                ports,
            )),
        }
    }

    /// The number by which an element is addressed in a [`Packet`].
    ///
    /// # Panics
    ///
    /// If the interconnect has no such element.
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

    /// When the last byte of a packet arrives that is ready now; `None` if an arbiter decides that.
    pub fn arrival_fs(&mut self, now_fs: u64, packet: &Packet) -> Option<u64> {
        let (from, to) = (usize::from(packet.from), usize::from(packet.to));
        match self {
            Self::Rings(_) => None,
            Self::Crossbar(crossbar) => Some(crossbar.arrival_fs(now_fs, from, to, packet.bytes)),
        }
    }

    /// What its parts carried, where it has parts that are counted: rings.
    pub fn resources(&self, cell: usize) -> Vec<ResourceCounters> {
        match self {
            Self::Rings(rings) => rings.resources(cell).collect(),
            Self::Crossbar(_) => Vec::new(),
        }
    }
}

/// A crossbar: packets meet only at the ports.
#[derive(Debug)]
pub(super) struct Crossbar {
    latency_fs: u64,
    bytes_per_s: u64,
    /// By port.
    out_free_fs: Vec<u64>,
    in_free_fs: Vec<u64>,
}

impl Crossbar {
    fn new(latency_fs: u64, bytes_per_s: u64, ports: usize) -> Self {
        Self {
            latency_fs,
            bytes_per_s,
            out_free_fs: vec![0; ports],
            in_free_fs: vec![0; ports],
        }
    }

    /// When the last byte of a packet arrives that is ready at a time; packets must be given in the order of
    /// these times.
    fn arrival_fs(&mut self, ready_fs: u64, from: usize, to: usize, bytes: u32) -> u64 {
        let span = super::transfer_fs(u64::from(bytes), self.bytes_per_s);
        let start = ready_fs.max(self.out_free_fs[from]);
        self.out_free_fs[from] = start + span;
        let head = (start + self.latency_fs).max(self.in_free_fs[to]);
        self.in_free_fs[to] = head + span;
        head + span
    }
}
