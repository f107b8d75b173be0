//! `cellworks stats`: measures, and prints what was measured.

use std::io::{ErrorKind, Write, stdout};

use cellworks_host::Host;
use cellworks_machine::{LOCAL_STORE_BYTES, Machine, Topology};
use cellworks_report::{MachineInfo, Report, SCHEMA_VERSION, Trust, csv, json, table, title};
use cellworks_stats::{
    Count, Limits, Measurement, Plan, Request, RequestError, Unused, characterize, measure,
};

use crate::Failure;
use crate::args::{Format, MachineName, StatsArgs, Wanted};
use crate::environment;
use crate::progress::Progress;
use crate::style;

/// On this computer blocks go on to 64 MB, well out of its caches.
const HOST_LIMITS: Limits = Limits {
    block_bytes_max: 64 << 20,
    local_store_bytes: LOCAL_STORE_BYTES,
    memory_bytes_max: 4 << 30,
    bandwidth_bytes_per_s_max: None,
    staging_bytes_max: None,
};

pub(crate) fn run(arguments: &StatsArgs) -> Result<(), Failure> {
    let wanted = arguments.wanted().map_err(Failure::Usage)?;
    match arguments.machine {
        MachineName::Host => {
            let host = Host::new().map_err(|error| Failure::Run(error.to_string()))?;
            measure_all(
                &host,
                "host",
                &HOST_LIMITS,
                host.warnings(),
                &wanted,
                arguments,
            )
        }
    }
}

fn measure_all<M: Machine>(
    machine: &M,
    kind: &'static str,
    limits: &Limits,
    warnings: &[String],
    wanted: &Wanted,
    arguments: &StatsArgs,
) -> Result<(), Failure> {
    let topology = machine.topology();
    let plans: Vec<Plan> = match wanted {
        Wanted::One(request) => vec![
            request
                .plan(topology, limits)
                .map_err(|error| Failure::Usage(explain(&error, request, topology)))?,
        ],
        Wanted::Everything => characterize(topology, limits)
            .iter()
            .map(|request| {
                let plan = request.plan(topology, limits);
                plan.expect("what describes a machine can be measured on it")
            })
            .collect(),
    };
    if !arguments.quiet {
        for warning in warnings {
            anstream::eprintln!(
                "{}warning:{} {warning}",
                style::WARN.render(),
                style::WARN.render_reset()
            );
        }
    }
    let progress = Progress::new(plans.len(), arguments.quiet);
    let mut measurements = Vec::with_capacity(plans.len());
    for plan in &plans {
        progress.about(title(plan.function(), plan.parameters()));
        measurements.push(one(machine, plan)?);
        progress.step();
    }
    drop(progress);
    let report = Report {
        schema_version: SCHEMA_VERSION,
        machine: MachineInfo::of(topology, kind),
        environment: environment::of_this_process(warnings),
        command: "stats".to_owned(),
        trust: Trust {
            trustworthy: true,
            reasons: Vec::new(),
        },
        complete: true,
        not_measured: Vec::new(),
        measurements,
        matrices: Vec::new(),
        results: Vec::new(),
        advice: Vec::new(),
    };
    let text = match arguments.format {
        Format::Table => table::render(&report),
        Format::Json => json::render(&report),
        Format::Csv => csv::render(&report),
    };
    print(&text)
}

fn one<M: Machine>(machine: &M, plan: &Plan) -> Result<Measurement, Failure> {
    measure(machine, plan).map_err(|error| {
        Failure::Run(format!(
            "{}: {error}",
            title(plan.function(), plan.parameters())
        ))
    })
}

/// Prints; styles go where the reader is not a terminal or `NO_COLOR` is set.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = anstream::AutoStream::auto(stdout());
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::ClosedPipe),
        Err(error) => Err(Failure::Run(format!(
            "the result could not be written: {error}; print it to a disk that has room"
        ))),
        Ok(()) => Ok(()),
    }
}

