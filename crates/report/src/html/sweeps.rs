//! The curves of a report. A curve is a line of measurements that differ in only one quantity, such
//! as the block size.
//!
//! A chart has at most [`STYLES`] lines. More lines are divided by the values of a parameter into
//! charts with the same axes. Parameters that are equal for all lines of a chart are in its title,
//! and the others are in the names of the lines:
//!
//! ```text
//!   26 lines of dmaget ─┬─ memory-spe ─┬─ shared ──┬─ module 0: 1, 2, 4, 8 and 16 SPEs
//!                       │              │           └─ module 1: 1, 2, 4, 8 and 16 SPEs
//!                       │              └─ private ─┬─ ...
//!                       └─ spe-spe, 8 lines
//! ```

use std::collections::BTreeSet;

use cellworks_stats::{Between, Buffers, Function, Measurement, Parameters, Setting, SettingView};
use maud::{Markup, html};

use super::chart::{Axis, Chart, Point, STYLES, Series, Spacing};
use crate::report::Report;
use crate::text::{self, bandwidth, count, name_in_json, size, time};

/// The smallest number of points of a line.
const POINTS_MIN: usize = 3;

/// The quantity of the horizontal axis.
#[derive(Clone, Copy)]
enum Against {
    Block,
    /// The size of the table that `chase` reads. It is stored as the block size.
    Table,
    Spes,
    Setting(&'static Setting, &'static SettingView),
}

pub(super) struct Curves {
    function: Function,
    charts: Vec<Chart>,
}

/// Measurements that differ in one quantity, sorted by this quantity.
#[derive(Clone)]
struct Line<'a> {
    /// The parameters that all measurements of the line share.
    common: Common,
    points: Vec<(usize, &'a Measurement)>,
}

#[derive(Clone, PartialEq, Eq)]
struct Common {
    parameters: Parameters,
    /// The total number of bytes of all elements of a DMA list.
    list_bytes: Option<usize>,
}

pub(super) fn of(report: &Report) -> Vec<Curves> {
    let mut functions: Vec<Function> = Vec::new();
    for measurement in &report.measurements {
        if !functions.contains(&measurement.function) {
            functions.push(measurement.function);
        }
    }
    let curves = functions.into_iter().map(|function| {
        let measurements = report.measurements.iter();
        let measured: Vec<_> = measurements.filter(|m| m.function == function).collect();
        Curves {
            function,
            charts: charts(&measured, report.envelope.machine.spes),
        }
    });
    curves.filter(|curves| !curves.charts.is_empty()).collect()
}

/// Returns the curves as figures, or nothing if there are no curves.
pub(super) fn figures(curves: &[Curves]) -> Markup {
    html! {
        @if !curves.is_empty() {
            p.note {
                "Times are medians. Bars hold the median of each visit, and 95 % of the medians to come \
                 if rounds were independent of each other."
            }
            div.functions {
                @for Curves { function, charts } in curves {
                    div.several[charts.len() > 1] {
                        h3 { code { (function) } " " span.what { (function.operation()) } }
                        div.charts { @for chart in charts { (chart.render()) } }
                    }
                }
            }
        }
    }
}

fn charts(measured: &[&Measurement], spes: usize) -> Vec<Chart> {
    let mut charts = Vec::new();
    let size = match measured[0].function {
        Function::Chase => Against::Table,
        _ => Against::Block,
    };
    let sizes = lines(measured, size, POINTS_MIN);
    if !sizes.is_empty() {
        charts.extend(latencies(size, &sizes));
        charts.extend(bandwidths(size, &sizes));
    } else {
        // Curves against the number of SPEs are drawn only if there are no curves against the size.
        // A line of `fetchadd` may have only two points: a machine with two SPEs has no more.
        let points_min = match measured[0].function {
            Function::FetchAdd => spes.clamp(2, POINTS_MIN),
            _ => POINTS_MIN,
        };
        let counts = lines(measured, Against::Spes, points_min);
        if !counts.is_empty() {
            charts.extend(latencies(Against::Spes, &counts));
        }
    }
    for (setting, shown) in Setting::shown() {
        let against = Against::Setting(setting, shown);
        let lines = lines(measured, against, POINTS_MIN);
        if !lines.is_empty() {
            charts.extend(latencies(against, &lines));
        }
    }
    charts
}

