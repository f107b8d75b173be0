//! Two placements as drawings: a circle of places, and lines between communicating places.
//!
//! ```text
//!       ( 1 )───( 3 )          a circle: a place, and below it the tasks at this place
//!      /     \      \          a line: its width is the volume in both directions, its
//!    ( 0 )    \    ( 5 )       colour is the cost of a unit of volume
//! ```

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use colorous::VIRIDIS;
use maud::{Markup, html};

use super::{ExplainedPlacement, ExplanationReport};
use crate::placement::{amount, listed};
use crate::scale::Scale;
use crate::text::figures;

const SIZE: f64 = 360.0;
const RADIUS: f64 = 138.0;
/// The widths of the lines with the largest and with the smallest volume.
const WIDEST: f64 = 7.0;
const THINNEST: f64 = 1.5;
/// The largest number of places that fit on the circle.
const PLACES_MAX: usize = 128;

/// The volume between two places, both directions together, and its cost.
#[derive(Clone, Copy, Default)]
struct Between {
    volume: f64,
    cost: f64,
}

/// Draws the two placements. Returns `None` if no places communicate.
pub(super) fn picture(report: &ExplanationReport) -> Option<Markup> {
    let lines: Vec<_> = (0..2).map(|letter| between(report, letter)).collect();
    let all = || lines.iter().flat_map(BTreeMap::values);
    let unit_costs = || all().map(|line| line.cost / line.volume);
    let scale = Scale {
        low_ns: unit_costs().fold(f64::INFINITY, f64::min),
        high_ns: unit_costs().fold(0.0, f64::max),
        below: false,
        above: false,
    };
    let most = all().map(|line| line.volume).fold(0.0, f64::max);
    if most == 0.0 {
        return None;
    }
    let places = report.around.len();
    if places > PLACES_MAX {
        return Some(html! {
            p { (places) " places are not drawn: more than " (PLACES_MAX) " do not fit beside each other." }
        });
    }
    Some(html! {
        p {
            "Circles are places, and t0 is task 0. A line joins two places whose tasks communicate. The wider it is, the larger the volume, both \
             directions together. Its colour is the cost of a unit of volume there: "
            (swatch(VIRIDIS.eval_continuous(0.0))) " " (figures(scale.low_ns)) " to "
            (swatch(VIRIDIS.eval_continuous(1.0))) " " (figures(scale.high_ns)) "."
        }
        div.charts {
            @for (letter, placement) in report.placements.iter().enumerate() {
                (drawing(report, letter, placement, &lines[letter], &scale, most))
            }
        }
    })
}

fn swatch(colour: colorous::Color) -> Markup {
    let fill = format!("#{colour:x}");
    html! {
        svg.key viewBox="0 0 28 10" aria-hidden="true" {
            line x1="1" y1="5" x2="27" y2="5" stroke=(fill) stroke-width="5" {}
        }
    }
}

/// Returns the volume and cost for pairs of places. `letter` is 0 for placement A and 1 for B.
fn between(report: &ExplanationReport, letter: usize) -> BTreeMap<(usize, usize), Between> {
    let place = |task: usize| report.placements[letter].placement[task];
    let mut lines: BTreeMap<_, Between> = BTreeMap::new();
    for pair in &report.pairs {
        let (from, to) = (place(pair.from), place(pair.to));
        if from != to {
            let line = lines.entry((from.min(to), from.max(to))).or_default();
            line.volume += pair.volume;
            line.cost += [pair.cost_a, pair.cost_b][letter];
        }
    }
    lines
}

fn drawing(
    report: &ExplanationReport,
    letter: usize,
    placement: &ExplainedPlacement,
    lines: &BTreeMap<(usize, usize), Between>,
    scale: &Scale,
    most: f64,
) -> Markup {
    let places = report.around.len();
    let mut at = vec![(0.0, 0.0); places];
    for (number, place) in report.around.iter().enumerate() {
        let angle = TAU * number as f64 / places as f64;
        let middle = SIZE / 2.0;
        at[*place] = (middle + RADIUS * angle.sin(), middle - RADIUS * angle.cos());
    }
    let mut tasks = vec![Vec::new(); places];
    for (task, place) in placement.placement.iter().enumerate() {
        tasks[*place].push(task);
    }
    let name = |place: usize| &report.envelope.machine.spe_places[place];
    // Small circles leave room for the names of their neighbours.
    let radius = (RADIUS * TAU / places as f64 / 2.4).min(19.0);
    let title = format!("{}: {}", ["A", "B"][letter], placement.name);
    html! {
        figure.chart {
            figcaption { (title) }
            svg viewBox={ "0 0 " (SIZE) " " (SIZE) } role="img" aria-label=(title) {
                @for ((from, to), line) in lines {
                    @let width = THINNEST + (WIDEST - THINNEST) * line.volume / most;
                    @let colour = format!("#{:x}", scale.colour(line.cost / line.volume));
                    line x1=(px(at[*from].0)) y1=(px(at[*from].1)) x2=(px(at[*to].0))
                        y2=(px(at[*to].1)) stroke=(colour) stroke-width=(px(width))
                        data-hover={
                            (name(*from)) " and " (name(*to)) ": volume " (amount(line.volume))
                            ", cost " (amount(line.cost))
                        } {}
                }
                @for (place, (x, y)) in at.iter().enumerate() {
                    g.place data-hover={
                        (name(place)) ": "
                        @if tasks[place].is_empty() { "no task" }
                        @else { "task " (listed(&tasks[place], ", ")) }
                    } {
                        circle cx=(px(*x)) cy=(px(*y)) r=(px(radius)) {}
                        @if radius > 9.0 {
                            text x=(px(*x)) y=(px(*y + 4.0)) text-anchor="middle" {
                                (short(name(place)))
                            }
                        }
                        @if let [task, ..] = tasks[place][..] && radius > 9.0 {
                            @let (out_x, out_y) = outside(*x, *y, radius + 9.0);
                            text.label x=(px(out_x)) y=(px(out_y + 4.0)) text-anchor="middle" {
                                "t" (task) @if tasks[place].len() > 1 { "+" }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns a point that is `by` units farther from the middle of the drawing than the given point.
fn outside(x: f64, y: f64, by: f64) -> (f64, f64) {
    let middle = SIZE / 2.0;
    let factor = (RADIUS + by) / RADIUS;
    (
        middle + (x - middle) * factor,
        middle + (y - middle) * factor,
    )
}

fn short(name: &str) -> &str {
    name.rsplit(' ').next().unwrap_or(name)
}

fn px(number: f64) -> String {
    format!("{number:.1}")
}
