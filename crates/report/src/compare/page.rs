//! Comparisons as a page.
//!
//! ```text
//!       0.8         1        1.25     the ends of a logarithmic axis, on which most ratios lie
//!        │    ├──●──┤          │      a ratio with its interval
//!        │          │      ────┼─►    a ratio beyond the end of the axis
//! ```

use cellworks_stats::figures::plain;
use maud::{Markup, html};

use super::views::{self, Extreme, Group, extremes, factor, groups, in_unit, left_out, summary};
use super::{Comparison, Ratio, RatioInterval};
use crate::columns::Table;
use crate::html::chart::px;
use crate::html::{Page, Part, facts, notice};
use crate::text::{name_in_json, parts_of};

/// The possible upper ends of the axis. The shortest axis that contains nearly all ratios is used,
/// so that small differences are visible.
const ENDS: [f64; 7] = [1.1, 1.25, 1.5, 2.0, 4.0, 10.0, 100.0];
/// The share of the ratios that may lie beyond the ends of the axis.
const BEYOND: f64 = 0.05;

/// The size of the drawing of a ratio. A unit is about a pixel.
const WIDTH: f64 = 240.0;
const HEIGHT: f64 = 18.0;
const MARGIN: f64 = 8.0;

/// Returns the comparison as an HTML page that needs no other file and no network.
pub fn html(comparison: &Comparison) -> String {
    let heading = views::heading(comparison);
    let groups: Vec<Group<'_>> = groups(comparison).collect();
    let axis = Axis::for_share(&comparison.results, 1.0 - BEYOND);
    let parts = vec![
        Part::new("summary", "Summary", summarized(comparison, &groups)),
        Part::new("ratios", "Ratios", ratios(&groups, &axis)),
        Part::new("not-compared", "Not compared", not_compared(comparison)),
        Part::new(
            "circumstances",
            "Machines and circumstances",
            circumstances(comparison),
        ),
    ];
    Page {
        command: &comparison.envelope.command,
        heading: &heading,
        about: about(comparison),
        notices: notices(comparison),
        words: views::words(comparison),
        parts,
    }
    .render()
}

fn about(comparison: &Comparison) -> Markup {
    let compared = &comparison.compared;
    let other = &comparison.other;
    let sides = [
        ("A", &compared.runs_of_a, &comparison.envelope.machine),
        ("B", &compared.runs_of_b, &other.machine),
    ];
    html! {
        @for (at, (letter, runs, machine)) in sides.into_iter().enumerate() {
            @if at > 0 { br; }
            b { (letter) } ": " (runs.join(", ")) ", " (machine.name) ", " (views::words(comparison).say(&parts_of(machine)))
        }
    }
}

fn notices(comparison: &Comparison) -> Markup {
    let is_sound = comparison.envelope.trust.trustworthy && comparison.envelope.complete;
    let (kind, heading) = if is_sound {
        ("warning", "What may explain differences")
    } else {
        ("doubt", "Not to be relied upon")
    };
    notice(kind, heading, &comparison.notes)
}

