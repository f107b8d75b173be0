//! The built-in machines: a list of them as a table, CSV and JSON.

use serde::{Deserialize, Serialize};

use crate::columns::Table;
use crate::csv::{lines, or_empty};
use crate::envelope::SCHEMA_VERSION;
use crate::text::size;

const CSV_HEADER: &str =
    "name,title,spes,cells,memory_modules,memory_bytes_per_module,interconnect\n";

/// The output of `cellworks machines`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machines {
    /// The version of the JSON.
    pub schema_version: u32,
    /// The command: `machines`.
    pub command: String,
    /// The built-in machines, sorted by name.
    pub machines: Vec<SimulatedMachine>,
}

/// A machine that can be simulated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SimulatedMachine {
    /// The name of the machine as a value of `--machine`.
    pub name: String,
    /// The title of the machine.
    pub title: String,
    /// The number of SPEs that programs may use.
    pub spes: usize,
    /// The number of Cells.
    pub cells: usize,
    /// The number of memory modules.
    pub memory_modules: usize,
    /// The size of the memory of each module. `None` if the sizes differ.
    pub memory_bytes_per_module: Option<usize>,
    /// The kind of the interconnect of the elements of a Cell, such as `rings` or `mesh`.
    pub interconnect: String,
}

impl Machines {
    /// Makes a list of the given machines.
    pub fn new(machines: Vec<SimulatedMachine>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            command: "machines".to_owned(),
            machines,
        }
    }
}

/// Returns the list as a table of at most `width` columns.
pub fn table(list: &Machines, width: usize) -> String {
    let row = |machine: &SimulatedMachine| {
        let memory = match (machine.memory_modules, machine.memory_bytes_per_module) {
            (1, Some(bytes)) => size(bytes),
            (modules, Some(bytes)) => format!("{modules} x {}", size(bytes)),
            (modules, None) => format!("{modules} modules"),
        };
        [
            machine.name.clone(),
            machine.spes.to_string(),
            machine.cells.to_string(),
            memory,
            machine.interconnect.clone(),
            machine.title.clone(),
        ]
    };
    let headings = ["name", "SPEs", "Cells", "memory", "interconnect", "title"];
    Table::new(headings, list.machines.iter().map(row), [0, 4, 5]).text(Some(width))
}

/// Arranges rows of text in at most `width` columns. The first row has the headings.
pub fn rows<const N: usize>(rows: impl Iterator<Item = [String; N]>, width: usize) -> String {
    Table::new([""; 0], rows, 0..N).text(Some(width))
}

/// Returns the list as CSV: a header, and a line for each machine.
pub fn csv(list: &Machines) -> String {
    let fields = |machine: &SimulatedMachine| {
        [
            machine.name.clone(),
            machine.title.clone(),
            machine.spes.to_string(),
            machine.cells.to_string(),
            machine.memory_modules.to_string(),
            or_empty(machine.memory_bytes_per_module),
            machine.interconnect.clone(),
        ]
    };
    lines(CSV_HEADER, list.machines.iter().map(fields))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::assert_described;
    use crate::made_up;

    #[test]
    fn the_table_has_the_parts_of_each_machine() {
        assert_eq!(
            table(&made_up::machines(), crate::text::WIDTH),
            "\
name  SPEs  Cells      memory  interconnect  title
one      6      1      256 MB  rings         One, \"the first\"
two     16      2  2 x 512 MB  rings         Two
odd     48      1   3 modules  mesh          A machine whose title is so long that it takes more
                                             than the line that it begins on
"
        );
    }

    #[test]
    fn the_csv_quotes_what_it_must() {
        assert_described(CSV_HEADER);
        assert_eq!(
            csv(&made_up::machines()),
            "name,title,spes,cells,memory_modules,memory_bytes_per_module,interconnect\n\
             one,\"One, \"\"the first\"\"\",6,1,1,268435456,rings\n\
             two,Two,16,2,2,536870912,rings\n\
             odd,A machine whose title is so long that it takes more than the line that it begins on,48,1,3,,mesh\n"
        );
    }
}
