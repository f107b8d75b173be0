//! `cellworks reproduce`: published numbers beside simulated ones.

use cellworks_report::{json, reproduction};
use cellworks_reproduce::{Asked, Paper, built_in, reproduce};

use crate::Failure;
use crate::args::ReproduceArgs;
use crate::output::{Page, Views, show};
use crate::progress::Progress;
use crate::surroundings::environment_of_a_simulation;

pub(crate) fn run(arguments: &ReproduceArgs) -> Result<(), Failure> {
    let page = arguments.output.html.as_deref().map(Page::at).transpose()?;
    let papers = match &arguments.paper {
        None => Paper::all(),
        Some(name) => vec![Paper::built_in(name).expect("clap lets only names of papers pass")],
    };
    let asked = Asked {
        papers: &papers,
        // Curves take many times as long as the numbers, and only a page shows them.
        figures: page.is_some(),
    };
    let progress = Progress::new(1, arguments.quiet);
    progress.about("simulations".to_owned());
    let found = reproduce(
        asked,
        &built_in,
        environment_of_a_simulation(),
        &|done, all| progress.at(done, all),
    );
    progress.clear();
    let found = found.map_err(|error| Failure::Run(error.to_string()))?;
    let views = Views {
        table: reproduction::table,
        csv: reproduction::csv,
        json: json::render,
        html: reproduction::html,
    };
    show(&found, &views, arguments.output.format, page.as_ref())?;
    if found.envelope.trust.trustworthy {
        return Ok(());
    }
    Err(Failure::Untrusted(found.envelope.trust.reasons))
}
