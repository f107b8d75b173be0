//! The machines on which suites run what they promise: each contract is written once, and runs on
//! all of them. Suites of several crates include this file by its path.

#[path = "plain_machine.rs"]
mod plain_machine;

use cellworks_host::Host;
use cellworks_sim::{Description, Sim};
pub use plain_machine::PlainMachine;

/// How many SPEs the machines of these tests have. Computers with fewer CPUs share them out.
pub const SPES: usize = 4;

pub fn host() -> Host {
    Host::builder().spes(SPES).build().unwrap()
}

/// Copies through local stores.
pub fn strict_host() -> Host {
    Host::builder().spes(SPES).strict().build().unwrap()
}

/// A machine that is no Cell.
pub fn plain() -> PlainMachine {
    PlainMachine::new(SPES)
}

/// A QS22, simulated, with two SPEs of each Cell.
pub fn qs22() -> Sim {
    qs22_with_seed(0)
}

/// With events of the same instant in another order for each seed.
pub fn qs22_with_seed(seed: u64) -> Sim {
    let mut description = Description::built_in("qs22").unwrap();
    for cell in &mut description.cells {
        cell.spes.truncate(SPES / 2);
    }
    Sim::builder(description).seed(seed).build().unwrap()
}
