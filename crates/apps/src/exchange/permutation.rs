//! Mappings of tasks to SPEs.

use std::fmt;

use cellworks_machine::SpeId;

const IDLE: char = '-';

/// The largest number of tasks that are written as one digit each.
const DIGITS: usize = 10;

/// The task of each SPE. SPE 0 always has task 0: in a ring of equal tasks, a mapping with another
/// task on SPE 0 differs only in the numbers of the tasks.
///
/// As text, a mapping is the task of SPE 0, of SPE 1 and so on: `02467531`. An SPE without a task
/// is `-`. If there are more than 10 tasks, blanks separate the tasks.
///
/// ```
/// use cellworks_apps::exchange::Mapping;
///
/// let mapping = Mapping::parse("[0213]", 4, 4)?;
/// assert_eq!(mapping.to_string(), "0213");
/// assert_eq!(Mapping::all(4, 4).nth(2), Some(mapping));
/// # Ok::<(), cellworks_apps::exchange::MappingError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mapping {
    tasks: usize,
    /// The task of each SPE, or `tasks` if the SPE has no task.
    of_spe: Vec<u8>,
}

/// The error of a text that is not a mapping.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("[{text}] is no mapping of {tasks} tasks to {spes} SPEs: {rule}")]
pub struct MappingError {
    text: String,
    tasks: usize,
    spes: usize,
    rule: String,
}

cellworks_machine::debug_by_display!(MappingError);

impl Mapping {
    /// Maps task 0 to SPE 0, task 1 to SPE 1 and so on. Further SPEs have no task.
    ///
    /// # Panics
    ///
    /// Panics if there are fewer SPEs than tasks, no tasks, or more than 255 tasks.
    pub fn identity(tasks: usize, spes: usize) -> Self {
        assert!((1..=spes).contains(&tasks) && tasks < 256, "a task an SPE");
        let task = |spe: usize| spe.min(tasks) as u8;
        Self {
            tasks,
            of_spe: (0..spes).map(task).collect(),
        }
    }

    /// Returns all mappings in lexicographic order. In this order an SPE's `-` is after all tasks.
    ///
    /// # Panics
    ///
    /// Panics if [`identity`](Self::identity) panics for the same arguments.
    pub fn all(tasks: usize, spes: usize) -> impl Iterator<Item = Self> {
        let first = Self::identity(tasks, spes);
        std::iter::successors(Some(first), Self::next)
    }

    /// Returns the number of mappings, or `None` if a `u64` cannot hold the number.
    pub fn count(tasks: usize, spes: usize) -> Option<u64> {
        // Task 0 has SPE 0. Each further task has one of the remaining SPEs.
        (1..tasks).try_fold(1_u64, |count, placed| {
            count.checked_mul(spes.saturating_sub(placed) as u64)
        })
    }

    /// Returns a random mapping. All mappings are equally likely.
    ///
    /// # Panics
    ///
    /// Panics if [`identity`](Self::identity) panics for the same arguments.
    pub fn random(tasks: usize, spes: usize, random: &mut fastrand::Rng) -> Self {
        let mut mapping = Self::identity(tasks, spes);
        random.shuffle(&mut mapping.of_spe[1..]);
        mapping
    }

    /// Reads a mapping from its text, which may be between brackets.
    ///
    /// # Errors
    ///
    /// Fails if the text does not name task 0 first, each task once, and one task or `-` for each
    /// SPE.
    pub fn parse(text: &str, tasks: usize, spes: usize) -> Result<Self, MappingError> {
        let text = text.trim();
        let bare = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'))
            .unwrap_or(text);
        let wrong = |rule: String| MappingError {
            text: bare.to_owned(),
            tasks,
            spes,
            rule,
        };
        let words: Vec<String> = if bare.contains(char::is_whitespace) || tasks > DIGITS {
            bare.split_whitespace().map(str::to_owned).collect()
        } else {
            bare.chars().map(String::from).collect()
        };
        if words.len() != spes {
            return Err(wrong(format!(
                "it names {}; name the task of each SPE, and `-` for none, such as [{}]",
                words.len(),
                Self::identity(tasks, spes)
            )));
        }
        let mut of_spe = Vec::new();
        for (spe, word) in words.iter().enumerate() {
            let task = match word.as_str() {
                "-" => tasks,
                word => {
                    let number: Option<usize> = word.parse().ok();
                    number.filter(|task| *task < tasks).ok_or_else(|| {
                        wrong(format!(
                            "there is no task `{word}`; the last is {}",
                            tasks - 1
                        ))
                    })?
                }
            };
            if spe == 0 && task != 0 {
                return Err(wrong(format!(
                    "it begins with {word}; SPE 0 has task 0, so begin with 0"
                )));
            }
            if let Some(first) = of_spe.iter().position(|other| usize::from(*other) == task)
                && task < tasks
            {
                return Err(wrong(format!(
                    "it has task {task} on SPE {first} and on SPE {spe}; name each task once"
                )));
            }
            of_spe.push(task as u8);
        }
        let placed = of_spe.iter().filter(|task| usize::from(**task) < tasks);
        if placed.count() < tasks {
            return Err(wrong("some tasks have no SPE; name each once".to_owned()));
        }
        Ok(Self { tasks, of_spe })
    }

