//! Which part of a machine limits a program, found by a run for each part with this part free.

use std::fmt;

use cellworks_machine::Span;

use crate::description::Description;
use crate::judge::Judge;
use crate::observe::{Counters, table};
use crate::part::Part;
use crate::sim::{Sim, SimBuilder, SimError};

/// A part is the bottleneck if at least this share of the time is saved without it.
const SAVED_MIN: f64 = 0.01;

/// The part of a machine that limits a program, and what each part costs the program.
///
/// The format `{}` prints the sentences and the table of `cellworks stats --bottleneck`.
///
/// ```
/// use cellworks_machine::{Cycles, Machine, Spe, SpeId};
/// use cellworks_sim::{Bottleneck, Description, Part, Sim, SimError};
///
/// let machine = || Sim::builder(Description::built_in("ps3").unwrap());
/// let found = Bottleneck::find(machine, |sim| {
///     sim.run(|ppe| drop(ppe.spawn(SpeId::new(0), |spe| {
///         spe.begin_window();
///         spe.compute(Cycles(32_000));
///         spe.end_window();
///     })))?;
///     Ok::<_, Box<dyn std::error::Error>>(sim.counters().expect("it has run").elapsed)
/// })?;
/// assert_eq!(found.limit, Some(Part::Spus));
/// assert!(found.to_string().starts_with("The bottleneck is the SPUs: "));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    /// The result of the program on the whole machine: its time in nanoseconds if
    /// [`find`](Self::find) has found it.
    pub value: f64,
    /// The part that limits the result, or `None` if no part alone costs 1 % of the time or more.
    pub limit: Option<Part>,
    /// A sentence about how `limit` limits. Empty if there is none.
    pub verdict: String,
    /// The parts that the machine has, with the largest gain first.
    pub parts: Vec<FreePart>,
    /// A sentence for each part without which the program failed.
    pub unknown: Vec<String>,
    is_time: bool,
}

/// A run of a program on a machine on which one kind of part is free.
#[derive(Clone, Debug, PartialEq)]
pub struct FreePart {
    /// The kind of the part.
    pub part: Part,
    /// The busiest part of this kind in the run of the whole machine, with its share of the window.
    /// `None` if the kind has no time, as the access times of local stores.
    pub busiest: Option<(String, f64)>,
    /// The result without this part.
    pub value: f64,
    /// The share of the time that is saved, below 0 if the run takes longer.
    pub saved: f64,
    /// The part that is then the busiest of all, with its share of the window of that run.
    pub next: Option<(String, f64)>,
    /// What to change in the program or on the machine if this part limits.
    pub advice: String,
}

impl Bottleneck {
    /// Runs a program on a machine, and for each part on the same machine with this part free.
    /// `machine` returns the builder of the machine without a free part, and `run` runs the program
    /// and returns its time, such as [`Counters::elapsed`]. The shares are those of the window.
    ///
    /// # Errors
    ///
    /// Returns the error of the first run. The error of a run without a part is in
    /// [`unknown`](Self::unknown).
    pub fn find<E: From<SimError> + fmt::Display>(
        machine: impl Fn() -> SimBuilder,
        run: impl Fn(&Sim) -> Result<Span, E>,
    ) -> Result<Self, E> {
        let mut found = Self::find_by(machine, |_, sim| run(sim).map(Span::as_nanoseconds_f64))?;
        found.is_time = true;
        Ok(found)
    }

    /// Like [`find`](Self::find) for any number of which less is better. `run` gets the free part,
    /// too.
    ///
    /// # Errors
    ///
    /// As [`find`](Self::find).
    pub fn find_by<E: From<SimError> + fmt::Display>(
        machine: impl Fn() -> SimBuilder,
        mut run: impl FnMut(Option<Part>, &Sim) -> Result<f64, E>,
    ) -> Result<Self, E> {
        let mut trial = |free: Option<Part>| {
            let builder = match free {
                Some(part) => machine().free(part),
                None => machine(),
            };
            let sim = builder.build()?;
            let value = run(free, &sim)?;
            Ok::<_, E>((value, sim))
        };
        let (value, sim) = trial(None)?;
        let mut trials = Vec::new();
        let mut unknown = Vec::new();
        for part in Part::of(sim.description()) {
            match trial(Some(part)) {
                Ok((value, sim)) => trials.push((part, value, sim.counters())),
                Err(why) => unknown.push(format!(
                    "what the run would take without {part} is not known: {why}"
                )),
            }
        }
        let counters = sim.counters();
        Ok(Self {
            unknown,
            ..judged(sim.description(), value, counters, trials)
        })
    }

