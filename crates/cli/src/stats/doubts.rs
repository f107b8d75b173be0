//! Which measurements of a run were disturbed, and which were made in another state of the computer.
//!
//! ```text
//!   readings of the reference   1           2           3           4
//!   visits                      │ a  b  c   │ d  a  b   │ c  d      │
//!   windows                     ├───────────────┼───────────────┼───┤
//! ```
//!
//! A window lasts half a second or more. If other programs or virtual machines used the CPUs during
//! a window, all visits of the window were disturbed. A visit is steady if the reading before it and
//! the reading after it found the computer in its main state.

// Rejected: the usage of the CPUs during each visit. The system counts it in steps of 10 ms, and a
// visit takes about 20 ms.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use cellworks_host::Watch;

use crate::session::{Session, Steps};

/// The shortest window: ten times the time of others that counts as a disturbance.
const WINDOW: Duration = Duration::from_millis(500);

/// The conditions of the visits of each step.
pub(super) struct Doubts {
    /// The present window. `None` if the usage of the CPUs is not known.
    window: Option<Window>,
    steps: Vec<Seen>,
}

struct Window {
    watch: Watch<'static>,
    begin: Instant,
    steps: BTreeSet<usize>,
}

#[derive(Clone, Debug, Default)]
struct Seen {
    is_disturbed: bool,
    /// The number of readings of the reference before each visit.
    readings: Vec<usize>,
}

impl Doubts {
    pub fn of<S: Steps>(steps: usize, session: &Session<S>) -> Self {
        Self {
            window: window(session),
            steps: vec![Seen::default(); steps],
        }
    }

    /// Returns the conditions of steps that nothing has disturbed.
    #[cfg(test)]
    pub fn undisturbed(steps: usize) -> Self {
        Self {
            window: None,
            steps: vec![Seen::default(); steps],
        }
    }

    /// Records a visit of a step that has just ended. `readings` is the number of readings of the
    /// reference before the visit.
    pub fn visited<S: Steps>(&mut self, step: usize, readings: usize, session: &Session<S>) {
        self.steps[step].readings.push(readings);
        let Some(window) = &mut self.window else {
            return;
        };
        window.steps.insert(step);
        if window.begin.elapsed() >= WINDOW {
            self.end_window(session);
        }
    }

    /// Ends the present window, and begins the next one.
    pub fn end_window<S: Steps>(&mut self, session: &Session<S>) {
        let Some(ended) = self.window.take() else {
            return;
        };
        if let Ok(Ok(usage)) = ended.watch.read()
            && !usage.disturbances().is_empty()
        {
            for step in ended.steps {
                self.steps[step].is_disturbed = true;
            }
        }
        self.window = window(session);
    }

    /// Forgets the visits of a step that is measured again.
    pub fn forget(&mut self, step: usize) {
        self.steps[step] = Seen::default();
    }

    pub fn is_disturbed(&self, step: usize) -> bool {
        self.steps[step].is_disturbed
    }

    /// Returns whether the computer was not in its main state around a visit of the step. `are_main`
    /// tells for each reading whether the computer was in its main state.
    pub fn is_unsteady(&self, step: usize, are_main: &[bool]) -> bool {
        self.steps[step].readings.iter().any(|&before| {
            let around = [before.checked_sub(1), Some(before)];
            let mut around = around.into_iter().flatten();
            around.any(|reading| are_main.get(reading) == Some(&false))
        })
    }
}

fn window<S: Steps>(session: &Session<S>) -> Option<Window> {
    Some(Window {
        watch: session.watch()?,
        begin: Instant::now(),
        steps: BTreeSet::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visit_is_steady_if_the_readings_before_and_after_it_are() {
        let steps = [vec![1, 3], vec![2], vec![], vec![0]];
        let seen = steps.map(|readings| Seen {
            readings,
            ..Seen::default()
        });
        let mut doubts = Doubts {
            window: None,
            steps: seen.to_vec(),
        };
        // The third reading found another state.
        let are_main = [true, true, false, true];
        let unsteady = |doubts: &Doubts| [0, 1, 2, 3].map(|at| doubts.is_unsteady(at, &are_main));
        assert_eq!(unsteady(&doubts), [true, true, false, false]);
        doubts.forget(1);
        assert_eq!(unsteady(&doubts), [true, false, false, false]);
        assert!(!doubts.is_unsteady(0, &[]), "there is no reference");
    }
}
