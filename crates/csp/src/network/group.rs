//! Groups: the processes of one SPE, as the cooperative threads of one program.

use std::cell::Cell;

use cellworks_machine::Spe;

use super::body::{ProcessBody, run_on_spe};
use super::cause::Moment;
use super::shared::{Failure, NetworkState};
use super::start::{NewStarted, Starts};
use super::starting::Living;
use crate::counting::Rank;
use crate::process::Process;
use crate::process::error::ProcessError;
use crate::transport::{Carrier, CarrierOfSpe, EndOfProgram, Exchange};

/// A group of processes of one SPE. The group is made on this SPE, so its processes may share
/// values that are not `Send`, such as the ends of [local channels](crate::Channel::local).
pub struct Group<'env, S: Spe> {
    /// The number of earlier calls that added processes to the network.
    unit: u32,
    processes: Vec<NewProcess<'env, S>>,
}

struct NewProcess<'env, S: Spe> {
    /// `None` for a started process.
    rank: Option<Rank>,
    name: String,
    stack_bytes: Option<usize>,
    body: ProcessBody<'env, S>,
}

pub(crate) type GroupBody<'env, S> = Box<dyn FnOnce(&mut Group<'env, S>) + Send + 'env>;

impl<'env, S: Spe> Group<'env, S> {
    /// Adds a process, which starts when all processes of the group have been added.
    ///
    /// If the process returns an [error](ProcessError) other than `Ended`, the network fails.
    pub fn process(
        &mut self,
        name: impl Into<String>,
        body: impl FnOnce(&Process<'_, S>) -> Result<(), ProcessError> + 'env,
    ) {
        self.add(name.into(), None, Box::new(body));
    }

    /// Adds a process as [`process`](Self::process) does, with a stack of `stack_bytes` bytes: see
    /// [`ThreadBuilder::stack_bytes`](cellworks_machine::ThreadBuilder::stack_bytes).
    pub fn process_with_stack(
        &mut self,
        name: impl Into<String>,
        stack_bytes: usize,
        body: impl FnOnce(&Process<'_, S>) -> Result<(), ProcessError> + 'env,
    ) {
        self.add(name.into(), Some(stack_bytes), Box::new(body));
    }

    pub(super) fn add(
        &mut self,
        name: String,
        stack_bytes: Option<usize>,
        body: ProcessBody<'env, S>,
    ) {
        let rank = Rank {
            unit: self.unit,
            index: self.processes.len() as u32,
        };
        self.processes.push(NewProcess {
            rank: Some(rank),
            name,
            stack_bytes,
            body,
        });
    }

    pub(super) fn of(bodies: Vec<(u32, GroupBody<'env, S>)>) -> Self {
        let mut group = Self {
            unit: 0,
            processes: Vec::new(),
        };
        for (unit, body) in bodies {
            group.unit = unit;
            body(&mut group);
        }
        group
    }

    /// Runs each process as a cooperative thread. A single process usually needs no thread.
    pub(super) fn run(
        self,
        spe: &S,
        shared: &NetworkState,
        carrier: Option<(CarrierOfSpe<S>, &Exchange)>,
        end: EndOfProgram<'_>,
        starts: Option<(&Starts<'env, S>, Living)>,
    ) {
        let carrier = carrier.map(|(carrier_of, exchange)| carrier_of(spe, exchange));
        self.run_by(spe, shared, carrier.as_deref(), starts);
        drop(end);
        if let Some(carrier) = carrier {
            carrier.finish();
        }
    }

    fn run_by<'a>(
        self,
        spe: &'a S,
        shared: &'a NetworkState,
        carrier: Option<&'a dyn Carrier>,
        starts: Option<(&'a Starts<'env, S>, Living)>,
    ) {
        let mut processes = self.processes;
        let alone = processes.len() == 1 && processes[0].stack_bytes.is_none();
        if let Some(only) = processes.pop_if(|_| alone && starts.is_none()) {
            run_on_spe(spe, only.rank, &only.name, only.body, shared, carrier);
            return;
        }
        let count = processes.len();
        let has_room = Cell::new(true);
        let has_room = &has_room;
        spe.thread_scope(|scope| {
            let spawn = |process: NewProcess<'env, S>, living: Option<Living>| {
                let NewProcess {
                    rank,
                    name,
                    stack_bytes,
                    body,
                } = process;
                let mut thread = scope.builder();
                if let Some(bytes) = stack_bytes {
                    thread = thread.stack_bytes(bytes);
                }
                let run_it = {
                    let name = name.clone();
                    // If the stack of one process does not fit, no process of this SPE runs.
                    move |_| {
                        let _living = living;
                        has_room
                            .get()
                            .then(|| run_on_spe(spe, rank, &name, body, shared, carrier))
                    }
                };
                // Before `spawn`, because a failure of `spawn` drops the ends in the body.
                let before = Moment::now();
                let spawned = thread.spawn(run_it);
                spawned.map(drop).map_err(|source| (before, name, source))
            };
            for (index, process) in processes.into_iter().enumerate() {
                let living = starts.as_ref().map(|_| Living::new(&shared.starting));
                if let Err((before, process, source)) = spawn(process, living) {
                    has_room.set(false);
                    let failure = Failure::NoRoom {
                        process,
                        processes: count,
                        fit: index,
                        source,
                    };
                    shared.fail(before, failure);
                    break;
                }
            }
            let Some((starts, program)) = starts else {
                return;
            };
            drop(program);
            starts.serve(spe, shared, carrier, |started| {
                let NewStarted {
                    name,
                    stack_bytes,
                    body,
                    living,
                } = started;
                let process = NewProcess {
                    rank: None,
                    name,
                    stack_bytes,
                    body,
                };
                if let Err((before, process, source)) = spawn(process, Some(living)) {
                    shared.fail(before, Failure::NoRoomToStart { process, source });
                }
            });
        });
    }
}
