//! Measuring, as section 3.2 of the paper lays it out, written once for all machines.
//!
//! ```text
//!   PPE                                         each SPE
//!   writes a control block for each SPE
//!   spawns its program ───────────────────────► gets its control block by DMA
//!   waits for all     ◄── outbound mailbox ──── READY
//!   n iterations      ─── inbound mailbox ────► a timed loop of n: the start gate
//!   waits for all     ◄── outbound mailbox ──── the loop's microseconds
//!     ... again until warm, then with the iterations that count
//!   END               ─── inbound mailbox ────► verifies, returns the last loop
//!   joins, verifies
//! ```
//!
//! Warming up and measuring run the same code, and every loop starts with all SPEs waiting at the
//! gate, so that they overlap. Two things differ from the paper. Times are points on the clock that
//! all SPEs of a run share, not ticks of each one's decrementer, because aggregate bandwidth needs
//! the first start and the last end. And the loop's samples come back as the program's result,
//! because a mailbox word cannot hold them.

mod atomic;
mod chase;
mod copy;
mod crew;
mod exchange;
mod pattern;
mod threads;
mod transfer;
mod wake_up;

use bytemuck::{Pod, Zeroable};
use cellworks_machine::memory::{LINE_BYTES, Region};
use cellworks_machine::mfc::{EffectiveAddress, RawCommand, Tag};
use cellworks_machine::{Machine, Mfc, ModuleId, Spe};

use crate::error::{MeasureError, SpeError};
use crate::report::Measurement;
use crate::request::{Plan, Task};
use crate::sample::{TimedLoop, from_first_to_last, latency};

/// Runs a measurement on the machine for which it was planned.
///
/// # Errors
///
/// [`MeasureError`] if memory or local store is exhausted, the run failed, or the operations did not
/// do what they should have done.
///
/// # Panics
///
/// If the plan was made for another topology and names an SPE that the machine does not have.
pub fn measure<M: Machine>(machine: &M, plan: &Plan) -> Result<Measurement, MeasureError> {
    let outcome = match &plan.task {
        Task::Threads { spes } => threads::measure(machine, plan, spes),
        Task::Exchange {
            channel,
            between_spes,
            partners,
        } => exchange::measure(machine, plan, *channel, *between_spes, partners),
        Task::Transfer(task) => transfer::measure(machine, plan, task),
        Task::Atomic(task) => atomic::measure(machine, plan, task),
        Task::WakeUp {
            between_spes,
            partners,
        } => wake_up::measure(machine, plan, *between_spes, partners),
        Task::Copy(task) => copy::measure(machine, plan, task),
        Task::Chase(task) => chase::measure(machine, plan, task),
    }?;
    let (latency_ns, samples, outliers) = latency(&outcome.loops, outcome.operations_per_iteration);
    let seconds = from_first_to_last(&outcome.loops).as_seconds_f64();
    let moved: u128 = outcome
        .loops
        .iter()
        .map(|one| u128::from(one.iterations) * outcome.bytes_per_iteration as u128)
        .sum();
    Ok(Measurement {
        function: plan.function(),
        parameters: plan.parameters().clone(),
        iterations: outcome.loops[0].iterations.into(),
        rounds: 1,
        samples,
        outliers,
        latency_ns,
        median_interval_ns: None,
        bandwidth_bytes_per_s: (moved > 0 && seconds > 0.0)
            .then_some((moved as f64 / seconds) as u64),
        samples_ns: None,
    })
}

/// What was timed.
struct Outcome {
    /// The loop of each processor that had one; at least one.
    loops: Vec<TimedLoop>,
    operations_per_iteration: usize,
    bytes_per_iteration: usize,
}

/// What the PPE tells an SPE about its work.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
struct ControlBlock {
    /// Where its buffer or variable is.
    ea: u64,
    /// Bytes in a block or in an element of a list; words in a variable.
    size: u32,
    /// Elements in a list; 0 for a single block.
    list_elements: u32,
    /// Which buffer it is, so that no two have the same content.
    buffer: u32,
    /// The SPE's position among those that work.
    position: u32,
    /// A DMA command moves a multiple of 16 bytes.
    padding: [u32; 2],
}

/// The distance between control blocks: each has lines of its own.
const CONTROL_BLOCK_STRIDE_BYTES: usize = LINE_BYTES;

/// The tag group of all measured transfers.
const TAG: Tag = Tag::of::<0>();

/// The PPE's side of the control blocks: a region that holds one for each SPE.
fn control_blocks<M: Machine>(
    machine: &M,
    module: ModuleId,
    blocks: impl ExactSizeIterator<Item = ControlBlock>,
) -> Result<Region, MeasureError> {
    let region = machine.allocate(module, blocks.len() * CONTROL_BLOCK_STRIDE_BYTES)?;
    for (position, block) in blocks.enumerate() {
        region.write(
            position * CONTROL_BLOCK_STRIDE_BYTES,
            bytemuck::bytes_of(&block),
        );
    }
    Ok(region)
}

/// The SPE's side: gets its control block by DMA.
fn receive<S: Spe>(spe: &S, from: EffectiveAddress) -> Result<ControlBlock, SpeError> {
    let bytes = size_of::<ControlBlock>();
    let buffer = spe
        .local_store()
        .reserve(bytes, LINE_BYTES as u32, "the control block")?;
    spe.mfc()
        .issue(RawCommand::get(buffer.address(), from, bytes as u32, TAG))?;
    spe.mfc().wait_all(TAG.mask());
    let mut block = ControlBlock::zeroed();
    spe.local_store()
        .read(buffer.address(), bytemuck::bytes_of_mut(&mut block));
    Ok(block)
}
