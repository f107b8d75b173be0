//! The report of a deadlock: the cycle of waits.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;

use cellworks_machine::Waiting;

use crate::waits::{Entry, Waits};

/// A process that waited when nobody could go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The process.
    pub process: String,
    /// What it could have done to go on, such as "to read the channel `a`": several if it alternated.
    pub operations: Vec<String>,
    /// The call that waited.
    pub at: &'static Location<'static>,
}

/// Processes of a network waited for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// Processes of which each waited for the next one, and the last one for the first: the reason. Empty if there is no
    /// such cycle, because what somebody waited for was for nobody to do.
    pub cycle: Vec<Stuck>,
    /// The others that waited.
    pub others: Vec<Stuck>,
    /// What waited that is no process of the network, or not for a channel.
    pub outside: Vec<Waiting>,
}

impl Deadlock {
    /// What is known when a run has ended in a deadlock.
    pub(crate) fn of(waits: &Waits, outside: Vec<Waiting>) -> Self {
        let mut entries = waits.take();
        let outside = outside
            .into_iter()
            .filter(|wait| !entries.values().any(|entry| entry.describes(wait)))
            .collect();
        let cycle = cycle(&entries);
        let cycle = cycle
            .into_iter()
            .filter_map(|number| entries.remove(&number))
            .map(Stuck::from)
            .collect();
        Self {
            cycle,
            others: entries.into_values().map(Stuck::from).collect(),
            outside,
        }
    }
}

impl From<Entry> for Stuck {
    fn from(entry: Entry) -> Self {
        let operations = entry.operations.into_iter();
        Self {
            process: entry.process,
            operations: operations.map(|operation| operation.what).collect(),
            at: entry.at,
        }
    }
}

/// Processes, by their numbers, of which each waits for the next one.
fn cycle(entries: &BTreeMap<u32, Entry>) -> Vec<u32> {
    let next = |number: u32| {
        let operations = entries.get(&number)?.operations.iter();
        operations
            .filter_map(|operation| operation.partner)
            .find(|partner| entries.contains_key(partner))
    };
    for start in entries.keys() {
        let mut path = vec![*start];
        while let Some(number) = path.last().copied().and_then(next) {
            if number == *start {
                return path;
            }
            if path.contains(&number) {
                // A cycle without `start`: it is found from one of its own.
                break;
            }
            path.push(number);
        }
    }
    Vec::new()
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operations = self.operations.join(", or ");
        write!(
            f,
            "the process `{}` waits {operations} at {}",
            self.process, self.at
        )
    }
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deadlock: ")?;
        if self.cycle.is_empty() {
            f.write_str("every process waits, and nobody is left who could go on")?;
        } else {
            f.write_str(
                "each of these processes waits for the next one, and the last one for the first",
            )?;
        }
        for stuck in &self.cycle {
            write!(f, "\n  {stuck}")?;
        }
        if !self.cycle.is_empty() && !(self.others.is_empty() && self.outside.is_empty()) {
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
