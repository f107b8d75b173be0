//! The results of `map ring` so far, and the figures made from them.

use std::collections::BTreeMap;

use cellworks_apps::exchange::{Mapping, Sweep, SweepPlan, Threads, Times, Traffic, mapping_share};
use cellworks_report::{
    FigureAxis, FigureCurve, MappingTimes, NotMeasured, ProgramFigure, ProgramReport, SweepInfo,
    SweepReport, size,
};
use cellworks_stats::Finding;
use serde_json::Value;

use crate::session::{Circumstances, End, Steps};

/// The largest number of points of a curve. More points are not visible, and make the page slow.
const POINTS_MAX: usize = 600;

pub(super) struct MappingSteps {
    plan: SweepPlan,
    /// The name of the graph of the tasks.
    pattern: String,
    /// The times of the runs of each step, in nanoseconds.
    times: BTreeMap<usize, Vec<f64>>,
}

/// The mappings that were timed with packets of one size.
struct OfSize<'a> {
    packet_bytes: u32,
    /// The mappings in the order of the plan.
    mappings: Vec<Timed<'a>>,
}

struct Timed<'a> {
    mapping: &'a Mapping,
    runs_ns: Vec<f64>,
    average_ns: f64,
}

fn info(sweep: &Sweep, pattern: &str) -> SweepInfo {
    SweepInfo {
        pattern: pattern.to_owned(),
        tasks: sweep.tasks,
        spes: sweep.spes,
        packet_bytes: sweep.packet_bytes.clone(),
        directions: directions(sweep),
        rounds: sweep.rounds,
        runs: sweep.runs,
        seed: sweep.seed,
        placement: placement(sweep).to_owned(),
        sample: sweep.sample,
    }
}

/// Returns the number of directions in which packets go around, or `None` if the tasks form no
/// ring.
fn directions(sweep: &Sweep) -> Option<usize> {
    match sweep.traffic {
        Traffic::Ring { one_way: true } => Some(1),
        Traffic::Ring { one_way: false } => Some(2),
        Traffic::Graph(_) => None,
    }
}

/// Returns the value of the flag `--placement`.
pub(super) fn placement(sweep: &Sweep) -> &'static str {
    match sweep.threads {
        Threads::Pinned => "pinned",
        Threads::Placed => "default",
    }
}

impl MappingSteps {
    pub fn empty(plan: SweepPlan, pattern: String) -> Self {
        Self {
            plan,
            pattern,
            times: BTreeMap::new(),
        }
    }

    /// Records the time of a round in each run of a step.
    pub fn record_run(&mut self, step: usize, runs_ns: Vec<f64>) {
        self.times.insert(step, runs_ns);
    }

    /// Returns the mappings that were not run. `end` is the reason why the run ends.
    fn missing(&self, end: &End) -> Vec<NotMeasured> {
        let steps = 0..self.plan.steps();
        let missing = steps.filter(|step| !self.times.contains_key(step));
        let named = missing.map(|step| {
            let (packet_bytes, mapping) = self.plan.of_step(step);
            NotMeasured {
                what: format!("packets of {}, [{mapping}]", size(packet_bytes as usize)),
                why: end.why_missing().to_owned(),
            }
        });
        named.collect()
    }

    fn by_size(&self) -> Vec<OfSize<'_>> {
        let sweep = self.plan.sweep();
        let timed = |size: usize, at: usize, mapping| {
            let runs_ns = self.times.get(&self.plan.step(size, at))?.clone();
            let average_ns = runs_ns.iter().sum::<f64>() / runs_ns.len() as f64;
            Some(Timed {
                mapping,
                runs_ns,
                average_ns,
            })
        };
        let of_size = |(at, packet_bytes): (usize, &u32)| OfSize {
            packet_bytes: *packet_bytes,
            mappings: self
                .plan
                .mappings()
                .iter()
                .enumerate()
                .filter_map(|(number, mapping)| timed(at, number, mapping))
                .collect(),
        };
        sweep.packet_bytes.iter().enumerate().map(of_size).collect()
    }
}

