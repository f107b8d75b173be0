//! The data rings of a Cell and their arbiter.
//!
//! ```text
//!             hop 0     hop 1     hop 2                 a packet of 8 bus cycles that goes 3 hops:
//!   source ──────────┬─────────┬────────── sink
//!   out-port        next      next       in-port        out-port    ████████
//!                   element   element                   its way     ███████████
//!                                                       in-port        ████████
//! ```
//!
//! A packet holds all segments (ring pieces between neighbours) of its way from its start until its
//! last byte arrives. It holds a port only while it passes the port, so the source can start its
//! next packet on another ring earlier.
//!
//! The arbiter grants (starts) a packet if its way is free, both ports will be free when the packet
//! passes them, and no packet has just started on the same ring. The memory controller goes first,
//! then the element that sent least recently. A packet goes the shorter way round, on the first
//! ring on which it can start. An element sends its packets in the order in which they are ready.
//!
//! Without another rule, two kinds of packets would starve: a packet to a near sink, because a
//! packet from farther away can start before the sink's in-port is free, and a packet over many
//! segments, because these are seldom free at the same time. Therefore a packet must not delay the
//! first ready packet of the memory controller, or of the element that sent least recently. And
//! the memory controller goes last while a packet of another element has waited as long as 32
//! packets take: a memory that is fast enough to send all the time would keep others from sending.
//! In no simulation of `cellworks reproduce` does a packet wait so long.
//!
//! At most one wake of the arbiter is queued, for the earliest time at which a packet can start.
//!
//! Sources: Krolak (developerWorks, 2005) for the 8 cycles of a packet and the 3 cycles between two
//! starts; Programming Handbook 1.7.3 for the longest way; Kistler, Perrone and Petrini (IEEE
//! Micro, 2006; recalled) for the grants and their order. No source explains how the arbiter avoids
//! starvation, or which ring of a direction it takes.

// Rejected: holding a segment only while the packet passes it. The best pairing of eight SPEs is
// then only 1.0 to 1.1 times as fast as the worst pairing (published: 2.5; here: 1.75).
//
// Rejected: the same, with the rings of a direction used in turn. All packets start 8 cycles apart,
// so it makes no difference which ring a packet uses.
//
// Rejected: starting a packet when its whole way is free, but freeing each segment behind it. The
// pairings reach 117 to 205 GB/s (published: 186 to 197 for five, 95 and 78 for two).
//
// Rejected: a ring of each direction for the packets of odd elements, and the other ring for those of
// even elements, with segments that are freed behind each packet. The best pairing is 2.3 times as
// fast as the worst, but four pairs of neighbours reach 137 GB/s (published: 186), and one reader uses
// one ring (two in the counters of cellmark 3.3).
//
// Rejected: only round robin. Elements far from a contended port starve: two of eight streams had
// half the data rate of the others.

use std::collections::VecDeque;
use std::ops::Range;

use super::packet::Packet;
use super::usage::Usage;
use crate::description::{Quantity, Rings as Parameters};
use crate::observe::{PartCounters, ResourceCounters};
use crate::part::Part;
use crate::time::{Femtoseconds, Moment};

/// The number of packets for whose time a packet waits before it goes before those of the memory
/// controller. No source has this number.
const WAITS_FOR_PACKETS: u64 = 32;

/// Sequence numbers that are lower, or higher, than that of any grant.
const FIRST: u64 = 0;
const LAST: u64 = u64::MAX - 1;

