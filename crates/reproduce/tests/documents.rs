//! The tables of the pages on the simulated Cell must be the results of the simulation.
//!
//! Each table is in a page between `<!-- simulated: NAME -->` and `<!-- end -->`. The tests make
//! the tables again and compare them with the pages. This command renews the pages, and the commit
//! gives the reason for a changed figure:
//!
//! ```text
//! RENEW_FIGURES=1 cargo test --release -p cellworks-reproduce --test documents whole_page -- --ignored
//! ```

use std::collections::BTreeSet;
use std::{env, fs};

use cellworks_report::Environment;
use cellworks_report::reproduction::{
    CurvePoint, Errors, Published, Relation, Reproduced, ReproducedFigure, Reproduction, ShapeRange,
};
use cellworks_reproduce::{Extent, Moved, Paper, Reproducing, built_in, fitted, sensitivity};
use cellworks_sim::Description;
use similar::TextDiff;

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/simulated-cell.md");
const FIGURES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/simulated-figures.md"
);
const PAGES: [&str; 2] = [MODEL, FIGURES];
const RENEW: &str = "RENEW_FIGURES=1 cargo test --release -p cellworks-reproduce --test documents whole_page -- --ignored";

/// The papers that are simulated within seconds.
const QUICK: [&str; 3] = ["cellstats", "cellmt", "others"];
/// The papers that take longer to simulate.
const SLOW: [&str; 3] = ["cell-csp", "task-mapping", "jack-rabbit"];

#[test]
fn every_paper_is_quick_or_slow() {
    let named = QUICK.into_iter().chain(SLOW);
    assert_eq!(
        named.collect::<BTreeSet<_>>(),
        Paper::names().into_iter().collect()
    );
}

/// The name and the text of a table in a page.
type Table = (String, String);

#[test]
fn tables_of_quick_papers_are_what_the_simulation_gives() {
    let papers = QUICK.map(|name| reproduced(name, false));
    let mut tables: Vec<Table> = papers.iter().map(numbers).collect();
    tables.push(("fitted".to_owned(), fitted_to_what(&papers)));
    compare(&tables);
    totals_of_drawings_are_simulated(&papers[0]);
}

// Why it is ignored: the test above has the papers that are simulated in seconds, and is run each
// time. This one has all of them, which `.ci/run` has no time for. `.ci/long` runs it in release.
#[test]
#[ignore = "it simulates for a quarter of an hour: .ci/long runs it"]
fn tables_of_the_whole_page_are_what_the_simulation_gives() {
    let quick = QUICK.map(|name| reproduced(name, false));
    let slow = SLOW.map(|name| reproduced(name, true));
    let all: Vec<&Reproduction> = quick.iter().chain(&slow).collect();
    let mut tables: Vec<Table> = all.iter().map(|paper| numbers(paper)).collect();
    tables.push(("fitted".to_owned(), fitted_to_what(&quick)));
    tables.push(("summary".to_owned(), summary(&all)));
    tables.push(("sensitivity".to_owned(), sensitivities()));
    let of_channels = slow[0].figures.iter();
    tables.extend(of_channels.map(|of| (format!("figure {}", of.number), curves(of))));
    let named: usize = PAGES
        .map(|page| read(page).matches("<!-- simulated: ").count())
        .iter()
        .sum();
    assert_eq!(
        named,
        tables.len(),
        "every table of the pages is made afresh"
    );
    compare(&tables);
}

fn read(page: &str) -> String {
    fs::read_to_string(page).expect("the page is there")
}

/// Fails if a table in the pages differs from the table of the same name in `tables`.
#[track_caller]
fn compare(tables: &[Table]) {
    let mut left: Vec<&Table> = tables.iter().collect();
    for path in PAGES {
        let page = read(path);
        let mut fresh = page.clone();
        left.retain(|(name, text)| {
            let marker = format!("<!-- simulated: {name} -->\n");
            let Some((before, after)) = fresh.split_once(&marker) else {
                return true;
            };
            let (_, after) = after.split_once("<!-- end -->").expect("each table ends");
            fresh = format!("{before}{marker}{text}<!-- end -->{after}");
            false
        });
        if fresh == page {
            continue;
        }
        if env::var_os("RENEW_FIGURES").is_some() {
            fs::write(path, fresh).expect("the page can be written");
            continue;
        }
        let difference = TextDiff::from_lines(&page, &fresh);
        panic!(
            "{path} (-) differs from a fresh run (+):\n{}\nIf that is meant, renew the pages, and say in the \
             commit why:\n  {RENEW}",
            difference.unified_diff().context_radius(0)
        );
    }
    let names: Vec<&str> = left.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.is_empty(), "no page has the tables {names:?}");
}

