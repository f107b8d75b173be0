//! The page of a reproduction: numbers, and the figures of the papers from simulated numbers.

use cellworks_stats::figures::{bandwidth, size, time};
use maud::{Markup, html};

use super::views::{KINDS, is_number, of_kind, summary};
use super::{Curve, CurvePoint, Reproduced, ReproducedFigure, ReproducedPanel, Reproduction};
use crate::html::chart::{Axis, Chart, Point, Series, Spacing};
use crate::html::{Page, Part, facts, notice, short};
use crate::text::figures;
use crate::words::Words;

/// Returns the reproduction as an HTML page that needs no other file and no network.
pub fn html(reproduction: &Reproduction) -> String {
    let heading = match reproduction.papers.as_slice() {
        [paper] => format!("{}, simulated", paper.title),
        papers => format!("{} sources, simulated", papers.len()),
    };
    let parts = vec![
        Part::new("summary", "Summary", summarized(reproduction)),
        Part::new("numbers", "Numbers", numbers(reproduction)),
        Part::new("figures", "Figures", drawn(&reproduction.figures)),
        Part::new(
            "circumstances",
            "Machines and circumstances",
            circumstances(reproduction),
        ),
    ];
    Page {
        command: &reproduction.envelope.command,
        heading: &heading,
        about: html! {
            @for (at, paper) in reproduction.papers.iter().enumerate() {
                @if at > 0 { br; }
                b { (paper.name) } ": " (paper.title) ", " (paper.authors)
            }
        },
        words: Words::OF_A_CELL,
        notices: notice(
            "doubt",
            "Not everything was simulated",
            &reproduction.envelope.trust.reasons,
        ),
        parts,
    }
    .render()
}

fn summarized(reproduction: &Reproduction) -> Markup {
    html! {
        @for sentence in summary(reproduction) { p.sentence { (sentence) } }
        p.note {
            "An error is that of the simulated value, in per cent of the published one. Predictions are of \
             results that were published, but kept back while the machine's parameters were fitted."
        }
    }
}

