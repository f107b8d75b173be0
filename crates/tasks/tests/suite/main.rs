//! What a pool promises, each written once and run on every machine.

mod conservation;
mod fork_join;
mod loops;
#[path = "../../../../tests/machines.rs"]
mod machines;
mod observation;
mod room;
mod schedules;
mod tasks;
mod three_level;
mod waiting;

use machines::{SPES, host, plain, qs22, qs22_with_seed, strict_host};
use proptest::prelude::ProptestConfig;

/// How many random programs run.
fn random_cases() -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(debug_assertions) { 100 } else { 1_000 },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
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
