//! Measured one-way times: between two SPEs the head of a packet takes what was measured, and
//! packets meet only at the ports.
//!
//! What was measured is an exchange of a line between two caches, and has all of it in it. So a line
//! between caches takes as much less as the machine takes for the rest: then the same exchange takes
//! what was measured.

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
    /// What is measured with a line between caches beside its way.
    beside: Femtoseconds,
    ports: Ports,
}

impl Matrix {
    /// An idle interconnect between elements with these names: first the SPEs in the order of their
    /// ids, then the others.
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

    /// How long the head of a packet takes, by the indices of the elements.
    pub fn latency(&self, from: usize, to: usize) -> Femtoseconds {
        let measured = self.one_way.get(from).and_then(|row| row.get(to));
        measured.copied().unwrap_or(self.to_memory)
    }

    /// When the last byte of a packet arrives that is ready at a time, by the indices of the
    /// elements from which and to which it goes.
    ///
    /// Packets are served in the order of the calls, which must be that of the times at which they
    /// are ready.
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
        Matrix::new(
            &parameters,
            9 * NS,
            ["A", "B", "M"].map(str::to_owned).into(),
        )
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
        matrix.arrival(Moment::START + ready, [from, to], bytes, false) - Moment::START
    }

    #[test]
    fn a_line_between_caches_takes_less_because_its_time_was_measured_with_the_rest() {
        let line =
            |from, to| matrix().arrival(Moment::START, [from, to], 128, true) - Moment::START;
        assert_eq!(line(0, 1), 39 * NS);
        // Never less than its body.
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
