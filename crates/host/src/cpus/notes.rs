//! Notes about files of a computer that are malformed, but not necessary.

use std::collections::BTreeMap;

use super::error::CpusError;

/// Sentences for users about contents that were read and are not used.
#[derive(Debug, Default)]
pub struct Notes {
    notes: Vec<String>,
    /// For files that are malformed in the same way: a sentence about the first one, and their
    /// number.
    files: BTreeMap<String, (String, usize)>,
}

impl Notes {
    /// The value of a file. If its content is malformed, `None`, and a note is added.
    ///
    /// # Errors
    ///
    /// The errors of the read that are not [`CpusError::Malformed`].
    pub fn skip<T>(&mut self, read: Result<Option<T>, CpusError>) -> Result<Option<T>, CpusError> {
        read.or_else(|error| {
            let CpusError::Malformed { expected, .. } = &error else {
                return Err(error);
            };
            self.add_file(expected, || format!("a file is not used: {error}"));
            Ok(None)
        })
    }

    /// Adds a sentence.
    pub fn add(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Adds a sentence about a file if it is the first one that is malformed in this way. The
    /// others are only counted, because a large computer may have thousands.
    pub fn add_file(&mut self, oddity: &str, note: impl FnOnce() -> String) {
        let about = self.files.entry(oddity.to_owned());
        about.or_insert_with(|| (note(), 0)).1 += 1;
    }

    /// All sentences: those about files, and then the others.
    pub fn sentences(self) -> Vec<String> {
        let of_files = self.files.into_values().map(|(first, count)| match count {
            1 => first,
            2 => format!("{first}; so it is with another file"),
            _ => format!("{first}; so it is with {} other files", count - 1),
        });
        of_files.chain(self.notes).collect()
    }
}
