//! Volumes of communication between tasks.

use cellworks_machine::Flows;

use crate::error::{ProblemError, is_amount};
use crate::ids::Task;

/// The volume that each task sends to each other task, in a unit of the caller's choice, such as
/// bytes. Only pairs that communicate are stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Volumes {
    tasks: usize,
    /// The ordered pairs that communicate, each once, in ascending order, with volumes above 0.
    pairs: Vec<(Task, Task, f64)>,
}

impl Volumes {
    /// Returns the volumes of a graph. An edge has the number of the sending task, the number of
    /// the receiving task, and a volume. Volumes of edges with the same sender and receiver add up.
    ///
    /// # Errors
    ///
    /// Fails if an edge has an unknown task, or if a volume is not a number from 0 to
    /// 10^100.
    pub fn from_edges(
        tasks: usize,
        edges: impl IntoIterator<Item = (usize, usize, f64)>,
    ) -> Result<Self, ProblemError> {
        let mut pairs = Vec::new();
        for (from, to, volume) in edges {
            if let Some(unknown) = [from, to].into_iter().find(|task| *task >= tasks) {
                return Err(ProblemError::UnknownTask {
                    task: Task(unknown),
                    tasks,
                });
            }
            if !is_amount(volume) {
                return Err(ProblemError::Volume {
                    from: Task(from),
                    to: Task(to),
                    volume,
                });
            }
            if volume > 0.0 {
                pairs.push((Task(from), Task(to), volume));
            }
        }
        pairs.sort_by_key(|(from, to, _)| (*from, *to));
        pairs.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
            }
            same
        });
        Ok(Self { tasks, pairs })
    }

    /// Returns the volumes of a matrix. Row i has the volumes from task i to all tasks.
    ///
    /// # Errors
    ///
    /// Fails if the matrix is not square, or if a volume is not a number from 0 to
    /// 10^100.
    pub fn from_rows(rows: &[Vec<f64>]) -> Result<Self, ProblemError> {
        square(rows, "volumes")?;
        let edges = rows.iter().enumerate().flat_map(|(from, row)| {
            row.iter()
                .enumerate()
                .map(move |(to, volume)| (from, to, *volume))
        });
        Self::from_edges(rows.len(), edges)
    }

    /// Returns the volumes of a run: what its tasks have sent to each other, in lines of 128 bytes
    /// and at least one for each message ([`Flow::lines`](cellworks_machine::Flow::lines)). The
    /// tasks are those of [`Flows::of_tasks`]; what the PPE or threads outside the machine have
    /// sent or received is left out, because they cannot be placed.
    ///
    /// ```
    /// use cellworks_machine::{Flow, Flows, Party, Processor, SpeId};
    /// use cellworks_mapping::{Task, Volumes};
    ///
    /// let on_spe = |name: &str, unit| Party {
    ///     name: name.to_owned(),
    ///     at: Some(Processor::Spe(SpeId::new(0))),
    ///     unit,
    /// };
    /// let flow = Flow { from: 0, to: 1, messages: 10, bytes: 40 };
    /// let flows = Flows::new(vec![on_spe("source", 0), on_spe("sum", 1)], [flow]);
    /// let volumes = Volumes::from_flows(&flows);
    /// assert!(volumes.pairs().eq([(Task(0), Task(1), 10.0)]));
    /// ```
    ///
    /// # Panics
    ///
    /// Never: flows are between their parties, and counts are below 10^100.
    pub fn from_flows(flows: &Flows) -> Self {
        let tasks = flows.of_tasks();
        let edges = tasks
            .iter()
            .map(|flow| (flow.from, flow.to, flow.lines() as f64));
        let volumes = Self::from_edges(tasks.parties().len(), edges);
        volumes.expect("flows are between their parties, and counts are below 10^100")
    }

    /// Returns the number of tasks.
    pub fn tasks(&self) -> usize {
        self.tasks
    }

    /// Returns the pairs of a sending and a receiving task that communicate, in ascending order,
    /// each with its volume above 0.
    pub fn pairs(&self) -> impl ExactSizeIterator<Item = (Task, Task, f64)> + '_ {
        self.pairs.iter().copied()
    }
}

pub(crate) fn square(rows: &[Vec<f64>], matrix: &'static str) -> Result<(), ProblemError> {
    let unlike = rows.iter().position(|row| row.len() != rows.len());
    unlike.map_or(Ok(()), |row| {
        Err(ProblemError::NotSquare {
            matrix,
            rows: rows.len(),
            row,
            length: rows[row].len(),
        })
    })
}
