//! Lines on two axes, as SVG.
//!
//! ```text
//!   TOP    ┌──────────────────────────┐
//!          │            ●             │      a line for each series, in its own colour and dashes;
//!          │     ┬     ╱              │      a bar shows the uncertainty of a point
//!          │  ●──●────●               │
//!   BOTTOM └──┴────┴──────┴────┴──────┘
//!        LEFT                       RIGHT
//! ```
//!
//! Colours are CSS classes: the style sheet has colours for light and dark screens and for paper.

use maud::{Markup, html};

/// The size of the drawing. A unit is about a pixel.
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 290.0;
/// The edges of the area between the axes.
const LEFT: f64 = 68.0;
const RIGHT: f64 = WIDTH - 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = HEIGHT - 48.0;

/// The number of styles of lines in the style sheet. More lines need several charts.
pub(crate) const STYLES: usize = 8;
/// The preferred number of ticks of an axis.
const TICKS: f64 = 5.0;
/// An axis is logarithmic if the largest number is more than this many times the smallest.
pub(crate) const WIDE_RATIO: f64 = 10.0;
/// A logarithmic axis of fewer powers of 10 than this also has ticks at 2 and 5 times each power.
const DECADES_FEW: f64 = 2.5;

pub(crate) struct Chart {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
}

#[derive(Clone)]
pub(crate) struct Axis {
    /// The label. It contains the unit if the ticks do not.
    pub label: String,
    pub spacing: Spacing,
    pub tick: fn(f64) -> String,
    /// Further numbers that the axis must include, so that neighbouring charts have equal axes.
    pub shows: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spacing {
    /// Linear. The axis begins at 0.
    Linear,
    /// Equal distances, with ticks at whole numbers.
    Whole,
    /// Logarithmic, with ticks at powers of 2.
    Log2,
    /// Logarithmic, with ticks at powers of 10. A short axis also has ticks between these.
    Log10,
}

impl Axis {
    pub(crate) fn new(label: impl Into<String>, spacing: Spacing, tick: fn(f64) -> String) -> Self {
        Self {
            label: label.into(),
            spacing,
            tick,
            shows: Vec::new(),
        }
    }
}

impl Spacing {
    /// Returns the spacing that suits numbers: logarithmic if they are above 0 and far apart.
    pub(crate) fn of(numbers: impl Iterator<Item = f64>) -> Self {
        let ends = (f64::INFINITY, 0.0_f64);
        let (least, most) = numbers.fold(ends, |(least, most), number| {
            (least.min(number), most.max(number))
        });
        if least > 0.0 && most > WIDE_RATIO * least {
            Self::Log10
        } else {
            Self::Linear
        }
    }
}

pub(crate) struct Series {
    pub name: String,
    pub points: Vec<Point>,
}

pub(crate) struct Point {
    pub x: f64,
    pub y: f64,
    /// The ends of the bar that shows the uncertainty of `y`.
    pub bar: Option<(f64, f64)>,
    /// The text that appears when the pointer is over the point.
    pub hover: String,
}

struct Placed<'a> {
    axis: &'a Axis,
    /// The numbers at both ends of the axis, or their logarithms if the axis is logarithmic.
    from: f64,
    to: f64,
    start: f64,
    end: f64,
}

impl Chart {
    pub(crate) fn render(&self) -> Markup {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x = Placed::new(&self.x, points().map(|p| p.x), LEFT, RIGHT);
        let with_bars = points().flat_map(|p| {
            let (low, high) = p.bar.unwrap_or((p.y, p.y));
            [p.y, low, high]
        });
        let y = Placed::new(&self.y, with_bars, BOTTOM, TOP);
        html! {
            figure.chart {
                figcaption { (self.title) }
                svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(self.title) {
                    (axes(&x, &y))
                    @for (number, series) in self.series.iter().enumerate() {
                        g class={ "line s" (number % STYLES) } { (line(series, &x, &y)) }
                    }
                }
                ul.legend {
                    @for (number, series) in self.series.iter().enumerate() {
                        li {
                            svg.key viewBox="0 0 28 10" aria-hidden="true" {
                                g class={ "line s" (number % STYLES) } {
                                    polyline points="1,5 27,5" {}
                                    circle cx="14" cy="5" r="3" {}
                                }
                            }
                            (series.name)
                        }
                    }
                }
            }
        }
    }
}

