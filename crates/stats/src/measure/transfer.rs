//! `dmaget`, `dmaput` and their lists: moving blocks between a local store and main memory or the
//! local store of SPE 0 (section 3.1.4). An operation issues commands and waits for their end.
//!
//! ```text
//!   a block up to 16 KB       a larger block                   a list
//!   one command               commands of 16 KB that share     one list command
//!   ┌──────┐                  a window of 64 KB                ┌──┬──┬──┬──┐
//!   └──────┘                  ┌──────┬──────┬──────┬──────┐    └──┴──┴──┴──┘
//!                             └──────┴──────┴──────┴──────┘    a list element: 8 bytes
//! ```

use cellworks_machine::mailbox::Outbound;
use cellworks_machine::memory::{LINE_BYTES, Region};
use cellworks_machine::mfc::{
    Direction, EffectiveAddress, LIST_ELEMENT_BYTES, ListElement, LsAddr, MAX_TRANSFER_BYTES,
    RawCommand,
};
use cellworks_machine::{CellMachine, CellSpe, LocalBuffer, LocalStore, Mfc, Ppe, SpeId};

use super::control_block::{CONTROL_BLOCK_STRIDE_BYTES, ControlBlock, TAG, control_blocks};
use super::crew::{Crew, Work, work};
use super::outcome::Outcome;
use super::pattern::Pattern;
use super::region::allocate;
use crate::error::{MeasureError, SpeError, Untrusted};
use crate::plan::Plan;
use crate::plan::layout::{Layout, Shape, WINDOW_BYTES};
use crate::plan::transfer::TransferTask;
use crate::program::join;
use crate::sample::TimedLoop;

pub(super) fn measure<M: CellMachine>(
    machine: &M,
    plan: &Plan,
    task: &TransferTask,
) -> Result<Outcome, MeasureError> {
    match task.lender {
        Some(lender) => {
            let loops = machine.run(|ppe| between_spes(machine, ppe, plan, task, lender))??;
            Ok(outcome(task, loops))
        }
        None => {
            let page_bytes = plan.parameters().settings.page_bytes;
            let bytes = task.layout.span_bytes();
            let region = allocate(machine, plan.module, bytes, page_bytes)?;
            let outcome = in_region(machine, plan, task, region.clone())?;
            Ok(Outcome {
                huge_page_share: page_bytes.and_then(|_| machine.huge_page_share(&region)),
                ..outcome
            })
        }
    }
}

/// Measures as [`measure`] does, with the buffers in `region`.
pub(super) fn in_region<M: CellMachine>(
    machine: &M,
    plan: &Plan,
    task: &TransferTask,
    region: Region,
) -> Result<Outcome, MeasureError> {
    let buffers = Buffers {
        region,
        start: 0,
        layout: task.layout,
        _lent: None,
    };
    buffers.fill(task.direction);
    let from = buffers.region.at(buffers.start);
    let loops = machine.run(|ppe| run(machine, ppe, plan, task, from))??;
    buffers.verify(task.direction)?;
    Ok(outcome(task, loops))
}

fn outcome(task: &TransferTask, loops: Vec<Vec<TimedLoop>>) -> Outcome {
    Outcome {
        loops,
        operations_per_iteration: 1,
        bytes_per_iteration: task.shape.bytes(),
        ..Outcome::default()
    }
}

/// Measures how SPEs move their buffers. `buffers` is the effective address of the first buffer.
fn run<'scope, M: CellMachine>(
    machine: &M,
    ppe: &'scope Ppe<'scope, '_, M>,
    plan: &Plan,
    task: &TransferTask,
    buffers: EffectiveAddress,
) -> Result<Vec<Vec<TimedLoop>>, MeasureError> {
    let (size, list_elements) = match task.shape {
        Shape::Block { bytes } => (bytes as u32, 0),
        Shape::List {
            elements,
            element_bytes,
        } => (element_bytes, elements),
    };
    let blocks = (0..task.spes.len()).map(|position| ControlBlock {
        ea: (buffers + task.layout.offset(position) as u64).0,
        size,
        list_elements,
        buffer: task.layout.buffer_of(position) as u32,
        spes: task.spes.len() as u32,
        ..ControlBlock::default()
    });
    let region = control_blocks(machine, plan.module, blocks)?;
    let direction = task.direction;
    let spawn = |(position, spe)| {
        let block = region.at(position * CONTROL_BLOCK_STRIDE_BYTES);
        ppe.spawn_named(spe, plan.function().name(), move |spe| {
            work(spe, block, |spe, block| Mover::new(spe, block, direction))
        })
    };
    let programs = task.spes.iter().copied().enumerate().map(spawn).collect();
    let results = Crew::measure(ppe, &plan.pace, programs)?;
    Ok(results.into_iter().map(|(rounds, ())| rounds).collect())
}

