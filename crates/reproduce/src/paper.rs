//! Papers with their published numbers, from the TOML files in the folder `papers`.
//!
//! A number has a value or a shape, or is kept back. A shape is a range for a ratio of values. The
//! value of a number that is kept back is published, but not known to this project.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::experiment::{Dimension, Experiment};
use crate::figure::Figure;

/// The names and texts of the built-in papers.
const TEXTS: &[(&str, &str)] = &[
    ("cellstats", include_str!("../papers/cellstats.toml")),
    ("task-mapping", include_str!("../papers/task-mapping.toml")),
    ("cellmt", include_str!("../papers/cellmt.toml")),
    ("cell-csp", include_str!("../papers/cell-csp.toml")),
    ("jack-rabbit", include_str!("../papers/jack-rabbit.toml")),
    ("others", include_str!("../papers/others.toml")),
];

/// The numbers of one publication.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// The name on the command line: lower-case letters, digits and dashes.
    pub name: String,
    /// The title of the paper.
    pub title: String,
    /// The authors of the paper, and the year.
    pub authors: String,
    /// The simulated machine, unless a number names another machine.
    pub machine: String,
    /// The minutes that two CPUs take to simulate all numbers with `takes_long`.
    #[serde(default)]
    pub long_minutes: Option<u32>,
    /// The numbers of the paper, in the order of the paper.
    #[serde(rename = "number")]
    pub numbers: Vec<Number>,
    /// The figures with curves that can be simulated.
    #[serde(default, rename = "figure")]
    pub figures: Vec<Figure>,
}

/// A published number.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Number {
    /// The name of the number in its paper: lower-case letters, digits and dashes.
    pub id: String,
    /// The quantity, in a few words.
    pub quantity: String,
    /// The circumstances for which the paper states the number.
    #[serde(default)]
    pub conditions: String,
    /// The place of the number in the paper: section, table or figure.
    pub source: String,
    /// The unit of the published and of the simulated value.
    pub unit: Unit,
    /// The published value. `None` for a shape, and for a number that was kept back.
    #[serde(default)]
    pub value: Option<f64>,
    /// How exactly the text of the paper states the value.
    #[serde(default)]
    pub reading: Reading,
    /// Whether the value was published, but is not known to this project and has to be predicted.
    #[serde(default)]
    pub kept_back: bool,
    /// The relation that the paper states in words instead of a value.
    #[serde(default)]
    pub shape: Option<Shape>,
    /// The origin of the simulated value. `None` for a number that is kept back or not simulated.
    #[serde(default)]
    pub relation: Option<Relation>,
    /// The simulated machine. `None` if it is the machine of the paper.
    #[serde(default)]
    pub machine: Option<String>,
    /// The experiment that simulates the number.
    #[serde(default)]
    pub experiment: Option<Experiment>,
    /// Whether the simulation takes so long that it runs only on request.
    #[serde(default)]
    pub takes_long: bool,
    /// The reason why no experiment simulates the number.
    #[serde(default)]
    pub not_simulated: Option<String>,
}

/// The origin of a simulated value: the published numbers on which the value depends.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// The model was fitted to this number. The text is the name of the fitted quantity of the
    /// machine, such as `link.latency_ps`, or describes something else that was fitted, such as the
    /// number of tasks of a program. The error shows the quality of the fit.
    Fitted(String),
    /// The value follows by arithmetic from parameters or other numbers, which the text names. The
    /// error shows how far two publications agree.
    Derived(String),
    /// The value is neither fitted nor derived. The error shows the quality of the model.
    Independent,
}

/// The precision with which a text states a published value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// The text states the value without a restriction.
    #[default]
    Exact,
    /// The text says "about", "around" or "almost".
    About,
    /// The text says "at least" or "more than". A larger simulated value has an error of 0.
    AtLeast,
    /// The text says "up to" or "less than". A smaller simulated value has an error of 0.
    AtMost,
}

/// A relation that a text states in words, as a range of a ratio.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// The ratio and its range, in words.
    pub rule: String,
    /// The lower limit of the ratio, if there is one.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// The upper limit of the ratio, if there is one.
    #[serde(default)]
    pub at_most: Option<f64>,
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Unit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Cycles of an SPU at 3.2 GHz.
    #[serde(rename = "cycles")]
    Cycles,
    /// Ticks of the decrementer of a QS20, at 14.318 MHz.
    #[serde(rename = "ticks")]
    Ticks,
    /// 1,000,000,000 bytes a second.
    #[serde(rename = "GB/s")]
    GigabytesPerSecond,
    /// A ratio.
    #[serde(rename = "times")]
    Times,
    /// A ratio minus 1, in hundredths.
    #[serde(rename = "% more")]
    PercentMore,
    /// 1 minus a ratio, in hundredths.
    #[serde(rename = "% less")]
    PercentLess,
    /// A place in a list, from 1 for the best.
    #[serde(rename = "rank")]
    Rank,
    /// 1,000,000,000 floating-point operations a second.
    #[serde(rename = "GFLOPS")]
    Gigaflops,
    /// 1,000,000 floating-point operations.
    #[serde(rename = "MFLOP")]
    Megaflop,
    /// Pictures a second.
    #[serde(rename = "frames/s")]
    FramesPerSecond,
    /// Hundredths.
    #[serde(rename = "%")]
    Percent,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
}

