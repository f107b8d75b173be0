//! Files of Scotch (F. Pellegrini, Scotch and libScotch 7.0 User's Guide, chapter 5): graphs,
//! targets and mappings.
//!
//! ```text
//! 0                the version of the format of graphs
//! 3 4              the numbers of vertices and of arcs: two arcs for each edge
//! 0 010            the number of the first vertex, and what has labels, loads of arcs, and loads
//! 1 7 1            the number of neighbours of vertex 0, and each with the load before it
//! 2 7 0 9 2
//! 1 9 1
//! ```

use std::collections::BTreeSet;

use super::tasks::Tasks;
use super::text::{TextError, Words, count, shown};
use crate::costs::Costs;
use crate::error::ProblemError;
use crate::level::Level;
use crate::levels::Machine;
use crate::volumes::Volumes;

/// The largest number of places of a target whose costs are a matrix.
const PLACES_MAX: usize = 4096;

/// The names of targets, and why those that are refused are.
const TARGETS: [(&str, Option<&str>); 16] = [
    ("tleaf", None),
    ("cmplt", None),
    ("cmpltw", None),
    ("mesh2D", None),
    ("mesh3D", None),
    ("meshXD", None),
    ("torus2D", None),
    ("torus3D", None),
    ("torusXD", None),
    ("hcub", None),
    ("deco", None),
    (
        "ltleaf",
        Some("it numbers its places in an order of its own"),
    ),
    ("sub", Some("it is a part of another target")),
    ("vcmplt", Some("its number of places is open")),
    ("vhcub", Some("its number of places is open")),
    ("varcmplt", Some("its number of places is open")),
];

/// Returns the first lines, if a text is a graph of Scotch: `0`, two numbers, and two numbers of
/// which the second has up to three digits that are 0 or 1.
pub(super) fn is_graph(text: &str) -> bool {
    let mut lines = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut next = || lines.next().unwrap_or_default();
    let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    let (version, sizes, format) = (next(), next(), next());
    let is_format = |word: &str| word.len() <= 3 && word.bytes().all(|byte| b"01".contains(&byte));
    version == ["0"]
        && sizes.len() == 2
        && sizes.iter().all(is_number)
        && matches!(format[..], ["0" | "1", digits] if is_format(digits))
}

pub(super) fn graph(text: &str) -> Result<Tasks, TextError> {
    let mut words = Words::of(text, |_| true);
    let (line, version) = words.next("the version of the format")?;
    if version != "0" {
        let rule = format!(
            "{:?} stands where the version of the format has to be, 0",
            shown(version)
        );
        return Err(TextError::at(line, rule));
    }
    let (_, vertices) = words.count("the number of vertices")?;
    let (_, arcs_said) = words.count("the number of arcs")?;
    let (_, first) = words.count("the number of the first vertex")?;
    let (line, digits) = words.next("the three digits that say what the lines have")?;
    let [has_labels, has_arc_loads, has_loads] = match count(digits, line, "three digits")? {
        format @ (0 | 1 | 10 | 11 | 100 | 101 | 110 | 111) => {
            [format / 100, format / 10 % 10, format % 10].map(|digit| digit == 1)
        }
        _ => {
            let rule = format!(
                "{:?} stands where three digits have to be, each 0 or 1",
                shown(digits)
            );
            return Err(TextError::at(line, rule));
        }
    };
    if has_labels {
        return Err(TextError::at(
            line,
            "its vertices have labels (the first of the three digits is 1): write it with numbers in the order of the \
             lines, and 0 as this digit",
        ));
    }
    let mut arcs = Vec::new();
    let mut last = line;
    for vertex in 0..vertices {
        if has_loads {
            words.amount("the load of a vertex")?;
        }
        let (line, degree) = words.count("the number of neighbours of a vertex")?;
        last = line;
        if degree > arcs_said - arcs.len() {
            let rule = format!(
                "the vertices up to this one have more neighbours than the {arcs_said} that line 2 says"
            );
            return Err(TextError::at(line, rule));
        }
        for _ in 0..degree {
            let load = if has_arc_loads {
                words.amount("the load of an arc")?
            } else {
                1.0
            };
            let (line, neighbour) = words.count("a neighbour")?;
            let to = neighbour.checked_sub(first).filter(|to| *to < vertices);
            let to = to.ok_or_else(|| {
                let rule = format!(
                    "vertex {neighbour} is unknown: the first lines say that there are {vertices}, numbered from {first}"
                );
                TextError::at(line, rule)
            })?;
            arcs.push((vertex, to, load));
        }
    }
    words.end("the neighbours of the last vertex")?;
    if arcs.len() != arcs_said {
        let rule = format!(
            "the vertices have {} neighbours, and line 2 says {arcs_said}",
            arcs.len()
        );
        return Err(TextError::at(last, rule));
    }
    if vertices == 0 {
        return Err(ProblemError::NoTasks.into());
    }
    let volumes = Volumes::from_edges(vertices, arcs)?;
    check_directions(&volumes, first, last)?;
    let notes = if has_loads {
        vec!["the loads of its vertices are ignored, because a place takes any task".to_owned()]
    } else {
        Vec::new()
    };
    Ok(Tasks {
        volumes,
        first,
        notes,
    })
}

