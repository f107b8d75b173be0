//! `cellworks export`: prints results for services that watch for regressions.

use cellworks_report::export::{self, Target};

use crate::args::{ExportArgs, ExportTarget, refuse_standard_input_twice};
use crate::compare::{load_side, named, refuse_twice};
use crate::failure::Failure;
use crate::output::print;

pub(crate) fn run(arguments: &ExportArgs) -> Result<(), Failure> {
    let files = &arguments.files;
    refuse_twice(files)?;
    refuse_standard_input_twice(files)?;
    let (runs, _) = load_side(files, arguments.untrusted)?;
    let target = match arguments.target {
        ExportTarget::Bencher => Target::Bencher,
        ExportTarget::SmallerIsBetter => Target::SmallerIsBetter,
        ExportTarget::BiggerIsBetter => Target::BiggerIsBetter,
    };
    let text = export::export(&named(&runs), target);
    print(&text.map_err(|error| Failure::Usage(error.to_string()))?)
}
