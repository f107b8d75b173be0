//! Tests of a pool. Each test runs on every machine.

mod conservation;
mod deep;
mod dicing;
mod fork_join;
mod hazards;
mod iterators;
mod limits;
mod loops;
#[path = "../../../../tests/machines.rs"]
mod machines;
mod observation;
mod room;
mod schedules;
mod shared_pool;
mod simulated_time;
mod sorting;
mod spawning;
mod tasks;
mod three_level;
mod waiting;

use cellworks_machine::Machine;
use cellworks_tasks::{Pool, Worker};
use machines::{SPES, host, plain, qs22, qs22_with_seed, strict_host};
use proptest::prelude::ProptestConfig;

/// Runs a program on one worker of a pool.
fn on<M: Machine, R: Send>(
    machine: &M,
    program: impl FnOnce(&Worker<'_, M::Spe>) -> R + Send,
) -> R {
    Pool::new(machine)
        .run(|main| main.install(program))
        .unwrap()
}

/// The number of random programs to run.
fn random_cases() -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(debug_assertions) { 100 } else { 1_000 },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Runs test cases on every machine. A case is a function that is generic over the machine. The
/// plain machine shows what a pool asks of a machine, which does not depend on optimisation: it has
/// no part in release, because it would have the whole suite compiled once more.
macro_rules! on_every_machine {
    ($($case:ident),+ $(,)?) => {
        $crate::on_every_machine!(@on host: $($case),+);
        $crate::on_every_machine!(@on strict_host: $($case),+);
        #[cfg(debug_assertions)]
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