#[derive(Debug)]
pub(super) struct Rings {
    /// How long a packet occupies a segment. `port` is the same for a port.
    packet: Femtoseconds,
    port: Femtoseconds,
    hop: Femtoseconds,
    start_interval: Femtoseconds,
    /// The rings, with the clockwise rings first.
    rings: Vec<Ring>,
    clockwise: usize,
    /// The ways from each source to each sink, at the index `source * elements + sink`. The shorter
    /// way comes first. `None` is a way that is too long.
    ways: Vec<[Option<Way>; 2]>,
    elements: Vec<Element>,
    /// For each element, a time at or before the earliest start of its first packet, or
    /// [`Moment::NEVER`] without a packet.
    next: Vec<Moment>,
    /// The sequence number of each element's last grant. The memory controller has [`FIRST`], or
    /// [`LAST`] while a packet of another element is overdue.
    granted: Vec<u64>,
    grants: u64,
    memory_controller: usize,
    /// How long the first packet of another element waits before it is overdue.
    wait_max: Femtoseconds,
    /// A time at or before the one at which the next packet will be overdue.
    overdue_at: Moment,
    wake_at: Moment,
    /// The names of the elements.
    names: Vec<String>,
    /// The number of packets of each ring from each source to each sink, at the index
    /// `(ring * elements + source) * elements + sink`. Their times follow from it.
    carried: Vec<u64>,
}

#[derive(Debug)]
struct Ring {
    /// The time from which each segment is free. Segment n is between elements n and n + 1.
    free_at: Vec<Moment>,
    next_start: Moment,
    busy_until: Moment,
    usage: Usage,
}

#[derive(Debug, Default)]
struct Element {
    out_free_at: Moment,
    in_free_at: Moment,
    /// The time of the last grant.
    granted_at: Moment,
    packets: VecDeque<Packet>,
}

#[derive(Clone, Copy, Debug)]
struct Way {
    clockwise: bool,
    hops: usize,
}

/// A possible start of a packet.
#[derive(Clone, Copy)]
struct Start {
    time: Moment,
    ring: usize,
    way: Way,
}

impl Rings {
    /// Makes the rings of a Cell. Panics if the description has no ring or lacks an element, or if
    /// an element cannot reach another.
    pub fn new(description: &Parameters, bus_hz: &Quantity) -> Self {
        let bus = |cycles: &Quantity| cycles.cycles_of(bus_hz);
        let count = description.elements.len();
        let clockwise = description.clockwise.value as usize;
        let rings = clockwise + description.counterclockwise.value as usize;
        let ring = || Ring {
            free_at: vec![Moment::START; count],
            next_start: Moment::START,
            busy_until: Moment::START,
            usage: Usage::default(),
        };
        let ways = |index| {
            let around = (index % count + count - index / count) % count;
            let mut ways = [(true, around), (false, count - around)];
            ways.sort_by_key(|&(_, hops)| hops);
            let allowed = ways.map(|(clockwise_way, hops)| {
                let ring_exists = if clockwise_way {
                    clockwise > 0
                } else {
                    rings > clockwise
                };
                let clockwise = clockwise_way;
                let short = hops as u64 <= description.hops_max.value;
                (ring_exists && short).then_some(Way { clockwise, hops })
            });
            match allowed {
                [None, second] => {
                    assert!(second.is_some(), "a way from each element to each other");
                    [second, None]
                }
                _ => allowed,
            }
        };
        let hop = bus(&description.hop_bus_cycles);
        let memory_controller = element(description, "MIC");
        let mut granted: Vec<u64> = (1..=count as u64).collect();
        granted[memory_controller] = FIRST;
        let packet = bus(&description.packet_bus_cycles);
        Self {
            packet,
            port: packet,
            hop,
            start_interval: bus(&description.start_interval_bus_cycles),
            rings: (0..rings).map(|_| ring()).collect(),
            clockwise,
            ways: (0..count * count).map(ways).collect(),
            elements: (0..count).map(|_| Element::default()).collect(),
            next: vec![Moment::NEVER; count],
            granted,
            grants: count as u64,
            memory_controller,
            wait_max: WAITS_FOR_PACKETS * packet,
            overdue_at: Moment::START,
            wake_at: Moment::NEVER,
            names: description.elements.clone(),
            carried: vec![0; rings * count * count],
        }
    }

    /// Returns the same rings with names for the elements in reports.
    pub fn named(self, names: Vec<String>) -> Self {
        Self { names, ..self }
    }

