//! Refuses a request that sets a field that the request's function does not use. Each [`Flag`] and
//! each [`Setting`] has a function `why_unused`: it returns the reason why a function does not take
//! the flag.

use cellworks_machine::Topology;

use crate::error::RequestError;
use crate::function::{Function, Kind, Primitive};
use crate::request::{Count, Iterations, Request};
use crate::settings::Setting;

/// A flag that sets a field of [`Request`]. The flags of the numbers in `Request::settings` are not
/// here, but in [`Setting::ALL`].
struct Flag {
    name: &'static str,
    /// The name of the field in an error message.
    noun: &'static str,
    is_given: fn(&Request) -> bool,
    /// Returns the reason why a function of this kind does not take the flag, or `None` if it does.
    why_unused: fn(Kind) -> Option<&'static str>,
}

/// The flags that [`check`] looks at before the flags of the numbers. The order counts, because the
/// error names the first given flag that is not used.
const BEFORE_NUMBERS: [Flag; 2] = [
    Flag {
        name: "-s",
        noun: "form between SPEs",
        is_given: |request| request.between_spes,
        why_unused: |kind| match kind {
            Kind::Exchange(_) | Kind::Transfer { .. } | Kind::WakeUp => None,
            Kind::Threads => Some("only the PPE starts programs"),
            Kind::OsThread => Some("no SPE takes part"),
            Kind::Copy | Kind::Chase => Some("an SPE works on main memory alone"),
            Kind::Atomic => Some("atomic operations work on main memory"),
            Kind::Matrix(_) | Kind::Memory => of_all_spes(kind),
        },
    },
    Flag {
        name: "-N",
        noun: "private buffers",
        is_given: |request| matches!(request.spes, Count::Private(_)),
        why_unused: |kind| match kind {
            Kind::Transfer { .. } | Kind::Atomic | Kind::Copy => None,
            Kind::Threads | Kind::OsThread | Kind::Exchange(_) | Kind::WakeUp => {
                Some(kind.why_no_buffers())
            }
            Kind::Chase => Some("one SPE follows pointers, in a table of its own"),
            Kind::Matrix(_) | Kind::Memory => of_all_spes(kind),
        },
    },
];

/// The flags that [`check`] looks at after the flags of the numbers.
const AFTER_NUMBERS: [Flag; 8] = [
    Flag {
        name: "-m",
        noun: "memory module",
        is_given: |request| request.module.is_some(),
        why_unused: |kind| match kind {
            Kind::Transfer { .. } | Kind::Atomic | Kind::Matrix(Primitive::Atomic) => None,
            Kind::Matrix(Primitive::Copy) => {
                Some("the block lies in the local store of the SPE that sends")
            }
            Kind::Matrix(_) => Some("it carries a word from SPE to SPE"),
            Kind::Memory => of_all_spes(kind),
            _ => Some(kind.why_no_buffers()),
        },
    },
    Flag {
        name: "--polling",
        noun: "way of polling",
        is_given: |request| request.polling.is_some(),
        why_unused: |kind| match kind {
            Kind::Matrix(Primitive::Atomic) => None,
            Kind::Matrix(_) | Kind::Memory => Some("only atomic has"),
            _ => Some("only an atomic matrix has"),
        },
    },
    Flag {
        name: "--budget",
        noun: "budget",
        is_given: |request| request.budget.is_some(),
        why_unused: |kind| match kind {
            Kind::Matrix(_) | Kind::Memory => None,
            _ => Some("its iterations have a time"),
        },
    },
    Flag {
        name: "-n",
        noun: "number of SPEs",
        is_given: |request| request.spes.number() != 1,
        why_unused: of_all_spes,
    },
    Flag {
        name: "-c",
        noun: "Cell",
        is_given: |request| request.cell.is_some(),
        why_unused: of_all_spes,
    },
    Flag {
        name: "-i",
        noun: "number of iterations",
        is_given: |request| matches!(request.iterations, Iterations::Exactly(_)),
        why_unused: by_time,
    },
    Flag {
        name: "-w",
        noun: "warm-up",
        is_given: |request| request.warm_up.is_some(),
        why_unused: by_time,
    },
    Flag {
        name: "--samples",
        noun: "samples",
        is_given: |request| request.keep_samples,
        why_unused: |kind| match kind {
            Kind::Matrix(_) | Kind::Memory => Some("it has a median of each pair"),
            _ => None,
        },
    },
];

/// Returns the reason why the user cannot choose the SPEs of a matrix. `None` for other functions.
fn of_all_spes(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Matrix(_) => Some("it takes every pair of SPEs as it is"),
        Kind::Memory => Some("it takes one SPE of each NUMA node or Cell, and every memory module"),
        _ => None,
    }
}

/// Returns the reason why a matrix takes no number of iterations and no warm-up. `None` for other
/// functions.
fn by_time(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Matrix(_) | Kind::Memory => Some("each pair is measured for a time"),
        _ => None,
    }
}

/// Refuses a request that sets a field that the function does not use.
pub(super) fn check(request: &Request, topology: &Topology) -> Result<(), RequestError> {
    let kind = request.function.kind();
    let of_flag = |flag: &Flag| {
        let why = (flag.why_unused)(kind).filter(|_| (flag.is_given)(request))?;
        Some(refusal(request, topology, flag.name, flag.noun, why))
    };
    let of_number = |number: &Setting| {
        let why = (number.get)(&request.settings).and((number.why_unused)(kind))?;
        Some(refusal(request, topology, number.flag, number.noun, why))
    };
    let first = BEFORE_NUMBERS.iter().find_map(of_flag);
    let first = first.or_else(|| Setting::ALL.iter().find_map(of_number));
    let first = first.or_else(|| AFTER_NUMBERS.iter().find_map(of_flag));
    first.map_or(Ok(()), Err)
}

fn refusal(
    request: &Request,
    topology: &Topology,
    flag: &'static str,
    noun: &str,
    why: &str,
) -> RequestError {
    let function = request.function;
    let instead = match flag {
        _ if function.is_matrix() => String::new(),
        "-s" => "-n 1".to_owned(),
        _ => Request {
            spes: Count::Shared(1),
            ..request.clone()
        }
        .fewest_flag(topology),
    };
    let name = match function {
        Function::Matrix(Primitive::Atomic) => "an atomic matrix".to_owned(),
        matrix if matrix.is_matrix() => format!("a {matrix}"),
        function => function.to_string(),
    };
    let message = format!("{name} has no {noun}: {why}; leave it out");
    RequestError::new(flag, instead, message)
}
