//! What is wrong with a description.

/// What is wrong with a description, and where.
///
/// ```
/// let error = cellworks_sim::Description::from_toml("name = 7", "my.toml").unwrap_err();
/// let expected = "my.toml:1: name is 7; allowed: lower-case letters, digits and dashes";
/// assert_eq!(error.to_string(), expected);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {problem}")]
pub struct DescriptionError {
    file: String,
    line: usize,
    problem: String,
}

impl DescriptionError {
    pub(super) fn new(file: &str, line: usize, problem: String) -> Self {
        let file = file.to_owned();
        Self {
            file,
            line,
            problem,
        }
    }
}
