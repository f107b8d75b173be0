//! What is wrong with a request, in the words of the command line.

use cellworks_machine::Topology;
use cellworks_stats::{MatrixRequest, MatrixRequestError, Request, RequestError};

/// The error, in the words of the command line: with the flag in front, and an example that works.
/// An example keeps `-s`, unless that is what is wrong.
/// `machine` is the flag that chooses it, if one has to.
pub(super) fn explain(
    error: &RequestError,
    request: &Request,
    topology: &Topology,
    machine: &str,
) -> String {
    let has_pair = topology.spes().len() > 1;
    let between_spes = request.between_spes && has_pair && error.flag != "-s";
    let (function, between) = (request.function, if between_spes { " -s" } else { "" });
    let RequestError { flag, instead, .. } = error;
    format!("{flag}: {error}\n  example: cellworks stats{machine} -f {function} {instead}{between}")
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
    use cellworks_stats::{Count, Function};

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
