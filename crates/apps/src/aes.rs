//! AES-128 of a buffer in main memory (CellMT, section 4.4).

use aes::Aes128;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use cellworks_machine::{Cycles, Machine, Spe, Topology};

use crate::blocks::{Buffering, change, check_bytes, check_cycles, cycles_of, shares};
use crate::error::verify;
use crate::figure::{axis, counted};
use crate::gang::{self, check_spes};
use crate::{
    Done, Figure, ParameterError, Parameters, Program, ProgramError, Quantity, Value, against,
};

/// What AES-128 takes on an SPU to encrypt a byte, in cycles: Bos, Osvik, Stefan, "Fast Implementations of
/// AES on Various Platforms", 2009, abstract.
pub const SPU_AES_CYCLES_PER_BYTE: f64 = 11.7;

/// A block of the cipher.
const CIPHER_BLOCK_BYTES: usize = 16;

/// Any key will do: the time does not depend on it.
const KEY: [u8; 16] = *b"a key of AES-128";

/// Encrypts a buffer in main memory by AES-128 in the mode ECB, split over SPEs, each block staged to a local store
/// and put back. The result is compared with what the cipher makes of the whole buffer at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aes {
    /// How transfers and computation follow each other.
    pub buffering: Buffering,
    /// How many SPEs, from SPE 0 on.
    pub spes: usize,
    /// Of the buffer, a multiple of 16.
    pub bytes: usize,
    /// What is staged at once, a multiple of 16.
    pub block_bytes: usize,
    /// What a simulated SPU computes for each byte; a real processor takes the time that it takes.
    pub cycles_per_byte: f64,
}

impl Program for Aes {
    const NAME: &'static str = "aes";

    fn title(&self) -> String {
        let spes = counted(self.spes, "SPE");
        format!("aes, {}, {spes}", self.buffering.title())
    }

    fn parameters(&self) -> Parameters {
        let mut parameters: Parameters = self.buffering.parameters().collect();
        parameters.extend([
            ("spes", Value::Count(self.spes as u64)),
            ("bytes", Value::Count(self.bytes as u64)),
            ("block_bytes", Value::Count(self.block_bytes as u64)),
            ("cycles_per_byte", Value::Number(self.cycles_per_byte)),
        ]);
        parameters
    }

    fn check(&self, topology: &Topology) -> Result<(), ParameterError> {
        const WHY: &str = "a block of AES";
        self.buffering.check()?;
        check_spes(self.spes, topology)?;
        check_bytes("bytes", self.bytes, CIPHER_BLOCK_BYTES, WHY)?;
        check_bytes("block_bytes", self.block_bytes, CIPHER_BLOCK_BYTES, WHY)?;
        check_cycles(self.cycles_per_byte)
    }

    fn run<M: Machine>(&self, machine: &M) -> Result<Vec<Quantity>, ProgramError> {
        self.check(machine.topology())?;
        let cipher = Aes128::new(&KEY.into());
        let mut buffer = text(self.bytes);
        let mut expected = buffer.clone();
        encrypt(&cipher, &mut expected);
        let parts = shares(&mut buffer, self.block_bytes, self.spes);
        let gang = gang::run(machine, parts, |spe: &M::Spe, part| {
            let work = |block: &mut [u8]| {
                encrypt(&cipher, block);
                spe.compute(Cycles(cycles_of(block.len(), self.cycles_per_byte)));
            };
            change(spe, part, self.block_bytes, self.buffering, &work)
        })?;
        let quantities = vec![
            Quantity {
                name: "time",
                value: gang.span.as_nanoseconds_f64(),
                unit: "ns",
            },
            Quantity {
                name: "bandwidth",
                value: gang.bandwidth(self.bytes),
                unit: "bytes/s",
            },
            Quantity {
                name: "taken",
                value: gang.cycles_per_byte(self.bytes),
                unit: "cycles/byte",
            },
        ];
        gang.results.into_iter().collect::<Result<(), _>>()?;
        verify(&buffer, &expected, "the cipher at once")?;
        Ok(quantities)
    }

    fn figures(done: &[Done<Self>]) -> Vec<Figure> {
        against(done, "Encrypted by all SPEs together", "bandwidth", axis)
    }
}

/// Bytes without a period that a block could have.
fn text(bytes: usize) -> Vec<u8> {
    let byte = |at: usize| (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
    (0..bytes).map(|at| byte(at) as u8).collect()
}

/// Encrypts whole blocks of the cipher.
fn encrypt(cipher: &Aes128, bytes: &mut [u8]) {
    let (blocks, rest) = Array::slice_as_chunks_mut(bytes);
    assert!(rest.is_empty(), "buffers are multiples of a cipher's block");
    cipher.encrypt_blocks(blocks);
}
