//! Machines of levels: nodes with packages, packages with cores, and so on.

use std::str::FromStr;

use crate::costs::Costs;
use crate::error::ProblemError;
use crate::ids::Place;
use crate::level::Level;

/// The name of the level whose parts are computers.
const NODE: &str = "node";

/// The names that may stand inside of a node: those of hwloc, and what they begin with is enough.
const INSIDE: [(&str, usize); 12] = [
    ("package", 4),
    ("socket", 4),
    ("die", 3),
    ("numanode", 4),
    ("group", 5),
    ("l5cache", 2),
    ("l4cache", 2),
    ("l3cache", 2),
    ("l2cache", 2),
    ("l1cache", 2),
    ("core", 4),
    ("pu", 2),
];

/// A machine of levels, described in one line.
///
/// The line has the levels, the outermost first, in one of three notations:
///
/// - that of hwloc's synthetic topologies, where a level can have a cost after `@`:
///   `node:2@1.8us package:2@120ns core:16@60ns`. The parts of `node` are computers. Levels outside
///   of nodes can have any name. Inside of nodes the names are those of hwloc. Attributes in
///   brackets are ignored;
/// - numbers of parts only, such as `2 10 4` or `2@10 4@5`;
/// - that of Scotch's complete trees: `tleaf 3 2 10 4 5 8 1` has 3 levels, with 2, 4 and 8 parts,
///   and links that cost 10, 5 and 1. As in Scotch, the links of all levels that two places differ
///   in add up: the costs are 16, 6 and 1.
///
/// A cost is a number with a unit of time (`ps`, `ns`, `us`, `ms`, `s`), or all costs have none.
/// Without any cost, the cost of a level is the number of levels from the places up to it: 1 for
/// the innermost level, 2 for the next, and so on.
///
/// ```
/// use cellworks_mapping::{Machine, Place};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let machine: Machine = "node:2@1.8us package:2@120ns core:2@60ns".parse()?;
/// assert_eq!(machine.costs()?.between(Place(0), Place(4)), 1800.0);
/// assert_eq!(machine.nodes(), Some(2));
/// assert_eq!(machine.cpu(Place(5)), Some((1, 1, Some(1))));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    levels: Vec<Level>,
    is_in_nanoseconds: bool,
}

/// The reason why a line describes no machine.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MachineError(String);

cellworks_machine::debug_by_display!(MachineError);

impl Machine {
    /// Returns the levels, the outermost first.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Returns whether the costs are in nanoseconds. Otherwise they have no unit.
    pub fn is_in_nanoseconds(&self) -> bool {
        self.is_in_nanoseconds
    }

    /// Returns the costs between the places, which are the parts of the innermost level.
    ///
    /// # Errors
    ///
    /// Fails as [`Costs::of_levels`] does.
    pub fn costs(&self) -> Result<Costs, ProblemError> {
        Costs::of_levels(self.levels.iter().cloned())
    }

    /// Returns the number of nodes, if the machine has a level of this name.
    pub fn nodes(&self) -> Option<usize> {
        let node = self.node()?;
        Some(
            self.levels[..=node]
                .iter()
                .map(|level| level.parts)
                .product(),
        )
    }

    /// Returns the node of a place, the number of its CPU in the node, and the number of the CPU's
    /// core in the node, if the machine has cores. All numbers are from 0. Returns `None` if no
    /// level is named, so that the places may be anything, and for a place beyond the machine.
    pub fn cpu(&self, place: Place) -> Option<(usize, usize, Option<usize>)> {
        let is_named = self.levels.iter().any(|level| !level.name.is_empty());
        let inside = self.node().map_or(0, |node| node + 1);
        let places = |levels: &[Level]| levels.iter().map(|level| level.parts).product::<usize>();
        let of_node = places(&self.levels[inside..]);
        let (node, cpu) = (place.0 / of_node, place.0 % of_node);
        let mut names = self.levels.iter();
        let core = names.position(|level| level.name == "core");
        let core = core.map(|core| cpu / places(&self.levels[core + 1..]));
        (is_named && place.0 < places(&self.levels)).then_some((node, cpu, core))
    }

    fn node(&self) -> Option<usize> {
        self.levels.iter().position(|level| level.name == NODE)
    }
}

