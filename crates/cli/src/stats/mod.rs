//! `cellworks stats`: measures, and prints the results.

mod args;
mod doubts;
mod explain;
mod found;
mod work;

use std::ops::Range;
use std::time::{Duration, Instant};

use cellworks_machine::Topology;
use cellworks_runner::Runner;
use cellworks_sim::HazardWatch;
use cellworks_stats::{Function, Iterations, Limits, MeasureError, Readings, Request, Visits};

pub(crate) use args::StatsArgs;

use crate::args::span;
use crate::failure::Failure;
use crate::machine::{Job, MachineKind, on_machine};
use crate::session::{End, Session, go_on_unless};
use crate::simulated::Sample;
use args::Wanted;
use doubts::Doubts;
use explain::explain;
use found::{Again, MeasurementSteps};
use work::{VISITS, Work, title_of};

/// The longest time for the rounds of one visit if `stats` measures everything.
const MEASUREMENT_TIME_MAX: Duration = Duration::from_millis(32);

/// The time for the rounds of wake-ups, in multiples of that of other functions. A wake-up has one
/// sample in each millisecond, and the median of a round should be that of several.
const WAKE_UPS_LONGER: u32 = 8;

/// The largest number of measurements that one run visits together. During a run nobody looks
/// whether it is disturbed, and Ctrl-C waits for its end. With this number, the run of the chases
/// with several chains has all of them, which share their table.
const TOGETHER_MAX: usize = 11;

/// The largest number of visits that `--until-trusted` adds to a measurement that is only
/// uncertain. If visits differ, more of them do not make the interval narrow. Visits until it is
/// narrow would keep intervals that are narrow by chance.
const LONGER_MAX: u32 = 1;

pub(crate) fn run(arguments: &StatsArgs) -> Result<(), Failure> {
    let wanted = arguments.wanted().map_err(Failure::Usage)?;
    let files = arguments.common.output.files()?;
    on_machine(&arguments.common, files, &Stats { arguments, wanted })
}

struct Stats<'a> {
    arguments: &'a StatsArgs,
    wanted: Wanted,
}

impl Job for Stats<'_> {
    type Plan = Work;
    type Steps = MeasurementSteps;

    fn plan(&self, topology: &Topology, limits: &Limits) -> Result<Work, Failure> {
        let arguments = self.arguments;
        let Wanted::These(requests) = &self.wanted else {
            return Ok(Work::everything(topology, limits, arguments));
        };
        let plan = |request: &Request| {
            request.plan(topology, limits).map_err(|error| {
                let machine = arguments.machine_flag();
                let message = explain(&error, request, topology, &machine);
                Failure::Usage(MachineKind::of(&arguments.common.machine).say(message, topology))
            })
        };
        let plans: Result<_, Failure> = requests.iter().map(plan).collect();
        let has_iterations = |one: &Request| matches!(one.iterations, Iterations::Exactly(_));
        let has_iterations = requests.iter().any(has_iterations);
        let is_visited_once = topology.capabilities().repeats || has_iterations;
        Ok(Work {
            plans: plans?,
            // If the user gives the total number of iterations, there is one visit.
            visits: if is_visited_once { 1 } else { VISITS },
            budget: None,
            budget_of_a_matrix: arguments.budget_of_a_matrix(),
            reference: (!has_iterations).then(|| Readings::of(topology)).flatten(),
            until_trusted: arguments.until_trusted,
            no_time: Vec::new(),
            not_measured: Vec::new(),
        })
    }

    fn steps(&self, work: &Work, topology: &Topology) -> MeasurementSteps {
        MeasurementSteps::empty(work, topology)
    }

    fn hazards(&self) -> HazardWatch {
        match &self.wanted {
            // Measuring everything includes puts to shared buffers, which are a hazard.
            Wanted::Everything => HazardWatch::Off,
            // The parts of each block overwrite each other in the local store, which is a hazard.
            Wanted::These(requests) if requests[0].function == Function::Memory => HazardWatch::Off,
            Wanted::These(_) => HazardWatch::Warn,
        }
    }

    fn sample(work: Work, machine: &dyn Runner) -> Result<Sample, String> {
        let plan = work.plans.first().ok_or("there is no measurement")?;
        let measured = machine.measure(plan).map_err(|error| error.to_string())?;
        Ok(Sample {
            name: "latency_ns".to_owned(),
            value: measured.latency_ns.p50,
            unit: "ns".to_owned(),
        })
    }

    fn run(
        work: Work,
        machine: &dyn Runner,
        session: &Session<MeasurementSteps>,
        after: &mut dyn FnMut(&str),
    ) -> End {
        let mut measuring = Measuring {
            machine,
            session,
            after,
            doubts: Doubts::of(work.plans.len(), session),
            begin: Instant::now(),
            took: vec![Duration::ZERO; work.plans.len()],
            are_impossible: vec![false; work.plans.len()],
            steps: work.plans.into_iter().map(Visits::of).collect(),
            visits: work.visits,
            reference: work.reference,
            budget: work.budget,
            budget_of_a_matrix: work.budget_of_a_matrix,
        };
        let end = measuring.visit_all();
        let end = match (end, work.until_trusted) {
            (Ok(()), Some(limit)) => measuring.until_trusted(limit),
            (end, _) => end,
        };
        end.err().unwrap_or(End::Done)
    }
}