/// Fails if an edge is missing in one direction, or has another weight there: a graph without
/// directions has both. `first` is the number of the first vertex in the file.
pub(super) fn check_directions(
    volumes: &Volumes,
    first: usize,
    line: usize,
) -> Result<(), TextError> {
    let pairs: Vec<_> = volumes.pairs().collect();
    for (from, to, weight) in &pairs {
        let back = pairs.binary_search_by_key(&(to, from), |(from, to, _)| (from, to));
        if !back.is_ok_and(|back| pairs[back].2 == *weight) {
            let rule = format!(
                "the edge from vertex {} to vertex {} is not in the line of the second one, or with another weight: an \
                 edge stands in the lines of both of its vertices",
                from.0.saturating_add(first),
                to.0.saturating_add(first)
            );
            return Err(TextError::at(line, rule));
        }
    }
    Ok(())
}

/// Returns the name with which a text begins, if it is that of a target.
pub(super) fn target_name(text: &str) -> Option<&'static str> {
    let word = text.split_whitespace().next()?;
    let mut names = TARGETS.iter().map(|(name, _)| *name);
    names.find(|name| name.eq_ignore_ascii_case(word))
}

pub(super) fn target(text: &str) -> Result<Costs, TextError> {
    let mut words = Words::of(text, |_| true);
    let (line, word) = words.next("the name of a target")?;
    let name = target_name(text).unwrap_or(word);
    if let Some((_, Some(why))) = TARGETS.iter().find(|(target, _)| *target == name) {
        let rule = format!(
            "costs between places cannot be those of a target `{name}` of Scotch: {why}; `tleaf`, `cmplt`, `mesh2D`, \
             `torus3D`, `hcub` and `deco 0` can be read"
        );
        return Err(TextError::at(line, rule));
    }
    match name {
        "tleaf" => {
            let mut one_line: Vec<&str> = text.split_whitespace().collect();
            one_line[0] = name;
            let machine: Result<Machine, _> = one_line.join(" ").parse();
            let machine = machine.map_err(|error| TextError::at(line, error.to_string()))?;
            Ok(machine.costs()?)
        }
        "cmplt" | "cmpltw" => {
            let (line, places) = words.count("the number of places")?;
            if name == "cmpltw" {
                let mut same = None;
                for _ in 0..places {
                    let load = words.amount("the load of a place")?;
                    if *same.get_or_insert(load) != load {
                        let rule = "its places have different loads, and a place takes any task: make them equal, or \
                                    write `cmplt` and their number";
                        return Err(TextError::at(line, rule));
                    }
                }
            }
            words.end("the last number of the target")?;
            has_places(places, line)?;
            Ok(Costs::of_levels([Level::new("", places, 1.0)])?)
        }
        "hcub" => {
            let (line, dimensions) = words.count("the number of dimensions")?;
            words.end("the last number of the target")?;
            let places = u32::try_from(dimensions)
                .ok()
                .and_then(|dimensions| 1_usize.checked_shl(dimensions));
            let places = limited(places.unwrap_or(usize::MAX), line)?;
            Ok(Costs::from_fn(places, |from, to| {
                f64::from((from.0 ^ to.0).count_ones())
            })?)
        }
        "deco" => deco(&mut words),
        _ => grid(name, &mut words),
    }
}

/// Fails if a target has no places.
fn has_places(places: usize, line: usize) -> Result<(), TextError> {
    match places {
        0 => Err(TextError::at(
            line,
            "the target has no places: give it one at least",
        )),
        _ => Ok(()),
    }
}

/// Fails if a target has no places, or if a matrix of its costs would be too large.
fn limited(places: usize, line: usize) -> Result<usize, TextError> {
    has_places(places, line)?;
    match places {
        places if places > PLACES_MAX => {
            let rule = format!(
                "the target has more than {PLACES_MAX} places, and its costs take memory for each pair of them: use a \
                 smaller one, or `tleaf`"
            );
            Err(TextError::at(line, rule))
        }
        places => Ok(places),
    }
}

