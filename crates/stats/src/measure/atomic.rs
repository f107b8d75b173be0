//! `fetchadd` and the other atomic operations on main memory (section 3.1.5 of the paper). A
//! variable of one word is changed in the machine's fastest way, and a larger variable by a loop of
//! `getllar` and `putllc`.
//!
//! On a machine with caches, operations on one word are also timed without the library, as single
//! instructions of the processor, such as `lock xadd`.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};

use cellworks_machine::memory::{LINE_BYTES, Region};
use cellworks_machine::mfc::EffectiveAddress;
use cellworks_machine::{AtomicOp, CellMachine, CellSpe, LocalBuffer, fetch_update_words};

use super::control_block::{CONTROL_BLOCK_STRIDE_BYTES, ControlBlock, control_blocks};
use super::crew::{Crew, Work, WorkResult, work};
use super::outcome::Outcome;
use crate::error::{MeasureError, SpeError, Untrusted};
use crate::function::Function;
use crate::plan::Plan;
use crate::plan::atomic::AtomicTask;
use crate::plan::layout::Layout;
use crate::sample::TimedLoop;

/// The number that `fetchadd` adds and `fetchsub` subtracts.
const OPERAND: u32 = 5;

pub(super) fn measure<M: CellMachine>(
    machine: &M,
    plan: &Plan,
    task: &AtomicTask,
) -> Result<Outcome, MeasureError> {
    let layout = task.layout;
    let variables = machine.allocate(plan.module, layout.span_bytes())?;
    let blocks = (0..task.spes.len()).map(|position| ControlBlock {
        ea: variables.at(layout.offset(position)).0,
        size: task.words as u32,
        position: position as u32,
        spes: task.spes.len() as u32,
        ..ControlBlock::default()
    });
    let region = control_blocks(machine, plan.module, blocks)?;
    let function = plan.function();
    let bare = if plan.capabilities().has_caches && task.words == 1 {
        bare(machine, plan, task, &region)?
    } else {
        Vec::new()
    };
    let results = machine.run(|ppe| {
        let spawn = |(position, spe)| {
            let block = region.at(position * CONTROL_BLOCK_STRIDE_BYTES);
            ppe.spawn_named(spe, function.name(), move |spe| {
                work(spe, block, |spe, block| Updater::new(spe, block, function))
            })
        };
        let programs = task.spes.iter().copied().enumerate().map(spawn).collect();
        Crew::measure(ppe, &plan.pace, programs)
    })??;
    let (loops, balances) = loops_and_balances(results, layout);
    for (index, balance) in balances.into_iter().enumerate() {
        verify(&variables, layout.stride * index, task.words, balance)?;
    }
    Ok(Outcome {
        loops,
        operations_per_iteration: 1,
        bare,
        ..Outcome::default()
    })
}

/// Returns the loops of each SPE, and the balance of each variable: the sum of all values written
/// by operations minus the sum of all values read.
fn loops_and_balances(
    results: Vec<(Vec<TimedLoop>, u32)>,
    layout: Layout,
) -> (Vec<Vec<TimedLoop>>, Vec<u32>) {
    let mut balances = vec![0_u32; layout.buffers];
    let mut loops = Vec::with_capacity(results.len());
    for (position, (rounds, balance)) in results.into_iter().enumerate() {
        let variable = &mut balances[layout.buffer_of(position)];
        *variable = variable.wrapping_add(balance);
        loops.push(rounds);
    }
    (loops, balances)
}

#[repr(align(128))]
#[derive(Default)]
struct Line([AtomicU32; LINE_BYTES / 4]);

/// Times the processor's own instructions on the SPEs of `task`. The variables have the same
/// offsets as those of the library's operations.
fn bare<M: CellMachine>(
    machine: &M,
    plan: &Plan,
    task: &AtomicTask,
    region: &Region,
) -> Result<Vec<Vec<TimedLoop>>, MeasureError> {
    let layout = task.layout;
    let count = layout.span_bytes().div_ceil(LINE_BYTES);
    let lines: Vec<Line> = (0..count).map(|_| Line::default()).collect();
    let variable = |offset: usize| &lines[offset / LINE_BYTES].0[offset % LINE_BYTES / 4];
    let (function, pace) = (plan.function(), plan.pace.for_bare_operation());
    let results = machine.run(|ppe| {
        let spawn = |(position, spe)| {
            let block = region.at(position * CONTROL_BLOCK_STRIDE_BYTES);
            let variable = variable(layout.offset(position));
            let change = move |spe: &M::Spe| change(spe, block, function, variable);
            ppe.spawn_named(spe, function.name(), change)
        };
        let programs = task.spes.iter().copied().enumerate().map(spawn).collect();
        Crew::measure(ppe, &pace, programs)
    })??;
    let (loops, balances) = loops_and_balances(results, layout);
    for (index, balance) in balances.into_iter().enumerate() {
        check_word(
            0,
            balance,
            variable(layout.stride * index).load(Ordering::SeqCst),
        )?;
    }
    Ok(loops)
}

