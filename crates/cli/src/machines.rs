//! `cellworks machines`: the simulated machines that are built in, and their descriptions.

use cellworks_report::{Machines, SimulatedMachine, json, machines};
use cellworks_sim::{Description, Interconnect};

use crate::args::MachinesArgs;
use crate::failure::Failure;
use crate::output::Format;
use crate::output::{print, width};
use crate::simulated::described;

pub(crate) fn run(arguments: &MachinesArgs) -> Result<(), Failure> {
    if let Some(machine) = &arguments.machine {
        return print(&description(machine)?);
    }
    let built_in = Description::built_in_names().filter_map(Description::built_in);
    let list = Machines::new(built_in.map(|machine| in_list(&machine)).collect());
    print(&match arguments.format {
        Format::Table => machines::table(&list, width()),
        Format::Json => json::render(&list),
        Format::Csv => machines::csv(&list),
    })
}

/// The TOML of a machine: as it was written if it is built in, with its comments.
fn description(machine: &str) -> Result<String, Failure> {
    match Description::built_in_text(machine) {
        Some(text) => Ok(text.to_owned()),
        None => described(machine)
            .map(|description| description.to_toml())
            .map_err(Failure::Usage),
    }
}

fn in_list(machine: &Description) -> SimulatedMachine {
    let modules = &machine.modules;
    let bytes = modules[0].bytes.value;
    let are_alike = modules.iter().all(|module| module.bytes.value == bytes);
    let interconnect = match machine.interconnect {
        Interconnect::Rings(_) => "rings",
        Interconnect::Mesh(_) => "mesh",
        Interconnect::Crossbar(_) => "crossbar",
        Interconnect::Matrix(_) => "matrix",
    };
    SimulatedMachine {
        name: machine.name.clone(),
        title: machine.title.clone(),
        spes: machine.spes().count(),
        cells: machine.cells.len(),
        memory_modules: modules.len(),
        memory_bytes_per_module: are_alike.then_some(bytes as usize),
        interconnect: interconnect.to_owned(),
    }
}
