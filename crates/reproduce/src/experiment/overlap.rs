//! The comparison of CellMT's listings 7 to 9: a program of `apps`.

use cellworks_apps::{Buffering, Program};
use cellworks_machine::Machine;
use serde::Deserialize;

use super::{Outcome, failed};

/// A buffer that is changed block by block, with so much computation for each byte; see
/// [`cellworks_apps::Overlap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overlap {
    /// How transfers and computation follow each other.
    pub buffering: Way,
    /// Computation for each byte.
    #[serde(default)]
    pub cycles_per_byte: u64,
}

/// How transfers and computation follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// One after the other (listing 7).
    Single,
    /// The next block arrives meanwhile (listing 8).
    Double,
    /// As single, in so many threads (listing 9).
    Threads(usize),
}

/// Enough for each of 8 threads to have 8 blocks.
const BYTES: usize = 256 << 10;
const BLOCK_BYTES: usize = 4 << 10;

impl Overlap {
    /// The result is the time of a block and what the SPE moves.
    pub(super) fn run<M: Machine>(&self, machine: &M) -> Result<Outcome, String> {
        let program = cellworks_apps::Overlap {
            buffering: match self.buffering {
                Way::Single => Buffering::Single,
                Way::Double => Buffering::Double,
                Way::Threads(threads) => Buffering::Threads(threads),
            },
            spes: 1,
            bytes: BYTES,
            block_bytes: BLOCK_BYTES,
            cycles_per_byte: self.cycles_per_byte as f64,
        };
        // Its first result is the bandwidth.
        let bytes_per_s = program.run(machine).map_err(failed)?[0].value;
        Ok(Outcome {
            ns: BLOCK_BYTES as f64 / bytes_per_s * 1e9,
            bytes_per_s: Some(bytes_per_s),
        })
    }
}
