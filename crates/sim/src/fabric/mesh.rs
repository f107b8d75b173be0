//! A mesh of tiles with wormhole routing. A packet goes first along the row and then along the
//! column (XY routing), which cannot deadlock.
//!
//! Routers do not store packets. The body of a packet follows its head from link to link. While the
//! head waits, the body keeps its links.
//!
//! ```text
//!   port out      │▓▓▓▓▓▓▓▓▓▓▓▓▓│           each link, and the two ports, is held from the head
//!   link 1        │▓▓▓▓▓▓▓▓▓▓▓▓▓│           to the last byte, one hop after the link before
//!   link 2          │▓▓▓▓▓▓▓▓▓▓▓▓▓│
//!   link 3            ....│▓▓▓▓▓▓▓▓▓│       the head waits for an earlier packet, and the
//!   port in                 │▓▓▓▓▓▓▓▓▓│     bytes behind the head keep their links
//! ```

use super::ports::Lane;
use crate::description::Mesh as Parameters;
use crate::observe::{PartCounters, ResourceCounters};
use crate::part::Part;
use crate::time::{Femtoseconds, Moment};

#[derive(Clone, Debug)]
pub(super) struct Attached {
    pub name: String,
    pub tile: [u16; 2],
}

#[derive(Debug)]
pub(super) struct Mesh {
    columns: usize,
    hop: Femtoseconds,
    link_bytes_per_s: u64,
    elements: Vec<Attached>,
    /// The out-port of each element. `into` has the in-ports.
    out: Vec<Lane>,
    into: Vec<Lane>,
    /// The links from each tile, by [`Direction`]. Tiles are numbered along the rows.
    links: Vec<[Lane; 4]>,
    /// Whether any number of packets pass a port at once.
    has_free_ports: bool,
    /// The links of the packet that `arrival` sends, in order. Kept to avoid allocations.
    way: Vec<(usize, Direction)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    /// Towards the next column.
    East,
    West,
    /// Towards the next row.
    North,
    South,
}

impl Direction {
    const ALL: [Self; 4] = [Self::East, Self::West, Self::North, Self::South];

    /// Returns the next tile (column, row). Returns `None` if it would be before column 0 or row 0.
    fn next_to(self, [column, row]: [usize; 2]) -> Option<[usize; 2]> {
        Some(match self {
            Self::East => [column + 1, row],
            Self::West => [column.checked_sub(1)?, row],
            Self::North => [column, row + 1],
            Self::South => [column, row.checked_sub(1)?],
        })
    }
}

/// Returns the name of the link between two tiles (column, row).
fn link_name(from: [usize; 2], to: [usize; 2]) -> String {
    let [[column, row], [to_column, to_row]] = [from, to];
    format!("link from tile {column},{row} to {to_column},{to_row}")
}

impl Mesh {
    /// Makes a mesh with these elements. Panics if an element is on no tile of the mesh.
    pub fn new(parameters: &Parameters, elements: Vec<Attached>) -> Self {
        let (columns, rows) = (parameters.columns.value, parameters.rows.value);
        for Attached { name, tile } in &elements {
            let [column, row] = tile.map(u64::from);
            assert!(column < columns && row < rows, "{name} is on no tile");
        }
        let lanes = || elements.iter().map(|_| Lane::default()).collect();
        Self {
            columns: columns as usize,
            hop: parameters.hop_ps.picoseconds(),
            link_bytes_per_s: parameters.link_bytes_per_s.value,
            out: lanes(),
            into: lanes(),
            links: (0..columns * rows).map(|_| Default::default()).collect(),
            has_free_ports: false,
            way: Vec::with_capacity((columns + rows) as usize),
            elements,
        }
    }

    /// Sends a packet between two elements, and returns the time at which its last byte arrives.
    /// `ready_at` must not decrease from call to call. Ports have the data rate of links.
    pub fn arrival(&mut self, ready_at: Moment, from: usize, to: usize, bytes: u32) -> Moment {
        self.find_way(self.elements[from].tile, self.elements[to].tile);
        let body = Femtoseconds::of_transfer(u64::from(bytes), self.link_bytes_per_s);
        let port_free = |port: &Lane| {
            if self.has_free_ports {
                Moment::START
            } else {
                port.free_at
            }
        };
        let start = ready_at.max(port_free(&self.out[from]));
        let sink_free = port_free(&self.into[to]);
        // The time at which the head reaches the next link.
        let mut next = start;
        for &(tile, direction) in &self.way {
            let link = &self.links[tile][direction as usize];
            next = next.max(link.free_at) + self.hop;
        }
        let arrival_of_head = next.max(sink_free);
        self.into[to].hold(arrival_of_head, arrival_of_head + body, bytes);

        // When the head has arrived, the rest of the packet follows without waiting. So the last
        // byte leaves each link one hop time before it leaves the next link.
        let hops = self.way.len() as u64;
        let mut gone = arrival_of_head + body - hops * self.hop;
        self.out[from].hold(start, gone, bytes);
        let mut head = start;
        for &(tile, direction) in &self.way {
            let link = &mut self.links[tile][direction as usize];
            head = head.max(link.free_at);
            link.hold(head, gone, bytes);
            head += self.hop;
            gone += self.hop;
        }
        arrival_of_head + body
    }

