//! Three ways to change a buffer block by block in a local store (CellMT, listings 7 to 9).
//!
//! ```text
//!   single    get 0 │ work 0 │ put 0 │ get 1 │ work 1 │ put 1 │ ...
//!
//!   double    get 0 │ work 0 │ work 1 │ work 2 │ ...
//!                   │ get 1  │ get 2  │ get 3  │
//!                            │ put 0  │ put 1  │
//!
//!   threads   like single, in several threads, each with a part of the buffer; while one thread
//!             waits for its transfer, another thread works
//! ```

use std::cell::Cell;

use cellworks_machine::{Spe, StageError};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::error::{ParameterError, ProgramError};
use crate::figure::counted;

/// How transfers and computation follow each other: as in listings 7, 8 and 9.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Buffering {
    /// get, compute and put each block, one after the other
    Single,
    /// the next block arrives while the present one is computed
    Double,
    /// as single, in several cooperative threads of each SPE
    Threads,
}

/// How blocks get to a local store and back.
#[derive(Args, Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Staging {
    /// How transfers and computation follow each other.
    #[arg(long, value_enum, default_value = "single,double,threads")]
    pub buffering: Buffering,

    /// Threads of each SPE, with --buffering threads [default: 4]
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
}

impl Staging {
    pub(crate) fn title(self) -> String {
        match self.buffering {
            Buffering::Single => "single buffering".to_owned(),
            Buffering::Double => "double buffering".to_owned(),
            Buffering::Threads => counted(self.threads(), "thread"),
        }
    }

    pub(crate) fn check(self) -> Result<(), ParameterError> {
        let parameter = "threads";
        match self.threads {
            Some(_) if self.buffering != Buffering::Threads => Err(ParameterError::Refused {
                parameter,
                why: format!(
                    "{} has no threads; leave them out, or choose the buffering `threads`",
                    self.title()
                ),
            }),
            Some(0) => Err(ParameterError::Zero {
                parameter,
                noun: "threads",
            }),
            _ => Ok(()),
        }
    }

    /// Completes the parameter `threads` of each program. A program with the buffering `threads`
    /// but without a number of threads becomes one program for each number in `usual`. If at least
    /// one program has this buffering, all programs with another buffering lose their number of
    /// threads.
    pub(crate) fn complete<P: Clone>(
        mut chosen: Vec<P>,
        usual: &[usize],
        staging: fn(&mut P) -> &mut Self,
    ) -> Vec<P> {
        let is_threads = |one: &mut P| staging(one).buffering == Buffering::Threads;
        let some_have_threads = chosen.iter_mut().any(is_threads);
        let mut all = Vec::with_capacity(chosen.len());
        for mut one in chosen {
            if is_threads(&mut one) && staging(&mut one).threads.is_none() {
                for threads in usual {
                    staging(&mut one).threads = Some(*threads);
                    all.push(one.clone());
                }
                continue;
            }
            if some_have_threads && !is_threads(&mut one) {
                staging(&mut one).threads = None;
            }
            all.push(one);
        }
        all
    }

    fn threads(self) -> usize {
        self.threads.unwrap_or(USUAL_THREADS)
    }
}

pub(crate) const USUAL_THREADS: usize = 4;

pub(crate) fn change<S: Spe>(
    spe: &S,
    part: &mut [u8],
    block_bytes: usize,
    staging: Staging,
    work: &impl Fn(&mut [u8]),
) -> Result<(), ProgramError> {
    match staging.buffering {
        Buffering::Single => Ok(single(spe, part, block_bytes, work)?),
        Buffering::Double => Ok(double(spe, part, block_bytes, work)?),
        Buffering::Threads => in_threads(spe, part, block_bytes, staging.threads(), work),
    }
}

fn single<S: Spe>(
    spe: &S,
    part: &mut [u8],
    block_bytes: usize,
    work: &impl Fn(&mut [u8]),
) -> Result<(), StageError> {
    for block in part.chunks_mut(block_bytes) {
        let mut view = spe.stage_mut(block)?;
        work(&mut view);
        view.commit();
    }
    Ok(())
}

/// Changes the blocks of one thread without waiting for puts, because the MFC orders the next get
/// behind the put (`mfc_getb` in the listings). A wait would let other threads run before this get.
fn of_thread<S: Spe>(
    spe: &S,
    part: &mut [u8],
    block_bytes: usize,
    work: &impl Fn(&mut [u8]),
) -> Result<(), StageError> {
    let mut blocks = part.chunks_mut(block_bytes).peekable();
    while let Some(block) = blocks.next() {
        let mut view = spe.stage_mut(block)?;
        work(&mut view);
        if blocks.peek().is_some() {
            drop(view);
        } else {
            view.commit();
        }
    }
    Ok(())
}

