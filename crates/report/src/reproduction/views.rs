//! A reproduction as a table and as CSV, and functions that the HTML page also uses.

use std::collections::BTreeSet;

use super::{Errors, Published, Relation, Reproduced, Reproduction, ShapeRange};
use crate::columns::Table;
use crate::csv::{lines, or_empty};
use crate::text::{bold, count, figures, name_in_json, wrapped};

pub(super) const CSV_HEADER: &str = "paper,name,quantity,conditions,machine,source,unit,published,\
reading,kept_back,at_least,at_most,simulated,error_percent,holds,served_for_calibration,not_simulated,failed,\
relation,follows_from\n";

pub(super) type Column = (&'static str, fn(&Reproduced) -> String);

/// A kind of numbers, such as fitted numbers, with its own columns.
pub(super) struct NumberKind {
    pub title: &'static str,
    pub about: &'static str,
    belongs: fn(&Reproduced) -> bool,
    pub columns: &'static [Column],
}

const QUANTITY: Column = ("quantity", |result| result.quantity.clone());
const CONDITIONS: Column = ("machine and conditions", conditions);
const PUBLISHED: Column = ("published", published);
const SIMULATED: Column = ("simulated", simulated);
const ERROR: Column = ("error", error);
const REQUIRED: Column = ("has to be", |result| {
    result.shape.as_ref().map(range).unwrap_or_default()
});
const HOLDS: Column = ("holds", holds);

const FITTED: Column = ("what was fitted", follows_from);
const FOLLOWS_FROM: Column = ("follows from", follows_from);

const SHAPES: &str =
    "What the texts state in words, as a ratio and the range in which it has to be.";

/// The kinds of numbers, in the order in which they are shown.
pub(super) const KINDS: [NumberKind; 8] = [
    NumberKind {
        title: "Fitted",
        about: "Something was chosen with regard to these numbers: their errors show how well that \
                succeeded.",
        belongs: |result| is(result, Relation::Fitted, false),
        columns: &[QUANTITY, CONDITIONS, PUBLISHED, SIMULATED, ERROR, FITTED],
    },
    NumberKind {
        title: "Fitted: shapes",
        about: SHAPES,
        belongs: |result| is(result, Relation::Fitted, true),
        columns: &[QUANTITY, CONDITIONS, REQUIRED, SIMULATED, HOLDS, FITTED],
    },
    NumberKind {
        title: "Derived",
        about: "These repeat a parameter or another number, or follow from them by arithmetic: their \
                errors show how far two publications agree.",
        belongs: |result| is(result, Relation::Derived, false),
        columns: &[
            QUANTITY,
            CONDITIONS,
            PUBLISHED,
            SIMULATED,
            ERROR,
            FOLLOWS_FROM,
        ],
    },
    NumberKind {
        title: "Derived: shapes",
        about: SHAPES,
        belongs: |result| is(result, Relation::Derived, true),
        columns: &[
            QUANTITY,
            CONDITIONS,
            REQUIRED,
            SIMULATED,
            HOLDS,
            FOLLOWS_FROM,
        ],
    },
    NumberKind {
        title: "Independent",
        about: "Nothing was fitted to these numbers, and they repeat nothing: their errors show how good \
                the model is.",
        belongs: |result| is(result, Relation::Independent, false),
        columns: &[QUANTITY, CONDITIONS, PUBLISHED, SIMULATED, ERROR],
    },
    NumberKind {
        title: "Independent: shapes",
        about: SHAPES,
        belongs: |result| is(result, Relation::Independent, true),
        columns: &[QUANTITY, CONDITIONS, REQUIRED, SIMULATED, HOLDS],
    },
    NumberKind {
        title: "Predictions",
        about: "These results were published, but kept back while the machine was fitted.",
        belongs: |result| result.kept_back && is_simulated(result),
        columns: &[QUANTITY, CONDITIONS, SIMULATED],
    },
    NumberKind {
        title: "Not simulated",
        about: "No experiment has simulated these numbers.",
        belongs: |result| !is_simulated(result),
        columns: &[
            QUANTITY,
            CONDITIONS,
            PUBLISHED,
            ("reason", |result| {
                result.not_simulated.clone().unwrap_or_default()
            }),
        ],
    },
];

fn is(result: &Reproduced, relation: Relation, shape: bool) -> bool {
    result.relation == Some(relation) && result.shape.is_some() == shape && is_simulated(result)
}

fn follows_from(result: &Reproduced) -> String {
    result.follows_from.clone().unwrap_or_default()
}

fn is_simulated(result: &Reproduced) -> bool {
    result.not_simulated.is_none()
}

pub(super) fn of_kind<'a>(
    reproduction: &'a Reproduction,
    paper: &'a str,
    kind: &'a NumberKind,
) -> Vec<&'a Reproduced> {
    let results = reproduction.results.iter();
    results
        .filter(|result| result.parameter("paper") == paper && (kind.belongs)(result))
        .collect()
}