/// Visits all plans in turn, several times. A visit measures a part of a plan, so the results show
/// changes of the computer's state. A matrix has only one visit. Between visits, the time of a
/// fixed pair of SPEs is measured.
struct Measuring<'a> {
    machine: &'a dyn Runner,
    session: &'a Session<MeasurementSteps>,
    /// Called after each visit with the title of the plan.
    after: &'a mut dyn FnMut(&str),
    reference: Option<Readings>,
    doubts: Doubts,
    begin: Instant,
    /// The measurement of each step.
    steps: Vec<Visits>,
    /// Whether the result of each step was impossible.
    are_impossible: Vec<bool>,
    /// The time that the last visit of each step took.
    took: Vec<Duration>,
    visits: u32,
    budget: Option<Duration>,
    budget_of_a_matrix: Option<Duration>,
}

impl Measuring<'_> {
    /// Makes all visits of all steps, or as many as the budget allows.
    fn visit_all(&mut self) -> Result<(), End> {
        let operations = (0..self.steps.len()).filter(|step| !self.is_matrix(*step));
        let of_all = self.visits * operations.count() as u32;
        let mut left = of_all;
        'all: for visit in 1..=self.visits {
            let mut step = 0;
            while step < self.steps.len() {
                let together = self.together(step);
                let is_matrix = self.is_matrix(step);
                if !is_matrix {
                    let done = of_all - left;
                    self.session.progress().at(done as usize, of_all as usize);
                    left -= together.len() as u32;
                }
                if let (Some(budget), false) = (self.budget, is_matrix) {
                    let Some(time) = budget.checked_sub(self.begin.elapsed()) else {
                        out_of_time(self.session)?;
                        break 'all;
                    };
                    let visits_left = left + together.len() as u32;
                    let of_visit = (time / visits_left).min(MEASUREMENT_TIME_MAX);
                    // An early visit takes a third, so the last one may take more.
                    let of_visits = (of_visit * self.visits).min(MEASUREMENT_TIME_MAX);
                    for visits in &mut self.steps[together.clone()] {
                        let is_wake_up = visits.plan().function() == Function::WakeUp;
                        let times = if is_wake_up { WAKE_UPS_LONGER } else { 1 };
                        visits.set_span(span(of_visits * times));
                    }
                }
                step = together.end;
                if !is_matrix || visit == 1 {
                    self.visit(together, visit < self.visits)?;
                }
            }
        }
        self.judge()
    }

    /// Measures again what has doubts, until nothing has or the time is over.
    fn until_trusted(&mut self, limit: Duration) -> Result<(), End> {
        let mut longer = vec![0; self.steps.len()];
        while self.begin.elapsed() < limit {
            let mut again = Vec::new();
            self.session
                .update(|found| again = found.to_measure_again());
            again.retain(|again| match again {
                Again::Anew(_) => true,
                Again::Longer(step) => longer[*step] < LONGER_MAX,
            });
            let left = limit.saturating_sub(self.begin.elapsed());
            let again = fitting(again, left, &self.took, self.visits);
            if again.is_empty() {
                break;
            }
            // The time until now does not count for what is measured from now on.
            self.doubts.end_window(self.session);
            for again in &again {
                if let Again::Longer(step) = again {
                    longer[*step] += 1;
                }
                // The visits that were disturbed are dropped, whatever they have measured. Those of
                // an uncertain median are kept: to drop them would favour medians that agree by
                // chance.
                if let Again::Anew(step) = *again
                    && !self.are_impossible[step]
                {
                    self.steps[step] = Visits::of(self.steps[step].plan().clone());
                    self.doubts.forget(step);
                }
            }
            for visit in 1..=self.visits {
                for again in &again {
                    let step = again.step();
                    let is_once = self.is_matrix(step) || matches!(again, Again::Longer(_));
                    if !is_once || visit == 1 {
                        self.visit(step..step + 1, !is_once && visit < self.visits)?;
                    }
                }
            }
            self.judge()?;
        }
        Ok(())
    }

    fn is_matrix(&self, step: usize) -> bool {
        self.steps[step].plan().function().is_matrix()
    }

    /// Returns the steps from `first` on that one run visits together.
    fn together(&self, first: usize) -> Range<usize> {
        let last = self.steps.len().min(first + TOGETHER_MAX);
        let is_possible = |step: usize| !self.are_impossible[step];
        let is_alike = |step: &usize| {
            let [one, other] = [first, *step].map(|step| &self.steps[step]);
            is_possible(first) && is_possible(*step) && one.can_be_visited_with(other)
        };
        first..first + 1 + (first + 1..last).take_while(is_alike).count()
    }

    /// Makes a visit of each of the steps in one run. A step whose result was impossible is alone,
    /// and is not visited again.
    fn visit(&mut self, steps: Range<usize>, more: bool) -> Result<(), End> {
        let session = self.session;
        if self.are_impossible[steps.start] {
            return Ok(());
        }
        if let Some(end) = session.end_reason() {
            return Err(end);
        }
        let begin = Instant::now();
        self.read(false)?;
        let readings = self.reference.as_ref().map_or(0, Readings::count);
        let visited = &mut self.steps[steps.clone()];
        let titles: Vec<String> = visited.iter().map(|one| title_of(one.plan())).collect();
        session.progress().about(session.say(&titles[0]));
        if self.took.iter().any(|took| !took.is_zero()) {
            visited.iter_mut().for_each(Visits::set_warm);
        }
        let failed = |title: &str, error| End::Failed(session.say(&format!("{title}: {error}")));
        let measured = match visited {
            [only] => {
                let (budget, begin) = (self.budget_of_a_matrix, Instant::now());
                vec![self.machine.visit(only, more, &mut |done, all| {
                    session.progress().at(done, all);
                    let is_over = budget.is_some_and(|budget| begin.elapsed() > budget);
                    go_on_unless(is_over || session.is_interrupted())
                })]
            }
            several => (self.machine.visit_together(several, more))
                .map_err(|error| failed(&titles[0], error))?,
        };
        self.took[steps.clone()].fill(begin.elapsed() / steps.len() as u32);
        for ((step, title), measured) in steps.zip(titles).zip(measured) {
            match measured {
                Ok(found) => {
                    let mut line = None;
                    session.update(|all| line = all.measured(step, found));
                    if let Some(line) = line {
                        session.progress().line(&session.say(&line));
                    }
                }
                Err(error @ MeasureError::Impossible(_)) => {
                    session.update(|all| all.refused(step, error.to_string()));
                    self.are_impossible[step] = true;
                }
                Err(error) => return Err(failed(&title, error)),
            }
            self.doubts.visited(step, readings, session);
            // An interrupted matrix lacks times, so the run ends here.
            if let (true, Some(end)) = (self.is_matrix(step), session.end_reason()) {
                return Err(end);
            }
            (self.after)(&title);
        }
        Ok(())
    }

    /// Reads the reference if a reading is due or `is_last` is set.
    fn read(&mut self, is_last: bool) -> Result<(), End> {
        let Some(readings) = &mut self.reference else {
            return Ok(());
        };
        if !is_last && !readings.is_due() {
            return Ok(());
        }
        let session = self.session;
        let read = self.machine.read_reference(readings);
        read.map_err(|error| {
            End::Failed(session.say(&format!("the reference of the run: {error}")))
        })?;
        let summary = readings.summary();
        session.update(|found| found.reference = summary);
        Ok(())
    }

    /// Finds the doubts of all measurements so far.
    fn judge(&mut self) -> Result<(), End> {
        self.read(true)?;
        self.doubts.end_window(self.session);
        let reference = self.reference.as_ref();
        let are_main = reference.map_or(Vec::new(), Readings::are_of_the_main_state);
        self.session
            .update(|found| found.judge(&self.doubts, &are_main));
        Ok(())
    }
}

