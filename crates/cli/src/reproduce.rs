//! `cellworks reproduce`: published numbers beside simulated ones.

use std::ops::ControlFlow;

use cellworks_report::reproduction::Reproduction;
use cellworks_report::{Trust, json, reproduction};
use cellworks_reproduce::{Extent, Paper, Reproducing, built_in};

use crate::args::ReproduceArgs;
use crate::failure::Failure;
use crate::output::{Printed, Views};
use crate::session::{Circumstances, End, Session, Shown, Steps};

pub(crate) fn run(arguments: &ReproduceArgs) -> Result<(), Failure> {
    let page = arguments.output.page()?;
    let papers = match &arguments.paper {
        None => Paper::all(),
        Some(name) => vec![Paper::built_in(name).expect("clap lets only names of papers pass")],
    };
    // Curves take many times as long as the numbers, and only a page shows them.
    let extent = Extent {
        figures: page.is_some(),
        takes_long: arguments.all,
    };
    let reproducing = Reproducing::of(papers, extent, &built_in)
        .map_err(|error| Failure::Run(error.to_string()))?;
    let plan = reproducing.plan();
    let (machine, planned) = (reproducing.machine().clone(), reproducing.planned());
    let shown = Shown {
        format: arguments.output.format,
        printed: Printed::ToStandardOutput,
        page,
        quiet: arguments.quiet,
    };
    let session = Session::begin(machine, None, reproducing, shown);
    session.progress().about("simulations".to_owned());
    plan.simulate(&built_in, &|simulated| {
        session.update(|reproducing| {
            reproducing.take_down(simulated);
            session.progress().at(reproducing.done(), planned);
        });
        match session.is_interrupted() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    session.conclude(session.has_to_end().unwrap_or(End::Done))
}

impl Steps for Reproducing {
    type Report = Reproduction;

    const NAME: &'static str = "simulations";
    const VIEWS: Views<Reproduction> = Views {
        table: reproduction::table,
        csv: reproduction::csv,
        json: json::render,
        html: reproduction::html,
    };

    fn planned(&self) -> usize {
        Self::planned(self)
    }

    fn done(&self) -> usize {
        Self::done(self)
    }

    fn report(self, circumstances: Circumstances, _: &End) -> Reproduction {
        Self::report(self, circumstances.environment)
    }

    fn trust(report: &Reproduction) -> &Trust {
        &report.envelope.trust
    }
}
