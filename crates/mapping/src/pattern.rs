//! Graphs of tasks that are common in parallel programs.

use crate::error::ProblemError;
use crate::volumes::Volumes;

/// A graph of communicating tasks. Each task sends a volume of 1 to each of its partners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Each task sends to the next and the previous task. Task 0 follows the last task.
    Ring,
    /// Tasks 0 and 1 send to each other, tasks 2 and 3 send to each other, and so on.
    Pairs,
    /// Each task sends to every other task.
    AllToAll,
    /// The tasks form a grid and send to the tasks above, below, left and right. The grid is as
    /// near to a square as the number of tasks allows: 12 tasks are 3 rows of 4.
    Stencil,
    /// The tasks form a grid of three dimensions and send to their six neighbours. The grid is as
    /// near to a cube as the number of tasks allows: 12 tasks are 2 planes of 2 rows of 3.
    Stencil3d,
    /// A reduction in a binary tree: task i sends to task (i - 1) / 2, and task 0 has the sum.
    Tree,
    /// Task i sends to each task j for which j differs from i in one bit, as in an FFT.
    Butterfly,
}

impl Pattern {
    /// All patterns.
    pub const ALL: [Self; 7] = [
        Self::Ring,
        Self::Pairs,
        Self::AllToAll,
        Self::Stencil,
        Self::Stencil3d,
        Self::Tree,
        Self::Butterfly,
    ];

    /// Returns `ring`, `pairs`, `all-to-all`, `stencil`, `stencil3d`, `tree` or `butterfly`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::Pairs => "pairs",
            Self::AllToAll => "all-to-all",
            Self::Stencil => "stencil",
            Self::Stencil3d => "stencil3d",
            Self::Tree => "tree",
            Self::Butterfly => "butterfly",
        }
    }

    /// Returns the volumes between this number of tasks.
    ///
    /// ```
    /// use cellworks_mapping::{Pattern, Task};
    ///
    /// # fn main() -> Result<(), cellworks_mapping::ProblemError> {
    /// let volumes = Pattern::Tree.volumes(4)?;
    /// let edges: Vec<_> = volumes.pairs().map(|(from, to, _)| (from.0, to.0)).collect();
    /// assert_eq!(edges, [(1, 0), (2, 0), (3, 1)]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if `Pairs` has an odd number of tasks, or `Butterfly` not a power of two.
    pub fn volumes(self, tasks: usize) -> Result<Volumes, ProblemError> {
        let refused = |rule| ProblemError::Pattern {
            pattern: self.name(),
            tasks,
            rule,
        };
        let mut edges = Vec::new();
        match self {
            Self::Ring => {
                for task in 0..tasks {
                    edges.push((task, (task + 1) % tasks));
                    edges.push((task, (task + tasks - 1) % tasks));
                }
                // Remove edges from a task to itself (ring of 1) and repeated edges (ring of 2).
                edges.retain(|(from, to)| from != to);
                edges.sort_unstable();
                edges.dedup();
            }
            Self::Pairs if !tasks.is_multiple_of(2) => {
                return Err(refused("an even number of them"));
            }
            Self::Pairs => edges.extend((0..tasks).map(|task| (task, task ^ 1))),
            Self::AllToAll => {
                let others = |from| (0..tasks).filter(move |to| *to != from);
                edges.extend((0..tasks).flat_map(|from| others(from).map(move |to| (from, to))));
            }
            Self::Stencil => {
                let rows = divisor(tasks, tasks.isqrt());
                edges = grid([tasks / rows, rows, 1]);
            }
            Self::Stencil3d => {
                let planes = divisor(tasks, (tasks as f64).cbrt().round() as usize);
                let rows = divisor(tasks / planes, (tasks / planes).isqrt());
                edges = grid([tasks / planes / rows, rows, planes]);
            }
            Self::Tree => edges.extend((1..tasks).map(|task| (task, (task - 1) / 2))),
            Self::Butterfly if tasks > 0 && !tasks.is_power_of_two() => {
                return Err(refused("a power of two"));
            }
            Self::Butterfly => {
                let bits = tasks.checked_ilog2().unwrap_or(0);
                let partners = |task| (0..bits).map(move |bit| (task, task ^ (1 << bit)));
                edges.extend((0..tasks).flat_map(partners));
            }
        }
        Volumes::from_edges(tasks, edges.into_iter().map(|(from, to)| (from, to, 1.0)))
    }
}

