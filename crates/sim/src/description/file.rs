//! The file of a description: its values, and where each of them stands.

use std::fmt::Display;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::DescriptionError;

/// A file that is TOML.
pub(super) struct File<'t> {
    name: &'t str,
    text: &'t str,
    /// All that is written in it: a table.
    pub root: Spanned<DeValue<'t>>,
}

impl<'t> File<'t> {
    /// Parses the text of a file that errors call `name`.
    ///
    /// # Errors
    ///
    /// The first thing that is no TOML.
    pub fn parse(text: &'t str, name: &'t str) -> Result<Self, DescriptionError> {
        let empty = Spanned::new(0..0, DeValue::Table(DeTable::new()));
        let mut file = Self {
            name,
            text,
            root: empty,
        };
        let table = DeTable::parse(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            file.error_at(offset, format!("no TOML: {}", error.message()))
        })?;
        file.root = Spanned::new(0..0, DeValue::Table(table.into_inner()));
        Ok(file)
    }

    /// An error about what stands so far from the beginning of the file.
    pub fn error_at(&self, offset: usize, problem: String) -> DescriptionError {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        DescriptionError::new(self.name, line, problem)
    }

    /// An error about what `path` leads to, such as `memory[1].cell`; about the nearest part of the
    /// path that is written down, if all of it is not.
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

    /// What is written there, or the beginning of it.
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
