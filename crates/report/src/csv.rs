//! CSV: a header, and a line for each measurement. No field holds a comma or a quote.

use cellworks_stats::Measurement;

use crate::Report;
use crate::text::{between, buffers};

const HEADER: &str = "function,spes,cell,module,between,buffers,block_bytes,list_elements,stride_bytes,\
chains,loading_spes,iterations,rounds,samples,outliers,mean_ns,min_ns,p50_ns,p99_ns,max_ns,p50_low_ns,p50_high_ns,\
bandwidth_bytes_per_s\n";

/// The report as CSV.
pub fn render(report: &Report) -> String {
    report
        .measurements
        .iter()
        .map(line)
        .fold(HEADER.to_owned(), |text, line| text + &line)
}

fn line(measurement: &Measurement) -> String {
    let p = &measurement.parameters;
    let l = measurement.latency_ns;
    let fields = [
        measurement.function.to_string(),
        p.spes.to_string(),
        p.cell.to_string(),
        or_empty(p.module),
        between(p.between).to_owned(),
        or_empty(p.buffers.map(buffers)),
        or_empty(p.block_bytes),
        or_empty(p.list_elements),
        or_empty(p.stride_bytes),
        or_empty(p.chains),
        or_empty(p.loading_spes),
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
    ];
    fields.join(",") + "\n"
}

fn or_empty(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