fn lines<'a>(measured: &[&'a Measurement], against: Against, points_min: usize) -> Vec<Line<'a>> {
    let mut lines: Vec<Line<'a>> = Vec::new();
    for measurement in measured.iter().copied() {
        let Some(x) = against.of(&measurement.parameters) else {
            continue;
        };
        let common = against.common(&measurement.parameters);
        match lines.iter_mut().find(|line| line.common == common) {
            Some(line) => line.points.push((x, measurement)),
            None => lines.push(Line {
                common,
                points: vec![(x, measurement)],
            }),
        }
    }
    if matches!(against, Against::Spes) {
        share_single_spes(&mut lines);
    }
    for line in &mut lines {
        line.points.sort_by_key(|(x, _)| *x);
        line.points.dedup_by_key(|(x, _)| *x);
    }
    lines.retain(|line| line.points.len() >= points_min);
    lines
}

/// Adds the point of a single SPE to the lines of private buffers. Without this point the lines
/// begin at two SPEs, because a single SPE is measured only with a shared buffer.
fn share_single_spes(lines: &mut [Line<'_>]) {
    fn single<'a>(line: &Line<'a>) -> Option<(usize, &'a Measurement)> {
        line.points.iter().find(|(spes, _)| *spes == 1).copied()
    }
    for at in 0..lines.len() {
        let mut shared = lines[at].common.clone();
        if shared.parameters.buffers != Some(Buffers::Private) || single(&lines[at]).is_some() {
            continue;
        }
        shared.parameters.buffers = Some(Buffers::Shared);
        if let Some(start) = lines
            .iter()
            .find(|line| line.common == shared)
            .and_then(single)
        {
            lines[at].points.push(start);
        }
    }
}

impl Against {
    fn of(self, parameters: &Parameters) -> Option<usize> {
        match self {
            Self::Block | Self::Table => parameters.settings.block_bytes,
            Self::Spes => Some(parameters.spes),
            Self::Setting(setting, shown) => (setting.get)(&parameters.settings).or(shown.default),
        }
    }

    fn common(self, parameters: &Parameters) -> Common {
        let mut rest = parameters.clone();
        // The distance between private buffers often depends on their size or on their number. A
        // curve may connect measurements with different distances, so the distance is ignored.
        rest.settings.stride_bytes = None;
        let mut list_bytes = None;
        match self {
            Self::Block | Self::Table => {
                let bytes = rest.settings.block_bytes.take();
                list_bytes = bytes
                    .zip(rest.settings.list_elements.take())
                    .map(|(bytes, n)| bytes * n as usize);
            }
            Self::Spes => rest.spes = 0,
            Self::Setting(setting, _) => (setting.set)(&mut rest.settings, None),
        }
        Common {
            parameters: rest,
            list_bytes,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Block => "block size",
            Self::Table => "table size",
            Self::Spes => "number of SPEs",
            Self::Setting(_, shown) => shown.axis,
        }
    }

    fn amount(self, number: usize) -> String {
        match self {
            Self::Block | Self::Table => size(number),
            Self::Spes => count(number, "SPE"),
            Self::Setting(_, shown) => (shown.in_words)(number),
        }
    }

    fn axis(self) -> Axis {
        let number: fn(f64) -> String = |number| format!("{number:.0}");
        let (spacing, tick): (_, fn(f64) -> String) = match self {
            Self::Block | Self::Table => (Spacing::Log2, |bytes| size(bytes as usize)),
            Self::Setting(_, shown) if shown.doubles => (Spacing::Log2, number),
            Self::Spes | Self::Setting(..) => (Spacing::Whole, number),
        };
        Axis::new(self.name(), spacing, tick)
    }
}