    /// Returns the number of tasks.
    pub fn tasks(&self) -> usize {
        self.tasks
    }

    /// Returns the number of SPEs, including those without a task.
    pub fn spes(&self) -> usize {
        self.of_spe.len()
    }

    /// Returns the SPE of task 0, of task 1 and so on.
    pub fn spe_of_each_task(&self) -> Vec<SpeId> {
        let mut spes = vec![SpeId::new(0); self.tasks];
        for (spe, task) in self.of_spe.iter().enumerate() {
            if let Some(place) = spes.get_mut(usize::from(*task)) {
                *place = SpeId::new(spe as u16);
            }
        }
        spes
    }

    /// Returns the next mapping in lexicographic order.
    fn next(&self) -> Option<Self> {
        // The longest descending tail has no next permutation. So the element before the tail is
        // exchanged with the smallest larger element of the tail, and the tail is then sorted.
        let tasks = &self.of_spe;
        let at = (1..tasks.len().saturating_sub(1))
            .rev()
            .find(|at| tasks[*at] < tasks[at + 1])?;
        let mut next = self.clone();
        let larger = (at + 1..tasks.len())
            .rev()
            .find(|other| tasks[*other] > tasks[at])
            .expect("the element after it is larger");
        next.of_spe.swap(at, larger);
        next.of_spe[at + 1..].reverse();
        Some(next)
    }
}

impl fmt::Display for Mapping {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (spe, task) in self.of_spe.iter().enumerate() {
            if self.tasks > DIGITS && spe > 0 {
                out.write_str(" ")?;
            }
            if usize::from(*task) < self.tasks {
                write!(out, "{task}")?
            } else {
                write!(out, "{IDLE}")?
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(tasks: usize, spes: usize) -> Vec<String> {
        Mapping::all(tasks, spes)
            .map(|one| one.to_string())
            .collect()
    }

    #[test]
    fn there_are_as_many_as_the_paper_runs_and_each_once() {
        assert_eq!(texts(3, 3), ["012", "021"]);
        assert_eq!(texts(2, 3), ["01-", "0-1"]);
        for (tasks, spes, number) in [(1, 1, 1), (2, 2, 1), (6, 6, 120), (8, 8, 5_040), (3, 5, 12)]
        {
            let all = texts(tasks, spes);
            assert_eq!(all.len(), number);
            assert_eq!(Mapping::count(tasks, spes), Some(number as u64));
            // In ASCII, `-` comes before digits, but an SPE without a task comes last.
            let key = |text: &String| text.replace(IDLE, "~");
            assert!(
                all.is_sorted_by(|a, b| key(a) < key(b)),
                "in order, each once"
            );
            assert!(all.iter().all(|one| one.starts_with('0')));
        }
        assert_eq!(Mapping::count(64, 64), None);
    }

    #[test]
    fn a_text_gives_the_mapping_that_has_it() {
        for (tasks, spes) in [(4, 4), (2, 4), (11, 12)] {
            let mut random = fastrand::Rng::with_seed(1);
            for _ in 0..20 {
                let mapping = Mapping::random(tasks, spes, &mut random);
                let text = format!("[{mapping}]");
                assert_eq!(Mapping::parse(&text, tasks, spes), Ok(mapping));
            }
        }
        let mapping = Mapping::parse("02-1", 3, 4).unwrap();
        assert_eq!(mapping.spe_of_each_task(), [0, 3, 1].map(SpeId::new));
    }

    #[test]
    fn what_is_no_mapping_says_why() {
        let said = |text: &str, tasks, spes| {
            let error = Mapping::parse(text, tasks, spes).unwrap_err().to_string();
            error
                .strip_prefix(&format!(
                    "[{text}] is no mapping of {tasks} tasks to {spes} SPEs: "
                ))
                .unwrap_or(&error)
                .to_owned()
        };
        assert_eq!(
            said("0223", 4, 4),
            "it has task 2 on SPE 1 and on SPE 2; name each task once"
        );
        assert_eq!(
            said("1023", 4, 4),
            "it begins with 1; SPE 0 has task 0, so begin with 0"
        );
        assert_eq!(said("0124", 4, 4), "there is no task `4`; the last is 3");
        assert_eq!(said("012x", 4, 4), "there is no task `x`; the last is 3");
        assert_eq!(
            said("012", 4, 4),
            "it names 3; name the task of each SPE, and `-` for none, such as [0123]"
        );
        assert_eq!(said("01--", 3, 4), "some tasks have no SPE; name each once");
    }
}