/// Each drawing of the page on the model ends with a sum, which is a simulated number.
#[track_caller]
fn totals_of_drawings_are_simulated(cellstats: &Reproduction) {
    let simulated = |name: &str| {
        let mut results = cellstats.results.iter();
        let number = results.find(|result| result.name == name);
        number
            .and_then(|number| number.value)
            .expect("it is simulated")
    };
    // An exchange is a word in each direction.
    let word = simulated("spe-mailbox-cell1") / 2.0;
    for (drawing, total) in [
        ("A GET of 128 bytes", simulated("get-private-128")),
        ("A word in a mailbox", word),
    ] {
        let page = read(MODEL);
        let (_, after) = page.split_once(&format!("### {drawing}")).unwrap();
        let drawn = after.split("```").nth(1).unwrap();
        let last = drawn.trim_end().lines().last().unwrap().trim();
        assert_eq!(last, format!("{total:.1}"), "{drawing}");
    }
}

fn reproduced(name: &str, figures: bool) -> Reproduction {
    let paper = Paper::built_in(name).unwrap();
    let extent = Extent {
        figures,
        takes_long: figures,
    };
    let mut reproducing = Reproducing::of(vec![paper], extent, &built_in).unwrap();
    reproducing.simulate(&built_in);
    let found = reproducing.report(environment());
    assert!(found.envelope.complete, "{:?}", found.envelope.trust);
    found
}