/// Returns the largest divisor of a number that is not above `most`, or 1.
fn divisor(number: usize, most: usize) -> usize {
    let divides = |divisor: &usize| number.is_multiple_of(*divisor);
    (1..=most).rev().find(divides).unwrap_or(1)
}

/// Returns the edges between neighbours of a grid with these numbers of columns, rows and planes.
fn grid([columns, rows, planes]: [usize; 3]) -> Vec<(usize, usize)> {
    let mut edges = Vec::new();
    for task in 0..columns * rows * planes {
        let mut step = 1;
        for length in [columns, rows, planes] {
            if task / step % length + 1 < length {
                edges.extend([(task, task + step), (task + step, task)]);
            }
            step *= length;
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(pattern: Pattern, tasks: usize) -> Vec<(usize, usize)> {
        let volumes = pattern.volumes(tasks).unwrap();
        assert_eq!(volumes.tasks(), tasks);
        let mut pairs = volumes.pairs();
        assert!(pairs.all(|(from, to, volume)| from != to && volume == 1.0));
        volumes
            .pairs()
            .map(|(from, to, _)| (from.0, to.0))
            .collect()
    }

    #[test]
    fn patterns_are_what_their_names_say() {
        assert_eq!(
            edges(Pattern::Ring, 4),
            [
                (0, 1),
                (0, 3),
                (1, 0),
                (1, 2),
                (2, 1),
                (2, 3),
                (3, 0),
                (3, 2)
            ]
        );
        assert_eq!(edges(Pattern::Ring, 2), [(0, 1), (1, 0)]);
        assert_eq!(edges(Pattern::Pairs, 4), [(0, 1), (1, 0), (2, 3), (3, 2)]);
        assert_eq!(edges(Pattern::AllToAll, 5).len(), 20);
        // 2 rows of 3 tasks have 3 vertical and 4 horizontal pairs of neighbours.
        let stencil = edges(Pattern::Stencil, 6);
        assert_eq!(stencil.len(), 14);
        assert!(stencil.contains(&(2, 5)) && !stencil.contains(&(2, 3)));
        // 2 planes of 2 rows of 3 tasks: 8 pairs in rows, 6 in columns and 6 between the planes.
        let cube = edges(Pattern::Stencil3d, 12);
        assert_eq!(cube.len(), 2 * (8 + 6 + 6));
        assert!(cube.contains(&(5, 11)) && !cube.contains(&(5, 6)));
        assert_eq!(edges(Pattern::Stencil3d, 27).len(), 2 * 3 * 18);
        assert_eq!(edges(Pattern::Tree, 5), [(1, 0), (2, 0), (3, 1), (4, 1)]);
        assert_eq!(
            edges(Pattern::Butterfly, 4),
            [
                (0, 1),
                (0, 2),
                (1, 0),
                (1, 3),
                (2, 0),
                (2, 3),
                (3, 1),
                (3, 2)
            ]
        );
    }

    #[test]
    fn one_task_sends_nothing() {
        for pattern in Pattern::ALL {
            if pattern != Pattern::Pairs {
                assert_eq!(edges(pattern, 1), []);
            }
            assert_eq!(pattern.volumes(0).unwrap().tasks(), 0, "{}", pattern.name());
        }
    }

    #[test]
    fn numbers_of_tasks_that_a_pattern_does_not_have() {
        let refused = |pattern: Pattern, tasks| pattern.volumes(tasks).unwrap_err().to_string();
        assert_eq!(
            refused(Pattern::Pairs, 3),
            "the pattern pairs with 3 tasks: it takes an even number of them"
        );
        assert_eq!(
            refused(Pattern::Butterfly, 12),
            "the pattern butterfly with 12 tasks: it takes a power of two"
        );
    }
}