    /// Adds a packet that is ready now or later. Returns the time at which `arbitrate` must be
    /// called, or `None` if an earlier call has returned a time that is early enough.
    pub fn send(&mut self, packet: Packet) -> Option<Moment> {
        let source = usize::from(packet.from);
        let packets = &mut self.elements[source].packets;
        let mut index = packets.len();
        while index > 0 && packets[index - 1].ready_at > packet.ready_at {
            index -= 1;
        }
        packets.insert(index, packet);
        if index > 0 {
            return None;
        }
        let earliest = self.earliest(source);
        self.next[source] = earliest;
        (earliest < self.wake_at).then(|| {
            self.wake_at = earliest;
            earliest
        })
    }

    /// Starts all packets that can start now, and calls `arrive` with each packet and the time of
    /// its arrival. Returns the next time at which `arbitrate` must be called. Does nothing if
    /// `now` is not the last time that `arbitrate` or `send` has returned.
    pub fn arbitrate(
        &mut self,
        now: Moment,
        mut arrive: impl FnMut(Moment, &Packet),
    ) -> Option<Moment> {
        if now != self.wake_at {
            return None;
        }
        if now >= self.overdue_at {
            self.look_for_overdue(now);
        }
        while let Some(source) = self.next_in_turn(now) {
            match self.start(now, source) {
                Ok(start) => {
                    let (arrival, packet) = self.grant(source, start);
                    arrive(arrival, &packet);
                }
                Err(time) => self.next[source] = time,
            }
        }
        self.wake_at = self.find_wake();
        (self.wake_at != Moment::NEVER).then_some(self.wake_at)
    }

    /// Returns the elements on the preferred way of a packet, including the source and the sink.
    pub fn elements_passed(&self, from: usize, to: usize) -> impl Iterator<Item = usize> + Clone {
        let count = self.elements.len();
        let [first, _] = self.ways[from * count + to];
        let way = first.expect("a way from each element to each other");
        (0..=way.hops).map(move |hop| {
            if way.clockwise {
                (from + hop) % count
            } else {
                (from + count - hop) % count
            }
        })
    }

    pub fn resources(&self, cell: usize) -> impl Iterator<Item = ResourceCounters> {
        let named = self.rings.iter().enumerate();
        named.map(move |(number, ring)| ring.usage.counters(format!("Cell {cell}, ring {number}")))
    }

    /// Lets any number of packets pass a port at once.
    pub fn free_ports(&mut self) {
        self.port = Femtoseconds::ZERO;
    }

