//! The costs of communication between places, and the CPUs of the places.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use cellworks_machine::SpeId;
use cellworks_mapping::read::{self, TextCosts};
use cellworks_mapping::{Costs, Machine, MachineError, Place};
use cellworks_report::{MachineInfo, Measured, PlaceCpu, Reason, ReasonKind, Report};
use cellworks_sim::{Description, Ways};

use super::binding::{CPUS_MAX, listed};
use crate::failure::Failure;

/// The unit of all costs, except those from files of QAPLIB and from most files of hwloc, which
/// name no unit.
const NS: &str = "ns";

/// The largest number of nodes.
const NODES_MAX: usize = 65_536;

/// The largest number of places of a machine of levels, and the largest room for tasks on them. A
/// search takes about 300 bytes for each.
pub(super) const ROOM_MAX_OF_LEVELS: usize = 1 << 20;

/// The kind of a machine of which only costs are known.
const COSTS: &str = "costs";

/// The names of nodes, from a number of nodes or from a list of names.
#[derive(Clone)]
pub(crate) struct Nodes(pub Vec<String>);

impl FromStr for Nodes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const RULE: &str = "nodes are a number from 1 to 65536, or their names with commas between, such as n01,n02";
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            let count = text
                .parse()
                .ok()
                .filter(|count| (1..=NODES_MAX).contains(count));
            let count: usize = count.ok_or(RULE)?;
            return Ok(Self(numbered(count)));
        }
        let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        if names
            .iter()
            .any(|name| name.is_empty() || name.contains(char::is_whitespace))
        {
            return Err(RULE.to_owned());
        }
        let mut sorted = names.clone();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("{} is named twice: name each node once", pair[0])),
            None => Ok(Self(names)),
        }
    }
}

/// Returns whether a node has a number in place of a name.
pub(super) fn is_numbered(node: &str) -> bool {
    node.starts_with("node ")
}

fn numbered(nodes: usize) -> Vec<String> {
    (0..nodes).map(|node| format!("node {node}")).collect()
}

/// The CPU of each row of a table of latencies.
#[derive(Clone)]
pub(crate) struct CpusOfRows(Vec<usize>);

impl FromStr for CpusOfRows {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const RULE: &str = "the CPUs of the rows are numbers and ranges with commas between, in the order of the rows, such as 4,6 or 0-3";
        let cpus = listed(text).ok_or(RULE)?;
        if let Some(cpu) = cpus.iter().find(|cpu| **cpu >= CPUS_MAX) {
            return Err(format!(
                "there is no CPU {cpu}: the numbers end at {}",
                CPUS_MAX - 1
            ));
        }
        let mut sorted = cpus.clone();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!(
                "CPU {} is named twice: each row has its own",
                pair[0]
            )),
            None => Ok(Self(cpus)),
        }
    }
}

/// The places for tasks.
pub(crate) struct Places {
    pub costs: Costs,
    /// The unit of the costs. `None` if the unit is unknown.
    pub unit: Option<&'static str>,
    pub machine: MachineInfo,
    /// The CPUs of the places, if places are CPUs of one computer or of several.
    pub cpus: Option<Cpus>,
    /// The links between places, if places are SPEs of a simulated machine.
    pub ways: Option<Ways>,
    /// The reasons why the costs are not reliable.
    pub doubts: Vec<Reason>,
    /// Other sentences about how the files were read.
    pub warnings: Vec<String>,
}

/// The CPUs of all places.
#[derive(Clone, Debug)]
pub(crate) struct Cpus {
    /// The names of the nodes. Empty if all CPUs are on one computer.
    pub nodes: Vec<String>,
    /// The CPU of each place.
    pub of_places: Vec<PlaceCpu>,
    pub numbers: Numbers,
}

/// Where the numbers of CPUs come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// The costs or the user name the CPUs.
    Named,
    /// The costs are a table that names the CPUs of its rows.
    InTable,
    /// The costs are a table without names: row n is taken for CPU n.
    Rows,
    /// The costs describe a machine in one line: the CPUs of a node are numbered in its order.
    Line,
}