fn latencies(against: Against, lines: &[Line<'_>]) -> Vec<Chart> {
    let height = |m: &Measurement| {
        let bar = m
            .median_interval_ns
            .map(|interval| (interval.low, interval.high));
        Some((m.latency_ns.p50, bar))
    };
    let spacing = spacing(lines, height);
    let y = Axis::new("time of one operation", spacing, |ns| short(&time(ns)));
    charts_of("Time", against, y, lines, height)
}

fn bandwidths(against: Against, lines: &[Line<'_>]) -> Vec<Chart> {
    let height = |m: &Measurement| m.bandwidth_bytes_per_s.map(|bytes| (bytes as f64, None));
    if heights(lines, height).next().is_none() {
        return Vec::new();
    }
    let label = "bandwidth of all SPEs together (GB/s)";
    let y = Axis::new(label, spacing(lines, height), |bytes_per_s| {
        short(&text::figures(bytes_per_s / 1e9))
    });
    charts_of("Bandwidth", against, y, lines, height)
}

/// The height of a point, and the ends of its bar.
type Height = (f64, Option<(f64, f64)>);

fn heights(
    lines: &[Line<'_>],
    height: impl Fn(&Measurement) -> Option<Height>,
) -> impl Iterator<Item = Height> {
    let points = lines.iter().flat_map(|line| &line.points);
    points.filter_map(move |(_, measurement)| height(measurement))
}

fn spacing(lines: &[Line<'_>], height: impl Fn(&Measurement) -> Option<Height>) -> Spacing {
    Spacing::of(heights(lines, height).map(|(height, _)| height))
}

fn charts_of(
    what: &str,
    against: Against,
    y: Axis,
    lines: &[Line<'_>],
    height: impl Fn(&Measurement) -> Option<Height> + Copy,
) -> Vec<Chart> {
    let every_x = lines.iter().flat_map(|line| &line.points);
    let x = Axis {
        shows: every_x.map(|(x, _)| *x as f64).collect(),
        ..against.axis()
    };
    let every_y = heights(lines, height).flat_map(|(y, bar)| {
        let (low, high) = bar.unwrap_or((y, y));
        [y, low, high]
    });
    let y = Axis {
        shows: every_y.collect(),
        ..y
    };
    let all: Vec<_> = lines.iter().map(|line| aspects(&line.common)).collect();
    let groups = readable(lines.to_vec()).into_iter();
    let chart = |group: Group<'_>| {
        let common = group.common(&all);
        let names = names(&group.lines);
        let series = group.lines.iter().zip(names).map(|(line, name)| {
            let full = [&common, &name].map(String::as_str);
            let full: Vec<&str> = full.into_iter().filter(|part| !part.is_empty()).collect();
            let points = line.points.iter().filter_map(|(x, measurement)| {
                let (y, bar) = height(measurement)?;
                Some(Point {
                    x: *x as f64,
                    y,
                    bar,
                    hover: hover(&full.join(", "), &against.amount(*x), measurement),
                })
            });
            Series {
                points: points.collect(),
                name,
            }
        });
        let mut title = format!("{what} against {}", against.name());
        if !common.is_empty() {
            title += &format!(": {common}");
        }
        Chart {
            title,
            x: x.clone(),
            y: y.clone(),
            series: series.collect(),
        }
    };
    groups.map(chart).collect()
}

struct Group<'a> {
    lines: Vec<Line<'a>>,
    /// The names of the first and the last line, for the title. `None` if the title names the
    /// values of parameters instead.
    range: Option<[String; 2]>,
}

/// Divides lines into groups of at most [`STYLES`].
fn readable(lines: Vec<Line<'_>>) -> Vec<Group<'_>> {
    if lines.len() <= STYLES {
        return vec![Group { lines, range: None }];
    }
    let all: Vec<_> = lines.iter().map(|line| aspects(&line.common)).collect();
    // Lines with different numbers of SPEs stay in one chart, so that readers can compare them.
    let aspects = (0..all[0].len()).filter(|at| *at != SPES);
    let Some((at, values)) = aspects
        .map(|at| (at, values(&all, at)))
        .find(|(_, values)| values.len() > 1)
    else {
        let names = names(&lines);
        let each = lines.len().div_ceil(lines.len().div_ceil(STYLES));
        let groups = lines.chunks(each).zip(names.chunks(each));
        return groups
            .map(|(lines, names)| Group {
                lines: lines.to_vec(),
                range: Some([names[0].clone(), names[names.len() - 1].clone()]),
            })
            .collect();
    };
    let with = |value: &&str| {
        let lines = lines.iter().zip(&all);
        // A line without a value of this parameter, such as that of one SPE, is in all groups.
        let lines = lines.filter(|(_, aspects)| aspects[at].is_empty() || aspects[at] == **value);
        lines.map(|(line, _)| line.clone()).collect::<Vec<_>>()
    };
    values.iter().map(with).flat_map(readable).collect()
}

/// Returns the different values of the parameter with index `at`, without empty values.
fn values(all: &[Vec<String>], at: usize) -> Vec<&str> {
    let mut values: Vec<&str> = Vec::new();
    for aspects in all {
        if !aspects[at].is_empty() && !values.contains(&aspects[at].as_str()) {
            values.push(&aspects[at]);
        }
    }
    values
}

impl Group<'_> {
    /// Returns the parameters that are equal in this group and differ between groups, in words.
    /// `all` has the result of [`aspects`] for each line of all groups.
    fn common(&self, all: &[Vec<String>]) -> String {
        let these: Vec<_> = self.lines.iter().map(|l| aspects(&l.common)).collect();
        let common = (0..these[0].len()).filter_map(|at| match values(&these, at)[..] {
            [value] if values(all, at).len() > 1 => Some(value.to_owned()),
            _ => None,
        });
        let mut common: Vec<String> = common.collect();
        common.extend(self.range.as_ref().map(|names| names.join(" to ")));
        common.join(", ")
    }
}

fn hover(name: &str, x: &str, measurement: &Measurement) -> String {
    let median = time(measurement.latency_ns.p50);
    let mut text = format!("{}, {x}\n{name}\nmedian {median}", measurement.function);
    if let Some(interval) = measurement.median_interval_ns {
        text += &format!(" ({} to {})", time(interval.low), time(interval.high));
    }
    text += &format!("\n99 % {}", time(measurement.latency_ns.p99));
    if let Some(bytes) = measurement.bandwidth_bytes_per_s {
        text += &format!("\n{}", bandwidth(bytes));
    }
    text
}

fn names(lines: &[Line<'_>]) -> Vec<String> {
    let all: Vec<_> = lines.iter().map(|line| aspects(&line.common)).collect();
    // Short names leave out a parameter if all lines with this parameter have the same value. Short
    // names are used if all of them differ.
    let brief = named_by(&all, |values| {
        values.iter().filter(|value| !value.is_empty()).count() > 1
    });
    let unlike: BTreeSet<&String> = brief.iter().collect();
    if unlike.len() == all.len() {
        return brief;
    }
    named_by(&all, |values| values.len() > 1)
}

/// Names each line by some of its parameters. `matter` is given the values of a parameter, and
/// returns true if names contain the parameter. A name that would be empty contains all parameters.
fn named_by(all: &[Vec<String>], matter: impl Fn(&BTreeSet<&str>) -> bool) -> Vec<String> {
    let matters = |at: &usize| matter(&all.iter().map(|aspects| aspects[*at].as_str()).collect());
    let every: Vec<usize> = (0..all[0].len()).collect();
    let chosen: Vec<usize> = every.iter().copied().filter(matters).collect();
    let joined = |aspects: &[String], at: &[usize]| {
        let parts = at.iter().map(|at| aspects[*at].as_str());
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        parts.join(", ")
    };
    let name = |aspects: &Vec<String>| match joined(aspects, &chosen) {
        nothing if nothing.is_empty() => joined(aspects, &every),
        name => name,
    };
    all.iter().map(name).collect()
}

/// The index of the number of SPEs in the result of [`aspects`].
const SPES: usize = 1;
/// The number of parameters before the settings in the result of [`aspects`].
const BEFORE_SETTINGS: usize = 4;

/// Returns each parameter in words. The text of a parameter that does not apply is empty.
fn aspects(common: &Common) -> Vec<String> {
    let p = &common.parameters;
    let spes = match (p.spes, p.between) {
        (0, _) => String::new(),
        (2, Between::SpeSpe) => "an SPE and another".to_owned(),
        (spes, _) => count(spes, "SPE"),
    };
    // A single SPE cannot share its buffer.
    let spread = p.buffers.filter(|_| p.spes != 1);
    let text = |part: Option<String>| part.unwrap_or_default();
    let mut aspects = vec![
        name_in_json(p.between),
        spes,
        text(spread.map(name_in_json)),
        text(
            common
                .list_bytes
                .map(|bytes| format!("{} in all", size(bytes))),
        ),
        format!("Cell {}", p.cell),
        text(p.module.map(|module| format!("module {module}"))),
    ];
    let settings = Setting::shown().map(|(setting, shown)| {
        let number = (setting.get)(&p.settings);
        text(number.map(shown.in_words))
    });
    aspects.splice(BEFORE_SETTINGS..BEFORE_SETTINGS, settings);
    aspects
}

/// Removes zeros at the end of a decimal fraction, before the unit.
pub(crate) fn short(text: &str) -> String {
    let (number, unit) = text.split_at(text.find(' ').unwrap_or(text.len()));
    if !number.contains('.') {
        return text.to_owned();
    }
    let number = number.trim_end_matches('0').trim_end_matches('.');
    format!("{number}{unit}")
}
