//! Statistics of the times of many mappings.

/// The times of many mappings, from the shortest to the longest.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    sorted: Vec<f64>,
}

impl Times {
    /// Sorts times. Returns `None` if there are no times.
    ///
    /// ```
    /// use cellworks_apps::exchange::Times;
    ///
    /// let times = Times::of(&[200.0, 100.0, 400.0]).expect("there are three");
    /// assert_eq!(times.worst_to_best(), 4.0);
    /// assert_eq!(times.rank(200.0), 2);
    /// ```
    pub fn of(times: &[f64]) -> Option<Self> {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        (!sorted.is_empty()).then_some(Self { sorted })
    }

    /// Returns all times, from the shortest to the longest.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// Returns the shortest time.
    pub fn best(&self) -> f64 {
        self.sorted[0]
    }

    /// Returns the longest time.
    pub fn worst(&self) -> f64 {
        self.sorted[self.sorted.len() - 1]
    }

    /// Returns the mean of all times.
    pub fn mean(&self) -> f64 {
        self.sorted.iter().sum::<f64>() / self.sorted.len() as f64
    }

    /// Returns the longest time divided by the shortest time.
    pub fn worst_to_best(&self) -> f64 {
        self.to_best(self.worst())
    }

    /// Returns the median divided by the shortest time. With an even number of times, the median is
    /// the longer of the two times in the middle.
    pub fn median_to_best(&self) -> f64 {
        self.to_best(self.sorted[self.sorted.len() / 2])
    }

    /// Returns the given time divided by the shortest time.
    pub fn to_best(&self, time: f64) -> f64 {
        time / self.best()
    }

    /// Returns the rank of a time, 1 for the shortest. Equal times have the same rank.
    pub fn rank(&self, time: f64) -> usize {
        1 + self.sorted.partition_point(|other| *other < time)
    }

    /// Returns the range of the middle half of the times, divided by the median.
    pub fn middle_half(&self) -> f64 {
        let at = |part: usize| self.sorted[self.sorted.len() * part / 4];
        (at(3) - at(1)) / at(2)
    }
}

/// Returns the share of the variance of single runs that is due to the mapping, from 0 to 1. The
/// rest is due to the random starts of the runs. `runs` has the times of each mapping. Returns
/// `None` with fewer than two mappings, with fewer than two runs of a mapping, or if all times are
/// equal.
///
/// The share is the intraclass correlation ICC(1) of Shrout and Fleiss (Intraclass correlations:
/// uses in assessing rater reliability, Psychological Bulletin 86, 1979), but at least 0.
///
/// # Panics
///
/// Panics if mappings have different numbers of runs.
pub fn mapping_share<'a>(runs: impl IntoIterator<Item = &'a [f64]>) -> Option<f64> {
    let runs: Vec<&[f64]> = runs.into_iter().collect();
    let (mappings, each) = (runs.len(), runs.first()?.len());
    assert!(
        runs.iter().all(|times| times.len() == each),
        "as many runs of each mapping"
    );
    if mappings < 2 || each < 2 {
        return None;
    }
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let means: Vec<f64> = runs.iter().map(|times| mean(times)).collect();
    let all = mean(&means);
    let square = |difference: f64| difference * difference;
    let between = means.iter().map(|mean| square(mean - all)).sum::<f64>();
    let between = between * each as f64 / (mappings - 1) as f64;
    let of_mapping = |(times, mean): (&&[f64], &f64)| -> f64 {
        times.iter().map(|time| square(time - mean)).sum()
    };
    let within = runs.iter().zip(&means).map(of_mapping).sum::<f64>();
    let within = within / (mappings * (each - 1)) as f64;
    let all = between + (each - 1) as f64 * within;
    (all > 0.0).then(|| ((between - within) / all).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_ratios() {
        let times = Times::of(&[300.0, 100.0, 200.0, 200.0, 600.0]).unwrap();
        assert_eq!((times.best(), times.worst()), (100.0, 600.0));
        assert_eq!((times.worst_to_best(), times.median_to_best()), (6.0, 2.0));
        assert_eq!(times.mean(), 280.0);
        let ranks = [100.0, 200.0, 300.0, 600.0].map(|time| times.rank(time));
        assert_eq!(ranks, [1, 2, 4, 5]);
        assert_eq!(Times::of(&[]), None);
    }

    /// Shrout and Fleiss state that the ICC(1) of this example (table 2) is 0.17 (table 4).
    #[test]
    fn the_share_is_that_of_the_published_example() {
        let ratings: [[f64; 4]; 6] = [
            [9.0, 2.0, 5.0, 8.0],
            [6.0, 1.0, 3.0, 2.0],
            [8.0, 4.0, 6.0, 8.0],
            [7.0, 1.0, 2.0, 6.0],
            [10.0, 5.0, 6.0, 9.0],
            [6.0, 2.0, 4.0, 7.0],
        ];
        let share = mapping_share(ratings.iter().map(|times| &times[..])).unwrap();
        assert!((share - 0.17).abs() < 0.005, "{share}");
    }

    #[test]
    fn the_share_of_runs_that_agree_is_1_and_of_those_that_do_not_0() {
        let share = |runs: &[&[f64]]| mapping_share(runs.iter().copied());
        assert_eq!(share(&[&[1.0, 1.0], &[3.0, 3.0]]), Some(1.0));
        assert_eq!(share(&[&[1.0, 3.0], &[3.0, 1.0]]), Some(0.0));
        assert_eq!(share(&[&[1.0, 1.0], &[1.0, 1.0]]), None);
        assert_eq!(share(&[&[1.0, 2.0]]), None);
        assert_eq!(share(&[&[1.0], &[2.0]]), None);
    }
}