/// Reads the sizes of a mesh or torus. The cost is the number of hops. The first size is that of
/// the direction in which numbers of places follow each other.
fn grid(name: &str, words: &mut Words<'_>) -> Result<Costs, TextError> {
    let dimensions = match name.as_bytes()[name.len() - 2] {
        b'2' => 2,
        b'3' => 3,
        _ => words.count("the number of dimensions")?.1,
    };
    let (mut sizes, mut places, mut line) = (Vec::new(), 1_usize, 1);
    for _ in 0..dimensions {
        let (at, size) = words.count("the size of a dimension")?;
        (line, places) = (at, places.saturating_mul(size));
        limited(places, line)?;
        sizes.push(size);
    }
    words.end("the last size of the target")?;
    let places = limited(places, line)?;
    let is_torus = name.starts_with("torus");
    Ok(Costs::from_fn(places, |from, to| {
        let (mut from, mut to, mut hops) = (from.0, to.0, 0);
        for size in &sizes {
            let straight = (from % size).abs_diff(to % size);
            hops += if is_torus {
                straight.min(size - straight)
            } else {
                straight
            };
            (from, to) = (from / size, to / size);
        }
        hops as f64
    })?)
}

/// Reads `deco 0`: the label, the load and the number of each terminal, and then half of the matrix
/// of costs between them.
fn deco(words: &mut Words<'_>) -> Result<Costs, TextError> {
    let (line, form) = words.next("the form of the target")?;
    if form != "0" {
        let rule = format!(
            "of the targets `deco` of Scotch, only `deco 0` has the costs between its places, and this is {:?}: write \
             one by amk_grf or amk_m2",
            shown(form)
        );
        return Err(TextError::at(line, rule));
    }
    let (line, places) = words.count("the number of places")?;
    let places = limited(places, line)?;
    words.count("the largest number of a part")?;
    for place in 0..places {
        let (line, label) = words.count("the label of a place")?;
        if label != place {
            let rule = format!(
                "place {label} stands where place {place} has to be: only places in order, from 0, can be read"
            );
            return Err(TextError::at(line, rule));
        }
        words.amount("the load of a place")?;
        words.count("the number of a part")?;
    }
    let mut half = Vec::new();
    for _ in 0..places * (places - 1) / 2 {
        half.push(words.amount("the last of the costs between all places")?);
    }
    words.end("the costs between all places")?;
    Ok(Costs::from_fn(places, |from, to| {
        let (low, high) = (from.0.min(to.0), from.0.max(to.0));
        if low == high {
            0.0
        } else {
            half[high * (high - 1) / 2 + low]
        }
    })?)
}

/// Returns true if a text has a number in its first line, and in as many lines a vertex, each once
/// and numbered from 0 or 1, and a whole number.
pub(super) fn is_mapping(text: &str) -> bool {
    let mut lines = text.trim_end().lines();
    let tasks = lines
        .next()
        .and_then(|first| first.trim().parse::<usize>().ok());
    let vertex = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [vertex, place] = words[..] else {
            return None;
        };
        place.parse::<i64>().ok().and(vertex.parse::<usize>().ok())
    };
    let vertices: Option<BTreeSet<usize>> = lines.by_ref().map(vertex).collect();
    let count = text.trim_end().lines().count().saturating_sub(1);
    count > 0
        && vertices.is_some_and(|vertices| {
            let first = vertices.first().copied().unwrap_or(usize::MAX);
            let is_numbered = first <= 1 && vertices.last() == Some(&(first + count - 1));
            is_numbered && vertices.len() == count && tasks == Some(count)
        })
}

/// Parses a mapping: the number of tasks, and in the line of each task its number and its place.
pub(super) fn mapping(text: &str) -> Result<Vec<usize>, TextError> {
    let mut words = Words::of(text, |_| true);
    let (line, tasks) = words.count("the number of tasks of a mapping of Scotch")?;
    if tasks == 0 {
        return Err(TextError::at(line, "it is a mapping of no tasks"));
    }
    let mut pairs = Vec::new();
    for _ in 0..tasks {
        let (line, task) = words.count("the number of a task")?;
        let (at, place) = words.next("the place of a task")?;
        if place == "-1" {
            return Err(TextError::at(at, format!("task {task} has no place (-1)")));
        }
        pairs.push((task, count(place, at, "the place of a task")?, line));
    }
    words.end("the place of the last task")?;
    pairs.sort_unstable();
    let first = pairs[0].0;
    let wrong = pairs
        .iter()
        .zip(first..)
        .find(|(pair, task)| pair.0 != *task);
    if let Some(((task, _, line), expected)) = wrong {
        let rule = if task < &expected {
            format!("task {task} is named twice")
        } else {
            format!("task {expected} is missing: each of {tasks} tasks has a line")
        };
        return Err(TextError::at(*line, rule));
    }
    if first > 1 {
        let rule = format!("the first task is {first}: tasks are numbered from 0 or from 1");
        return Err(TextError::at(pairs[0].2, rule));
    }
    Ok(pairs.into_iter().map(|(_, place, _)| place).collect())
}
