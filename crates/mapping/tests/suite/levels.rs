//! Machines of levels.

use cellworks_mapping::{Costs, Level, Machine, Place, Problem, Volumes};

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
    assert_eq!(
        levels("rack:2@5us Node:4@1.5us core:8@0.06us"),
        named(&[("rack", 2, 5000.0), ("node", 4, 1500.0), ("core", 8, 60.0)])
    );
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
    let large = machine("node:100000 core:1000")
        .costs()
        .unwrap_err()
        .to_string();
    assert_eq!(
        large,
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
