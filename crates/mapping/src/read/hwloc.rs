//! XML of hwloc.
//!
//! ```text
//! <topology version="2.0">
//!   <object type="Machine" ...>
//!     <object type="PU" os_index="4" gp_index="9" cpuset="0x00000010"/>   ...
//!   </object>
//!   <distances2 type="PU" nbobjs="2" kind="6" indexing="os">
//!     <indexes length="4">4 5 </indexes>            which objects, by os_index or gp_index
//!     <u64values length="12">0 36 37 0 </u64values>  the rows, one after the other
//!   </distances2>
//! </topology>
//! ```

// Rejected: `quick-xml`, which reports events. To look up the objects between which distances are
// given, this code would have to build a tree. It would also have to count lines for errors.

use roxmltree::{Document, Error, Node, ParsingOptions};

use super::text::{TextError, amount};
use crate::costs::Costs;

/// The bit of the attribute `kind` that marks distances as latencies
/// (`HWLOC_DISTANCES_KIND_MEANS_LATENCY` in `hwloc/distances.h` of hwloc 2).
pub(crate) const MEANS_LATENCY: u32 = 1 << 2;

/// The name of the distances that [`write::hwloc`](crate::write::hwloc) writes.
pub(crate) const ONE_WAY_PICOSECONDS: &str = "OneWayLatencyInPicoseconds";

pub(crate) const PICOSECONDS_PER_NANOSECOND: f64 = 1_000.0;

const WORD: usize = 32;

/// Latencies between CPUs from XML of hwloc.
#[derive(Clone, Debug, PartialEq)]
pub struct HwlocLatencies {
    /// The latencies, in nanoseconds or in the unit of the file.
    pub costs: Costs,
    /// The CPU of each place.
    pub cpus: Vec<usize>,
    /// The core of each place, numbered in the order of the file. `None` if the file has no core
    /// around the CPU.
    pub cores: Vec<Option<usize>>,
    /// Whether the costs are in nanoseconds. hwloc knows no unit, but the name of the distances
    /// that [`write::hwloc`](crate::write::hwloc) writes has it.
    pub is_in_nanoseconds: bool,
}

