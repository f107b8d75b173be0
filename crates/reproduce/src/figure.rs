//! Figures of papers, with curves that can be simulated.

use cellworks_stats::Setting;
use serde::Deserialize;

use crate::experiment::{Experiment, Stats};

/// A figure, with panels of curves against one quantity.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The number of the figure in its paper.
    pub number: String,
    /// The contents of the figure, in a few words.
    pub title: String,
    /// The quantity on the horizontal axis. For a program, it is the name of a parameter. For a
    /// measurement of `cellworks stats`, it is `spes` or the [`name`](Setting::name) of a
    /// [`Setting`]. If it is `list_elements`, the size of an element is 16 KB divided by the number
    /// of elements.
    pub x: String,
    /// The values of `x`.
    pub at: Vec<u64>,
    /// The panels of the figure.
    #[serde(rename = "panel")]
    pub panels: Vec<Panel>,
}

/// A part of a figure, with its own axes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// The title of the panel.
    pub title: String,
    /// The experiment of the curves, without the parameter in which they differ.
    #[serde(default)]
    pub of: Option<Experiment>,
    /// The number of SPEs of each curve, for a measurement of `cellworks stats`.
    #[serde(default)]
    pub spes: Vec<usize>,
    /// Curves with complete experiments, if they differ in more than the number of SPEs.
    #[serde(default)]
    pub lines: Vec<Line>,
}

/// A curve of a panel.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The name of the curve.
    pub name: String,
    /// The experiment of the curve.
    pub of: Experiment,
}

/// The size of a list in the figures of CellStats.
const LIST_BYTES: u64 = 16 << 10;

impl Figure {
    fn is_of_lists(&self) -> bool {
        self.x == Setting::LIST_ELEMENTS.name
    }

    /// Returns `experiment` with `number` as the quantity `x`, or `None` without such a quantity.
    pub(crate) fn at(&self, experiment: &Experiment, number: u64) -> Option<Experiment> {
        match experiment {
            Experiment::Run(run) => run.at(&self.x, number).map(Experiment::Run),
            Experiment::SpeedUp(run) => run.at(&self.x, number).map(Experiment::SpeedUp),
            Experiment::Stats(stats) => {
                let mut stats = stats.clone();
                if self.x == "spes" {
                    stats.spes = number as usize;
                } else {
                    let x = Setting::ALL.iter().find(|setting| setting.name == self.x)?;
                    (x.set)(&mut stats.settings, Some(number as usize));
                }
                if self.is_of_lists() {
                    stats.settings.block_bytes = Some((LIST_BYTES / number) as usize);
                }
                Some(Experiment::Stats(stats))
            }
            _ => None,
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        if self.at.is_empty() || self.at.contains(&0) {
            return Err("`at` has to name numbers above 0".to_owned());
        }
        if let Some(number) = self
            .at
            .iter()
            .find(|at| self.is_of_lists() && !LIST_BYTES.is_multiple_of(**at))
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
            for line in panel.curves() {
                line.of.dimension().map_err(|what| {
                    format!("curve `{}` of panel `{}`: {what}", line.name, panel.title)
                })?;
            }
            let at = self.at[0];
            if let Some(line) = panel
                .curves()
                .iter()
                .find(|line| self.at(&line.of, at).is_none())
            {
                return Err(format!(
                    "curve `{}` of panel `{}` cannot be drawn against {}: its experiment has none",
                    line.name, panel.title, self.x
                ));
            }
        }
        Ok(())
    }
}

impl Panel {
    pub(crate) fn curves(&self) -> Vec<Line> {
        let of_spes = self.spes.iter().filter_map(|&spes| {
            let Some(Experiment::Stats(of)) = &self.of else {
                return None;
            };
            // SPE 0 only lends its local store.
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