impl FromStr for Machine {
    type Err = MachineError;

    fn from_str(text: &str) -> Result<Self, MachineError> {
        let text = text.trim();
        let (first, numbers) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let described = if first.eq_ignore_ascii_case("tleaf") {
            tleaf(numbers)
        } else {
            synthetic(text)
        };
        described.map_err(MachineError)
    }
}

/// Parses the levels of a complete tree of Scotch: their number, and then for each the number of
/// parts and the cost.
fn tleaf(numbers: &str) -> Result<Machine, String> {
    let words: Vec<&str> = numbers.split_whitespace().collect();
    let wrong = || {
        "after `tleaf` stand the number of levels, and for each level its number of parts and its cost, as in `tleaf 3 \
         2 10 4 5 8 1`"
            .to_owned()
    };
    let (count, pairs) = words.split_first().ok_or_else(wrong)?;
    let count: usize = count.parse().map_err(|_| wrong())?;
    if count == 0 || pairs.len() != count.saturating_mul(2) {
        return Err(format!(
            "`tleaf {count}` has {} numbers after the number of levels, and not two for each level: {}",
            pairs.len(),
            wrong()
        ));
    }
    let level = |pair: &[&str]| {
        let (parts, cost) = (parts(pair[0])?, cost(pair[1])?);
        Ok((Level::new("", parts, cost.0), cost.1))
    };
    let mut machine = machine(
        pairs
            .chunks(2)
            .map(level)
            .map(|level| level.map(|(level, unit)| (level, Some(unit)))),
    )?;
    let mut climbed = 0.0;
    for level in machine.levels.iter_mut().rev() {
        climbed += level.cost;
        level.cost = climbed;
    }
    Ok(machine)
}

/// Parses levels such as `node:2@1.8us`, separated by blanks.
fn synthetic(text: &str) -> Result<Machine, String> {
    let words = words(text)?;
    let is_level = |word: &&String| !word.starts_with('[');
    machine(words.iter().filter(is_level).map(|word| {
        let (word, cost) = match word.rsplit_once('@') {
            Some((word, text)) => (word, Some(self::cost(text)?)),
            None => (&word[..], None),
        };
        let (name, count) = word.split_once(':').unwrap_or(("", word));
        if name.is_empty() && word.contains(':') {
            return Err(format!("`{word}` has no name before its `:`"));
        }
        let level = Level::new(
            name.to_lowercase(),
            parts(count)?,
            cost.map_or(0.0, |(cost, _)| cost),
        );
        Ok((level, cost.map(|(_, unit)| unit)))
    }))
}

/// Returns the words of a line, without the attributes in parentheses. Brackets stay together.
fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = vec![String::new()];
    let (mut round, mut square) = (0, 0);
    for letter in text.chars() {
        match letter {
            '(' => round += 1,
            ')' if round > 0 => round -= 1,
            _ if round > 0 => {}
            ' ' | '\t' | ',' if square == 0 => words.push(String::new()),
            _ => {
                square += i32::from(letter == '[') - i32::from(letter == ']');
                words.last_mut().expect("there is a word").push(letter);
            }
        }
    }
    if (round, square) != (0, 0) {
        return Err("a bracket is not closed, or not opened".to_owned());
    }
    if text.contains("indexes") {
        return Err(
            "it has `indexes`, and CPUs are numbered in the order of the levels: leave them out"
                .to_owned(),
        );
    }
    words.retain(|word| !word.is_empty());
    Ok(words)
}

fn parts(word: &str) -> Result<usize, String> {
    let number = word.parse().ok().filter(|parts| *parts > 0);
    number.ok_or_else(|| {
        format!(
            "{word:?} stands where a number of parts has to be, 1 or more, as in `node:2@1.8us package:2@120ns \
             core:16@60ns`"
        )
    })
}

