//! `cellworks export`: prints results for services that watch for regressions, and pages.

use std::path::PathBuf;

use cellworks_report::export::{self, Target};
use cellworks_report::read;

use crate::args::{ExportArgs, ExportTarget, refuse_standard_input_twice};
use crate::compare::{load_side, named, refuse_twice};
use crate::failure::Failure;
use crate::message::warn;
use crate::output::print;

pub(crate) fn run(arguments: &ExportArgs) -> Result<(), Failure> {
    let files = &arguments.files;
    refuse_twice(files)?;
    refuse_standard_input_twice(files)?;
    let target = match arguments.target {
        ExportTarget::Bencher => Target::Bencher,
        ExportTarget::SmallerIsBetter => Target::SmallerIsBetter,
        ExportTarget::BiggerIsBetter => Target::BiggerIsBetter,
        ExportTarget::Html => return page(files),
    };
    let (runs, _) = load_side(files, arguments.untrusted)?;
    let runs = named(&runs);
    let text = export::export(&runs, target).map_err(Failure::usage)?;
    let differences = export::differences(&runs);
    if !differences.is_empty() {
        warn(&format!(
            "these runs differ, so their medians may mean nothing; export together only files that are alike:\n  {}",
            differences.join("\n  ")
        ));
    }
    print(&text)
}

/// Prints the page of a result. It says itself what in it has doubts.
fn page(files: &[PathBuf]) -> Result<(), Failure> {
    let [file] = files else {
        return Err(Failure::Usage(format!(
            "html: a page has one result, and there are {} files; name one, or put two beside each other with \
             `cellworks compare A.json B.json --html FILE`",
            files.len()
        )));
    };
    let result = read(file).map_err(Failure::usage)?;
    print(&result.html())
}