fn axes(x: &Placed<'_>, y: &Placed<'_>) -> Markup {
    let frame = format!("{LEFT},{TOP} {LEFT},{BOTTOM} {RIGHT},{BOTTOM}");
    let (center, middle) = ((LEFT + RIGHT) / 2.0, (TOP + BOTTOM) / 2.0);
    let upwards = format!("rotate(-90 12 {middle})");
    html! {
        g.axis {
            @for (at, text) in y.ticks() {
                line.grid x1=(LEFT) x2=(RIGHT) y1=(px(at)) y2=(px(at)) {}
                text x=(LEFT - 6.0) y=(px(at + 4.0)) text-anchor="end" { (text) }
            }
            @for (at, text) in x.ticks() {
                line.grid x1=(px(at)) x2=(px(at)) y1=(TOP) y2=(BOTTOM) {}
                text x=(px(at)) y=(BOTTOM + 17.0) text-anchor="middle" { (text) }
            }
            polyline.frame points=(frame) {}
            text.label x=(center) y=(HEIGHT - 8.0) text-anchor="middle" { (x.axis.label) }
            text.label x="12" y=(middle) text-anchor="middle" transform=(upwards) {
                (y.axis.label)
            }
        }
    }
}

fn line(series: &Series, x: &Placed<'_>, y: &Placed<'_>) -> Markup {
    let places: Vec<String> = series
        .points
        .iter()
        .map(|point| format!("{},{}", px(x.place(point.x)), px(y.place(point.y))))
        .collect();
    html! {
        polyline points=(places.join(" ")) {}
        @for point in &series.points {
            @let (at_x, at_y) = (px(x.place(point.x)), px(y.place(point.y)));
            @if let Some((low, high)) = point.bar {
                line.bar x1=(at_x) x2=(at_x) y1=(px(y.place(low))) y2=(px(y.place(high))) {}
            }
            circle cx=(at_x) cy=(at_y) r="3" {}
            // The larger, invisible circle is easier to touch with a finger.
            circle.target cx=(at_x) cy=(at_y) r="9" data-hover=(point.hover) {}
        }
    }
}

impl<'a> Placed<'a> {
    fn new(axis: &'a Axis, numbers: impl Iterator<Item = f64>, start: f64, end: f64) -> Self {
        let numbers = numbers.chain(axis.shows.iter().copied());
        let scaled = numbers.filter_map(|number| axis.spacing.scaled(number));
        let (least, most) = scaled.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), n| {
            (least.min(n), most.max(n))
        });
        let (from, to) = match axis.spacing {
            _ if least > most => (0.0, 1.0),
            Spacing::Linear => (0.0, if most > 0.0 { most * 1.05 } else { 1.0 }),
            _ if most - least < 0.1 => (least - 0.5, most + 0.5),
            Spacing::Whole | Spacing::Log2 | Spacing::Log10 => {
                let margin = (most - least) * 0.04;
                (least - margin, most + margin)
            }
        };
        Self {
            axis,
            from,
            to,
            start,
            end,
        }
    }

    /// Returns the position of a number. A number without a logarithm is at the start of the axis.
    fn place(&self, number: f64) -> f64 {
        let scaled = self.axis.spacing.scaled(number).unwrap_or(self.from);
        let share = ((scaled - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        self.start + share * (self.end - self.start)
    }

    fn ticks(&self) -> Vec<(f64, String)> {
        let numbers: Vec<f64> = match self.axis.spacing {
            Spacing::Linear => {
                let step = round_step((self.to - self.from) / TICKS);
                let last = (self.to / step).floor() as u32;
                (0..=last).map(|n| f64::from(n) * step).collect()
            }
            Spacing::Whole => {
                let step = round_step(((self.to - self.from) / TICKS).max(1.0));
                let (first, last) = ((self.from / step).ceil(), (self.to / step).floor());
                (first as i32..=last as i32)
                    .map(|n| f64::from(n) * step)
                    .collect()
            }
            Spacing::Log2 => {
                let (first, last) = (self.from.ceil() as i32, self.to.floor() as i32);
                let step = (f64::from(last - first) / TICKS).ceil().max(1.0) as usize;
                (first..=last)
                    .step_by(step)
                    .map(|power| 2f64.powi(power))
                    .collect()
            }
            Spacing::Log10 => {
                let few = self.to - self.from < DECADES_FEW;
                let factors: &[f64] = if few { &[1.0, 2.0, 5.0] } else { &[1.0] };
                let powers = self.from.floor() as i32..=self.to.ceil() as i32;
                let all =
                    powers.flat_map(|power| factors.iter().map(move |f| f * 10f64.powi(power)));
                all.filter(|number| (self.from..=self.to).contains(&number.log10()))
                    .collect()
            }
        };
        numbers
            .into_iter()
            .map(|number| (self.place(number), (self.axis.tick)(number)))
            .collect()
    }
}

impl Spacing {
    /// Returns the number or its logarithm. Returns `None` if the number has no logarithm.
    fn scaled(self, number: f64) -> Option<f64> {
        let scaled = match self {
            Self::Linear | Self::Whole => number,
            Self::Log2 => number.log2(),
            Self::Log10 => number.log10(),
        };
        scaled.is_finite().then_some(scaled)
    }
}

/// Rounds `step` up to 1, 2 or 5 times a power of 10.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0];
    power
        * factors
            .into_iter()
            .find(|factor| factor * power >= step)
            .unwrap_or(10.0)
}

