//! Who waits for what, for the report of a deadlock.

use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::process::{Link, Waiting};

/// What the processes of a network were last known to wait for, by their numbers.
#[derive(Debug)]
pub(crate) struct Waits {
    /// The number of the network, of all that were run in this program.
    pub network: u32,
    entries: Mutex<BTreeMap<u32, Entry>>,
}

impl Default for Waits {
    fn default() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self {
            network: NEXT.fetch_add(1, Ordering::Relaxed),
            entries: Mutex::default(),
        }
    }
}

/// One process that waits.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub process: String,
    pub operations: Vec<Operation>,
    pub at: &'static Location<'static>,
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
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
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