pub(super) fn parse(text: &str) -> Result<HwlocLatencies, TextError> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let line = match error {
            // This error has no position.
            Error::UnclosedRootNode => text.lines().count(),
            _ => error.pos().row as usize,
        };
        wrong(line, format!("it is no XML: {error}"))
    })?;
    let line = |node: Node<'_, '_>| document.text_pos_at(node.range().start).row as usize;

    let root = document.root_element();
    let version = root.attribute("version").unwrap_or_default();
    if !root.has_tag_name("topology") || version.parse().is_ok_and(|version: f64| version < 2.0) {
        let rule = format!(
            "the XML of hwloc 2 has an element `topology` with version 2.0 outside, and this has `{}` with version \
             {version:?}; write it by `lstopo FILE.xml`",
            root.tag_name().name()
        );
        return Err(wrong(line(root), rule));
    }
    let latencies = |kind: &str| {
        let mut distances = root
            .children()
            .filter(|node| node.has_tag_name("distances2"));
        distances.find(|node| {
            let means = node.attribute("kind").and_then(|kind| kind.parse().ok());
            let is_latency = means.is_some_and(|means: u32| means & MEANS_LATENCY != 0);
            is_latency && node.attribute("type") == Some(kind)
        })
    };
    let Some((kind, distances)) = ["PU", "Core"]
        .into_iter()
        .find_map(|kind| Some((kind, latencies(kind)?)))
    else {
        let rule =
            "it has no `distances2` between PUs or Cores that are latencies (kind 4 and others)";
        return Err(wrong(line(root), rule.to_owned()));
    };

    let index_name = match distances.attribute("indexing") {
        Some("gp") => "gp_index",
        _ => "os_index",
    };
    let is_core = |node: &Node<'_, '_>| node.attribute("type") == Some("Core");
    let cores: Vec<_> = root.descendants().filter(is_core).collect();
    let core_of = |object: Node<'_, '_>| {
        let core = object.ancestors().find(is_core)?;
        cores.iter().position(|other| *other == core)
    };
    let cpu_of = |index: &str| {
        let mut objects = root.descendants().filter(|node| {
            node.has_tag_name("object")
                && node.attribute("type") == Some(kind)
                && node.attribute(index_name) == Some(index)
        });
        let object = objects.next()?;
        let cpu = match kind {
            "PU" => object.attribute("os_index")?.parse().ok(),
            _ => first_of(object.attribute("cpuset")?),
        };
        Some((cpu?, core_of(object)))
    };
    let (mut cpus, mut of_places) = (Vec::new(), Vec::new());
    for (line, word) in words(&document, distances, "indexes")? {
        let (cpu, core) = cpu_of(word).ok_or_else(|| {
            let rule =
                format!("there is no object of type {kind} with {index_name} {word:?} and a CPU");
            wrong(line, rule)
        })?;
        if cpus.contains(&cpu) {
            return Err(wrong(line, format!("{kind} {word} is named twice")));
        }
        cpus.push(cpu);
        of_places.push(core);
    }

    let (places, line) = (cpus.len(), line(distances));
    if let Some(objects) = distances.attribute("nbobjs")
        && objects.parse() != Ok(places)
    {
        let rule = format!(
            "`nbobjs` is {objects:?}, and the indexes name {places} objects; hwloc refuses such a file, so write it \
             anew (`lstopo FILE.xml`)"
        );
        return Err(wrong(line, rule));
    }
    let given = words(&document, distances, "u64values")?;
    if given.len() != places * places || places == 0 {
        let rule = format!(
            "the distances have {} values, and {places} objects have {}: a row and a column for each",
            given.len(),
            places * places
        );
        return Err(wrong(line, rule));
    }
    let values = given.into_iter().map(|(line, word)| amount(word, line));
    let values = values.collect::<Result<Vec<f64>, _>>()?;
    let is_ours = distances.attribute("name") == Some(ONE_WAY_PICOSECONDS);
    let unit = if is_ours {
        PICOSECONDS_PER_NANOSECOND
    } else {
        1.0
    };
    let costs = Costs::from_fn(places, |from, to| values[from.0 * places + to.0] / unit)?;
    Ok(HwlocLatencies {
        costs,
        cpus,
        cores: of_places,
        is_in_nanoseconds: is_ours,
    })
}

fn wrong(line: usize, rule: String) -> TextError {
    TextError::Line { line, rule }
}

/// Returns the words in all elements of the given name, each with the line of its element. Fails if
/// the attribute `length` of an element is not the number of bytes of its text.
fn words<'a>(
    document: &'a Document<'_>,
    distances: Node<'a, '_>,
    name: &str,
) -> Result<Vec<(usize, &'a str)>, TextError> {
    let mut words = Vec::new();
    for node in distances.children().filter(|node| node.has_tag_name(name)) {
        let line = document.text_pos_at(node.range().start).row as usize;
        let text = node.text().unwrap_or_default();
        if let Some(length) = node.attribute("length")
            && length.parse() != Ok(text.len())
        {
            let rule = format!(
                "the `length` of `{name}` is {length:?}, and its text has {} bytes; hwloc refuses such a file, so \
                 write it anew (`lstopo FILE.xml`)",
                text.len()
            );
            return Err(wrong(line, rule));
        }
        words.extend(text.split_whitespace().map(|word| (line, word)));
    }
    Ok(words)
}

/// Returns the lowest CPU of a cpuset such as `0x00000002,,0x0`. The last word has CPUs 0 to 31.
fn first_of(cpuset: &str) -> Option<usize> {
    cpuset.rsplit(',').enumerate().find_map(|(at, word)| {
        let digits = word.trim_start_matches("0x");
        let bits = u32::from_str_radix(digits, 16).ok()?;
        (bits != 0).then(|| at * WORD + bits.trailing_zeros() as usize)
    })
}