fn summarized(comparison: &Comparison, groups: &[Group<'_>]) -> Markup {
    let sentences = summary(comparison);
    if sentences.is_empty() {
        return html! {};
    }
    let extremes = extremes(groups);
    // The axis covers the ratios of all rows of the tables below.
    let ratios = extremes.iter().flat_map(|(_, list)| list);
    let axis = Axis::for_share(ratios.map(|one| one.ratio), 1.0);
    html! {
        @for sentence in sentences { p.sentence { (sentence) } }
        @for (title, extremes) in extremes {
            h3 { (title) }
            (with_drawings(&measurements(&extremes), extremes.iter().map(|one| one.ratio), &axis))
        }
    }
}

fn ratios(groups: &[Group<'_>], axis: &Axis) -> Markup {
    html! {
        p.note {
            "A dot is B divided by A; of times, what lies to the right became slower. The line through it \
             goes from end to end of what the intervals of both medians allow, and has a colour if that \
             does not include 1: the intervals do not overlap."
        }
        @for group in groups {
            h3 {
                code { (group.title) }
                @if !group.common.is_empty() { " " span.what { (group.common) } }
            }
            (with_drawings(&group.table(), group.ratios, axis))
        }
    }
}

fn measurements(extremes: &[Extreme<'_>]) -> Table {
    let row = |Extreme { what, ratio }: &Extreme<'_>| {
        let [a, b] = [ratio.a, ratio.b].map(|value| in_unit(value, &ratio.value_unit));
        [what.clone(), a, b, factor(ratio.value)]
    };
    Table::new(
        ["measurement", "A", "B", "B/A"],
        extremes.iter().map(row),
        [0],
    )
}

fn with_drawings<'a>(
    table: &Table,
    ratios: impl IntoIterator<Item = &'a Ratio>,
    axis: &Axis,
) -> Markup {
    let drawings = ratios.into_iter().map(|ratio| axis.drawing(ratio));
    table.page_with(
        &[axis.heading()]
            .into_iter()
            .chain(drawings)
            .collect::<Vec<_>>(),
    )
}

fn not_compared(comparison: &Comparison) -> Markup {
    html! {
        @for (title, left_out) in left_out(comparison) {
            details open[left_out.len() <= LISTED_MAX] {
                summary { (title) ": " (left_out.len()) }
                ul { @for what in left_out { li { (what) } } }
            }
        }
    }
}

const LISTED_MAX: usize = 12;

fn circumstances(comparison: &Comparison) -> Markup {
    let a = facts(
        &comparison.envelope.machine,
        &comparison.envelope.environment,
    );
    let b = facts(&comparison.other.machine, &comparison.other.environment);
    let of = |facts: &[(&str, String)], what: &str| {
        let found = facts.iter().find(|(name, _)| *name == what);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let only_in_b = b.iter().filter(|(name, _)| of(&a, name).is_empty());
    let names = a.iter().chain(only_in_b).map(|(name, _)| *name);
    html! {
        div.wide {
            table.facing {
                thead { tr { th.left { "" } th.left { "A" } th.left { "B" } } }
                tbody {
                    @for name in names {
                        tr { td.left { (name) } td.left { (of(&a, name)) } td.left { (of(&b, name)) } }
                    }
                }
            }
        }
    }
}

/// A logarithmic axis from `1 / end` to `end`.
struct Axis {
    end: f64,
}

impl Axis {
    /// Makes the shortest axis of [`ENDS`] on which a share of the ratios lies, or else the longest
    /// axis.
    fn for_share<'a>(ratios: impl IntoIterator<Item = &'a Ratio>, share: f64) -> Self {
        let mut factors: Vec<f64> = ratios
            .into_iter()
            .map(|ratio| ratio.value.max(1.0 / ratio.value))
            .collect();
        factors.sort_by(f64::total_cmp);
        let within = (factors.len() as f64 * share).ceil() as usize;
        let needed = within.checked_sub(1).map_or(1.0, |last| factors[last]);
        let longest = ENDS[ENDS.len() - 1];
        let end = ENDS.into_iter().find(|end| *end >= needed);
        Self {
            end: end.unwrap_or(longest),
        }
    }

    /// Returns -1 for the ratio `1 / end`, 0 for 1, and 1 for `end`.
    fn position(&self, ratio: f64) -> f64 {
        ratio.ln() / self.end.ln()
    }

    /// Returns the position on the drawing. A ratio beyond the axis is at the nearest end.
    fn place(&self, ratio: f64) -> f64 {
        let position = self.position(ratio).clamp(-1.0, 1.0);
        WIDTH / 2.0 + position * (WIDTH / 2.0 - MARGIN)
    }

    fn heading(&self) -> Markup {
        html! {
            div.ticks {
                span { (plain(1.0 / self.end)) } span { "1" } span { (plain(self.end)) }
            }
        }
    }

    fn drawing(&self, ratio: &Ratio) -> Markup {
        let middle = HEIGHT / 2.0;
        let at = self.place(ratio.value);
        let position = self.position(ratio.value);
        let hover = format!("{} times\n{}", factor(ratio.value), views::interval(ratio));
        let hover = hover.trim_end();
        html! {
            svg class={ "ratio " (name_in_json(ratio.verdict)) } viewBox={ "0 0 " (WIDTH) " " (HEIGHT) }
                role="img" aria-label=(hover) data-hover=(hover) {
                @for place in [1.0 / self.end, 1.0, self.end].map(|tick| self.place(tick)) {
                    line.grid x1=(px(place)) x2=(px(place)) y1="0" y2=(HEIGHT) {}
                }
                @if let Some(RatioInterval { low, high }) = ratio.interval {
                    line.interval x1=(px(self.place(low))) x2=(px(self.place(high)))
                        y1=(middle) y2=(middle) {}
                }
                @if position.abs() > 1.0 {
                    @let tip = at + MARGIN * position.signum();
                    polygon points={
                        (px(tip)) "," (middle) " " (px(at)) "," (middle - 5.0) " " (px(at)) "," (middle + 5.0)
                    } {}
                } @else {
                    circle cx=(px(at)) cy=(middle) r="3.5" {}
                }
            }
        }
    }
}