impl Cpus {
    /// Returns the given CPUs of one computer, whose cores are unknown.
    pub fn of_one(cpus: impl IntoIterator<Item = usize>, numbers: Numbers) -> Self {
        let cpu = |cpu| PlaceCpu {
            node: 0,
            cpu,
            core: None,
        };
        Self {
            nodes: Vec::new(),
            of_places: cpus.into_iter().map(cpu).collect(),
            numbers,
        }
    }

    /// Returns the number of the CPU of each place, if all are on one computer.
    pub fn on_one(&self) -> Option<Vec<usize>> {
        let cpus = self.of_places.iter().map(|place| place.cpu);
        self.nodes.is_empty().then(|| cpus.collect())
    }

    /// Returns the places of all CPUs except one of each core: the first of those in `first`, or
    /// else the first that is not in `left_out`. `None` if the core of a CPU is unknown.
    pub fn others_of_cores(
        &self,
        first: &BTreeSet<usize>,
        left_out: &BTreeSet<usize>,
    ) -> Option<BTreeSet<usize>> {
        let mut of_cores: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (place, cpu) in self.of_places.iter().enumerate() {
            of_cores
                .entry((cpu.node, cpu.core?))
                .or_default()
                .push(place);
        }
        let mut others = BTreeSet::new();
        for mut places in of_cores.into_values() {
            places.sort_by_key(|place| (!first.contains(place), left_out.contains(place)));
            others.extend(&places[1..]);
        }
        Some(others)
    }

    /// Returns the places that stay empty if each node takes at most `tasks` tasks, one at a place,
    /// besides those in `left_out`. The CPUs of a node that take tasks are those of `fixed` and the
    /// ones that are nearest to each other. `None` if the CPUs are on one computer.
    ///
    /// # Errors
    ///
    /// Returns the name of a node that has more than `tasks` places in `fixed`, and their number.
    pub fn others_of_nodes(
        &self,
        tasks: usize,
        costs: &Costs,
        fixed: &BTreeSet<usize>,
        left_out: &BTreeSet<usize>,
    ) -> Result<Option<BTreeSet<usize>>, (String, usize)> {
        if self.nodes.is_empty() {
            return Ok(None);
        }
        let mut of_nodes = vec![Vec::new(); self.nodes.len()];
        for (place, cpu) in self.of_places.iter().enumerate() {
            if !left_out.contains(&place) {
                of_nodes[cpu.node].push(place);
            }
        }
        let mut others = BTreeSet::new();
        // Nodes have the same costs: the choice for one is that for each in which the same is open.
        let mut known: BTreeMap<(Vec<usize>, Vec<usize>), BTreeSet<usize>> = BTreeMap::new();
        let size = self.of_places.len() / self.nodes.len();
        for (node, open) in of_nodes.iter().enumerate() {
            let first = node * size;
            let within = |place: &usize| place - first;
            let kept: Vec<usize> = open
                .iter()
                .copied()
                .filter(|at| fixed.contains(at))
                .collect();
            if kept.len() > tasks {
                return Err((self.nodes[node].clone(), kept.len()));
            }
            let key = (
                open.iter().map(within).collect(),
                kept.iter().map(within).collect(),
            );
            let chosen = known.entry(key).or_insert_with(|| {
                let near = nearest(tasks, costs, open, &kept);
                near.iter().map(within).collect()
            });
            others.extend(open.iter().filter(|place| !chosen.contains(&within(place))));
        }
        Ok(Some(others))
    }