    /// Returns the times of all segments and ports. A packet over n hops holds its segments for
    /// `packet` and n hops, as in `grant`.
    pub fn parts(&self, cell: usize) -> Vec<PartCounters> {
        let count = self.elements.len();
        let mut out = vec![0; count];
        let mut into = vec![0; count];
        let mut busy = vec![Femtoseconds::ZERO; self.rings.len() * count];
        for (index, &packets) in self.carried.iter().enumerate().filter(|(_, n)| **n > 0) {
            let (ring, from, to) = (index / count / count, index / count % count, index % count);
            out[from] += packets;
            into[to] += packets;
            let clockwise = ring < self.clockwise;
            let mut ways = self.ways[from * count + to].iter().flatten();
            let way = ways.find(|way| way.clockwise == clockwise);
            let way = *way.expect("a packet went this way");
            let held = self.packet + way.hops as u64 * self.hop;
            for segment in segments(from, way, count) {
                busy[ring * count + segment] += packets * held;
            }
        }
        let segments = busy.into_iter().enumerate().map(|(index, busy)| {
            let (ring, segment) = (index / count, index % count);
            let (from, to) = (&self.names[segment], &self.names[(segment + 1) % count]);
            let name = format!("Cell {cell}, ring {ring}, the segment from {from} to {to}");
            PartCounters::new(Part::Ways, name, busy)
        });
        let ports = |packets: Vec<u64>, way: &'static str| {
            let all = packets.into_iter().zip(&self.names);
            all.map(move |(packets, element)| {
                let name = format!("Cell {cell}, the port {way} {element}");
                PartCounters::new(Part::Ports, name, packets * self.port)
            })
        };
        let out = ports(out, "out of");
        segments.chain(out).chain(ports(into, "into")).collect()
    }

    /// Lets the memory controller go last if a packet of another element is overdue, otherwise
    /// first.
    fn look_for_overdue(&mut self, now: Moment) {
        let others = self.elements.iter().enumerate();
        let others = others.filter(|(element, _)| *element != self.memory_controller);
        let overdue_at = others.filter_map(|(_, element)| {
            let first = element.packets.front()?;
            Some(first.ready_at.max(element.granted_at) + self.wait_max)
        });
        // A packet that is sent later cannot be overdue earlier than this.
        let latest = now + self.wait_max;
        self.overdue_at = overdue_at.min().map_or(latest, |time| time.min(latest));
        let is_overdue = self.overdue_at <= now;
        self.granted[self.memory_controller] = if is_overdue { LAST } else { FIRST };
    }

    /// Returns the element that sends next, among those whose first packet may start now.
    #[inline]
    fn next_in_turn(&self, now: Moment) -> Option<usize> {
        let mut next = None;
        let mut least = u64::MAX;
        for (source, (&time, &granted)) in self.next.iter().zip(&self.granted).enumerate() {
            if time <= now && granted < least {
                (next, least) = (Some(source), granted);
            }
        }
        next
    }

    /// Returns the earliest start of any packet. Raises times in `next` that are too early.
    fn find_wake(&mut self) -> Moment {
        loop {
            let mut source = 0;
            for other in 1..self.next.len() {
                if self.next[other] < self.next[source] {
                    source = other;
                }
            }
            let next = self.next[source];
            if next == Moment::NEVER {
                return Moment::NEVER;
            }
            let earliest = self.earliest(source);
            if earliest <= next {
                return next;
            }
            self.next[source] = earliest;
        }
    }

    /// Returns the earliest start of an element's first packet, given the packets started so far.
    #[inline]
    fn earliest(&self, source: usize) -> Moment {
        self.first_start(self.elements[source].packets[0].ready_at, source)
            .time
    }

    /// Returns the start of an element's first packet now, or `Err` with the time of the next try.
    #[inline]
    fn start(&self, now: Moment, source: usize) -> Result<Start, Moment> {
        let first = self.first_start(now, source);
        if first.time > now {
            return Err(first.time);
        }
        let waiting = self.first_to_wait(now, source);
        if waiting == [None, None] {
            return Ok(first);
        }
        let waiting = waiting.map(|element| Some((element?, self.first_start(now, element?))));
        let delays = |start: &Start| {
            let mut waiting = waiting.iter().flatten();
            waiting.find(|(element, other)| self.delays(source, start, *element, other))
        };
        let mut starts = self.starts(now, source).filter(|start| start.time <= now);
        match starts.find(|start| delays(start).is_none()) {
            Some(start) => Ok(start),
            None => {
                // `next` is later than `other.time` if `element` waits for a third element.
                let (element, other) = delays(&first).expect("it was tried");
                Err(other.time.max(self.next[*element]))
            }
        }
    }

    /// Returns the memory controller, and of the other elements the one that sent least recently.
    /// Only elements with a ready packet that sent less recently than `source` count. Each result
    /// is `None` if there is no such element.
    #[inline]
    fn first_to_wait(&self, now: Moment, source: usize) -> [Option<usize>; 2] {
        let mut first = [None, None];
        let mut least = self.granted[source];
        for (element, (&granted, waits)) in self.granted.iter().zip(&self.elements).enumerate() {
            if granted < least
                && let Some(packet) = waits.packets.front()
                && packet.ready_at <= now
            {
                if element == self.memory_controller {
                    first[0] = Some(element);
                } else {
                    first[1] = Some(element);
                    least = granted;
                }
            }
        }
        first
    }

    /// Returns whether `start` delays the start `other`, which must not be earlier.
    #[inline]
    fn delays(&self, source: usize, start: &Start, other_source: usize, other: &Start) -> bool {
        let sink = |source: usize| self.elements[source].packets[0].to;
        // Returns the time from the head of this packet to the head of the other packet, at a place
        // that is `hops` from the source of this packet and `other_hops` from the other source.
        let later = |hops: usize, other_hops: usize| {
            let head = start.time + hops as u64 * self.hop;
            (other.time + other_hops as u64 * self.hop).saturating_since(head)
        };
        if sink(source) == sink(other_source) && later(start.way.hops, other.way.hops) < self.port {
            return true;
        }
        if start.ring != other.ring {
            return false;
        }
        let count = self.elements.len();
        let passed = start.time + self.packet + start.way.hops as u64 * self.hop;
        other.time - start.time < self.start_interval
            || other.time < passed
                && segments(source, start.way, count).any(|segment| {
                    segments(other_source, other.way, count).any(|other| other == segment)
                })
    }

    /// Returns the earliest start of an element's first packet from `now` on, on the first ring
    /// that permits it. This is called often, so it does not use `starts`, which is slower.
    fn first_start(&self, now: Moment, from: usize) -> Start {
        let source = &self.elements[from];
        let packet = &source.packets[0];
        let to = usize::from(packet.to);
        let sink_free = self.elements[to].in_free_at;
        let ready = now.max(packet.ready_at).max(source.out_free_at);
        let mut first: Option<Start> = None;
        for &way in self.ways[from * self.elements.len() + to].iter().flatten() {
            let reaches_sink = way.hops as u64 * self.hop;
            let ports_free = ready.max(sink_free.saturating_sub(reaches_sink));
            for ring in self.rings_of(way) {
                if first.is_some_and(|first| first.time <= ports_free) {
                    break;
                }
                let time = ports_free.max(self.way_free(&self.rings[ring], from, way));
                if first.is_none_or(|first| time < first.time) {
                    first = Some(Start { time, ring, way });
                }
            }
        }
        first.expect("a way from each element to each other")
    }

    /// Returns the earliest start of an element's first packet on each ring, from `now` on.
    #[inline]
    fn starts(&self, now: Moment, from: usize) -> impl Iterator<Item = Start> {
        let source = &self.elements[from];
        let packet = &source.packets[0];
        let to = usize::from(packet.to);
        let sink_free = self.elements[to].in_free_at;
        let ready = now.max(packet.ready_at).max(source.out_free_at);
        let ways = &self.ways[from * self.elements.len() + to];
        ways.iter().flatten().flat_map(move |&way| {
            let reaches_sink = way.hops as u64 * self.hop;
            let ports_free = ready.max(sink_free.saturating_sub(reaches_sink));
            self.rings_of(way).map(move |ring| {
                let time = ports_free.max(self.way_free(&self.rings[ring], from, way));
                Start { time, ring, way }
            })
        })
    }

    /// Starts the first packet of an element. Returns the time of its arrival, and the packet.
    #[inline]
    fn grant(&mut self, from: usize, Start { time, ring, way }: Start) -> (Moment, Packet) {
        let source = &mut self.elements[from];
        let packet = source.packets.pop_front().expect("a packet was granted");
        source.out_free_at = time + self.port;
        source.granted_at = time;
        self.next[from] = match source.packets.front() {
            Some(next) => next.ready_at.max(source.out_free_at),
            None => Moment::NEVER,
        };
        if from != self.memory_controller {
            self.grants += 1;
            self.granted[from] = self.grants;
        }

        let count = self.elements.len();
        let to = usize::from(packet.to);
        self.carried[(ring * count + from) * count + to] += 1;
        let ring = &mut self.rings[ring];
        ring.next_start = time + self.start_interval;
        let passed = time + self.packet + way.hops as u64 * self.hop;
        for segment in segments(from, way, ring.free_at.len()) {
            ring.free_at[segment] = passed;
        }
        self.elements[to].in_free_at = time + self.port + way.hops as u64 * self.hop;

        ring.usage.packets += 1;
        ring.usage.bytes += u64::from(packet.bytes);
        ring.usage.busy += passed.saturating_since(time.max(ring.busy_until));
        ring.busy_until = ring.busy_until.max(passed);
        (passed, packet)
    }

    /// Returns the time from which the ring can take a packet and all segments of `way` are free.
    #[inline]
    fn way_free(&self, ring: &Ring, from: usize, way: Way) -> Moment {
        let segments = segments(from, way, ring.free_at.len());
        segments.fold(ring.next_start, |free, segment| {
            free.max(ring.free_at[segment])
        })
    }

    fn rings_of(&self, way: Way) -> Range<usize> {
        if way.clockwise {
            0..self.clockwise
        } else {
            self.clockwise..self.rings.len()
        }
    }
}

