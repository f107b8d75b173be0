//! The format of QAPLIB.

use super::text::{TextError, amount, shown};
use crate::costs::Costs;
use crate::problem::Problem;
use crate::volumes::Volumes;

pub(super) fn parse(text: &str) -> Result<Problem, TextError> {
    let lines = text.lines().enumerate();
    let mut words =
        lines.flat_map(|(line, text)| text.split_whitespace().map(move |word| (line + 1, word)));
    let (line, word) = words.next().unwrap_or((1, ""));
    let Some(size) = word.parse().ok().filter(|size: &usize| *size > 0) else {
        let word = shown(word);
        let rule = format!("{word:?} stands where the size of the problem has to be, 1 or more");
        return Err(TextError::Line { line, rule });
    };

    let end = text.lines().count();
    let mut matrix = |name: &str| -> Result<Vec<Vec<f64>>, TextError> {
        let mut rows = Vec::new();
        for row in 0..size {
            let mut elements = Vec::new();
            for column in 0..size {
                let (line, word) = words.next().ok_or_else(|| {
                    let rule = format!(
                        "the file ends before row {}, column {} of the {name} matrix: a problem of size {size} has \
                         two matrices of {size} rows and {size} columns",
                        row + 1,
                        column + 1
                    );
                    TextError::Line { line: end, rule }
                })?;
                elements.push(amount(word, line)?);
            }
            rows.push(elements);
        }
        Ok(rows)
    };
    let volumes = Volumes::from_rows(&matrix("first")?)?;
    let costs = Costs::from_rows(&matrix("second")?)?;
    if let Some((line, word)) = words.next() {
        let rule = format!(
            "{:?} follows the last element: a problem of size {size} has two matrices of {size} rows and {size} \
             columns",
            shown(word)
        );
        return Err(TextError::Line { line, rule });
    }
    Ok(Problem::builder(volumes, costs).build()?)
}
