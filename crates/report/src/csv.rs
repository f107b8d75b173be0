//! CSV: a header, and a line for each measurement or for each measured pair of a matrix.
//! docs/csv.md describes the columns.

use cellworks_stats::{Matrix, Measurement, MemoryMatrix, Polling, Setting};

use crate::machine_info::MachineInfo;
use crate::report::Report;
use crate::text::{doubts_of, name_in_json};

/// The name of a column, and a function that returns a measurement's field in it.
type Column = (&'static str, fn(&Measurement) -> String);

/// The columns of measurements, without the columns of the settings. [`with_settings`] inserts the
/// columns of the settings at [`Setting::csv_column`]. A new column must come last in a line.
const COLUMNS: [Column; 20] = [
    ("function", |m| m.function.to_string()),
    ("spes", |m| m.parameters.spes.to_string()),
    ("cell", |m| m.parameters.cell.to_string()),
    ("module", |m| or_empty(m.parameters.module)),
    ("between", |m| name_in_json(m.parameters.between)),
    ("buffers", |m| {
        or_empty(m.parameters.buffers.map(name_in_json))
    }),
    ("iterations", |m| m.iterations.to_string()),
    ("rounds", |m| m.rounds.to_string()),
    ("samples", |m| m.samples.to_string()),
    ("outliers", |m| m.outliers.to_string()),
    ("mean_ns", |m| m.latency_ns.mean.to_string()),
    ("min_ns", |m| m.latency_ns.min.to_string()),
    ("p50_ns", |m| m.latency_ns.p50.to_string()),
    ("p99_ns", |m| m.latency_ns.p99.to_string()),
    ("max_ns", |m| m.latency_ns.max.to_string()),
    ("p50_low_ns", |m| {
        or_empty(m.median_interval_ns.map(|interval| interval.low))
    }),
    ("p50_high_ns", |m| {
        or_empty(m.median_interval_ns.map(|interval| interval.high))
    }),
    ("bandwidth_bytes_per_s", |m| {
        or_empty(m.bandwidth_bytes_per_s)
    }),
    ("huge_page_share", |m| or_empty(m.huge_page_share)),
    ("doubts", |m| doubts_of(&m.doubts, ";").unwrap_or_default()),
];

/// Adds the fields of all settings to the fields of [`COLUMNS`].
fn with_settings(mut fields: Vec<String>, of_setting: impl Fn(&Setting) -> String) -> Vec<String> {
    for setting in &Setting::ALL {
        fields.insert(setting.csv_column, of_setting(setting));
    }
    fields
}

fn header() -> String {
    let names = COLUMNS.map(|(name, _)| name.to_owned());
    line(with_settings(names.to_vec(), |setting| {
        setting.name.to_owned()
    }))
}

const MATRIX_HEADER: &str =
    "primitive,polling,block_bytes,from_spe,to_spe,from_place,to_place,one_way_ns\n";

pub(crate) const MEMORY_HEADER: &str = "spe,place,cell,nearest_module,module,block_bytes,latency_ns,latency_low_ns,\
latency_high_ns,bandwidth_bytes_per_s,huge_page_share\n";

/// Returns the report as CSV. A report with measurements has a line for each measurement, and its
/// matrices are left out. A report with only matrices has a line for each measured pair or cell.
pub fn render(report: &Report) -> String {
    let machine = &report.envelope.machine;
    match &report.memory_matrix {
        Some(matrix) if report.measurements.is_empty() => {
            lines(MEMORY_HEADER, memory_cells(matrix, machine))
        }
        _ if report.measurements.is_empty() && !report.matrices.is_empty() => {
            let matrices = report.matrices.iter();
            lines(
                MATRIX_HEADER,
                matrices.flat_map(|matrix| pairs(matrix, machine)),
            )
        }
        _ => lines(&header(), report.measurements.iter().map(of_measurement)),
    }
}

/// Returns a line of fields, which are quoted where they need it.
pub(crate) fn line(fields: impl IntoIterator<Item = String>) -> String {
    let quoted = |field: String| {
        if field.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field
        }
    };
    let fields: Vec<String> = fields.into_iter().map(quoted).collect();
    fields.join(",") + "\n"
}

/// Returns a header and a line for each row.
pub(crate) fn lines<R: IntoIterator<Item = String>>(
    header: &str,
    rows: impl IntoIterator<Item = R>,
) -> String {
    let rows = rows.into_iter().map(line);
    rows.fold(header.to_owned(), |text, row| text + &row)
}

/// Returns the fields of each measured pair, sorted by sending SPE and then by receiving SPE.
fn pairs(matrix: &Matrix, machine: &MachineInfo) -> impl Iterator<Item = [String; 8]> {
    let place = |spe: usize| machine.spe_places.get(spe).map_or("", String::as_str);
    let of_row = move |(from, row): (usize, &Vec<Option<f64>>)| {
        let line = |(to, ns): (usize, &Option<f64>)| {
            Some([
                matrix.primitive.name().to_owned(),
                or_empty(matrix.polling.map(Polling::name)),
                or_empty(matrix.block_bytes),
                from.to_string(),
                to.to_string(),
                place(from).to_owned(),
                place(to).to_owned(),
                (*ns)?.to_string(),
            ])
        };
        row.iter().enumerate().filter_map(line).collect::<Vec<_>>()
    };
    matrix.one_way_ns.iter().enumerate().flat_map(of_row)
}