/// Changes a variable by one instruction in timed loops. The loops use the old value that the
/// instruction returns. Otherwise the compiler would choose another instruction.
fn change<S: CellSpe>(
    spe: &S,
    block: EffectiveAddress,
    function: Function,
    variable: &AtomicU32,
) -> WorkResult<u32> {
    // The library's operations have the same memory order.
    const ORDER: Ordering = Ordering::SeqCst;
    let added = |read: u32, gained: u32| {
        black_box(read);
        gained
    };
    match function {
        Function::FetchAdd => changed(spe, block, |_| {
            move || added(variable.fetch_add(OPERAND, ORDER), OPERAND)
        }),
        Function::FetchSub => changed(spe, block, |_| {
            move || added(variable.fetch_sub(OPERAND, ORDER), OPERAND.wrapping_neg())
        }),
        Function::FetchInc => changed(spe, block, |_| {
            move || added(variable.fetch_add(1, ORDER), 1)
        }),
        Function::FetchDec => changed(spe, block, |_| {
            move || added(variable.fetch_sub(1, ORDER), 1_u32.wrapping_neg())
        }),
        _ => changed(spe, block, |mut next| {
            move || {
                next = u32::wrapping_add(next, 1);
                next.wrapping_sub(variable.swap(next, ORDER))
            }
        }),
    }
}

/// Times the closure that `of` makes. The closure changes the variable and returns the increase.
/// Returns the loops and the sum of the increases. The argument of `of` is the first number for
/// `fetchset`.
fn changed<S: CellSpe, F: FnMut() -> u32>(
    spe: &S,
    block: EffectiveAddress,
    of: impl FnOnce(u32) -> F,
) -> WorkResult<u32> {
    work(spe, block, |_, block| {
        Ok(Change {
            change: of(first_number(&block)),
            balance: 0,
        })
    })
}

/// Returns the first number that `fetchset` stores. The first numbers of two SPEs are 2^20 apart,
/// so their first 2^20 operations store different numbers.
fn first_number(block: &ControlBlock) -> u32 {
    (block.position + 1) << 20
}

struct Change<F> {
    change: F,
    balance: u32,
}

impl<S: CellSpe, F: FnMut() -> u32> Work<S> for Change<F> {
    type Left = u32;

    #[inline]
    fn operate(&mut self, _: &S) -> Result<(), SpeError> {
        self.balance = self.balance.wrapping_add((self.change)());
        Ok(())
    }

    fn finish(self, _: &S) -> Result<u32, SpeError> {
        Ok(self.balance)
    }
}

/// Returns an error if a variable differs from its balance (values written minus values read). The
/// first value read is 0. If no update is lost, each value written is read by the next operation,
/// except for the final value, so the balance is the final value.
fn verify(variables: &Region, offset: usize, words: usize, balance: u32) -> Result<(), Untrusted> {
    for word in 0..words {
        let found = variables.load_u32(offset + 4 * word);
        check_word(word, balance, found)?;
    }
    Ok(())
}

fn check_word(word: usize, expected: u32, found: u32) -> Result<(), Untrusted> {
    if found == expected {
        return Ok(());
    }
    Err(Untrusted::new(format!(
        "word {word} of a variable holds {found:#010x} after operations that leave {expected:#010x}"
    )))
}

struct Updater {
    function: Function,
    ea: EffectiveAddress,
    words: usize,
    scratch: LocalBuffer,
    next: u32,
    balance: u32,
}

impl Updater {
    fn new<S: CellSpe>(spe: &S, block: ControlBlock, function: Function) -> Result<Self, SpeError> {
        let line = LINE_BYTES as u32;
        Ok(Self {
            function,
            ea: EffectiveAddress(block.ea),
            words: block.size as usize,
            scratch: spe
                .local_store()
                .reserve(LINE_BYTES, line, "the reserved line")?,
            next: first_number(&block),
            balance: 0,
        })
    }

    #[inline]
    fn operation(&mut self) -> AtomicOp {
        match self.function {
            Function::FetchAdd => AtomicOp::Add(OPERAND),
            Function::FetchSub => AtomicOp::Subtract(OPERAND),
            Function::FetchInc => AtomicOp::Add(1),
            Function::FetchDec => AtomicOp::Subtract(1),
            _ => {
                self.next = self.next.wrapping_add(1);
                AtomicOp::Set(self.next)
            }
        }
    }
}

impl<S: CellSpe> Work<S> for Updater {
    type Left = u32;

    #[inline]
    fn operate(&mut self, spe: &S) -> Result<(), SpeError> {
        let operation = self.operation();
        let before = if self.words == 1 {
            spe.fetch_update(self.ea, operation)?
        } else {
            let scratch = self.scratch.address();
            let (mfc, local_store) = (spe.mfc(), spe.local_store());
            fetch_update_words(mfc, local_store, scratch, self.ea, self.words, operation)?
        };
        let gained = operation.apply(before).wrapping_sub(before);
        self.balance = self.balance.wrapping_add(gained);
        Ok(())
    }

    fn finish(self, _: &S) -> Result<u32, SpeError> {
        Ok(self.balance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_update_is_an_error() {
        assert_eq!(check_word(0, 30, 30), Ok(()));
        assert_eq!(
            check_word(2, 30, 25).unwrap_err().to_string(),
            "the measurement cannot be trusted: word 2 of a variable holds 0x00000019 after \
             operations that leave 0x0000001e; the machine is at fault, please report it"
        );
    }
}
