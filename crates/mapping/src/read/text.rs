//! Errors in texts.

use crate::error::ProblemError;

pub(super) enum TextError {
    Line { line: usize, rule: String },
    Problem(ProblemError),
}

impl From<ProblemError> for TextError {
    fn from(source: ProblemError) -> Self {
        Self::Problem(source)
    }
}

pub(super) fn amount(word: &str, line: usize) -> Result<f64, TextError> {
    let number = word
        .parse()
        .ok()
        .filter(|number: &f64| *number >= 0.0 && number.is_finite());
    // `-0` is no mistake, and is 0.
    number.map(f64::abs).ok_or_else(|| {
        let rule = format!("{word:?} stands where a finite number of 0 or more has to be");
        TextError::Line { line, rule }
    })
}
