//! A placement as drawings: places on a circle, in their groups, with lines between communicating
//! places.
//!
//! ```text
//!      ┌── node 0 ──┐
//!       ( 1 )───( 3 )          a circle: a place, and outside of it the tasks at this place
//!      /     \      \          a line: its width is the volume in both directions, its
//!    ( 0 )    \    ( 5 )       colour is the cost of a unit of volume
//! ```

use std::f64::consts::TAU;

use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use super::numbers::{amount, listed};
use crate::html::chart::px;
use crate::scale::Scale;
use crate::text::figures;

const SIZE: f64 = 360.0;
const RADIUS: f64 = 138.0;
/// The room for tasks to the left and to the right.
const MARGIN: f64 = 14.0;
/// The distance between the arcs of groups, and of the first of them from the places.
const BETWEEN_RINGS: f64 = 7.0;
const TO_RINGS: f64 = 47.0;
/// The widths of the lines with the largest and with the smallest volume.
const WIDEST: f64 = 7.0;
const THINNEST: f64 = 1.5;
/// What stands between the name of a node and the number of a CPU in the name of a place.
const ON_A_NODE: &str = " CPU ";
/// The height of the text in a circle, and the part of it that a letter is wide.
const TEXT: f64 = 12.0;
const WIDTH_OF_A_LETTER: f64 = 0.6;
/// The largest number of tasks that stand at a place.
const TASKS_SHOWN: usize = 4;
/// The largest number of places that fit on the circle.
pub const DRAWN_MAX: usize = 128;

/// Placements to be drawn beside each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlacementPicture {
    /// The names of the places, in their order on the circle. Each may stand for all places of a
    /// group, such as a node.
    pub places: Vec<String>,
    /// The groups of places, the innermost first: for each kind of group, the names of the groups
    /// in the order of the places, with the number of places of each.
    pub rings: Vec<Vec<(String, usize)>>,
    /// The placements.
    pub drawings: Vec<PictureDrawing>,
}

/// A placement of a picture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PictureDrawing {
    /// What stands above it.
    pub title: String,
    /// The cost, which stands there, too.
    pub cost: Option<f64>,
    /// The tasks of each place.
    pub tasks: Vec<Vec<usize>>,
    /// The lines between places.
    pub lines: Vec<PictureLine>,
}

/// What the tasks of two places send to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PictureLine {
    /// The two places, by their positions in `places` of the picture, the smaller first.
    pub places: [usize; 2],
    /// The volume, both directions together.
    pub volume: f64,
    /// The cost of this volume.
    pub cost: f64,
}

/// Draws the placements. Returns nothing if no places communicate.
pub(crate) fn draw(picture: &PlacementPicture) -> Markup {
    let all = || picture.drawings.iter().flat_map(|drawing| &drawing.lines);
    let unit_costs = || all().map(|line| line.cost / line.volume);
    let scale = Scale {
        low_ns: unit_costs().fold(f64::INFINITY, f64::min),
        high_ns: unit_costs().fold(0.0, f64::max),
        near_ns: None,
        below: false,
        above: false,
    };
    let most = all().map(|line| line.volume).fold(0.0, f64::max);
    let places = picture.places.len();
    if places > DRAWN_MAX {
        return html! {
            p { (places) " places are not drawn: more than " (DRAWN_MAX) " do not fit beside each other." }
        };
    }
    if most == 0.0 {
        return html! {};
    }
    html! {
        p {
            "Circles are places, and t0 is task 0. A line joins two places whose tasks communicate. The wider it is, the larger the volume, both \
             directions together. Its colour is the cost of a unit of volume there: "
            @if scale.low_ns < scale.high_ns {
                (swatch(scale.colour(scale.low_ns))) " " (figures(scale.low_ns)) " to "
                (swatch(scale.colour(scale.high_ns))) " " (figures(scale.high_ns)) "."
            } @else {
                (swatch(scale.colour(scale.low_ns))) " " (figures(scale.low_ns)) "."
            }
            @if let Some(place) = picture.places.iter().find(|place| place.contains(ON_A_NODE)) {
                " " (short(place)) " is " (place) "."
            }
            @if !picture.rings.is_empty() { " The arcs outside are groups of places." }
        }
        div.charts {
            @for one in &picture.drawings {
                (drawing(picture, one, &scale, most))
            }
        }
    }
}

fn swatch(colour: colorous::Color) -> Markup {
    let fill = format!("#{colour:x}");
    html! {
        svg.key viewBox="0 0 28 10" aria-hidden="true" {
            line x1="1" y1="5" x2="27" y2="5" stroke=(fill) stroke-width="5" {}
        }
    }
}

/// Returns the angle of each place. There is a gap between the groups of each kind.
fn angles(picture: &PlacementPicture) -> Vec<f64> {
    let mut steps = vec![1.0; picture.places.len()];
    for ring in &picture.rings {
        let mut first = 0;
        for (_, places) in ring {
            if ring.len() > 1
                && let Some(step) = steps.get_mut(first)
            {
                *step += 0.6;
            }
            first += places;
        }
    }
    let all: f64 = steps.iter().sum();
    let first = steps.first().copied().unwrap_or_default();
    let mut at = -first;
    let angle = |step: f64| {
        at += step;
        TAU * at / all
    };
    steps.into_iter().map(angle).collect()
}

