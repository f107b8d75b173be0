//! The steps of a sweep that a process does.

// Rejected: communication between the processes of a divided sweep, or a crate for MPI. Files need
// no network, and a failed share can be repeated by itself.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::failure::Failure;

/// A share of the steps of a sweep. If there are n shares, a share has every n-th step.
/// Neighbouring steps take similar times, so all shares take similar times, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// The number of the share, from 1 on.
    number: usize,
    /// The number of shares.
    of: usize,
}

impl Share {
    fn new(number: usize, of: usize) -> Result<Self, String> {
        if (1..=of).contains(&number) {
            Ok(Self { number, of })
        } else {
            Err(format!(
                "there is no share {number} of {of}: shares are numbered from 1, so the last is {of}/{of}"
            ))
        }
    }

    pub fn has(self, step: usize) -> bool {
        step % self.of == self.number - 1
    }

    /// Returns the file of this share, from the file `whole` for all shares: `lu.03-of-64.jsonl`
    /// for `lu.jsonl`. Sorted file names are in the order of the shares.
    pub fn file(self, whole: &Path) -> PathBuf {
        let Self { number, of } = self;
        let width = of.to_string().len();
        let share = format!("{number:0width$}-of-{of}");
        match whole.extension() {
            Some(extension) => {
                whole.with_extension(format!("{share}.{}", extension.to_string_lossy()))
            }
            None => whole.with_extension(share),
        }
    }

    /// Returns the share of this process, from the environment variables of Slurm job arrays,
    /// `srun` and MPI launchers. Returns `None` if there is only one process.
    ///
    /// Sources: the manual pages sbatch(1) and srun(1) of Slurm; the variables of Open MPI's
    /// `mpirun`, and of the process manager of MPICH and Intel MPI.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] if a variable is not a number, or if the index of the process is not
    /// below the number of processes.
    pub fn of_environment(
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, Failure> {
        let number = |name: &str| -> Result<Option<usize>, Failure> {
            let Some(text) = variable(name) else {
                return Ok(None);
            };
            text.parse().map(Some).map_err(|_| {
                Failure::Usage(format!(
                    "the environment variable {name} is `{text}`, which is no number from 0 on; choose the share \
                     with --share"
                ))
            })
        };
        // The index of the process, from 0 on, and the number of processes.
        let (mut index, mut of) = (0, 1);
        if let (Some(id), Some(tasks)) = (
            number("SLURM_ARRAY_TASK_ID")?,
            number("SLURM_ARRAY_TASK_COUNT")?,
        ) {
            let first = number("SLURM_ARRAY_TASK_MIN")?.unwrap_or(0);
            let step = number("SLURM_ARRAY_TASK_STEP")?.unwrap_or(1).max(1);
            (index, of) = (id.saturating_sub(first) / step, tasks);
        }
        // Slurm also sets its variables in a batch script, which is a single process. They count
        // only in processes that `srun` started.
        let is_a_step = variable("SLURM_STEP_ID").is_some();
        let started_by = [
            ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", true),
            ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", is_a_step),
            ("PMI_RANK", "PMI_SIZE", true),
        ];
        for (rank, size, counts) in started_by {
            if let (true, Some(rank), Some(size)) = (counts, number(rank)?, number(size)?) {
                (index, of) = (index * size + rank, of * size);
                break;
            }
        }
        if of <= 1 {
            return Ok(None);
        }
        let share = Self::new(index + 1, of).map_err(|why| {
            Failure::Usage(format!(
                "the environment of Slurm or MPI: {why}; choose the share with --share"
            ))
        })?;
        Ok(Some(share))
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const RULE: &str = "a share is its number, from 1 on, and how many there are, such as 3/64";
        let parts = text.split_once('/');
        let numbers = parts.and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        let (number, of) = numbers.ok_or(RULE)?;
        Self::new(number, of).map_err(|why| format!("{why}; {RULE}"))
    }
}

impl Display for Share {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Option<String>, String> {
        let variable = |name: &str| {
            let mut found = variables.iter().filter(|(known, _)| *known == name);
            found.next().map(|(_, value)| (*value).to_owned())
        };
        match Share::of_environment(&variable) {
            Ok(share) => Ok(share.map(|share| share.to_string())),
            Err(Failure::Usage(message)) => Err(message),
            Err(_) => unreachable!("a share that is wrong is an error of usage"),
        }
    }

    #[test]
    fn shares_have_each_step_once() {
        let shares: Vec<Share> = ["1/3", "2/3", "3/3"]
            .map(|text| text.parse().unwrap())
            .into();
        for step in 0..10 {
            assert_eq!(shares.iter().filter(|share| share.has(step)).count(), 1);
        }
    }

    #[test]
    fn a_share_that_there_is_not_is_explained() {
        let refused = |text: &str| text.parse::<Share>().unwrap_err();
        assert_eq!(
            refused("0/4"),
            "there is no share 0 of 4: shares are numbered from 1, so the last is 4/4; a share is its number, \
             from 1 on, and how many there are, such as 3/64"
        );
        assert!(refused("5/4").starts_with("there is no share 5 of 4"));
        for text in ["", "3", "3/", "/4", "a/b", "-1/4"] {
            assert!(refused(text).starts_with("a share is its number"), "{text}");
        }
    }

    #[test]
    fn files_are_listed_in_the_order_of_their_shares() {
        let share: Share = "3/64".parse().unwrap();
        assert_eq!(
            share.file(Path::new("a/lu.jsonl")),
            Path::new("a/lu.03-of-64.jsonl")
        );
        assert_eq!(share.file(Path::new("lu")), Path::new("lu.03-of-64"));
    }

    #[test]
    fn the_share_comes_from_the_environment() {
        assert_eq!(of(&[]), Ok(None));
        let open_mpi = [("OMPI_COMM_WORLD_RANK", "2"), ("OMPI_COMM_WORLD_SIZE", "4")];
        assert_eq!(of(&open_mpi), Ok(Some("3/4".to_owned())));
        assert_eq!(
            of(&[("PMI_RANK", "0"), ("PMI_SIZE", "2")]),
            Ok(Some("1/2".to_owned()))
        );
        let srun = [
            ("SLURM_STEP_ID", "0"),
            ("SLURM_PROCID", "7"),
            ("SLURM_STEP_NUM_TASKS", "8"),
        ];
        assert_eq!(of(&srun), Ok(Some("8/8".to_owned())));
        // A batch script does the whole sweep.
        assert_eq!(of(&srun[1..]), Ok(None));
        let array = [
            ("SLURM_ARRAY_TASK_ID", "14"),
            ("SLURM_ARRAY_TASK_COUNT", "3"),
            ("SLURM_ARRAY_TASK_MIN", "10"),
            ("SLURM_ARRAY_TASK_STEP", "2"),
        ];
        assert_eq!(of(&array), Ok(Some("3/3".to_owned())));
        // Each job of an array has several tasks.
        assert_eq!(
            of(&[&array[..], &srun].concat()),
            Ok(Some("24/24".to_owned()))
        );
    }

    #[test]
    fn an_environment_that_makes_no_sense_is_explained() {
        assert_eq!(
            of(&[("PMI_RANK", "one"), ("PMI_SIZE", "2")]),
            Err("the environment variable PMI_RANK is `one`, which is no number from 0 on; choose the share with \
                 --share"
                .to_owned())
        );
        assert_eq!(
            of(&[("PMI_RANK", "2"), ("PMI_SIZE", "2")]),
            Err("the environment of Slurm or MPI: there is no share 3 of 2: shares are numbered from 1, so the \
                 last is 2/2; choose the share with --share"
                .to_owned())
        );
    }
}