/// Runs the measurement with the buffers in the local store of `lender`, which moves no data.
fn between_spes<'scope, M: CellMachine>(
    machine: &M,
    ppe: &'scope Ppe<'scope, '_, M>,
    plan: &Plan,
    task: &TransferTask,
    lender: SpeId,
) -> Result<Vec<Vec<TimedLoop>>, MeasureError> {
    let (direction, layout) = (task.direction, task.layout);
    let lend = move |spe: &M::Spe| lend(spe, direction, layout);
    let program = ppe.spawn_named(lender, "lender", lend);
    if ppe.read_out_mbox(lender, Outbound::Plain) == NOTHING_LENT {
        join(program)?;
        unreachable!("a program that has nothing to lend returns why");
    }
    let halves = [(); 2].map(|()| ppe.read_out_mbox(lender, Outbound::Plain));
    let buffers = EffectiveAddress::from_halves(halves[0], halves[1]);
    let loops = run(machine, ppe, plan, task, buffers);
    ppe.write_in_mbox(lender, RETURN);
    let lent = join(program);
    let loops = loops?;
    lent?;
    Ok(loops)
}

/// A word in the outbound mailbox of the lending SPE: the next two words are the effective address
/// of the buffers, upper half first.
const LENT: u32 = 1;
/// A word in the outbound mailbox of the lending SPE: the program has failed.
const NOTHING_LENT: u32 = 0;
/// A word in the inbound mailbox of the lending SPE: the lent memory is no longer used.
const RETURN: u32 = 1;

/// Lends a part of this SPE's local store until the PPE returns it.
fn lend<S: CellSpe>(spe: &S, direction: Direction, layout: Layout) -> Result<(), SpeError> {
    let send = |word| spe.write_out_mbox(Outbound::Plain, word);
    let store = spe.local_store();
    let lent = store.reserve(
        layout.span_bytes(),
        LINE_BYTES as u32,
        "what other SPEs access",
    );
    let buffers = match lent {
        Ok(lent) => Buffers {
            region: store.region().clone(),
            start: lent.address().0 as usize,
            layout,
            _lent: Some(lent),
        },
        Err(no_room) => {
            send(NOTHING_LENT);
            return Err(no_room.into());
        }
    };
    buffers.fill(direction);
    let ea = buffers.region.at(buffers.start);
    send(LENT);
    send(ea.eah());
    send(ea.eal());
    spe.read_in_mbox();
    Ok(buffers.verify(direction)?)
}

/// The buffers in main memory or in the local store of the lending SPE. The other end of each
/// transfer is in the local store of the SPE that moves data.
struct Buffers {
    region: Region,
    start: usize,
    layout: Layout,
    /// The reserved memory of the buffers if they are in a local store.
    _lent: Option<LocalBuffer>,
}

impl Buffers {
    /// Fills the buffers: before gets, with the pattern that the SPEs expect, and before puts, with
    /// the opposite pattern, so that a put without an effect is noticed.
    fn fill(&self, direction: Direction) {
        for index in 0..self.layout.buffers {
            let pattern = Pattern::of_buffer(index as u32);
            let content = match direction {
                Direction::Get => pattern,
                Direction::Put => pattern.opposite(),
            };
            let start = self.start + self.layout.stride * index;
            content.fill(0, self.layout.bytes, |at, bytes| {
                self.region.write(start + at, bytes)
            });
        }
    }

    /// Verifies the data that puts moved into the buffers. The SPEs verify the data of gets.
    fn verify(&self, direction: Direction) -> Result<(), Untrusted> {
        if direction == Direction::Get {
            return Ok(());
        }
        for index in 0..self.layout.buffers {
            let start = self.start + self.layout.stride * index;
            let read = |at, into: &mut [u8]| self.region.read(start + at, into);
            Pattern::of_buffer(index as u32).verify(0, self.layout.bytes, "memory", read)?;
        }
        Ok(())
    }
}

struct Mover {
    direction: Direction,
    ea: EffectiveAddress,
    shape: Shape,
    data: LocalBuffer,
    list: Option<LocalBuffer>,
    pattern: Pattern,
}

