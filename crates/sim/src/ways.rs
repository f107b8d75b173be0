//! The links between SPEs, and the times of transfers between SPEs on an idle machine.

use std::collections::HashMap;

use cellworks_machine::{Span, SpeId};

use crate::description::Description;
use crate::fabric::{Access, Endpoint, Fabric, LinkOnWay, Place, Token, Transaction};
use crate::queue::Queue;
use crate::time::Moment;

/// The size in bytes of a cache line, the largest block of a bus request.
const LINE_BYTES: u32 = 128;

/// The links of a machine, and the links that data takes between each pair of SPEs.
///
/// A link carries packets in one direction: a segment of the rings between two neighbours, a link
/// between two tiles of a mesh, or the link between two Cells. All rings of one direction count as
/// one link. A crossbar and a measured matrix have no links. If both ways around the rings are
/// equally short, `Ways` has the way that the bus arbiter tries first.
///
/// ```
/// use cellworks_machine::SpeId;
/// use cellworks_sim::{Description, Ways};
///
/// let description = Description::built_in("qs22").unwrap();
/// let ways = Ways::of(&description);
/// let way = ways.links_between(SpeId::new(0), SpeId::new(1));
/// let names: Vec<&str> = way.iter().map(|link| ways.links()[*link].as_str()).collect();
/// assert_eq!(
///     names,
///     [
///         "link from SPE 0 to MIC of Cell 0",
///         "link from MIC of Cell 0 to PPE of Cell 0",
///         "link from PPE of Cell 0 to SPE 1"
///     ]
/// );
/// ```
#[derive(Clone, Debug)]
pub struct Ways {
    links: Vec<String>,
    /// The time for which a cache line occupies each link.
    kept: Vec<Span>,
    spes: usize,
    /// The way for each pair of SPEs, ordered by sender and then by receiver.
    ways: Vec<Way>,
    around: Vec<SpeId>,
}

#[derive(Clone, Debug)]
struct Way {
    links: Vec<usize>,
    line: Span,
}

impl Ways {
    /// Computes the ways of a machine.
    ///
    /// # Panics
    ///
    /// Panics if the description does not pass the checks of [`Description::load`].
    pub fn of(description: &Description) -> Self {
        let mut fabric = Fabric::new(description);
        let spes = description.spes().count();
        let (mut links, mut kept, mut numbers) = (Vec::new(), Vec::new(), HashMap::new());
        let mut number = |link: LinkOnWay| {
            *numbers.entry(link.name).or_insert_with_key(|name| {
                links.push(name.clone());
                kept.push(link.line.into());
                links.len() - 1
            })
        };
        // The fabric is idle before each line leaves.
        let mut now = Moment::START;
        let mut ways = Vec::with_capacity(spes * spes);
        for from in 0..spes as u16 {
            for to in 0..spes as u16 {
                let way = fabric.way(description, from, to);
                let (line, arrived) = line(&mut fabric, now, from, to);
                now = arrived;
                ways.push(Way {
                    links: way.into_iter().map(&mut number).collect(),
                    line,
                });
            }
        }
        Self {
            links,
            kept,
            spes,
            ways,
            around: fabric.around(description).map(SpeId::new).collect(),
        }
    }

    /// Returns the names of all links, such as `link from SPE 1 to SPE 3`.
    pub fn links(&self) -> &[String] {
        &self.links
    }

    /// Returns the links from one SPE to another, as indices into [`links`](Self::links), in order.
    ///
    /// # Panics
    ///
    /// Panics if the machine does not have one of the SPEs.
    pub fn links_between(&self, from: SpeId, to: SpeId) -> &[usize] {
        &self.way(from, to).links
    }

    /// Returns the time for which a cache line of 128 bytes occupies a link. For a segment of
    /// several rings, this is the time on one ring divided by the number of rings.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no link with this index.
    pub fn kept_by_a_line(&self, link: usize) -> Span {
        self.kept[link]
    }

    /// Returns the time in which an SPE writes a cache line of 128 bytes to the local store of
    /// another SPE on an idle machine, from the bus request until the last byte is stored.
    ///
    /// # Panics
    ///
    /// Panics if the machine does not have one of the SPEs.
    pub fn line(&self, from: SpeId, to: SpeId) -> Span {
        self.way(from, to).line
    }

    /// Returns all SPEs in an order in which neighbours are near each other: in the order of the
    /// rings of each Cell, or of their numbers on a machine without rings.
    pub fn around(&self) -> &[SpeId] {
        &self.around
    }

    fn way(&self, from: SpeId, to: SpeId) -> &Way {
        assert!(to.index() < self.spes, "{to} of {} SPEs", self.spes);
        &self.ways[from.index() * self.spes + to.index()]
    }
}

