//! Which problems are valid, the costs of placements, and the error messages.

use cellworks_mapping::{Costs, Place, Problem, ProblemBuilder, ProblemError, Task, Volumes};

/// Returns a chain of tasks on places in a row. Neighbours send each other a volume of 10.
fn chain(tasks: usize, places: usize) -> ProblemBuilder {
    let edges = (1..tasks).flat_map(|task| [(task - 1, task, 10.0), (task, task - 1, 10.0)]);
    let volumes = Volumes::from_edges(tasks, edges).unwrap();
    let costs = Costs::from_fn(places, |from, to| from.0.abs_diff(to.0) as f64).unwrap();
    Problem::builder(volumes, costs)
}

fn message<T>(result: Result<T, ProblemError>) -> String {
    result.err().expect("an error").to_string()
}

#[test]
fn a_cost_counts_each_direction_by_itself() {
    let volumes = Volumes::from_edges(2, [(0, 1, 3.0), (1, 0, 5.0)]).unwrap();
    let costs = Costs::from_rows(&[vec![0.0, 10.0], vec![100.0, 0.0]]).unwrap();
    let problem = Problem::builder(volumes, costs).build().unwrap();
    let cost = |places: [usize; 2]| problem.cost(&problem.placement(places).unwrap());
    assert_eq!(cost([0, 1]), 3.0 * 10.0 + 5.0 * 100.0);
    assert_eq!(cost([1, 0]), 3.0 * 100.0 + 5.0 * 10.0);
}

#[test]
fn tasks_that_share_a_place_pay_what_it_costs_to_itself() {
    let volumes = Volumes::from_edges(2, [(0, 1, 3.0), (1, 1, 5.0)]).unwrap();
    let costs = Costs::from_rows(&[vec![2.0, 10.0], vec![10.0, 4.0]]).unwrap();
    let problem = Problem::builder(volumes, costs)
        .capacity(2)
        .build()
        .unwrap();
    let cost = |places: [usize; 2]| problem.cost(&problem.placement(places).unwrap());
    assert_eq!(cost([0, 0]), 3.0 * 2.0 + 5.0 * 2.0);
    assert_eq!(cost([0, 1]), 3.0 * 10.0 + 5.0 * 4.0);
}

#[test]
fn a_matrix_and_its_edges_are_the_same_volumes() {
    let rows = [vec![0.0, 2.0], vec![3.0, 0.0]];
    let edges = [(1, 0, 1.0), (0, 1, 2.0), (1, 0, 2.0), (0, 0, 0.0)];
    assert_eq!(Volumes::from_rows(&rows), Volumes::from_edges(2, edges));
}

#[test]
fn what_the_builder_is_told_is_in_the_problem() {
    let problem = chain(3, 4)
        .capacity(2)
        .forbid(Place(1))
        .fix(Task(2), Place(3))
        .build()
        .unwrap();
    assert_eq!(
        [0, 1, 2, 3].map(|place| problem.capacity(Place(place))),
        [2, 0, 2, 2]
    );
    assert_eq!(
        [0, 1, 2].map(|task| problem.fixed(Task(task))),
        [None, None, Some(Place(3))]
    );
    assert!(problem.placement([0, 0, 3]).is_ok());
}

#[test]
fn an_edge_to_an_unknown_task_is_an_error() {
    assert_eq!(
        message(Volumes::from_edges(3, [(0, 3, 1.0)])),
        "task 3 is unknown: the problem has 3 tasks, numbered from 0"
    );
}

#[test]
fn volumes_and_costs_are_finite_and_not_negative() {
    assert_eq!(
        message(Volumes::from_edges(3, [(0, 2, -1.5)])),
        "the volume from task 0 to task 2 is -1.5: a volume is a number from 0 to 1e100; use 0 for tasks that do not \
         communicate"
    );
    assert!(Volumes::from_edges(3, [(0, 2, f64::INFINITY)]).is_err());
    assert_eq!(
        message(Costs::from_rows(&[vec![0.0, f64::NAN], vec![1.0, 0.0]])),
        "the cost from place 0 to place 1 is NaN: a cost is a number from 0 to 1e100, and each pair of places has one; \
         measure what is missing, or forbid a place"
    );
    assert!(Costs::from_fn(1, |_, _| -1.0).is_err());
    // Sums of the largest products are finite.
    assert!(Volumes::from_edges(3, [(0, 2, 1.1e100)]).is_err());
    assert!(Costs::from_fn(2, |_, _| f64::MAX).is_err());
    let volumes = Volumes::from_edges(2, [(0, 1, 1e100), (0, 1, 1e100)]).unwrap();
    let costs = Costs::from_fn(2, |_, _| 1e100).unwrap();
    let problem = Problem::builder(volumes, costs).build().unwrap();
    let placement = problem.placement([0, 1]).unwrap();
    assert_eq!(problem.cost(&placement), 2e200);
    assert_eq!(problem.average_cost(), 2e200);
}

#[test]
fn matrices_are_square() {
    let rows = [vec![0.0, 1.0], vec![1.0]];
    assert_eq!(
        message(Costs::from_rows(&rows)),
        "the matrix of costs has 2 rows, but the length of row 1, counted from 0, is 1: make it square"
    );
    assert!(message(Volumes::from_rows(&rows)).starts_with("the matrix of volumes has 2 rows"));
}