    /// Returns what was assumed about the numbers of the CPUs, or `None` if they are known. `costs`
    /// is the name of the costs.
    pub fn assumed(&self, costs: &Path) -> Option<String> {
        let first_node = self.of_places.iter().take_while(|place| place.node == 0);
        let last = first_node.count().saturating_sub(1);
        match self.numbers {
            Numbers::Named | Numbers::InTable => None,
            Numbers::Rows => Some(format!(
                "{} names no CPUs, so its rows were taken for CPU 0 to CPU {last}; --cpus-of-rows names the CPUs of \
                 a table that was measured on others",
                name_of(costs)
            )),
            Numbers::Line => Some(format!(
                "a machine in one line names no CPUs, so those of each computer were numbered from 0 to {last} in the \
                 order of the line; `cellworks machine` shows on a computer whether the system numbers them so"
            )),
        }
    }

    /// Returns the name of a place, such as `CPU 3` or `node 1 CPU 3`.
    pub fn name(&self, place: usize) -> String {
        let PlaceCpu { node, cpu, .. } = self.of_places[place];
        match self.nodes.get(node) {
            Some(node) => format!("{node} CPU {cpu}"),
            None => format!("CPU {cpu}"),
        }
    }
}

/// The largest number of costs that are looked at to choose the CPUs of a node. In a node of up to
/// 256 CPUs, each of them is tried as the first.
const NEAREST_STEPS: usize = 1 << 24;

/// Returns `count` of the `open` places that are near to each other, among them all of `kept`.
///
/// Begins with `kept`, or with each place in turn (in a large node with some of them), and adds the
/// place that is nearest to those that are chosen, until there are enough. Of the choices it keeps
/// the one with the lowest sum of the costs of its pairs.
fn nearest(count: usize, costs: &Costs, open: &[usize], kept: &[usize]) -> Vec<usize> {
    if count >= open.len() {
        return open.to_vec();
    }
    let both_ways = |one: usize, other: usize| {
        let [one, other] = [one, other].map(Place);
        costs.between(one, other) + costs.between(other, one)
    };
    let grown = |begin: &[usize]| {
        let mut chosen: Vec<usize> = Vec::new();
        // The other places, each with the sum of its costs to those that are chosen.
        let mut left: Vec<(usize, f64)> = open.iter().map(|place| (*place, 0.0)).collect();
        let mut sum = 0.0;
        while chosen.len() < count {
            let next = match begin.get(chosen.len()) {
                Some(place) => left.iter().position(|(open, _)| open == place),
                None => {
                    (0..left.len()).min_by(|one, other| left[*one].1.total_cmp(&left[*other].1))
                }
            };
            let (place, cost) = left.remove(next.expect("more places are open"));
            sum += cost;
            chosen.push(place);
            for (other, cost) in &mut left {
                *cost += both_ways(place, *other);
            }
        }
        (chosen, sum)
    };
    let begins = (NEAREST_STEPS / (count * open.len()).max(1)).clamp(1, open.len());
    let choices: Vec<(Vec<usize>, f64)> = match kept {
        [] => {
            let begins = open.iter().step_by(open.len().div_ceil(begins));
            begins
                .map(|place| grown(&[*place][..count.min(1)]))
                .collect()
        }
        kept => vec![grown(kept)],
    };
    let least = choices
        .into_iter()
        .min_by(|one, other| one.1.total_cmp(&other.1));
    least.expect("a place is open").0
}

impl Places {
    /// Reads costs from a file, in the format of its extension. `file` may also be the name of a
    /// simulated machine, or the description of a machine of levels in one line.
    pub fn read(file: &Path) -> Result<Self, Failure> {
        if let Some(line) = file
            .to_str()
            .filter(|line| is_a_machine(line) && !file.exists())
        {
            return of_levels(line);
        }
        let is_name = |name: &str| Description::built_in_names().any(|built_in| built_in == name);
        match file.extension() {
            None if file.to_str().is_some_and(is_name) => described(file),
            Some(extension) if extension.eq_ignore_ascii_case("toml") => described(file),
            Some(extension) if extension.eq_ignore_ascii_case("json") => measured(file),
            Some(extension) if extension.eq_ignore_ascii_case("xml") => topology(file),
            _ => of_text(file),
        }
    }

