//! `cellworks machine`: shows the parts of a machine as text, as a drawing and as JSON.

use crate::args::{MachineArgs, OutputArgs};
use crate::failure::Failure;
use crate::machine::MachineKind;
use crate::output::{Format, Printed, show};

pub(crate) fn run(arguments: &MachineArgs) -> Result<(), Failure> {
    let OutputArgs { format, csv, .. } = &arguments.output;
    if matches!(format, Format::Csv) || csv.is_some() {
        return Err(Failure::usage(
            "CSV has one header, and a machine has parts of many kinds; use --format json",
        ));
    }
    let files = arguments.output.files()?;
    let report = MachineKind::of(&arguments.machine).parts(arguments, &files)?;
    show(&report, *format, Printed::ToStandardOutput, files)
}
