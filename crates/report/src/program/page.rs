//! What a program found as a page.

use cellworks_stats::figures::{bandwidth, size, time};
use maud::{Markup, html};

use super::views::{Block, blocks, common, in_unit, notes};
use super::{FigureAxis, ProgramFigure, ProgramReport};
use crate::html::chart::{Axis, Chart, Point, Series, Spacing};
use crate::html::{Page, Part, facts, notice, short};
use crate::text::{figures, parts_of};

/// From this ratio of the largest to the smallest on, an axis is logarithmic.
const WIDE_RATIO: f64 = 10.0;

/// Up to so many whole numbers have a tick each.
const WHOLE_MAX: f64 = 64.0;

/// The report as an HTML page that needs no other file and no network.
pub fn html(report: &ProgramReport) -> String {
    let heading = format!("{} on {}", report.program, report.machine.name);
    let mut parts = vec![Part {
        id: "results",
        heading: "Results",
        content: results(report),
    }];
    if !report.figures.is_empty() {
        parts.push(Part {
            id: "figures",
            heading: "Curves",
            content: html! { div.charts { @for figure in &report.figures { (chart(figure).render()) } } },
        });
    }
    if let Some(counters) = &report.counters {
        parts.push(Part {
            id: "counters",
            heading: "Counters",
            content: crate::html::counters(counters),
        });
    }
    parts.push(Part {
        id: "circumstances",
        heading: "Machine and circumstances",
        content: html! {
            dl.facts {
                @for (what, value) in facts(&report.machine, &report.environment) {
                    dt { (what) } dd { (value) }
                }
            }
        },
    });
    Page {
        title: format!("{heading} – cellworks {}", report.command),
        command: &report.command,
        heading: &heading,
        about: html! { (parts_of(&report.machine)) },
        notices: html! {
            @for (heading, sentences) in notes(report) {
                @let kind = if heading == "Warnings" { "warning" } else { "doubt" };
                (notice(kind, heading, &sentences))
            }
        },
        parts,
    }
    .render()
}

fn results(report: &ProgramReport) -> Markup {
    html! {
        p.note { (common(report)) }
        @for block in blocks(report) { (rows(&block)) }
    }
}

fn rows(block: &Block) -> Markup {
    html! {
        div.wide {
            table {
                thead { tr { @for heading in &block.headings { th scope="col" { (heading) } } } }
                tbody {
                    @for row in &block.rows { tr { @for cell in row { td { (cell) } } } }
                }
            }
        }
    }
}

fn chart(figure: &ProgramFigure) -> Chart {
    let all = || figure.curves.iter().flat_map(|curve| &curve.points);
    let x = axis(figure.x, &all().map(|point| point.0).collect::<Vec<_>>());
    let y = axis(figure.y, &all().map(|point| point.1).collect::<Vec<_>>());
    let is_log = matches!(x.spacing, Spacing::Log2 | Spacing::Log10);
    let series = figure.curves.iter().map(|curve| Series {
        name: curve.name.clone(),
        points: curve
            .points
            .iter()
            .filter(|point| !is_log || point.0 > 0.0)
            .map(|&(at, height)| Point {
                x: at,
                y: height,
                bar: None,
                hover: format!(
                    "{}\n{}\n{}",
                    curve.name,
                    hover(figure.x, at),
                    hover(figure.y, height)
                ),
            })
            .collect(),
    });
    Chart {
        title: figure.title.clone(),
        series: series.collect(),
        x,
        y,
    }
}

/// An axis that has room for all these numbers. Nothing at all has no logarithm, and is left out where the
/// others need one.
fn axis(of: FigureAxis, numbers: &[f64]) -> Axis {
    let above_0 = || numbers.iter().copied().filter(|number| *number > 0.0);
    let most = above_0().fold(0.0, f64::max);
    let least = above_0().fold(f64::INFINITY, f64::min);
    let is_whole = numbers.iter().all(|number| number.fract() == 0.0);
    let is_wide = most > WIDE_RATIO * least && numbers.iter().all(|number| *number >= 0.0);
    let spacing = match of.unit {
        "threads" | "SPEs" if is_whole && most <= WHOLE_MAX => Spacing::Whole,
        "bytes" if is_wide => Spacing::Log2,
        // The ideal speed-up is a straight line.
        "times" => Spacing::Linear,
        _ if is_wide => Spacing::Log10,
        _ => Spacing::Linear,
    };
    let tick: fn(f64) -> String = match of.unit {
        "ns" => |ns| short(&time(ns)),
        "bytes/s" => |bytes_per_s| short(&bandwidth(bytes_per_s as u64)),
        "bytes" => |bytes| size(bytes as usize),
        "threads" | "SPEs" => |number| format!("{number:.0}"),
        _ => |number| short(&figures(number)),
    };
    Axis {
        label: of.label,
        spacing,
        tick,
        shows: Vec::new(),
    }
}

fn hover(axis: FigureAxis, number: f64) -> String {
    match axis.unit {
        unit @ ("threads" | "SPEs") => format!("{number} {unit}"),
        unit @ ("ns" | "bytes" | "bytes/s") => in_unit(number, unit),
        unit => format!("{} {unit}", in_unit(number, unit)),
    }
}
