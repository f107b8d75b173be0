//! `cellworks compare`: compares two results, or several runs of each side.

use std::path::{Path, PathBuf};
use std::slice;

use cellworks_report::{Comparison, Measured, compare, json, read};

use crate::args::{CompareArgs, refuse_standard_input_twice};
use crate::failure::Failure;
use crate::message::warn;
use crate::output::{Printed, Views, combine, show};

pub(crate) fn run(arguments: &CompareArgs) -> Result<(), Failure> {
    let files = arguments.output.files()?;
    let (a, b) = sides(arguments)?;
    refuse_twice(a)?;
    refuse_twice(b)?;
    refuse_standard_input_twice(a.iter().chain(b))?;
    for input in a.iter().chain(b) {
        files.refuse_to_replace(input)?;
    }
    let load = |paths: &[PathBuf]| -> Result<Vec<(String, Measured)>, Failure> {
        let load =
            |path: &PathBuf| Ok((path.display().to_string(), load(path, arguments.untrusted)?));
        paths.iter().map(load).collect()
    };
    let (a, b) = (load(a)?, load(b)?);
    let comparison = Comparison::of_runs(&named(&a), &named(&b))
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let slower = match arguments.threshold {
        Some(percent) => slower(&comparison, percent)?,
        None => None,
    };
    let views = Views {
        table: compare::table,
        csv: compare::csv,
        json: json::render,
        html: compare::html,
    };
    let format = arguments.output.format;
    let printed = Printed::ToStandardOutput;
    let shown = show(&comparison, &views, format, printed, files);
    combine(shown, slower.map_or(Ok(()), Err))
}

fn sides(arguments: &CompareArgs) -> Result<(&[PathBuf], &[PathBuf]), Failure> {
    let (files, with) = (&arguments.files[..], &arguments.with[..]);
    match (files, with) {
        ([a, b], []) => Ok((slice::from_ref(a), slice::from_ref(b))),
        (_, []) => Err(Failure::Usage(format!(
            "{} without --with: two files are compared, or several with several\n  example: cellworks compare \
             old.json new.json\n  example: cellworks compare old-1.json old-2.json --with new-1.json new-2.json",
            match files.len() {
                1 => "one file".to_owned(),
                more => format!("{more} files"),
            }
        ))),
        sides => Ok(sides),
    }
}

/// Fails if a side names a file twice, because the file would count as two runs that agree.
pub(crate) fn refuse_twice(side: &[PathBuf]) -> Result<(), Failure> {
    let twice = side
        .iter()
        .enumerate()
        .find(|(at, run)| side[..*at].contains(run));
    match twice {
        Some((_, run)) => Err(Failure::Usage(format!(
            "`{}` is twice on one side, and runs are compared by how far they are apart; name it once",
            run.display()
        ))),
        None => Ok(()),
    }
}

pub(crate) fn named(runs: &[(String, Measured)]) -> Vec<(&str, &Measured)> {
    runs.iter()
        .map(|(name, run)| (name.as_str(), run))
        .collect()
}

/// Reads a result. Unless `untrusted` is set, leaves out the measurements that have doubts, and fails
/// if the rest cannot be relied upon either.
pub(crate) fn load(path: &Path, untrusted: bool) -> Result<Measured, Failure> {
    let mut measured = read(path).map_err(|error| Failure::Usage(error.to_string()))?;
    let left_out = if untrusted {
        0
    } else {
        measured.leave_out_doubts()
    };
    if left_out > 0 {
        warn(&format!(
            "`{}`: {left_out} of its measurements and matrices have doubts and are left out; --untrusted keeps them",
            path.display()
        ));
    }
    let trust = &measured.envelope().trust;
    if !trust.trustworthy && !untrusted {
        return Err(Failure::Usage(format!(
            "`{}` cannot be relied upon; measure again, or use it all the same with --untrusted:\n  {}",
            path.display(),
            match trust.reasons.is_empty() {
                true => "it does not say why".to_owned(),
                false => trust.reasons.join("\n  "),
            }
        )));
    }
    Ok(measured)
}

/// Returns the failure of the command if B is slower than A by more than `percent`, else `None`.
/// Returns a usage error if A and B have neither a time nor a rate in common.
fn slower(comparison: &Comparison, percent: f64) -> Result<Option<Failure>, Failure> {
    let [a, b] = [&comparison.compared.a, &comparison.compared.b];
    let judged = comparison.slowdowns().count();
    if judged == 0 {
        return Err(Failure::Usage(format!(
            "--threshold: `{a}` and `{b}` have no time and no rate in common, so neither is slower; leave \
             --threshold out"
        )));
    }
    if !comparison.only_in_a.is_empty() {
        warn(&format!(
            "--threshold: not judged, because it is only in `{a}`:\n  {}",
            comparison.only_in_a.join("\n  ")
        ));
    }
    let slower: Vec<String> = comparison
        .slower_by(percent / 100.0)
        .map(|(ratio, times)| format!("{times:.3} times  {}", ratio.describe()))
        .collect();
    Ok((!slower.is_empty()).then(|| {
        Failure::Slower(format!(
            "`{b}` is slower than `{a}` by more than {percent} % in {} of {judged}:\n  {}",
            slower.len(),
            slower.join("\n  ")
        ))
    }))
}
