//! A placement as a table, as CSV and as a page.

use cellworks_stats::figures::time;
use maud::{Markup, html};

use super::numbers::{amount, listed};
use super::trials::ascending;
use super::{PairVolume, PlacementReport, PlacementTrials, Quality, ToolCommand, draw};
use crate::columns::Table;
use crate::csv::{lines, or_empty};
use crate::html::{Part, page_of};
use crate::table::cautions;
use crate::text::{bold, count, figures, name_in_json, ranges, whole, wrapped};

pub(super) const CSV_HEADER: &str = "file,costs,tasks,places,seed,cost,bound,gap,optimal,quality,average,worst,\
time_to_best_ns,time_ns,iterations,placement,cpus,nodes\n";

/// Returns the placement as tables of at most `width` columns. Titles contain ANSI styles.
pub fn table(report: &PlacementReport, width: usize) -> String {
    let title = format!("{}: {}", bold(&names(report)), sizes(report));
    let mut text = wrapped(&title, "  ", width) + &cautions(&report.envelope, width);
    text.push('\n');
    text += &Table::new([""; 0], numbers(report), [0, 1, 2]).text(Some(width));
    if let Some(trials) = &report.trials {
        text += &format!("\n{}: ", bold("Tried"));
        text += &wrapped(&tried(trials), "", width);
        text += &ways(trials).text(Some(width));
    }
    if !report.placement.is_empty() {
        text += &format!(
            "\n{}: the place of task 0, of task 1 and so on\n",
            bold("Placement")
        );
        text += &wrapped(&listed(&report.placement, " "), "", width);
    }
    if !report.heaviest.is_empty() {
        text += &format!("\n{}: {}\n", bold("Volumes"), about_pairs(report));
        text += &pairs(report).text(Some(width));
    }
    let on_nodes = nodes(report);
    if !on_nodes.is_empty() {
        text += &format!(
            "\n{}: the tasks of each node, and the CPU of each\n",
            bold("Nodes")
        );
        for (node, [tasks, cpus]) in on_nodes {
            text += &wrapped(
                &format!("{node}: tasks {tasks} on CPUs {cpus}"),
                "  ",
                width,
            );
        }
    }
    text += &assumption(report.problem.assumed.as_deref(), width);
    if !report.commands.is_empty() {
        text += &format!("\n{}: how programs are told the CPUs\n", bold("Binding"));
    }
    if let Some(binding) = &report.binding {
        let cpus = listed(&binding.cpus, " ");
        text += &wrapped(
            &format!("CPUs of task 0, of task 1 and so on: {cpus}"),
            "  ",
            width,
        );
    }
    for ToolCommand { tool, words, note } in &report.commands {
        text += &wrapped(&format!("{tool}: {words}  # {note}"), "  ", width);
    }
    text
}

/// Returns the tasks of each node that has tasks, and their CPUs. Empty for one computer.
fn nodes(report: &PlacementReport) -> Vec<(&str, [String; 2])> {
    let mut of_nodes = vec![[Vec::new(), Vec::new()]; report.nodes.len()];
    for (task, cpu) in report.cpus.iter().enumerate() {
        if let Some([tasks, cpus]) = of_nodes.get_mut(cpu.node) {
            tasks.push(task);
            cpus.push(cpu.cpu);
        }
    }
    let named = report.nodes.iter().zip(of_nodes);
    let used = named.filter(|(_, [tasks, _])| !tasks.is_empty());
    used.map(|(node, lists)| (node.as_str(), lists.map(|list| listed(&list, " "))))
        .collect()
}

fn about_pairs(report: &PlacementReport) -> String {
    let (all, shown) = (report.pairs, report.heaviest.len());
    if all > shown {
        format!(
            "the {shown} largest of {} that tasks send to each other",
            whole(all)
        )
    } else {
        "what tasks send to each other".to_owned()
    }
}

/// Returns a row for each of the pairs with the largest volumes.
fn pairs(report: &PlacementReport) -> Table {
    let names = &report.envelope.machine.spe_places;
    let place = |task: usize| {
        let place = report.placement.get(task).copied().unwrap_or_default();
        names
            .get(place)
            .cloned()
            .unwrap_or_else(|| place.to_string())
    };
    let row = |pair: &PairVolume| {
        [
            format!("{} to {}", pair.from, pair.to),
            amount(pair.volume),
            format!("{} to {}", place(pair.from), place(pair.to)),
            amount(pair.cost),
        ]
    };
    let headings = ["tasks", "volume", "places", "cost"];
    Table::new(headings, report.heaviest.iter().map(row), [0, 2])
}