/// Returns the reproduction as a table of at most `width` columns, with a block for each paper and
/// kind of number. Titles contain ANSI styles.
pub fn table(reproduction: &Reproduction, width: usize) -> String {
    let mut text = String::new();
    for line in summary(reproduction) {
        text += &wrapped(&line, "  ", width);
    }
    let mut explained = BTreeSet::new();
    for paper in &reproduction.papers {
        text += "\n";
        text += &wrapped(
            &format!("{} {}", bold(&paper.title), paper.authors),
            "  ",
            width,
        );
        for kind in &KINDS {
            let results = of_kind(reproduction, &paper.name, kind);
            if !results.is_empty() {
                text += &format!("\n{}\n", bold(kind.title));
                if explained.insert(kind.about) {
                    text += &wrapped(kind.about, "", width);
                }
                text += &block(kind, &results, width);
            }
        }
    }
    text
}

/// Returns the numbers of a kind in columns. What they are follows in one column, which is wide
/// enough for most lines even on 80 columns.
fn block(kind: &NumberKind, results: &[&Reproduced], width: usize) -> String {
    let row = |value: &dyn Fn(&Column) -> String| {
        let (numbers, texts): (Vec<_>, Vec<_>) =
            (kind.columns.iter()).partition(|(heading, _)| is_number(heading));
        let texts: Vec<_> = texts.into_iter().map(value).collect();
        let texts = texts.into_iter().filter(|text| !text.is_empty());
        let texts = texts.collect::<Vec<_>>().join("; ");
        let numbers = numbers.into_iter().map(value);
        numbers.chain([texts]).collect::<Vec<_>>()
    };
    let headings = row(&|(heading, _)| (*heading).to_owned());
    let rows = results
        .iter()
        .map(|result| row(&|(_, value)| value(result)));
    let text_at = headings.len() - 1;
    Table::new(headings, rows, [text_at]).text(Some(width))
}

pub(super) fn is_number(heading: &str) -> bool {
    matches!(
        heading,
        "published" | "simulated" | "error" | "has to be" | "holds"
    )
}

/// Returns the reproduction as CSV, with a line for each number. Figures are left out.
pub fn csv(reproduction: &Reproduction) -> String {
    let fields = |result: &Reproduced| {
        let shape = result.shape.as_ref();
        [
            result.parameter("paper").to_owned(),
            result.name.clone(),
            result.quantity.clone(),
            result.parameter("conditions").to_owned(),
            result.parameter("machine").to_owned(),
            result.source.clone(),
            result.unit.clone(),
            or_empty(result.published),
            name_in_json(result.reading),
            result.kept_back.to_string(),
            or_empty(shape.and_then(|shape| shape.at_least)),
            or_empty(shape.and_then(|shape| shape.at_most)),
            or_empty(result.value),
            or_empty(result.error_percent),
            or_empty(result.holds),
            result.served_for_calibration.to_string(),
            or_empty(result.not_simulated.as_ref()),
            or_empty(result.failed.as_ref()),
            or_empty(result.relation.map(name_in_json)),
            follows_from(result),
        ]
    };
    lines(CSV_HEADER, reproduction.results.iter().map(fields))
}

