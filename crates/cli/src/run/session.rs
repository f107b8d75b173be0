//! What a program has found so far, and how its runs end: when all are done, when one fails, or when
//! somebody presses Ctrl-C. Whatever was finished is printed and saved.

use std::collections::BTreeMap;
use std::sync::Arc;

use cellworks_apps::{Conclusion, Done, Figure, Parameters, Program, Quantity, Value};
use cellworks_report::{
    Counters, FigureAxis, FigureCurve, MachineInfo, NotMeasured, ProgramFigure, ProgramReport,
    SCHEMA_VERSION, Trust, json, program,
};
use cellworks_stats::Finding;

use crate::Failure;
use crate::args::{CommonArgs, Format};
use crate::interrupt::{Interruptible, SoFar, on_ctrl_c};
use crate::output::{Page, print, warn};
use crate::progress::Progress;
use crate::surroundings::{Surroundings, environment_of_a_simulation};

/// Why the runs end.
pub(super) enum End {
    /// There is nothing left to do.
    Done,
    /// Somebody pressed Ctrl-C.
    Interrupted,
    /// The numbers cannot be trusted any more, whatever comes.
    Spoiled(String),
    /// What was asked for cannot be done on this machine.
    Refused(String),
    /// A run failed.
    Failed(String),
}

/// The runs of a program.
pub(super) struct Session<P> {
    so_far: SoFar<Found<P>>,
    titles: Vec<String>,
    machine: MachineInfo,
    /// `None` of a simulated machine: nothing can disturb it.
    surroundings: Option<Surroundings>,
    progress: Progress,
    format: Format,
    page: Option<Page>,
    quiet: bool,
}

/// What was found.
pub(super) struct Found<P> {
    done: Vec<Done<P>>,
    warnings: Vec<String>,
    counters: Option<Counters>,
}

