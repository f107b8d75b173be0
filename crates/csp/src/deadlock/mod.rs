//! The report of a deadlock: the cycle of waits.
//!
//! ```text
//!   the machine finds that no thread can go on, and cancels all processes
//!     │
//!     ├─► each wait unwinds    ──► waits: who waited, for which end of which channel
//!     ├─► its ends are dropped ──► held: who had which end
//!     ▼
//!   Deadlock: a process that waits for an end of another one waits for that process, and a cycle of
//!   such waits is the cause
//! ```
//!
//! Read `held` and `waits`, which record, and then this file, which reports.

pub(crate) mod held;
pub(crate) mod waits;

use std::collections::BTreeSet;
use std::fmt;
use std::panic::Location;

use cellworks_machine::Waiting;

use self::waits::{Entry, Known, Operation};
use crate::channel::link::Side;
use crate::network::numbers::is_outside;

/// A process that waited in a deadlock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The name of the process, or of the [gate](crate::Network::gate) of the thread or task.
    pub process: String,
    /// Whether the process is an OS thread or an async task outside the machine.
    pub is_outside: bool,
    /// The operations that the process waited for: several only in an alternation.
    pub operations: Vec<String>,
    /// The call that waited.
    pub at: &'static Location<'static>,
}

/// The error of a network whose processes are in a deadlock.
#[derive(Clone, PartialEq, Eq)]
pub struct Deadlock {
    /// The cause: each of these processes waited for the next one, and the last one for the first.
    /// Empty if there is no cycle, because an operation was awaited that no process would perform.
    pub cycle: Vec<Stuck>,
    /// The other processes of the network that waited.
    pub others: Vec<Stuck>,
    /// Waits of machine threads outside the network, and waits for something other than a channel.
    pub outside: Vec<Waiting>,
}

cellworks_machine::debug_by_display!(Deadlock);

impl Deadlock {
    /// Makes the report from the records of the processes and the waits in the machine's report.
    pub(crate) fn of(mut known: Known, outside: Vec<Waiting>) -> Self {
        // The waits of these threads are also in the machine's report, and are left out there.
        let of_machine = known
            .entries
            .iter()
            .filter(|(number, _)| !is_outside(**number));
        let processes = BTreeSet::from_iter(of_machine.map(|(_, entry)| entry.thread));
        let outside = outside
            .into_iter()
            .filter(|wait| !processes.contains(&wait.thread))
            .collect();
        let stuck = |known: &Known, number: u32, entry: &Entry| Stuck {
            is_outside: is_outside(number),
            process: entry.process.clone(),
            operations: entry
                .operations
                .iter()
                .map(|o| described(known, o))
                .collect(),
            at: entry.at,
        };
        let by_name = |number: &u32| known.entries[number].process.clone();
        let mut numbers = cycle(&known);
        // Begins with the alphabetically first name, so that two reports of one deadlock are equal.
        let first = (0..numbers.len()).min_by_key(|index| by_name(&numbers[*index]));
        numbers.rotate_left(first.unwrap_or(0));
        let cycle = numbers
            .iter()
            .map(|number| stuck(&known, *number, &known.entries[number]))
            .collect();
        known.entries.retain(|number, _| !numbers.contains(number));
        let others = known.entries.iter();
        let others = others.map(|(number, entry)| stuck(&known, *number, entry));
        let mut others = Vec::from_iter(others);
        others.sort_by(|a, b| a.process.cmp(&b.process));
        Self {
            cycle,
            others,
            outside,
        }
    }
}

/// Describes an operation and, if known, why no process will exchange an item with it.
fn described(known: &Known, operation: &Operation) -> String {
    let what = &operation.what;
    let Some(end) = operation
        .wants
        .filter(|end| !known.holders.contains_key(end))
    else {
        return what.clone();
    };
    match (operation.last_user, end.side) {
        (None, Side::Writer) => format!("{what} (which no process has written to)"),
        (None, Side::Reader) => format!("{what} (which no process has read)"),
        (Some(user), side) if !is_outside(user) && !known.living.contains(&user) => {
            let users = match side {
                Side::Writer => "writers",
                Side::Reader => "readers",
            };
            format!(
                "{what} (whose {users} have ended, but an end was not dropped: write `move` before the closure of the \
                 process that used it, or `drop` it before the run)"
            )
        }
        _ => what.clone(),
    }
}

/// Returns the processes of a cycle of waits, in the order of [`Deadlock::cycle`].
fn cycle(known: &Known) -> Vec<u32> {
    // A depth-first search along the waits. Processes in `left` were searched and are in no cycle.
    let mut left = Vec::new();
    let mut path: Vec<(u32, Vec<u32>)> = Vec::new();
    for start in known.entries.keys() {
        path.push((*start, partners(known, *start)));
        while let Some((_, next)) = path.last_mut() {
            match next.pop() {
                Some(next) => {
                    if let Some(first) = path.iter().position(|(number, _)| *number == next) {
                        return path[first..].iter().map(|(number, _)| *number).collect();
                    }
                    if !left.contains(&next) {
                        path.push((next, partners(known, next)));
                    }
                }
                None => left.extend(path.pop().map(|(number, _)| number)),
            }
        }
    }
    Vec::new()
}

/// Returns the waiting processes that could let the process `number` go on. Those for its last
/// operation come first. `number` itself is in the result only if no other process is.
fn partners(known: &Known, number: u32) -> Vec<u32> {
    let operations = known.entries[&number].operations.iter().rev();
    let mut partners: Vec<_> = operations
        .flat_map(|operation| known.partners(operation))
        .filter(|partner| known.entries.contains_key(partner))
        .collect();
    if partners.iter().any(|partner| *partner != number) {
        partners.retain(|partner| *partner != number);
    }
    partners
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operations = self.operations.join(", or ");
        let (process, at) = (&self.process, self.at);
        if self.is_outside {
            write!(
                f,
                "outside, the gate `{process}` waits {operations} at {at}"
            )
        } else {
            write!(f, "the process `{process}` waits {operations} at {at}")
        }
    }
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deadlock: ")?;
        f.write_str(match self.cycle.len() {
            0 => "every process waits, and none of them can go on",
            1 => "this process waits for itself",
            2 => "these two processes wait for each other",
            _ => "each of these processes waits for the next one, and the last one for the first",
        })?;
        for stuck in &self.cycle {
            write!(f, "\n  {stuck}")?;
        }
        let has_more = !(self.others.is_empty() && self.outside.is_empty());
        if has_more && !self.cycle.is_empty() {
            f.write_str("\nbesides,")?;
        }
        for stuck in &self.others {
            write!(f, "\n  {stuck}")?;
        }
        for wait in &self.outside {
            write!(f, "\n  {wait}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Deadlock {}
