//! Figures of a paper whose curves are simulated.

use serde::Deserialize;

use crate::experiment::{CommsTime, Experiment, Network, Overlap, SharedProgram, Stats, Switch};

/// A figure: panels of curves against one quantity.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its number in the paper.
    pub number: String,
    /// What it shows, in a few words.
    pub title: String,
    /// What its curves are drawn against.
    pub x: Horizontal,
    /// The numbers that `x` takes.
    pub at: Vec<u64>,
    /// Its panels.
    #[serde(rename = "panel")]
    pub panels: Vec<Panel>,
}

/// What curves are drawn against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Horizontal {
    /// Bytes of a block.
    BlockBytes,
    /// Elements of a list of 16 KB in all.
    ListElements,
    /// How many SPEs.
    Spes,
    /// How many threads of an SPE.
    Threads,
    /// Computation for each byte, in cycles.
    CyclesPerByte,
    /// Floating-point operations in each step.
    Operations,
}

/// A part of a figure with axes of its own.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// What its curves have in common.
    pub title: String,
    /// The experiment of its curves, without what they differ in.
    #[serde(default)]
    pub of: Option<Experiment>,
    /// A curve for each of these numbers of SPEs, if it is a measurement of `cellworks stats`.
    #[serde(default)]
    pub spes: Vec<usize>,
    /// Curves of experiments of their own, where they differ in more.
    #[serde(default)]
    pub lines: Vec<Line>,
}

/// A curve.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// What it is called.
    pub name: String,
    /// Its experiment.
    pub of: Experiment,
}

/// What the elements of a list have together in the figures of CellStats.
const LIST_BYTES: u64 = 16 << 10;

impl Horizontal {
    /// What an axis of it is called.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::BlockBytes => "block_bytes",
            Self::ListElements => "list_elements",
            Self::Spes => "spes",
            Self::Threads => "threads",
            Self::CyclesPerByte => "cycles_per_byte",
            Self::Operations => "operations",
        }
    }

    /// The experiment at a number on the axis; `None` if it has no such quantity.
    pub(crate) fn at(self, experiment: &Experiment, number: u64) -> Option<Experiment> {
        match (self, experiment) {
            (Self::Threads, Experiment::Switch(_)) => Some(Experiment::Switch(Switch {
                threads: number as usize,
            })),
            (Self::CyclesPerByte, Experiment::Overlap(overlap)) => {
                Some(Experiment::Overlap(Overlap {
                    cycles_per_byte: number,
                    ..*overlap
                }))
            }
            (Self::Spes, Experiment::CommsTime(ring)) => Some(Experiment::CommsTime(CommsTime {
                spes: number as u16,
                ..*ring
            })),
            (Self::Spes, Experiment::SpeedUp(network)) => Some(Experiment::SpeedUp(Network {
                spes: number as u16,
                ..*network
            })),
            (Self::Operations, Experiment::SpeedUp(network))
                if matches!(network.program, SharedProgram::Ratio { .. }) =>
            {
                Some(Experiment::SpeedUp(Network {
                    program: SharedProgram::Ratio { operations: number },
                    ..*network
                }))
            }
            (_, Experiment::Stats(stats)) => {
                let mut stats = stats.clone();
                match self {
                    Self::BlockBytes => stats.block_bytes = Some(number as usize),
                    Self::ListElements => {
                        stats.list_elements = Some(number as u32);
                        stats.block_bytes = Some((LIST_BYTES / number) as usize);
                    }
                    Self::Spes => stats.spes = number as usize,
                    Self::Threads | Self::CyclesPerByte | Self::Operations => return None,
                }
                Some(Experiment::Stats(stats))
            }
            _ => None,
        }
    }
}

impl Figure {
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.at.is_empty() || self.at.contains(&0) {
            return Err("`at` has to name numbers above 0".to_owned());
        }
        let in_elements = self.x == Horizontal::ListElements;
        if let Some(number) = self
            .at
            .iter()
            .find(|at| in_elements && !LIST_BYTES.is_multiple_of(**at))
        {
            return Err(format!(
                "{number} elements do not share {LIST_BYTES} bytes evenly; use powers of 2"
            ));
        }
        for panel in &self.panels {
            if panel.spes.is_empty() == panel.lines.is_empty() {
                return Err(format!(
                    "panel `{}` has to have either `spes`, a curve for each, or `lines`",
                    panel.title
                ));
            }
            let is_of_spes = matches!(panel.of, Some(Experiment::Stats(_)));
            if is_of_spes == panel.spes.is_empty() {
                return Err(format!(
                    "panel `{}` has to have `of`, a measurement of `cellworks stats`, with `spes`, and \
                     none with `lines`",
                    panel.title
                ));
            }
            let at = self.at[0];
            if let Some(line) = panel
                .curves()
                .iter()
                .find(|line| self.x.at(&line.of, at).is_none())
            {
                return Err(format!(
                    "curve `{}` of panel `{}` cannot be drawn against {}: its experiment has none",
                    line.name,
                    panel.title,
                    self.x.name()
                ));
            }
        }
        Ok(())
    }
}

impl Panel {
    /// Its curves: their names and experiments.
    pub(crate) fn curves(&self) -> Vec<Line> {
        let of_spes = self.spes.iter().filter_map(|&spes| {
            let Some(Experiment::Stats(of)) = &self.of else {
                return None;
            };
            // Between SPEs one of them only lends its local store.
            let working = spes - usize::from(of.between_spes);
            let noun = if working == 1 { "SPE" } else { "SPEs" };
            Some(Line {
                name: format!("{working} {noun}"),
                of: Experiment::Stats(Stats { spes, ..of.clone() }),
            })
        });
        of_spes.chain(self.lines.iter().cloned()).collect()
    }
}
