//! Compares the costs of placements with simulated times.

use cellworks_apps::exchange::{Sweep, Traffic};
use cellworks_machine::SpeId;
use cellworks_mapping::{Costs, Pattern, Place, Problem};
use cellworks_sim::{Description, Sim, Ways};

/// The number of tasks: half of the SPEs of both Cells of the blade.
const TASKS: usize = 8;
const SPES: usize = 16;

/// Returns the ranks of numbers in rising order. Equal numbers have the mean of their ranks.
fn ranks(numbers: &[f64]) -> Vec<f64> {
    let rank = |number: &f64| {
        let below = numbers.iter().filter(|other| *other < number).count();
        let equal = numbers.iter().filter(|other| *other == number).count();
        below as f64 + (equal - 1) as f64 / 2.0
    };
    numbers.iter().map(rank).collect()
}

/// Computes Spearman's rank correlation.
fn agreement(one: &[f64], other: &[f64]) -> f64 {
    let [one, other] = [one, other].map(ranks);
    let mean = (one.len() - 1) as f64 / 2.0;
    let sum = |a: &[f64], b: &[f64]| -> f64 {
        let pairs = a.iter().zip(b);
        pairs.map(|(a, b)| (a - mean) * (b - mean)).sum()
    };
    sum(&one, &other) / (sum(&one, &one) * sum(&other, &other)).sqrt()
}

/// The time depends most on how often tasks use the link between the Cells.
#[test]
fn contention_orders_placements_on_both_cells_better_than_the_sum() {
    let description = Description::built_in("qs22").unwrap();
    let volumes = Pattern::Stencil.volumes(TASKS).unwrap();
    let sweep = Sweep {
        traffic: Traffic::Graph(volumes.clone()),
        rounds: 20,
        runs: 1,
        sample: Some(80),
        ..Sweep::new(TASKS, SPES, vec![2_048])
    };
    let plan = sweep.plan().unwrap();
    let ways = Ways::of(&description);
    let spe = |place: Place| SpeId::new(place.0 as u16);
    let costs = Costs::from_fn(SPES, |from, to| {
        ways.line(spe(from), spe(to)).as_nanoseconds_f64()
    });
    let problem = Problem::builder(volumes, costs.unwrap()).build().unwrap();
    let kept = |link: usize| ways.kept_by_a_line(link).as_nanoseconds_f64();
    let links: Vec<f64> = (0..ways.links().len()).map(kept).collect();

    let (mut times, mut sums, mut contended) = (Vec::new(), Vec::new(), Vec::new());
    for step in 0..plan.steps() {
        let run = &plan.runs(step)[0];
        times.push(run.run(&Sim::new(description.clone()).unwrap()).unwrap());
        let places = run.spes.iter().map(|spe| spe.index());
        let placement = problem.placement(places).unwrap();
        sums.push(problem.cost(&placement));
        contended.push(problem.contended_cost(&placement, &links, |from, to| {
            ways.links_between(spe(from), spe(to)).iter().copied()
        }));
    }
    let [sum, contention] = [&sums, &contended].map(|costs| agreement(costs, &times));
    assert!(contention >= 0.9, "{contention}; by the sum {sum}");
    assert!(contention > sum, "{contention} is not above {sum}");
}