fn point(angle: f64, radius: f64) -> (f64, f64) {
    let middle = SIZE / 2.0;
    (middle + radius * angle.sin(), middle - radius * angle.cos())
}

fn drawing(
    picture: &PlacementPicture,
    drawing: &PictureDrawing,
    scale: &Scale,
    most: f64,
) -> Markup {
    let PictureDrawing {
        title,
        cost,
        tasks,
        lines,
    } = drawing;
    let title = match cost {
        Some(cost) => format!("{title}: cost {}", amount(*cost)),
        None => title.clone(),
    };
    let rings = TO_RINGS + BETWEEN_RINGS * picture.rings.len() as f64;
    let outermost = if picture.rings.is_empty() {
        RADIUS
    } else {
        SIZE / 2.0 - rings
    };
    let ring = RADIUS.min(outermost);
    let angles = angles(picture);
    let at: Vec<(f64, f64)> = angles.iter().map(|angle| point(*angle, ring)).collect();
    let name = |place: usize| &picture.places[place];
    let nearest = angles
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .fold(TAU, f64::min);
    // Small circles leave room for the names of their neighbours.
    let radius = (ring * nearest / 2.4).min(19.0);
    html! {
        figure.chart {
            figcaption { (title) }
            svg viewBox={ (-MARGIN) " 0 " (SIZE + 2.0 * MARGIN) " " (SIZE) } role="img" aria-label=(title) {
                @for (number, groups) in picture.rings.iter().enumerate() {
                    (arcs(groups, &angles, nearest, ring + TO_RINGS + BETWEEN_RINGS * number as f64))
                }
                @for line in lines {
                    @let [from, to] = line.places;
                    @let width = THINNEST + (WIDEST - THINNEST) * line.volume / most;
                    @let colour = format!("#{:x}", scale.colour(line.cost / line.volume));
                    line x1=(px(at[from].0)) y1=(px(at[from].1)) x2=(px(at[to].0))
                        y2=(px(at[to].1)) stroke=(colour) stroke-width=(px(width))
                        data-hover={
                            (name(from)) " and " (name(to)) ": volume " (amount(line.volume))
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
                            @let text = short(name(place));
                            @let wide = text.chars().count() as f64 * WIDTH_OF_A_LETTER;
                            @let size = (1.8 * radius / wide).min(TEXT);
                            text x=(px(*x)) y=(px(*y + size / 3.0)) text-anchor="middle"
                                style={ "font-size:" (px(size)) "px" } { (text) }
                            @let lines = lines_of(&tasks[place]);
                            @let (out_x, out_y) = point(angles[place], ring + radius + 9.0);
                            @let first = out_y + 4.0 - 5.5 * lines.len().saturating_sub(1) as f64;
                            @for (number, line) in lines.iter().enumerate() {
                                text.label x=(px(out_x)) y=(px(first + 11.0 * number as f64))
                                    text-anchor="middle" { (line) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Draws an arc outside of each group.
fn arcs(groups: &[(String, usize)], angles: &[f64], nearest: f64, radius: f64) -> Markup {
    let mut first = 0;
    let arcs = groups.iter().map(|(name, places)| {
        let range = first..(first + places).min(angles.len());
        first = range.end;
        (name, range)
    });
    let arcs: Vec<_> = arcs.filter(|(_, range)| !range.is_empty()).collect();
    html! {
        @for (name, range) in arcs {
            @let (begin, end) = (angles[range.start] - 0.4 * nearest, angles[range.end - 1] + 0.4 * nearest);
            @let (x, y) = point(begin, radius);
            @let (to_x, to_y) = point(end, radius);
            @let large = if end - begin > TAU / 2.0 { 1 } else { 0 };
            path d={
                "M" (px(x)) " " (px(y)) " A" (px(radius)) " " (px(radius)) " 0 " (large) " 1 "
                (px(to_x)) " " (px(to_y))
            } fill="none" stroke="currentColor" stroke-width="3" data-hover=(name) {}
        }
    }
}

/// Returns the name of a place in a circle, such as `3` for CPU 3, and `1:3` for node 1 CPU 3.
fn short(name: &str) -> String {
    let last = |name: &str| name.rsplit(' ').next().unwrap_or(name).to_owned();
    match name.rsplit_once(ON_A_NODE) {
        Some((node, cpu)) => format!("{}:{cpu}", last(node)),
        None => last(name),
    }
}

/// Returns the tasks at a place, two in a line. If there are more than [`TASKS_SHOWN`], their
/// number stands in place of the last ones.
fn lines_of(tasks: &[usize]) -> Vec<String> {
    let shown = match tasks.len() {
        ..=TASKS_SHOWN => tasks.len(),
        _ => TASKS_SHOWN - 1,
    };
    let named = tasks[..shown].iter().map(|task| format!("t{task}"));
    let others = tasks.len() - shown;
    let more = (others > 0).then(|| format!("+{others}"));
    let words: Vec<String> = named.chain(more).collect();
    words.chunks(2).map(|pair| pair.join(" ")).collect()
}