/// The error, in the words of the command line: with the flag in front, and an example that works.
/// An example keeps `-s`, unless that is what is wrong.
fn explain(error: &RequestError, request: &Request, topology: &Topology) -> String {
    let function = request.function;
    let number = request.spes.number();
    let spes = match request.spes {
        Count::Shared(_) => "-n",
        Count::Private(_) => "-N",
    };
    let s_is_unused = RequestError::Unused {
        function,
        what: Unused::BetweenSpes,
    };
    let between_spes = request.between_spes && topology.spes().len() > 1 && *error != s_is_unused;
    // Between SPEs all buffers lie in one local store.
    let (fewest, stride) = if between_spes { (2, "2k") } else { (1, "16k") };
    let (flag, example) = match error {
        RequestError::Iterations { .. } => ("-i", "-i 1000".to_owned()),
        RequestError::WarmUp { .. } => ("-w", "-w 1000".to_owned()),
        RequestError::NoPartner { .. }
        | RequestError::NoSpes { .. }
        | RequestError::TooManySpes { .. } => (spes, format!("{spes} {fewest}")),
        RequestError::NoSuchCell { .. } if !between_spes => ("-c", "-c 0".to_owned()),
        // Cell 0 may have none but SPE 0.
        RequestError::NoSuchCell { .. } | RequestError::EmptyCell { .. } => {
            ("-c", format!("{spes} {fewest}"))
        }
        RequestError::NoSuchModule { .. } => ("-m", "-m 0".to_owned()),
        RequestError::Unused { what, .. } => {
            let flag = match what {
                Unused::ListElements => "-l",
                Unused::Block => "-b",
                Unused::PrivateBuffers => "-N",
                Unused::Stride => "-t",
                Unused::Module => "-m",
                Unused::BetweenSpes => "-s",
                Unused::Chains => "-k",
                Unused::LoadingSpes => "--load",
            };
            (flag, format!("-n {fewest}"))
        }
        RequestError::StrideOfShared { .. } => ("-t", format!("-N {number} -t {stride}")),
        RequestError::BlockSize { .. }
        | RequestError::BlockTooLarge { .. }
        | RequestError::BufferTooLarge { .. } => ("-b", "-b 1k".to_owned()),
        RequestError::Variable { .. } => ("-b", "-b 128".to_owned()),
        RequestError::ListElements { .. } | RequestError::ListTooLarge { .. } => {
            ("-l", "-l 16 -b 1k".to_owned())
        }
        RequestError::StrideTooSmall { .. }
        | RequestError::StrideAlignment { .. }
        | RequestError::CrossesLine { .. } => ("-t", format!("-N {number} -b 128 -t {stride}")),
        RequestError::SharedCopy { spes } => {
            ("-n", format!("-N {}", topology.spes().len().min(*spes)))
        }
        RequestError::Multiple { .. } => ("-b", "-b 1k".to_owned()),
        RequestError::OneChases { .. } => (spes, "-n 1".to_owned()),
        RequestError::Chains { .. } => ("-k", "-k 8".to_owned()),
        RequestError::ChainsOfTable { .. } => ("-k", "-k 8 -b 64m".to_owned()),
        RequestError::TooManyLoading { .. } => ("--load", "--load 0".to_owned()),
        RequestError::Room { .. } => (spes, format!("{spes} {number} -b 128")),
    };
    let between = if between_spes { " -s" } else { "" };
    format!("{flag}: {error}\n  example: cellworks stats -f {function} {example}{between}")
}

#[cfg(test)]
mod tests {
    use cellworks_machine::{CellId, ModuleId, SpeSite};
    use cellworks_stats::Function;

    use super::*;

    #[test]
    fn where_spe_0_is_alone_in_its_cell_the_example_leaves_the_cell_open() {
        let site = |cell| SpeSite {
            cell: CellId::new(cell),
            core: None,
            place: String::new(),
        };
        let pair = Topology::new("a pair", vec![ModuleId::new(0); 2], vec![site(0), site(1)]);
        let in_cell = |cell: Option<u16>| Request {
            spes: Count::Shared(2),
            between_spes: true,
            cell: cell.map(CellId::new),
            ..Request::new(Function::Mailbox)
        };
        let refused = in_cell(Some(0));
        let error = refused.plan(&pair, &HOST_LIMITS).unwrap_err();
        assert_eq!(
            explain(&error, &refused, &pair),
            "-c: Cell 0: on a pair it has no SPE besides SPE 0, which is the other side; use another Cell\n  \
             example: cellworks stats -f mailbox -n 2 -s"
        );
        assert!(in_cell(None).plan(&pair, &HOST_LIMITS).is_ok());
    }
}