impl OfSize<'_> {
    fn times(&self) -> Option<Times> {
        let averages: Vec<f64> = self.mappings.iter().map(|one| one.average_ns).collect();
        Times::of(&averages)
    }

    /// Returns the mappings sorted by their times, the fastest first.
    fn ranked(&self) -> Vec<&Timed<'_>> {
        let mut ranked: Vec<&Timed<'_>> = self.mappings.iter().collect();
        ranked.sort_by(|a, b| a.average_ns.total_cmp(&b.average_ns));
        ranked
    }

    fn results(&self, sweep: &Sweep) -> Vec<Finding> {
        let Some(times) = self.times() else {
            return Vec::new();
        };
        let parameters = |mapping: Option<&Mapping>| -> BTreeMap<String, Value> {
            let mut parameters = BTreeMap::from(
                [
                    ("tasks", sweep.tasks.into()),
                    ("spes", sweep.spes.into()),
                    ("packet_bytes", self.packet_bytes.into()),
                    ("rounds", sweep.rounds.into()),
                    ("runs", sweep.runs.into()),
                    ("placement", placement(sweep).into()),
                    ("mappings", self.mappings.len().into()),
                ]
                .map(|(name, value): (&str, Value)| (name.to_owned(), value)),
            );
            if let Some(directions) = directions(sweep) {
                parameters.insert("directions".to_owned(), directions.into());
            }
            if let Some(mapping) = mapping {
                parameters.insert("mapping".to_owned(), mapping.to_string().into());
            }
            parameters
        };
        let finding = |name: &str, value, unit: &str, mapping: Option<&Mapping>| {
            Finding::new(name, value, unit, parameters(mapping))
        };
        let mut results = vec![
            finding("worst_to_best", times.worst_to_best(), "times", None),
            finding("median_to_best", times.median_to_best(), "times", None),
            finding("best", times.best(), "ns", None),
            finding("average", times.mean(), "ns", None),
            finding("worst", times.worst(), "ns", None),
        ];
        let runs = self.mappings.iter().map(|one| one.runs_ns.as_slice());
        if let Some(share) = mapping_share(runs) {
            results.push(finding("mapping_share", share * 100.0, "%", None));
        }
        let ranked = self.ranked();
        let last = ranked.len() - 1;
        for (at, one) in ranked.into_iter().enumerate() {
            if at == 0 || at == last || sweep.named.contains(one.mapping) {
                let rank = times.rank(one.average_ns) as f64;
                let to_best = times.to_best(one.average_ns);
                let mapping = Some(one.mapping);
                results.extend([
                    finding("rank", rank, "rank", mapping),
                    finding("to_best", to_best, "times", mapping),
                    finding("time", one.average_ns, "ns", mapping),
                ]);
            }
        }
        results
    }

    /// Returns a figure with a curve of the averages and a curve for each run, sorted by the
    /// averages.
    fn figure(&self) -> Option<ProgramFigure> {
        let ranked = self.ranked();
        let runs = ranked.first()?.runs_ns.len();
        let mut curves = vec![curve("average", &ranked, |one| one.average_ns)];
        if runs > 1 {
            curves
                .extend((0..runs).map(|run| {
                    curve(&format!("run {}", run + 1), &ranked, |one| one.runs_ns[run])
                }));
        }
        Some(figure(self.packets(), curves))
    }

    fn packets(&self) -> String {
        format!("packets of {}", size(self.packet_bytes as usize))
    }
}

/// Returns a curve of the times of `ranked` mappings. The curve has every n-th mapping and the last
/// mapping. The number n is chosen so that there are at most [`POINTS_MAX`] points and the last.
fn curve(name: &str, ranked: &[&Timed<'_>], time: impl Fn(&Timed<'_>) -> f64) -> FigureCurve {
    let step = ranked.len().div_ceil(POINTS_MAX);
    let is_drawn = |at: &usize| at.is_multiple_of(step) || at + 1 == ranked.len();
    let drawn = (0..ranked.len()).filter(is_drawn);
    FigureCurve {
        name: name.to_owned(),
        points: drawn
            .map(|at| ((at + 1) as f64, time(ranked[at])))
            .collect(),
    }
}

fn figure(of: String, curves: Vec<FigureCurve>) -> ProgramFigure {
    let axis = |label: &str, unit: &str| FigureAxis {
        label: label.to_owned(),
        unit: unit.to_owned(),
    };
    ProgramFigure {
        title: format!("Time of a round by rank, {of}"),
        x: axis("mappings, the fastest first", "rank"),
        y: axis("time of a round", "ns"),
        curves,
    }
}

/// Returns a figure of all sizes, and then a figure of each size with its runs.
fn figures(sizes: &[OfSize<'_>]) -> Vec<ProgramFigure> {
    let averages = sizes.iter().map(|one| {
        let name = size(one.packet_bytes as usize);
        curve(&name, &one.ranked(), |timed| timed.average_ns)
    });
    let together = figure("by size of packets".to_owned(), averages.collect());
    let together = (sizes.len() > 1).then_some(together);
    let each = sizes.iter().filter_map(OfSize::figure);
    together.into_iter().chain(each).collect()
}

impl Steps for MappingSteps {
    type Report = SweepReport;

    const NAME: &'static str = "mappings";

    fn planned(&self) -> usize {
        self.plan.steps()
    }

    fn done(&self) -> usize {
        self.times.len()
    }

    fn report(self, mut circumstances: Circumstances, end: &End) -> SweepReport {
        let sweep = self.plan.sweep();
        let sizes = self.by_size();
        let is_complete = matches!(end, End::Done) && self.done() == self.planned();
        let mappings = sizes.iter().flat_map(|of_size| {
            of_size.mappings.iter().map(|one| MappingTimes {
                packet_bytes: of_size.packet_bytes,
                mapping: one.mapping.to_string(),
                runs_ns: one.runs_ns.clone(),
            })
        });
        SweepReport {
            found: ProgramReport {
                counters: circumstances.counters.take(),
                envelope: circumstances.envelope("map ring", is_complete),
                program: self.pattern.clone(),
                not_measured: self.missing(end),
                results: sizes.iter().flat_map(|one| one.results(sweep)).collect(),
                figures: figures(&sizes),
            },
            sweep: info(sweep, &self.pattern),
            mappings: mappings.collect(),
        }
    }
}
