//! The errors of networks, and how the result of a run becomes one.

use std::error::Error;
use std::panic::{Location, resume_unwind};

use cellworks_machine::memory::AllocateError;
use cellworks_machine::{PanicPayload, Processor, RunError, SpeId, StackError};

use super::shared::{Failure, NetworkState};
use crate::deadlock::Deadlock;
use crate::deadlock::waits::is_within;
use crate::named::error::NamedError;
use crate::transport::NoRoomForItem;

/// The reason why a network has failed.
///
/// If several processes fail, only the first failure is reported: it may have caused the others.
///
/// The moment of an error is its conversion into a [`ProcessError`](crate::ProcessError). The
/// moment of a panic is the first drop of an end by the process, or the end of the process if it
/// dropped no end.
///
/// `?` turns no other error into a `NetworkError`. A function that runs a network and may fail for
/// other reasons, too, returns a `Box<dyn Error>`, which all of these errors become:
///
/// ```
/// use std::error::Error;
///
/// use cellworks_csp::Network;
///
/// fn run(spes: &str) -> Result<(), Box<dyn Error>> {
///     let host = cellworks_host::Host::builder().spes(spes.parse()?).build()?;
///     Ok(Network::on(&host).run()?)
/// }
/// # run("1").unwrap();
/// # assert_eq!(run("one").unwrap_err().to_string(), "invalid digit found in string");
/// ```
#[derive(thiserror::Error)]
pub enum NetworkError {
    /// Processes waited for each other.
    #[error(transparent)]
    Deadlock(Deadlock),
    /// A process misused a named channel. The network fails even if the process ignored the error.
    #[error(transparent)]
    Named(NamedError),
    /// The local store of an SPE has no room for the stacks of its processes. None of them has run.
    #[error(
        "{} cannot run its {processes} processes side by side: its local store has room for the stacks of {fit}, and not for \
         that of `{process}`; place some elsewhere, or give them smaller stacks by `process_with_stack`",
        .source.spe()
    )]
    NoRoom {
        /// The first process that has no room for its stack.
        process: String,
        /// How many processes the SPE had to run.
        processes: usize,
        /// How many of these processes have room for their stacks.
        fit: usize,
        /// The machine's error.
        source: StackError,
    },
    /// The local store of an SPE has no room for the stack of a
    /// [started](crate::Starter::start) process.
    #[error(
        "the process `{process}` cannot start on {}; start it elsewhere, or give it a smaller stack by \
         `start_with_stack`: {source}",
        .source.spe()
    )]
    NoRoomToStart {
        /// The process that could not start.
        process: String,
        /// The machine's error.
        source: StackError,
    },
    /// An item does not fit into the local store of an SPE that is confined to its local store.
    #[error(transparent)]
    NoRoomForItem(NoRoomForItem),
    /// The main memory has no room for channels between SPEs that are confined to local stores.
    #[error(transparent)]
    NoMemory(AllocateError),
    /// The network has a [gate](crate::Network::gate), but no OS thread outside the machine can
    /// take part in a network of this machine. No process has run.
    #[error(
        "the network has the gate `{gate}`, but no OS thread outside of {machine} can take part in its networks, because \
         its time is simulated or its SPEs are confined to their local stores; run the network on a host that is not \
         strict, or do the work of the thread in a process"
    )]
    NoGate {
        /// The name of the gate.
        gate: String,
        /// The name of the machine.
        machine: String,
    },
    /// A process on an SPE ended with an error of its own: see
    /// [`ProcessError`](crate::ProcessError).
    #[error("the process `{process}` failed on {at}: {source}")]
    Failed {
        /// The name of the process.
        process: String,
        /// The SPE on which the process ran.
        at: SpeId,
        /// The error.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A process panicked.
    #[error("the process `{process}` panicked on {at}: {payload}")]
    Panic {
        /// The name of the process.
        process: String,
        /// The processor on which the process ran.
        at: Processor,
        /// The payload of the panic.
        payload: PanicPayload,
    },
    /// A process tried to run a second network. The second network was not run, because the call
    /// would have blocked the other processes of the SPE until the second network had ended.
    #[error(
        "a process of the network that was run at {outer} was going to run another network, at {at}, which would stop its SPE \
         until the other one has ended; add the processes to the first network, or run the other one before it or after it"
    )]
    Nested {
        /// The call that tried to run the second network.
        at: &'static Location<'static>,
        /// The call that runs the first network, to which the process belongs.
        outer: &'static Location<'static>,
    },
    /// The network was [placed](crate::Network::place) on more or fewer SPEs than it has units:
    /// calls that add a process or a group. No process has run.
    #[error(
        "the placement has an SPE for {spes} units, but the network has {units}: one for each call of `process` or \
         `group`; give one SPE for each of them"
    )]
    Placed {
        /// The number of SPEs of the placement.
        spes: usize,
        /// The number of calls that have added a process or a group.
        units: usize,
    },
    /// The machine ended the run.
    #[error(transparent)]
    Run(RunError),
}

