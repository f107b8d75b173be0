//! What a pool promises, each written once and run on every machine.

mod conservation;
mod fork_join;
mod loops;
#[path = "../../../../tests/plain_machine.rs"]
mod plain_machine;
mod room;
mod schedules;
mod tasks;
mod three_level;
mod waiting;

use cellworks_host::Host;
use cellworks_sim::{Description, Sim};
use plain_machine::PlainMachine;

/// How many SPEs the machines of these tests have. Computers with fewer CPUs share them out.
const SPES: usize = 4;

fn host() -> Host {
    Host::builder().spes(SPES).build().unwrap()
}

/// Copies through local stores.
fn strict_host() -> Host {
    Host::builder().spes(SPES).strict().build().unwrap()
}

/// A machine that is no Cell.
fn plain() -> PlainMachine {
    PlainMachine::new(SPES)
}

/// A QS22, simulated, with two SPEs of each Cell.
fn qs22() -> Sim {
    Sim::new(small_qs22())
}

fn small_qs22() -> Description {
    let mut description = Description::built_in("qs22").unwrap();
    for cell in &mut description.cells {
        cell.spes.truncate(SPES / 2);
    }
    description
}

/// Runs cases, functions generic over the machine, on every machine.
macro_rules! on_every_machine {
    ($($case:ident),+ $(,)?) => {
        $crate::on_every_machine!(@on host: $($case),+);
        $crate::on_every_machine!(@on strict_host: $($case),+);
        $crate::on_every_machine!(@on plain: $($case),+);
        $crate::on_every_machine!(@on qs22: $($case),+);
    };
    (@on $machine:ident: $($case:ident),+) => {
        mod $machine {
            $(
                #[test]
                fn $case() {
                    super::$case(&crate::$machine());
                }
            )+
        }
    };
}

use on_every_machine;