    /// Stores the links of a packet in `way`: along the row, then along the column.
    fn find_way(&mut self, from: [u16; 2], to: [u16; 2]) {
        self.way.clear();
        let [mut column, mut row] = from.map(usize::from);
        let [to_column, to_row] = to.map(usize::from);
        while (column, row) != (to_column, to_row) {
            let tile = row * self.columns + column;
            let direction = if column < to_column {
                column += 1;
                Direction::East
            } else if column > to_column {
                column -= 1;
                Direction::West
            } else if row < to_row {
                row += 1;
                Direction::North
            } else {
                row -= 1;
                Direction::South
            };
            self.way.push((tile, direction));
        }
    }

    pub fn links_passed(&mut self, from: usize, to: usize) -> Vec<String> {
        self.find_way(self.elements[from].tile, self.elements[to].tile);
        let columns = self.columns;
        let name = |(tile, direction): &(usize, Direction)| {
            let from = [tile % columns, tile / columns];
            let to = direction.next_to(from);
            link_name(from, to.expect("the way stays on the mesh"))
        };
        self.way.iter().map(name).collect()
    }

    /// Lets any number of packets pass a port at once.
    pub fn free_ports(&mut self) {
        self.has_free_ports = true;
    }

    /// Returns the times of all links and ports.
    pub fn parts(&self) -> Vec<PartCounters> {
        let links = self.resources().map(|link| PartCounters {
            part: Part::Ways,
            name: link.name,
            busy: link.busy,
        });
        let ports = self.elements.iter().zip(self.out.iter().zip(&self.into));
        let ports = ports.flat_map(|(Attached { name, .. }, (out, into))| {
            [
                out.part(Part::Ports, format!("the port out of {name}")),
                into.part(Part::Ports, format!("the port into {name}")),
            ]
        });
        links.chain(ports).collect()
    }

    /// Returns the counters of each link between tiles. A waiting packet keeps its links busy.
    pub fn resources(&self) -> impl Iterator<Item = ResourceCounters> {
        let (columns, rows) = (self.columns, self.links.len() / self.columns);
        self.links
            .iter()
            .enumerate()
            .flat_map(move |(tile, links)| {
                let from = [tile % columns, tile / columns];
                Direction::ALL.into_iter().filter_map(move |direction| {
                    let to = direction.next_to(from)?;
                    let [to_column, to_row] = to;
                    (to_column < columns && to_row < rows)
                        .then(|| links[direction as usize].counters(link_name(from, to)))
                })
            })
    }
}

#[cfg(test)]
mod tests {
    use cellworks_machine::Span;

    use super::*;
    use crate::description::Quantity;

    const NS: Femtoseconds = Femtoseconds(1_000_000);

    /// Returns a mesh of 4 x 3 tiles with an element on each, and a second element on the first
    /// tile. A hop takes 2 ns, and a cache line occupies a link for 8 ns.
    fn mesh() -> Mesh {
        let parameters = Parameters {
            columns: Quantity::plain(4),
            rows: Quantity::plain(3),
            ppe_tile: [0, 0],
            hop_ps: Quantity::plain(2_000),
            link_bytes_per_s: Quantity::plain(16_000_000_000),
        };
        let tiles = (0..12).chain([0]);
        let elements = tiles.map(|tile| Attached {
            name: format!("SPE {tile}"),
            tile: [tile % 4, tile / 4],
        });
        Mesh::new(&parameters, elements.collect())
    }

    fn tiles(from: usize, to: usize) -> Vec<usize> {
        let mut mesh = mesh();
        let (from, to) = (mesh.elements[from].tile, mesh.elements[to].tile);
        mesh.find_way(from, to);
        mesh.way.iter().map(|(tile, _)| *tile).collect()
    }

    const NOW: Femtoseconds = Femtoseconds::ZERO;

    fn arrival(
        mesh: &mut Mesh,
        ready: Femtoseconds,
        from: usize,
        to: usize,
        bytes: u32,
    ) -> Femtoseconds {
        mesh.arrival(Moment::START + ready, from, to, bytes) - Moment::START
    }

