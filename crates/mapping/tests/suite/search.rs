//! Results of the search, its proof of optimality, and when it ends.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use cellworks_mapping::{
    Costs, Limit, Place, Placement, Problem, Search, Solution, Task, Volumes, read,
};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

fn instance(name: &str) -> Problem {
    let file = format!("{name}.dat");
    read::qaplib(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data")
            .join(file),
    )
    .unwrap()
}

fn solve(problem: &Problem, search: Search) -> Solution {
    search.run(problem, |_| ControlFlow::Continue(()))
}

/// Checks that the search reaches the given cost within the given number of iterations.
fn reaches(name: &str, cost: f64, iterations: u64) {
    let problem = instance(name);
    let search = Search::new(Limit::Iterations(iterations));
    let solution = search.run(&problem, |progress| {
        if progress.cost <= cost {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    assert_eq!(
        solution.cost, cost,
        "{name} after {} iterations",
        solution.iterations
    );
    assert_eq!(problem.cost(&solution.placement), cost);
    assert!(
        problem.lower_bound() <= cost,
        "no bound is above what is known"
    );
}

#[test]
fn best_known_costs_of_small_instances_are_found() {
    reaches("nug12", 578.0, 20_000);
    reaches("nug20", 2570.0, 50_000);
    reaches("tai20a", 703_482.0, 200_000);
}

#[test]
fn best_known_costs_of_larger_instances_are_found() {
    reaches("nug30", 6124.0, 100_000);
    reaches("tai30b", 637_117_113.0, 200_000);
    reaches("sko42", 15812.0, 200_000);
}

/// QAPLIB and its sources give these bounds for the instances.
#[test]
fn bounds_are_those_that_gilmore_and_lawler_have() {
    assert_eq!(instance("nug12").lower_bound(), 493.0);
    assert_eq!(instance("nug20").lower_bound(), 2057.0);
    assert_eq!(instance("nug30").lower_bound(), 4539.0);
}

#[test]
fn a_seed_decides_what_iterations_find() {
    let problem = instance("sko42");
    let found = |seed| {
        let mut costs = Vec::new();
        let search = Search::new(Limit::Iterations(500)).seed(seed);
        let solution = search.run(&problem, |progress| {
            // `progress` is also called every 10 ms with the last cost.
            if costs.last() != Some(&progress.cost) {
                costs.push(progress.cost);
            }
            ControlFlow::Continue(())
        });
        assert_eq!(solution.iterations, 500);
        (costs, solution.placement)
    };
    assert_eq!(found(1), found(1));
    assert_ne!(found(1), found(2));
}

#[test]
fn a_search_ends_when_the_caller_says_so() {
    let problem = instance("sko42");
    let mut calls = 0;
    let search = Search::new(Limit::Time(Duration::from_secs(3600)));
    let solution = search.run(&problem, |_| {
        calls += 1;
        if calls < 3 {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    assert_eq!(calls, 3);
    assert!(!solution.optimal);
}

#[test]
fn a_search_ends_when_its_time_is_over() {
    // A busy computer may not let the search begin for some time.
    let search = Search::new(Limit::Time(Duration::from_secs(1)));
    assert!(solve(&instance("sko42"), search).iterations > 0);
}

#[test]
fn a_search_without_any_iteration_has_a_placement() {
    let problem = instance("sko42");
    let solution = solve(&problem, Search::new(Limit::Iterations(0)));
    assert_eq!(solution.iterations, 0);
    assert_eq!(solution.cost, problem.cost(&solution.placement));
    assert!(solution.gap(problem.lower_bound()) > 0.0);
}

#[test]
fn fixed_tasks_alone_need_no_search() {
    let volumes = Volumes::from_edges(2, [(0, 1, 3.0)]).unwrap();
    let costs = Costs::from_fn(3, |from, to| from.0.abs_diff(to.0) as f64).unwrap();
    let fixed = Problem::builder(volumes, costs)
        .fix(Task(0), Place(2))
        .fix(Task(1), Place(0));
    let problem = fixed.build().unwrap();
    let solution = solve(&problem, Search::new(Limit::Iterations(10)));
    assert!(solution.optimal);
    assert_eq!((solution.cost, problem.lower_bound()), (6.0, 6.0));
    assert_eq!(solution.gap(0.0), 0.0);
}

/// With eight tasks on 192 cores most items stand for free room, without volume.
#[test]
fn few_tasks_find_the_cores_that_are_close() {
    let edges = (0..8).map(|task| (task, (task + 1) % 8, 1.0));
    let volumes = Volumes::from_edges(8, edges).unwrap();
    // The numbers of the cores of a cluster are 24 apart.
    let costs = Costs::from_fn(
        192,
        |from, to| if from.0 % 24 == to.0 % 24 { 1.0 } else { 5.0 },
    );
    let problem = Problem::builder(volumes, costs.unwrap())
        .forbid(Place(3))
        .build()
        .unwrap();
    let solution = solve(&problem, Search::new(Limit::Iterations(3_000)));
    assert_eq!(solution.cost, 8.0);
    assert_eq!(problem.lower_bound(), 8.0);
}

/// A stencil of 32 by 32 tasks, on 1,024 cores in groups of 4, 4, 8 and 8.
#[test]
fn a_stencil_on_a_machine_of_four_levels_costs_as_little_as_squares() {
    let groups = [256, 64, 8, 1].into_iter().zip([100.0, 30.0, 10.0, 3.0]);
    let scattered = |place: Place| place.0 * 413 % 1024;
    let costs = Costs::from_fn(1024, |from, to| {
        let apart = groups
            .clone()
            .find(|(size, _)| scattered(from) / size != scattered(to) / size);
        apart.map_or(0.0, |(_, cost)| cost)
    });
    let right = (0..1024)
        .filter(|task| task % 32 < 31)
        .map(|task| (task, task + 1));
    let below = (0..992).map(|task| (task, task + 32));
    let edges = right
        .chain(below)
        .flat_map(|(one, other)| [(one, other, 1.0), (other, one, 1.0)]);
    let volumes = Volumes::from_edges(1024, edges).unwrap();
    let problem = Problem::builder(volumes, costs.unwrap()).build().unwrap();

    // A good placement has squares of 16 by 16 and of 8 by 8 tasks, and blocks of 4 by 2 in these
    // squares: 64, 4 times 32 and 16 times 32 edges cross the borders of these levels, and each of
    // the 128 blocks has 10 edges inside.
    let squares = 2.0 * (64.0 * 100.0 + 128.0 * 30.0 + 512.0 * 10.0 + 1280.0 * 3.0);
    let solution = Search::new(Limit::Iterations(2_000)).run(&problem, |progress| {
        if progress.cost <= squares {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    assert!(
        solution.cost <= squares,
        "{} instead of {squares}",
        solution.cost
    );
    assert_eq!(solution.cost, problem.cost(&solution.placement));
    assert!(problem.lower_bound() <= squares);
}

/// Neither volumes nor costs are symmetric, some tasks share a place, and some tasks are fixed.
#[test]
fn large_problems_add_up_and_keep_what_is_fixed() {
    let mut number = 1_u32;
    let mut random = |below: u32| {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (number >> 8) % below
    };
    let edges: Vec<_> = (0..900)
        .map(|_| {
            (
                random(300) as usize,
                random(300) as usize,
                f64::from(random(50)),
            )
        })
        .collect();
    let volumes = Volumes::from_edges(300, edges).unwrap();
    let costs = Costs::from_fn(160, |_, _| f64::from(random(100))).unwrap();
    let mut builder = Problem::builder(volumes, costs)
        .capacity(2)
        .forbid(Place(7));
    for task in 0..10 {
        builder = builder.fix(Task(task), Place(40 + task));
    }
    let problem = builder.build().unwrap();
    let mut costs = Vec::new();
    let solution = Search::new(Limit::Iterations(400)).run(&problem, |progress| {
        assert_eq!(progress.cost, problem.cost(progress.placement));
        costs.push(progress.cost);
        ControlFlow::Continue(())
    });
    fits(&problem, &solution.placement).unwrap();
    assert_eq!(costs.last(), Some(&solution.cost));
    assert!(solution.cost < costs[0], "local search gains: {costs:?}");
    assert!(problem.lower_bound() <= solution.cost);
}

/// Random costs from 0 to 99 between the given number of places. If `forbidden` is given, it is the
/// cost between each of the last five places and any other place, in one direction or in both.
fn with_a_forbidden_group(places: usize, forbidden: Option<f64>, both: bool) -> Costs {
    let costs = |from: usize, to: usize| (((from * 31 + to * 17) * 2_654_435_761) >> 7) % 100;
    let is_forbidden = |from, to| from != to && (to + 5 >= places || (both && from + 5 >= places));
    let costs = Costs::from_fn(places, |Place(from), Place(to)| match forbidden {
        Some(cost) if is_forbidden(from, to) => cost,
        _ => costs(from, to) as f64,
    });
    costs.unwrap()
}

/// A ring of tasks, whose volumes are from 1 to 9.
fn ring(tasks: usize) -> Volumes {
    let edges = (0..tasks).map(|task| (task, (task + 1) % tasks, (1 + task % 9) as f64));
    Volumes::from_edges(tasks, edges).unwrap()
}

/// A placement with places that large costs forbid costs as much as without these places.
#[test]
fn large_costs_of_forbidden_pairs_do_not_hide_the_others() {
    for (tasks, places, iterations) in [(5, 11, 0), (12, 20, 20_000)] {
        let mut without = Problem::builder(ring(tasks), with_a_forbidden_group(places, None, true));
        for place in places - 5..places {
            without = without.forbid(Place(place));
        }
        let search = Search::new(Limit::Iterations(iterations));
        let without = solve(&without.build().unwrap(), search);
        for forbidden in [1e10, 1e15, 1e17, 1e30, 1e100] {
            for both in [true, false] {
                let costs = with_a_forbidden_group(places, Some(forbidden), both);
                let problem = Problem::builder(ring(tasks), costs).build().unwrap();
                let solution = solve(&problem, search);
                assert_eq!(solution.cost, without.cost, "{forbidden} {both}");
                assert_eq!(solution.optimal, without.optimal, "{forbidden} {both}");
                let bound = problem.lower_bound();
                assert!(bound <= solution.cost, "{forbidden} {both} {bound}");
            }
        }
    }
}

#[test]
fn several_levels_of_large_costs_are_avoided_in_their_order() {
    // Each of four tasks sends to each other one, and each pair of places has another level.
    let costs = [1e12, 1e24, 1e36, 1e48];
    let costs = Costs::from_fn(6, |from, to| match from.0.abs_diff(to.0) {
        0 => 0.0,
        1 => 3.0,
        far => costs[far - 2],
    });
    let all = (0..4).flat_map(|from| (0..4).map(move |to| (from, to)));
    let edges = all
        .filter(|(from, to)| from != to)
        .map(|(from, to)| (from, to, 1.0));
    let problem = Problem::builder(Volumes::from_edges(4, edges).unwrap(), costs.unwrap());
    let problem = problem.build().unwrap();
    let mut costs = Vec::new();
    let solution = Search::new(Limit::Iterations(10)).run(&problem, |progress| {
        costs.push((progress.cost, problem.cost(progress.placement)));
        ControlFlow::Continue(())
    });
    // Four places in a row: two pairs of places are 2 apart, and one pair is 3 apart.
    assert_eq!(solution.cost, 6.0 * 3.0 + 4.0 * 1e12 + 2.0 * 1e24);
    assert!(!solution.optimal, "not proven with lowered costs");
    assert!(costs.iter().all(|(told, cost)| told == cost), "{costs:?}");
    assert!(problem.lower_bound() <= solution.cost);
}

/// Returns a symmetric matrix with the elements of another matrix below its diagonal.
fn mirrored(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = matrix.len();
    let row = |row: usize| {
        (0..n)
            .map(|column| matrix[row.max(column)][row.min(column)])
            .collect()
    };
    (0..n).map(row).collect()
}

/// Problems with any matrices, one or two tasks per place, a fixed task and a forbidden place.
fn problems(tasks: usize, places: usize) -> impl Strategy<Value = Problem> {
    let number = || prop_oneof![Just(0.0), (1..20_u32).prop_map(f64::from)];
    let matrix = move |n| prop::collection::vec(prop::collection::vec(number(), n), n);
    (
        matrix(tasks),
        matrix(places),
        1..3_usize,
        any::<[bool; 4]>(),
    )
        .prop_map(
            move |(mut volumes, mut costs, capacity, [symmetric, symmetric_costs, fix, forbid])| {
                if symmetric {
                    volumes = mirrored(&volumes);
                }
                if symmetric_costs {
                    costs = mirrored(&costs);
                }
                let volumes = Volumes::from_rows(&volumes).unwrap();
                let costs = Costs::from_rows(&costs).unwrap();
                let mut builder = Problem::builder(volumes, costs).capacity(capacity);
                if fix {
                    builder = builder.fix(Task(1), Place(2));
                }
                if forbid && places > tasks {
                    builder = builder.forbid(Place(0));
                }
                builder.build().unwrap()
            },
        )
}

/// Returns the lowest cost of all placements, found by trying each placement.
fn lowest(problem: &Problem) -> f64 {
    let (tasks, places) = (problem.volumes().tasks(), problem.costs().places());
    (0..places.pow(tasks as u32))
        .filter_map(|code| {
            let digits = (0..tasks).map(|task| code / places.pow(task as u32) % places);
            problem.placement(digits).ok()
        })
        .map(|placement| problem.cost(&placement))
        .fold(f64::INFINITY, f64::min)
}

fn fits(problem: &Problem, placement: &Placement) -> Result<(), TestCaseError> {
    let checked = problem.placement(placement.places().iter().map(|place| place.0));
    prop_assert_eq!(checked.as_ref(), Ok(placement));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn small_problems_are_solved_and_bounds_hold(problem in problems(4, 5)) {
        let solution = solve(&problem, Search::new(Limit::Iterations(0)));
        fits(&problem, &solution.placement)?;
        prop_assert!(solution.optimal);
        prop_assert_eq!(solution.cost, lowest(&problem));
        prop_assert!(problem.lower_bound() <= solution.cost);
    }

    /// The costs that the search computes by tables equal those of the problem, for any matrices.
    #[test]
    fn costs_in_progress_are_those_of_the_placement(problem in problems(11, 12), seed: u64) {
        let mut wrong = None;
        let search = Search::new(Limit::Iterations(300)).seed(seed);
        let solution = search.run(&problem, |progress| {
            if progress.cost != problem.cost(progress.placement) {
                wrong = Some((progress.cost, problem.cost(progress.placement)));
            }
            ControlFlow::Continue(())
        });
        prop_assert_eq!(wrong, None);
        fits(&problem, &solution.placement)?;
        prop_assert!(problem.lower_bound() <= solution.cost);
    }
}
