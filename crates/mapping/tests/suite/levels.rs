//! Machines of levels.

use std::ops::ControlFlow;

use cellworks_mapping::{
    Costs, Level, Limit, Machine, Pattern, Place, Problem, Search, Task, Volumes,
};

fn machine(line: &str) -> Machine {
    line.parse()
        .unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// The name, the number of parts and the cost of each level.
fn levels(line: &str) -> Vec<(String, usize, f64)> {
    let machine = machine(line);
    let levels = machine.levels().iter();
    levels
        .map(|level| (level.name.clone(), level.parts, level.cost))
        .collect()
}

fn named(levels: &[(&str, usize, f64)]) -> Vec<(String, usize, f64)> {
    levels
        .iter()
        .map(|(name, parts, cost)| ((*name).to_owned(), *parts, *cost))
        .collect()
}

#[test]
fn the_cost_is_that_of_the_outermost_level_that_differs() {
    let costs = machine("node:2@1.8us package:2@120ns core:3@60ns")
        .costs()
        .unwrap();
    assert_eq!(costs.places(), 12);
    let row: Vec<f64> = (0..12)
        .map(|to| costs.between(Place(1), Place(to)))
        .collect();
    let far = 1800.0;
    assert_eq!(
        row,
        [
            60.0, 0.0, 60.0, 120.0, 120.0, 120.0, far, far, far, far, far, far
        ]
    );
}

#[test]
fn a_matrix_is_repeated_on_nodes() {
    let node = Costs::from_rows(&[vec![1.0, 5.0], vec![6.0, 0.0]]).unwrap();
    let costs = node.repeated(Level::new("node", 3, 100.0)).unwrap();
    assert_eq!(
        (costs.places(), costs.block(), costs.levels().len()),
        (6, 2, 1)
    );
    let row = |from| {
        (0..6)
            .map(|to| costs.between(Place(from), Place(to)))
            .collect::<Vec<f64>>()
    };
    assert_eq!(row(2), [100.0, 100.0, 1.0, 5.0, 100.0, 100.0]);
    assert_eq!(row(5), [100.0, 100.0, 100.0, 100.0, 6.0, 0.0]);
}

#[test]
#[should_panic(expected = "place 4 of 4")]
fn there_is_no_place_after_the_last() {
    machine("2 2").costs().unwrap().between(Place(0), Place(4));
}

#[test]
fn the_notations_of_hwloc_and_scotch_are_understood() {
    let five = named(&[("", 2, 10.0), ("", 4, 5.0), ("", 8, 1.0)]);
    // `atst` of Scotch 7.0.3 says that the largest distance is 16: links of several levels add up.
    let climbed = named(&[("", 2, 16.0), ("", 4, 6.0), ("", 8, 1.0)]);
    assert_eq!(levels("tleaf 3 2 10 4 5 8 1"), climbed);
    assert_eq!(levels("2@10 4@5 8@1"), five);
    assert_eq!(
        levels("pack:2 core:4 pu:2"),
        named(&[("package", 2, 3.0), ("core", 4, 2.0), ("pu", 2, 1.0)])
    );
    // As lstopo prints it.
    assert_eq!(
        levels(
            "Package:2 [NUMANode(memory=1073741824 indexed=no)] L3Cache:1(size=8388608) L1dCache:4(size=32768) PU:2"
        ),
        named(&[
            ("package", 2, 3.0),
            ("l3cache", 1, 2.0),
            ("l1cache", 4, 2.0),
            ("pu", 2, 1.0)
        ])
    );
    for micro in ["u", "\u{b5}", "\u{3bc}"] {
        assert_eq!(
            levels(&format!("rack:2@5{micro}s Node:4@1.5us core:8@0.06us")),
            named(&[("rack", 2, 5000.0), ("node", 4, 1500.0), ("core", 8, 60.0)])
        );
    }
}

#[test]
fn places_have_nodes_cpus_and_cores() {
    let threads = machine("rack:2 node:2 package:2 core:2 pu:2");
    assert_eq!(threads.nodes(), Some(4));
    assert_eq!(threads.cpu(Place(0)), Some((0, 0, Some(0))));
    assert_eq!(threads.cpu(Place(13)), Some((1, 5, Some(2))));
    assert_eq!(machine("pack:2 core:2").nodes(), None);
    assert_eq!(
        machine("pack:2 core:2").cpu(Place(3)),
        Some((0, 3, Some(3)))
    );
    assert_eq!(machine("pack:2 pu:2").cpu(Place(3)), Some((0, 3, None)));
    assert_eq!(machine("tleaf 1 4 1").cpu(Place(3)), None);
}

#[test]
fn lines_that_describe_no_machine() {
    let refused = |line: &str| match line.parse::<Machine>() {
        Ok(machine) => panic!("{line}: {machine:?}"),
        Err(error) => error.to_string(),
    };
    let cases = [
        ("", "it has no levels"),
        (
            "node:2@1us core:2@60",
            "some of its costs have a unit and others have none",
        ),
        (
            "node:2@1us core:2",
            "the level `core:2` has no cost, and other levels have one",
        ),
        (
            "node:0 core:2",
            "\"0\" stands where a number of parts has to be",
        ),
        ("node:x", "\"x\" stands where a number of parts has to be"),
        ("node:2@-1 core:2@1", "\"-1\" is no cost"),
        ("node:2@1us core:2@nan", "\"nan\" is no cost"),
        ("node:2 node:2", "it has `node` twice"),
        (
            "package:2 node:2",
            "its level `package` stands before `node`",
        ),
        ("node:2 packet:2", "`packet` is no level of a computer"),
        (
            "node:2 4",
            "some of its levels have a name and others have none",
        ),
        (":2", "`:2` has no name before its `:`"),
        ("node:2(memory", "a bracket is not closed"),
        ("core:2(indexes=1,0)", "it has `indexes`"),
        ("tleaf", "after `tleaf` stand the number of levels"),
        (
            "tleaf 2 2 10 4",
            "`tleaf 2` has 3 numbers after the number of levels",
        ),
    ];
    for (line, message) in cases {
        let refused = refused(line);
        assert!(refused.contains(message), "{line}: {refused}");
    }
    assert_eq!(
        refused("node:100000 core:1000"),
        "the level `node` has 100000 parts of 1000 places: a level has 1 or more, and a machine at most 2^24 places"
    );
}

#[test]
fn a_problem_on_levels_costs_what_it_costs_on_their_matrix() {
    let costs = machine("node:2@1.8us core:3@60ns").costs().unwrap();
    let matrix = Costs::from_fn(6, |from, to| costs.between(from, to)).unwrap();
    let volumes = Volumes::from_edges(4, [(0, 1, 2.0), (1, 2, 3.0), (3, 0, 5.0)]).unwrap();
    let cost = |costs: Costs| {
        let problem = Problem::builder(volumes.clone(), costs).build().unwrap();
        let placement = problem.placement([0, 4, 2, 5]).unwrap();
        [
            problem.cost(&placement),
            problem.average_cost(),
            problem.lower_bound(),
        ]
    };
    let [on_levels, on_matrix] = [cost(costs), cost(matrix)];
    assert_eq!(on_levels[0], 2.0 * 1800.0 + 3.0 * 1800.0 + 5.0 * 1800.0);
    assert_eq!(on_levels[..2], on_matrix[..2]);
}

/// A problem on 6 nodes of 60 places, and the same problem on the matrix of the same costs.
fn on_nodes() -> [Problem; 2] {
    let mut number = 1_u32;
    let mut random = |below: u32| {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((number >> 8) % below) as usize
    };
    // Neither volumes nor costs are symmetric. Some tasks send to themselves.
    let edges = (0..300).map(|_| (random(100), random(100), random(50) as f64));
    let edges: Vec<_> = edges.collect();
    let node = Costs::from_fn(60, |_, _| 1.0 + random(90) as f64).unwrap();
    let costs = node.repeated(Level::new("node", 6, 500.0)).unwrap();
    let matrix = Costs::from_fn(360, |from, to| costs.between(from, to)).unwrap();
    [costs, matrix].map(|costs| {
        let volumes = Volumes::from_edges(100, edges.clone()).unwrap();
        let mut builder = Problem::builder(volumes, costs).capacity(2);
        for task in 0..20 {
            builder = builder.fix(Task(task), Place(7 * task));
        }
        for place in 100..150 {
            builder = builder.forbid(Place(3 * (place - 50)));
        }
        builder.build().unwrap()
    })
}

#[test]
fn averages_of_levels_and_of_their_matrix_are_equal() {
    let [on_levels, on_matrix] = on_nodes().map(|problem| problem.average_cost());
    assert!(
        (on_levels / on_matrix - 1.0).abs() < 1e-12,
        "{on_levels} {on_matrix}"
    );
}

#[test]
fn a_search_on_levels_adds_up_and_keeps_what_is_fixed() {
    let [on_levels, on_matrix] = on_nodes();
    let run = |problem: &Problem, iterations| {
        let search = Search::new(Limit::Iterations(iterations)).seed(1);
        search.run(problem, |_| ControlFlow::Continue(()))
    };
    let first = run(&on_levels, 0);
    let solution = run(&on_levels, 3_000);
    // `placement` checks fixed tasks, forbidden places and capacities.
    let places = || solution.placement.places().iter().map(|place| place.0);
    assert_eq!(
        on_levels.placement(places()).as_ref(),
        Ok(&solution.placement)
    );
    assert_eq!(solution.cost, on_matrix.cost(&solution.placement));
    assert!(
        solution.cost < first.cost,
        "{} {}",
        solution.cost,
        first.cost
    );
    assert!(first.cost < 0.8 * on_levels.average_cost());
    assert!(on_levels.lower_bound() <= solution.cost);
    assert_eq!(run(&on_levels, 3_000).placement, solution.placement);
}

/// A stencil of 64 by 64 tasks on five levels, whose tasks have numbers in any order. The best
/// placement has squares, or two squares.
#[test]
fn a_stencil_on_five_levels_costs_little_more_than_its_bound() {
    let costs = machine("rack:4@5us node:4@1.8us package:4@120ns l3cache:8@60ns core:8@30ns");
    // 389 is odd, so each task has another number.
    let in_order = Pattern::Stencil.volumes(4096).unwrap();
    let number = |task: Task| task.0 * 389 % 4096;
    let pairs = in_order.pairs();
    let pairs = pairs.map(|(from, to, volume)| (number(from), number(to), volume));
    let volumes = Volumes::from_edges(4096, pairs).unwrap();
    let problem = Problem::builder(volumes, costs.costs().unwrap())
        .build()
        .unwrap();
    // Pairs on the borders of the parts of each level, in both directions.
    let pairs = [128.0, 4.0 * 64.0, 16.0 * 32.0, 64.0 * 32.0];
    let inner = 2.0 * 64.0 * 63.0 - pairs.iter().sum::<f64>();
    let costs = [5000.0, 1800.0, 120.0, 60.0, 30.0];
    let all = pairs.iter().chain([&inner]).zip(costs);
    let squares: f64 = all.map(|(pairs, cost)| 2.0 * pairs * cost).sum();
    let bound = problem.lower_bound();
    assert!(
        bound <= squares && bound > 0.95 * squares,
        "{bound} {squares}"
    );
    // The first division is by planes, and has squares.
    let search = Search::new(Limit::Iterations(0));
    let solution = search.run(&problem, |_| ControlFlow::Break(()));
    assert!(solution.cost <= squares, "{} {squares}", solution.cost);
    assert_eq!(problem.cost(&solution.placement), solution.cost);
}

/// Evaluates all placements of small problems.
#[test]
fn no_placement_costs_less_than_the_bound() {
    let machines = [
        "2@100 2@10 2@1",
        "node:2@100 core:2@3 pu:2@5",
        "3@7 2@1",
        "2@9 3@2",
        "5@4",
    ];
    for line in machines {
        let costs = machine(line).costs().unwrap();
        for (pattern, tasks) in Pattern::ALL.into_iter().zip([5, 4, 5, 4, 6, 5, 4]) {
            let places = costs.places();
            if tasks > places {
                continue;
            }
            let volumes = pattern.volumes(tasks).unwrap();
            let problem = Problem::builder(volumes, costs.clone()).build().unwrap();
            let all = Search::new(Limit::Iterations(u64::MAX));
            let best = all.run(&problem, |_| ControlFlow::Continue(()));
            assert!(best.optimal);
            let bound = problem.lower_bound();
            assert!(
                bound <= best.cost,
                "{line} {}: {bound} {}",
                pattern.name(),
                best.cost
            );
        }
    }
}

/// Patterns whose best placement is known, as many tasks as places.
#[test]
fn bounds_of_patterns_are_reached() {
    let reached = |line: &str, pattern: Pattern, best: f64| {
        let costs = machine(line).costs().unwrap();
        let volumes = pattern.volumes(costs.places()).unwrap();
        let problem = Problem::builder(volumes, costs).build().unwrap();
        assert_eq!(problem.lower_bound(), best, "{line} {}", pattern.name());
    };
    // Of a ring one pair leaves each part on each side. Both directions count.
    let ring = 2.0 * (8.0 * 100.0 + 24.0 * 10.0 + 480.0);
    reached("8@100 4@10 16@1", Pattern::Ring, ring);
    // A reduction has one edge less than a part has tasks, in one direction.
    reached(
        "8@100 4@10 16@1",
        Pattern::Tree,
        7.0 * 100.0 + 24.0 * 10.0 + 480.0,
    );
    // In a hypercube the parts are hypercubes, too.
    reached(
        "8@100 4@10 16@1",
        Pattern::Butterfly,
        512.0 * (3.0 * 100.0 + 2.0 * 10.0 + 4.0),
    );
    // All pairs of different parts.
    reached("4@10 4@1", Pattern::AllToAll, 16.0 * (12.0 * 10.0 + 3.0));
    reached("4@10 4@1", Pattern::Stencil, 2.0 * (8.0 * 10.0 + 16.0));
    // Parts of 4 by 8 tasks have 52 pairs. In parts of 5 by 6 each task would have more, but all
    // parts are full.
    reached(
        "32@1800 32@60",
        Pattern::Stencil,
        2.0 * (320.0 * 1800.0 + 32.0 * 52.0 * 60.0),
    );
    reached("8@10 8@1", Pattern::Stencil3d, 2.0 * (48.0 * 10.0 + 96.0));
}

/// A stencil with periodic borders: tasks on a torus, numbered line by line.
fn torus(sides: &[usize]) -> Volumes {
    let tasks = sides.iter().product();
    let mut pairs = Vec::new();
    for task in 0..tasks {
        let mut step = 1;
        for side in sides {
            let next = match task / step % side + 1 {
                last if last == *side => task + step - step * side,
                _ => task + step,
            };
            if *side > 2 || next > task {
                pairs.push((task, next, 1.0));
            }
            step *= side;
        }
    }
    Volumes::from_edges(tasks, pairs).unwrap()
}

#[test]
fn the_best_placements_of_tori_are_found_and_proven() {
    for (sides, line, best) in [
        // Squares of 8 x 8 tasks, and cubes of 4 x 4 x 4.
        (
            &[32, 32][..],
            "16@1800 64@60",
            256.0 * 1800.0 + 1792.0 * 60.0,
        ),
        (&[8, 8, 16], "16@1800 64@60", 768.0 * 1800.0 + 2304.0 * 60.0),
        // 8 lines that go around.
        (&[64, 5], "8@10 40@1", 40.0 * 10.0 + 600.0),
        // Two slices that go around, without a border between their tasks.
        (&[6, 6, 10], "5@10 72@1", 180.0 * 10.0 + 900.0),
    ] {
        let costs = machine(line).costs().unwrap();
        let problem = Problem::builder(torus(sides), costs).build().unwrap();
        let search = Search::new(Limit::Iterations(0));
        let found = search.run(&problem, |_| ControlFlow::Break(()));
        assert_eq!((found.cost, problem.lower_bound()), (best, best), "{line}");
    }
}

/// The messages of a halo: much between neighbours, little across corners, and a word of each task
/// to others, as in a reduction.
#[test]
fn small_messages_do_not_hide_a_stencil() {
    let stencil = Pattern::Stencil.volumes(1024).unwrap();
    let mut pairs: Vec<(usize, usize, f64)> = (stencil.pairs())
        .map(|(from, to, _)| (from.0, to.0, 4096.0))
        .collect();
    let small = (0..1024).flat_map(|task| [33, 31, 256, 512].map(|by| (task, task + by, 8.0)));
    pairs.extend(small.filter(|(_, to, _)| *to < 1024));
    let costs = machine("16@1800 64@60").costs().unwrap();
    let problem = Problem::builder(Volumes::from_edges(1024, pairs).unwrap(), costs);
    let problem = problem.build().unwrap();
    let search = Search::new(Limit::Iterations(0));
    let found = search.run(&problem, |_| ControlFlow::Break(()));
    let gap = found.gap(problem.lower_bound());
    assert!((0.0..0.01).contains(&gap), "{gap}");
}

/// Evaluates all placements of small tori.
#[test]
fn no_torus_costs_less_than_its_bound() {
    for (sides, line) in [
        (&[3, 3][..], "3@9 3@1"),
        (&[3, 2], "3@5 2@1"),
        (&[3, 2], "2@5 4@1"),
        (&[4, 2], "2@5 4@1"),
        (&[2, 2, 2], "4@5 2@1"),
        (&[5], "2@5 4@1"),
    ] {
        let costs = machine(line).costs().unwrap();
        let problem = Problem::builder(torus(sides), costs).build().unwrap();
        let best = Search::new(Limit::Iterations(u64::MAX)).find(&problem);
        assert!(best.optimal);
        let bound = problem.lower_bound();
        assert!(bound <= best.cost, "{line}: {bound} {}", best.cost);
    }
}

#[test]
fn the_first_descent_counts_even_if_the_limit_ends_in_it() {
    let costs = machine("rack:3@100 node:5@10 core:18@1").costs().unwrap();
    let volumes = Pattern::Stencil.volumes(270).unwrap();
    let problem = Problem::builder(volumes, costs).build().unwrap();
    // The search for the worst placement begins with one by chance.
    let [start, after] = [0, 20].map(|exchanges| {
        let search = Search::new(Limit::Iterations(exchanges));
        let worst = search
            .worst(&problem, || ControlFlow::Continue(()))
            .unwrap();
        assert_eq!(worst.cost, problem.cost(&worst.placement));
        worst.cost
    });
    assert!(after > start, "{after} after {start}");
}

#[test]
fn places_beyond_a_machine_and_machines_beyond_all_computers() {
    let machine: Machine = "node:2 core:4".parse().unwrap();
    assert_eq!(machine.cpu(Place(7)), Some((1, 3, Some(3))));
    assert_eq!(machine.cpu(Place(8)), None);
    assert!("4294967296 4294967296".parse::<Machine>().is_err());
}