/// The reason why a text is not a valid paper.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PaperError(String);

cellworks_machine::debug_by_display!(PaperError);

impl Paper {
    /// Returns the names of the built-in papers.
    pub fn names() -> Vec<&'static str> {
        TEXTS.iter().map(|(name, _)| *name).collect()
    }

    /// Returns the built-in papers.
    ///
    /// # Panics
    ///
    /// Never panics, because a test reads all built-in papers.
    pub fn all() -> Vec<Self> {
        let papers = TEXTS.iter().map(|(name, _)| Self::built_in(name));
        papers
            .map(|paper| paper.expect("it has a name of these"))
            .collect()
    }

    /// Returns the built-in paper of this name, or `None` if there is no such paper.
    ///
    /// ```
    /// let paper = cellworks_reproduce::Paper::built_in("cellmt").unwrap();
    /// assert_eq!(paper.machine, "qs20");
    /// ```
    ///
    /// # Panics
    ///
    /// Never panics, because a test reads all built-in papers.
    pub fn built_in(name: &str) -> Option<Self> {
        let (_, text) = TEXTS.iter().find(|(built_in, _)| *built_in == name)?;
        Some(Self::parse(text).unwrap_or_else(|error| panic!("`{name}` is built in: {error}")))
    }

    /// Reads a paper from a TOML text.
    ///
    /// ```
    /// let text = r#"
    ///     name = "mine"
    ///     title = "A measurement"
    ///     authors = "Somebody, 2026"
    ///     machine = "qs20"
    ///     [[number]]
    ///     id = "get"
    ///     quantity = "latency of a get of 128 bytes"
    ///     source = "table 1"
    ///     unit = "ns"
    ///     value = 300
    ///     relation = "independent"
    ///     experiment = { kind = "stats", function = "dmaget", block_bytes = 128 }
    /// "#;
    /// let paper = cellworks_reproduce::Paper::parse(text)?;
    /// assert_eq!(paper.numbers[0].value, Some(300.0));
    /// # Ok::<_, cellworks_reproduce::PaperError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`PaperError`] if the text is not a paper, or if a number or a figure is wrong.
    pub fn parse(text: &str) -> Result<Self, PaperError> {
        let paper: Self = toml::from_str(text)
            .map_err(|error| PaperError(format!("the paper cannot be read: {error}")))?;
        let name = &paper.name;
        if !is_name(name) {
            return Err(PaperError(format!(
                "`{name}` is no name of a paper; use lower-case letters, digits and dashes, such as \
                 `cellstats`"
            )));
        }
        let mut seen = BTreeSet::new();
        for number in &paper.numbers {
            let twice = !seen.insert(&number.id);
            let wrong = match number.check() {
                Ok(()) if twice => "there is another number with this id; give each its own".into(),
                Ok(()) if number.takes_long && paper.long_minutes.is_none() => {
                    "it takes long; state how long in `long_minutes` of the paper".into()
                }
                Ok(()) => continue,
                Err(what) => what,
            };
            let number = &number.id;
            return Err(PaperError(format!(
                "paper `{name}`, number `{number}`: {wrong}"
            )));
        }
        for figure in &paper.figures {
            let number = &figure.number;
            figure
                .check()
                .map_err(|wrong| PaperError(format!("paper `{name}`, figure {number}: {wrong}")))?;
        }
        Ok(paper)
    }

    /// Removes the experiments of numbers with long simulations, and sets `not_simulated`.
    pub(crate) fn leave_out_what_takes_long(&mut self) {
        let Some(minutes) = self.long_minutes else {
            return;
        };
        for number in self.numbers.iter_mut().filter(|number| number.takes_long) {
            number.experiment = None;
            number.relation = None;
            number.not_simulated = Some(format!(
                "it takes long: cellworks reproduce {} --all simulates it, in about {minutes} minutes on two CPUs",
                self.name
            ));
        }
    }

    /// Returns the machine on which a number is simulated.
    pub fn machine_of<'a>(&'a self, number: &'a Number) -> &'a str {
        number.machine.as_deref().unwrap_or(&self.machine)
    }
}

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(is_part)
}

