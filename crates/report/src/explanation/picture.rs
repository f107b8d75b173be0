//! Two placements as drawings beside each other.

use std::collections::BTreeMap;

use maud::Markup;

use super::ExplanationReport;
use crate::placement::{PictureDrawing, PictureLine, PlacementPicture, draw};

/// Draws the two placements. Returns nothing if no places communicate.
pub(super) fn picture(report: &ExplanationReport) -> Markup {
    let names = &report.envelope.machine.spe_places;
    let name = |place: &usize| names.get(*place).cloned().unwrap_or_default();
    draw(&PlacementPicture {
        places: report.around.iter().map(name).collect(),
        rings: Vec::new(),
        drawings: (0..report.placements.len())
            .map(|letter| drawing(report, letter))
            .collect(),
    })
}

/// Returns a placement. `letter` is 0 for placement A and 1 for B.
fn drawing(report: &ExplanationReport, letter: usize) -> PictureDrawing {
    let mut number = vec![0; report.around.len()];
    for (at, place) in report.around.iter().enumerate() {
        number[*place] = at;
    }
    let placement = &report.placements[letter];
    let mut tasks = vec![Vec::new(); number.len()];
    for (task, place) in placement.placement.iter().enumerate() {
        tasks[number[*place]].push(task);
    }
    let mut lines: BTreeMap<_, PictureLine> = BTreeMap::new();
    for pair in &report.pairs {
        let [from, to] = [pair.from, pair.to].map(|task| number[placement.placement[task]]);
        if from != to {
            let places = [from.min(to), from.max(to)];
            let line = lines.entry(places).or_default();
            line.places = places;
            line.volume += pair.volume;
            line.cost += [pair.cost_a, pair.cost_b][letter];
        }
    }
    PictureDrawing {
        title: format!("{}: {}", ["A", "B"][letter], placement.name),
        cost: None,
        tasks,
        lines: lines.into_values().collect(),
    }
}
