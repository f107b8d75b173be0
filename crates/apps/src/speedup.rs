//! Speed-ups of programs with more SPEs and threads.

use crate::figure::{Axis, Curve, Figure, against};
use crate::{Conclusion, Done, Metric, Program, Quantity};

const SPEEDUP: Metric = Metric::new("speedup", "times");

/// Returns for each run the `time` of its base divided by its `time`. `base_of` returns the base:
/// the same program with one SPE and one thread. A run has no speed-up if its base is not in
/// `done`.
pub(crate) fn conclusions<P: Program>(
    done: &[Done<P>],
    base_of: impl Fn(&P) -> P,
    time: Metric,
) -> Vec<Conclusion> {
    speedups(done, base_of, time)
        .map(|(one, quantity)| Conclusion {
            quantity,
            parameters: one.program.parameters(),
        })
        .collect()
}

/// Returns the curves of the speed-ups. Figures over the number of SPEs have an ideal curve, too.
pub(crate) fn figures<P: Program>(
    done: &[Done<P>],
    base_of: impl Fn(&P) -> P,
    time: Metric,
    axis: fn(&str) -> Option<Axis>,
) -> Vec<Figure> {
    let with_speedup: Vec<Done<P>> = speedups(done, base_of, time)
        .map(|(one, quantity)| Done {
            program: one.program.clone(),
            quantities: vec![quantity],
        })
        .collect();
    let title = "Speed-up over one SPE with one thread";
    let mut figures = against(&with_speedup, title, SPEEDUP, axis);
    for figure in figures.iter_mut().filter(|figure| figure.x.unit == "SPEs") {
        let points = figure.curves.iter().flat_map(|curve| &curve.points);
        let mut spes: Vec<f64> = points.map(|(spes, _)| *spes).collect();
        spes.sort_by(f64::total_cmp);
        spes.dedup();
        figure.curves.push(Curve {
            name: "ideal".to_owned(),
            points: spes.into_iter().map(|spes| (spes, spes)).collect(),
        });
    }
    figures
}

fn speedups<P: Program>(
    done: &[Done<P>],
    base_of: impl Fn(&P) -> P,
    time: Metric,
) -> impl Iterator<Item = (&Done<P>, Quantity)> {
    done.iter().filter_map(move |one| {
        let base = base_of(&one.program);
        let base = done.iter().find(|other| other.program == base)?;
        let (base, this) = (base.value(time.name)?, one.value(time.name)?);
        // A run that took no time has no speed-up.
        (this > 0.0).then(|| (one, SPEEDUP.measured(base / this)))
    })
}