/// Formats a position in tenths of a unit. Smaller differences are not visible.
pub(crate) fn px(place: f64) -> String {
    format!("{place:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(spacing: Spacing) -> Axis {
        Axis {
            label: "".to_owned(),
            spacing,
            tick: |number| number.to_string(),
            shows: Vec::new(),
        }
    }

    fn ticks(spacing: Spacing, numbers: [f64; 2]) -> Vec<String> {
        let axis = axis(spacing);
        let placed = Placed::new(&axis, numbers.into_iter(), 0.0, 100.0);
        placed.ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(Spacing::Linear, [3.0, 240.0]), ["0", "100", "200"]);
        assert_eq!(ticks(Spacing::Whole, [1.0, 2.0]), ["1", "2"]);
        assert_eq!(ticks(Spacing::Whole, [1.0, 64.0]), ["0", "20", "40", "60"]);
        assert_eq!(
            ticks(Spacing::Log2, [16.0, 65_536.0]),
            ["16", "128", "1024", "8192", "65536"]
        );
        assert_eq!(
            ticks(Spacing::Log10, [12.0, 300.0]),
            ["20", "50", "100", "200"]
        );
        assert_eq!(
            ticks(Spacing::Log10, [1.0, 1e4]),
            ["1", "10", "100", "1000", "10000"]
        );
    }

    #[test]
    fn an_axis_reaches_what_it_shows_besides_the_points() {
        let of_neighbours = Axis {
            shows: vec![16.0, 65_536.0],
            ..axis(Spacing::Log2)
        };
        let alone = Placed::new(&of_neighbours, [128.0].into_iter(), 0.0, 100.0);
        let ticks: Vec<String> = alone.ticks().into_iter().map(|(_, text)| text).collect();
        assert_eq!(ticks, ["16", "128", "1024", "8192", "65536"]);
    }

    #[test]
    fn places_are_on_the_drawing_whatever_the_numbers() {
        for spacing in [
            Spacing::Linear,
            Spacing::Whole,
            Spacing::Log2,
            Spacing::Log10,
        ] {
            for numbers in [[0.0, 0.0], [5.0, 5.0], [0.0, 1e9], [f64::NAN, 2.0]] {
                let axis = axis(spacing);
                let placed = Placed::new(&axis, numbers.into_iter(), 10.0, 90.0);
                for number in numbers {
                    let place = placed.place(number);
                    assert!(
                        (10.0..=90.0).contains(&place),
                        "{spacing:?} {numbers:?}: {place}"
                    );
                }
                assert!(placed.ticks().len() < 20);
            }
        }
    }
}
