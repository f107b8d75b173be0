//! What is shared by processes of a network (the paper on CSP, sections 3.2 to 3.4): programs of `apps`.
//!
//! A speed-up is of one simulation over another: that of the same program by a single process. The computation from which on
//! a ring scales well is found in several speed-ups.

use std::iter;

use cellworks_apps::{self as apps, Placement};
use cellworks_machine::Machine;
use serde::Deserialize;

use super::{Access, ChannelTransport, Outcome, check_spes, failed, one};

/// How many times as fast a program is that processes on SPEs share, as with one process on one SPE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// What they share.
    pub program: SharedProgram,
    /// SPEs.
    pub spes: u16,
    /// Processes on each.
    #[serde(default = "one")]
    pub threads: u16,
    /// What carries requests.
    #[serde(default)]
    pub transport: ChannelTransport,
    /// How the PPE reaches mailboxes.
    #[serde(default)]
    pub ppe_access: Access,
}

/// What processes share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SharedProgram {
    /// All foldings of a prototein of 20 beads, from a bag of 272 tasks; see [`Prototein`](apps::Prototein).
    Prototein,
    /// The 10 nearest neighbours of points in 72 dimensions, in a ring; see [`Knn`](apps::Knn).
    Knn {
        /// How many points.
        points: u32,
        /// How many of them travel together.
        block_points: u32,
    },
    /// Steps of computation and communication, in a ring; see [`Ratio`](apps::Ratio).
    Ratio {
        /// Floating-point operations of all processes together in a step.
        operations: u64,
    },
}

/// The computation in each step of a [`Ratio`](SharedProgram::Ratio) from which on it scales well: there its speed-up is for the
/// first time the stated share of the number of SPEs. It is looked for where `operations` say, and between two of them
/// times are taken to be in a line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScalesFrom {
    /// SPEs.
    pub spes: u16,
    /// Processes on each.
    #[serde(default = "one")]
    pub threads: u16,
    /// What carries requests.
    #[serde(default)]
    pub transport: ChannelTransport,
    /// How the PPE reaches mailboxes.
    #[serde(default)]
    pub ppe_access: Access,
    /// Which share of the number of SPEs a speed-up has to be, in per cent: 1 to 100.
    pub efficiency_percent: u16,
    /// Floating-point operations of a step, in rising order; at least 2.
    pub operations: Vec<u64>,
}

/// The longest that is folded: the PPE takes a tenth of a millisecond for each task that it gives away, and workers have to
/// have more to do than that.
const BEADS: &str = "HPHPPHHPHPPHPHHPPHPH";
/// Makes 272 tasks: 17 for each worker of a blade, and 4 ms each.
const PLACED: usize = 8;

/// The paper's (figure 7).
const DIMENSIONS: usize = 72;
const NEIGHBOURS: usize = 10;

/// They are all alike.
const STEPS: u64 = 10;

impl Network {
    /// The same by one process.
    pub(super) const fn alone(self) -> Self {
        Self {
            spes: 1,
            threads: 1,
            ..self
        }
    }

    /// The result is the time that it takes.
    pub(super) fn run<M: Machine>(&self, machine: &M) -> Result<Outcome, String> {
        check_spes(machine, usize::from(self.spes))?;
        let placement = Placement {
            spes: self.spes.into(),
            threads: self.threads.into(),
            transport: self.transport.into(),
        };
        match self.program {
            SharedProgram::Prototein => {
                let beads = BEADS.into();
                time(
                    machine,
                    &apps::Prototein {
                        beads,
                        placed: PLACED,
                        placement,
                    },
                )
            }
            SharedProgram::Knn {
                points,
                block_points,
            } => time(
                machine,
                &apps::Knn {
                    placement,
                    points: points as usize,
                    dimensions: DIMENSIONS,
                    neighbours: NEIGHBOURS,
                    block_points: block_points as usize,
                },
            ),
            SharedProgram::Ratio { operations } => time(
                machine,
                &apps::Ratio {
                    placement,
                    operations,
                    steps: STEPS,
                },
            ),
        }
    }
}

/// Runs a program whose first result is a time in nanoseconds.
fn time<M: Machine, P: apps::Program>(machine: &M, program: &P) -> Result<Outcome, String> {
    let found = program.run(machine).map_err(failed)?;
    Ok(Outcome::time(found[0].value))
}

impl ScalesFrom {
    pub(super) fn check(&self) -> Result<(), String> {
        let rises = self.operations.is_sorted_by(|a, b| a < b);
        if !rises || self.operations.len() < 2 {
            return Err(
                "what it looks for lies between `operations`: name at least 2, in rising order"
                    .to_owned(),
            );
        }
        if !(1..=100).contains(&self.efficiency_percent) {
            return Err(format!(
                "{} % of the number of SPEs is no speed-up to look for: use 1 to 100",
                self.efficiency_percent
            ));
        }
        Ok(())
    }

    /// What runs: for each number of operations one process alone, and all.
    pub(super) fn runs(&self) -> impl Iterator<Item = Network> {
        self.operations.iter().flat_map(|&operations| {
            let all = Network {
                program: SharedProgram::Ratio { operations },
                spes: self.spes,
                threads: self.threads,
                transport: self.transport,
                ppe_access: self.ppe_access,
            };
            iter::once(all.alone()).chain([all])
        })
    }

    /// The operations, from the times of the [runs](Self::runs).
    pub(super) fn found(&self, times: &[f64]) -> Result<f64, String> {
        let wanted = f64::from(self.spes) * f64::from(self.efficiency_percent) / 100.0;
        // Above 0 where it scales well.
        let margins = times.chunks_exact(2).map(|pair| pair[0] - wanted * pair[1]);
        let operations = self.operations.iter().map(|operations| *operations as f64);
        let points: Vec<(f64, f64)> = operations.zip(margins).collect();
        let share = format!("speed-up of {wanted} on {} SPEs", self.spes);
        let first = points.iter().position(|(_, margin)| *margin >= 0.0);
        match first {
            None => Err(format!(
                "up to {} operations there is no {share}; look further up",
                points[points.len() - 1].0
            )),
            Some(0) => Err(format!(
                "{} operations have a {share} already; look further down",
                points[0].0
            )),
            Some(at) => {
                let ((low, below), (high, above)) = (points[at - 1], points[at]);
                Ok(low + (high - low) * below / (below - above))
            }
        }
    }
}
