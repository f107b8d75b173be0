//! What the parties of a run have sent to each other.

use std::collections::BTreeMap;
use std::fmt;

use crate::id::Processor;

/// The bytes of a line, the unit in which [`Flow::lines`] counts.
const LINE_BYTES: u64 = 128;

/// A party of a run that sends and receives, such as a process of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// The name of the party. Several parties may have the same name.
    pub name: String,
    /// The processor on which the party ran, or `None` if it is outside the machine.
    pub at: Option<Processor>,
    /// The number of the party's unit. The parties of a unit can be placed only together.
    pub unit: usize,
}

/// What one party has sent to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The index of the sender in [`Flows::parties`].
    pub from: usize,
    /// The index of the receiver in [`Flows::parties`].
    pub to: usize,
    /// The number of messages.
    pub messages: u64,
    /// The sum of the bytes of these messages.
    pub bytes: u64,
}

impl Flow {
    /// Returns the number of lines of 128 bytes in which the messages can move: at least one for
    /// each message. It is the volume that predicts times best where a message costs a latency.
    pub fn lines(&self) -> u64 {
        self.messages.max(self.bytes.div_ceil(LINE_BYTES))
    }
}

/// What the parties of a run have sent to each other, in messages and bytes.
///
/// [`Display`](fmt::Display) writes a graph that `cellworks map solve` reads.
///
/// ```
/// use cellworks_machine::{Flow, Flows, Party, Processor, SpeId};
///
/// let party = |name: &str, unit| Party {
///     name: name.to_owned(),
///     at: Some(Processor::Spe(SpeId::new(unit as u16))),
///     unit,
/// };
/// let flow = Flow { from: 0, to: 1, messages: 10, bytes: 4_000 };
/// let flows = Flows::new(vec![party("source", 0), party("sum", 1)], [flow]);
/// assert_eq!(flows.between("source", "sum"), flow);
/// assert_eq!(flow.lines(), 32);
/// let graph = flows.to_string();
/// assert!(graph.starts_with("tasks 2\n"));
/// assert!(graph.ends_with("\n0 1 32  # 10 messages, 4000 bytes\n"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flows {
    parties: Vec<Party>,
    /// The pairs of parties that communicate, each once, in ascending order.
    flows: Vec<Flow>,
    /// The number of units that can be placed, or `None` if all can be.
    units: Option<usize>,
}

impl Flows {
    /// Returns the flows between parties. Flows with the same sender and receiver add up.
    ///
    /// # Panics
    ///
    /// Panics if a flow has a party that is not in `parties`.
    pub fn new(parties: Vec<Party>, flows: impl IntoIterator<Item = Flow>) -> Self {
        let mut sums: BTreeMap<(usize, usize), (u64, u64)> = BTreeMap::new();
        for flow in flows {
            let known = parties.len();
            assert!(
                flow.from.max(flow.to) < known,
                "a flow goes from party {} to party {}, but there are {known} parties",
                flow.from,
                flow.to
            );
            let (messages, bytes) = sums.entry((flow.from, flow.to)).or_default();
            *messages += flow.messages;
            *bytes = bytes.wrapping_add(flow.bytes);
        }
        let flows = sums
            .into_iter()
            .map(|((from, to), (messages, bytes))| Flow {
                from,
                to,
                messages,
                bytes,
            });
        let flows = flows.collect();
        Self {
            parties,
            flows,
            units: None,
        }
    }

    /// Returns these flows with only the first `units` units as [tasks](Self::of_tasks).
    ///
    /// ```
    /// use cellworks_machine::{Flows, Party, Processor, SpeId};
    ///
    /// let party = |name: &str, unit| Party {
    ///     name: name.to_owned(),
    ///     at: Some(Processor::Spe(SpeId::new(0))),
    ///     unit,
    /// };
    /// let parties = vec![party("placed", 0), party("started by it", 1)];
    /// let flows = Flows::new(parties, []).with_units(1);
    /// assert_eq!(flows.parties().len(), 2);
    /// assert_eq!(flows.of_tasks().parties(), [party("placed", 0)]);
    /// ```
    pub fn with_units(self, units: usize) -> Self {
        Self {
            units: Some(units),
            ..self
        }
    }

