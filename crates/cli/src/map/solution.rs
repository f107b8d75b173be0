//! Reads the output of `cellworks map solve`.

use std::path::Path;

use cellworks_report::{Measured, PlacementReport};

use crate::failure::Failure;

/// Reads a placement. If the file does not exist, the error message contains `instead`, which names
/// the arguments that are possible instead of a file.
pub(super) fn read(file: &Path, instead: &str) -> Result<PlacementReport, Failure> {
    let wrong = |why: String| Failure::Usage(format!("{}: {why}", file.display()));
    if !file.exists() {
        return Err(wrong(format!(
            "it is {instead}, and there is no such file; name what `cellworks map solve` printed with --format json"
        )));
    }
    match cellworks_report::read(file) {
        Ok(Measured::Placement(report)) => Ok(report),
        Ok(other) => Err(wrong(format!(
            "`cellworks {}` printed it, and it has no placement; name what `cellworks map solve` printed with \
             --format json",
            other.printed_by()
        ))),
        Err(error) => Err(Failure::Usage(error.to_string())),
    }
}