/// Simulates the write of one cache line to another SPE, which begins at `now`. Returns the
/// duration of the write, and the moment at which the fabric is idle again.
fn line(fabric: &mut Fabric, now: Moment, from: u16, to: u16) -> (Span, Moment) {
    let mut queue = Queue::new(0);
    let write = Transaction {
        requester: Endpoint::Spe(from),
        target: Endpoint::Spe(to),
        place: Place::LocalStore,
        access: Access::Write,
        bytes: LINE_BYTES,
        token: Token(0),
    };
    fabric.begin(now, write, &mut queue);
    let (mut done, mut arrived, mut idle) = (Vec::new(), now, now);
    while let Some((at, event)) = queue.pop() {
        fabric.handle(at, event.index, &mut queue, &mut done);
        if !done.is_empty() {
            done.clear();
            arrived = at;
        }
        idle = at;
    }
    ((arrived - now).into(), idle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::Interconnect;

    fn ways(name: &str) -> Ways {
        Ways::of(&Description::built_in(name).unwrap())
    }

    fn names(ways: &Ways, from: u16, to: u16) -> Vec<&str> {
        let links = ways.links_between(SpeId::new(from), SpeId::new(to));
        links
            .iter()
            .map(|link| ways.links[*link].as_str())
            .collect()
    }

    fn ns(ways: &Ways, from: u16, to: u16) -> f64 {
        ways.line(SpeId::new(from), SpeId::new(to))
            .as_nanoseconds_f64()
    }

    #[test]
    fn on_rings_data_takes_the_shorter_way_around() {
        // The order of the ring is: PPE, SPE 1, 3, 5, 7, IOIF1, IOIF0, SPE 6, 4, 2, 0, MIC.
        let ways = ways("qs20");
        assert_eq!(
            names(&ways, 1, 5),
            ["link from SPE 1 to SPE 3", "link from SPE 3 to SPE 5"]
        );
        assert_eq!(
            names(&ways, 5, 1),
            ["link from SPE 5 to SPE 3", "link from SPE 3 to SPE 1"]
        );
        assert_eq!(names(&ways, 0, 0), [""; 0]);
        assert_eq!(
            names(&ways, 6, 8 + 4),
            [
                "link from SPE 6 to IOIF0 of Cell 0",
                "link from Cell 0 to Cell 1",
                "link from IOIF0 of Cell 1 to SPE 14",
                "link from SPE 14 to SPE 12"
            ]
        );
        let around: Vec<usize> = ways.around().iter().map(|spe| spe.index()).collect();
        assert_eq!(around[..8], [1, 3, 5, 7, 6, 4, 2, 0]);
        assert_eq!(around[8..], [9, 11, 13, 15, 14, 12, 10, 8]);
    }

    #[test]
    fn a_link_is_kept_for_the_time_in_which_it_carries_a_line() {
        let kept = |ways: &Ways, from: u16, to: u16| -> Vec<f64> {
            let links = ways.links_between(SpeId::new(from), SpeId::new(to));
            let ns = |link: &usize| ways.kept_by_a_line(*link).as_nanoseconds_f64();
            links.iter().map(ns).collect()
        };
        // Each direction has two rings, and a ring carries a packet in 8 cycles of 1.6 GHz. The
        // link between the Cells carries 128 bytes and a header of 16 bytes at 20 GB/s.
        let ways = ways("qs20");
        assert_eq!(kept(&ways, 1, 5), [2.5, 2.5]);
        assert_eq!(kept(&ways, 6, 12), [2.5, 7.2, 2.5, 2.5]);
        let mesh = self::ways("scc");
        let rate = match Description::built_in("scc").unwrap().interconnect {
            Interconnect::Mesh(mesh) => mesh.link_bytes_per_s.value,
            other => panic!("{other:?}"),
        };
        let line = 128.0 / rate as f64 * 1e9;
        let [first, second] = kept(&mesh, 0, 7)[..] else {
            panic!("two links");
        };
        assert!((first - line).abs() < 1e-6 && second == first, "{first}");
    }

    #[test]
    fn a_line_takes_a_hop_longer_for_each_element_that_it_passes() {
        let ways = ways("qs20");
        // A hop is a bus cycle of 1.6 GHz.
        assert!((ns(&ways, 1, 5) - ns(&ways, 1, 3) - 0.625).abs() < 1e-9);
        assert_eq!(ns(&ways, 1, 3), ns(&ways, 3, 1));
        assert!(ns(&ways, 1, 9) > ns(&ways, 1, 3) + 200.0, "over the link");
    }

    #[test]
    fn on_a_mesh_data_goes_along_the_row_first() {
        let ways = ways("scc");
        assert_eq!(
            names(&ways, 0, 7),
            ["link from tile 0,0 to 1,0", "link from tile 1,0 to 1,1"],
            "6 columns"
        );
    }
}
