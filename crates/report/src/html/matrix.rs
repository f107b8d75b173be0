//! Heat maps of matrices.
//!
//! A matrix of up to 16 SPEs is a table with numbers. A larger matrix is a canvas with a pixel for
//! each pair, because HTML elements for the 330,000 pairs of 576 SPEs would be too many.

use cellworks_stats::Matrix;
use colorous::VIRIDIS;
use maud::{Markup, PreEscaped, html};
use serde::Serialize;

use crate::heat_map::classes;
use crate::machine_info::MachineInfo;
use crate::report::Report;
use crate::scale::{Scale, wants_dark_text};
use crate::text::{self, matrix_notes, matrix_title, time};

/// The largest number of SPEs for which the cells have room for numbers.
const NUMBERED_MAX: usize = 16;
/// The number of colours. More colours cannot be distinguished.
const COLOURS: usize = 64;
/// The preferred number of SPEs that are named at an edge of a canvas.
const TICKS: usize = 8;

/// The data from which the script of the page paints a canvas.
#[derive(Serialize)]
struct Painting<'a> {
    low_ns: f64,
    high_ns: f64,
    colours: Vec<String>,
    names: Vec<String>,
    /// The times in nanoseconds, a row for each sending SPE.
    rows: &'a [Vec<Option<Rounded>>],
}

/// A time that is written in few digits, because a page can have 330,000 times. Times below 1,000
/// ns have at most four digits, other times are whole nanoseconds.
#[derive(Clone, Copy)]
struct Rounded(f64);

impl Serialize for Rounded {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ns = self.0;
        if ns >= 1_000.0 {
            serializer.serialize_u64(ns.round() as u64)
        } else {
            let scale = if ns >= 100.0 { 10.0 } else { 100.0 };
            serializer.serialize_f64((ns * scale).round() / scale)
        }
    }
}

pub(super) fn figures(report: &Report) -> Markup {
    html! { @for matrix in &report.matrices { (figure(matrix, &report.envelope.machine)) } }
}

fn figure(matrix: &Matrix, machine: &MachineInfo) -> Markup {
    let spes = matrix.one_way_ns.len();
    let scale = Scale::of(matrix);
    let unit = scale.map_or("ns", |scale| scale.unit().name);
    html! {
        h3 { (matrix_title(matrix)) span.what { ": one way, in " (unit) } }
        p.note { (matrix_notes(matrix)) }
        @match scale {
            Some(scale) => {
                figure.heat {
                    @if spes <= NUMBERED_MAX {
                        (numbered(matrix, machine, &scale))
                    } @else {
                        (painted(matrix, machine, &scale))
                    }
                    (legend(&scale))
                }
            }
            None => p { "No pair was measured." }
        }
        @if !matrix.classes.is_empty() { (classes(matrix, " (ns)", text::figures).page()) }
        @if let Some(sentences) = text::nearest_and_farthest(matrix, machine) { p { (sentences) } }
    }
}

fn numbered(matrix: &Matrix, machine: &MachineInfo, scale: &Scale) -> Markup {
    html! {
        div.wide {
            table.cells {
                thead {
                    tr {
                        th { "from \\ to" }
                        @for to in 0..matrix.one_way_ns.len() { th scope="col" { (text::spe_in_short(machine, to)) } }
                    }
                }
                tbody {
                    @for (from, row) in matrix.one_way_ns.iter().enumerate() {
                        tr {
                            th scope="row" { (text::spe(machine, from)) }
                            @for (to, ns) in row.iter().enumerate() {
                                (cell(from, to, *ns, machine, scale))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn cell(from: usize, to: usize, ns: Option<f64>, machine: &MachineInfo, scale: &Scale) -> Markup {
    let pair = format!("{} to {}", text::spe(machine, from), text::spe(machine, to));
    let Some(ns) = ns else {
        return html! {
            td.blank data-hover=[(from != to).then(|| format!("{pair}: not measured"))] {}
        };
    };
    let colour = scale.colour(ns);
    let ink = if wants_dark_text(colour) {
        "#000"
    } else {
        "#fff"
    };
    html! {
        td style={ "background:#" (format!("{colour:x}")) ";color:" (ink) }
            data-hover={ (pair) ": " (time(ns)) } { (scale.unit().figures(ns)) }
    }
}

fn painted(matrix: &Matrix, machine: &MachineInfo, scale: &Scale) -> Markup {
    let spes = matrix.one_way_ns.len();
    let rounded = |row: &Vec<Option<f64>>| row.iter().map(|ns| ns.map(Rounded)).collect();
    let rows: Vec<Vec<Option<Rounded>>> = matrix.one_way_ns.iter().map(rounded).collect();
    let painting = Painting {
        low_ns: scale.low_ns,
        high_ns: scale.high_ns,
        colours: colours().collect(),
        names: (0..spes).map(|spe| text::spe(machine, spe)).collect(),
        rows: &rows,
    };
    let json = serde_json::to_string(&painting).expect("numbers and strings can be written");
    // A name with `</script>` would end the script element.
    let json = json.replace('<', "\\u003c");
    let step = spes.div_ceil(TICKS).next_power_of_two();
    let cpus = text::cpus(&machine.spe_places).filter(|_| machine.is_this_computer());
    let number = |spe: usize| match cpus.as_ref().and_then(|cpus| cpus.get(spe)) {
        Some(cpu) => *cpu as usize,
        None => spe,
    };
    let tick = |spe| {
        let middle = (spe as f64 + 0.5) / spes as f64;
        (number(spe), format!("{:.2}%", middle * 100.0))
    };
    let ticks = || (0..spes).step_by(step).map(tick);
    html! {
        div.painted {
            div.rows {
                span.label { "from SPE" }
                @for (spe, at) in ticks() { span.tick style={ "top:" (at) } { (spe) } }
            }
            canvas width=(spes) height=(spes) role="img" aria-label=(matrix_title(matrix)) {}
            div.columns {
                @for (spe, at) in ticks() { span.tick style={ "left:" (at) } { (spe) } }
                span.label { "to SPE" }
            }
            script type="application/json" { (PreEscaped(json)) }
        }
    }
}

/// Returns the colours of the scale, from fast to slow.
fn colours() -> impl Iterator<Item = String> {
    (0..COLOURS).map(|at| format!("#{:x}", VIRIDIS.eval_rational(at, COLOURS)))
}

fn legend(scale: &Scale) -> Markup {
    let gradient = colours().collect::<Vec<_>>().join(",");
    let (below, above) = (
        if scale.below { "≤ " } else { "" },
        if scale.above { "≥ " } else { "" },
    );
    if scale.near_ns.is_some() {
        let colour = |ns| format!("#{:x}", scale.colour(ns));
        return html! {
            figcaption.scale {
                @for ns in scale.shown_ns() {
                    div { span.sample style={ "background:" (colour(ns)) } {} (time(ns)) }
                }
                div { span.blank.sample {} "not measured" }
            }
        };
    }
    html! {
        figcaption.scale {
            div.bar style={ "background:linear-gradient(to right," (gradient) ")" } {}
            div.ends {
                span { (below) (time(scale.low_ns)) }
                span { (time(scale.middle_ns())) }
                span { (above) (time(scale.high_ns)) }
            }
            div { span.blank.sample {} "not measured" }
        }
    }
}
