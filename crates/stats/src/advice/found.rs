//! All results of a machine, and the look-ups that advice needs.

use cellworks_machine::Topology;

use super::points::{Point, most};
use super::value::Value;
use crate::function::Function;
use crate::report::{Between, Finding, Matrix, Measurement, Parameters};

pub(super) struct RunResults<'a> {
    pub topology: &'a Topology,
    pub measurements: &'a [Measurement],
    pub findings: &'a [Finding],
    pub matrices: &'a [Matrix],
}

impl RunResults<'_> {
    pub fn all<'s>(
        &'s self,
        function: Function,
        holds: impl Fn(&Parameters) -> bool + 's,
    ) -> impl Iterator<Item = &'s Measurement> {
        self.measurements
            .iter()
            .filter(move |m| m.function == function && holds(&m.parameters))
    }

    pub fn median(&self, function: Function, holds: impl Fn(&Parameters) -> bool) -> Option<Value> {
        self.all(function, holds).find_map(Value::time)
    }

    pub fn exchange(&self, word: Function, between: Between, cell: usize) -> Option<Value> {
        let spes = if between == Between::SpeSpe { 2 } else { 1 };
        self.median(word, |p| {
            (p.between, p.cell, p.spes) == (between, cell, spes)
        })
    }

    pub fn cells(&self) -> impl Iterator<Item = usize> {
        self.topology.cells().map(|cell| cell.index())
    }

    pub fn findings_named(&self, name: &str) -> Vec<&Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.name == name && Value::exactly(finding.value).is_some())
            .collect()
    }

    /// Returns the latency of main memory on an idle machine, if it was measured. Also returns the
    /// longest latency while other SPEs copy memory, with the number of these SPEs.
    pub fn memory_latency(&self) -> Option<(Value, Option<Point>)> {
        let by_load = by_size(
            self.findings_named("memory_latency_ns")
                .into_iter()
                .filter_map(|finding| {
                    let loading_spes = number(finding, "loading_spes")?;
                    let table = number(finding, "table_bytes");
                    let measured = self.median(Function::Chase, |p| {
                        (
                            p.settings.block_bytes,
                            p.settings.chains,
                            p.settings.loading_spes,
                        ) == (table, Some(1), Some(loading_spes))
                    });
                    Some((loading_spes, like(measured, finding.value)?))
                }),
        );
        let (idle, loaded) = by_load.split_first()?;
        let (0, idle) = *idle else {
            return None;
        };
        Some((idle, (!loaded.is_empty()).then(|| most(loaded))))
    }
}

/// Makes a value of the number `finding`, with the interval of `measured` if it is `Some`.
pub(super) fn like(measured: Option<Value>, finding: f64) -> Option<Value> {
    let exactly = Value::exactly(finding)?;
    Some(measured.map_or(exactly, |measured| Value {
        is: exactly.is,
        ..measured
    }))
}

pub(super) fn number(finding: &Finding, name: &str) -> Option<usize> {
    let number = finding.parameters.get(name)?.as_u64()?;
    usize::try_from(number).ok()
}

/// Sorts points by size, and keeps only the first point of each size.
pub(super) fn by_size(points: impl Iterator<Item = Point>) -> Vec<Point> {
    let mut points: Vec<Point> = points.collect();
    points.sort_by_key(|(size, _)| *size);
    points.dedup_by_key(|(size, _)| *size);
    points
}
