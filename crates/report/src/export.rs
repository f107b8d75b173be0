//! The values of one or several runs in the formats of services that watch for regressions.

use serde_json::{Map, Value, json};

use crate::compare::{CompareError, Exported, differences_from, exported};
use crate::read::Measured;

/// A format of another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The Bencher Metric Format, which `bencher run --adapter json` reads.
    Bencher,
    /// `customSmallerIsBetter` of the action github-action-benchmark: times.
    SmallerIsBetter,
    /// `customBiggerIsBetter` of the action github-action-benchmark: rates.
    BiggerIsBetter,
}

/// Returns the times and rates of the runs as JSON for another program. Each run has a name for
/// errors. A value of several runs is the median of those that have it. Other values, such as
/// sizes, are left out. The names of values begin with the program or the command that measured
/// them, if that is not `stats`.
///
/// # Errors
///
/// [`CompareError`] if the runs are of different commands, if a value is impossible or appears
/// twice, or if the runs have no value for the program.
pub fn export(runs: &[(&str, &Measured)], target: Target) -> Result<String, CompareError> {
    let mut values = exported(runs)?;
    let (wanted, times, rates) = match target {
        Target::Bencher => ("time and no rate", true, true),
        Target::SmallerIsBetter => ("time", true, false),
        Target::BiggerIsBetter => ("rate", false, true),
    };
    values.retain(|value| if value.is_a_rate { rates } else { times });
    if values.is_empty() {
        return Err(CompareError::new(format!(
            "`{}` has no {wanted}, so there is nothing to export; name another file or another format",
            runs.first().map_or("", |(name, _)| name)
        )));
    }
    Ok(crate::json::render(&match target {
        Target::Bencher => bencher(&values),
        _ => values.iter().map(custom).collect(),
    }))
}

/// Returns what differs between the machine and circumstances of the first run and those of the
/// others, in sentences. A median of such runs may mean nothing.
pub fn differences(runs: &[(&str, &Measured)]) -> Vec<String> {
    match runs {
        [] => Vec::new(),
        [first, others @ ..] => differences_from(first, others),
    }
}

/// Returns an object with an object for each benchmark, which has an object for each measure.
fn bencher(values: &[Exported]) -> Value {
    let mut benchmarks = Map::new();
    for value in values {
        let (measure, factor) = measure(&value.unit);
        let mut metric = json!({"value": value.value * factor});
        if let Some((low, high)) = value.interval {
            metric["lower_value"] = json!(low * factor);
            metric["upper_value"] = json!(high * factor);
        }
        let of_benchmark = benchmarks.entry(&value.name).or_insert_with(|| json!({}));
        of_benchmark[measure] = metric;
    }
    Value::Object(benchmarks)
}

/// Returns the name of a measure of Bencher, and the number by which values of `unit` are multiplied.
/// Its measure `latency` is in nanoseconds, and `throughput` in operations a second.
fn measure(unit: &str) -> (&'static str, f64) {
    match unit {
        "ns" => ("latency", 1.0),
        "us" => ("latency", 1e3),
        "s" => ("latency", 1e9),
        "cycles" => ("cycles", 1.0),
        "bytes/s" => ("bandwidth", 1.0),
        "MB/s" => ("bandwidth", 1e6),
        "GB/s" => ("bandwidth", 1e9),
        _ => ("throughput", 1.0),
    }
}

/// Returns an element of the list that github-action-benchmark reads.
fn custom(value: &Exported) -> Value {
    let mut element = json!({"name": value.name, "unit": value.unit, "value": value.value});
    if let Some((low, high)) = value.interval {
        element["range"] = json!(format!("{low} to {high}"));
    }
    element
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up;

    fn exported_as(target: Target) -> Value {
        let report = Measured::Stats(made_up::report());
        let text = export(&[("today.json", &report)], target).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn bencher_has_measures_of_benchmarks_with_their_intervals() {
        let metrics = exported_as(Target::Bencher);
        let benchmarks = metrics.as_object().unwrap();
        let measurement = &made_up::report().measurements[0];
        let name = benchmarks
            .keys()
            .find(|name| name.starts_with(measurement.function.name()))
            .unwrap();
        let latency = &metrics[name]["latency"];
        assert_eq!(latency["value"], json!(measurement.latency_ns.p50));
        let interval = measurement.median_interval_ns.unwrap();
        assert_eq!(latency["lower_value"], json!(interval.low));
        assert_eq!(latency["upper_value"], json!(interval.high));
        for measures in benchmarks.values() {
            for (measure, metric) in measures.as_object().unwrap() {
                assert!(measure.len() <= 64, "{measure}");
                assert!(metric["value"].is_number(), "{metric}");
            }
        }
        assert!(benchmarks.keys().all(|name| name.len() <= 1_024));
    }

    #[test]
    fn times_and_rates_are_in_two_lists() {
        let memory = Measured::Stats(made_up::memory_matrix());
        let list = |target| -> Value {
            let text = export(&[("memory.json", &memory)], target).unwrap();
            serde_json::from_str(&text).unwrap()
        };
        for (target, unit) in [
            (Target::SmallerIsBetter, "ns"),
            (Target::BiggerIsBetter, "bytes/s"),
        ] {
            let list = list(target);
            let list = list.as_array().unwrap();
            assert!(!list.is_empty());
            for element in list {
                assert_eq!(element["unit"], unit);
                assert!(element["name"].is_string() && element["value"].is_number());
                assert!(element.get("range").is_none_or(Value::is_string));
            }
        }
    }

    #[test]
    fn several_runs_are_their_median_and_the_range_of_all() {
        let run = |p50: f64| {
            let mut report = made_up::report();
            report.measurements.truncate(1);
            report.measurements[0].latency_ns.p50 = p50;
            report.measurements[0].median_interval_ns = None;
            Measured::Stats(report)
        };
        let runs = [100.0, 130.0, 110.0].map(run);
        let named: Vec<(&str, &Measured)> = ["a", "b", "c"].into_iter().zip(&runs).collect();
        let text = export(&named, Target::SmallerIsBetter).unwrap();
        let list: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(list[0]["value"], 110.0);
        assert_eq!(list[0]["range"], "100 to 130");
    }

    #[test]
    fn the_results_of_programs_have_the_names_of_their_programs() {
        let names = |program: &str| -> Vec<String> {
            let mut report = made_up::program();
            report.program = program.to_owned();
            let text = export(&[("a.json", &Measured::Program(report))], Target::Bencher).unwrap();
            let benchmarks: Map<String, Value> = serde_json::from_str(&text).unwrap();
            benchmarks.keys().cloned().collect()
        };
        let [lu, knn] = ["lu", "knn"].map(names);
        assert!(
            !lu.is_empty() && lu.iter().all(|name| name.starts_with("lu: ")),
            "{lu:?}"
        );
        assert!(!lu.iter().any(|name| knn.contains(name)), "{lu:?} {knn:?}");
    }

    #[test]
    fn what_has_no_rate_is_refused() {
        let mut report = made_up::report();
        report.results.clear();
        report.memory_matrix = None;
        let report = Measured::Stats(report);
        let refused = export(&[("today.json", &report)], Target::BiggerIsBetter).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "`today.json` has no rate, so there is nothing to export; name another file or another format"
        );
    }
}
