//! A description file: its values, their places in the text, and the problems found.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::DescriptionError;

pub(super) struct File<'t> {
    name: &'t str,
    text: &'t str,
    /// The table that is the content of the file.
    pub root: Spanned<DeValue<'t>>,
    /// An empty table, which is read in place of a missing one.
    pub nothing: Spanned<DeValue<'t>>,
    problems: RefCell<Vec<DescriptionError>>,
    /// The path of each missing key, with the error to report. A key in a made-up value has no
    /// error.
    missing: RefCell<BTreeMap<String, Option<DescriptionError>>>,
    /// The paths of made-up values, which replace wrong values. Problems in them are not reported.
    made_up: RefCell<Vec<String>>,
    /// The paths of wrong values, and of values that stand for missing or unreadable ones.
    doubtful: RefCell<Vec<String>>,
}

impl<'t> File<'t> {
    /// Parses a TOML text. Errors name the file as `name`.
    ///
    /// # Errors
    ///
    /// Returns the first syntax error.
    pub fn parse(text: &'t str, name: &'t str) -> Result<Self, DescriptionError> {
        let empty = || Spanned::new(0..0, DeValue::Table(DeTable::new()));
        let mut file = Self {
            name,
            text,
            root: empty(),
            nothing: empty(),
            problems: RefCell::default(),
            missing: RefCell::default(),
            made_up: RefCell::default(),
            doubtful: RefCell::default(),
        };
        let table = DeTable::parse(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            file.error_at(offset, format!("no TOML: {}", error.message()))
        })?;
        file.root = Spanned::new(0..0, DeValue::Table(table.into_inner()));
        Ok(file)
    }

    /// Records that the value at `path` is wrong. Reading continues.
    pub fn wrong(&self, path: &str, error: DescriptionError) {
        self.doubt(path);
        if !self.is_made_up(path) {
            self.problems.borrow_mut().push(error);
        }
    }

    /// Returns whether the value at `path` is made up or part of a made-up value.
    fn is_made_up(&self, path: &str) -> bool {
        let is_in = |whole: &String| is_within(path, whole);
        self.made_up.borrow().iter().any(is_in) || self.missing.borrow().keys().any(is_in)
    }

    /// Clears the list of made-up values, after all values have been read.
    pub fn is_read(&self) {
        self.made_up.take();
        let missing = self.missing.borrow();
        self.doubtful.borrow_mut().extend(missing.keys().cloned());
    }

    /// Records that the value at `path` is not what the file should have.
    pub fn doubt(&self, path: &str) {
        self.doubtful.borrow_mut().push(path.to_owned());
    }

    /// Returns whether the values at `paths` are those of the file, with all that is in them. A
    /// problem of values that do not fit together is only reported for such values.
    pub fn is_sound(&self, paths: &[&str]) -> bool {
        let doubtful = self.doubtful.borrow();
        let is_doubtful = |path: &&str| {
            let mut all = doubtful.iter();
            all.any(|doubtful| is_within(path, doubtful) || is_within(doubtful, path))
        };
        !paths.iter().any(is_doubtful)
    }

    /// Returns whether the values at `paths` are those of the file. Values in them may be wrong.
    pub fn is_there(&self, paths: &[&str]) -> bool {
        let doubtful = self.doubtful.borrow();
        let is_doubtful = |path: &&str| doubtful.iter().any(|doubtful| is_within(path, doubtful));
        !paths.iter().any(is_doubtful)
    }

    pub fn problem(&self, path: &str, problem: impl Display) {
        self.wrong(path, self.error(path, problem));
    }

    pub fn make_up(&self, path: &str) {
        self.made_up.borrow_mut().push(path.to_owned());
    }

    /// Records that the key `path` is missing, and clears all other problems. The caller then reads
    /// the file again with a made-up value for the key.
    pub fn misses(&self, path: String, error: DescriptionError) {
        let error = (!self.is_made_up(&path)).then_some(error);
        self.problems.take();
        self.made_up.take();
        self.doubtful.take();
        self.missing.borrow_mut().insert(path, error);
    }

    /// Returns those of `keys` that are missing in the table at `path`.
    pub fn missing_in(&self, path: &str, keys: &[&'static str]) -> Vec<&'static str> {
        let missing = self.missing.borrow();
        let is_missing = |key: &&&str| {
            missing.contains_key(&match path {
                "" => (**key).to_owned(),
                path => format!("{path}.{key}"),
            })
        };
        keys.iter().filter(is_missing).copied().collect()
    }

    /// Ends reading.
    ///
    /// # Errors
    ///
    /// Returns all recorded problems, if there are any.
    pub fn finish(&self) -> Result<(), DescriptionError> {
        let missing = self.missing.borrow();
        let problems = self.problems.borrow();
        let missing = missing.values().flatten();
        let all = problems.iter().chain(missing).cloned();
        DescriptionError::all(all).map_or(Ok(()), Err)
    }

    /// Makes an error about the text at the byte `offset` of the file.
    pub fn error_at(&self, offset: usize, problem: String) -> DescriptionError {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        DescriptionError::new(self.name, line, problem)
    }

    /// Makes an error about the value at `path`, such as `memory[1].cell`. If the file has no such
    /// value, the error is about the innermost table or list on the path.
    pub fn error(&self, path: &str, problem: impl Display) -> DescriptionError {
        let mut here = &self.root;
        for step in path.split(['.', '[']) {
            let next = match (step.strip_suffix(']'), here.get_ref()) {
                (Some(index), DeValue::Array(array)) => {
                    index.parse().ok().and_then(|index: usize| array.get(index))
                }
                (None, DeValue::Table(table)) => table.get(step),
                _ => None,
            };
            let Some(next) = next else { break };
            here = next;
        }
        self.error_at(here.span().start, format!("{path} {problem}"))
    }

    /// Returns the text of a span, cut if it is long.
    pub fn excerpt(&self, span: Range<usize>) -> String {
        const LONGEST: usize = 60;
        let line = self.text.get(span).unwrap_or_default();
        let mut line = line.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        if let Some((end, _)) = line.char_indices().nth(LONGEST) {
            line.truncate(end);
            line.push_str("...");
        }
        line
    }
}

/// Returns whether `path` is `whole`, or the path of a value in it.
fn is_within(path: &str, whole: &str) -> bool {
    let rest = path.strip_prefix(whole);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
