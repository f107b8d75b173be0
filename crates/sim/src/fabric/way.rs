//! The links of a way through the fabric, and the times for which a cache line occupies them.

use std::iter;

use super::network::{Element, Network};
use super::{Endpoint, Fabric, Port};
use crate::description::{Description, Interconnect};
use crate::time::Femtoseconds;

/// The size in bytes of a cache line, the largest packet.
const LINE_BYTES: u64 = 128;

/// A link, and the time for which each line of a long series occupies it.
pub(crate) struct LinkOnWay {
    pub name: String,
    pub line: Femtoseconds,
}

impl Fabric {
    /// Returns the links from an SPE to another, in order.
    pub fn way(&mut self, description: &Description, from: u16, to: u16) -> Vec<LinkOnWay> {
        let [from, to] = [from, to].map(|spe| self.port(Endpoint::Spe(spe)));
        if from.cell == to.cell {
            return self.way_within(description, from, to.element);
        }
        let [near, far] = [from, to].map(|end| self.link_ports[usize::from(end.cell)]);
        let between = description.link.as_ref().expect("two Cells have a link");
        let bytes = LINE_BYTES + between.packet_overhead_bytes.value;
        let mut links = self.way_within(description, from, near.element);
        links.push(LinkOnWay {
            name: format!("link from Cell {} to Cell {}", from.cell, to.cell),
            line: Femtoseconds::of_transfer(bytes, between.bytes_per_s.value),
        });
        links.extend(self.way_within(description, far, to.element));
        links
    }

    fn way_within(&mut self, description: &Description, from: Port, to: u16) -> Vec<LinkOnWay> {
        let cell = usize::from(from.cell);
        let (from, to) = (usize::from(from.element), usize::from(to));
        match (&mut self.networks[cell], &description.interconnect) {
            (Network::Rings(rings), Interconnect::Rings(parameters)) => {
                let names = elements(description, cell);
                let (cycles, hz) = (&parameters.packet_bus_cycles, &description.clock.bus_hz);
                let segments = rings.elements_passed(from, to);
                let follow = iter::zip(segments.clone(), segments.skip(1));
                let link = |(from, to): (usize, usize)| {
                    let is_clockwise = to == (from + 1) % names.len();
                    let rings = if is_clockwise {
                        parameters.clockwise.value
                    } else {
                        parameters.counterclockwise.value
                    };
                    LinkOnWay {
                        name: format!("link from {} to {}", names[from], names[to]),
                        line: Femtoseconds::from_cycles(cycles.value, hz.value * rings),
                    }
                };
                follow.map(link).collect()
            }
            (Network::Mesh(mesh), Interconnect::Mesh(parameters)) => {
                let rate = parameters.link_bytes_per_s.value;
                let link = |name: String| LinkOnWay {
                    name,
                    line: Femtoseconds::of_transfer(LINE_BYTES, rate),
                };
                mesh.links_passed(from, to).into_iter().map(link).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns all SPEs: by Cell and position on its rings, or by id on other interconnects.
    pub fn around(&self, description: &Description) -> impl Iterator<Item = u16> {
        let mut spes: Vec<u16> = (0..self.spe_ports.len() as u16).collect();
        if let Interconnect::Rings(_) = description.interconnect {
            spes.sort_by_key(|spe| {
                let Port { cell, element } = self.spe_ports[usize::from(*spe)];
                (cell, element)
            });
        }
        spes.into_iter()
    }
}

/// Returns the names of the elements of a Cell's rings, in the order of the rings.
fn elements(description: &Description, cell: usize) -> Vec<String> {
    let Interconnect::Rings(rings) = &description.interconnect else {
        return Vec::new();
    };
    let mut names = rings.elements.clone();
    for name in &mut names {
        if name.starts_with("SPE") {
            *name = format!("unused {name}");
        }
        if description.cells.len() > 1 {
            *name = format!("{name} of Cell {cell}");
        }
    }
    for (id, (of, number)) in description.spes().enumerate() {
        if usize::from(of) == cell {
            let spe = Element::Spe { number, index: 0 };
            let at = Network::port(description, cell, spe);
            names[usize::from(at)] = format!("SPE {id}");
        }
    }
    names
}
