//! Work of another binary on the machine that the user's flags choose.

use std::path::Path;
use std::process::exit;
use std::sync::Arc;
use std::thread;

use cellworks_host::HostBuilder;
use cellworks_runner::AnyCell;
use cellworks_sim::{HazardWatch, SimBuilder};

use crate::args::MachineFlags;
use crate::failure::{Failure, exit_code};
use crate::interrupt::{GRACE, Interrupt, Press};
use crate::machine::{MachineKind, check_simulation, refuse_cpus};
use crate::output::ResultFiles;
use crate::simulated::{Simulated, load};
use crate::surroundings::this_computer_with;

/// Settings of a machine that no flag has. The default changes nothing.
pub struct Settings<'a> {
    /// Adds settings if the machine is this computer.
    pub host: Box<dyn FnOnce(HostBuilder) -> HostBuilder + 'a>,
    /// Adds settings if the machine is simulated.
    pub sim: Box<dyn FnOnce(SimBuilder) -> SimBuilder + 'a>,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Self {
            host: Box::new(|builder| builder),
            sim: Box::new(|builder| builder),
        }
    }
}

/// Makes the machine that `flags` choose, with further `settings`, and runs `work` on it.
///
/// `usual` is the reaction of a simulated machine to hazards if no flag sets it. After the run of a
/// simulated machine, its hazards and counters are printed to standard error, and its trace is kept
/// if `work` was successful. After Ctrl-C, `work` has a second to look at the [`Interrupt`] and to
/// return. Then the process ends with the exit code of [`Failure::Interrupted`].
///
/// Call this function once in a process: a machine of this computer is kept until the process ends.
///
/// # Errors
///
/// - [`Failure::Usage`] if flags contradict each other, or name no machine or file.
/// - [`Failure::Run`] if the machine cannot be made, or its trace cannot be written.
/// - [`Failure::Interrupted`] if `work` returned after Ctrl-C.
/// - The error of `work`.
pub fn with_machine<T>(
    flags: &MachineFlags,
    usual: HazardWatch,
    settings: Settings<'_>,
    work: impl FnOnce(AnyCell<'_>, &Interrupt) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let MachineFlags {
        machine,
        cpus,
        simulation,
        quiet,
    } = flags;
    check_simulation(machine, simulation).map_err(Failure::Usage)?;
    simulation
        .check_window("--counters or --trace FILE")
        .map_err(Failure::Usage)?;
    if simulation.bottleneck {
        return Err(Failure::usage(
            "--bottleneck: a program has no single number that says how fast it was; use --counters",
        ));
    }
    if simulation.trace.as_deref() == Some(Path::new("-")) {
        return Err(Failure::usage(
            "--trace -: the program itself writes to standard output; name a file",
        ));
    }
    let run = |cell: AnyCell<'_>| {
        let interrupt = Arc::new(Interrupt::default());
        let on_ctrl_c = Arc::clone(&interrupt);
        // If the handler cannot be set, Ctrl-C still ends the process.
        let _ = ctrlc::set_handler(move || match on_ctrl_c.record() {
            Press::First => drop(thread::spawn(|| {
                thread::sleep(GRACE);
                end_interrupted();
            })),
            Press::Same => {}
            Press::Again => end_interrupted(),
        });
        let end = work(cell, &interrupt);
        if interrupt.is_pressed() {
            Err(Failure::Interrupted)
        } else {
            end
        }
    };
    match MachineKind::of(machine) {
        MachineKind::ThisComputer => run(AnyCell::ThisComputer(this_computer_with(
            cpus.as_ref(),
            settings.host,
        )?)),
        MachineKind::Simulated => {
            refuse_cpus(cpus.as_ref(), &format!("--machine {machine}"))?;
            let (machine, ()) = Simulated::build(
                Path::new(machine),
                load(machine)?,
                simulation,
                usual,
                &ResultFiles::default(),
                |_| Ok(()),
                settings.sim,
            )?;
            machine.run_without_report(*quiet, || run(AnyCell::Simulated(&machine.sim)))
        }
    }
}

fn end_interrupted() {
    exit(exit_code(Err(Failure::Interrupted)).into());
}