    #[test]
    fn a_packet_goes_along_the_row_and_then_along_the_column() {
        assert_eq!(tiles(0, 11), [0, 1, 2, 3, 7]);
        assert_eq!(tiles(11, 0), [11, 10, 9, 8, 4]);
        assert_eq!(tiles(8, 3), [8, 9, 10, 11, 7]);
        assert_eq!(tiles(5, 5), [0_usize; 0]);
    }

    #[test]
    fn one_packet_takes_a_hop_for_each_tile_and_its_body() {
        for (to, hops) in [(1, 1), (3, 3), (4, 1), (11, 5), (12, 0)] {
            assert_eq!(
                arrival(&mut mesh(), 7 * NS, 0, to, 128),
                (7 + 2 * hops + 8) * NS
            );
            assert_eq!(
                arrival(&mut mesh(), 7 * NS, to, 0, 16),
                (7 + 2 * hops + 1) * NS
            );
        }
    }

    #[test]
    fn two_packets_on_one_link_follow_one_another() {
        let mut mesh = mesh();
        assert_eq!(arrival(&mut mesh, NOW, 0, 2, 128), 12 * NS);
        // The packet waits for the link from tile 1 to 2, which the first packet uses until 10 ns.
        assert_eq!(arrival(&mut mesh, NOW, 1, 3, 128), (10 + 4 + 8) * NS);
    }

    #[test]
    fn packets_with_no_link_and_no_end_in_common_do_not_meet() {
        let mut mesh = mesh();
        // The second packet goes in the opposite direction. The fourth crosses the third at tile 5.
        for (from, to) in [(0, 2), (2, 0), (4, 6), (1, 9), (12, 4), (3, 7)] {
            let hops = tiles(from, to).len() as u64;
            let arrival = arrival(&mut mesh, NOW, from, to, 128);
            assert_eq!(arrival, (2 * hops + 8) * NS, "{from} to {to}");
        }
    }

    #[test]
    fn a_packet_that_waits_holds_the_links_behind_its_head() {
        let mut mesh = mesh();
        // This packet occupies the link from tile 2 to 3 from 0 to 80 ns.
        assert_eq!(arrival(&mut mesh, NOW, 2, 3, 1_280), 82 * NS);
        // The head waits for the first packet. Meanwhile the body holds the link from tile 1 to 2.
        assert_eq!(arrival(&mut mesh, NOW, 1, 3, 128), (80 + 2 + 8) * NS);
        // The link from tile 1 to 2 is free 2 ns (one hop) earlier than the link from tile 2 to 3.
        assert_eq!(
            arrival(&mut mesh, NOW, 0, 2, 128),
            (80 + 8 - 2 + 2 + 8) * NS
        );
        // The third packet holds the out-port of element 0 and the link from tile 0 to 1. Element
        // 12, which is on tile 0 too, has its own out-port, so its packet to tile 4 does not wait.
        assert_eq!(arrival(&mut mesh, NOW, 12, 4, 128), (2 + 8) * NS);
        assert_eq!(
            arrival(&mut mesh, NOW, 0, 4, 128),
            (80 + 8 - 2 - 2 + 8 + 2 + 8) * NS
        );
    }

    #[test]
    fn packets_to_one_element_follow_one_another() {
        let mut mesh = mesh();
        assert_eq!(arrival(&mut mesh, NOW, 1, 0, 128), 10 * NS);
        assert_eq!(arrival(&mut mesh, NOW, 4, 0, 128), 18 * NS);
        assert_eq!(arrival(&mut mesh, NOW, 12, 0, 128), 26 * NS);
    }

    #[test]
    fn links_count_what_they_carry() {
        let mut mesh = mesh();
        // 4 x 3 tiles have 3 * 3 + 4 * 2 pairs of neighbours.
        assert_eq!(mesh.resources().count(), 2 * 17);
        arrival(&mut mesh, NOW, 0, 5, 128);
        arrival(&mut mesh, NOW, 1, 5, 16);
        let used: Vec<_> = mesh.resources().filter(|link| link.packets > 0).collect();
        let link = |name: &str, packets, bytes, ns| ResourceCounters {
            name: format!("link from tile {name}"),
            packets,
            bytes,
            busy: Span::from_nanoseconds(ns),
        };
        // The second packet waits until the first packet leaves the link from tile 1 to 5.
        assert_eq!(
            used,
            [link("0,0 to 1,0", 1, 128, 8), link("1,0 to 1,1", 2, 144, 9)]
        );
    }
}
