//! Who waits for what, for the report of a deadlock.

use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::process::{Link, Waiting};

/// What the processes of a network were last known to wait for, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Waits(Mutex<BTreeMap<u32, Entry>>);

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
    /// The process that used the other end last, which would have to act.
    pub partner: Option<u32>,
}

impl Waits {
    fn entries(&self) -> MutexGuard<'_, BTreeMap<u32, Entry>> {
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
        self.entries().insert(number, entry);
    }

    /// The process goes on.
    pub(crate) fn forget(&self, number: u32) {
        self.entries().remove(&number);
    }

    pub(crate) fn take(&self) -> BTreeMap<u32, Entry> {
        std::mem::take(&mut self.entries())
    }
}

fn collect(why: &Waiting<'_>, operations: &mut Vec<Operation>) {
    let operation = |doing: &str, channel: &dyn Link, partner| Operation {
        what: format!("to {doing} {}", channel.name()),
        partner,
    };
    match why {
        Waiting::Read(channel) => {
            operations.push(operation("read", *channel, channel.last_users().1));
        }
        Waiting::Write(channel) => {
            operations.push(operation("write to", *channel, channel.last_users().0));
        }
        Waiting::Alternation(guards) => guards(&mut |guard| collect(&guard, operations)),
        Waiting::Creation(name) => operations.push(Operation {
            what: format!("for the channel {name} to be created"),
            partner: None,
        }),
    }
}
