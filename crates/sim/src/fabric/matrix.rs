//! Measured one-way times: between two SPEs the head of a packet takes what was measured, and packets meet
//! only at the ports.

use super::{ports::Ports, ps_fs};
use crate::{Matrix as Parameters, ResourceCounters};

/// An interconnect of which one-way times were measured.
#[derive(Debug)]
pub(super) struct Matrix {
    /// By the SPE that sends and the one that receives.
    one_way_fs: Vec<Vec<u64>>,
    to_memory_fs: u64,
    ports: Ports,
}

impl Matrix {
    /// An idle interconnect between elements with these names: first the SPEs in the order of their ids,
    /// then the others.
    pub fn new(parameters: &Parameters, elements: Vec<String>) -> Self {
        let row_fs = |row: &Vec<u64>| row.iter().map(|ps| ps * 1_000).collect();
        Self {
            one_way_fs: parameters.one_way_ps.iter().map(row_fs).collect(),
            to_memory_fs: ps_fs(&parameters.to_memory_ps),
            ports: Ports::new(elements, parameters.port_bytes_per_s.value),
        }
    }

    /// How long the head of a packet takes, by the indices of the elements.
    pub fn latency_fs(&self, from: usize, to: usize) -> u64 {
        let measured = self.one_way_fs.get(from).and_then(|row| row.get(to));
        measured.copied().unwrap_or(self.to_memory_fs)
    }

    /// When the last byte of a packet arrives that is ready at a time, by the indices of the elements.
    ///
    /// Packets are served in the order of the calls, which must be that of the times at which they are
    /// ready.
    pub fn arrival_fs(&mut self, ready_fs: u64, from: usize, to: usize, bytes: u32) -> u64 {
        let latency_fs = self.latency_fs(from, to);
        self.ports.arrival_fs(ready_fs, from, to, bytes, latency_fs)
    }

    /// What each port has carried.
    pub fn resources(&self) -> impl Iterator<Item = ResourceCounters> {
        self.ports.resources()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Quantity;

    const NS: u64 = 1_000_000;

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

    #[test]
    fn each_way_takes_what_was_measured_and_the_body() {
        assert_eq!(matrix().arrival_fs(0, 0, 1, 128), 48 * NS);
        assert_eq!(matrix().arrival_fs(0, 1, 0, 128), 68 * NS);
        assert_eq!(matrix().arrival_fs(0, 0, 0, 16), 2 * NS);
    }

    #[test]
    fn to_memory_and_back_is_the_same() {
        assert_eq!(matrix().arrival_fs(3 * NS, 1, 2, 128), 31 * NS);
        assert_eq!(matrix().arrival_fs(3 * NS, 2, 1, 128), 31 * NS);
    }

    #[test]
    fn packets_meet_at_a_port() {
        let mut matrix = matrix();
        assert_eq!(matrix.arrival_fs(0, 0, 2, 128), 28 * NS);
        assert_eq!(matrix.arrival_fs(0, 1, 2, 128), 36 * NS);
        assert_eq!(matrix.resources().map(|port| port.packets).sum::<u64>(), 4);
    }
}
