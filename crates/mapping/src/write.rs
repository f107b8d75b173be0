//! Files that other programs read.

use std::fmt::Write;

use crate::binding::cpuset;
use crate::costs::Costs;
use crate::ids::Place;
use crate::read::{MEANS_LATENCY, ONE_WAY_PICOSECONDS, PICOSECONDS_PER_NANOSECOND};

/// The bit of the attribute `kind` that marks distances as given by the user
/// (`HWLOC_DISTANCES_KIND_FROM_USER` in `hwloc/distances.h` of hwloc 2).
const FROM_USER: u32 = 1 << 1;

const ON_A_LINE: usize = 10;

/// The number of picoseconds for which hwloc has no room: 2^64.
const LIMIT: f64 = 18_446_744_073_709_551_616.0;

/// A latency that is too long for a file of hwloc.
#[derive(Clone, Copy, PartialEq, thiserror::Error)]
#[error(
    "the latency from CPU {from} to CPU {to} is {ns:e} ns, and a latency in hwloc's XML is below 2^64 ps, which is \
     1.8e16 ns: lower it"
)]
pub struct TooLong {
    /// The CPU at which the latency starts.
    pub from: usize,
    /// The CPU at which the latency ends.
    pub to: usize,
    /// The latency in nanoseconds.
    pub ns: f64,
}

cellworks_machine::debug_by_display!(TooLong);

/// Writes latencies between CPUs as XML of hwloc 2, for `lstopo --input FILE` and
/// [`read::hwloc`](crate::read::hwloc). The XML has a topology with only these CPUs, and distances
/// in whole picoseconds. `costs` are in nanoseconds. `cpus` has the CPU of each place.
///
/// # Errors
///
/// Fails if a cost has 2^64 picoseconds or more, for which hwloc has no room.
///
/// # Panics
///
/// Panics if `cpus` does not have one CPU for each place, or has a CPU twice.
pub fn hwloc(costs: &Costs, cpus: &[usize]) -> Result<String, TooLong> {
    assert_eq!(costs.places(), cpus.len(), "a CPU for each place");
    let mut places: Vec<(usize, Place)> = cpus.iter().copied().zip((0..).map(Place)).collect();
    places.sort_unstable();
    assert!(
        places.is_sorted_by(|one, next| one.0 < next.0),
        "each CPU once"
    );

    let all = cpuset(cpus);
    let nodes = "nodeset=\"0x00000001\" complete_nodeset=\"0x00000001\"";
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n\
         <topology version=\"2.0\">\n  \
         <object type=\"Machine\" os_index=\"0\" cpuset=\"{all}\" complete_cpuset=\"{all}\" \
         allowed_cpuset=\"{all}\" {nodes} allowed_nodeset=\"0x00000001\" gp_index=\"1\">\n    \
         <object type=\"NUMANode\" os_index=\"0\" cpuset=\"{all}\" complete_cpuset=\"{all}\" {nodes} \
         gp_index=\"2\" local_memory=\"0\"/>\n"
    );
    for (at, (cpu, _)) in places.iter().enumerate() {
        let (own, number) = (cpuset(&[*cpu]), at + 3);
        text += &format!(
            "    <object type=\"PU\" os_index=\"{cpu}\" cpuset=\"{own}\" complete_cpuset=\"{own}\" {nodes} \
             gp_index=\"{number}\"/>\n"
        );
    }
    text += "  </object>\n";
    text += &format!(
        "  <distances2 type=\"PU\" nbobjs=\"{}\" kind=\"{}\" name=\"{ONE_WAY_PICOSECONDS}\" \
         indexing=\"os\">\n",
        places.len(),
        FROM_USER | MEANS_LATENCY
    );
    let indexes: Vec<usize> = places.iter().map(|(cpu, _)| *cpu).collect();
    lines(&mut text, "indexes", &indexes);
    let rows = places.iter().flat_map(|(from, place)| {
        let row = places.iter();
        row.map(move |(to, other)| (*from, *to, costs.between(*place, *other)))
    });
    let rows = rows.map(|(from, to, ns)| {
        // In picoseconds, because hwloc has whole numbers only, and nanoseconds have fractions.
        let picoseconds = (ns * PICOSECONDS_PER_NANOSECOND).round();
        if picoseconds < LIMIT {
            Ok(picoseconds as u64)
        } else {
            Err(TooLong { from, to, ns })
        }
    });
    lines(
        &mut text,
        "u64values",
        &rows.collect::<Result<Vec<u64>, _>>()?,
    );
    Ok(text + "  </distances2>\n</topology>\n")
}

fn lines<N: std::fmt::Display>(text: &mut String, element: &str, numbers: &[N]) {
    for numbers in numbers.chunks(ON_A_LINE) {
        let mut content = String::new();
        for number in numbers {
            write!(content, "{number} ").expect("a string takes all of it");
        }
        *text += &format!(
            "    <{element} length=\"{}\">{content}</{element}>\n",
            content.len()
        );
    }
}

/// Writes the place of each task as a mapping of Scotch, for its programs `gmtst` and `gout`, and
/// for [`read::scotch_mapping`](crate::read::scotch_mapping): the number of tasks, and then the
/// number and the place of each task. `first` is the number of the first task, as in the graph: 0
/// or 1.
///
/// ```
/// use cellworks_mapping::write;
///
/// assert_eq!(write::scotch_mapping(&[3, 0], 1), "2\n1\t3\n2\t0\n");
/// ```
pub fn scotch_mapping(places: &[usize], first: usize) -> String {
    let lines = (first..).zip(places);
    let lines = lines.map(|(task, place)| format!("{task}\t{place}\n"));
    format!("{}\n{}", places.len(), lines.collect::<String>())
}
