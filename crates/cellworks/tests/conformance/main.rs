//! The contracts of `machine`, each written once and run on every machine.
//!
//! A new machine is one more line in [`on_every_machine!`].

mod atomics;
mod failures;
mod interleave;
mod memory;
mod mfc;
mod programs;
mod proxy;
mod raw_threads;
#[path = "../../../../tests/skipped.rs"]
mod skipped;
mod staging;
mod waking;
mod words;

use cellworks::host::Host;
use cellworks::machine::SpeId;
use cellworks::sim::{Description, Sim};

/// How many SPEs the machines of these tests have. Computers with fewer CPUs share them out.
const SPES: usize = 4;

/// A machine for each configuration that programs meet. `strict` copies through local stores.
fn host() -> Host {
    Host::builder().spes(SPES).build().unwrap()
}

fn strict_host() -> Host {
    Host::builder().spes(SPES).strict().build().unwrap()
}

/// A QS20, simulated, with two SPEs of each Cell.
fn qs20() -> Sim {
    let mut description = Description::built_in("qs20").unwrap();
    for cell in &mut description.cells {
        cell.spes.truncate(SPES / 2);
    }
    Sim::new(description)
}

/// Runs each case, a function generic over the machine, on every machine.
macro_rules! on_every_machine {
    ($($case:ident),* $(,)?) => {
        mod on_host { $(#[test] fn $case() { super::$case(&crate::host()); })* }
        mod on_qs20 { $(#[test] fn $case() { super::$case(&crate::qs20()); })* }
        mod on_strict_host { $(#[test] fn $case() { super::$case(&crate::strict_host()); })* }
    };
}
pub(crate) use on_every_machine;

fn spe(index: u16) -> SpeId {
    SpeId::new(index)
}
