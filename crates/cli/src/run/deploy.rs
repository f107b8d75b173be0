//! The flags of networks and pools: where their processes or workers run, and what these send to
//! each other or take from each other.

use std::path::{Path, PathBuf};

use cellworks_apps::Deployment;
use cellworks_machine::{Flows, Topology};
use clap::Args;

use crate::failure::Failure;
use crate::map;
use crate::output::{Format, ResultFiles};
use crate::output_file::OutputFile;

/// Flags of programs that are networks of processes, or that have a pool of workers.
#[derive(Args, Clone, Default)]
pub(crate) struct NetworkArgs {
    /// Writes what the processes sent to each other, or what the workers took from each other, as a
    /// graph, which `cellworks map solve` reads. A volume is a number of lines of 128 bytes, at
    /// least one for each message
    #[arg(long, value_name = "FILE", help_heading = "Options")]
    pub volumes: Option<PathBuf>,

    /// Runs the processes or the workers on these SPEs: the JSON of `cellworks map solve`, or a
    /// list such as 3,0,1 with the SPE of task 0, task 1 and so on. The tasks are those of the
    /// graph that --volumes writes
    #[arg(long, value_name = "PLACEMENT", help_heading = "Options")]
    pub placement: Option<String>,
}

impl NetworkArgs {
    /// Returns the first flag that was given.
    pub fn first_given(&self) -> Option<&'static str> {
        let volumes = self.volumes.as_ref().map(|_| "--volumes");
        volumes.or(self.placement.as_ref().map(|_| "--placement"))
    }

    /// Opens the file for the volumes before the run, so that a run is not lost to a wrong name.
    pub fn volumes_file(
        &self,
        files: &ResultFiles,
        format: Format,
    ) -> Result<Option<OutputFile>, Failure> {
        let placement = self.placement.as_deref().map(Path::new);
        placement.map_or(Ok(()), |input| files.refuse_to_replace(input))?;
        let Some(path) = &self.volumes else {
            return Ok(None);
        };
        let file = OutputFile::open("--volumes", path)?;
        files.refuse(&file)?;
        placement.map_or(Ok(()), |input| file.refuse_to_replace(input))?;
        if file.is_standard_output() && !matches!(format, Format::Table) {
            return Err(
                file.refused(&"the result is printed there; name a file, or leave --format out")
            );
        }
        Ok(Some(file))
    }

    /// Returns the SPE of each task, as the number of a place.
    pub fn places(&self) -> Result<Option<Vec<usize>>, Failure> {
        let places = self.placement.as_deref().map(|name| {
            let placed = map::places_of(name);
            placed.map_err(|failure| match failure {
                Failure::Usage(why) => Failure::Usage(format!("--placement: {why}")),
                failure => failure,
            })
        });
        places.transpose()
    }
}

/// Returns the deployment of a run: with no flag of networks, the program's own.
pub(super) fn deployment(
    arguments: &NetworkArgs,
    places: Option<&[usize]>,
    topology: &Topology,
) -> Result<Deployment, Failure> {
    let spes = topology.spes();
    let spe_of = |(task, place): (usize, &usize)| {
        let spe = spes.clone().nth(*place);
        spe.ok_or_else(|| {
            Failure::Usage(format!(
                "--placement: task {task} is on SPE {place}, but {} has {} SPEs, numbered from 0",
                topology.name(),
                spes.len()
            ))
        })
    };
    let placement = places.map(|places| places.iter().enumerate().map(spe_of).collect());
    Ok(Deployment {
        placement: placement.transpose()?,
        counts: arguments.volumes.is_some(),
        flows: None,
    })
}

/// Returns a warning if the graph of a run has no lines, and placements make no difference.
pub(super) fn warning_about(flows: &Flows) -> Option<String> {
    let is_empty = flows.of_tasks().iter().len() == 0;
    is_empty.then(|| {
        "--volumes: no task sent another one anything, so the graph has no lines, and all placements cost the same; \
         what goes from and to the main program has no line, because the main program cannot be placed"
            .to_owned()
    })
}

/// Writes the graph of a run that has ended.
pub(super) fn write(file: OutputFile, flows: &Flows) -> Result<(), String> {
    let name = file.to_string();
    match file.save(&flows.to_string()) {
        Ok(()) | Err(Failure::ClosedPipe) => Ok(()),
        Err(Failure::Usage(message) | Failure::Run(message)) => Err(message),
        Err(_) => Err(format!("--volumes: {name} was not written")),
    }
}
