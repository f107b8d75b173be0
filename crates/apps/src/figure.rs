//! Curves of several runs.

use crate::{Done, Program, Value};

/// Curves over one quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// What the curves are drawn against.
    pub x: Axis,
    /// What they show.
    pub y: Axis,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// What an axis shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What it is, in a few words.
    pub label: &'static str,
    /// In what, such as `bytes`.
    pub unit: &'static str,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What distinguishes it.
    pub name: String,
    /// Its points, by the first number.
    pub points: Vec<(f64, f64)>,
}

/// A figure of one quantity against each number that differs between runs, with a curve for each combination
/// of what else differs. None if there is nothing to connect.
///
/// `axis` says what the axis of a parameter is; what has none is never an axis.
pub fn against<P: Program>(
    done: &[Done<P>],
    title: &str,
    quantity: &str,
    axis: fn(&str) -> Option<Axis>,
) -> Vec<Figure> {
    let found = done
        .iter()
        .flat_map(|one| &one.quantities)
        .find(|one| one.name == quantity);
    let Some(y) = found.map(|found| y_axis(found.unit)) else {
        return Vec::new();
    };
    let differing = differing(done);
    let figure = |&name: &&'static str| {
        let x = axis(name)?;
        let curves = curves(done, quantity, name, &differing);
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

/// The axis of a parameter of several programs.
pub(crate) fn axis(parameter: &str) -> Option<Axis> {
    let (label, unit) = match parameter {
        "threads" => ("number of threads", "threads"),
        "spes" => ("number of SPEs", "SPEs"),
        "bytes" => ("size of the buffer", "bytes"),
        "block_bytes" => ("size of a block", "bytes"),
        "cycles_per_byte" => ("computation (cycles a byte)", "cycles/byte"),
        _ => return None,
    };
    Some(Axis { label, unit })
}

/// The axis of a quantity, which its unit says.
fn y_axis(unit: &'static str) -> Axis {
    let label = match unit {
        "bytes/s" => "bandwidth",
        "ns" => "time",
        "us" => "time (us)",
        "cycles" => "cycles of the SPU's clock",
        "times" => "times as fast",
        "cycles/byte" => "cycles a byte",
        other => other,
    };
    Axis { label, unit }
}

/// The names of parameters that are not the same in all runs.
fn differing<P: Program>(done: &[Done<P>]) -> Vec<&'static str> {
    let all: Vec<_> = done.iter().map(|one| one.program.parameters()).collect();
    let mut names: Vec<&'static str> = Vec::new();
    for (name, _) in all.iter().flatten() {
        let first = value(&all[0], name);
        let differs = all
            .iter()
            .any(|parameters| value(parameters, name) != first);
        if differs && !names.contains(name) {
            names.push(name);
        }
    }
    names
}

fn value<'a>(parameters: &'a [(&str, Value)], name: &str) -> Option<&'a Value> {
    let named = parameters.iter().find(|(other, _)| *other == name);
    named.map(|(_, value)| value)
}

fn curves<P: Program>(
    done: &[Done<P>],
    quantity: &str,
    x: &str,
    differing: &[&'static str],
) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for one in done {
        let parameters = one.program.parameters();
        let at = value(&parameters, x).and_then(Value::as_number);
        let (Some(at), Some(height)) = (at, one.value(quantity)) else {
            continue;
        };
        let others = parameters
            .iter()
            .filter(|(name, _)| *name != x && differing.contains(name));
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

/// `1 SPE`, `8 SPEs`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

/// `double, 8 SPEs`.
fn name_of<'a>(parameters: impl Iterator<Item = &'a (&'static str, Value)> + Clone) -> String {
    let is_counted = |text: &str| parameters.clone().any(|(name, _)| *name == text);
    let parts: Vec<String> = parameters
        .clone()
        .filter_map(|(name, value)| match (*name, value) {
            // `4 threads` says it.
            (_, Value::Text(text)) if is_counted(text) => None,
            (_, Value::Text(text)) => Some(text.clone().into_owned()),
            ("spes", Value::Count(count)) => Some(counted(*count as usize, "SPE")),
            ("threads", Value::Count(count)) => Some(counted(*count as usize, "thread")),
            (name, Value::Count(count)) => Some(format!("{count} {}", name.replace('_', " "))),
            (name, Value::Number(number)) => Some(format!("{number} {}", name.replace('_', " "))),
        })
        .collect();
    parts.join(", ")
}
