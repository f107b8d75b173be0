//! Prints the numbers of papers, published and simulated, as the Markdown tables of `docs/simulated-cell.md`.
//! Without names of papers, those of CellStats:
//!
//! ```text
//! cargo run --release -p cellworks-reproduce --example tables -- cellstats cellmt others task-mapping
//! ```

use std::env;

use cellworks_report::Environment;
use cellworks_report::reproduction::{Published, Reproduced, ShapeRange};
use cellworks_reproduce::{Paper, Reproducing, built_in};

fn main() -> Result<(), String> {
    let mut names: Vec<String> = env::args().skip(1).collect();
    if names.is_empty() {
        names.push("cellstats".to_owned());
    }
    for name in names {
        let known = Paper::names().join(", ");
        let paper = Paper::built_in(&name)
            .ok_or_else(|| format!("there is no paper `{name}`; there are {known}"))?;
        let reproducing = Reproducing::of(vec![paper], false, &built_in);
        let mut reproducing = reproducing.map_err(|error| error.to_string())?;
        reproducing.simulate(&built_in);
        let found = reproducing.report(here());
        println!("### {}\n", found.papers[0].title);
        for (title, is_in) in TABLES {
            let rows: Vec<&Reproduced> = found.results.iter().filter(|row| is_in(row)).collect();
            print(title, &rows);
        }
    }
    Ok(())
}

type IsIn = fn(&Reproduced) -> bool;

const TABLES: [(&str, IsIn); 6] = [
    ("Calibration", |row| {
        row.served_for_calibration && row.published.is_some()
    }),
    ("Calibration: shapes", |row| {
        row.served_for_calibration && row.shape.is_some()
    }),
    ("Validation", |row| {
        !row.served_for_calibration && row.published.is_some()
    }),
    ("Validation: shapes", |row| {
        !row.served_for_calibration && row.shape.is_some()
    }),
    ("Predictions", |row| row.kept_back),
    ("Not simulated", |row| row.not_simulated.is_some()),
];

fn print(title: &str, rows: &[&Reproduced]) {
    let simulated = rows.iter().filter(|row| row.value.is_some());
    let rows: Vec<&&Reproduced> = match title {
        "Not simulated" => rows.iter().collect(),
        _ => simulated.collect(),
    };
    if rows.is_empty() {
        return;
    }
    println!("{title}:\n");
    println!("{}", heading(title));
    for row in rows {
        let cells = cells(title, row);
        println!("| {} |", cells.join(" | "));
    }
    println!();
}

fn heading(title: &str) -> &'static str {
    match title {
        "Calibration" | "Validation" => {
            "| id | quantity | published | simulated | error |\n|---|---|---:|---:|---:|"
        }
        "Predictions" => "| id | quantity | simulated |\n|---|---|---:|",
        "Not simulated" => "| id | quantity | published | why not |\n|---|---|---:|---|",
        _ => "| id | rule | has to be | simulated | holds |\n|---|---|---:|---:|---|",
    }
}

fn cells(title: &str, row: &Reproduced) -> Vec<String> {
    let id = format!("`{}`", row.name);
    let simulated = row.value.map_or(String::new(), |value| match &*row.unit {
        "rank" => format!("rank {value}"),
        unit => format!("{} {unit}", digits(value)),
    });
    match title {
        "Calibration" | "Validation" => {
            let error = row.error_percent.map(|error| format!("{error:+.1} %"));
            let error = error.unwrap_or_default();
            vec![id, quantity(row), published(row), simulated, error]
        }
        "Predictions" => vec![id, quantity(row), simulated],
        "Not simulated" => {
            let why = row.not_simulated.clone().unwrap_or_default();
            vec![id, quantity(row), published(row), why]
        }
        _ => {
            let shape = row.shape.as_ref().expect("it is a table of shapes");
            let holds = match row.holds {
                Some(true) => "yes",
                _ => "**no**",
            };
            let rule = match conditions(row) {
                "" => shape.rule.clone(),
                conditions => format!("{} ({conditions})", shape.rule),
            };
            vec![id, rule, range(shape), simulated, holds.to_owned()]
        }
    }
}

/// What it is, with the machine where it is not a QS20, and under which circumstances.
fn quantity(row: &Reproduced) -> String {
    let machine = row.parameters["machine"].as_str().unwrap_or_default();
    let parts = [
        &*row.quantity,
        conditions(row),
        if machine == "qs20" { "" } else { machine },
    ];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("; ")
}

fn conditions(row: &Reproduced) -> &str {
    row.parameters["conditions"].as_str().unwrap_or_default()
}

fn published(row: &Reproduced) -> String {
    let Some(value) = row.published else {
        return "kept back".to_owned();
    };
    let reading = match row.reading {
        Published::Exact => "",
        Published::About => "about ",
        Published::AtLeast => "at least ",
        Published::AtMost => "at most ",
    };
    match &*row.unit {
        "rank" => format!("{reading}rank {value}"),
        unit => format!("{reading}{value} {unit}"),
    }
}

fn range(shape: &ShapeRange) -> String {
    match (shape.at_least, shape.at_most) {
        (Some(low), Some(high)) => format!("{low} to {high}"),
        (Some(low), None) => format!("at least {low}"),
        (None, Some(high)) => format!("at most {high}"),
        (None, None) => String::new(),
    }
}

/// Four digits, as many as anything published has.
fn digits(value: f64) -> String {
    let whole = value.abs().log10().floor() as i32 + 1;
    let decimals = (4 - whole).clamp(0, 3) as usize;
    format!("{value:.decimals$}")
}

/// Nothing of it is printed.
fn here() -> Environment {
    Environment {
        cellworks_version: String::new(),
        build: String::new(),
        operating_system: String::new(),
        kernel: None,
        architecture: String::new(),
        finished_unix_s: 0,
        warnings: Vec::new(),
        host: None,
    }
}