    /// Returns the parties, in the order in which they were given to [`new`](Self::new).
    pub fn parties(&self) -> &[Party] {
        &self.parties
    }

    /// Returns the pairs of parties that communicate, in ascending order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Flow> + '_ {
        self.flows.iter().copied()
    }

    /// Returns what the parties named `from` have sent to the parties named `to`, as a flow between
    /// the first parties with these names.
    ///
    /// # Panics
    ///
    /// Panics if there is no party with one of the names.
    pub fn between(&self, from: &str, to: &str) -> Flow {
        let first = |name: &str| {
            let mut parties = self.parties.iter();
            parties
                .position(|party| party.name == name)
                .unwrap_or_else(|| {
                    let names: Vec<_> = self.parties.iter().map(|party| &party.name).collect();
                    panic!("there is no party {name:?}, but there are {names:?}")
                })
        };
        let mut sum = Flow {
            from: first(from),
            to: first(to),
            messages: 0,
            bytes: 0,
        };
        for flow in &self.flows {
            if self.parties[flow.from].name == from && self.parties[flow.to].name == to {
                sum.messages += flow.messages;
                sum.bytes = sum.bytes.wrapping_add(flow.bytes);
            }
        }
        sum
    }

    /// Returns the flows between units that are on SPEs: the tasks that can be placed. A unit is
    /// one party of the result. The flows within a unit are left out, and so are those of parties
    /// on the PPE, outside the machine, or in a unit that [cannot be placed](Self::with_units).
    pub fn of_tasks(&self) -> Self {
        let task_of = |party: &Party| match party.at {
            Some(Processor::Spe(_)) => {
                let can_be_placed = |unit: &usize| self.units.is_none_or(|units| *unit < units);
                Some(party.unit).filter(can_be_placed)
            }
            _ => None,
        };
        let mut units: BTreeMap<usize, Party> = BTreeMap::new();
        for party in &self.parties {
            let Some(unit) = task_of(party) else {
                continue;
            };
            let joined = units.entry(unit);
            joined
                .and_modify(|unit| unit.name = format!("{}, {}", unit.name, party.name))
                .or_insert_with(|| party.clone());
        }
        let places: BTreeMap<usize, usize> = units.keys().copied().zip(0..).collect();
        let flows = self.flows.iter().filter_map(|flow| {
            let [from, to] = [flow.from, flow.to].map(|at| {
                let unit = task_of(&self.parties[at]);
                unit.map(|unit| places[&unit])
            });
            let (from, to) = (from?, to?);
            (from != to).then_some(Flow { from, to, ..*flow })
        });
        let flows: Vec<Flow> = flows.collect();
        let parties = (0..).zip(units.into_values());
        let parties = parties.map(|(unit, party)| Party { unit, ..party });
        Self::new(parties.collect(), flows)
    }
}

/// Writes the graph of [`Flows::of_tasks`]: a line `tasks N`, the name of each task in a comment,
/// and for each pair the sender, the receiver and the [lines](Flow::lines).
impl fmt::Display for Flows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = self.of_tasks();
        writeln!(f, "tasks {}", tasks.parties.len())?;
        for (task, party) in tasks.parties.iter().enumerate() {
            let at = party.at.map(|at| format!(" on {at}")).unwrap_or_default();
            let name = party.name.replace(char::is_control, " ");
            writeln!(f, "# task {task}{at}: {name}")?;
        }
        for flow in tasks.iter() {
            let Flow {
                from,
                to,
                messages,
                bytes,
            } = flow;
            let lines = flow.lines();
            writeln!(
                f,
                "{from} {to} {lines}  # {messages} messages, {bytes} bytes"
            )?;
        }
        Ok(())
    }
}
