//! `cellworks reproduce`: compares published numbers with simulated numbers.

use cellworks_report::reproduction::Reproduction;
use cellworks_reproduce::{Extent, Paper, Reproducing, Simulated, built_in};
use serde_json::Value;

use crate::args::ReproduceArgs;
use crate::failure::Failure;
use crate::session::{Circumstances, End, Session, SessionOptions, Steps};
use crate::sweep::Header;

pub(crate) fn run(arguments: &ReproduceArgs) -> Result<(), Failure> {
    let files = arguments.output.files()?;
    files.refuse_to_replace_any([&arguments.sweep.results])?;
    let papers = match &arguments.paper {
        None => Paper::all(),
        Some(name) => vec![Paper::built_in(name).expect("clap lets only names of papers pass")],
    };
    let of_extent = |figures| {
        let extent = Extent {
            figures,
            takes_long: arguments.all,
        };
        Reproducing::of(papers.clone(), extent, &built_in).map_err(Failure::run)
    };
    let reproducing = match arguments.sweep.merged_steps() {
        // Curves are simulated only for an HTML page, because they take longer than numbers.
        None => of_extent(files.has_page())?,
        Some(steps) => {
            let numbers = of_extent(false)?;
            if numbers.planned() == steps {
                numbers
            } else {
                of_extent(true)?
            }
        }
    };
    let plan = reproducing.plan();
    let (machine, planned) = (reproducing.machine().clone(), reproducing.planned());
    // A step is identified by its name alone, because the simulated machines are built in.
    let steps = plan.steps().map(Value::from).collect();
    let name = match &arguments.paper {
        None => "reproduce".to_owned(),
        Some(paper) => format!("reproduce-{paper}"),
    };
    let sweep = arguments
        .sweep
        .begin(&name, Header::of("built in".to_owned(), steps))?;
    let options =
        SessionOptions::of(arguments.output.format, arguments.quiet, files).with(sweep)?;
    let session = Session::begin(machine, None, reproducing, options);
    session.progress().about("simulations".to_owned());
    let to_do = match session.to_do(planned, Ok::<Simulated, _>, Reproducing::record) {
        Ok(to_do) => to_do,
        Err(end) => return session.conclude(end),
    };
    plan.simulate(
        &built_in,
        &|step| to_do.contains(&step),
        &|step, simulated| session.record(step, Ok(simulated), Reproducing::record),
    );
    session.conclude(session.end_reason().unwrap_or(End::Done))
}

impl Steps for Reproducing {
    type Report = Reproduction;

    const NAME: &'static str = "simulations";

    fn planned(&self) -> usize {
        Self::planned(self)
    }

    fn done(&self) -> usize {
        Self::done(self)
    }

    fn report(self, circumstances: Circumstances, _: &End) -> Reproduction {
        Self::report(self, circumstances.environment)
    }
}