impl<P: Program + Clone + Send + 'static> Session<P> {
    /// Begins runs of these programs. From here on Ctrl-C ends them.
    pub fn begin(
        machine: MachineInfo,
        surroundings: Option<Surroundings>,
        programs: &[P],
        common: &CommonArgs,
        page: Option<Page>,
    ) -> Arc<Self> {
        if let (Some(computer), false) = (&surroundings, common.quiet) {
            computer.warnings().iter().for_each(|warning| warn(warning));
        }
        let session = Arc::new(Self {
            so_far: SoFar::new(Found {
                done: Vec::with_capacity(programs.len()),
                warnings: Vec::new(),
                counters: None,
            }),
            titles: programs.iter().map(P::title).collect(),
            machine,
            surroundings,
            progress: Progress::new(programs.len(), common.quiet),
            format: common.output.format,
            page,
            quiet: common.quiet,
        });
        on_ctrl_c(&session);
        session
    }

    /// Where progress is shown.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Why the runs should end now, if they should. To be asked between two.
    pub fn has_to_end(&self) -> Option<End> {
        if self.so_far.is_interrupted() {
            return Some(End::Interrupted);
        }
        let computer = self.surroundings.as_ref()?;
        computer.check().err().map(End::Spoiled)
    }

    /// Takes down what a run found.
    pub fn found(&self, program: P, quantities: Vec<Quantity>) {
        self.so_far.update(|found| {
            found.done.push(Done {
                program,
                quantities,
            });
        });
    }

    /// Takes down what somebody should know who reads the numbers, and says it.
    pub fn warned(&self, warnings: Vec<String>) {
        if !self.quiet {
            self.progress.clear();
            warnings.iter().for_each(|warning| warn(warning));
        }
        self.so_far.update(|found| found.warnings.extend(warnings));
    }

    /// Takes down what the parts of a simulated machine did.
    pub fn counted(&self, counters: Counters) {
        self.so_far.update(|found| found.counters = Some(counters));
    }

    /// Ends the runs: prints and saves what was found. If Ctrl-C was faster, does not return: the process is
    /// about to end.
    pub fn conclude(&self, end: End) -> Result<(), Failure> {
        match self.so_far.take() {
            Some(found) => self.finish(found, end, false),
            None => loop {
                std::thread::park();
            },
        }
    }

    /// Prints and saves what was found; `running` if a run goes on meanwhile.
    fn finish(&self, found: Found<P>, end: End, running: bool) -> Result<(), Failure> {
        self.progress.clear();
        let (done, planned) = (found.done.len(), self.titles.len());
        match end {
            // Nothing was found that could be printed.
            End::Refused(message) if done == 0 => return Err(Failure::Usage(message)),
            End::Failed(message) if done == 0 => return Err(Failure::Run(message)),
            End::Interrupted if !self.quiet => {
                warn(&format!(
                    "interrupted: {done} of {planned} runs were finished"
                ));
            }
            _ => {}
        }
        let report = self.report(found, &end, running);
        let text = match self.format {
            Format::Table => program::table(&report),
            Format::Json => json::render(&report),
            Format::Csv => program::csv(&report),
        };
        if let Some(page) = &self.page {
            page.write(&program::html(&report))?;
        }
        print(&text)?;
        let reasons = report.trust.reasons;
        match end {
            End::Interrupted => Err(Failure::Interrupted),
            End::Refused(message) => Err(Failure::Usage(message)),
            End::Failed(message) => Err(Failure::Run(message)),
            End::Done | End::Spoiled(_) if reasons.is_empty() => Ok(()),
            End::Done | End::Spoiled(_) => Err(Failure::Untrusted(reasons)),
        }
    }

    fn report(&self, found: Found<P>, end: &End, running: bool) -> ProgramReport {
        let why = match end {
            End::Interrupted => "interrupted",
            _ => "the run ended before",
        };
        let (mut environment, mut reasons) = match &self.surroundings {
            None => (environment_of_a_simulation(), Vec::new()),
            Some(computer) if running => (computer.meanwhile(), Vec::new()),
            Some(computer) => computer.after(),
        };
        if let End::Spoiled(why) = end {
            reasons.push(why.clone());
        }
        environment.warnings.extend(found.warnings);
        let missing = self.titles[found.done.len()..].iter();
        let not_measured: Vec<_> = missing
            .map(|what| NotMeasured {
                what: what.clone(),
                why: why.to_owned(),
            })
            .collect();
        let of_runs = found.done.iter().flat_map(|one| {
            let parameters = one.program.parameters();
            let quantities = one.quantities.iter();
            quantities.map(move |quantity| finding(quantity, &parameters))
        });
        let conclusions = P::conclusions(&found.done);
        let concluded = conclusions.iter().map(
            |Conclusion {
                 quantity,
                 parameters,
             }| finding(quantity, parameters),
        );
        ProgramReport {
            schema_version: SCHEMA_VERSION,
            machine: self.machine.clone(),
            environment,
            command: "run".to_owned(),
            program: P::NAME.to_owned(),
            trust: Trust {
                trustworthy: reasons.is_empty(),
                reasons,
            },
            complete: not_measured.is_empty(),
            not_measured,
            results: of_runs.chain(concluded).collect(),
            figures: P::figures(&found.done).into_iter().map(drawn).collect(),
            counters: found.counters,
        }
    }
}

impl<P: Program + Clone + Send + 'static> Interruptible for Session<P> {
    type Found = Found<P>;

    fn so_far(&self) -> &SoFar<Found<P>> {
        &self.so_far
    }

    fn conclude(&self, found: Found<P>) -> Result<(), Failure> {
        self.finish(found, End::Interrupted, true)
    }

    fn clear(&self) {
        self.progress.clear();
    }
}

/// A number as reports have it.
fn finding(quantity: &Quantity, parameters: &Parameters) -> Finding {
    let value = |value: &Value| match value {
        Value::Count(count) => (*count).into(),
        Value::Number(number) => (*number).into(),
        Value::Text(text) => text.as_ref().into(),
    };
    let parameters = parameters.iter();
    let parameters = parameters.map(|(name, of)| ((*name).to_owned(), value(of)));
    Finding {
        name: quantity.name.to_owned(),
        value: quantity.value,
        unit: quantity.unit.to_owned(),
        parameters: parameters.collect::<BTreeMap<_, _>>(),
    }
}

/// A figure as reports have it.
fn drawn(figure: Figure) -> ProgramFigure {
    let axis = |axis: cellworks_apps::Axis| FigureAxis {
        label: axis.label,
        unit: axis.unit,
    };
    let curves = figure.curves.into_iter().map(|curve| FigureCurve {
        name: curve.name,
        points: curve.points,
    });
    ProgramFigure {
        title: figure.title,
        x: axis(figure.x),
        y: axis(figure.y),
        curves: curves.collect(),
    }
}
