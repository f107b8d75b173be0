//! The costs of communication between places, and the CPUs of the places.

use std::path::Path;

use cellworks_machine::SpeId;
use cellworks_mapping::{Costs, Place, read};
use cellworks_report::{MachineInfo, Measured, Report};
use cellworks_sim::{Description, Ways};

use crate::failure::Failure;

/// The unit of all costs, except those from files of QAPLIB and from most files of hwloc, which
/// name no unit.
const NS: &str = "ns";

/// The places for tasks.
pub(crate) struct Places {
    pub costs: Costs,
    /// The unit of the costs. `None` if the unit is unknown.
    pub unit: Option<&'static str>,
    pub machine: MachineInfo,
    /// The CPU of each place, if places are CPUs of a computer.
    pub cpus: Option<Vec<usize>>,
    /// The links between places, if places are SPEs of a simulated machine.
    pub ways: Option<Ways>,
    /// The reasons why the costs are not reliable.
    pub warnings: Vec<String>,
}

impl Places {
    /// Reads costs from a file, in the format of its extension. `file` may also be the name of a
    /// simulated machine.
    pub fn read(file: &Path) -> Result<Self, Failure> {
        let is_name = |name: &str| Description::built_in_names().any(|built_in| built_in == name);
        match file.extension() {
            None if file.to_str().is_some_and(is_name) => described(file),
            Some(extension) if extension.eq_ignore_ascii_case("toml") => described(file),
            Some(extension) if extension.eq_ignore_ascii_case("json") => measured(file),
            Some(extension) if extension.eq_ignore_ascii_case("xml") => topology(file),
            _ => latencies(file),
        }
    }

    /// Makes places with the given costs. If the places are CPUs, `cpus` has their numbers. The
    /// machine has the name of `file`.
    pub fn of(costs: Costs, cpus: Option<Vec<usize>>, file: &Path) -> Self {
        let places = costs.places();
        let called = |place: usize| match &cpus {
            Some(cpus) => format!("CPU {}", cpus[place]),
            None => Place(place).to_string(),
        };
        let machine = MachineInfo {
            name: name_of(file),
            kind: "costs".to_owned(),
            spes: places,
            cells: Vec::new(),
            memory_modules: 0,
            spe_places: (0..places).map(called).collect(),
            spe_memory_modules: Vec::new(),
            ppe_place: None,
            simulation: None,
        };
        Self {
            costs,
            unit: None,
            machine,
            cpus,
            ways: None,
            warnings: Vec::new(),
        }
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

/// Reads a square table of latencies. Row and column n belong to CPU n.
fn latencies(file: &Path) -> Result<Places, Failure> {
    let costs = read::latencies(file).map_err(|error| Failure::Usage(error.to_string()))?;
    let cpus = (0..costs.places()).collect();
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
        is_in_nanoseconds,
    } = read::hwloc(file).map_err(|error| Failure::Usage(error.to_string()))?;
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
        Err(error) => return Err(Failure::Usage(error.to_string())),
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
    let reasons = envelope.trust.reasons.iter();
    let doubt = |reason| {
        format!(
            "the costs in {} are not trustworthy: {reason}",
            file.display()
        )
    };
    let warnings = reasons.map(doubt).collect();
    let machine = envelope.machine;
    let cpu = |place: &String| place.strip_prefix("CPU ")?.parse().ok();
    let cpus: Option<Vec<usize>> = machine.spe_places.iter().map(cpu).collect();
    Ok(Places {
        cpus: cpus.filter(|cpus| machine.is_this_computer() && cpus.len() == costs.places()),
        costs,
        unit: Some(NS),
        machine,
        ways: None,
        warnings,
    })
}
