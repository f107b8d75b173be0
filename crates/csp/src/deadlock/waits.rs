//! Records of the waits of processes, for the report of a deadlock.
//!
//! A deadlock cancels all processes: the calls in which they wait unwind. Each of these calls
//! records the process and its thread, because the machine's report names only threads.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::Location;
use std::sync::{Mutex, MutexGuard};

use super::held::Held;
use crate::channel::link::{Link, Side, Waiting};
use crate::sync::locked;

#[derive(Debug, Default)]
pub(crate) struct Waits(Mutex<Known>);

/// The records of a network whose run has ended in a deadlock.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The processes that were cancelled during a wait, by their numbers.
    pub entries: BTreeMap<u32, Entry>,
    /// For each reader or writer of a channel, the numbers of the cancelled processes that had it.
    pub holders: BTreeMap<Held, Vec<u32>>,
    /// The processes on processors that have begun and did not end before the deadlock. A record of
    /// those that have ended would grow as long as the network starts processes.
    pub living: BTreeSet<u32>,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The waiting thread, as [`Waiting::thread`](cellworks_machine::Waiting::thread) names it.
    pub thread: (usize, u64),
    pub process: String,
    pub operations: Vec<Operation>,
    pub at: &'static Location<'static>,
}

#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// A description, such as "to read the channel `a`".
    pub what: String,
    /// The channel end that another process must use to end the wait. `None` if the process waits
    /// for the creation of a channel.
    pub wants: Option<Held>,
    /// The number of the process that last used the end `wants`.
    pub last_user: Option<u32>,
}

impl Known {
    /// Takes the machine's words for waits of carriers, and replaces lines of this crate by the
    /// lines of the user: those of the calls of processes, or else `run_at`, where the network was
    /// run.
    pub(crate) fn complete(
        &mut self,
        waits: &mut [cellworks_machine::Waiting],
        run_at: &'static Location<'static>,
    ) {
        for entry in self.entries.values_mut() {
            if is_within(entry.at) {
                entry.at = run_at;
            }
        }
        for wait in waits {
            let mut entries = self.entries.values_mut();
            let entry = entries.find(|entry| entry.thread == wait.thread);
            if is_within(wait.location) {
                wait.location = entry.as_ref().map_or(run_at, |entry| entry.at);
            }
            if let Some(entry) = entry
                && entry.operations.is_empty()
            {
                entry.operations.push(Operation {
                    what: format!("for {}", wait.what),
                    wants: None,
                    last_user: None,
                });
            }
        }
        self.entries.retain(|_, entry| !entry.operations.is_empty());
    }

    /// Returns the numbers of the processes that can end the wait by using [`Operation::wants`].
    pub(crate) fn partners(&self, operation: &Operation) -> Vec<u32> {
        let holders = operation.wants.and_then(|end| self.holders.get(&end));
        match holders {
            Some(holders) => holders.clone(),
            // No cancelled process has dropped the end. Perhaps its last user has only borrowed it.
            None => Vec::from_iter(operation.last_user),
        }
    }
}

impl Waits {
    fn known(&self) -> MutexGuard<'_, Known> {
        locked(&self.0)
    }

    /// Records the wait in which a process was cancelled. Keeps an earlier record of this process.
    /// `why` is `None` if its carrier waited: the machine's report says for what.
    pub(crate) fn record(
        &self,
        number: u32,
        process: &str,
        thread: (usize, u64),
        why: Option<&Waiting<'_>>,
        at: &'static Location<'static>,
    ) {
        let mut operations = Vec::new();
        if let Some(why) = why {
            collect(why, &mut operations);
        }
        self.known().entries.entry(number).or_insert(Entry {
            thread,
            process: process.to_owned(),
            operations,
            at,
        });
    }

    /// Removes the record of an outside thread, which records each wait before it sleeps.
    pub(crate) fn forget(&self, number: u32) {
        self.known().entries.remove(&number);
    }

    pub(crate) fn began(&self, number: u32) {
        self.known().living.insert(number);
    }

    /// Records that a process has ended, but not because the run was cancelled.
    pub(crate) fn ended(&self, number: u32) {
        self.known().living.remove(&number);
    }

    pub(crate) fn had(&self, number: u32, ends: Vec<Held>) {
        let mut known = self.known();
        for end in ends {
            known.holders.entry(end).or_default().push(number);
        }
    }

    pub(crate) fn take(&self) -> Known {
        std::mem::take(&mut self.known())
    }
}

/// Returns whether a line is one of this crate that says nothing to the user. The [standard
/// processes](crate::processes) call methods as the user's processes do.
pub(crate) fn is_within(at: &Location<'_>) -> bool {
    let source = file!().strip_suffix("deadlock/waits.rs").unwrap_or(file!());
    let place = at.file().strip_prefix(source);
    place.is_some_and(|place| place != "processes.rs")
}

fn collect(why: &Waiting<'_>, operations: &mut Vec<Operation>) {
    match why {
        Waiting::Read(channel) => operations.push(operation(*channel, Side::Reader)),
        Waiting::Write(channel) => operations.push(operation(*channel, Side::Writer)),
        Waiting::Alternation(guards) => guards(&mut |guard| collect(&guard, operations)),
        Waiting::Creation(name) => operations.push(Operation {
            what: format!("for the channel {name} to be created"),
            wants: None,
            last_user: None,
        }),
        Waiting::Start => {}
    }
}

fn operation(channel: &dyn Link, side: Side) -> Operation {
    let (last_reader, last_writer) = channel.last_users();
    let name = channel.name();
    let (what, last_user) = match side {
        Side::Reader => (format!("to read {name}"), last_writer),
        Side::Writer => (format!("to write to {name}"), last_reader),
    };
    let wants = Held {
        channel: channel.address(),
        side: side.other(),
    };
    Operation {
        what,
        wants: Some(wants),
        last_user,
    }
}
