//! Judges a comparison by a threshold.

use super::judgement::{Judgement, is_enough};
use super::{Comparison, Ratio, RatioKind, Verdict};

impl Comparison {
    /// Judges the comparison by a threshold, such as 0.05 for 5 % more time.
    pub fn judge(&mut self, threshold: f64) {
        let judged = self.slowdowns().count();
        let all = self.all_slowdowns().count();
        self.judgement = Some(Judgement {
            threshold,
            judged,
            slower: self.slower_by(threshold).count(),
            too_few_runs: all - judged,
        });
    }

    /// Returns each ratio of times, cycles or rates with its slowdown. The slowdown is above 1 if B
    /// is slower. Findings are left out, because they follow from measurements, and so is what has
    /// too few runs. A simulated machine needs one run, because every run of it is the same.
    pub fn slowdowns(&self) -> impl Iterator<Item = (&Ratio, f64)> {
        let is_exact = self.is_exact();
        self.all_slowdowns()
            .filter(move |(ratio, _)| is_exact || ratio.has_enough_runs())
    }

    /// Returns the [`slowdowns`](Self::slowdowns) above `1 + share`, without those for which the
    /// intervals of A and B overlap.
    pub fn slower_by(&self, share: f64) -> impl Iterator<Item = (&Ratio, f64)> {
        let is_certain =
            |ratio: &Ratio| ratio.interval.is_none() || ratio.verdict == Verdict::Slower;
        self.slowdowns()
            .filter(move |(ratio, slowdown)| *slowdown > 1.0 + share && is_certain(ratio))
    }

    fn all_slowdowns(&self) -> impl Iterator<Item = (&Ratio, f64)> {
        let all = self.results.iter();
        let all = all.filter(|ratio| ratio.kind != RatioKind::Finding);
        all.filter_map(|ratio| Some((ratio, ratio.slowdown()?)))
    }

    /// Returns whether nothing varies from run to run, because no side is a computer.
    pub(super) fn is_exact(&self) -> bool {
        !self.envelope.machine.is_this_computer() && !self.other.machine.is_this_computer()
    }

    /// Returns the slowdowns that the comparison would have noticed in half and in nine of ten of
    /// the judged times and rates. `None` if nothing varies from run to run, or nothing was judged.
    pub(super) fn noticeable(&self) -> Option<[f64; 2]> {
        let least = 1.0 + self.judgement.map_or(0.0, |judgement| judgement.threshold);
        let mut noticeable: Vec<f64> = self
            .slowdowns()
            .filter_map(|(ratio, _)| Some(ratio.noticeable_slowdown?.max(least)))
            .collect();
        noticeable.sort_by(f64::total_cmp);
        // At least `tenths` tenths of the slowdowns are not above this one.
        let at = |tenths: usize| noticeable[(noticeable.len() * tenths).div_ceil(10) - 1];
        (!self.is_exact() && !noticeable.is_empty()).then(|| [at(5), at(9)])
    }
}

impl Ratio {
    fn has_enough_runs(&self) -> bool {
        let [a, b] =
            [self.spread_of_a, self.spread_of_b].map(|spread| spread.map_or(1, |one| one.runs));
        is_enough(a, b)
    }
}
