//! Who waits for what, for the report of a deadlock.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::Location;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::core::Side;
use crate::held::Held;
use crate::process::{Link, Waiting};

/// What the processes of a network were last known to wait for.
#[derive(Debug, Default)]
pub(crate) struct Waits(Mutex<Known>);

/// What is known when a run has ended in a deadlock.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Who waited, by their numbers.
    pub entries: BTreeMap<u32, Entry>,
    /// Who had which ends when they were cancelled.
    pub holders: BTreeMap<Held, Vec<u32>>,
    /// Who had ended before.
    pub ended: BTreeSet<u32>,
}

/// One process that waits.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub process: String,
    pub operations: Vec<Operation>,
    pub at: &'static Location<'static>,
}

impl Entry {
    /// Whether this is what the report of a run says of a wait.
    pub(crate) fn describes(&self, wait: &cellworks_machine::Waiting) -> bool {
        let suffix = format!("as the process `{}`", self.process);
        wait.what.ends_with(&suffix)
    }
}

/// An operation that a process waits to be able to carry out.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    /// Such as "to read the channel `a`".
    pub what: String,
    /// The end that somebody else would have to use, unless it waits for a channel to be created.
    pub wants: Option<Held>,
    /// The process that used that end last.
    pub last_user: Option<u32>,
}

impl Known {
    /// The processes that could do what an operation waits for.
    pub(crate) fn partners(&self, operation: &Operation) -> Vec<u32> {
        let holders = operation.wants.and_then(|end| self.holders.get(&end));
        match holders {
            Some(holders) => holders.clone(),
            // Held by nobody who was cancelled: borrowed from outside the network, perhaps.
            None => Vec::from_iter(operation.last_user),
        }
    }
}

impl Waits {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn take_down(
        &self,
        number: u32,
        process: &str,
        why: &Waiting<'_>,
        at: &'static Location<'static>,
    ) {
        let mut operations = Vec::new();
        collect(why, &mut operations);
        let entry = Entry {
            process: process.to_owned(),
            operations,
            at,
        };
        self.known().entries.insert(number, entry);
    }

    /// The process goes on.
    pub(crate) fn forget(&self, number: u32) {
        self.known().entries.remove(&number);
    }

    /// The process has ended.
    pub(crate) fn ended(&self, number: u32) {
        self.known().ended.insert(number);
    }

    /// The process was cancelled, with these ends.
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
