//! Refuses a request that sets a field that the request's function does not use. Which flags a
//! function takes is in its row in `function.rs`.

use cellworks_machine::Topology;

use crate::error::RequestError;
use crate::function::{Function, Primitive};
use crate::request::{Count, Iterations, Request};
use crate::settings::Setting;

/// A flag that sets a field of [`Request`]. The flags of the numbers in `Request::settings` are not
/// here, but in [`Setting::ALL`].
struct Flag {
    name: &'static str,
    /// The name of the field in an error message.
    noun: &'static str,
    is_given: fn(&Request) -> bool,
    /// The reason why most functions do not take the flag, or `None` if most take it.
    most_lack: Option<&'static str>,
}

/// The flags that [`check`] looks at before the flags of the numbers. The order counts, because the
/// error names the first given flag that is not used.
const BEFORE_NUMBERS: [Flag; 2] = [
    Flag {
        name: "-s",
        noun: "form between SPEs",
        is_given: |request| request.between_spes,
        most_lack: None,
    },
    Flag {
        name: "-N",
        noun: "private buffers",
        is_given: |request| matches!(request.spes, Count::Private(_)),
        most_lack: None,
    },
];

/// The flags that [`check`] looks at after the flags of the numbers.
const AFTER_NUMBERS: [Flag; 8] = [
    Flag {
        name: "-m",
        noun: "memory module",
        is_given: |request| request.module.is_some(),
        most_lack: None,
    },
    Flag {
        name: "--polling",
        noun: "way of polling",
        is_given: |request| request.polling.is_some(),
        most_lack: Some("only an atomic matrix has"),
    },
    Flag {
        name: "--budget",
        noun: "budget",
        is_given: |request| request.budget.is_some(),
        most_lack: Some("its iterations have a time"),
    },
    Flag {
        name: "-n",
        noun: "number of SPEs",
        is_given: |request| request.spes.number() != 1,
        most_lack: None,
    },
    Flag {
        name: "-c",
        noun: "Cell",
        is_given: |request| request.cell.is_some(),
        most_lack: None,
    },
    Flag {
        name: "-i",
        noun: "number of iterations",
        is_given: |request| matches!(request.iterations, Iterations::Exactly(_)),
        most_lack: None,
    },
    Flag {
        name: "-w",
        noun: "warm-up",
        is_given: |request| request.warm_up.is_some(),
        most_lack: None,
    },
    Flag {
        name: "--samples",
        noun: "samples",
        is_given: |request| request.keep_samples,
        most_lack: None,
    },
];

/// Refuses a request that sets a field that the function does not use.
pub(super) fn check(request: &Request, topology: &Topology) -> Result<(), RequestError> {
    let function = request.function;
    let of_flag = |flag: &Flag| {
        let why = function.why_unused(flag.name, flag.most_lack);
        let why = why.filter(|_| (flag.is_given)(request))?;
        Some(refusal(request, topology, flag.name, flag.noun, why))
    };
    let of_number = |number: &Setting| {
        (number.get)(&request.settings)?;
        let why = function.why_unused(number.flag, number.most_lack)?;
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