/// Returns the number of an element. Panics if the rings have no element of this name.
pub(super) fn element(description: &Parameters, name: &str) -> usize {
    let found = description
        .elements
        .iter()
        .position(|element| element == name);
    found.unwrap_or_else(|| panic!("the rings have no element {name}"))
}

/// Returns the segments of a way, from the source to the sink.
#[inline]
fn segments(from: usize, way: Way, count: usize) -> impl Iterator<Item = usize> {
    let mut element = from;
    (0..way.hops).map(move |_| {
        if way.clockwise {
            let segment = element;
            element = if element + 1 == count { 0 } else { element + 1 };
            segment
        } else {
            element = if element == 0 { count - 1 } else { element - 1 };
            element
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::{Description, Interconnect};

    const CYCLE: Femtoseconds = Femtoseconds(625_000);

    // The indices of two elements.
    const PPE: u16 = 0;
    const MIC: u16 = 11;

    fn description() -> (Parameters, Quantity) {
        let qs20 = Description::built_in("qs20").unwrap();
        let Interconnect::Rings(rings) = qs20.interconnect else {
            panic!("a QS20 has rings");
        };
        (rings, qs20.clock.bus_hz)
    }

    fn rings(clockwise: u64, counterclockwise: u64) -> Rings {
        let (mut description, bus_hz) = description();
        description.clockwise.value = clockwise;
        description.counterclockwise.value = counterclockwise;
        Rings::new(&description, &bus_hz)
    }

    /// Sends packets (ready time, source, sink), and returns their arrivals, in bus cycles.
    fn arrivals(rings: &mut Rings, packets: &[(u64, u16, u16)]) -> Vec<u64> {
        let mut wakes: Vec<Moment> = Vec::new();
        for (index, &(ready, from, to)) in packets.iter().enumerate() {
            wakes.extend(rings.send(Packet {
                ready_at: Moment::START + ready * CYCLE,
                sink: Femtoseconds::ZERO,
                then: index as u32,
                bytes: 128,
                from,
                to,
                between_caches: false,
            }));
        }
        let mut arrivals = vec![0; packets.len()];
        while let Some(next) = wakes.iter().copied().min() {
            wakes.retain(|&wake| wake != next);
            wakes.extend(rings.arbitrate(next, |arrival, packet| {
                arrivals[packet.then as usize] = arrival.as_femtoseconds() / CYCLE.0;
            }));
        }
        arrivals
    }

    #[test]
    fn a_packet_alone_takes_eight_cycles_and_one_for_each_hop() {
        let to_the_next = arrivals(&mut rings(2, 2), &[(0, 1, 2)]);
        let to_the_one_before = arrivals(&mut rings(2, 2), &[(5, 0, 11)]);
        let half_way_round = arrivals(&mut rings(2, 2), &[(0, 10, 4)]);
        assert_eq!(to_the_next, [8 + 1]);
        assert_eq!(to_the_one_before, [5 + 8 + 1]);
        assert_eq!(half_way_round, [8 + 6]);
    }

    #[test]
    fn a_packet_never_goes_more_than_half_way_round() {
        for from in 0..12 {
            for to in 0..12 {
                let around = (i32::from(to) - i32::from(from)).unsigned_abs();
                let hops = u64::from(around.min(12 - around));
                assert_eq!(arrivals(&mut rings(2, 2), &[(0, from, to)]), [8 + hops]);
            }
        }
    }

    #[test]
    fn two_packets_on_different_segments_differ_by_the_interval_of_starts() {
        assert_eq!(
            arrivals(&mut rings(1, 1), &[(0, 1, 2), (0, 3, 4)]),
            [9, 3 + 9]
        );
    }

    #[test]
    fn two_packets_on_one_segment_follow_each_other() {
        // The first packet to start holds segment 2 until it arrives. In the first case, segment 2
        // is the last segment of this packet, in the second case the first.
        assert_eq!(
            arrivals(&mut rings(1, 1), &[(0, 1, 3), (0, 2, 4)]),
            [10, 10 + 10]
        );
        assert_eq!(
            arrivals(&mut rings(1, 1), &[(0, 2, 4), (1, 1, 3)]),
            [10, 10 + 10]
        );
    }

    #[test]
    fn two_packets_on_one_segment_of_two_rings_do_not_meet() {
        assert_eq!(
            arrivals(&mut rings(2, 2), &[(0, 1, 3), (0, 2, 4)]),
            [10, 10]
        );
    }

    #[test]
    fn packets_of_one_element_go_over_the_rings_of_a_direction_in_turn() {
        // After 8 cycles the ports are free, but the segment only after 9.
        let mut rings = rings(2, 2);
        let packets: Vec<_> = (0..10).map(|_| (0, 1, 2)).collect();
        let starts: Vec<u64> = (0..10).map(|n| 8 * n + 9).collect();
        assert_eq!(arrivals(&mut rings, &packets), starts);
        let carried: Vec<u64> = rings.resources(0).map(|ring| ring.packets).collect();
        assert_eq!(carried, [5, 5, 0, 0]);
    }

    #[test]
    fn six_packets_fill_a_ring_and_a_seventh_waits() {
        let mut packets: Vec<_> = (0..6).map(|n| (0, 2 * n, (2 * n + 2) % 12)).collect();
        let starts = [0, 3, 6, 9, 12, 15];
        let six = starts.map(|start| start + 10);
        assert_eq!(arrivals(&mut rings(1, 1), &packets), six);
        // The seventh packet needs segments 1 and 2. It waits until the first packet has left
        // segment 1 in cycle 10. The packet of element 2 also needs segment 2, but must not delay
        // the seventh packet, because element 1 comes before element 2. The other packets do not
        // delay the seventh packet, so they start earlier than that of element 2.
        packets.push((0, 1, 3));
        let starts = [0, 20, 3, 6, 13, 16, 10];
        let seven = starts.map(|start| start + 10);
        assert_eq!(arrivals(&mut rings(1, 1), &packets), seven);
    }

    #[test]
    fn six_packets_start_in_pairs_on_two_rings() {
        let packets: Vec<_> = (0..6).map(|n| (0, 2 * n, (2 * n + 2) % 12)).collect();
        let starts = [0, 0, 3, 3, 6, 6];
        assert_eq!(
            arrivals(&mut rings(2, 2), &packets),
            starts.map(|start| start + 10)
        );
    }

    #[test]
    fn one_port_takes_one_packet_at_a_time() {
        // Two packets enter element 3, one from each side. Its in-port is busy in cycles 1 to 9.
        assert_eq!(
            arrivals(&mut rings(2, 2), &[(0, 2, 3), (0, 4, 3)]),
            [9, 8 + 9]
        );
        // Two packets leave element 2, one to each side.
        assert_eq!(
            arrivals(&mut rings(2, 2), &[(0, 2, 3), (0, 2, 1)]),
            [9, 8 + 9]
        );
    }

    #[test]
    fn the_shorter_way_is_waited_for_and_of_two_equal_ones_the_free_one_is_taken() {
        // The clockwise ways of five hops share segments. The counterclockwise ways are too long.
        assert_eq!(
            arrivals(&mut rings(1, 1), &[(0, 0, 5), (0, 1, 6)]),
            [13, 13 + 13]
        );
        // For each packet, both ways have six hops.
        assert_eq!(
            arrivals(&mut rings(1, 1), &[(0, 0, 6), (0, 1, 7)]),
            [14, 14]
        );
    }

    #[test]
    fn the_memory_controller_goes_first() {
        assert_eq!(
            arrivals(&mut rings(2, 2), &[(0, 1, PPE), (0, MIC, PPE)]),
            [8 + 9, 9]
        );
        // The memory controller goes first, then the packet that has waited longer.
        let stream = [(0, 1, PPE), (0, MIC, PPE), (0, MIC, PPE), (0, MIC, PPE)];
        assert_eq!(
            arrivals(&mut rings(2, 2), &stream),
            [24 + 9, 9, 8 + 9, 16 + 9]
        );
    }

    #[test]
    fn the_memory_controller_goes_last_while_a_packet_is_overdue() {
        // Each ring that leads from the PPE to element 10 carries a packet of the memory controller
        // all the time. A packet of the PPE waits for 32 packets, and a next one for 32 more.
        let mut packets = vec![(0, PPE, 10), (0, PPE, 10)];
        packets.extend((0..200).map(|n| (0, MIC, [10, 9, 8][n % 3])));
        let arrivals = arrivals(&mut rings(2, 2), &packets);
        assert_eq!(arrivals[..2], [256 + 10, 513 + 10]);
        // Alone, the last packet of the memory controller arrives 3 cycles earlier.
        assert_eq!(arrivals[201], 199 * 8 + 10 + 3);
    }

    #[test]
    fn all_others_take_turns_wherever_they_are() {
        // Element 3 gets five packets each from the elements 1, 2 and 4.
        let sources = [1, 2, 4];
        let packets: Vec<_> = (0..15).map(|n| (0, sources[n % 3], 3)).collect();
        let arrivals = arrivals(&mut rings(2, 2), &packets);
        let first = 8 + 2;
        let expected: Vec<u64> = (0..15).map(|n| first + 8 * n).collect();
        assert_eq!(arrivals, expected, "the in-port is never idle");
    }

    #[test]
    fn those_upstream_do_not_starve_those_downstream() {
        // Elements 1 and 2 send over segment 2. Packets of element 1 reach it one hop later.
        let packets: Vec<_> = (0..10).map(|n| (0, 1 + n % 2, 3 + n % 2)).collect();
        let arrivals = arrivals(&mut rings(1, 1), &packets);
        assert!(arrivals.is_sorted(), "{arrivals:?}");
    }

    #[test]
    fn short_ways_do_not_starve_long_ones() {
        // Each of `elements` sends counterclockwise to the element before it, one or three hops
        // away. The ports could send these packets faster than the rings start them.
        let elements = [1, 2, 3, 4, 7, 8, 9, 10];
        let packet = |n: usize| (0, elements[n % 8], elements[(n + 7) % 8]);
        let packets: Vec<_> = (0..160).map(packet).collect();
        let arrivals = arrivals(&mut rings(2, 2), &packets);
        let all_had_ten = arrivals[9 * 8..10 * 8].iter().max();
        let none_had_thirteen = arrivals[12 * 8..13 * 8].iter().min();
        assert!(all_had_ten < none_had_thirteen, "{arrivals:?}");
    }

    #[test]
    fn an_element_sends_in_the_order_in_which_its_packets_are_ready() {
        assert_eq!(
            arrivals(&mut rings(2, 2), &[(20, 1, 2), (3, 1, 2)]),
            [20 + 9, 3 + 9]
        );
    }

    #[test]
    fn a_ring_is_busy_while_at_least_one_packet_is_on_it() {
        let mut rings = rings(1, 1);
        // Two packets overlap in cycles 0 to 12. A single packet takes 9 cycles.
        arrivals(&mut rings, &[(0, 1, 2), (0, 3, 4), (100, 3, 4)]);
        let counters: Vec<_> = rings.resources(1).collect();
        assert_eq!(counters[0].name, "Cell 1, ring 0");
        assert_eq!((counters[0].packets, counters[0].bytes), (3, 384));
        assert_eq!(counters[0].busy, ((12 + 9) * CYCLE).into());
        assert_eq!(
            (counters[1].packets, counters[1].busy),
            (0, Default::default())
        );
    }

    #[test]
    #[should_panic(expected = "the rings have no element MIC")]
    fn a_missing_element_is_named() {
        let (mut description, bus_hz) = description();
        description.elements.retain(|element| element != "MIC");
        Rings::new(&description, &bus_hz);
    }
}
