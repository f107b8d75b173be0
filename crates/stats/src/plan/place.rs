//! The SPEs that take part, and the memory module that holds their data.

use cellworks_machine::{CellId, ModuleId, SpeId, Topology};

use crate::error::RequestError;
use crate::request::Request;
use crate::settings::Setting;

pub(super) struct Placed {
    pub cell: CellId,
    pub module: ModuleId,
    /// SPE 0, if the request gives SPE 0 a separate role.
    pub first: Option<SpeId>,
    pub spes: Vec<SpeId>,
}

impl Placed {
    /// Returns no SPEs, for a matrix, whose task chooses its own.
    pub fn nowhere() -> Self {
        Self {
            cell: CellId::new(0),
            module: ModuleId::new(0),
            first: None,
            spes: Vec::new(),
        }
    }

    /// Chooses SPEs as the paper does: first the SPEs of the requested Cell, then the SPEs of other
    /// Cells in order. If `between_spes`, SPE 0 replaces the PPE or main memory. The requested
    /// number then includes SPE 0.
    pub fn choose(request: &Request, topology: &Topology) -> Result<Self, RequestError> {
        let loading = request.settings.loading_spes.unwrap_or(0);
        check_number(request, topology, loading)?;
        let first = request.between_spes.then_some(SpeId::new(0));
        let has_some = |cell: &CellId| topology.spes_of(*cell).any(|spe| Some(spe) != first);
        let cell = request
            .cell
            .or_else(|| topology.cells().find(has_some))
            .expect("there are as many SPEs as are needed, and each is in a Cell");
        check_part(
            "-c",
            "Cell",
            &cell,
            cell.index(),
            topology.cells().len(),
            topology,
        )
        // The error recommends `-c 0`. If SPE 0 is the only SPE of Cell 0, `-c 0` would be refused
        // too, because SPE 0 has a separate role.
        .map_err(|error| {
            if request.between_spes {
                error.with_instead(request.fewest_flag(topology))
            } else {
                error
            }
        })?;
        if let Some(module) = request.module {
            check_module(module, topology)?;
        }
        let here = topology.spes_of(cell);
        let elsewhere = topology.spes().filter(|spe| topology.cell_of(*spe) != cell);
        let spes: Vec<SpeId> = here
            .chain(elsewhere)
            .filter(|spe| Some(*spe) != first)
            .take(request.spes.number() + loading - usize::from(first.is_some()))
            .collect();
        if topology.cell_of(spes[0]) != cell {
            let besides = first.map(|spe| format!(" besides {spe}, which is the other side"));
            return Err(RequestError::new(
                "-c",
                request.fewest_flag(topology),
                format!(
                    "{cell}: on {} it has no SPE{}; use another Cell",
                    topology.name(),
                    besides.unwrap_or_default()
                ),
            ));
        }
        Ok(Self {
            cell,
            module: request
                .module
                .unwrap_or_else(|| topology.module_of(spes[0])),
            first,
            spes,
        })
    }
}

fn check_number(
    request: &Request,
    topology: &Topology,
    loading: usize,
) -> Result<(), RequestError> {
    let machine = topology.name();
    let (asked, has) = (request.spes.number(), topology.spes().len());
    let fewest = if request.between_spes { 2 } else { 1 };
    let refused = |why| {
        let instead = request.fewest_flag(topology);
        Err(RequestError::new(request.spes.flag(), instead, why))
    };
    if asked > has || has < fewest {
        let asked = asked.max(fewest);
        return refused(format!(
            "{asked} SPEs: {machine} has {has}; use {}",
            range(1, has)
        ));
    }
    if asked == 0 {
        return refused(format!(
            "0 SPEs: at least one takes part; use {}",
            range(1, has)
        ));
    }
    if asked < fewest {
        let function = request.function;
        return refused(format!(
            "1 SPE: {function} between SPEs takes SPE 0 and at least one more; use 2"
        ));
    }
    if loading > has - asked {
        return Err(RequestError::new(
            Setting::LOADING_SPES.flag,
            "--load 0",
            format!(
                "{loading} loading SPEs: {machine} has {has}, and one of them chases; use {}",
                range(0, has - 1)
            ),
        ));
    }
    Ok(())
}

pub(super) fn check_module(module: ModuleId, topology: &Topology) -> Result<(), RequestError> {
    let numbers: Vec<usize> = topology.modules().map(|module| module.index()).collect();
    if numbers.iter().enumerate().any(|(at, number)| at != *number) {
        if numbers.contains(&module.index()) {
            return Ok(());
        }
        let list: Vec<_> = numbers.iter().map(usize::to_string).collect();
        let (name, list) = (topology.name(), list.join(", "));
        return Err(RequestError::new(
            "-m",
            format!("-m {}", numbers[0]),
            format!("{module}: {name} has memory modules {list}; use one of these"),
        ));
    }
    check_part(
        "-m",
        "memory module",
        &module,
        module.index(),
        numbers.len(),
        topology,
    )
}

fn check_part(
    flag: &'static str,
    noun: &str,
    asked: &dyn std::fmt::Display,
    index: usize,
    has: usize,
    topology: &Topology,
) -> Result<(), RequestError> {
    if index < has {
        return Ok(());
    }
    let parts = match has {
        1 => format!("only {noun} 0"),
        _ => format!("{noun}s 0 to {}", has - 1),
    };
    Err(RequestError::new(
        flag,
        format!("{flag} 0"),
        format!(
            "{asked}: {} has {parts}; use {}",
            topology.name(),
            range(0, has - 1)
        ),
    ))
}

fn range(from: usize, to: usize) -> String {
    if from >= to {
        to.to_string()
    } else {
        format!("{from} to {to}")
    }
}
