//! Volumes: how much tasks communicate.

use crate::ProblemError;
use crate::ids::Task;

/// The volume that each task sends to each other task, in one unit of the caller's choice: bytes,
/// packets or messages. Only pairs that communicate are stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Volumes {
    tasks: usize,
    /// Each ordered pair that communicates, once, in ascending order, with a volume above 0.
    pairs: Vec<(Task, Task, f64)>,
}

impl Volumes {
    /// Returns the volumes of a graph. An edge is the number of the sending task, the number of the
    /// receiving task, and a volume. The volumes of edges with the same sender and receiver add up.
    /// The volume of an edge from a task to itself costs what the task's place costs to itself.
    ///
    /// # Errors
    ///
    /// Fails if an edge names an unknown task, or if a volume is negative or not finite.
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
            if !(volume >= 0.0 && volume.is_finite()) {
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

    /// Returns the volumes of a matrix. Row i has the volumes from task i to task 0, to task 1 and
    /// so on.
    ///
    /// # Errors
    ///
    /// Fails if the matrix is not square, or if a volume is negative or not finite.
    pub fn from_rows(rows: &[Vec<f64>]) -> Result<Self, ProblemError> {
        square(rows, "volumes")?;
        let edges = rows.iter().enumerate().flat_map(|(from, row)| {
            row.iter()
                .enumerate()
                .map(move |(to, volume)| (from, to, *volume))
        });
        Self::from_edges(rows.len(), edges)
    }

    /// The number of tasks.
    pub fn tasks(&self) -> usize {
        self.tasks
    }

    /// Each pair of a sending and a receiving task with its volume, in ascending order. All volumes
    /// are above 0.
    pub fn pairs(&self) -> impl ExactSizeIterator<Item = (Task, Task, f64)> + '_ {
        self.pairs.iter().copied()
    }
}

/// Checks that each row of a matrix has as many elements as the matrix has rows.
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