impl NetworkError {
    pub(super) fn of(
        result: Result<(), RunError>,
        shared: &NetworkState,
        caller: &'static Location<'static>,
    ) -> Result<(), Self> {
        match (result, shared.take_failure()) {
            (_, Some(failure)) => Err(Self::of_failure(failure)),
            (Err(RunError::Deadlock { mut waits }), None) => {
                let is_own = |at: &Location<'_>| at == caller || is_of_network(at);
                let starting = &shared.starting;
                waits.retain(|wait| !is_own(wait.location) && !starting.is_thread(wait.thread));
                let mut known = shared.waits.take();
                known.complete(&mut waits, caller);
                Err(Self::Deadlock(Deadlock::of(known, waits)))
            }
            (
                Err(RunError::TimeLimit {
                    limit,
                    mut running,
                    mut programs,
                }),
                None,
            ) => {
                shared.waits.take().complete(&mut programs, caller);
                for program in &mut running {
                    if is_within(program.began_at) {
                        program.began_at = caller;
                    }
                }
                Err(Self::Run(RunError::TimeLimit {
                    limit,
                    running,
                    programs,
                }))
            }
            (Err(other), None) => Err(Self::Run(other)),
            (Ok(()), None) => Ok(()),
        }
    }

    /// Resumes the panic of a process, or panics with the text of the error.
    ///
    /// # Panics
    ///
    /// Always panics.
    pub fn resume(self) -> ! {
        match self {
            Self::Panic { payload, .. } => resume_unwind(payload.into_inner()),
            Self::Run(error) => error.resume(),
            other => panic!("{other}"),
        }
    }
}

/// Returns whether a line is in this folder. Waits there are those of the network itself, which are
/// never the cause of a deadlock.
fn is_of_network(at: &Location<'_>) -> bool {
    let folder = file!().strip_suffix("error.rs").unwrap_or(file!());
    at.file().starts_with(folder)
}

// Not an `impl From`, which the compiler would name to users whose `?` finds no conversion.
impl NetworkError {
    fn of_failure(failure: Failure) -> Self {
        match failure {
            Failure::NoRoom {
                process,
                processes,
                fit,
                source,
            } => Self::NoRoom {
                process,
                processes,
                fit,
                source,
            },
            Failure::NoRoomToStart { process, source } => Self::NoRoomToStart { process, source },
            Failure::Named(error) => Self::Named(error),
            Failure::NoRoomForItem(error) => Self::NoRoomForItem(error),
            Failure::NoMemory(error) => Self::NoMemory(error),
            Failure::NoGate { gate, machine } => Self::NoGate { gate, machine },
            Failure::Failed {
                process,
                at,
                source,
            } => Self::Failed {
                process,
                at,
                source,
            },
            Failure::Panic {
                process,
                at,
                payload,
            } => Self::Panic {
                process,
                at,
                payload: payload.into(),
            },
        }
    }
}

cellworks_machine::debug_by_display!(NetworkError);