fn names(report: &PlacementReport) -> String {
    let problem = &report.problem;
    on_costs(&problem.file, problem.costs.as_deref())
}

/// Returns what was assumed about the numbers of CPUs, for a table. Empty if nothing was.
pub(crate) fn assumption(assumed: Option<&str>, width: usize) -> String {
    assumed.map_or_else(String::new, |assumed| {
        wrapped(&format!("\n{}: {assumed}", bold("Assumed")), "", width)
    })
}

/// Returns the name of the file with the tasks, and of the file with the costs if there is one.
pub(crate) fn on_costs(file: &str, costs: Option<&str>) -> String {
    match costs {
        Some(costs) => format!("{file} on {costs}"),
        None => file.to_owned(),
    }
}

fn sizes(report: &PlacementReport) -> String {
    let problem = &report.problem;
    let mut text = format!(
        "{}, {}",
        count(problem.tasks, "task"),
        count(problem.places, "place")
    );
    if problem.capacity > 1 {
        text += &format!(", up to {} tasks at each", problem.capacity);
    }
    for fixed in &problem.fixed {
        text += &format!(", task {} fixed to place {}", fixed.task, fixed.place);
    }
    if !problem.forbidden.is_empty() {
        let places = problem.forbidden.iter().map(|place| *place as u32);
        let plural = if places.len() == 1 { "" } else { "s" };
        text += &format!(", place{plural} {} forbidden", ranges(places.collect()));
    }
    text
}

fn quality(report: &PlacementReport) -> &'static str {
    match report.quality {
        Quality::Proven => "proven: nothing of the cost can be saved",
        Quality::AsGoodAsKnown if report.result("gap").is_some_and(|gap| gap <= 0.01) => {
            "as good as known methods get: not more of the cost can be saved"
        }
        Quality::AsGoodAsKnown => {
            "as good as known methods get: most of the search found nothing better, and the bound is weak"
        }
        Quality::NotKnown => "not known how good it is: a longer search may save a part of this",
    }
}

/// Returns the name, the value and the meaning of each number.
fn numbers(report: &PlacementReport) -> Vec<[String; 3]> {
    let limit = report.time_limit_s;
    let meaning = if report.optimal {
        "no placement costs less: this one is optimal"
    } else {
        "no placement costs less than this"
    };
    let iterations = report.result("iterations").unwrap_or_default();
    let of_search = format!(
        "of at most {limit} s, {} iterations, seed {}",
        whole(iterations as usize),
        report.seed
    );
    let cost = report.result("cost");
    let [average, in_order, worst] = ["average", "in_order", "worst"].map(|of| report.result(of));
    let compared = |what: &str, value: Option<f64>| match (value, cost) {
        (Some(value), Some(cost)) if cost > 0.0 => {
            format!("{what}: {} times as much", figures(value / cost))
        }
        _ => String::new(),
    };
    let most = if report.worst_proven {
        "no placement costs more"
    } else {
        "the most that was found for a placement"
    };
    let unit = report.problem.unit.as_ref();
    let summed = format!(
        "volume times cost{} of each pair, both directions added up",
        unit.map_or_else(String::new, |unit| format!(" in {unit}"))
    );
    let by_chance = compared("what a placement by chance costs on average", average);
    let ordered = compared("what the tasks cost in the order of the places", in_order);
    let badly = compared(most, worst);
    let rows: [(&str, Option<String>, &str); 8] = [
        ("cost", cost.map(amount), &summed),
        ("bound", report.result("bound").map(amount), meaning),
        (
            "gap",
            report
                .result("gap")
                .map(|gap| format!("{} %", figures(gap * 100.0))),
            quality(report),
        ),
        ("by chance", average.map(amount), &by_chance),
        ("in order", in_order.map(amount), &ordered),
        ("chosen badly", worst.map(amount), &badly),
        ("found after", report.result("time_to_best").map(time), ""),
        ("searched for", report.result("time").map(time), &of_search),
    ];
    rows.into_iter()
        .filter_map(|(name, value, about)| Some([name.to_owned(), value?, about.to_owned()]))
        .collect()
}