/// Makes an empty environment, because no table shows the environment.
fn environment() -> Environment {
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

/// The numbers of a paper that one table shows, and the columns of the table.
struct Kind {
    title: &'static str,
    belongs: fn(&Reproduced) -> bool,
    columns: &'static [Column],
}

const KINDS: [Kind; 8] = [
    Kind {
        title: "Fitted",
        belongs: |row| is(row, Relation::Fitted, false),
        columns: &[
            ID,
            QUANTITY,
            PUBLISHED,
            SIMULATED,
            ERROR,
            ("what was fitted", follows_from),
        ],
    },
    Kind {
        title: "Fitted, shapes",
        belongs: |row| is(row, Relation::Fitted, true),
        columns: &[
            ID,
            RULE,
            RANGE,
            SIMULATED,
            HOLDS,
            ("what was fitted", follows_from),
        ],
    },
    Kind {
        title: "Derived",
        belongs: |row| is(row, Relation::Derived, false),
        columns: &[
            ID,
            QUANTITY,
            PUBLISHED,
            SIMULATED,
            ERROR,
            ("follows from", follows_from),
        ],
    },
    Kind {
        title: "Derived, shapes",
        belongs: |row| is(row, Relation::Derived, true),
        columns: &[
            ID,
            RULE,
            RANGE,
            SIMULATED,
            HOLDS,
            ("follows from", follows_from),
        ],
    },
    Kind {
        title: "Independent",
        belongs: |row| is(row, Relation::Independent, false),
        columns: &[ID, QUANTITY, PUBLISHED, SIMULATED, ERROR],
    },
    Kind {
        title: "Independent, shapes",
        belongs: |row| is(row, Relation::Independent, true),
        columns: &[ID, RULE, RANGE, SIMULATED, HOLDS],
    },
    Kind {
        title: "Predictions",
        belongs: |row| row.kept_back && row.not_simulated.is_none(),
        columns: &[ID, QUANTITY, SIMULATED],
    },
    Kind {
        title: "Not simulated",
        belongs: |row| row.not_simulated.is_some(),
        columns: &[
            ID,
            QUANTITY,
            PUBLISHED,
            ("why not", |row| {
                row.not_simulated.clone().unwrap_or_default()
            }),
        ],
    },
];

type Column = (&'static str, fn(&Reproduced) -> String);

const ID: Column = ("id", |row| format!("`{}`", row.name));
const QUANTITY: Column = ("quantity", quantity);
const PUBLISHED: Column = ("published", published);
const SIMULATED: Column = ("simulated", simulated);
const ERROR: Column = ("error", |row| {
    let percent = row.error_percent.map(|error| format!("{error:+.1} %"));
    percent.unwrap_or_default()
});
const RULE: Column = ("rule", |row| {
    let rule = row.shape.as_ref().map(|shape| shape.rule.clone());
    let rule = rule.unwrap_or_default();
    match conditions(row) {
        "" => rule,
        conditions => format!("{rule} ({conditions})"),
    }
});
const RANGE: Column = ("has to be", |row| {
    row.shape.as_ref().map(range).unwrap_or_default()
});
const HOLDS: Column = ("holds", |row| {
    let holds = if row.holds == Some(true) {
        "yes"
    } else {
        "**no**"
    };
    holds.to_owned()
});

fn is(row: &Reproduced, relation: Relation, shape: bool) -> bool {
    row.relation == Some(relation) && row.shape.is_some() == shape
}

fn follows_from(row: &Reproduced) -> String {
    row.follows_from.clone().unwrap_or_default()
}

/// Makes the table of a paper's numbers, with a part for each kind.
fn numbers(of: &Reproduction) -> Table {
    let mut text = String::new();
    for kind in &KINDS {
        let rows: Vec<&Reproduced> = of
            .results
            .iter()
            .filter(|row| (kind.belongs)(row))
            .collect();
        if rows.is_empty() {
            continue;
        }
        text += &format!("\n**{}**\n\n", kind.title);
        let headings: Vec<String> = kind
            .columns
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect();
        let cells = |row: &&Reproduced| kind.columns.iter().map(|(_, cell)| cell(row)).collect();
        text += &table(&headings, rows.iter().map(cells));
    }
    (of.papers[0].name.clone(), text + "\n")
}

/// The columns of words. All other columns hold numbers, which are aligned to the right.
const WORDS: [&str; 12] = [
    "",
    "fitted to",
    "follows from",
    "holds",
    "id",
    "number",
    "parameter",
    "quantity",
    "relation",
    "rule",
    "what was fitted",
    "why not",
];

/// Writes a Markdown table.
fn table(headings: &[String], rows: impl Iterator<Item = Vec<String>>) -> String {
    let rule = headings.iter().map(|heading| {
        if WORDS.contains(&heading.as_str()) {
            "---"
        } else {
            "---:"
        }
    });
    let mut text = format!("| {} |\n", headings.join(" | "));
    text += &format!("|{}|\n", rule.collect::<Vec<_>>().join("|"));
    rows.fold(text, |text, row| {
        text + &format!("| {} |\n", row.join(" | "))
    })
}

/// Writes the quantity with its circumstances, and with the machine unless it is a QS20.
fn quantity(row: &Reproduced) -> String {
    let machine = row.parameters["machine"].as_str().unwrap_or_default();
    let machine = if machine == "qs20" { "" } else { machine };
    let parts = [&*row.quantity, conditions(row), machine];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("; ")
}

fn conditions(row: &Reproduced) -> &str {
    row.parameters["conditions"].as_str().unwrap_or_default()
}

fn published(row: &Reproduced) -> String {
    if let Some(shape) = &row.shape {
        return range(shape);
    }
    let Some(value) = row.published else {
        return "kept back".to_owned();
    };
    let reading = match row.reading {
        Published::Exact => "",
        Published::About => "about ",
        Published::AtLeast => "at least ",
        Published::AtMost => "at most ",
    };
    format!("{reading}{}", in_unit(value.to_string(), &row.unit))
}

fn simulated(row: &Reproduced) -> String {
    let Some(value) = row.value else {
        return String::new();
    };
    let digits = if row.unit == "rank" {
        value.to_string()
    } else {
        digits(value)
    };
    in_unit(digits, &row.unit)
}

fn in_unit(number: String, unit: &str) -> String {
    match unit {
        "rank" => format!("rank {number}"),
        unit => format!("{number} {unit}"),
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

/// Writes a value with four digits, because no published number has more.
fn digits(value: f64) -> String {
    let whole = value.abs().log10().floor() as i32 + 1;
    let decimals = (4 - whole).clamp(0, 3) as usize;
    format!("{value:.decimals$}")
}

/// Writes the fitted parameters of a QS20, and the numbers to which each parameter was fitted.
fn fitted_to_what(papers: &[Reproduction]) -> String {
    let qs20 = Description::built_in("qs20").unwrap();
    let numbers = || papers.iter().flat_map(|paper| &paper.results);
    let mut rows = Vec::new();
    for (parameter, fitted_to) in fitted(&qs20) {
        let mut named = format!("`{parameter}`");
        let mut words = fitted_to.clone();
        for row in numbers().filter(|row| row.follows_from.as_ref() == Some(&parameter)) {
            let outcome = match row.shape {
                Some(_) => (HOLDS.1)(row),
                None => (ERROR.1)(row),
            };
            rows.push(vec![
                std::mem::take(&mut named),
                std::mem::take(&mut words),
                format!("`{}`", row.name),
                published(row),
                simulated(row),
                outcome,
            ]);
        }
    }
    let headings = [
        "parameter",
        "fitted to",
        "number",
        "published",
        "simulated",
        "error, or holds",
    ];
    format!(
        "\n{}\n",
        table(&headings.map(str::to_owned), rows.into_iter())
    )
}

/// Summarizes the errors of all papers: by relation, and, for independent numbers, by paper.
fn summary(papers: &[&Reproduction]) -> String {
    let all: Vec<Reproduced> = papers
        .iter()
        .flat_map(|paper| paper.results.clone())
        .collect();
    let all = cellworks_report::reproduction::ReproductionSummary::of(&all);
    let mut rows = vec![
        in_a_row("fitted, all papers".to_owned(), &all.calibration),
        in_a_row("derived, all papers".to_owned(), &all.derived),
        in_a_row("**independent, all papers**".to_owned(), &all.independent),
    ];
    for paper in papers {
        let name = format!("independent, `{}`", paper.papers[0].name);
        rows.push(in_a_row(name, &paper.summary.independent));
    }
    let headings = [
        "relation",
        "errors",
        "median",
        "worst",
        "within 5 %",
        "within 10 %",
        "within 25 %",
        "shapes",
        "that hold",
    ];
    format!(
        "\n{}\n",
        table(&headings.map(str::to_owned), rows.into_iter())
    )
}

fn in_a_row(name: String, errors: &Errors) -> Vec<String> {
    let percent = |error: Option<f64>| error.map(|it| format!("{it:.1} %")).unwrap_or_default();
    let worst = errors.worst.as_ref().map(|worst| format!(" (`{worst}`)"));
    vec![
        name,
        errors.numbers.to_string(),
        percent(errors.median_percent),
        percent(errors.worst_percent) + &worst.unwrap_or_default(),
        errors.within_5_percent.to_string(),
        errors.within_10_percent.to_string(),
        errors.within_25_percent.to_string(),
        errors.shapes.to_string(),
        errors.shapes_that_hold.to_string(),
    ]
}

/// Writes a row for each curve of a figure, with microseconds or ratios.
fn curves(of: &ReproducedFigure) -> String {
    let value = |point: &CurvePoint| match point.speed_up {
        Some(times) => format!("{times:.2}"),
        None => format!("{:.2}", point.latency_ns / 1e3),
    };
    let mut text = String::new();
    for panel in &of.panels {
        let at = panel.curves[0]
            .points
            .iter()
            .map(|point| match &*of.against {
                "operations" => format!("{} MFLOP", point.x as f64 / 1e6),
                _ if point.x == 1 => "1 SPE".to_owned(),
                _ => format!("{} SPEs", point.x),
            });
        let headings: Vec<String> = std::iter::once(String::new()).chain(at).collect();
        let rows = panel.curves.iter().map(|curve| {
            let values = curve.points.iter().map(value);
            std::iter::once(curve.name.clone()).chain(values).collect()
        });
        text += &format!("\n{}:\n\n{}", panel.title, table(&headings, rows));
    }
    text + "\n"
}

/// The smallest change, in per cent, that is shown as a number.
const SHOWN_FROM: f64 = 0.05;

/// Writes the change of each known number when a fitted parameter of a QS20 grows by a tenth.
fn sensitivities() -> String {
    let qs20 = Description::built_in("qs20").unwrap();
    let mut parameters: Vec<Moved> = Vec::new();
    let mut relations = Vec::new();
    for paper in QUICK.map(|name| Paper::built_in(name).unwrap()) {
        let moved = sensitivity(&paper, &qs20).unwrap();
        let number = |id: &str| paper.numbers.iter().find(|number| number.id == id).unwrap();
        let changes = moved[0].changes.iter();
        relations.extend(changes.map(|change| number(&change.number).relation.clone().unwrap()));
        if parameters.is_empty() {
            parameters = moved;
        } else {
            for (all, more) in parameters.iter_mut().zip(moved) {
                all.changes.extend(more.changes);
            }
        }
    }
    let letters: Vec<String> = ('A'..='Z')
        .take(parameters.len())
        .map(String::from)
        .collect();
    let names = parameters
        .iter()
        .zip(&letters)
        .map(|(row, letter)| vec![letter.clone(), format!("`{}`", row.parameter)]);
    let mut text = format!(
        "\n{}",
        table(&["".to_owned(), "parameter".to_owned()], names)
    );
    let headings: Vec<String> = std::iter::once("number".to_owned())
        .chain(letters.clone())
        .collect();
    type IsIn = fn(&cellworks_reproduce::Relation) -> bool;
    let groups: [(&str, IsIn); 3] = [
        ("Fitted", |it| {
            matches!(it, cellworks_reproduce::Relation::Fitted(_))
        }),
        ("Derived", |it| {
            matches!(it, cellworks_reproduce::Relation::Derived(_))
        }),
        ("Independent", |it| {
            *it == cellworks_reproduce::Relation::Independent
        }),
    ];
    for (title, is_in) in groups {
        let those = (0..relations.len()).filter(|at| is_in(&relations[*at]));
        let rows = those.map(|at| {
            let name = format!("`{}`", parameters[0].changes[at].number);
            let moved = parameters
                .iter()
                .map(|row| percent(row.changes[at].percent));
            std::iter::once(name).chain(moved).collect()
        });
        text += &format!("\n**{title}**\n\n{}", table(&headings, rows));
    }
    text + "\n"
}

fn percent(change: f64) -> String {
    if change.abs() < SHOWN_FROM {
        return String::new();
    }
    format!("{change:+.1}")
}