impl Mover {
    fn new<S: CellSpe>(
        spe: &S,
        block: ControlBlock,
        direction: Direction,
    ) -> Result<Self, SpeError> {
        let shape = match block.list_elements {
            0 => Shape::Block {
                bytes: block.size as usize,
            },
            elements => Shape::List {
                elements,
                element_bytes: block.size,
            },
        };
        let store = spe.local_store();
        let ea = EffectiveAddress(block.ea);
        let data = store.reserve(
            shape.local_bytes(),
            LINE_BYTES as u32,
            "the measured blocks",
        )?;
        let list = match shape {
            Shape::Block { .. } => None,
            Shape::List { .. } => {
                let list = store.reserve(shape.list_bytes(), LIST_ELEMENT_BYTES, "the list")?;
                write_list(store, list.address(), ea, shape);
                Some(list)
            }
        };
        let mover = Self {
            direction,
            ea,
            shape,
            data,
            list,
            pattern: Pattern::of_buffer(block.buffer),
        };
        match direction {
            Direction::Get => mover.fill(store, &mover.pattern.opposite()),
            Direction::Put => mover.fill(store, &mover.pattern),
        }
        Ok(mover)
    }

    /// Returns the parts of the block in the local store, each with its address in the local store,
    /// its offset in the block, and its number of bytes.
    fn pieces(&self) -> impl Iterator<Item = (LsAddr, usize, usize)> {
        let start = self.data.address().0;
        let (count, bytes) = match self.shape {
            Shape::Block { bytes } => (1, bytes.min(WINDOW_BYTES)),
            Shape::List {
                elements,
                element_bytes,
            } => (elements, element_bytes as usize),
        };
        (0..count as usize).map(move |index| {
            let in_block = index * bytes;
            // An element of fewer than 16 bytes takes 16 bytes of the local store, at an offset
            // that is its effective address modulo 16 (CBEA section 7.4).
            let in_store = if bytes < 16 {
                index * 16 + in_block % 16
            } else {
                in_block
            };
            (LsAddr(start + in_store as u32), in_block, bytes)
        })
    }

    fn fill(&self, store: &LocalStore, content: &Pattern) {
        for (at, in_block, bytes) in self.pieces() {
            content.fill(in_block, bytes, |offset, from| {
                store.write(LsAddr(at.0 + (offset - in_block) as u32), from);
            });
        }
    }
}

/// Writes the elements of a list. Each element moves the next block, and the first block is at
/// `ea`.
fn write_list(store: &LocalStore, at: LsAddr, ea: EffectiveAddress, shape: Shape) {
    let Shape::List {
        elements,
        element_bytes: bytes,
    } = shape
    else {
        return;
    };
    for index in 0..elements {
        let eal = ea.eal() + index * bytes;
        let words = ListElement {
            stall_and_notify: false,
            bytes,
            eal,
        }
        .to_words();
        for (word, half) in words.into_iter().zip([0, 4]) {
            store.write_word(LsAddr(at.0 + index * LIST_ELEMENT_BYTES + half), word);
        }
    }
}

impl<S: CellSpe> Work<S> for Mover {
    type Left = ();

    #[inline]
    fn operate(&mut self, spe: &S) -> Result<(), SpeError> {
        let (mfc, data, ea) = (spe.mfc(), self.data.address(), self.ea);
        match (self.shape, &self.list) {
            (Shape::Block { bytes }, _) => {
                let command = match self.direction {
                    Direction::Get => RawCommand::get,
                    Direction::Put => RawCommand::put,
                };
                let most = MAX_TRANSFER_BYTES as usize;
                for done in (0..bytes).step_by(most) {
                    let lsa = LsAddr(data.0 + (done % WINDOW_BYTES) as u32);
                    let step = (bytes - done).min(most) as u32;
                    mfc.issue(command(lsa, ea + done as u64, step, TAG))?;
                }
            }
            (Shape::List { .. }, Some(list)) => {
                let command = match self.direction {
                    Direction::Get => RawCommand::getl,
                    Direction::Put => RawCommand::putl,
                };
                let list_bytes = self.shape.list_bytes() as u32;
                mfc.issue(command(data, ea.eah(), list.address(), list_bytes, TAG))?;
            }
            (Shape::List { .. }, None) => unreachable!("`new` reserves a list for every list"),
        }
        mfc.wait_all(TAG.mask());
        Ok(())
    }

    fn finish(self, spe: &S) -> Result<(), SpeError> {
        if self.direction == Direction::Get {
            for (at, in_block, bytes) in self.pieces() {
                self.pattern
                    .verify(in_block, bytes, "the local store", |offset, into| {
                        spe.local_store()
                            .read(LsAddr(at.0 + (offset - in_block) as u32), into);
                    })?;
            }
        }
        Ok(())
    }
}
