//! The results of a program as a table and as CSV, and functions that the HTML page also uses.

use std::collections::BTreeMap;

use cellworks_stats::Finding;
use serde_json::Value;

use super::ProgramReport;
use crate::columns::Table;
use crate::csv::{line, lines};
use crate::table::{cautions, head, not_measured, section};
use crate::text::{bandwidth, bold, figures, size, time, wrapped};
use crate::words::Words;

/// Parameters, and the results that have these parameters.
type Row<'a> = (&'a BTreeMap<String, Value>, Vec<&'a Finding>);

/// Returns the results as a table below their common parameters. Titles contain ANSI styles.
pub fn table(report: &ProgramReport, width: usize) -> String {
    let words = Words::of(&report.envelope.machine);
    let mut text = head(&report.envelope.machine, width);
    text += &cautions(&report.envelope, width);
    if !report.results.is_empty() {
        let common = common(report);
        let of = if common.is_empty() { "" } else { ": " };
        text += "\n";
        let common = words.say(&common);
        text += &wrapped(
            &format!("{}{of}{common}", bold(&report.program)),
            "  ",
            width,
        );
    }
    for (at, block) in blocks(report).into_iter().enumerate() {
        if at > 0 {
            text += "\n";
        }
        text += &block.translated(words).text(Some(width));
    }
    if let Some(counters) = &report.counters {
        text += &crate::counters::table(counters, width);
    }
    let missing = not_measured(&report.not_measured);
    text + &section("Not measured", missing, words, width)
}

pub(super) fn common(report: &ProgramReport) -> String {
    let Some(first) = report.results.first() else {
        return String::new();
    };
    let shared = first.parameters.iter();
    let shared = shared.filter(|(name, _)| is_common(report, name));
    let named =
        shared.map(|(name, value)| format!("{} {}", called(name), of_parameter(name, value)));
    named.collect::<Vec<_>>().join(", ")
}

fn is_common(report: &ProgramReport, name: &str) -> bool {
    let mut values = report.results.iter().map(|one| one.parameters.get(name));
    let first = values.next().flatten();
    first.is_some() && values.all(|value| value == first)
}

/// Returns a table for each set of quantities.
pub(super) fn blocks(report: &ProgramReport) -> Vec<Table> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for result in &report.results {
        match rows.iter_mut().find(|(of, _)| **of == result.parameters) {
            Some((_, row)) => row.push(result),
            None => rows.push((&result.parameters, vec![result])),
        }
    }
    // Results of single runs, and results that follow from several runs, have different quantities
    // and parameters. Each kind has its own group.
    let mut groups: Vec<Vec<Row<'_>>> = Vec::new();
    for row in rows {
        let same = groups.iter_mut().find(|group| {
            let names = |row: &Row<'_>| row.1.first().map(|one| one.name.clone());
            names(&group[0]) == names(&row)
        });
        match same {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups.iter().map(|group| block(report, group)).collect()
}

fn block(report: &ProgramReport, rows: &[Row<'_>]) -> Table {
    let mut parameters: Vec<&str> = Vec::new();
    let mut quantities: Vec<(&str, &str)> = Vec::new();
    for (of, row) in rows {
        for name in of.keys().filter(|name| !is_common(report, name)) {
            if !parameters.contains(&name.as_str()) {
                parameters.push(name);
            }
        }
        for one in row {
            if !quantities.contains(&(&one.name, &one.unit)) {
                quantities.push((&one.name, &one.unit));
            }
        }
    }
    let headings = parameters.iter().map(|name| called(name));
    let of_quantity = quantities.iter().map(|(name, unit)| match *unit {
        // These units are written behind each value, not in the heading.
        "ns" | "bytes/s" | "bytes" | "times" | "rank" => called(name),
        unit => format!("{}\n({unit})", called(name)),
    });
    let line = |(of, row): &Row<'_>| {
        let parameter = |name: &&str| of.get(*name).map(|value| of_parameter(name, value));
        let quantity = |(name, _): &(&str, &str)| {
            let found = row.iter().find(|one| one.name == *name);
            found.map(|one| in_unit(one.value, &one.unit))
        };
        let parameters = parameters.iter().map(parameter);
        let cells = parameters.chain(quantities.iter().map(quantity));
        cells.map(Option::unwrap_or_default).collect::<Vec<_>>()
    };
    Table::new(headings.chain(of_quantity), rows.iter().map(line), [])
}

fn called(name: &str) -> String {
    name.replace('_', " ")
}

/// Formats a value. Units that are in the heading are left out.
pub(super) fn in_unit(value: f64, unit: &str) -> String {
    match unit {
        "ns" => time(value),
        "bytes/s" => bandwidth(value as u64),
        "bytes" => size(value as usize),
        "rank" => format!("{value:.0}"),
        _ => figures(value),
    }
}

fn of_parameter(name: &str, value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if name == "bytes" || name.ends_with("_bytes") => number
            .as_u64()
            .map_or(number.to_string(), |bytes| size(bytes as usize)),
        other => other.to_string(),
    }
}

/// Returns the results as CSV, with a line for each result. The columns of the parameters are
/// sorted by the name of the parameter. docs/csv.md describes the columns.
pub fn csv(report: &ProgramReport) -> String {
    let mut parameters: Vec<&String> = report
        .results
        .iter()
        .flat_map(|result| result.parameters.keys())
        .collect();
    parameters.sort();
    parameters.dedup();
    let of_every = ["program", "name", "value", "unit"].into_iter();
    let names = of_every.chain(parameters.iter().map(|name| name.as_str()));
    let fields = |result: &Finding| {
        let of_every = [
            report.program.clone(),
            result.name.clone(),
            result.value.to_string(),
            result.unit.clone(),
        ];
        let parameters = parameters
            .iter()
            .map(|name| match result.parameters.get(*name) {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(value)) => value.clone(),
                Some(other) => other.to_string(),
            });
        of_every.into_iter().chain(parameters).collect::<Vec<_>>()
    };
    let header = line(names.map(str::to_owned));
    lines(&header, report.results.iter().map(fields))
}
