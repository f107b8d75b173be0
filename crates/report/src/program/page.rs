//! The HTML page of a program.

use cellworks_stats::figures::{bandwidth, size, time};
use maud::{Markup, html};

use super::views::{blocks, common, in_unit};
use super::{FigureAxis, ProgramFigure, ProgramReport};
use crate::html::chart::{Axis, Chart, Point, Series, Spacing, WIDE_RATIO};
use crate::html::{Part, about, counters, not_measured, page_of, short};
use crate::text::{self, parts_of};
use crate::words::Words;

/// The largest number of threads or SPEs for which an axis has ticks at whole numbers.
const WHOLE_MAX: f64 = 64.0;

/// Returns the report as an HTML page that needs no other file and no network.
pub fn html(report: &ProgramReport) -> String {
    let machine = &report.envelope.machine;
    let heading = format!("{} on {}", report.program, machine.name);
    let parts = vec![
        Part::new("results", "Results", results(report)),
        Part::new("figures", "Curves", figures(report)),
        Part::new("counters", "Counters", counters(report.counters.as_ref())),
        not_measured(&report.not_measured),
    ];
    let about = html! { (Words::of(machine).say(&parts_of(machine))) (about(machine)) };
    page_of(&report.envelope, &heading, about, parts)
}

fn results(report: &ProgramReport) -> Markup {
    html! {
        @if !report.results.is_empty() {
            p.note { (common(report)) }
            @for table in blocks(report) { (table.page()) }
        }
    }
}

fn figures(report: &ProgramReport) -> Markup {
    html! {
        @if !report.figures.is_empty() {
            div.charts { @for figure in &report.figures { (chart(figure).render()) } }
        }
    }
}

fn chart(figure: &ProgramFigure) -> Chart {
    let all = || figure.curves.iter().flat_map(|curve| &curve.points);
    let x = axis(&figure.x, &all().map(|point| point.0).collect::<Vec<_>>());
    let y = axis(&figure.y, &all().map(|point| point.1).collect::<Vec<_>>());
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
                    hover(&figure.x, at),
                    hover(&figure.y, height)
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

/// Makes an axis for the given numbers. A logarithmic axis is chosen by the ratio of the largest to
/// the smallest number above 0, because 0 has no logarithm.
fn axis(of: &FigureAxis, numbers: &[f64]) -> Axis {
    let above_0 = || numbers.iter().copied().filter(|number| *number > 0.0);
    let most = above_0().fold(0.0, f64::max);
    let least = above_0().fold(f64::INFINITY, f64::min);
    let is_whole = numbers.iter().all(|number| number.fract() == 0.0);
    let is_wide = most > WIDE_RATIO * least && numbers.iter().all(|number| *number >= 0.0);
    let spacing = match of.unit.as_str() {
        "threads" | "SPEs" if is_whole && most <= WHOLE_MAX => Spacing::Whole,
        "bytes" if is_wide => Spacing::Log2,
        // On a linear axis, ideal speed-ups are a straight line and ranks are equally far apart.
        "times" | "rank" => Spacing::Linear,
        _ if is_wide => Spacing::Log10,
        _ => Spacing::Linear,
    };
    let tick: fn(f64) -> String = match of.unit.as_str() {
        "ns" => |ns| short(&time(ns)),
        "bytes/s" => |bytes_per_s| short(&bandwidth(bytes_per_s as u64)),
        "bytes" => |bytes| size(bytes as usize),
        "threads" | "SPEs" | "rank" => |number| format!("{number:.0}"),
        _ => |number| short(&text::figures(number)),
    };
    Axis::new(&of.label, spacing, tick)
}

fn hover(axis: &FigureAxis, number: f64) -> String {
    match axis.unit.as_str() {
        unit @ ("threads" | "SPEs") => format!("{number} {unit}"),
        "rank" => format!("rank {number:.0}"),
        unit @ ("ns" | "bytes" | "bytes/s") => in_unit(number, unit),
        unit => format!("{} {unit}", in_unit(number, unit)),
    }
}