fn numbers(reproduction: &Reproduction) -> Markup {
    html! {
        @for paper in &reproduction.papers {
            h3 { (paper.title) " " span.what { (paper.authors) } }
            @for kind in &KINDS {
                @let results = of_kind(reproduction, &paper.name, kind);
                @if !results.is_empty() {
                    details open[kind.title != "Not simulated"] {
                        summary { (kind.title) ": " (results.len()) }
                        p.note { (kind.about) }
                        div.wide {
                            table {
                                thead { tr {
                                    @for (heading, _) in kind.columns {
                                        th class=[(!is_number(heading)).then_some("left")] scope="col" { (heading) }
                                    }
                                    th.left scope="col" { "source" }
                                } }
                                tbody {
                                    @for result in results {
                                        tr data-hover=[rule(result)] {
                                            @for (heading, value) in kind.columns {
                                                td class=[(!is_number(heading)).then_some("left words")] { (value(result)) }
                                            }
                                            td.left { (result.source) }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn rule(result: &Reproduced) -> Option<&str> {
    let rule = result.shape.as_ref().map(|shape| shape.rule.as_str());
    rule.or(result.failed.as_deref())
}

fn drawn(figures: &[ReproducedFigure]) -> Markup {
    if figures.is_empty() {
        return html! {};
    }
    html! {
        p.note { "Drawn from the simulation, with the numbers that the figures in the papers have." }
        @for figure in figures {
            h3 { (called(figure)) " " span.what { (figure.title) ", " (figure.paper) } }
            div.charts {
                @for panel in &figure.panels {
                    @if let Some(chart) = speed_ups(figure, panel) {
                        (chart.render())
                    } @else {
                        (latency(figure, panel).render())
                    }
                }
                @for panel in &figure.panels {
                    @if let Some(chart) = bandwidths(figure, panel) { (chart.render()) }
                }
            }
        }
    }
}

/// Returns the name of a figure: `Figure 4`, `Figures 10 and 11`, or `Listings 7 to 9`.
fn called(figure: &ReproducedFigure) -> String {
    if figure.number.starts_with("Listing") {
        return figure.number.clone();
    }
    let one = figure.number.chars().all(|c| c.is_ascii_alphanumeric());
    format!("Figure{} {}", if one { "" } else { "s" }, figure.number)
}

fn latency(figure: &ReproducedFigure, panel: &ReproducedPanel) -> Chart {
    let height = |point: &CurvePoint| Some(point.latency_ns);
    let spacing = spacing(figure, panel, height);
    let y = Axis::new("time of one operation", spacing, |ns| short(&time(ns)));
    chart(figure, panel, "latency", y, height)
}

/// Draws the speed-ups, or returns `None` if there are none. If the horizontal axis is the number
/// of SPEs, the ideal speed-up is drawn, too.
fn speed_ups(figure: &ReproducedFigure, panel: &ReproducedPanel) -> Option<Chart> {
    let points = || panel.curves.iter().flat_map(|curve| &curve.points);
    points().find_map(|point| point.speed_up)?;
    let label = "times as fast as one process";
    let y = Axis::new(label, Spacing::Linear, |times| short(&figures(times)));
    let mut chart = chart(figure, panel, "speed-up", y, |point| point.speed_up);
    if figure.against == "spes" {
        let mut spes: Vec<u64> = points().map(|point| point.x).collect();
        spes.sort_unstable();
        spes.dedup();
        let ideal = |spes: u64| Point {
            x: spes as f64,
            y: spes as f64,
            bar: None,
            hover: format!("ideal, {spes} SPEs"),
        };
        chart.series.push(Series {
            name: "ideal".to_owned(),
            points: spes.into_iter().map(ideal).collect(),
        });
    }
    Some(chart)
}

/// Draws the bandwidths, or returns `None` if no data is moved.
fn bandwidths(figure: &ReproducedFigure, panel: &ReproducedPanel) -> Option<Chart> {
    let points = panel.curves.iter().flat_map(|curve| &curve.points);
    points
        .clone()
        .find_map(|point| point.bandwidth_bytes_per_s)?;
    let height = |point: &CurvePoint| point.bandwidth_bytes_per_s;
    let label = "bandwidth of all SPEs together (GB/s)";
    let y = Axis::new(label, spacing(figure, panel, height), |bytes_per_s| {
        short(&figures(bytes_per_s / 1e9))
    });
    Some(chart(figure, panel, "bandwidth", y, height))
}

/// Returns the spacing of the vertical axis. If the horizontal axis is linear, the vertical axis is
/// linear, too, so that linear growth is a straight line.
fn spacing(
    figure: &ReproducedFigure,
    panel: &ReproducedPanel,
    height: impl Fn(&CurvePoint) -> Option<f64>,
) -> Spacing {
    if horizontal(figure).0.spacing == Spacing::Whole {
        return Spacing::Linear;
    }
    let points = panel.curves.iter().flat_map(|curve| &curve.points);
    Spacing::of(points.filter_map(height))
}

fn chart(
    figure: &ReproducedFigure,
    panel: &ReproducedPanel,
    what: &str,
    y: Axis,
    height: impl Fn(&CurvePoint) -> Option<f64>,
) -> Chart {
    let series = |curve: &Curve| Series {
        name: curve.name.clone(),
        points: curve
            .points
            .iter()
            .filter_map(|point| {
                Some(Point {
                    x: point.x as f64,
                    y: height(point)?,
                    bar: None,
                    hover: hover(figure, curve, point),
                })
            })
            .collect(),
    };
    Chart {
        title: format!("{}, {what}", panel.title),
        x: horizontal(figure).0,
        y,
        series: panel.curves.iter().map(series).collect(),
    }
}

/// Returns the horizontal axis, and the unit of its numbers.
fn horizontal(figure: &ReproducedFigure) -> (Axis, &'static str) {
    let whole: fn(f64) -> String = |number| format!("{number:.0}");
    let few: fn(f64) -> String = |number| short(&figures(number));
    let bytes: fn(f64) -> String = |bytes| size(bytes as usize);
    let (label, spacing, tick, unit) = match figure.against.as_str() {
        "block_bytes" => ("size of a block", Spacing::Log2, bytes, "bytes"),
        "threads" => ("number of threads", Spacing::Whole, whole, "threads"),
        "cycles_per_byte" => {
            let label = "computation (cycles a byte)";
            (label, Spacing::Log10, few, "cycles a byte")
        }
        "operations" => {
            let label = "floating-point operations in a step";
            (label, Spacing::Log10, few, "operations")
        }
        "list_elements" => ("elements of the list", Spacing::Log2, whole, "elements"),
        _ => ("number of SPEs", Spacing::Whole, whole, "SPEs"),
    };
    (Axis::new(label, spacing, tick), unit)
}

fn hover(figure: &ReproducedFigure, curve: &Curve, point: &CurvePoint) -> String {
    let at = match horizontal(figure).1 {
        "bytes" => size(point.x as usize),
        unit => format!("{} {unit}", point.x),
    };
    let mut text = format!("{}, {at}\n{}", curve.name, time(point.latency_ns));
    if let Some(times) = point.speed_up {
        text += &format!("\n{} times as fast", figures(times));
    }
    if let Some(bytes_per_s) = point.bandwidth_bytes_per_s {
        text += &format!("\n{}", bandwidth(bytes_per_s as u64));
    }
    text
}

fn circumstances(reproduction: &Reproduction) -> Markup {
    html! {
        dl.facts {
            @for (what, value) in facts(&reproduction.envelope.machine, &reproduction.envelope.environment) {
                dt { (what) } dd { (value) }
            }
            @for machine in &reproduction.other_machines {
                dt { "Another machine" } dd { (machine.name) " (" (machine.kind) ")" }
            }
        }
    }
}