/// Returns the placement as CSV: a header and one line. docs/csv.md describes the columns.
pub fn csv(report: &PlacementReport) -> String {
    let problem = &report.problem;
    let cpus: Vec<usize> = report.cpus.iter().map(|place| place.cpu).collect();
    let nodes: Vec<usize> = report.cpus.iter().map(|place| place.node).collect();
    let fields = [
        problem.file.clone(),
        or_empty(problem.costs.as_ref()),
        problem.tasks.to_string(),
        problem.places.to_string(),
        report.seed.to_string(),
        or_empty(report.result("cost")),
        or_empty(report.result("bound")),
        or_empty(report.result("gap")),
        report.optimal.to_string(),
        name_in_json(report.quality),
        or_empty(report.result("average")),
        or_empty(report.result("worst")),
        or_empty(report.result("time_to_best")),
        or_empty(report.result("time")),
        or_empty(report.result("iterations")),
        listed(&report.placement, " "),
        listed(&cpus, " "),
        listed(if report.nodes.is_empty() { &[] } else { &nodes }, " "),
    ];
    lines(CSV_HEADER, [fields])
}

/// Returns the placement as an HTML page that needs no other file and no network.
pub fn html(report: &PlacementReport) -> String {
    let numbers = Table::new([""; 0], numbers(report), [0, 2]);
    let parts = vec![
        Part::new(
            "picture",
            "Picture",
            html! { @if let Some(picture) = &report.picture { (draw(picture)) } },
        ),
        Part::new("results", "Results", numbers.page()),
        Part::new("tried", "Tried", trials(report)),
        Part::new("placement", "Placement", placement(report)),
        Part::new("volumes", "Volumes", volumes(report)),
        Part::new("binding", "Binding", binding(report)),
    ];
    let about = html! { (sizes(report)) };
    page_of(&report.envelope, &names(report), about, parts)
}

fn tried(trials: &PlacementTrials) -> String {
    let mut text = format!(
        "`{}` ran {} in each way, in turn",
        trials.command.join(" "),
        count(trials.unbound_ns.len(), "time")
    );
    if let Some([least, gain, most]) = trials.gain().map(|gain| gain.map(figures)) {
        text += &format!(
            "; without a binding it takes {gain} times as long as with the placement that is kept ({least} to {most})"
        );
    }
    text
}

/// Returns a row for the runs without a binding, and a row for each placement.
fn ways(trials: &PlacementTrials) -> Table {
    let row = |cpus: String, cost: Option<f64>, ns: &[f64]| {
        let (sorted, median) = ascending(ns);
        let shown = |ns: Option<&f64>| ns.map_or_else(String::new, |ns| time(*ns));
        let cost = cost.map_or_else(String::new, amount);
        [
            cpus,
            cost,
            time(median),
            shown(sorted.first()),
            shown(sorted.last()),
        ]
    };
    let mut rows = vec![row("no binding".to_owned(), None, &trials.unbound_ns)];
    for (number, trial) in trials.placements.iter().enumerate() {
        let kept = if number == trials.fastest() {
            " (kept)"
        } else {
            ""
        };
        rows.push(row(
            listed(&trial.cpus, " ") + kept,
            Some(trial.cost),
            &trial.ns,
        ));
    }
    let headings = ["CPUs", "cost", "median", "fastest", "slowest"];
    Table::new(headings, rows, [0])
}

fn trials(report: &PlacementReport) -> Markup {
    html! {
        @if let Some(trials) = &report.trials { p { (tried(trials)) } (ways(trials).page()) }
    }
}

fn placement(report: &PlacementReport) -> Markup {
    let cpus = Some(&report.cpus).filter(|cpus| cpus.len() == report.placement.len());
    let nodes = cpus.filter(|_| !report.nodes.is_empty());
    let row = |(task, place): (usize, &usize)| {
        let node = nodes.map(|cpus| report.nodes[cpus[task].node].clone());
        let cpu = cpus.map(|cpus| cpus[task].cpu.to_string());
        let ends = [task.to_string(), place.to_string()];
        ends.into_iter().chain(node).chain(cpu)
    };
    let headings = [
        Some("task"),
        Some("place"),
        nodes.and(Some("node")),
        cpus.and(Some("CPU")),
    ];
    let rows = report.placement.iter().enumerate().map(row);
    let table = Table::new(headings.into_iter().flatten(), rows, []);
    html! { @if !table.rows.is_empty() { (table.page()) } }
}

fn volumes(report: &PlacementReport) -> Markup {
    html! {
        @if !report.heaviest.is_empty() { p { (about_pairs(report)) } (pairs(report).page()) }
    }
}

fn binding(report: &PlacementReport) -> Markup {
    html! {
        @if !report.commands.is_empty() {
            @if let Some(assumed) = &report.problem.assumed { p { (assumed) } }
            dl.facts {
                @for ToolCommand { tool, words, note } in &report.commands {
                    dt { (tool) }
                    dd { code { (words) } " " span.words { (note) } }
                }
            }
        }
    }
}
