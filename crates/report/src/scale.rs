//! The colours of times in a matrix, on the terminal and in HTML.

use cellworks_stats::Matrix;
use colorous::{Color, VIRIDIS};

use crate::text::{figures, time};

/// The scale leaves out this share of the pairs at its lower end, and the same share at its upper
/// end. A single disturbed pair then does not reduce the contrast.
const OUTSIDE: f64 = 0.005;

/// The smallest ratio of the upper end to the lower end. Smaller ratios of times are often due to
/// chance, so such a scale is widened to this ratio.
const RATIO_MIN: f64 = 1.25;

/// A logarithmic scale of colours from dark (fast) to bright (slow). The order of the colours is
/// visible to colour-blind readers and in print without colour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    pub low_ns: f64,
    pub high_ns: f64,
    /// Whether any time of the matrix is below `low_ns`, and whether any time is above `high_ns`.
    pub below: bool,
    pub above: bool,
    /// The lowest and the highest time, if they are so near that the scale was widened, and no time
    /// is outside of it.
    pub near_ns: Option<[f64; 2]>,
}

impl Scale {
    /// Returns the scale for a matrix, or `None` if no pair was measured.
    pub fn of(matrix: &Matrix) -> Option<Self> {
        let mut times: Vec<f64> = matrix
            .one_way_ns
            .iter()
            .flatten()
            .flatten()
            .copied()
            .collect();
        times.sort_by(f64::total_cmp);
        let last = times.len().checked_sub(1)?;
        let outside = (last as f64 * OUTSIDE) as usize;
        let (mut low_ns, mut high_ns) = (times[outside], times[last - outside]);
        let near_ns = (high_ns < low_ns * RATIO_MIN).then_some([low_ns, high_ns]);
        if near_ns.is_some() {
            let middle = (low_ns * high_ns).sqrt();
            low_ns = middle / RATIO_MIN.sqrt();
            high_ns = middle * RATIO_MIN.sqrt();
        }
        let (below, above) = (times[0] < low_ns, times[last] > high_ns);
        Some(Self {
            low_ns,
            high_ns,
            below,
            above,
            near_ns: near_ns.filter(|_| !below && !above),
        })
    }

    pub fn colour(&self, ns: f64) -> Color {
        let (low, high) = (self.low_ns.max(f64::MIN_POSITIVE), self.high_ns);
        let position = if high > low {
            ((ns.max(low) / low).ln() / (high / low).ln()).clamp(0.0, 1.0)
        } else {
            0.5
        };
        VIRIDIS.eval_continuous(position)
    }

    pub fn unit(&self) -> Unit {
        Unit::of(self)
    }

    /// Returns the times that a legend shows in their colours. If the scale was widened, these are
    /// the lowest and the highest time, or one of them if they are the same in figures.
    pub fn shown_ns(&self) -> Vec<f64> {
        match self.near_ns {
            None => vec![self.low_ns, self.middle_ns(), self.high_ns],
            Some([low, high]) if time(low) == time(high) => vec![low],
            Some(near) => near.to_vec(),
        }
    }

    pub fn middle_ns(&self) -> f64 {
        (self.low_ns * self.high_ns).sqrt()
    }
}

/// The unit of all cells of a matrix. The cells are too narrow to contain a unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unit {
    pub name: &'static str,
    ns: f64,
}

impl Unit {
    /// Returns a unit in which most times have at most five digits before the decimal point.
    fn of(scale: &Scale) -> Self {
        let (name, ns) = match scale.middle_ns() {
            ..1e5 => ("ns", 1.0),
            ..1e8 => ("us", 1e3),
            _ => ("ms", 1e6),
        };
        Self { name, ns }
    }

    pub fn figures(self, ns: f64) -> String {
        figures(ns / self.ns)
    }
}

/// Returns true if dark text is easier to read on this colour. The weights are from ITU-R BT.709.
pub(crate) fn wants_dark_text(colour: Color) -> bool {
    let Color { r, g, b } = colour;
    0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b) > 128.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use cellworks_stats::Primitive;

    fn matrix(times: Vec<Option<f64>>) -> Matrix {
        Matrix {
            primitive: Primitive::Atomic,
            polling: None,
            block_bytes: None,
            one_way_ns: vec![times],
            pairs: 0,
            pairs_measured: 0,
            classes: Vec::new(),
            home: None,
            choice: None,
            doubts: Vec::new(),
        }
    }

    #[test]
    fn a_single_interrupted_pair_does_not_stretch_the_scale() {
        let mut times: Vec<_> = (0..1_000)
            .map(|n| Some(100.0 + 10.0 * f64::from(n % 10)))
            .collect();
        times[500] = Some(1e6);
        let scale = Scale::of(&matrix(times)).unwrap();
        assert_eq!((scale.low_ns, scale.high_ns), (100.0, 190.0));
        assert_eq!((scale.below, scale.above), (false, true));
        let colour = |ns| scale.colour(ns).as_tuple();
        assert_eq!(colour(1e6), colour(190.0));
        assert_ne!(colour(100.0), colour(190.0));
    }

    #[test]
    fn times_that_hardly_differ_have_nearly_one_colour() {
        let scale = Scale::of(&matrix(vec![Some(5.0), None, Some(5.0)])).unwrap();
        assert!(scale.low_ns < 4.8 && scale.high_ns > 5.2, "{scale:?}");
        let middle = VIRIDIS.eval_continuous(0.5);
        assert_eq!(scale.colour(5.0).as_tuple(), middle.as_tuple());
        assert_eq!(scale.shown_ns(), [5.0]);
        let scale = Scale::of(&matrix(vec![Some(5.0), Some(5.01)])).unwrap();
        assert_eq!(scale.shown_ns(), [5.0, 5.01]);
        let reds = [5.0, 5.01].map(|ns| i32::from(scale.colour(ns).r));
        assert!(reds[0].abs_diff(reds[1]) < 4, "{reds:?}");
    }

    #[test]
    fn long_times_have_a_unit_that_keeps_them_short() {
        let shown = |ns| {
            let unit = Scale::of(&matrix(vec![Some(ns)])).unwrap().unit();
            format!("{} {}", unit.figures(ns), unit.name)
        };
        assert_eq!(
            [44.0, 50_000.0, 6_010_000.0, 2e9].map(shown),
            ["44.0 ns", "50,000 ns", "6,010 us", "2,000 ms"]
        );
    }

    #[test]
    fn without_times_there_is_no_scale() {
        assert_eq!(Scale::of(&matrix(vec![None, None])), None);
    }
}