    /// Makes places with the given costs. If the places are CPUs, `cpus` has them. The machine has
    /// the name of `file`.
    pub fn of(costs: Costs, cpus: Option<Cpus>, file: &Path) -> Self {
        let places = costs.places();
        let called = |place: usize| match &cpus {
            Some(cpus) => cpus.name(place),
            None => Place(place).to_string(),
        };
        let machine = MachineInfo {
            name: name_of(file),
            kind: COSTS.to_owned(),
            spes: places,
            cells: Vec::new(),
            memory_modules: 0,
            spe_places: (0..places).map(called).collect(),
            spe_memory_modules: Vec::new(),
            spe_cores: Vec::new(),
            ppe_place: None,
            simulation: None,
        };
        Self {
            costs,
            unit: None,
            machine,
            cpus,
            ways: None,
            doubts: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Takes the rows of a table of latencies for the given CPUs.
    pub fn with_cpus_of_rows(mut self, CpusOfRows(rows): &CpusOfRows) -> Result<Self, Failure> {
        let wrong = |why: String| Failure::Usage(format!("--cpus-of-rows: {why}"));
        let cpus = self.cpus.take();
        if cpus.is_none_or(|cpus| !matches!(cpus.numbers, Numbers::Rows | Numbers::InTable)) {
            return Err(wrong(
                "it names the CPUs of a table of latencies, and --costs is none; leave it out"
                    .to_owned(),
            ));
        }
        if rows.len() != self.costs.places() {
            return Err(wrong(format!(
                "it names {} CPUs, and the table has {} rows; name one CPU for each row",
                rows.len(),
                self.costs.places()
            )));
        }
        let cpus = Cpus::of_one(rows.iter().copied(), Numbers::Named);
        let places = 0..self.costs.places();
        self.machine.spe_places = places.map(|place| cpus.name(place)).collect();
        self.cpus = Some(cpus);
        Ok(self)
    }

    /// Repeats the CPUs of one computer on several nodes. `network` is the cost between places of
    /// different nodes, as in the description of a level.
    pub fn on_nodes(mut self, nodes: &Nodes, network: &str) -> Result<Self, Failure> {
        let wrong = |why: String| Failure::Usage(format!("--nodes: {why}"));
        let Some(cpus) = self.cpus.take() else {
            return Err(wrong(
                "it repeats the CPUs of one computer, and the places of --costs are no CPUs"
                    .to_owned(),
            ));
        };
        if !cpus.nodes.is_empty() {
            return Err(wrong(
                "the machine of --costs has nodes already: leave --nodes and --network out, or `node` in --costs"
                    .to_owned(),
            ));
        }
        if network.contains([' ', '\t', ',']) {
            return Err(Failure::Usage(format!(
                "--network: {network} is not one cost; write one, such as 1.8us"
            )));
        }
        let line = format!("node:{}@{network}", nodes.0.len());
        let machine: Machine = line
            .parse()
            .map_err(|error: MachineError| Failure::Usage(format!("--network: {error}")))?;
        if machine.is_in_nanoseconds() != (self.unit == Some(NS)) {
            return Err(Failure::Usage(format!(
                "--network: {network} has {} unit, and the costs within a node have {}: name both in the same",
                if machine.is_in_nanoseconds() {
                    "a"
                } else {
                    "no"
                },
                if self.unit.is_some() {
                    "one, ns"
                } else {
                    "none"
                },
            )));
        }
        let level = machine.levels()[0].clone();
        self.costs = (self.costs.repeated(level)).map_err(|error| wrong(error.to_string()))?;
        check_places(&self.costs).map_err(wrong)?;
        let copies = (0..nodes.0.len()).flat_map(|node| {
            let places = cpus.of_places.iter();
            places.map(move |place| PlaceCpu { node, ..*place })
        });
        let cpus = Cpus {
            nodes: nodes.0.clone(),
            of_places: copies.collect(),
            numbers: cpus.numbers,
        };
        let places = 0..self.costs.places();
        self.machine.spes = places.len();
        self.machine.spe_places = places.map(|place| cpus.name(place)).collect();
        self.machine.kind = COSTS.to_owned();
        self.machine.cells.clear();
        self.machine.spe_memory_modules.clear();
        self.machine.spe_cores.clear();
        self.cpus = Some(cpus);
        Ok(self)
    }

    /// Returns the name of a place: its CPU or SPE, or else its number.
    pub fn name(&self, place: usize) -> &str {
        &self.machine.spe_places[place]
    }
}

pub(super) fn name_of(file: &Path) -> String {
    let name = file.file_name().unwrap_or(file.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Returns true if a text describes a machine of levels and names no file: it begins like
/// `node:2`, or like `tleaf 3`, or has only numbers and costs, such as `2@10 4@5`.
fn is_a_machine(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    let is_number = |word: &str| word.starts_with(|digit: char| digit.is_ascii_digit());
    let is_level = match first.split_once(':') {
        Some((name, count)) => {
            name.chars().all(char::is_alphanumeric) && (count.is_empty() || is_number(count))
        }
        None => is_number(first) && (first.contains('@') || words.clone().next().is_some()),
    };
    is_level || first.eq_ignore_ascii_case("tleaf") || first.starts_with('[')
}

/// Fails if a machine of levels has too many places, before each of them takes memory.
fn check_places(costs: &Costs) -> Result<(), String> {
    match costs.places() {
        ..=ROOM_MAX_OF_LEVELS => Ok(()),
        places => Err(format!(
            "the machine has {places} places, each takes memory, and {ROOM_MAX_OF_LEVELS} are allowed; describe a \
             smaller machine"
        )),
    }
}

/// Returns the places of a machine of levels that is described in one line.
fn of_levels(line: &str) -> Result<Places, Failure> {
    let wrong = |why: &dyn fmt::Display| Failure::Usage(format!("--costs {line:?}: {why}"));
    let machine: Machine = line.parse().map_err(|error: MachineError| wrong(&error))?;
    let costs = machine.costs().map_err(|error| wrong(&error))?;
    check_places(&costs).map_err(|why| wrong(&why))?;
    let cpu = |place| {
        let (node, cpu, core) = machine.cpu(Place(place))?;
        Some(PlaceCpu { node, cpu, core })
    };
    let of_places: Option<Vec<PlaceCpu>> = (0..costs.places()).map(cpu).collect();
    let cpus = of_places.map(|of_places| Cpus {
        nodes: machine.nodes().map_or_else(Vec::new, numbered),
        of_places,
        numbers: Numbers::Line,
    });
    let places = Places::of(costs, cpus, Path::new(line));
    Ok(Places {
        unit: machine.is_in_nanoseconds().then_some(NS),
        ..places
    })
}

/// Reads a square table of latencies, whose row and column n belong to CPU n unless the table names
/// others, or a target of Scotch.
fn of_text(file: &Path) -> Result<Places, Failure> {
    let (costs, named) = match read::costs(file).map_err(Failure::usage)? {
        TextCosts::Latencies(costs, named) => (costs, named),
        TextCosts::Target(costs) => return Ok(Places::of(costs, None, file)),
    };
    let named = named.filter(|cpus| cpus.iter().all(|cpu| *cpu < CPUS_MAX));
    let cpus = match named {
        Some(cpus) => Cpus::of_one(cpus, Numbers::InTable),
        None => Cpus::of_one(0..costs.places(), Numbers::Rows),
    };
    let places = Places::of(costs, Some(cpus), file);
    Ok(Places {
        unit: Some(NS),
        ..places
    })
}

/// Returns the SPEs of a simulated machine. The cost of a unit of volume is the time in nanoseconds
/// in which an idle machine moves a line of 128 bytes.
fn described(machine: &Path) -> Result<Places, Failure> {
    let name = machine.to_str().unwrap_or_default();
    let description =
        Description::load(name).map_err(|error| Failure::Usage(format!("--costs: {error}")))?;
    let ways = Ways::of(&description);
    let spe = |place: Place| SpeId::new(place.0 as u16);
    let costs = Costs::from_fn(ways.around().len(), |from, to| {
        ways.line(spe(from), spe(to)).as_nanoseconds_f64()
    });
    let costs = costs.map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
    let mut places = Places::of(costs, None, machine);
    for (spe, name) in places.machine.spe_places.iter_mut().enumerate() {
        *name = format!("SPE {spe}");
    }
    places.unit = Some(NS);
    places.ways = Some(ways);
    Ok(places)
}

/// Reads the distances in XML of hwloc.
fn topology(file: &Path) -> Result<Places, Failure> {
    let read::HwlocLatencies {
        costs,
        cpus,
        cores,
        is_in_nanoseconds,
    } = read::hwloc(file).map_err(Failure::usage)?;
    let mut cpus = Cpus::of_one(cpus, Numbers::Named);
    for (place, core) in cpus.of_places.iter_mut().zip(cores) {
        place.core = core;
    }
    let places = Places::of(costs, Some(cpus), file);
    Ok(Places {
        unit: is_in_nanoseconds.then_some(NS),
        ..places
    })
}

/// Reads the result of `cellworks stats --matrix`.
fn measured(file: &Path) -> Result<Places, Failure> {
    let wrong = |why: String| Failure::Usage(format!("{}: {why}", file.display()));
    let report = match cellworks_report::read(file) {
        Ok(Measured::Stats(report)) => report,
        Ok(other) => {
            return Err(wrong(format!(
                "`cellworks {}` printed it, and it has no matrix; name what `cellworks stats --matrix atomic \
                 --format json` printed",
                other.printed_by()
            )));
        }
        Err(error) => return Err(Failure::usage(error)),
    };
    let Report {
        envelope, matrices, ..
    } = report;
    let [matrix] = &matrices[..] else {
        return Err(wrong(format!(
            "it has {} matrices, and placing takes one; measure it with `cellworks stats --matrix atomic \
             --format json`",
            matrices.len()
        )));
    };
    let rows = &matrix.one_way_ns;
    if let Some(row) = rows.iter().position(|row| row.len() != rows.len()) {
        return Err(wrong(format!(
            "row {row} of `one_way_ns`, counted from 0, has {} elements, and there are {} rows: the matrix has \
             to be square",
            rows[row].len(),
            rows.len()
        )));
    }
    for (from, row) in rows.iter().enumerate() {
        let hole = row.iter().enumerate();
        if let Some((to, _)) = hole
            .into_iter()
            .find(|(to, ns)| from != *to && ns.is_none())
        {
            return Err(wrong(format!(
                "the time from SPE {from} to SPE {to} was not measured, and placing takes all of them; measure \
                 them with `cellworks stats --matrix {} --full`",
                matrix.primitive.name()
            )));
        }
    }
    let costs = Costs::from_fn(rows.len(), |from, to| rows[from.0][to.0].unwrap_or(0.0))
        .map_err(|error| wrong(error.to_string()))?;
    let doubt = |(reason, kind): (&str, Option<ReasonKind>)| {
        let text = format!(
            "the costs in {} are not trustworthy: {reason}",
            file.display()
        );
        kind.unwrap_or(ReasonKind::Disturbed).reason(text)
    };
    let doubts = envelope.trust.reasons().map(doubt).collect();
    let machine = envelope.machine;
    let cpu = |place: &String| place.strip_prefix("CPU ")?.parse().ok();
    let cpus: Option<Vec<usize>> = machine.spe_places.iter().map(cpu).collect();
    let cpus = cpus.filter(|cpus| machine.is_this_computer() && cpus.len() == costs.places());
    let cpus = cpus.map(|cpus| {
        let mut cpus = Cpus::of_one(cpus, Numbers::Named);
        for (place, core) in cpus.of_places.iter_mut().zip(&machine.spe_cores) {
            place.core = Some(*core);
        }
        cpus
    });
    Ok(Places {
        cpus,
        costs,
        unit: Some(NS),
        machine,
        ways: None,
        doubts,
        warnings: Vec::new(),
    })
}
