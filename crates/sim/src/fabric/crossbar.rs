//! A crossbar, which has the same latency between all elements. Packets wait only at the ports.

use super::ports::Ports;
use crate::description::Crossbar as Parameters;
use crate::observe::{PartCounters, ResourceCounters};
use crate::time::{Femtoseconds, Moment};

#[derive(Debug)]
pub(super) struct Crossbar {
    latency: Femtoseconds,
    ports: Ports,
}

impl Crossbar {
    pub fn new(parameters: &Parameters, elements: Vec<String>) -> Self {
        Self {
            latency: parameters.latency_ps.picoseconds(),
            ports: Ports::new(elements, parameters.port_bytes_per_s.value),
        }
    }

    /// Returns the latency of the head of a packet between any two elements.
    pub fn latency(&self) -> Femtoseconds {
        self.latency
    }

    /// Sends a packet between two elements, and returns the time at which its last byte arrives.
    /// `ready_at` must not decrease from call to call.
    pub fn arrival(&mut self, ready_at: Moment, from: usize, to: usize, bytes: u32) -> Moment {
        let latency = self.latency;
        self.ports.arrival(ready_at, from, to, bytes, latency)
    }

    pub fn parts(&self) -> Vec<PartCounters> {
        self.ports.parts()
    }

    pub fn resources(&self) -> impl Iterator<Item = ResourceCounters> {
        self.ports.resources()
    }
}

#[cfg(test)]
mod tests {
    use cellworks_machine::Span;

    use super::*;
    use crate::description::Quantity;

    /// Returns a crossbar of four elements with a latency of 10 ns. Ports carry 16 bytes per ns.
    fn crossbar() -> Crossbar {
        let parameters = Parameters {
            latency_ps: Quantity::plain(10_000),
            port_bytes_per_s: Quantity::plain(16_000_000_000),
        };
        Crossbar::new(&parameters, ["A", "B", "C", "D"].map(str::to_owned).into())
    }

    const NS: Femtoseconds = Femtoseconds(1_000_000);

    const NOW: Femtoseconds = Femtoseconds::ZERO;

    fn arrival(
        crossbar: &mut Crossbar,
        ready: Femtoseconds,
        from: usize,
        to: usize,
        bytes: u32,
    ) -> Femtoseconds {
        crossbar.arrival(Moment::START + ready, from, to, bytes) - Moment::START
    }

    #[test]
    fn one_packet_takes_the_latency_and_its_body() {
        assert_eq!(
            arrival(&mut crossbar(), 5 * NS, 0, 1, 128),
            (5 + 10 + 8) * NS
        );
        assert_eq!(
            arrival(&mut crossbar(), 5 * NS, 0, 1, 16),
            (5 + 10 + 1) * NS
        );
        assert_eq!(arrival(&mut crossbar(), 5 * NS, 0, 1, 0), (5 + 10) * NS);
    }

    #[test]
    fn packets_of_one_source_follow_one_another() {
        let mut crossbar = crossbar();
        assert_eq!(arrival(&mut crossbar, NOW, 0, 1, 128), 18 * NS);
        assert_eq!(arrival(&mut crossbar, NS, 0, 2, 128), 26 * NS);
        assert_eq!(arrival(&mut crossbar, 100 * NS, 0, 3, 128), 118 * NS);
    }

    #[test]
    fn packets_to_one_target_follow_one_another() {
        let mut crossbar = crossbar();
        assert_eq!(arrival(&mut crossbar, NOW, 0, 2, 128), 18 * NS);
        assert_eq!(arrival(&mut crossbar, NOW, 1, 2, 128), 26 * NS);
        // The second packet waited at its target. Its source port was free after 8 ns.
        assert_eq!(arrival(&mut crossbar, 8 * NS, 1, 3, 128), 26 * NS);
    }

    #[test]
    fn packets_with_different_ends_do_not_meet() {
        let mut crossbar = crossbar();
        for (from, to) in [(0, 1), (1, 0), (2, 3), (3, 2)] {
            assert_eq!(arrival(&mut crossbar, NOW, from, to, 128), 18 * NS);
        }
    }

    #[test]
    fn ports_count_what_they_carry() {
        let mut crossbar = crossbar();
        arrival(&mut crossbar, NOW, 0, 1, 128);
        arrival(&mut crossbar, NOW, 0, 2, 16);
        let counters: Vec<_> = crossbar.resources().collect();
        assert_eq!(
            counters[0],
            ResourceCounters {
                name: "A, port out".to_owned(),
                packets: 2,
                bytes: 144,
                busy: Span::from_nanoseconds(9),
            }
        );
        let into: Vec<_> = counters
            .iter()
            .map(|port| (port.name.as_str(), port.packets))
            .filter(|(name, _)| name.ends_with("in"))
            .collect();
        let expected = [
            ("A, port in", 0),
            ("B, port in", 1),
            ("C, port in", 1),
            ("D, port in", 0),
        ];
        assert_eq!(into, expected);
    }
}
