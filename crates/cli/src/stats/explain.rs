//! Explains the errors of requests in terms of the flags on the command line.

use cellworks_machine::Topology;
use cellworks_stats::{Request, RequestError};

/// Returns a message that begins with the wrong flag and ends with an example that works. `machine`
/// is empty, or a blank and the flag that chooses the machine of the example.
pub(super) fn explain(
    error: &RequestError,
    request: &Request,
    topology: &Topology,
    machine: &str,
) -> String {
    let RequestError { flag, instead, .. } = error;
    let has_pair = topology.spes().len() > 1;
    // The function that the user asked for is refused, so the example has another function.
    if *flag == "-f" {
        return format!("{flag}: {error}\n  example: cellworks stats{machine} {instead}");
    }
    let what = match request.function {
        matrix if matrix.is_matrix() => format!("--matrix {}", matrix.name()),
        function => format!("-f {function}"),
    };
    let is_full = request.function.is_matrix() && request.budget.is_none();
    let and = match instead.as_str() {
        "" if is_full => " --full".to_owned(),
        "" => String::new(),
        instead if request.between_spes && has_pair && *flag != "-s" => format!(" {instead} -s"),
        instead => format!(" {instead}"),
    };
    // A machine with one SPE has no matrix.
    let machine = match *flag {
        "--matrix" if !has_pair => " --machine qs20",
        _ => machine,
    };
    format!("{flag}: {error}\n  example: cellworks stats{machine} {what}{and}")
}

#[cfg(test)]
mod tests {
    use cellworks_machine::{CellId, ModuleId, SpeSite};
    use cellworks_stats::{Count, Function};

    use super::*;
    use crate::surroundings::LIMITS;

    #[test]
    fn the_example_names_no_cell_if_spe_0_is_alone_in_its_cell() {
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
