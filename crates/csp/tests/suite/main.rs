//! What channels and networks promise, each written once and run on every machine.

mod alternation;
mod channels;
mod defects;
mod ends;
mod schedules;

use cellworks_host::Host;
use cellworks_machine::SpeId;
use cellworks_sim::{Description, Sim};

/// How many SPEs the machines of these tests have. Computers with fewer CPUs share them out.
const SPES: usize = 4;

fn host() -> Host {
    Host::builder().spes(SPES).build().unwrap()
}

fn strict_host() -> Host {
    Host::builder().spes(SPES).strict().build().unwrap()
}

/// A QS22, simulated, with two SPEs of each Cell.
fn qs22() -> Sim {
    let mut description = Description::built_in("qs22").unwrap();
    for cell in &mut description.cells {
        cell.spes.truncate(SPES / 2);
    }
    Sim::new(description)
}

/// Runs each case, a function generic over the machine, on every machine.
macro_rules! on_every_machine {
    ($($case:ident),* $(,)?) => {
        mod on_host { $(#[test] fn $case() { super::$case(&crate::host()); })* }
        mod on_qs22 { $(#[test] fn $case() { super::$case(&crate::qs22()); })* }
        mod on_strict_host { $(#[test] fn $case() { super::$case(&crate::strict_host()); })* }
    };
}
pub(crate) use on_every_machine;

fn spe(index: u16) -> SpeId {
    SpeId::new(index)
}
