//! Notes for users about malformed files that are not necessary.

use std::collections::BTreeMap;

use super::error::CpusError;

#[derive(Debug, Default)]
pub struct Notes {
    notes: Vec<String>,
    /// For each kind of fault, a sentence about the first file, and the number of files.
    files: BTreeMap<String, (String, usize)>,
}

impl Notes {
    /// Returns the value of a file. If the file is malformed, returns `None` and adds a note.
    ///
    /// # Errors
    ///
    /// Returns the errors of `read`, except [`CpusError::Malformed`].
    pub fn skip<T>(&mut self, read: Result<Option<T>, CpusError>) -> Result<Option<T>, CpusError> {
        read.or_else(|error| {
            let CpusError::Malformed { expected, .. } = &error else {
                return Err(error);
            };
            self.add_file(expected, || format!("a file is not used: {error}"));
            Ok(None)
        })
    }

    pub fn add(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Adds a sentence about the first file with this `oddity`, but only counts later such files.
    pub fn add_file(&mut self, oddity: &str, note: impl FnOnce() -> String) {
        let about = self.files.entry(oddity.to_owned());
        about.or_insert_with(|| (note(), 0)).1 += 1;
    }

    pub fn sentences(self) -> Vec<String> {
        let of_files = self.files.into_values().map(|(first, count)| match count {
            1 => first,
            2 => format!("{first}; so it is with another file"),
            _ => format!("{first}; so it is with {} other files", count - 1),
        });
        of_files.chain(self.notes).collect()
    }
}
