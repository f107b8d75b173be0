/// The problems of a description, each with its line in the file.
///
/// ```
/// let error = cellworks_sim::Description::from_toml("name = 7\nsize = 3", "my.toml").unwrap_err();
/// let error = error.to_string();
/// let expected = "my.toml:1: name is 7; allowed: lower-case letters, digits and dashes\n";
/// assert!(error.contains(expected), "{error}");
/// assert!(error.contains("my.toml:2: size is no known key; "), "{error}");
/// ```
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.lines().join("\n"))]
pub struct DescriptionError {
    file: String,
    /// The line and the text of each problem, sorted by line.
    problems: Vec<(usize, String)>,
}

cellworks_machine::debug_by_display!(DescriptionError);

impl DescriptionError {
    pub(super) fn new(file: &str, line: usize, problem: String) -> Self {
        Self {
            file: file.to_owned(),
            problems: vec![(line, problem)],
        }
    }

    /// Joins errors into one, or returns `None` if there are none.
    pub(super) fn all(errors: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut all = errors.into_iter().reduce(|mut all, error| {
            all.problems.extend(error.problems);
            all
        })?;
        all.problems.sort_by_key(|(line, _)| *line);
        Some(all)
    }

    fn lines(&self) -> Vec<String> {
        let problems = self.problems.iter();
        problems
            .map(|(line, problem)| format!("{}:{line}: {problem}", self.file))
            .collect()
    }
}
