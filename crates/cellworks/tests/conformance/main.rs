//! Tests of the contracts of `machine`. Each test is written once and runs on every machine.
//!
//! To add a machine that is a Cell, add a line to [`on_every_cell!`]. To add another machine, add a
//! module to [`on_every_machine!`].

mod atomics;
mod failures;
mod interleave;
mod lent_memory;
mod memory;
mod mfc;
#[path = "../../../../tests/plain_machine.rs"]
mod plain_machine;
mod programs;
mod proxy;
mod raw_threads;
#[path = "../../../../tests/skipped.rs"]
mod skipped;
mod staging;
mod waking;
mod words;

use std::collections::VecDeque;
use std::sync::Mutex;

use cellworks::host::Host;
use cellworks::machine::mailbox::Outbound;
use cellworks::machine::{CellMachine, CellSpe, Machine, Ppe, Processor, Spe, SpeId, Wait, Wake};
use cellworks::sim::{Description, Sim};
use plain_machine::PlainMachine;

/// The number of SPEs of these machines. On a computer with fewer CPUs, SPEs share CPUs.
const SPES: usize = 4;

/// This function and the next functions make a machine for each configuration. A `strict` host
/// copies slices through local stores.
fn host() -> Host {
    Host::builder().spes(SPES).build().unwrap()
}

fn strict_host() -> Host {
    Host::builder().spes(SPES).strict().build().unwrap()
}

/// A simulated QS20 with two SPEs in each Cell.
fn qs20() -> Sim {
    let mut description = Description::built_in("qs20").unwrap();
    for cell in &mut description.cells {
        cell.spes.truncate(SPES / 2);
    }
    Sim::new(description).unwrap()
}

fn plain() -> PlainMachine {
    PlainMachine::new(SPES)
}

/// Runs cases, which are generic over the machine: first the cases for every machine, then the
/// cases that also get [`Words`] (mailboxes on a Cell), then the cases for Cells.
macro_rules! on_every_machine {
    (
        $($case:ident),* $(,)?
        $(; with words: $($with_words:ident),* $(,)?)?
        $(; on Cells: $($on_cells:ident),* $(,)?)?
    ) => {
        crate::on_every_cell! {
            @each ($($case)* $($($on_cells)*)?), ($($($with_words)*)?)
        }
        mod on_plain {
            $(#[test] fn $case() { super::$case(&crate::plain()); })*
            $($(#[test] fn $with_words() {
                super::$with_words(&crate::plain(), &crate::Memory::default());
            })*)?
        }
    };
}

macro_rules! on_every_cell {
    (@on $name:ident, $machine:ident, ($($case:ident)*), ($($with_words:ident)*)) => {
        mod $name {
            $(#[test] fn $case() { super::$case(&crate::$machine()); })*
            $(#[test] fn $with_words() {
                super::$with_words(&crate::$machine(), &crate::Mailboxes);
            })*
        }
    };
    (@each $cases:tt, $with_words:tt) => {
        crate::on_every_cell! { @on on_host, host, $cases, $with_words }
        crate::on_every_cell! { @on on_qs20, qs20, $cases, $with_words }
        crate::on_every_cell! { @on on_strict_host, strict_host, $cases, $with_words }
    };
    ($($case:ident),* $(,)?) => { crate::on_every_cell! { @each ($($case)*), () } };
}
pub(crate) use {on_every_cell, on_every_machine};

fn spe(index: u16) -> SpeId {
    SpeId::new(index)
}

/// Words that programs send to each other, for cases that do not test mailboxes.
trait Words<M: Machine>: Sync {
    /// Takes the oldest word that was sent to this SPE. Waits for a word.
    #[track_caller]
    fn read(&self, spe: &M::Spe) -> u32;

    /// Takes the oldest word that was sent to this SPE, if any.
    fn try_read(&self, spe: &M::Spe) -> Option<u32>;

    /// Sends a word to an SPE.
    fn send(&self, ppe: &Ppe<'_, '_, M>, to: SpeId, word: u32);

    /// Sends a word to another SPE.
    fn send_from(&self, spe: &M::Spe, to: SpeId, word: u32);

    /// Sends a word to the PPE.
    fn answer(&self, spe: &M::Spe, word: u32);

    /// Takes the word that an SPE has sent to the PPE. Waits for the word.
    #[track_caller]
    fn read_answer(&self, ppe: &Ppe<'_, '_, M>, from: SpeId) -> u32;
}

/// Words in the mailboxes of a Cell.
struct Mailboxes;

impl<M: CellMachine> Words<M> for Mailboxes {
    #[track_caller]
    fn read(&self, spe: &M::Spe) -> u32 {
        spe.read_in_mbox()
    }

    fn try_read(&self, spe: &M::Spe) -> Option<u32> {
        spe.try_read_in_mbox()
    }

    fn send(&self, ppe: &Ppe<'_, '_, M>, to: SpeId, word: u32) {
        ppe.write_in_mbox(to, word);
    }

    fn send_from(&self, spe: &M::Spe, to: SpeId, word: u32) {
        spe.write_in_mbox_of(to, word);
    }

    fn answer(&self, spe: &M::Spe, word: u32) {
        spe.write_out_mbox(Outbound::Plain, word);
    }

    #[track_caller]
    fn read_answer(&self, ppe: &Ppe<'_, '_, M>, from: SpeId) -> u32 {
        ppe.read_out_mbox(from, Outbound::Plain)
    }
}

/// Words in ordinary memory, indexed by the number of the SPE.
#[derive(Default)]
struct Memory {
    to: [Mutex<VecDeque<u32>>; SPES],
    from: [Mutex<VecDeque<u32>>; SPES],
}

fn take(words: &Mutex<VecDeque<u32>>) -> Option<u32> {
    words.lock().unwrap().pop_front()
}

/// Waits for a word in `words`. In a destructor of a cancelled program, returns 0.
#[track_caller]
fn wait_for(waiter: &impl Wait, words: &Mutex<VecDeque<u32>>) -> u32 {
    let mut word = None;
    waiter.wait_until(&"a word", &mut || {
        word = take(words);
        word.is_some()
    });
    word.unwrap_or_default()
}

impl<M: Machine> Words<M> for Memory {
    #[track_caller]
    fn read(&self, spe: &M::Spe) -> u32 {
        wait_for(spe, &self.to[spe.id().index()])
    }

    fn try_read(&self, spe: &M::Spe) -> Option<u32> {
        take(&self.to[spe.id().index()])
    }

    fn send(&self, ppe: &Ppe<'_, '_, M>, to: SpeId, word: u32) {
        self.to[to.index()].lock().unwrap().push_back(word);
        ppe.notify(to);
    }

    fn send_from(&self, spe: &M::Spe, to: SpeId, word: u32) {
        self.to[to.index()].lock().unwrap().push_back(word);
        spe.notify(Processor::Spe(to));
    }

    fn answer(&self, spe: &M::Spe, word: u32) {
        let from = &self.from[spe.id().index()];
        from.lock().unwrap().push_back(word);
        spe.notify(Processor::Ppe);
    }

    #[track_caller]
    fn read_answer(&self, ppe: &Ppe<'_, '_, M>, from: SpeId) -> u32 {
        wait_for(ppe.core(), &self.from[from.index()])
    }
}