impl Number {
    fn check(&self) -> Result<(), String> {
        if !is_name(&self.id) {
            return Err("an id is made of lower-case letters, digits and dashes".to_owned());
        }
        let kinds = [self.value.is_some(), self.kept_back, self.shape.is_some()];
        if kinds.into_iter().filter(|is| *is).count() != 1 {
            return Err(
                "it has to have exactly one of `value`, `kept_back = true` and `shape`".to_owned(),
            );
        }
        if self
            .value
            .is_some_and(|value| !value.is_finite() || value <= 0.0)
        {
            return Err("its value has to be above 0".to_owned());
        }
        if let Some(shape) = &self.shape {
            let bounds = [shape.at_least, shape.at_most];
            if bounds == [None, None] {
                return Err("its shape has no end: give `at_least`, `at_most` or both".to_owned());
            }
            if let [Some(low), Some(high)] = bounds
                && low > high
            {
                return Err(format!(
                    "nothing is at least {low} and at most {high}; exchange them"
                ));
            }
        }
        let experiment = match (&self.experiment, &self.not_simulated) {
            (Some(experiment), None) => Some(experiment),
            (None, Some(_)) => None,
            _ => {
                return Err(
                    "it has to have either an `experiment` or the reason why it is `not_simulated`"
                        .to_owned(),
                );
            }
        };
        let is_compared = experiment.is_some() && !self.kept_back;
        match &self.relation {
            None if is_compared => {
                return Err("it is compared with its simulation, so it has to have a `relation`: \
                            `{ fitted = \"to what\" }`, `{ derived = \"from what\" }` or `\"independent\"`"
                    .to_owned());
            }
            Some(_) if !is_compared => {
                return Err(
                    "it is not compared with a simulation, because it was kept back or is not \
                            simulated; remove `relation`"
                        .to_owned(),
                );
            }
            _ => {}
        }
        experiment.map_or(Ok(()), |experiment| self.check_unit(experiment))
    }

    fn check_unit(&self, experiment: &Experiment) -> Result<(), String> {
        let dimension = experiment.dimension()?;
        if self.unit.in_it(1.0, dimension).is_some() {
            return Ok(());
        }
        Err(format!(
            "its unit is `{}`, but its experiment gives {}; change one of them",
            self.unit.name(),
            dimension.name()
        ))
    }
}

const SPU_HZ: f64 = 3.2e9;
/// The rate of the decrementer of a QS20 (CellMT, listing 11).
const QS20_TIMEBASE_HZ: f64 = 14_318_000.0;

impl Unit {
    /// Returns the name of the unit in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::Cycles => "cycles",
            Self::Ticks => "ticks",
            Self::GigabytesPerSecond => "GB/s",
            Self::Times => "times",
            Self::PercentMore => "% more",
            Self::PercentLess => "% less",
            Self::Rank => "rank",
            Self::Gigaflops => "GFLOPS",
            Self::Megaflop => "MFLOP",
            Self::FramesPerSecond => "frames/s",
            Self::Percent => "%",
            Self::Bytes => "bytes",
        }
    }

    /// Converts a value in nanoseconds, bytes a second or operations to this unit. Returns `None`
    /// if the value has another dimension than the unit.
    pub(crate) fn in_it(self, outcome: f64, dimension: Dimension) -> Option<f64> {
        let value = match (dimension, self) {
            (Dimension::Time, Self::Nanoseconds) => outcome,
            (Dimension::Time, Self::Microseconds) => outcome / 1e3,
            (Dimension::Time, Self::Milliseconds) => outcome / 1e6,
            (Dimension::Time, Self::Seconds) => outcome / 1e9,
            (Dimension::Time, Self::Cycles) => outcome / 1e9 * SPU_HZ,
            (Dimension::Time, Self::FramesPerSecond) => 1e9 / outcome,
            (Dimension::Time, Self::Ticks) => outcome / 1e9 * QS20_TIMEBASE_HZ,
            (Dimension::Bandwidth, Self::GigabytesPerSecond) => outcome / 1e9,
            (Dimension::Ratio, Self::Times) => outcome,
            (Dimension::Ratio, Self::Percent) => outcome * 100.0,
            (Dimension::Ratio, Self::PercentMore) => (outcome - 1.0) * 100.0,
            (Dimension::Ratio, Self::PercentLess) => (1.0 - outcome) * 100.0,
            (Dimension::Rank, Self::Rank) => outcome,
            (Dimension::Operations, Self::Megaflop) => outcome / 1e6,
            _ => return None,
        };
        Some(value)
    }
}

impl Reading {
    /// Returns the difference between a simulated and a published value, in per cent of the
    /// published value, or 0 if the text allows the simulated value.
    pub(crate) fn error_percent(self, published: f64, simulated: f64) -> f64 {
        let error = (simulated / published - 1.0) * 100.0;
        match self {
            Self::Exact | Self::About => error,
            Self::AtLeast => error.min(0.0),
            Self::AtMost => error.max(0.0),
        }
    }
}

impl Shape {
    pub(crate) fn holds(&self, ratio: f64) -> bool {
        self.at_least.is_none_or(|least| ratio >= least)
            && self.at_most.is_none_or(|most| ratio <= most)
    }
}

#[cfg(test)]
mod tests;