/// Returns the fields of each measured cell, sorted by the SPE that reads and then by module.
fn memory_cells(matrix: &MemoryMatrix, machine: &MachineInfo) -> Vec<[String; 11]> {
    let place = |spe: usize| machine.spe_places.get(spe).map_or("", String::as_str);
    let mut lines = Vec::new();
    for (row, cells) in matrix.rows.iter().zip(&matrix.cells) {
        for (module, cell) in matrix.numbers().into_iter().zip(cells) {
            let Some(cell) = cell else { continue };
            let interval = cell.latency_interval_ns;
            lines.push([
                row.spe.to_string(),
                place(row.spe).to_owned(),
                row.cell.to_string(),
                row.nearest_module.to_string(),
                module.to_string(),
                matrix.block_bytes.to_string(),
                cell.latency_ns.to_string(),
                or_empty(interval.map(|interval| interval.low)),
                or_empty(interval.map(|interval| interval.high)),
                cell.bandwidth_bytes_per_s.to_string(),
                or_empty(cell.huge_page_share),
            ]);
        }
    }
    lines
}

fn of_measurement(measurement: &Measurement) -> Vec<String> {
    let fields = COLUMNS.map(|(_, field)| field(measurement));
    with_settings(fields.to_vec(), |setting| {
        or_empty((setting.get)(&measurement.parameters.settings))
    })
}

pub(crate) fn or_empty(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// Asserts that docs/csv.md has a header.
#[cfg(test)]
#[track_caller]
pub(crate) fn assert_described(header: &str) {
    let described = include_str!("../../../docs/csv.md");
    assert!(described.contains(&format!("```\n{header}```")), "{header}");
}

#[cfg(test)]
mod tests {
    use cellworks_stats::Primitive;

    use super::*;
    use crate::made_up;

    #[test]
    fn a_measurement_has_a_line_with_all_its_numbers() {
        let mut report = made_up::report();
        report.measurements.truncate(2);
        // CSV with measurements has no matrices.
        let csv = render(&report);
        let lines = csv.strip_prefix(&header()).unwrap();
        let lines = lines.split_inclusive('\n').map(named);
        assert_eq!(
            lines.collect::<Vec<_>>(),
            [
                "function=mailbox spes=2 cell=0 between=spe-spe iterations=100000 rounds=12 samples=4000 outliers=7 \
                 mean_ns=163.2 min_ns=150.39999999999998 p50_ns=160 p99_ns=208 max_ns=1440 p50_low_ns=158 \
                 p50_high_ns=162",
                "function=dmaget spes=1 cell=0 module=0 between=memory-spe buffers=shared block_bytes=1024 \
                 iterations=100000 rounds=12 samples=4000 outliers=7 mean_ns=816 min_ns=752 p50_ns=800 p99_ns=1040 \
                 max_ns=7200 p50_low_ns=792 p50_high_ns=808 bandwidth_bytes_per_s=1280000000",
            ]
        );
    }

    /// Returns the fields of a line that are not empty, each after the name of its column.
    fn named(line: &str) -> String {
        let header = header();
        let names: Vec<&str> = header.trim_end().split(',').collect();
        let fields: Vec<&str> = line.strip_suffix('\n').unwrap().split(',').collect();
        assert_eq!(fields.len(), names.len(), "{line}");
        let given = names
            .iter()
            .zip(fields)
            .filter(|(_, field)| !field.is_empty());
        let given = given.map(|(name, field)| format!("{name}={field}"));
        given.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_matrix_has_a_line_for_each_measured_pair() {
        let mut report = made_up::report();
        report.measurements.clear();
        report.matrices[0].one_way_ns[1][0] = None;
        report.envelope.machine.spe_places = vec!["CPU 0, thread 1".to_owned()];
        let expected = "\
            primitive,polling,block_bytes,from_spe,to_spe,from_place,to_place,one_way_ns\n\
            atomic,compare-and-swap,,0,1,\"CPU 0, thread 1\",,50\n\
            copy,,1048576,0,1,\"CPU 0, thread 1\",,50000\n\
            copy,,1048576,1,0,,\"CPU 0, thread 1\",50000\n";
        assert_eq!(render(&report), expected);
        // An interrupted run can have a matrix without a measured pair.
        report.matrices = vec![made_up::pair(Primitive::Signal, 60.0)];
        report.matrices[0].one_way_ns = vec![vec![None; 2]; 2];
        assert_eq!(render(&report), MATRIX_HEADER);
    }

    #[test]
    fn headers_are_as_described() {
        for header in [&header(), MATRIX_HEADER, MEMORY_HEADER] {
            assert_described(header);
        }
    }

    #[test]
    fn without_anything_measured_there_is_the_header() {
        let mut report = made_up::bare();
        report.measurements.clear();
        assert_eq!(render(&report), header());
    }
}
