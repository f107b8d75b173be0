//! A level of a machine.

/// A level of a machine: each part of the level outside of it consists of `parts` parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// What a part is called, such as `node` or `core`.
    pub name: String,
    /// The number of parts.
    pub parts: usize,
    /// The cost of a unit of volume between places in different parts.
    pub cost: f64,
}

impl Level {
    /// Returns a level.
    pub fn new(name: impl Into<String>, parts: usize, cost: f64) -> Self {
        Self {
            name: name.into(),
            parts,
            cost,
        }
    }
}
