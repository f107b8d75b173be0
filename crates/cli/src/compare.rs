//! `cellworks compare`: compares two results, or several runs of each side.

use std::path::{Path, PathBuf};
use std::slice;

use cellworks_report::{Comparison, Measured, compare, read};

use crate::args::{CompareArgs, refuse_standard_input_twice};
use crate::failure::Failure;
use crate::message::warn;
use crate::output::{Printed, combine, show};
use crate::output_file::OutputFile;

pub(crate) fn run(arguments: &CompareArgs) -> Result<(), Failure> {
    let files = arguments.output.files()?;
    let (a, b) = sides(arguments)?;
    refuse_twice(a)?;
    refuse_twice(b)?;
    refuse_standard_input_twice(a.iter().chain(b))?;
    for input in a.iter().chain(b) {
        files.refuse_to_replace(input)?;
    }
    let markdown = arguments.markdown.as_deref();
    let markdown = markdown
        .map(|path| OutputFile::open("--markdown", path))
        .transpose()?;
    if let Some(file) = &markdown {
        files.refuse(file)?;
        let mut inputs = a.iter().chain(b);
        inputs.try_for_each(|input| file.refuse_to_replace(input))?;
    }
    let [a, b] = [a, b].map(|paths| load_side(paths, arguments.untrusted));
    let ((a, mut notes), (b, notes_of_b)) = (a?, b?);
    let mut comparison = Comparison::of_runs(&named(&a), &named(&b)).map_err(Failure::usage)?;
    notes.extend(notes_of_b);
    comparison.notes.extend(notes);
    let verdict = match arguments.threshold {
        Some(percent) => judged(&mut comparison, percent)?,
        None => Ok(()),
    };
    let format = arguments.output.format;
    let printed = match &markdown {
        Some(file) if file.is_standard_output() => Printed::ToStandardError,
        _ => Printed::ToStandardOutput,
    };
    let mut shown = show(&comparison, format, printed, files);
    if let Some(file) = markdown {
        shown = combine(file.save(&compare::markdown(&comparison)), shown);
    }
    combine(shown, verdict)
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
            "`{}` is named twice, and would count as two runs; name it once",
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

/// Runs with the names of their files.
pub(crate) type Runs = Vec<(String, Measured)>;

/// Reads the runs of one side. Unless `untrusted` is set, leaves out the measurements that have
/// doubts, and runs that cannot be relied upon: returns sentences about those. Fails if no run is
/// left.
pub(crate) fn load_side(
    paths: &[PathBuf],
    untrusted: bool,
) -> Result<(Runs, Vec<String>), Failure> {
    let (mut runs, mut refused) = (Vec::new(), Vec::new());
    for path in paths {
        let name = path.display().to_string();
        match load(path, untrusted)? {
            Ok(measured) => runs.push((name, measured)),
            Err(reasons) => refused.push((name, reasons)),
        }
    }
    if runs.is_empty() {
        let each = refused.iter().map(|(name, reasons)| {
            format!(
                "`{name}` cannot be relied upon; measure again, or use it all the same with --untrusted:\n  {}",
                reasons.join("\n  ")
            )
        });
        return Err(Failure::Usage(each.collect::<Vec<_>>().join("\n")));
    }
    let mut notes = Vec::new();
    for (name, reasons) in refused {
        warn(&format!(
            "`{name}` cannot be relied upon and is left out; --untrusted keeps it:\n  {}",
            reasons.join("\n  ")
        ));
        let reasons = reasons.join("; ");
        let reasons = reasons.strip_suffix('.').unwrap_or(&reasons);
        notes.push(format!("{name} is left out: {reasons}."));
    }
    Ok((runs, notes))
}

/// Reads a result. Unless `untrusted` is set, leaves out the measurements that have doubts. Returns
/// the reasons if the rest cannot be relied upon either.
fn load(path: &Path, untrusted: bool) -> Result<Result<Measured, Vec<String>>, Failure> {
    let mut measured = read(path).map_err(Failure::usage)?;
    if untrusted {
        return Ok(Ok(measured));
    }
    let left_out = measured.leave_out_doubts();
    if left_out > 0 {
        warn(&format!(
            "`{}`: {left_out} of its measurements and matrices have doubts and are left out; --untrusted keeps them",
            path.display()
        ));
    }
    let trust = &measured.envelope().trust;
    Ok(match (trust.trustworthy, trust.reasons.is_empty()) {
        (true, _) => Ok(measured),
        (false, true) => Err(vec!["it does not say why".to_owned()]),
        (false, false) => Err(trust.reasons.clone()),
    })
}

/// The number of values that a warning names.
const NAMED_MAX: usize = 5;

/// Judges the comparison by a threshold. Returns a failure, after which the comparison is shown, if
/// B is slower than A by more than `percent`, or if there are too few runs. Fails if A and B have
/// neither a time nor a rate in common.
fn judged(comparison: &mut Comparison, percent: f64) -> Result<Result<(), Failure>, Failure> {
    comparison.judge(percent / 100.0);
    let Some(judgement) = comparison.judgement else {
        unreachable!("it was just judged");
    };
    let [a, b] = [&comparison.compared.a, &comparison.compared.b];
    if judgement.judged == 0 && judgement.too_few_runs == 0 {
        return Err(Failure::Usage(format!(
            "--threshold: `{a}` and `{b}` have no time and no rate in common, so neither is slower; leave \
             --threshold out"
        )));
    }
    if judgement.judged == 0 {
        return Ok(Err(Failure::Usage(format!(
            "--threshold: `{a}` and `{b}` have too few runs to tell a change from what varies from run to run; \
             measure at least three times on each side\n  example: cellworks compare old-1.json old-2.json \
             old-3.json --with new-1.json new-2.json new-3.json --threshold {percent}%"
        ))));
    }
    if !comparison.only_in_a.is_empty() {
        let names = comparison.only_in_a.iter().take(NAMED_MAX);
        let names = names.map(String::as_str).collect::<Vec<_>>().join("\n  ");
        let more = match comparison.only_in_a.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!("\n  and {more} more, which the comparison lists"),
        };
        warn(&format!(
            "--threshold: not judged, because it is only in `{a}`:\n  {names}{more}"
        ));
    }
    let slower: Vec<String> = comparison
        .slower_by(percent / 100.0)
        .map(|(ratio, times)| format!("{times:.3} times  {}", ratio.describe()))
        .collect();
    Ok(if slower.is_empty() {
        Ok(())
    } else {
        Err(Failure::Slower(format!(
            "`{b}` is slower than `{a}` by more than {percent} % in {} of {}:\n  {}",
            slower.len(),
            judgement.judged,
            slower.join("\n  ")
        )))
    })
}