fn double<S: Spe>(
    spe: &S,
    part: &mut [u8],
    block_bytes: usize,
    work: &impl Fn(&mut [u8]),
) -> Result<(), StageError> {
    let mut blocks = part.chunks_mut(block_bytes);
    let Some(first) = blocks.next() else {
        return Ok(());
    };
    let mut ahead = spe.stage_mut_ahead(first)?;
    for block in blocks {
        let next = spe.stage_mut_ahead(block)?;
        let mut view = std::mem::replace(&mut ahead, next).wait();
        work(&mut view);
        // Dropping the view starts the put of the block, without waiting.
        drop(view);
    }
    let mut last = ahead.wait();
    work(&mut last);
    // Committing the view waits for all puts.
    last.commit();
    Ok(())
}

fn in_threads<S: Spe>(
    spe: &S,
    part: &mut [u8],
    block_bytes: usize,
    threads: usize,
    work: &impl Fn(&mut [u8]),
) -> Result<(), ProgramError> {
    let shares: Vec<_> = shares(part, block_bytes, threads)
        .into_iter()
        .map(|share| Cell::new(Some(share)))
        .collect();
    let failed = Cell::new(None);
    spe.threads(threads, |thread| {
        let share = shares[thread.0].take().unwrap_or_default();
        if let Err(error) = of_thread(spe, share, block_bytes, work) {
            failed.set(Some(error.into()));
        }
    })?;
    failed.take().map_or(Ok(()), Err)
}

/// Cuts the buffer into `count` nearly equal shares of blocks. Only the last block may be short.
pub(crate) fn shares(mut buffer: &mut [u8], block_bytes: usize, count: usize) -> Vec<&mut [u8]> {
    let blocks = buffer.len().div_ceil(block_bytes);
    let mut shares = Vec::with_capacity(count);
    for share in 0..count {
        let of_share = blocks * (share + 1) / count - blocks * share / count;
        let bytes = (of_share * block_bytes).min(buffer.len());
        let (taken, rest) = buffer.split_at_mut(bytes);
        shares.push(taken);
        buffer = rest;
    }
    shares
}

pub(crate) fn room_for(bytes: usize) -> Result<Vec<u8>, ParameterError> {
    let mut buffer = Vec::new();
    buffer
        .try_reserve_exact(bytes)
        .map_err(|_| ParameterError::no_memory("bytes", bytes))?;
    Ok(buffer)
}

pub(crate) fn check_bytes(
    parameter: &'static str,
    bytes: usize,
    of: usize,
    why: &'static str,
) -> Result<(), ParameterError> {
    if bytes == 0 {
        return Err(ParameterError::Zero {
            parameter,
            noun: "bytes",
        });
    }
    if !bytes.is_multiple_of(of) {
        let nearest = bytes.next_multiple_of(of);
        return Err(ParameterError::Multiple {
            parameter,
            bytes,
            of,
            why,
            nearest,
        });
    }
    Ok(())
}

const CYCLES_PER_BYTE_MAX: f64 = 1e6;

pub(crate) fn check_cycles(cycles_per_byte: f64) -> Result<(), ParameterError> {
    if (0.0..=CYCLES_PER_BYTE_MAX).contains(&cycles_per_byte) {
        return Ok(());
    }
    Err(ParameterError::Cycles {
        value: cycles_per_byte,
    })
}

pub(crate) fn cycles_of(bytes: usize, cycles_per_byte: f64) -> u64 {
    (bytes as f64 * cycles_per_byte).round() as u64
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn shares_are_of_whole_blocks_and_even() {
        let lengths = |bytes: usize, block, count| -> Vec<usize> {
            let mut buffer = vec![0; bytes];
            let all = shares(&mut buffer, block, count);
            all.iter().map(|share| share.len()).collect()
        };
        assert_eq!(lengths(64, 16, 2), [32, 32]);
        assert_eq!(lengths(80, 16, 2), [32, 48]);
        assert_eq!(lengths(72, 16, 2), [32, 40]);
        assert_eq!(lengths(32, 16, 3), [0, 16, 16]);
        assert_eq!(lengths(0, 16, 2), [0, 0]);
    }
}
