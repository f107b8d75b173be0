//! A run of tasks that exchange packets.

use cellworks_machine::CellMachine;

use super::graph::Graph;
use super::packets::{Exchange, ExchangeRun};
use super::ring::Ring;

impl ExchangeRun {
    /// Runs the tasks. Returns the time of a round of the slowest task, in nanoseconds.
    ///
    /// # Errors
    ///
    /// Returns the reason why the machine gave no result.
    ///
    /// # Panics
    ///
    /// Panics if there are no tasks.
    pub fn run<M: CellMachine>(&self, machine: &M) -> Result<f64, String> {
        match &self.exchange {
            Exchange::Ring {
                packet_bytes,
                one_way,
            } => Ring {
                packet_bytes: *packet_bytes,
                one_way: *one_way,
                of: self,
            }
            .run(machine),
            Exchange::Graph(edges) => Graph { edges, of: self }.run(machine),
        }
    }
}
