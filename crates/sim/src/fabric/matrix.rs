//! An interconnect with measured one-way times between SPEs. Packets wait only at the ports.
//!
//! A measured time is half of the time in which two caches exchange a cache line. An exchange has
//! more steps than the transfer of the line, such as requests and polls. The time of these steps is
//! subtracted, so that the simulated exchange takes the measured time.

use super::ports::Ports;
use crate::description::Matrix as Parameters;
use crate::observe::{PartCounters, ResourceCounters};
use crate::time::{Femtoseconds, Moment};

#[derive(Debug)]
pub(super) struct Matrix {
    /// The measured one-way times, by sending and then by receiving SPE.
    one_way: Vec<Vec<Femtoseconds>>,
    to_memory: Femtoseconds,
    /// The part of a measured time that is not the transfer of the line: see `beside_the_way`.
    beside: Femtoseconds,
    ports: Ports,
}

impl Matrix {
    /// Makes an interconnect between elements with these names. The SPEs come first, in order.
    pub fn new(parameters: &Parameters, beside: Femtoseconds, elements: Vec<String>) -> Self {
        let row = |row: &Vec<u64>| {
            let span = |ps: &u64| Femtoseconds::from_picoseconds(*ps);
            row.iter().map(span).collect()
        };
        Self {
            one_way: parameters.one_way_ps.iter().map(row).collect(),
            to_memory: parameters.to_memory_ps.picoseconds(),
            beside,
            ports: Ports::new(elements, parameters.port_bytes_per_s.value),
        }
    }

    /// Returns the latency of the head of a packet between two elements.
    pub fn latency(&self, from: usize, to: usize) -> Femtoseconds {
        let measured = self.one_way.get(from).and_then(|row| row.get(to));
        measured.copied().unwrap_or(self.to_memory)
    }

    /// Sends a packet between two elements, and returns the time at which its last byte arrives.
    /// `ready_at` must not decrease from call to call.
    pub fn arrival(
        &mut self,
        ready_at: Moment,
        [from, to]: [usize; 2],
        bytes: u32,
        between_caches: bool,
    ) -> Moment {
        let mut latency = self.latency(from, to);
        if between_caches {
            latency = latency.saturating_sub(self.beside);
        }
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
    use super::*;
    use crate::description::Quantity;

    const NS: Femtoseconds = Femtoseconds(1_000_000);

    /// Returns an interconnect of two SPEs and a memory module. Ports carry 16 bytes per ns.
    fn matrix() -> Matrix {
        let parameters = Parameters {
            one_way_ps: vec![vec![1_000, 40_000], vec![60_000, 0]],
            one_way_source: "made up".to_owned(),
            to_memory_ps: Quantity::plain(20_000),
            port_bytes_per_s: Quantity::plain(16_000_000_000),
        };
        Matrix::new(
            &parameters,
            9 * NS,
            ["A", "B", "M"].map(str::to_owned).into(),
        )
    }

    const NOW: Femtoseconds = Femtoseconds::ZERO;

    fn arrival(
        matrix: &mut Matrix,
        ready: Femtoseconds,
        from: usize,
        to: usize,
        bytes: u32,
    ) -> Femtoseconds {
        matrix.arrival(Moment::START + ready, [from, to], bytes, false) - Moment::START
    }

    #[test]
    fn a_line_between_caches_takes_less_because_its_time_was_measured_with_the_rest() {
        let line =
            |from, to| matrix().arrival(Moment::START, [from, to], 128, true) - Moment::START;
        assert_eq!(line(0, 1), 39 * NS);
        // A cache line takes at least the time of its body.
        assert_eq!(line(0, 0), 8 * NS);
    }

    #[test]
    fn each_way_takes_what_was_measured_and_the_body() {
        assert_eq!(arrival(&mut matrix(), NOW, 0, 1, 128), 48 * NS);
        assert_eq!(arrival(&mut matrix(), NOW, 1, 0, 128), 68 * NS);
        assert_eq!(arrival(&mut matrix(), NOW, 0, 0, 16), 2 * NS);
    }

    #[test]
    fn to_memory_and_back_is_the_same() {
        assert_eq!(arrival(&mut matrix(), 3 * NS, 1, 2, 128), 31 * NS);
        assert_eq!(arrival(&mut matrix(), 3 * NS, 2, 1, 128), 31 * NS);
    }

    #[test]
    fn packets_meet_at_a_port() {
        let mut matrix = matrix();
        assert_eq!(arrival(&mut matrix, NOW, 0, 2, 128), 28 * NS);
        assert_eq!(arrival(&mut matrix, NOW, 1, 2, 128), 36 * NS);
        assert_eq!(matrix.resources().map(|port| port.packets).sum::<u64>(), 4);
    }
}