#[test]
fn more_tasks_than_places_need_permission_to_share() {
    assert_eq!(
        message(chain(4, 4).forbid(Place(2)).build()),
        "4 tasks do not fit on 4 places (forbidden: 1; tasks on each other place: 1): allow more tasks a place \
         (`capacity`), or use fewer tasks"
    );
    assert!(chain(4, 4).forbid(Place(2)).capacity(2).build().is_ok());
    assert!(chain(4, 4).capacity(usize::MAX).build().is_ok());
    assert_eq!(
        message(chain(0, 4).build()),
        "the problem has no tasks: give it one at least"
    );
}

#[test]
fn fixed_tasks_and_forbidden_places_exist_and_agree() {
    assert_eq!(
        message(
            chain(2, 3)
                .fix(Task(1), Place(0))
                .fix(Task(1), Place(2))
                .build()
        ),
        "task 1 is fixed to place 0 and to place 2: fix it to one of them"
    );
    assert_eq!(
        message(
            chain(2, 3)
                .fix(Task(1), Place(0))
                .fix(Task(0), Place(0))
                .build()
        ),
        "place 0 takes 1 of the tasks 0, 1: move some of them, or allow more tasks a place (`capacity`)"
    );
    assert_eq!(
        message(chain(2, 3).fix(Task(1), Place(0)).forbid(Place(0)).build()),
        "task 1 is at place 0, which takes no task: choose another place, or do not forbid this one"
    );
    assert_eq!(
        message(chain(2, 3).fix(Task(0), Place(3)).build()),
        "place 3 is unknown: the problem has 3 places, numbered from 0"
    );
    assert!(chain(2, 3).fix(Task(2), Place(0)).build().is_err());
    assert!(chain(2, 3).forbid(Place(3)).build().is_err());
}

#[test]
fn a_placement_fits_its_problem() {
    let problem = chain(3, 4)
        .fix(Task(0), Place(1))
        .forbid(Place(3))
        .build()
        .unwrap();
    assert_eq!(
        message(problem.placement([1, 2])),
        "the placement has 2 places for 3 tasks: name one place for each task"
    );
    assert_eq!(
        message(problem.placement([1, 2, 2])),
        "place 2 takes 1 of the tasks 1, 2: move some of them, or allow more tasks a place (`capacity`)"
    );
    assert_eq!(
        message(problem.placement([0, 2, 1])),
        "task 0 is at place 0, but is fixed to place 1: place it there, or do not fix it"
    );
    assert!(
        message(problem.placement([1, 2, 3]))
            .starts_with("task 2 is at place 3, which takes no task")
    );
    assert!(message(problem.placement([1, 2, 4])).starts_with("place 4 is unknown"));
    let placement = problem.placement([1, 2, 0]).unwrap();
    assert_eq!(placement.places(), [Place(1), Place(2), Place(0)]);
    assert_eq!(placement.place_of(Task(2)), Place(0));
}

/// The average cost of all placements of the problem, computed from the cost of each placement.
fn average_of_all(problem: &Problem, tasks: usize, places: usize) -> f64 {
    let mut costs = Vec::new();
    for number in 0..places.pow(tasks as u32) {
        let at = (0..tasks).map(|task| number / places.pow(task as u32) % places);
        if let Ok(placement) = problem.placement(at) {
            costs.push(problem.cost(&placement));
        }
    }
    costs.iter().sum::<f64>() / costs.len() as f64
}

#[test]
fn the_average_cost_is_that_of_all_placements() {
    // Neither volumes nor costs are symmetric, and a task sends to itself.
    let edges = [(0, 1, 3.0), (1, 0, 5.0), (1, 2, 7.0), (2, 2, 11.0)];
    let volumes = || Volumes::from_edges(3, edges).unwrap();
    let costs = || Costs::from_fn(4, |from, to| (7 * from.0 + 3 * to.0 * to.0) as f64).unwrap();
    let free = Problem::builder(volumes(), costs()).build().unwrap();
    let bound = Problem::builder(volumes(), costs())
        .fix(Task(1), Place(2))
        .forbid(Place(0))
        .build()
        .unwrap();
    for problem in [free, bound] {
        let (average, all) = (problem.average_cost(), average_of_all(&problem, 3, 4));
        assert!((average - all).abs() < 1e-9 * all, "{average} {all}");
    }
}

#[test]
fn tasks_are_compared_with_places_before_they_take_memory() {
    let tasks = usize::MAX;
    let volumes = Volumes::from_edges(tasks, [(0, tasks - 1, 1.0)]).unwrap();
    let costs = || Costs::from_fn(3, |_, _| 1.0).unwrap();
    assert_eq!(
        message(Problem::builder(volumes.clone(), costs()).build()),
        format!(
            "{tasks} tasks do not fit on 3 places (forbidden: 0; tasks on each other place: 1): allow more tasks a \
             place (`capacity`), or use fewer tasks"
        )
    );
    let problem = Problem::builder(volumes, costs())
        .capacity(tasks)
        .build()
        .unwrap();
    assert_eq!(
        message(problem.placement([0, 1])),
        format!("the placement has 2 places for {tasks} tasks: name one place for each task")
    );
}