pub(super) fn summary(reproduction: &Reproduction) -> Vec<String> {
    let summary = &reproduction.summary;
    let mut sentences = Vec::new();
    for (title, errors) in [
        ("Fitted", &summary.calibration),
        ("Derived", &summary.derived),
        ("Independent", &summary.independent),
    ] {
        sentences.extend(errors_in_words(errors).map(|words| format!("{title}: {words}")));
    }
    if summary.predictions > 0 {
        let numbers = count(summary.predictions, "number");
        sentences.push(format!("Predictions: {numbers} that the papers keep back"));
    }
    if summary.not_simulated > 0 {
        let numbers = count(summary.not_simulated, "number");
        sentences.push(format!("Not simulated: {numbers}"));
    }
    let envelope = &reproduction.envelope;
    if envelope.trust.trustworthy && !envelope.complete {
        sentences.push("Not complete: the run ended early".to_owned());
    }
    let failed = envelope.trust.reasons.iter();
    sentences.extend(failed.map(|reason| format!("Failed: {reason}")));
    sentences
}

fn errors_in_words(errors: &Errors) -> Option<String> {
    let mut parts = Vec::new();
    if let (Some(median), Some(worst), Some(name)) =
        (errors.median_percent, errors.worst_percent, &errors.worst)
    {
        parts.push(format!(
            "{}, median error {median:.1} %, worst {worst:.1} % ({name}), within 5 %: {}, within 10 %: \
             {}, within 25 %: {}",
            count(errors.numbers, "number"),
            errors.within_5_percent,
            errors.within_10_percent,
            errors.within_25_percent
        ));
    }
    if errors.shapes > 0 {
        let (holding, all) = (errors.shapes_that_hold, errors.shapes);
        parts.push(format!("shapes that hold: {holding} of {all}"));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn conditions(result: &Reproduced) -> String {
    let machine = result.parameter("machine");
    match result.parameter("conditions") {
        "" => machine.to_owned(),
        conditions => format!("{machine}, {conditions}"),
    }
}

fn published(result: &Reproduced) -> String {
    let Some(value) = result.published else {
        return if result.kept_back {
            "kept back".to_owned()
        } else {
            String::new()
        };
    };
    let prefix = match result.reading {
        Published::Exact => "",
        Published::About => "~",
        Published::AtLeast => ">= ",
        Published::AtMost => "<= ",
    };
    format!("{prefix}{}", in_unit(value, &result.unit))
}

fn simulated(result: &Reproduced) -> String {
    match (result.value, &result.failed) {
        (Some(value), _) => in_unit(value, &result.unit),
        (None, Some(_)) => "failed".to_owned(),
        (None, None) => String::new(),
    }
}

/// Formats a value with its unit. Numbers below 1,000 have up to four digits, others no decimals.
fn in_unit(value: f64, unit: &str) -> String {
    let number = match value.abs() {
        _ if unit == "rank" => format!("{value:.0}"),
        size if size >= 1_000.0 => figures_of(value, 0),
        size if size >= 100.0 => figures_of(value, 1),
        size if size >= 10.0 => figures_of(value, 2),
        _ => figures_of(value, 3),
    };
    match unit {
        "rank" => number,
        unit => format!("{number} {unit}"),
    }
}

/// Formats a number with at most `decimals` decimals, without zeros at the end.
fn figures_of(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn error(result: &Reproduced) -> String {
    let error = result
        .error_percent
        .map(|percent| format!("{percent:+.1} %"));
    error.unwrap_or_default()
}

fn range(shape: &ShapeRange) -> String {
    match (shape.at_least, shape.at_most) {
        (Some(low), Some(high)) => format!("{} to {}", figures(low), figures(high)),
        (Some(low), None) => format!(">= {}", figures(low)),
        (None, Some(high)) => format!("<= {}", figures(high)),
        (None, None) => String::new(),
    }
}

fn holds(result: &Reproduced) -> String {
    match result.holds {
        Some(true) => "yes".to_owned(),
        Some(false) => "no".to_owned(),
        None => String::new(),
    }
}
