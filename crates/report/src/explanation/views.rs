//! The difference of two placements as a table, as CSV and as a page.

use maud::html;

use super::{ExplainedPair, ExplanationReport, LinkLoad, picture};
use crate::columns::Table;
use crate::csv::lines;
use crate::html::{Part, page_of};
use crate::placement::{amount, assumption, listed, on_costs};
use crate::table::cautions;
use crate::text::{bold, count, figures, whole, wrapped};

pub(super) const CSV_HEADER: &str =
    "from,to,volume,from_a,to_a,from_b,to_b,cost_a,cost_b,difference\n";

/// The largest number of rows of a table for people. Rows with smaller differences are left out.
const SHOWN: usize = 20;

/// Returns the difference as tables of at most `width` columns. Titles contain ANSI styles.
pub fn table(report: &ExplanationReport, width: usize) -> String {
    let title = format!("{}: {}", bold(&names(report)), sizes(report));
    let mut text = wrapped(&title, "  ", width) + &cautions(&report.envelope, width);
    text.push('\n');
    text += &numbers(report).text(Some(width));
    text += &assumption(report.assumed.as_deref(), width);
    for part in parts(report) {
        text += &format!("\n{}: ", bold(part.title));
        text += &wrapped(&part.about, "", width);
        text += &part.table.text(Some(width));
    }
    text
}

fn names(report: &ExplanationReport) -> String {
    on_costs(&report.file, report.costs.as_deref())
}

fn sizes(report: &ExplanationReport) -> String {
    let tasks = report
        .placements
        .first()
        .map_or(0, |one| one.placement.len());
    let places = report.envelope.machine.spes;
    format!("{}, {}", count(tasks, "task"), count(places, "place"))
}

fn numbers(report: &ExplanationReport) -> Table {
    let placements = ["A", "B"].into_iter().zip(&report.placements);
    let costs = [report.result("cost_a"), report.result("cost_b")];
    let mut rows: Vec<[String; 3]> = placements
        .zip(costs)
        .map(|((letter, placement), cost)| {
            let places = listed(&placement.placement, " ");
            let about = if placement.name.replace(',', " ") == places {
                places
            } else {
                format!("{}: {places}", placement.name)
            };
            [
                format!("cost of {letter}"),
                cost.map(amount).unwrap_or_default(),
                about,
            ]
        })
        .collect();
    if let Some(difference) = report.result("difference") {
        let times = report.result("ratio").map_or_else(String::new, |ratio| {
            format!("B costs {} times as much as A", figures(ratio))
        });
        rows.push(["difference".to_owned(), signed(difference), times]);
    }
    let contended = [report.result("contended_a"), report.result("contended_b")];
    if let [Some(a), Some(b)] = contended {
        let about = "the busiest link, and a fiftieth of the busiest task".to_owned();
        rows.push(["contention of A".to_owned(), amount(a), about]);
        rows.push(["contention of B".to_owned(), amount(b), String::new()]);
    }
    Table::new([""; 0], rows, [0, 2])
}

fn signed(number: f64) -> String {
    match number {
        0.0 => "0".to_owned(),
        _ if number < 0.0 => format!("-{}", amount(-number)),
        _ => format!("+{}", amount(number)),
    }
}

struct Rows {
    id: &'static str,
    title: &'static str,
    about: String,
    table: Table,
}

/// Returns tables of the pairs of tasks and of the links that cause the difference.
fn parts(report: &ExplanationReport) -> Vec<Rows> {
    let pairs = report
        .pairs
        .iter()
        .filter(|pair| pair.cost_a != pair.cost_b);
    let links = report
        .links
        .iter()
        .filter(|link| link.load_a != link.load_b);
    let place = |letter: usize, task: usize| place_of(report, letter, task);
    let pair = |pair: &ExplainedPair| {
        let way = |letter| format!("{} to {}", place(letter, pair.from), place(letter, pair.to));
        [
            format!("{} to {}", pair.from, pair.to),
            amount(pair.volume),
            way(0),
            amount(pair.cost_a),
            way(1),
            amount(pair.cost_b),
            signed(pair.cost_b - pair.cost_a),
        ]
    };
    let link = |link: &LinkLoad| {
        [
            link.name.clone(),
            amount(link.load_a),
            amount(link.load_b),
            signed(link.load_b - link.load_a),
        ]
    };
    let about = |differ: usize, all: &str, verb: &str| match differ {
        0 => format!("all {all} {verb} the same with both placements"),
        1..=SHOWN => format!("{differ} of {all} differ"),
        _ => format!(
            "{} of {all} differ; the {SHOWN} that differ most, JSON has all",
            whole(differ)
        ),
    };
    let (differ, carry) = (pairs.clone().count(), links.clone().count());
    vec![
        Rows {
            id: "pairs",
            title: "Pairs of tasks",
            about: about(differ, &count(report.pairs.len(), "pair"), "cost"),
            table: Table::new(
                [
                    "tasks",
                    "volume",
                    "in A",
                    "cost",
                    "in B",
                    "cost",
                    "difference",
                ],
                pairs.take(SHOWN).map(pair),
                [0, 2, 4],
            ),
        },
        Rows {
            id: "links",
            title: "Links and ports",
            about: about(
                carry,
                &format!("{} links and ports", report.links.len()),
                "carry",
            ),
            table: Table::new(
                ["", "volume in A", "volume in B", "difference"],
                links.take(SHOWN).map(link),
                [0],
            ),
        },
    ]
}

/// Returns the name of the place of a task. `letter` is 0 for placement A and 1 for placement B.
fn place_of(report: &ExplanationReport, letter: usize, task: usize) -> String {
    let place = report.placements[letter].placement[task];
    let names = &report.envelope.machine.spe_places;
    names
        .get(place)
        .cloned()
        .unwrap_or_else(|| format!("place {place}"))
}

/// Returns the difference as CSV, with a line for each pair of tasks. docs/csv.md describes the
/// columns.
pub fn csv(report: &ExplanationReport) -> String {
    let place = |letter, task| place_of(report, letter, task);
    let fields = |pair: &ExplainedPair| {
        [
            pair.from.to_string(),
            pair.to.to_string(),
            pair.volume.to_string(),
            place(0, pair.from),
            place(0, pair.to),
            place(1, pair.from),
            place(1, pair.to),
            pair.cost_a.to_string(),
            pair.cost_b.to_string(),
            (pair.cost_b - pair.cost_a).to_string(),
        ]
    };
    lines(CSV_HEADER, report.pairs.iter().map(fields))
}

/// Returns the difference as an HTML page that needs no other file and no network.
pub fn html(report: &ExplanationReport) -> String {
    let mut all = vec![
        Part::new("results", "Results", numbers(report).page()),
        Part::new("picture", "Picture", picture::picture(report)),
    ];
    all.extend(parts(report).into_iter().map(|part| {
        let (id, title) = (part.id, part.title);
        let content = html! {
            p { (part.about) }
            @if !part.table.rows.is_empty() { (part.table.page()) }
        };
        Part::new(id, title, content)
    }));
    let about = html! {
        (sizes(report))
        @if let Some(assumed) = &report.assumed { p { (assumed) } }
    };
    page_of(&report.envelope, &names(report), about, all)
}
