//! Errors in texts.

use crate::error::{ProblemError, is_amount};

pub(super) enum TextError {
    Line { line: usize, rule: String },
    TooManyTasks { line: usize },
    Problem(ProblemError),
}

impl From<ProblemError> for TextError {
    fn from(source: ProblemError) -> Self {
        Self::Problem(source)
    }
}

pub(super) fn amount(word: &str, line: usize) -> Result<f64, TextError> {
    let number = word.parse().ok().filter(|number| is_amount(*number));
    // `-0` is no mistake, and is 0.
    number.map(f64::abs).ok_or_else(|| {
        let rule = format!("{word:?} stands where a number from 0 to 1e100 has to be");
        TextError::Line { line, rule }
    })
}