    /// Returns the run without the part that limits.
    pub fn without_limit(&self) -> Option<&FreePart> {
        self.parts.iter().find(|one| Some(one.part) == self.limit)
    }
}

fn judged(
    description: &Description,
    whole: f64,
    counters: Option<Counters>,
    trials: Vec<(Part, f64, Option<Counters>)>,
) -> Bottleneck {
    let judge = Judge::new(description, counters.as_ref());
    let mut parts: Vec<_> = trials
        .into_iter()
        .map(|(part, value, counters)| FreePart {
            part,
            busiest: judge.busiest(part),
            value,
            saved: share_saved(value, whole),
            next: counters.as_ref().and_then(Counters::busiest_of_all),
            advice: judge.advice(part),
        })
        .collect();
    parts.sort_by(|a, b| b.saved.total_cmp(&a.saved));
    let savings: Vec<_> = parts.iter().map(|one| (one.part, one.saved)).collect();
    let limit = judge.limit(&savings, SAVED_MIN);
    let mut verdict = limit.map(|part| judge.verdict(part)).unwrap_or_default();
    if let (Some(limit), [(first, _), ..]) = (limit, &savings[..])
        && *first != limit
    {
        verdict.push_str(&format!(
            " The first row of the table, {first}, is why each request takes so long; more requests at once would hide \
             it."
        ));
    }
    Bottleneck {
        value: whole,
        limit,
        verdict,
        parts,
        unknown: Vec::new(),
        is_time: false,
    }
}

/// Returns the share of `whole` that is saved if it becomes `value`. Of nothing, nothing is saved.
fn share_saved(value: f64, whole: f64) -> f64 {
    if whole == 0.0 {
        0.0
    } else {
        1.0 - value / whole
    }
}

impl fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = |value: f64| {
            if self.is_time {
                Span::from_femtoseconds((value * 1e6) as u128).to_string()
            } else {
                value.to_string()
            }
        };
        let result = if self.is_time { "time" } else { "result" };
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        match self.without_limit() {
            Some(free) => {
                let (with, without) = (value(self.value), value(free.value));
                writeln!(f, "{}", self.verdict)?;
                write!(
                    f,
                    "Without this limit the {result} would be {without} in place of {with}"
                )?;
                if let Some((next, busy)) = &free.next {
                    write!(f, "; then {next} is the busiest, {}", percent(*busy))?;
                }
                writeln!(f, ".\n{}", free.advice)?;
            }
            None => writeln!(
                f,
                "No single part is the bottleneck: the {result} stays within 1 % without any of them, because \
                 others take their place."
            )?,
        }
        let head = ["without", result, "saved", "busy", "busiest of its kind"];
        let rows = self.parts.iter().map(|one| {
            let (name, busy) = one.busiest.clone().unzip();
            [
                one.part.to_string(),
                value(one.value),
                percent(one.saved),
                busy.map(percent).unwrap_or_default(),
                name.unwrap_or_default(),
            ]
        });
        table(f, head, &[0, 4], rows)?;
        self.unknown
            .iter()
            .try_for_each(|sentence| writeln!(f, "{sentence}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Such a program has an empty window.
    #[test]
    fn of_a_run_without_time_nothing_is_saved() {
        assert_eq!(share_saved(0.0, 0.0), 0.0);
        assert_eq!(share_saved(25.0, 100.0), 0.75);
        let description = Description::built_in("ps3").unwrap();
        let found = judged(&description, 0.0, None, vec![(Part::Spus, 0.0, None)]);
        assert_eq!(found.limit, None);
        assert_eq!(found.parts[0].saved, 0.0);
    }
}
