//! The machines that are built in.

use super::Description;

/// Names and texts of the machines that are built in.
const TEXTS: [(&str, &str); 1] = [("qs20", include_str!("../../../../machines/qs20.toml"))];

impl Description {
    /// A machine that is built in, by its name.
    pub fn built_in(name: &str) -> Option<Self> {
        let (_, text) = TEXTS.iter().find(|(built_in, _)| *built_in == name)?;
        Some(toml::from_str(text).expect("a built-in description is valid"))
    }
}
