//! SPEs that keep several blocks under way, as in cellmark's bandwidth tests.

use cellworks_apps::exchange::gather::{address, gather, join, prepare, send_address};
use cellworks_machine::mfc::{EffectiveAddress, LsAddr, RawCommand, Tag};
use cellworks_machine::{CellMachine, CellSpe, LocalBuffer, Mfc, ModuleId, SpeId};
use serde::Deserialize;

use super::outcome::{SimulationResults, check_spes, failed};

/// SPEs that move blocks between their local stores and main memory, or the local stores of other
/// SPEs. Each SPE keeps several blocks under way. The result is the bandwidth of all SPEs together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// The SPEs that move blocks.
    pub spes: Vec<u16>,
    /// The SPEs that lend local stores, one for each moving SPE. Empty for main memory.
    #[serde(default)]
    pub lenders: Vec<u16>,
    /// Whether the SPEs put blocks. Otherwise they get blocks.
    #[serde(default)]
    pub put: bool,
    /// The bytes of a block: a multiple of 16, up to 16,384.
    pub block_bytes: u32,
    /// The number of blocks that an SPE keeps under way.
    pub in_flight: u32,
}

/// The number of bytes that each SPE moves before the timed part, and also after it.
const EDGE_BYTES: u32 = 128 << 10;
const TIMED_BYTES: u32 = 512 << 10;
/// The size of the window for blocks, in main memory or in a lender's local store.
const WINDOW_BYTES: u32 = 64 << 10;
/// The largest number of blocks under way: the number of tags that libspe2 leaves to programs.
const IN_FLIGHT_MAX: u32 = 8;

impl Stream {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.spes.is_empty() {
            return Err("its stream has no SPEs; name at least one".to_owned());
        }
        if !self.lenders.is_empty() && self.lenders.len() != self.spes.len() {
            return Err(format!(
                "its stream has {} SPEs and {} lenders; name one for each SPE, or none",
                self.spes.len(),
                self.lenders.len()
            ));
        }
        let bytes = self.block_bytes;
        if !matches!(bytes, 16..=16_384) || !WINDOW_BYTES.is_multiple_of(bytes) {
            return Err(format!(
                "a block of {bytes} bytes: a stream moves powers of 2 from 16 to 16,384"
            ));
        }
        if !(1..=IN_FLIGHT_MAX).contains(&self.in_flight) {
            return Err(format!(
                "{} blocks in flight: a stream has 1 to {IN_FLIGHT_MAX}",
                self.in_flight
            ));
        }
        Ok(())
    }

    pub(super) fn run<M: CellMachine>(&self, machine: &M) -> Result<SimulationResults, String> {
        let mut all: Vec<u16> = self.spes.iter().chain(&self.lenders).copied().collect();
        all.sort_unstable();
        all.dedup();
        check_spes(machine, 1 + usize::from(all[all.len() - 1]))?;
        let all: Vec<SpeId> = all.into_iter().map(SpeId::new).collect();
        let memory = machine
            .allocate(ModuleId::new(0), self.spes.len() * WINDOW_BYTES as usize)
            .map_err(failed)?;
        let place_of = |spe: u16| {
            let place = all.iter().position(|other| *other == SpeId::new(spe));
            place.expect("all has each SPE")
        };
        machine
            .run(|ppe| {
                let programs: Vec<_> = all
                    .iter()
                    .map(|spe| {
                        let moves = self.spes.iter().any(|other| SpeId::new(*other) == *spe);
                        ppe.spawn(*spe, move |spe| self.program(spe, moves))
                    })
                    .collect();
                let windows = gather(ppe, &all);
                for (at, spe) in self.spes.iter().enumerate() {
                    let far_end = match self.lenders.get(at) {
                        Some(lender) => windows[place_of(*lender)],
                        None => memory.at(at * WINDOW_BYTES as usize),
                    };
                    send_address(ppe, SpeId::new(*spe), far_end);
                }
                let rates = join(programs)?;
                let together: f64 = rates.into_iter().flatten().sum();
                Ok(SimulationResults {
                    ns: f64::from(self.block_bytes) / together * 1e9,
                    bytes_per_s: Some(together),
                })
            })
            .map_err(failed)?
    }

    /// Lends a window of the local store. If `moves`, moves blocks and returns the bytes a second.
    fn program<S: CellSpe>(&self, spe: &S, moves: bool) -> Result<Option<f64>, String> {
        let own = self.block_bytes * self.in_flight;
        let room = spe.local_store().reserve(
            (WINDOW_BYTES + own) as usize,
            128,
            "the window that is lent, and the blocks under way",
        );
        let room = prepare(spe, room, |room: &LocalBuffer| {
            spe.local_store().effective(room.address())
        })?;
        if !moves {
            return Ok(None);
        }
        let far_end = address(spe);
        let blocks = LsAddr(room.address().0 + WINDOW_BYTES);
        self.move_blocks(spe, blocks, far_end).map(Some)
    }

    fn move_blocks<S: CellSpe>(
        &self,
        spe: &S,
        blocks: LsAddr,
        far_end: EffectiveAddress,
    ) -> Result<f64, String> {
        let mfc = spe.mfc();
        let edge = (EDGE_BYTES / self.block_bytes).max(self.in_flight);
        let timed = TIMED_BYTES / self.block_bytes;
        let tag = |block: u32| Tag::new(block % self.in_flight).expect("there are enough tags");
        let issue = |block: u32| {
            let near = LsAddr(blocks.0 + block % self.in_flight * self.block_bytes);
            let far = far_end + u64::from(block * self.block_bytes % WINDOW_BYTES);
            let command = if self.put {
                RawCommand::put(near, far, self.block_bytes, tag(block))
            } else {
                RawCommand::get(near, far, self.block_bytes, tag(block))
            };
            mfc.issue(command).map_err(failed)
        };
        for block in 0..self.in_flight {
            issue(block)?;
        }
        let (mut begin, mut end) = (spe.now(), spe.now());
        for block in 0..edge + timed + edge {
            mfc.wait_all(tag(block).mask());
            issue(block + self.in_flight)?;
            // The edges are not timed, because SPEs begin and end at different times.
            if block + 1 == edge {
                begin = spe.now();
            }
            if block + 1 == edge + timed {
                end = spe.now();
            }
        }
        (0..self.in_flight).for_each(|block| mfc.wait_all(tag(block).mask()));
        let moved = f64::from(timed * self.block_bytes);
        Ok(moved / end.since(begin).as_seconds_f64())
    }
}
