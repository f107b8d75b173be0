//! `cellworks compare`: two results side by side.

use std::path::Path;

use cellworks_report::{Comparison, Measured, compare, json, read};

use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::output::{Printed, Views, show};

pub(crate) fn run(arguments: &CompareArgs) -> Result<(), Failure> {
    let page = arguments.output.page()?;
    for input in [&arguments.a, &arguments.b] {
        if page.as_ref().is_some_and(|page| page.is(input)) {
            return Err(Failure::Usage(format!(
                "--html: the page would replace {}, which is to be compared; name another file",
                input.display()
            )));
        }
    }
    let (a, b) = (load(&arguments.a)?, load(&arguments.b)?);
    let names = [&arguments.a, &arguments.b].map(|path| path.display().to_string());
    let comparison = Comparison::of(&a, &b, [&names[0], &names[1]])
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let views = Views {
        table: compare::table,
        csv: compare::csv,
        json: json::render,
        html: compare::html,
    };
    let format = arguments.output.format;
    show(&comparison, &views, format, Printed::ToStandardOutput, page)
}

fn load(path: &Path) -> Result<Measured, Failure> {
    read(path).map_err(|error| Failure::Usage(error.to_string()))
}
