//! Measured one-way times: between two SPEs the head of a packet takes what was measured, and
//! packets meet only at the ports.

use super::ports::Ports;
use crate::description::Matrix as Parameters;
use crate::observe::ResourceCounters;
use crate::time::{Femtoseconds, Moment};

/// An interconnect of which one-way times were measured.
#[derive(Debug)]
pub(super) struct Matrix {
    /// By the SPE that sends and the one that receives.
    one_way: Vec<Vec<Femtoseconds>>,
    to_memory: Femtoseconds,
    ports: Ports,
}

impl Matrix {
    /// An idle interconnect between elements with these names: first the SPEs in the order of their
    /// ids, then the others.
    pub fn new(parameters: &Parameters, elements: Vec<String>) -> Self {
        let row = |row: &Vec<u64>| {
            let span = |ps: &u64| Femtoseconds::from_picoseconds(*ps);
            row.iter().map(span).collect()
        };
        Self {
            one_way: parameters.one_way_ps.iter().map(row).collect(),
            to_memory: parameters.to_memory_ps.picoseconds(),
            ports: Ports::new(elements, parameters.port_bytes_per_s.value),
        }
    }

    /// How long the head of a packet takes, by the indices of the elements.
    pub fn latency(&self, from: usize, to: usize) -> Femtoseconds {
        let measured = self.one_way.get(from).and_then(|row| row.get(to));
        measured.copied().unwrap_or(self.to_memory)
    }

    /// When the last byte of a packet arrives that is ready at a time, by the indices of the
    /// elements.
    ///
    /// Packets are served in the order of the calls, which must be that of the times at which they
    /// are ready.
    pub fn arrival(&mut self, ready_at: Moment, from: usize, to: usize, bytes: u32) -> Moment {
        let latency = self.latency(from, to);
        self.ports.arrival(ready_at, from, to, bytes, latency)
    }

    /// What each port has carried.
    pub fn resources(&self) -> impl Iterator<Item = ResourceCounters> {
        self.ports.resources()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::Quantity;

    const NS: Femtoseconds = Femtoseconds(1_000_000);

    /// Two SPEs and a module, whose ports take 1 ns for 16 bytes.
    fn matrix() -> Matrix {
        let parameters = Parameters {
            one_way_ps: vec![vec![1_000, 40_000], vec![60_000, 0]],
            one_way_source: "made up".to_owned(),
            to_memory_ps: Quantity::plain(20_000),
            port_bytes_per_s: Quantity::plain(16_000_000_000),
        };
        Matrix::new(&parameters, ["A", "B", "M"].map(str::to_owned).into())
    }

    const NOW: Femtoseconds = Femtoseconds::ZERO;

    /// When a packet arrives that is ready then, both counted from the start of the run.
    fn arrival(
        matrix: &mut Matrix,
        ready: Femtoseconds,
        from: usize,
        to: usize,
        bytes: u32,
    ) -> Femtoseconds {
        matrix.arrival(Moment::START + ready, from, to, bytes) - Moment::START
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
