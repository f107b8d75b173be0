//! Figures of a paper whose curves are simulated.

use serde::Deserialize;

use crate::experiment::Stats;

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
}

/// A part of a figure with axes of its own.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// What its curves have in common.
    pub title: String,
    /// The measurement of its curves, without what they differ in.
    pub of: Stats,
    /// A curve for each of these numbers of SPEs.
    #[serde(default)]
    pub spes: Vec<usize>,
    /// Curves of measurements of their own, where they differ in more.
    #[serde(default)]
    pub lines: Vec<Line>,
}

/// A curve.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// What it is called.
    pub name: String,
    /// Its measurement.
    pub of: Stats,
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
        }
    }

    /// The measurement at a number on the axis.
    pub(crate) fn at(self, stats: &Stats, number: u64) -> Stats {
        let mut stats = stats.clone();
        match self {
            Self::BlockBytes => stats.block_bytes = Some(number as usize),
            Self::ListElements => {
                stats.list_elements = Some(number as u32);
                stats.block_bytes = Some((LIST_BYTES / number) as usize);
            }
            Self::Spes => stats.spes = number as usize,
        }
        stats
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
        }
        Ok(())
    }
}

impl Panel {
    /// Its curves: their names and measurements.
    pub(crate) fn curves(&self) -> Vec<Line> {
        let curve = |spes: &usize| {
            // Between SPEs one of them only lends its local store.
            let working = spes - usize::from(self.of.between_spes);
            let noun = if working == 1 { "SPE" } else { "SPEs" };
            Line {
                name: format!("{working} {noun}"),
                of: Stats {
                    spes: *spes,
                    ..self.of.clone()
                },
            }
        };
        let of_spes = self.spes.iter().map(curve);
        of_spes.chain(self.lines.iter().cloned()).collect()
    }
}