/// Returns the steps to measure again for which the time that is left is enough, in their order. A
/// visit takes as long as the last one, which `took` has for each step.
fn fitting(again: Vec<Again>, left: Duration, took: &[Duration], visits: u32) -> Vec<Again> {
    let mut planned = Duration::ZERO;
    let fits = |again: &Again| {
        let visits = match again {
            Again::Anew(_) => visits,
            Again::Longer(_) => 1,
        };
        let sum = planned + took[again.step()] * visits;
        if sum <= left {
            planned = sum;
        }
        sum <= left
    };
    again.into_iter().filter(fits).collect()
}

/// Fails if the time of a run is over before anything was measured.
fn out_of_time(session: &Session<MeasurementSteps>) -> Result<(), End> {
    let mut end = Ok(());
    session.update(|found| {
        if found.is_empty() {
            let message = "--budget: there was no time to measure anything; give more, such as 30s";
            end = Err(End::Refused(message.to_owned()));
        }
    });
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_fits_into_the_time_that_is_left_is_measured_again() {
        let took = [100, 300, 100, 50].map(Duration::from_millis);
        let again = vec![
            Again::Anew(0),
            Again::Anew(1),
            Again::Longer(2),
            Again::Longer(3),
        ];
        let of = |ms| {
            let left = Duration::from_millis(ms);
            fitting(again.clone(), left, &took, 3)
        };
        assert_eq!(of(2_000), again);
        assert_eq!(
            of(400),
            [Again::Anew(0), Again::Longer(2)],
            "3 visits of 100 ms and one of 100 ms"
        );
        assert_eq!(of(60), [Again::Longer(3)]);
        assert_eq!(of(0), []);
    }
}
