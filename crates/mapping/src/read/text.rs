//! Errors in texts.

use crate::error::{ProblemError, is_amount};

/// The largest number of letters of a file that an error repeats.
const SHOWN: usize = 40;

pub(super) enum TextError {
    Line { line: usize, rule: String },
    TooManyTasks { line: usize },
    Problem(ProblemError),
}

impl TextError {
    pub fn at(line: usize, rule: impl Into<String>) -> Self {
        let rule = rule.into();
        Self::Line { line, rule }
    }
}

impl From<ProblemError> for TextError {
    fn from(source: ProblemError) -> Self {
        Self::Problem(source)
    }
}

/// A word, and the line in which it stands, counted from 1.
pub(super) type Word<'a> = (usize, &'a str);

/// The words of a text, of which a format says what has to follow.
pub(super) struct Words<'a> {
    words: Box<dyn Iterator<Item = Word<'a>> + 'a>,
    /// The line of the last word, for the error that the file ends.
    line: usize,
}

impl<'a> Words<'a> {
    /// Returns the words of the lines of a text that `counts` accepts.
    pub fn of(text: &'a str, counts: impl Fn(&str) -> bool + 'a) -> Self {
        let lines = (1..).zip(text.lines());
        let lines = lines.filter(move |(_, text)| counts(text));
        let words =
            lines.flat_map(|(line, text)| text.split_whitespace().map(move |word| (line, word)));
        Self {
            words: Box::new(words),
            line: 1,
        }
    }

    /// Returns the next word. `what` names what has to be there.
    pub fn next(&mut self, what: &str) -> Result<Word<'a>, TextError> {
        let next = self.words.next();
        let (line, word) =
            next.ok_or_else(|| TextError::at(self.line, format!("the file ends before {what}")))?;
        self.line = line;
        Ok((line, word))
    }

    pub fn amount(&mut self, what: &str) -> Result<f64, TextError> {
        let (line, word) = self.next(what)?;
        amount(word, line)
    }

    pub fn count(&mut self, what: &str) -> Result<(usize, usize), TextError> {
        let (line, word) = self.next(what)?;
        Ok((line, count(word, line, what)?))
    }

    /// Fails if there is another word.
    pub fn end(&mut self, last: &str) -> Result<(), TextError> {
        match self.words.next() {
            None => Ok(()),
            Some((line, word)) => Err(TextError::at(
                line,
                format!("{:?} stands after {last}", shown(word)),
            )),
        }
    }
}

pub(super) fn amount(word: &str, line: usize) -> Result<f64, TextError> {
    let number = word.parse().ok().filter(|number| is_amount(*number));
    // `-0` is no mistake, and is 0.
    number.map(f64::abs).ok_or_else(|| {
        let word = shown(word);
        let rule = format!("{word:?} stands where a number from 0 to 1e100 has to be");
        TextError::Line { line, rule }
    })
}

pub(super) fn count(word: &str, line: usize, what: &str) -> Result<usize, TextError> {
    let number = word.parse().ok();
    number.ok_or_else(|| {
        let rule = format!("{:?} stands where {what} has to be", shown(word));
        TextError::at(line, rule)
    })
}

/// Returns a text as an error repeats it: not more than its beginning.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
