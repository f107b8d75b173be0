//! `cellworks machines`: the built-in simulated machines, and their descriptions.

use cellworks_report::{Machines, SimulatedMachine, json, machines, wrapped};
use cellworks_sim::Description;

use crate::args::{MachineArgs, MachinesArgs, MachinesCommand};
use crate::describe;
use crate::effects;
use crate::failure::Failure;
use crate::machine::MachineKind;
use crate::output::{Format, print, width};
use crate::simulated::described;

pub(crate) fn run(arguments: &MachinesArgs) -> Result<(), Failure> {
    match &arguments.command {
        Some(MachinesCommand::Diff { a, b }) => return print(&diff(a, b)?),
        Some(MachinesCommand::New { spes }) => {
            let text = Description::template(usize::from(*spes));
            return print(&text.expect("clap checks the number"));
        }
        None => {}
    }
    match arguments.machine.as_deref() {
        Some(machine) if !MachineKind::of(machine).is_simulated() => {
            return describe::run(&MachineArgs::of(machine, arguments.format));
        }
        Some(machine) if !matches!(arguments.format, Format::Table) => {
            return Err(Failure::Usage(format!(
                "--format with {machine}: the description of a machine is TOML, which --machine reads; leave --format \
                 out, or print the parts of the machine as JSON: cellworks machine {machine} --format json"
            )));
        }
        Some(machine) => return print(&description(machine)?),
        None => {}
    }
    let built_in = Description::built_in_names().filter_map(Description::built_in);
    let list = Machines::new(built_in.map(|machine| in_list(&machine)).collect());
    print(&match arguments.format {
        Format::Table => machines::table(&list, width()),
        Format::Json => json::render(&list),
        Format::Csv => machines::csv(&list),
    })
}

/// Returns a line for each key in which two descriptions differ, with the values of both, and the
/// times and bandwidths of gets on both machines.
fn diff(a: &str, b: &str) -> Result<String, Failure> {
    let read = |machine: &str| described(machine).map_err(Failure::Usage);
    let machines = [read(a)?, read(b)?];
    let differences = machines[0].differences(&machines[1]);
    if differences.is_empty() {
        return Ok(format!("{a} and {b} describe the same machine\n"));
    }
    let rows = differences
        .into_iter()
        .map(|(key, a, b)| [key, a.unwrap_or_default(), b.unwrap_or_default()]);
    let headings = |first: &str| [first.to_owned(), a.to_owned(), b.to_owned()];
    let keys = machines::rows([headings("key")].into_iter().chain(rows), width());
    let effects = [(&machines[0], a), (&machines[1], b)];
    let effects = effects.map(|(machine, name)| effects::of(machine, name));
    let rows = effects[0].rows.iter().zip(&effects[1].rows);
    let rows = rows.map(|((what, a), (_, b))| [(*what).to_owned(), a.clone(), b.clone()]);
    let table = machines::rows([headings("effect")].into_iter().chain(rows), width());
    let reasons = effects.iter().flat_map(|effects| &effects.reasons);
    let of_a_program = format!(
        "The effect on a program: cellworks run PROGRAM --machine {a} --json a.json, the same with --machine {b} --json \
         b.json, and cellworks compare a.json b.json"
    );
    let reasons = reasons.chain([&of_a_program]);
    let reasons: String = reasons.map(|reason| wrapped(reason, "", width())).collect();
    Ok(format!("{keys}\n{table}\n{reasons}"))
}

/// Returns the TOML of a machine. The text of a built-in machine has comments.
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
    SimulatedMachine {
        name: machine.name.clone(),
        title: machine.title.clone(),
        spes: machine.spes().count(),
        cells: machine.cells.len(),
        memory_modules: modules.len(),
        memory_bytes_per_module: are_alike.then_some(bytes as usize),
        interconnect: machine.interconnect.kind().to_owned(),
    }
}
