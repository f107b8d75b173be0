//! AES-128 encryption of a buffer in main memory, in the mode ECB (CellMT, section 4.4).

use aes::Aes128;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use cellworks_machine::{Cycles, Machine, Spe, Topology};
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::blocks::{
    Staging, USUAL_THREADS, change, check_bytes, check_cycles, cycles_of, room_for, shares,
};
use crate::deployment::Deployment;
use crate::error::{ParameterError, verify};
use crate::figure::{Figure, against, axis, counted};
use crate::gang::{self, check_spes};
use crate::picture::Draw;
use crate::{Done, Metric, Parts, Program, RunResult};

const CIPHER_BLOCK_BYTES: usize = 16;

/// The key, which does not influence the time.
const KEY: [u8; 16] = *b"a key of AES-128";

/// Encrypts a buffer by AES-128, block by block in local stores, as in listings 7 to 9 of CellMT.
///
/// The result is compared with the result of encrypting the whole buffer at once.
#[derive(Args, Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Aes {
    /// How blocks get to a local store and back.
    #[command(flatten)]
    #[serde(flatten)]
    pub staging: Staging,

    /// How many SPEs share the buffer, from SPE 0 on.
    #[arg(long, default_value = "1")]
    pub spes: usize,

    /// Bytes of the buffer, a multiple of 16.
    #[arg(long, default_value = "1m")]
    pub bytes: usize,

    /// Bytes that are staged at once, a multiple of 16.
    #[arg(long = "block", default_value = "4k")]
    pub block_bytes: usize,

    /// The cycles that a simulated SPU computes for each byte. Bos, Osvik and Stefan report 11.7
    /// cycles a byte for AES-128 ("Fast Implementations of AES on Various Platforms", 2009,
    /// abstract).
    #[arg(long, default_value = "11.7")]
    pub cycles_per_byte: f64,
}

const TIME: Metric = Metric::new("time", "ns");
const BANDWIDTH: Metric = Metric::new("bandwidth", "bytes/s");
const TAKEN: Metric = Metric::new("taken", "cycles/byte");

impl Program for Aes {
    const NAME: &'static str = "aes";
    const EXAMPLE: &'static str = "--buffering threads --threads 4 --block 4k";
    const METRICS: &'static [Metric] = &[TIME, BANDWIDTH, TAKEN];
    const PARTS: Parts =
        Parts::None("its SPEs change blocks of main memory and send nothing to each other");

    fn title(&self) -> String {
        let spes = counted(self.spes, "SPE");
        format!("aes, {}, {spes}", self.staging.title())
    }

    fn check(&self, topology: &Topology) -> Result<(), ParameterError> {
        const WHY: &str = "a block of AES";
        self.staging.check()?;
        check_spes(self.spes, topology)?;
        check_bytes("bytes", self.bytes, CIPHER_BLOCK_BYTES, WHY)?;
        check_bytes("block_bytes", self.block_bytes, CIPHER_BLOCK_BYTES, WHY)?;
        check_cycles(self.cycles_per_byte)
    }

    fn address_space_bytes(&self) -> usize {
        // The buffer, and the expected result of the same size.
        self.bytes.saturating_mul(2)
    }

    fn run_as<M: Machine>(&self, machine: &M, _: Draw<'_>, _: &mut Deployment) -> RunResult {
        self.check(machine.topology())?;
        let cipher = Aes128::new(&KEY.into());
        let mut buffer = room_for(self.bytes)?;
        text(&mut buffer);
        let mut expected = room_for(self.bytes)?;
        expected.extend_from_slice(&buffer);
        encrypt(&cipher, &mut expected);
        let parts = shares(&mut buffer, self.block_bytes, self.spes);
        let gang = gang::run(machine, Self::NAME, parts, |spe: &M::Spe, part| {
            let work = |block: &mut [u8]| {
                encrypt(&cipher, block);
                spe.compute(Cycles(cycles_of(block.len(), self.cycles_per_byte)));
            };
            change(spe, part, self.block_bytes, self.staging, &work)
        })?;
        let quantities = vec![
            TIME.measured(gang.span.as_nanoseconds_f64()),
            BANDWIDTH.measured(gang.bandwidth(self.bytes)),
            TAKEN.measured(gang.cycles_per_byte(self.bytes)),
        ];
        gang.results.into_iter().collect::<Result<(), _>>()?;
        verify(&buffer, &expected, "the cipher at once")?;
        Ok(quantities)
    }

    fn complete(chosen: Vec<Self>) -> Vec<Self> {
        Staging::complete(chosen, &[USUAL_THREADS], |one| &mut one.staging)
    }

    fn figures(done: &[Done<Self>]) -> Vec<Figure> {
        against(done, "Encrypted by all SPEs together", BANDWIDTH, axis)
    }
}

/// Fills a buffer so that its cipher blocks are unlikely to be equal.
fn text(buffer: &mut Vec<u8>) {
    let byte = |at: usize| (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
    buffer.extend((0..buffer.capacity()).map(|at| byte(at) as u8));
}

fn encrypt(cipher: &Aes128, bytes: &mut [u8]) {
    let (blocks, rest) = Array::slice_as_chunks_mut(bytes);
    assert!(rest.is_empty(), "buffers are multiples of a cipher's block");
    cipher.encrypt_blocks(blocks);
}
