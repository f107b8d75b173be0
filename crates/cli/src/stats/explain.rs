//! What is wrong with a request, in the words of the command line.

use cellworks_machine::Topology;
use cellworks_stats::{Count, MatrixRequest, MatrixRequestError, Request, RequestError, Unused};

/// The error, in the words of the command line: with the flag in front, and an example that works.
/// An example keeps `-s`, unless that is what is wrong.
/// `machine` is the flag that chooses it, if one has to.
pub(super) fn explain(
    error: &RequestError,
    request: &Request,
    topology: &Topology,
    machine: &str,
) -> String {
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
    format!("{flag}: {error}\n  example: cellworks stats{machine} -f {function} {example}{between}")
}

/// The same for a matrix; `name` is what it is of.
pub(super) fn explain_matrix(
    error: &MatrixRequestError,
    request: &MatrixRequest,
    name: &str,
    machine: &str,
) -> String {
    let flag = match error {
        MatrixRequestError::TooFewSpes { .. } => "--matrix",
        MatrixRequestError::Polling { .. } => "--polling",
        MatrixRequestError::Block { .. }
        | MatrixRequestError::BlockSize { .. }
        | MatrixRequestError::LocalStore { .. } => "-b",
        MatrixRequestError::Module { .. } | MatrixRequestError::NoSuchModule { .. } => "-m",
        MatrixRequestError::Budget { .. } => "--budget",
    };
    let example = match error {
        MatrixRequestError::BlockSize { .. } | MatrixRequestError::LocalStore { .. } => " -b 1k",
        MatrixRequestError::NoSuchModule { .. } => " -m 0",
        _ if request.budget.is_none() => " --full",
        _ => "",
    };
    format!("{flag}: {error}\n  example: cellworks stats{machine} --matrix {name}{example}")
}

#[cfg(test)]
mod tests {
    use cellworks_machine::{CellId, ModuleId, SpeSite};
    use cellworks_stats::Function;

    use super::*;
    use crate::surroundings::LIMITS;

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
        let error = refused.plan(&pair, &LIMITS).unwrap_err();
        assert_eq!(
            explain(&error, &refused, &pair, ""),
            "-c: Cell 0: on a pair it has no SPE besides SPE 0, which is the other side; use another Cell\n  \
             example: cellworks stats -f mailbox -n 2 -s"
        );
        assert!(in_cell(None).plan(&pair, &LIMITS).is_ok());
    }
}
