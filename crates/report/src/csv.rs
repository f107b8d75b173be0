//! CSV: a header, and a line for each measurement or for each measured pair of a matrix.
//! docs/csv.md describes the columns.

use cellworks_stats::{Matrix, Measurement, MemoryMatrix, Polling, Setting};

use crate::text::{between, buffers};
use crate::{MachineInfo, Report};

const BEFORE_SETTINGS: &str = "function,spes,cell,module,between,buffers";
const AFTER_SETTINGS: &str = "iterations,rounds,samples,outliers,mean_ns,min_ns,p50_ns,p99_ns,max_ns,\
p50_low_ns,p50_high_ns,bandwidth_bytes_per_s";

/// A setting that a later version of Cellworks added. Its column comes after the older columns, so
/// that the older columns keep their positions.
const ADDED: &str = "page_bytes";
const ADDED_AFTER: &str = "huge_page_share\n";

/// Returns the settings except [`ADDED`].
fn settings() -> impl Iterator<Item = Setting> {
    let settings = Setting::ALL.into_iter();
    settings.filter(|setting| setting.name != ADDED)
}

fn header() -> String {
    let settings: Vec<&str> = settings().map(|setting| setting.name).collect();
    let settings = settings.join(",");
    [
        BEFORE_SETTINGS,
        &settings,
        AFTER_SETTINGS,
        ADDED,
        ADDED_AFTER,
    ]
    .join(",")
}

const MATRIX_HEADER: &str =
    "primitive,polling,block_bytes,from_spe,to_spe,from_place,to_place,one_way_ns\n";

pub(crate) const MEMORY_HEADER: &str = "spe,place,cell,nearest_module,module,block_bytes,latency_ns,latency_low_ns,\
latency_high_ns,bandwidth_bytes_per_s,huge_page_share\n";

/// Returns the report as CSV. A report with measurements has a line for each measurement, and its
/// matrices are left out. A report with only matrices has a line for each measured pair or cell.
pub fn render(report: &Report) -> String {
    if let (Some(matrix), true) = (&report.memory_matrix, report.measurements.is_empty()) {
        let lines = memory_cells(matrix, &report.envelope.machine);
        return MEMORY_HEADER.to_owned() + &lines;
    }
    let (header, lines): (_, Vec<String>) =
        if report.measurements.is_empty() && !report.matrices.is_empty() {
            let machine = &report.envelope.machine;
            let matrices = report.matrices.iter();
            let lines = matrices.flat_map(|matrix| pairs(matrix, machine));
            (MATRIX_HEADER.to_owned(), lines.collect())
        } else {
            (header(), report.measurements.iter().map(line).collect())
        };
    header + &lines.concat()
}

pub(crate) fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// Returns a line for each measured pair, sorted by sending SPE and then by receiving SPE.
fn pairs(matrix: &Matrix, machine: &MachineInfo) -> impl Iterator<Item = String> {
    let place = |spe: usize| machine.spe_places.get(spe).map_or("", String::as_str);
    let of_row = move |(from, row): (usize, &Vec<Option<f64>>)| {
        let line = |(to, ns): (usize, &Option<f64>)| {
            let fields = [
                matrix.primitive.name().to_owned(),
                or_empty(matrix.polling.map(Polling::name)),
                or_empty(matrix.block_bytes),
                from.to_string(),
                to.to_string(),
                quoted(place(from)),
                quoted(place(to)),
                (*ns)?.to_string(),
            ];
            Some(fields.join(",") + "\n")
        };
        row.iter().enumerate().filter_map(line).collect::<Vec<_>>()
    };
    matrix.one_way_ns.iter().enumerate().flat_map(of_row)
}

/// Returns a line for each measured cell, sorted by the SPE that reads and then by memory module.
fn memory_cells(matrix: &MemoryMatrix, machine: &MachineInfo) -> String {
    let place = |spe: usize| machine.spe_places.get(spe).map_or("", String::as_str);
    let mut lines = String::new();
    for (row, cells) in matrix.rows.iter().zip(&matrix.cells) {
        for (module, cell) in cells.iter().enumerate() {
            let Some(cell) = cell else { continue };
            let interval = cell.latency_interval_ns;
            let fields = [
                row.spe.to_string(),
                quoted(place(row.spe)),
                row.cell.to_string(),
                row.nearest_module.to_string(),
                module.to_string(),
                matrix.block_bytes.to_string(),
                cell.latency_ns.to_string(),
                or_empty(interval.map(|interval| interval.low)),
                or_empty(interval.map(|interval| interval.high)),
                cell.bandwidth_bytes_per_s.to_string(),
                or_empty(cell.huge_page_share),
            ];
            lines += &(fields.join(",") + "\n");
        }
    }
    lines
}

fn line(measurement: &Measurement) -> String {
    let p = &measurement.parameters;
    let l = measurement.latency_ns;
    let before = [
        measurement.function.to_string(),
        p.spes.to_string(),
        p.cell.to_string(),
        or_empty(p.module),
        between(p.between).to_owned(),
        or_empty(p.buffers.map(buffers)),
    ];
    let settings: Vec<String> = settings()
        .map(|setting| or_empty((setting.get)(&p.settings)))
        .collect();
    let after = [
        measurement.iterations.to_string(),
        measurement.rounds.to_string(),
        measurement.samples.to_string(),
        measurement.outliers.to_string(),
        l.mean.to_string(),
        l.min.to_string(),
        l.p50.to_string(),
        l.p99.to_string(),
        l.max.to_string(),
        or_empty(measurement.median_interval_ns.map(|interval| interval.low)),
        or_empty(measurement.median_interval_ns.map(|interval| interval.high)),
        or_empty(measurement.bandwidth_bytes_per_s),
        or_empty(p.settings.page_bytes),
        or_empty(measurement.huge_page_share),
    ];
    [&before[..], &settings, &after].concat().join(",") + "\n"
}

pub(crate) fn or_empty(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
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
        let expected = "\
            function,spes,cell,module,between,buffers,block_bytes,list_elements,stride_bytes,chains,\
            loading_spes,iterations,rounds,samples,outliers,mean_ns,min_ns,p50_ns,p99_ns,max_ns,\
            p50_low_ns,p50_high_ns,bandwidth_bytes_per_s,page_bytes,huge_page_share\n\
            mailbox,2,0,,spe-spe,,,,,,,100000,12,4000,7,163.2,150.39999999999998,160,208,1440,158,162,,,\n\
            dmaget,1,0,0,memory-spe,shared,1024,,,,,100000,12,4000,7,816,752,800,1040,7200,792,808,1280000000,,\n";
        // CSV with measurements has no matrices.
        assert_eq!(render(&report), expected);
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
        let described = include_str!("../../../docs/csv.md");
        for header in [
            &header(),
            MATRIX_HEADER,
            crate::compare::CSV_HEADER,
            crate::placement::CSV_HEADER,
            crate::explanation::CSV_HEADER,
            crate::reproduction::CSV_HEADER,
        ] {
            assert!(described.contains(&format!("```\n{header}```")), "{header}");
        }
    }

    #[test]
    fn without_anything_measured_there_is_the_header() {
        let mut report = made_up::bare();
        report.measurements.clear();
        assert_eq!(render(&report), header());
    }
}
