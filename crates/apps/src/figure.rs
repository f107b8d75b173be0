//! Curves of several runs.

use serde_json::Value;

use crate::{Done, Metric, Parameters, Program};

/// A figure: curves with common axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The title.
    pub title: String,
    /// The quantity of the horizontal axis.
    pub x: Axis,
    /// The quantity of the vertical axis.
    pub y: Axis,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// The quantity of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The name of the quantity, in a few words.
    pub label: &'static str,
    /// The unit, such as `bytes`.
    pub unit: &'static str,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The name, different for each curve of a figure.
    pub name: String,
    /// The points, in the order of their horizontal values.
    pub points: Vec<(f64, f64)>,
}

/// Returns figures of `metric`. There is a figure for each parameter that differs between the runs
/// and for which `axis` returns a horizontal axis. A figure has a curve for each combination of the
/// other differing parameters. A figure is omitted if none of its curves has two points.
pub fn against<P: Program>(
    done: &[Done<P>],
    title: &str,
    metric: Metric,
    axis: fn(&str) -> Option<Axis>,
) -> Vec<Figure> {
    let y = y_axis(metric.unit);
    let all: Vec<Parameters> = done.iter().map(|one| one.program.parameters()).collect();
    let differing = differing(&all);
    let figure = |&name: &&str| {
        let x = axis(name)?;
        let curves = curves(done, &all, metric, name, &differing);
        let is_curve = curves.iter().any(|curve| curve.points.len() > 1);
        is_curve.then(|| Figure {
            title: title.to_owned(),
            x,
            y,
            curves,
        })
    };
    differing.iter().filter_map(figure).collect()
}

pub(crate) fn axis(parameter: &str) -> Option<Axis> {
    let (label, unit) = match parameter {
        "threads" => ("number of threads", "threads"),
        "spes" => ("number of SPEs", "SPEs"),
        "bytes" => ("size of the buffer", "bytes"),
        "block_bytes" => ("size of a block", "bytes"),
        "cycles_per_byte" => ("computation (cycles a byte)", "cycles/byte"),
        "workers" => ("number of workers", "workers"),
        "tasks" => ("number of tasks", "tasks"),
        "clients" => ("number of clients", "clients"),
        "bodies" => ("number of bodies", "bodies"),
        "size" => ("order of the matrix", "rows"),
        _ => return None,
    };
    Some(Axis { label, unit })
}

fn y_axis(unit: &'static str) -> Axis {
    let label = match unit {
        "bytes/s" => "bandwidth",
        "ns" => "time",
        "us" => "time (us)",
        "s" => "time (s)",
        "cycles" => "cycles of the SPU's clock",
        "times" => "times as fast",
        "cycles/byte" => "cycles a byte",
        other => other,
    };
    Axis { label, unit }
}

fn differing(all: &[Parameters]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in all.iter().flatten() {
        let first = value(&all[0], name);
        let differs = all
            .iter()
            .any(|parameters| value(parameters, name) != first);
        if differs && !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

fn value<'a>(parameters: &'a Parameters, name: &str) -> Option<&'a Value> {
    let named = parameters.iter().find(|(other, _)| other == name);
    named.map(|(_, value)| value)
}

fn curves<P: Program>(
    done: &[Done<P>],
    all: &[Parameters],
    metric: Metric,
    x: &str,
    differing: &[&str],
) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for (one, parameters) in done.iter().zip(all) {
        let at = value(parameters, x).and_then(Value::as_f64);
        let (Some(at), Some(height)) = (at, one.value(metric.name)) else {
            continue;
        };
        let others = parameters
            .iter()
            .filter(|(name, _)| name != x && differing.contains(&name.as_str()));
        let mut name = name_of(others);
        if name.is_empty() {
            P::NAME.clone_into(&mut name);
        }
        let point = (at, height);
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve {
                name,
                points: vec![point],
            }),
        }
    }
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    curves
}

pub(crate) fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

fn name_of<'a>(parameters: impl Iterator<Item = &'a (String, Value)> + Clone) -> String {
    let is_counted = |text: &str| parameters.clone().any(|(name, _)| name == text);
    let parts = parameters
        .clone()
        .filter_map(|(name, value)| match (name.as_str(), value) {
            // The values `on` and `off` do not contain the name of the parameter.
            (name, Value::String(text)) if text == "on" || text == "off" => {
                Some(format!("{name} {text}"))
            }
            // The value `threads` is omitted if the name also contains its number: `4 threads`.
            (_, Value::String(text)) => (!is_counted(text)).then(|| text.clone()),
            ("spes", count) => Some(counted(count.as_u64()? as usize, "SPE")),
            ("threads", count) => Some(counted(count.as_u64()? as usize, "thread")),
            ("workers", count) => Some(counted(count.as_u64()? as usize, "worker")),
            ("tasks", count) => Some(counted(count.as_u64()? as usize, "task")),
            (name, number) => Some(format!("{} {}", number.as_f64()?, name.replace('_', " "))),
        });
    parts.collect::<Vec<String>>().join(", ")
}
