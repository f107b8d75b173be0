//! Tests of the programs on real and simulated machines.
//!
//! All these tests are one executable, because each executable takes time to link.

mod look_ups;
mod networks;
mod placed;
#[path = "../../../../tests/plain_machine.rs"]
mod plain_machine;
mod pools;
mod programs;
mod server;

use std::fmt::Debug;

use cellworks_apps::{Program, ProgramError};
use cellworks_machine::Machine;

/// Checks that a machine refuses a program because of one of its parameters.
#[track_caller]
fn refused<P: Program + Debug>(machine: &impl Machine, program: P, parameter: &str, message: &str) {
    match program.run(machine) {
        Err(ProgramError::Parameter(error)) => {
            assert_eq!(
                (error.parameter(), &*error.to_string()),
                (parameter, message)
            );
        }
        other => panic!("{program:?}: {other:?}"),
    }
}