/// Parses a cost, and returns whether it has a unit of time. Then it is in nanoseconds.
fn cost(word: &str) -> Result<(f64, bool), String> {
    // The sign for micro and the Greek letter look alike.
    const UNITS: [(&str, f64); 7] = [
        ("ns", 1.0),
        ("us", 1e3),
        ("\u{b5}s", 1e3),
        ("\u{3bc}s", 1e3),
        ("ms", 1e6),
        ("ps", 1e-3),
        ("s", 1e9),
    ];
    let mut units = UNITS.iter();
    let unit = units.find_map(|(unit, ns)| Some((word.strip_suffix(unit)?, *ns)));
    let (number, ns) = unit.unwrap_or((word, 1.0));
    let number = number.trim().parse::<f64>().ok();
    let number = number.filter(|number| crate::error::is_amount(number * ns));
    let number = number.ok_or_else(|| {
        format!("{word:?} is no cost: a cost is a number from 0 to 1e100, with or without a unit, such as 1.8us or 10")
    })?;
    Ok((number.abs() * ns, unit.is_some()))
}

/// Makes a machine of levels, each with whether its cost has a unit, if it has a cost.
fn machine(
    levels: impl Iterator<Item = Result<(Level, Option<bool>), String>>,
) -> Result<Machine, String> {
    let levels = levels.collect::<Result<Vec<_>, String>>()?;
    let (mut levels, units): (Vec<Level>, Vec<Option<bool>>) = levels.into_iter().unzip();
    if levels.is_empty() {
        return Err(
            "it has no levels, such as `node:2@1.8us package:2@120ns core:16@60ns`".to_owned(),
        );
    }
    name(&mut levels)?;
    let told = |unit: bool| units.contains(&Some(unit));
    if told(true) && told(false) {
        return Err(
            "some of its costs have a unit and others have none: give all of them one, or none"
                .to_owned(),
        );
    }
    let missing = levels
        .iter()
        .zip(&units)
        .find(|(level, unit)| unit.is_none() && level.parts > 1);
    match missing {
        Some((level, _)) if told(true) || told(false) => {
            let of = match &level.name[..] {
                "" => format!("a level of {} parts", level.parts),
                name => format!("the level `{name}:{}`", level.parts),
            };
            return Err(format!(
                "{of} has no cost, and other levels have one: write it after `@`, as in `core:16@60ns`"
            ));
        }
        Some(_) => {
            let mut climbed = 0;
            for level in levels.iter_mut().rev() {
                climbed += usize::from(level.parts > 1);
                level.cost = climbed as f64;
            }
        }
        None => {}
    }
    let machine = Machine {
        levels,
        is_in_nanoseconds: told(true),
    };
    // So that the number of places is within limits.
    machine.costs().map_err(|error| error.to_string())?;
    Ok(machine)
}

/// Gives the levels their full names, and checks their order.
fn name(levels: &mut [Level]) -> Result<(), String> {
    let is_node = |level: &Level| level.name == NODE;
    let nodes = levels.iter().filter(|level| is_node(level)).count();
    if nodes > 1 {
        return Err(
            "it has `node` twice, and a node is a computer: write `numanode` for the memory nodes inside"
                .to_owned(),
        );
    }
    let node = levels.iter().position(is_node);
    let unnamed = levels.iter().filter(|level| level.name.is_empty()).count();
    if unnamed > 0 && unnamed < levels.len() {
        return Err(
            "some of its levels have a name and others have none: name all of them, or none"
                .to_owned(),
        );
    }
    for (at, level) in levels.iter_mut().enumerate().filter(|_| unnamed == 0) {
        let known = |(full, shortest): &(&'static str, usize)| {
            let cache = full.strip_suffix("cache").is_some_and(|cache| {
                let kind = level.name.strip_prefix(cache);
                kind.is_some_and(|kind| {
                    ["d", "i", "dcache", "icache", "u", "ucache"].contains(&kind)
                })
            });
            let begins = level.name.len() >= *shortest && full.starts_with(&level.name);
            (begins || cache).then_some(*full)
        };
        let inside = INSIDE.iter().find_map(known);
        match (node, inside) {
            (Some(node), Some(_)) if at < node => {
                return Err(format!(
                    "its level `{}` stands before `node`, and a node is a computer: the parts of a computer stand after \
                     it; write `numanode` for memory nodes",
                    level.name
                ));
            }
            (Some(node), None) if at <= node => {}
            (_, Some(full)) => level.name = full.to_owned(),
            (_, None) => {
                return Err(format!(
                    "`{}` is no level of a computer: those are package, die, numanode, group, l1cache to l5cache, core \
                     and pu, and `node` before them is the computer",
                    level.name
                ));
            }
        }
    }
    Ok(())
}
